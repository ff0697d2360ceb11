"""The two doors between text with units and plain SI floats: `parse` and `show`.

Inside the program every number is SI (byte, FLOP, second, hertz, watt) with its unit in its name.
GB is 1e9 bytes, GiB is 2**30; Gb/s is bits and becomes bytes.
"""

from __future__ import annotations

import math
import re

from rooflens.errors import RooflensError

_DECIMAL = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
_SMALL = {"n": 1e-9, "u": 1e-6, "\u00b5": 1e-6, "\u03bc": 1e-6, "m": 1e-3}  # both signs that look like micro
_BINARY = {"Ki": 2.0**10, "Mi": 2.0**20, "Gi": 2.0**30, "Ti": 2.0**40, "Pi": 2.0**50}

# unit -> (prefixes it takes, other spellings with their factor, which take them too)
_UNITS: dict[str, tuple[dict[str, float], dict[str, float]]] = {
    "B": (_DECIMAL | _BINARY, {}),
    "B/s": (_DECIMAL | _BINARY, {"b/s": 0.125, "bit/s": 0.125, "bps": 0.125}),
    "FLOP": (_DECIMAL, {"FLOPs": 1.0, "OP": 1.0}),
    "FLOP/s": (_DECIMAL, {"FLOPS": 1.0, "FLOPs/s": 1.0, "OP/s": 1.0, "op/s": 1.0, "OPS": 1.0}),
    "FLOP/B": (_DECIMAL, {"FLOP/byte": 1.0}),
    "s": ({"": 1.0} | _SMALL, {}),
    "Hz": (_DECIMAL, {}),
    "W": (_DECIMAL | {"m": 1e-3}, {}),
    "J": (_DECIMAL | _SMALL, {}),
    "bits": ({"": 1.0}, {"bit": 1.0, "bpw": 1.0}),
    "tok/s": (_DECIMAL, {"tokens/s": 1.0}),
    "USD/h": ({"": 1.0}, {"$/h": 1.0}),
}
_WORDS = {"s": {"min": 60.0, "h": 3600.0}}  # whole words: no prefix
MOST = 2**53  # the largest size: doubles count to here one by one
LARGEST = 1e30  # the largest amount or rate that is believed, and one over it the smallest
_FAR = 1e12  # what would take more digits than this before or after the point takes an exponent
_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:[_,]\d{3})*\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)\s*(\S*)\s*")


def whole(value: float, name: str, least: int = 1) -> None:
    """Raises RooflensError unless `value` is a whole number from `least` to MOST, so that products stay finite."""
    if not -MOST <= value <= MOST:  # NaN is out of range too
        raise RooflensError(f"{name} is out of range: sizes are counted one by one up to 2**53")
    if value < least:
        raise RooflensError(f"{name} must be at least {least}, not {value:g}")
    if value != int(value):
        raise RooflensError(f"{name} must be a whole number, not {value:g}")


def parse(text: str, unit: str) -> float:
    """`parse("80 GB", "B")` is 8e10; the unit must be written, and must be of the asked kind.

    Raises RooflensError for a missing, unknown or wrongly cased unit, and for a number that is negative, not finite,
    or so large or small that what is worked out from it would not be finite.
    """
    match = _NUMBER.fullmatch(text)
    if not match:
        raise RooflensError(f"{text!r} is not a number with a unit; write it like {_example(unit)!r}")
    factor = _spellings(unit).get(match[2])
    if factor is None:
        raise RooflensError(_wrong_unit(text, match[2], unit))
    value = _times(match[1].replace("_", "").replace(",", ""), factor)
    if not math.isfinite(value):
        raise RooflensError(f"{text!r} is not a finite number of {unit}")
    if value < 0:
        raise RooflensError(f"{text!r} is negative; an amount or a rate of {unit} is at least 0")
    if value and not 1 / LARGEST <= value <= LARGEST:
        raise RooflensError(
            f"{text!r} is out of range: nothing has less than {1 / LARGEST:g} or over {LARGEST:g} {unit}"
        )
    return value


def show(value: float, unit: str, digits: int = 4) -> str:
    """`show(8e10, "B")` is "80 GB": decimal prefixes, `digits` significant digits.

    An exponent appears only beyond the prefixes, where the digits written out would be more than twelve.
    """
    if math.isnan(value):
        return f"unknown {unit}"
    if math.isinf(value):
        return f"{'-' if value < 0 else ''}infinite {unit}"
    prefixes = {name: factor for name, factor in _UNITS[unit][0].items() if name.isascii() and not name.endswith("i")}
    rounded = float(f"{value:.{digits}g}")
    fitting = [(f, name) for name, f in prefixes.items() if f <= abs(rounded) * (1 + 1e-12)]
    factor, name = max(fitting) if fitting else (min((f, n) for n, f in prefixes.items()) if value else (1.0, ""))
    if not 1 / _FAR < abs(rounded / factor) < _FAR:
        factor, name = 1.0, ""
    return f"{_plain(rounded / factor, digits)} {name}{unit}"


def show_binary(value: float, digits: int = 4) -> str:
    """Bytes with binary prefixes: `show_binary(2**31)` is "2 GiB"."""
    if not math.isfinite(value):
        return show(value, "B")
    fitting = [(f, n) for n, f in _BINARY.items() if f <= abs(value)]
    factor, name = max(fitting) if fitting else (1.0, "")
    return f"{_plain(value / factor, digits)} {name}B"


def percent(ratio: float, digits: int = 3) -> str:
    """A ratio as per cent with `digits` significant digits: `percent(0.00339)` is "0.339 %".

    Just above 100 % it has four, so that it never hides that it is over: `percent(1.0025)` is "100.2 %".
    """
    return f"{_plain(100 * ratio, max(digits, 4) if 1 < ratio < 1.1 else digits)} %"


def _times(number: str, factor: float) -> float:
    """Number x factor, to the bit for powers of ten: "66.9 T" is 66.9e12, which 66.9 * 1e12 is not."""
    power = round(math.log10(factor))
    mantissa, _, exponent = number.lower().partition("e")
    if float(f"1e{power}") != factor or len(exponent) > 4:
        return float(number) * factor
    return float(f"{mantissa}e{int(exponent or 0) + power}")


def _plain(value: float, digits: int) -> str:
    text = f"{value:.{digits}g}"
    if "e" in text and 1 / _FAR < abs(value) < _FAR:
        text = f"{float(text):.12f}" if abs(value) < 1 else f"{float(text):.0f}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text.replace("e+", "e")


def _spellings(unit: str) -> dict[str, float]:
    prefixes, others = _UNITS[unit]
    bases = {unit: 1.0} | others
    return {p + base: f * extra for p, f in prefixes.items() for base, extra in bases.items()} | _WORDS.get(unit, {})


def _example(unit: str) -> str:
    return {"B": "80 GB", "B/s": "2.0 TB/s", "FLOP/s": "989 TFLOP/s", "s": "50 ms", "W": "700 W"}.get(unit, f"1 {unit}")


def _wrong_unit(text: str, written: str, unit: str) -> str:
    if not written:
        return f"{text!r} has no unit; write it like {_example(unit)!r}"
    same = [s for s in _spellings(unit) if s.casefold() == written.casefold()]
    meant = " or ".join(repr(s) for s in same)  # gb/s may be bytes or bits: both are named
    hint = f"; did you mean {meant}?" if same else f"; write it like {_example(unit)!r}"
    return f"{text!r}: {written!r} is not a unit of {unit}{hint}"
