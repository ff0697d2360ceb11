"""Artefacts on disk: JSON and pictures, written whole or not at all, read with every fault named."""

from __future__ import annotations

import codecs
import contextlib
import json
import os
import re
import stat
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rooflens.errors import BadFile, RooflensError, Unknown
from rooflens.records import decode, encode

if TYPE_CHECKING:
    from rooflens.roofline.profile import Profile

T = TypeVar("T")
LARGEST_BYTES = 256 << 20
MEASURED = "measured:"
SHIPPED = 16  # profiles that are remembered
PROFILES = Path(__file__).with_name("profiles")
_MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))
LONGEST_MARK = max(len(mark) for mark, _ in _MARKS)
_SURROGATE = r"\\u[dD][89a-fA-F]"


def write_bytes(path: Path, content: bytes) -> None:
    """Writes to a temporary name beside `path`, then renames: a reader sees the old file or the new one, whole.

    What is no file (a device, a pipe) is written into and stays what it is.
    Raises RooflensError when the folder cannot be written or the disk is full; the old file is then untouched.
    """
    temporary: str | None = None
    try:
        if path.exists() and not (path.is_file() or path.is_dir()):
            path.write_bytes(content)
            return
        handle, temporary = _temporary(path)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except OSError as error:
        raise RooflensError(f"cannot write {path}: {reason(error)}; choose another place for it") from None
    finally:
        if temporary:
            with contextlib.suppress(OSError):
                Path(temporary).unlink()


def writable(path: Path) -> None:
    """Raises RooflensError now, before the work, when `path` could not be written behind it. Leaves the file alone."""
    if path.is_dir():
        raise RooflensError(f"cannot write {path}: it is a folder; name a file with --out")
    try:
        handle, temporary = _temporary(path)
        os.close(handle)
        Path(temporary).unlink()
    except OSError as error:
        raise RooflensError(f"cannot write {path}: {reason(error)}; choose another place for it") from None


@contextlib.contextmanager
def alone(lock: Path, otherwise: str) -> Iterator[None]:
    """Holds the lock of this file meanwhile, which is made where it is not there.

    Raises RooflensError, saying `otherwise`, while another process holds it. Nobody is kept out where there are no such
    locks: on Windows, and on some file systems of networks.
    """
    from rooflens.held import is_free

    handle = os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    try:
        with contextlib.suppress(ImportError, OSError):  # no such locks here
            if not is_free(handle):
                raise RooflensError(otherwise)
        yield
    finally:
        with contextlib.suppress(OSError):
            os.close(handle)


def shown(text: object) -> str:
    """A path or a command line as Unicode text: bytes of a file name that are none are escaped."""
    return str(text).encode("utf-8", "backslashreplace").decode()


def to_json(value: object, schema: str | None = None) -> str:
    """A record as JSON text, its schema first."""
    plain = encode(value)
    if schema is not None:
        plain = {"schema": schema, **plain}
    return json.dumps(plain, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def write_json(path: Path, value: object, schema: str | None = None) -> None:
    """A record as a JSON file."""
    write_bytes(path, to_json(value, schema).encode())


def read_json(path: Path, largest_bytes: int = LARGEST_BYTES) -> Any:
    """The JSON of a file. Raises BadFile or RooflensError in one sentence unless the file is a whole JSON text."""
    return parse_json(read_text(path, largest_bytes), str(path))


def parse_json(text: str | bytes, path: str) -> Any:
    """The JSON of a text. Raises BadFile in one sentence unless it is whole, Unicode, and says every key once."""
    try:
        text = text if isinstance(text, str) else text.decode()
        found = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
        if re.search(_SURROGATE, text):  # half a character escapes as half a pair; a whole pair is a character
            json.dumps(found, ensure_ascii=False).encode()
        return found
    except _Twice as error:
        raise BadFile(path, [str(error)]) from None
    except UnicodeEncodeError:
        raise BadFile(path, ["a text holds half a character (a lone surrogate, \\ud800 to \\udfff)"]) from None
    except RecursionError:
        raise BadFile(path, ["its JSON is nested too deeply to be read"]) from None
    except (json.JSONDecodeError, ValueError) as error:
        what = str(error).partition(";")[0]  # what follows is advice on how to change Python
        if isinstance(error, json.JSONDecodeError):
            what = f"line {error.lineno}: {error.msg}"
        raise BadFile(path, [f"not a whole JSON file: {what.removesuffix(' at')}; was it cut off or edited?"]) from None


def marked(start: bytes) -> tuple[int, str]:
    """How many bytes of a beginning are a byte order mark, and the encoding that it says; without one UTF-8."""
    return next(((len(mark), name) for mark, name in _MARKS if start.startswith(mark)), (0, "utf-8"))


def read_text(path: Path, largest_bytes: int = LARGEST_BYTES) -> str:
    """The text of a regular file of bounded size: a device or a pipe may never end.

    UTF-8, or what a byte order mark says, as Windows writes one.
    """
    try:
        state = path.stat()
        if not stat.S_ISREG(state.st_mode):
            raise RooflensError(f"{path} is a {'folder' if path.is_dir() else 'device or a pipe'}, not a file")
        size = state.st_size
        if size > largest_bytes:
            raise RooflensError(f"{path} is {size} bytes; files of this kind are read up to {largest_bytes}")
        with path.open("rb") as file:
            _, encoding = marked(file.read(LONGEST_MARK))
        return path.read_text(encoding=encoding).removeprefix("\ufeff")
    except UnicodeDecodeError:
        raise BadFile(str(path), ["is not UTF-8 text; is it a binary file?"]) from None
    except OSError as error:
        raise RooflensError(f"cannot read {path}: {reason(error)}") from None


def load(path: Path, cls: type[T], schema: str) -> T:
    """A record of this schema from a JSON file, strictly decoded."""
    return decode(cls, read_json(path), str(path), schema)


def profile(path: Path) -> Profile:
    """The profile of this file, or of a lab's folder."""
    from rooflens.roofline.profile import SCHEMA, Profile

    return load(path / "profile.json" if path.is_dir() else path, Profile, SCHEMA)


def is_shipped(id: str) -> bool:
    """Whether a measured profile of this accelerator ships with rooflens."""
    return (PROFILES / f"{id}.json").is_file()


def shipped(id: str) -> Profile:
    """A profile that ships with rooflens (`--on measured:ID`). Raises Unknown with near matches."""
    known = sorted(file.stem for file in PROFILES.glob("*.json"))
    if id not in known:
        raise Unknown("measured machine", id, known, see=f"measured are {', '.join(known)}")
    path = PROFILES / f"{id}.json"
    return _as_it_is(path, path.stat().st_mtime_ns)


@lru_cache(SHIPPED)
def _as_it_is(path: Path, _changed_ns: int) -> Profile:
    """A profile that was read once, until its file changes."""
    return profile(path)


def profile_named(name: str) -> Profile | None:
    """The profile that `measured:ID`, `here`, a .json file or a lab's folder names; None for any other name."""
    if name.startswith(MEASURED):
        return shipped(name.removeprefix(MEASURED))
    if name == "here":
        if not here().exists():
            raise RooflensError(f"`here`: no trusted run is kept in {here()} yet; make one with rooflens lab")
        return profile(here())
    path = Path(name)
    return profile(path) if path.suffix == ".json" or there(path / "profile.json") else None


def there(path: Path) -> bool:
    """Whether something lies at this path; a name that is too long for any file is none."""
    try:
        return path.exists()
    except OSError:
        return False


def here() -> Path:
    """Where the last trusted profile of this machine is kept (`--on here`). Raises RooflensError without a home."""
    data, home = os.environ.get("XDG_DATA_HOME"), os.environ.get("HOME")
    if not data and not home:
        raise RooflensError("`here` is kept in the home folder, and neither HOME nor XDG_DATA_HOME is set")
    return (Path(data) if data else Path(home or "") / ".local/share") / "rooflens" / "profile.json"


def sha256(path: Path) -> str:
    """The SHA-256 of a file, in hex."""
    import hashlib

    return hashlib.sha256(path.read_bytes()).hexdigest()


def reason(error: OSError) -> str:
    """Why the system refused, in its own words without the number."""
    return (error.strerror or str(error)).lower()


class _Twice(Exception):
    """A key said twice."""


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        last = {key: i for i, (key, _) in enumerate(pairs)}
        twice = next(key for i, (key, _) in enumerate(pairs) if last[key] != i)
        raise _Twice(f"the key {twice[:40]!r} is there twice in one object")
    return found


def _temporary(path: Path) -> tuple[int, str]:
    """An open file of a temporary name beside `path`."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True)
    return tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not a number of JSON")
