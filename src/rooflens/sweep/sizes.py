"""Lists and ranges of sizes, as the command line and grids spell them: `16`, `1,16`, `1:512`, `1:512:1`."""

from __future__ import annotations

MOST_VALUES = 4096
LARGEST = 1 << 40


def sizes(text: str, most: int = MOST_VALUES) -> list[int]:
    """`16`, `1,16` or `1:512` (doubling) or `1:512:1` (by steps) as numbers.

    Raises ValueError with what is wrong, to stand behind the name of the option.
    """
    found: list[int] = []
    for part in text.split(","):
        found += _range(part, most) if ":" in part else [size(part)]
    return found


def size(text: str) -> int:
    """One size. Raises ValueError like `sizes`."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"{text!r}: expected a whole number, a list (1,16) or a range (1:512)") from None
    if not 1 <= value <= LARGEST:
        bound = "at least 1" if value < 1 else f"at most {LARGEST}"
        raise ValueError(f"must be {bound}, not {value}")
    return value


def _range(part: str, most: int) -> list[int]:
    pieces = [size(piece) for piece in part.split(":")]
    if len(pieces) not in (2, 3) or pieces[0] > pieces[1]:
        raise ValueError(f"{part!r}: write FIRST:LAST (doubling) or FIRST:LAST:STEP")
    values: list[int] = []
    value = pieces[0]
    while value <= pieces[1] and len(values) <= most:
        values.append(value)
        value = value + pieces[2] if len(pieces) == 3 else value * 2
    if len(values) > most:
        raise ValueError(f"{part!r}: more than {most} values; take a larger step")
    return values
