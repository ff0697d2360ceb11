"""Several names in one text, with commas between."""

from __future__ import annotations

from collections.abc import Iterable

from rooflens.errors import RooflensError


def several(given: str | Iterable[str], what: str) -> list[str]:
    """The names of a list, or of a text with commas. Raises RooflensError for one that is empty or there twice."""
    found = _parted(given, after_names=what == "machines") if isinstance(given, str) else list(given)
    if not found or not all(found):
        raise RooflensError(f"{what}: a name is empty; write them with commas between, like a,b")
    twice = [name for name in found if found.count(name) > 1]
    if twice:
        raise RooflensError(f"{what}: {twice[0]} is named twice")
    return found


def _parted(text: str, *, after_names: bool) -> list[str]:
    """Parts between commas, KEY=VALUE belonging to what stands before it until the key comes again.

    after_names: that may be a name (a machine with its own figures), else only another KEY=VALUE.
    """
    found: list[list[str]] = []
    for part in (part.strip() for part in text.split(",")):
        key, equals, _ = part.partition("=")
        before = found[-1] if found else []
        joins = before and (after_names or "=" in before[0]) and key not in [one.partition("=")[0] for one in before]
        if equals and joins:
            before.append(part)
        else:
            found.append([part])
    return [",".join(parts) for parts in found]
