"""A folder that measurements of nodes land in: each file whole or not at all, and what is there is not measured again.

NODE.json is a profile. NODE.absent.json stands where that would, for a node that gave none, and goes when one comes.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager, suppress
from pathlib import Path

from rooflens import artefacts
from rooflens.errors import BadFile, RooflensError
from rooflens.records import decode, replace
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent
from rooflens.roofline.profile import SCHEMA, Profile

LOCK = ".measuring"
WAITING = "asked at {when}; no answer has come yet"
GONE = "{why}, and it is not in the cluster any more"


class Landing:
    """One folder. Raises RooflensError where it cannot be written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        if folder.exists() and not folder.is_dir():
            raise RooflensError(f"{folder} is a file; name a folder with --out")
        artefacts.writable(folder / LOCK)

    def file(self, node: str) -> Path:
        """Where the profile of a node goes."""
        return self.folder / f"{plain(node)}.json"

    def landed(self, node: str) -> bool:
        """Whether a whole profile of it is there; a file that is none will be replaced."""
        with suppress(RooflensError):
            artefacts.profile(self.file(node))
            return True
        return False

    def read(self, node: str, text: str) -> Profile:
        """A node's answer as a profile. Raises BadFile for one that is none."""
        return decode(Profile, artefacts.parse_json(text, node), node, SCHEMA)

    def land(self, node: str, text: str) -> None:
        """Writes the profile that a node answered with, as it came; that it was absent is over."""
        artefacts.write_bytes(self.file(node), text.encode())
        with suppress(OSError):
            self._absent(node).unlink()

    def miss(self, absent: Absent) -> None:
        """Writes what became of a node without a profile."""
        artefacts.write_json(self._absent(absent.node), absent, ABSENT)

    def wait(self, node: str, when: str, attempt: int) -> None:
        """Says that a node was asked: if nobody is left to hear its answer, this stays, and it is not forgotten."""
        self.miss(Absent(node, "hung", WAITING.format(when=when), attempt))

    def lost(self, known: set[str]) -> list[Absent]:
        """Nodes that were asked once and are not among those of now: what is known of them, said anew."""
        gone = []
        for path in sorted(self.folder.glob("*.absent.json")):
            with suppress(RooflensError):
                absent = artefacts.load(path, Absent, ABSENT)
                if absent.node not in known and not self.landed(absent.node):
                    waited = re.fullmatch(WAITING.format(when=".*"), absent.why)
                    said = replace(absent, state="died", why=GONE.format(why=absent.why)) if waited else absent
                    gone.append(said)
                    self.miss(said)
        return gone

    def _absent(self, node: str) -> Path:
        return self.folder / f"{plain(node)}.absent.json"

    def alone(self) -> AbstractContextManager[None]:
        """Keeps a second one from filling the same folder meanwhile. Raises RooflensError when one does."""
        filling = f"another rooflens fleet measure is filling {self.folder}"
        return artefacts.alone(self.folder / LOCK, f"{filling}; wait for its end, or name another folder with --out")


def plain(node: str) -> str:
    """The name of a node as that of a file: what no file may be called becomes a dash."""
    return re.sub(r"[^\w.-]", "-", node).lstrip(".") or "node"


def garbage(error: BadFile | RooflensError) -> str:
    """Why an answer is no profile: the first of its faults, without where it came from."""
    first = (error.faults if isinstance(error, BadFile) else (str(error),))[0]
    return first[:300]
