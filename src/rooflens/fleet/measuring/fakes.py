"""Made-up nodes asked like real ones: `--device fake:NODE`, with faults that are known and a time that it takes.

NODE:FAULTS, where FAULTS are joined by "+", each KIND[=LOSS][@DEVICE] as `clock=0.1@2`: a tenth of device 2's clock
(LOSS 0.05 and device 0 where they are left out; half of the lanes cannot be less). takes=SECONDS is no fault. Of
several nodes, split by ",", each is given its own, and "*" is every other; one that is not named is sound.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable

from rooflens.errors import RooflensError
from rooflens.fleet.faults import KINDS, LOSS, Fault
from rooflens.records import field, record
from rooflens.roofline.profile import Profile

FAKE = "fake"
WHOLE = 8  # devices, where all of them are asked for
TURN_S = 0.25
_PART = re.compile(r"([a-z]+)(?:=([0-9.]+))?(?:@([0-9]+))?")


@record
class Fake:
    """A made-up node: faults by device, and how long it takes."""

    node: str
    faults: dict[int, Fault] = field(default_factory=dict)
    takes_s: float = 0.0


def is_fake(device: str) -> bool:
    """Whether a device's name is of made-up nodes."""
    return device == FAKE or device.startswith(f"{FAKE}:")


def of_node(device: str, node: str) -> str:
    """What one node is asked for: `fake:NODE`, with its own part of what was said of all."""
    said = [part for part in device.removeprefix(FAKE).removeprefix(":").split(",") if part]
    for part in said:
        parsed(part)
        name, _, faults = part.partition(":")
        if name in (node, "*"):
            return f"{FAKE}:{node}:{faults}"
    return f"{FAKE}:{node}"


def parsed(text: str) -> Fake:
    """`node-3:clock=0.1@2+takes=5`. Raises RooflensError naming the part that is no fault."""
    node, _, faults = text.partition(":")
    found: dict[int, Fault] = {}
    takes_s = 0.0
    for part in filter(None, faults.split("+")):
        kind, loss, number = _split(part)
        if kind == "takes":
            takes_s = loss
        else:
            found[number] = Fault(kind, loss)
    return Fake(node or "fake", found, takes_s)


def _split(part: str) -> tuple[str, float, int]:
    match = _PART.fullmatch(part)
    if match and match[1] in (*KINDS, "takes"):
        try:
            return match[1], float(match[2] or LOSS), int(match[3] or 0)
        except ValueError:
            pass
    raise RooflensError(f"--device {FAKE}: {part!r} is no fault; write KIND=LOSS@DEVICE, of {', '.join(KINDS)}")


def made_up(fake: Fake, seed: int, progress: Callable[[str, float], None], *, everything: bool, quick: bool) -> Profile:
    """The profile of a made-up node, after the time that it takes on a real clock."""
    from rooflens.fleet.simulated import node_profile

    end = time.monotonic() + fake.takes_s
    while (left := end - time.monotonic()) > 0:
        progress("made-up work", 1 - left / fake.takes_s)
        time.sleep(min(TURN_S, left))
    return node_profile(fake.node, seed, fake.faults, devices=WHOLE if everything else 1, quick=quick)
