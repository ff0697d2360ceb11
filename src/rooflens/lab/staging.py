"""The files of a lab: written into a hidden folder of their own, then moved into place where they harm nothing."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.held import Held, held, sweep
from rooflens.lab.observe import read_slope
from rooflens.roofline.profile import Profile

PROFILE, EXTENSION, MANIFEST = "profile.json", "student_extension.json", "manifest.json"
PARTIAL, STAGING = "partial", ".staging-"
NONE_NOTICED = "none noticed"
ARTEFACTS = (
    "device_query.json", "peak_flops.json", "bandwidth.json", "decode_attention.json",
    "roofline.json", "roofline.png", "roofline.svg", "interpretation.md", PROFILE,
)  # fmt: skip
OURS = frozenset({*ARTEFACTS, EXTENSION, MANIFEST})


@dataclass(slots=True)
class Staged:
    """The files of one run until they are whole. Raises RooflensError when `out` cannot take them.

    What a run that was killed left hidden in `out` is taken away.
    """

    out: Path
    own: Held = field(init=False)
    made: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        try:
            self.out.mkdir(parents=True, exist_ok=True)
            sweep(self.out, STAGING)
            self.own = held(self.out, STAGING)
        except OSError as error:
            raise _cannot(self.out, error) from None

    @property
    def folder(self) -> Path:
        """Where they are until then."""
        return self.own.path

    def put(self, name: str, content: bytes) -> None:
        """Writes one file of the run."""
        artefacts.write_bytes(self.folder / name, content)
        self.made.append(name)

    def publish(self, standing: int) -> Path:
        """Moves the files into `out`, or into `out/partial` when a better run stands there. Returns the folder."""
        target = self.out / PARTIAL if standing < stands_in(self.out) else self.out
        try:
            target.mkdir(exist_ok=True)
            blocked = [name for name in sorted(OURS) if (target / name).is_dir()]
            if blocked:
                raise RooflensError(f"{target / blocked[0]} is a folder where a file must go; choose another --out")
            self._move(target)
        except OSError as error:
            raise _cannot(target, error) from None
        self.drop()
        return target

    def rescue(self) -> Path | None:
        """After a failure: moves what is whole to where no manifest stands. None when nothing could be kept."""
        target = self.out / PARTIAL if (self.out / MANIFEST).exists() else self.out
        with suppress(OSError):
            target.mkdir(exist_ok=True)
            self._move(target)
        self.drop()
        return target if (target / PROFILE).is_file() else None

    def _move(self, target: Path) -> None:
        """An older manifest goes first, the new one comes last: none ever stands beside files of another run.

        Then files of an older run, which this one did not make, go.
        """
        (target / MANIFEST).unlink(missing_ok=True)
        for name in sorted(self.made, key=lambda name: name == MANIFEST):
            if (self.folder / name).is_file():
                (self.folder / name).replace(target / name)
        for name in OURS.difference(self.made):
            if (target / name).is_file():
                (target / name).unlink()

    def drop(self) -> None:
        """Removes the hidden folder with whatever is left in it."""
        self.own.drop()


def usable(profile: Profile) -> bool:
    """Whether anything can be set under a roof of it: a trusted read slope and a trusted compute roof."""
    machine = profile.machine()
    return bool(machine.find("compute") and read_slope(machine))


def standing(profile: Profile) -> int:
    """What a run is worth to a folder: 0 incomplete or not usable, 1 partly disturbed, 2 complete and undisturbed."""
    return _standing(complete=profile.complete, usable=usable(profile), disturbed=bool(profile.contention))


def stands_in(folder: Path) -> int:
    """The same of the run that a folder holds, as its manifest says; 0 for none."""
    try:
        found = artefacts.read_json(folder / MANIFEST)
    except RooflensError:
        return 0
    if not isinstance(found, dict):
        return 0
    disturbed = found.get("contention", NONE_NOTICED) != NONE_NOTICED
    return _standing(
        complete=found.get("complete") is True, usable=found.get("usable", True) is True, disturbed=disturbed
    )


def writable(out: Path) -> None:
    """Raises RooflensError now, not after two minutes, when `out` cannot take the artefacts. Leaves no new folder."""
    there = out.exists()
    staged = Staged(out)
    try:
        staged.put("try", b"")
    finally:
        staged.drop()
        if not there:
            with suppress(OSError):
                out.rmdir()


def profile_file(out: Path) -> Path:
    """The file that a profile on its own goes to, named or in a folder that is named.

    Raises RooflensError now, not after two minutes, when it cannot be written or is the profile of a lab.
    """
    file = out / PROFILE if out.is_dir() else out
    if file.name == PROFILE and (file.parent / MANIFEST).exists():
        raise RooflensError(f"{file} is part of the lab in {file.parent}; name another file with --out")
    artefacts.writable(file)
    return file


def profile_place(file: Path, profile: Profile) -> Path:
    """`file`, or a name beside it where a better run stands in it."""
    try:
        older = artefacts.profile(file)
    except RooflensError:
        return file
    return file if standing(profile) >= standing(older) else file.with_name(f"{file.stem}.{PARTIAL}{file.suffix}")


def shortcoming(profile: Profile) -> str:
    """Why a better run keeps its place: the key of the phrase."""
    return "disturbed" if standing(profile) else "incomplete" if not profile.complete else "unusable"


def _standing(*, complete: bool, usable: bool, disturbed: bool) -> int:
    if not complete or not usable:
        return 0
    return 1 if disturbed else 2


def _cannot(path: Path, error: OSError) -> RooflensError:
    return RooflensError(f"cannot write {path}: {artefacts.reason(error)}; choose another place with --out")
