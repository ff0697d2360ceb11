"""The folder of a sweep: whose it is, which shards have landed, and what became of every point.

DIR/sweep.json               whose: written first, compared when a sweep is resumed
DIR/points/000000.parquet    a shard, whole: written under another name and renamed
DIR/manifest.json            points priced and refused, by reason: written last, and when a sweep is stopped
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.parquet import account_of, columns_of, schema
from rooflens.records import encode, record
from rooflens.sweep.grid import Axes
from rooflens.sweep.record import MANIFEST_SCHEMA, SCHEMA, Account, Identity, Manifest

BEGUN, POINTS, DONE, LOCK = "sweep.json", "points", "manifest.json", ".lock"
STARTS = (BEGUN, POINTS, DONE, LOCK, f".{BEGUN}.", f".{DONE}.")  # of names in the folder; the last: cut off in writing


@record
class Folder:
    """A folder that holds this sweep and nothing else."""

    path: Path
    identity: Identity

    def part(self, index: int) -> Path:
        """The file of a shard."""
        return self.path / POINTS / f"{index:06d}.parquet"

    def land(self, index: int, content: bytes) -> None:
        """Keeps a shard, whole or not at all. Raises RooflensError for a full disk."""
        artefacts.write_bytes(self.part(index), content)

    def tidy(self) -> None:
        """Takes away what somebody was writing who is no more; for the one whose folder it is."""
        for left in (self.path / POINTS).glob(".*.parquet.*"):
            left.unlink(missing_ok=True)

    def missing(self) -> list[int]:
        """The shards that have not landed."""
        there = {path.name for path in (self.path / POINTS).glob("*.parquet")}
        return [index for index in range(self.identity.shards) if self.part(index).name not in there]

    def parts(self) -> list[Path]:
        """The files that have landed, in order."""
        return sorted((self.path / POINTS).glob("[0-9]*.parquet"))

    def manifest(self, axes: Axes) -> Manifest:
        """What became of the points so far, from the shards themselves; also written beside them."""
        parts = self.parts()
        found = Manifest(
            rooflens=self.identity.rooflens,
            shards=self.identity.shards,
            landed=len(parts),
            points=self.identity.points,
            account=sum((account_of(part) for part in parts), Account(0, 0)),
            parquet_bytes=sum(part.stat().st_size for part in parts),
            columns={field.name: str(field.type) for field in schema(columns_of(axes))},
            axes=self.identity.axes,
        )
        artefacts.write_json(self.path / DONE, found, MANIFEST_SCHEMA)
        return found


@contextmanager
def begun(path: Path, identity: Identity) -> Iterator[Folder]:
    """The folder, new or as it was left, this process's alone meanwhile.

    Raises RooflensError for a folder that holds something else, another sweep, or cannot be written.
    """
    _ours(path)
    artefacts.writable(path / BEGUN)
    with artefacts.alone(path / LOCK, f"another process is sweeping into {path}; wait for it, or name another folder"):
        before = path / BEGUN
        if before.exists():
            _same(path, artefacts.load(before, Identity, SCHEMA), identity)
        else:
            artefacts.write_json(before, identity, SCHEMA)
        (path / POINTS).mkdir(exist_ok=True)
        folder = Folder(path, identity)
        folder.tidy()  # of a sweep that was killed whole
        try:
            yield folder
        finally:
            folder.tidy()  # of workers that were killed or ended in mid-writing


def opened(path: Path) -> Folder:
    """A folder that was begun, to be read. Raises RooflensError for any other."""
    if not (path / BEGUN).is_file():
        raise RooflensError(f"{path} holds no sweep; make one with rooflens sweep GRID.yaml -o {path}")
    return Folder(path, artefacts.load(path / BEGUN, Identity, SCHEMA))


def _ours(path: Path) -> None:
    if path.exists() and not path.is_dir():
        raise RooflensError(f"--out {path}: it is a file; a sweep is a folder")
    try:
        other = sorted(one.name for one in path.iterdir() if not one.name.startswith(STARTS)) if path.exists() else []
    except OSError as error:
        raise RooflensError(f"cannot read {path}: {artefacts.reason(error)}") from None
    if other:
        more = f" and {len(other) - 1} more" if len(other) > 1 else ""
        raise RooflensError(f"{path} holds {artefacts.shown(other[0])}{more}, which is no sweep's; name a new folder")


def _same(path: Path, before: Identity, now: Identity) -> None:
    """Raises RooflensError, naming what differs, unless a resumption would make the same shards."""
    end = "name a new folder for it"
    if before.rooflens != now.rooflens:
        raise RooflensError(
            f"{path} was begun by rooflens {before.rooflens}, and {now.rooflens} may come to other figures; {end}"
        )
    old, new = encode(before.axes), encode(now.axes)
    differ = [name for name in _differing(old, new) if name != "of_loads"]
    inside = {name: _differing(old.get(name), one) for name in differ if isinstance(one := new.get(name), dict)}
    said = [name for one in differ for name in inside.get(one, [one])]
    if said:
        verb = "differs" if len(said) == 1 else "differ"
        raise RooflensError(f"{path} was made from another grid ({', '.join(said)} {verb}); {end}")
    changed = _differing(dict(before.digests), dict(now.digests))
    if changed:
        raise RooflensError(f"{path} was begun before {', '.join(changed)} changed; {end}")


def _differing(old: object, new: dict[str, object]) -> list[str]:
    before = old if isinstance(old, dict) else {}
    return [name for name in dict.fromkeys((*before, *new)) if before.get(name) != new.get(name)]
