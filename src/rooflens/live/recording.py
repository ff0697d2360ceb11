"""Pages as they came, kept line by line in a file and played again: for bug reports and for tests.

A line is {"schema", "at_s", "url", "text"}, or "failed" in place of "text"; "about" where it is no metrics. What stands
behind a URL's question mark is not in it; labels that a page holds are, so look it through before you give it away.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rooflens.artefacts import reason
from rooflens.errors import BadFile, RooflensError
from rooflens.readers.content import content
from rooflens.records import record

SCHEMA = "rooflens/scrape/1"
LONGEST_LINE = 64 << 20
LATEST_S = 1e12  # of a page, in seconds since 1970: 30,000 years
_OPENING = json.dumps({"schema": SCHEMA})[:-1].encode()
_TEXT = re.compile(rb'"(?:[^"\\]|\\.)*(?:"|\\?\Z)')


@record
class Page:
    """A page of one target. at_s: when it was asked for; text, or failed: why there is none.

    url: of the target's metrics. about: the path of a page that tells settings instead.
    """

    at_s: float
    url: str
    text: str | None = None
    failed: str | None = None
    about: str | None = None


def append(path: Path, page: Page) -> None:
    """Adds a page to a recording, in one write, on a line of its own also behind one that was cut off.

    Its folder is made where it is not there. Raises RooflensError where the file cannot be written.
    """
    said: dict[str, object] = {"schema": SCHEMA, "at_s": page.at_s, "url": page.url}
    said |= {"about": page.about} if page.about else {}
    said |= {"text": page.text} if page.text is not None else {"failed": page.failed or ""}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as file:
            begun = file.seek(max(0, file.tell() - 1)) >= 0 and file.read(1) not in (b"", b"\n")
            file.write(b"\n" * begun + json.dumps(said, ensure_ascii=True, allow_nan=False).encode() + b"\n")
    except OSError as error:
        raise RooflensError(f"cannot write {path}: {reason(error)}; choose another place with --record") from None


def replay(path: Path) -> Iterator[Page]:
    """The pages of a recording, in its order. A line that is cut off is left out; any other fault is BadFile."""
    with content(path) as found:
        for number, line in enumerate(_lines(found), 1):
            if line.strip() and (page := _page(line, str(path), number)):
                yield page


def _lines(found: Any) -> Iterator[bytes]:
    rest = b""
    while piece := found.read(1 << 20):
        *whole, rest = (rest + piece).split(b"\n")
        yield from whole
        if len(rest) > LONGEST_LINE:
            raise BadFile(found.where, [f"a line is longer than {LONGEST_LINE} bytes; this is no recording"])
    yield rest


def _cut_off(line: bytes, number: int) -> bool:
    """Whether its writer was killed, or the disk full: it begins as a page does, and nothing closes outside texts."""
    begins = line.startswith(_OPENING) or (_OPENING.startswith(line) and (number > 1 or line != b"{"))
    return begins and b"}" not in _TEXT.sub(b"", line)


def _page(line: bytes, where: str, number: int) -> Page | None:
    """The page of a line; None for one that is cut off."""
    try:
        said = json.loads(line)
    except (ValueError, RecursionError):
        if _cut_off(line, number):
            return None
        raise BadFile(where, [f"line {number}: not a line of JSON; is it a recording of rooflens watch?"]) from None
    if not isinstance(said, dict) or said.get("schema") != SCHEMA:
        raise BadFile(where, [f"line {number}: expected schema {SCHEMA!r}; recordings are made with --record"])
    at_s, url, text, failed, about = (said.get(name) for name in ("at_s", "url", "text", "failed", "about"))
    if (
        not isinstance(at_s, (int, float))
        or isinstance(at_s, bool)
        or not -LATEST_S <= at_s <= LATEST_S
        or not isinstance(url, str)
        or not isinstance(text if failed is None else failed, str)
    ):
        raise BadFile(where, [f"line {number}: expected at_s, url, and text or failed"])
    return Page(float(at_s), url, text if failed is None else None, failed, about if isinstance(about, str) else None)
