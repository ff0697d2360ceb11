"""From a measured time to what to do about it: what the roof leaves, and what software still could."""

from __future__ import annotations

from typing import Literal

from rooflens.records import record
from rooflens.roofline.points import is_finding
from rooflens.units import percent

NO_KERNEL_GIVES_TWICE = 0.6  # at this MBU and above, the roof is too near for kernels to double a decode rate
ONLY = {
    "memory": "a larger batch, fewer bits, or faster hardware",
    "compute": "fewer bits or faster hardware",
    "link": "fewer devices to a layer, or a faster link",
}

Remedy = Literal["batch, precision or hardware", "software", "what was measured"]


@record
class Verdict:
    """What stands between a measured step and its floor. most_from_software: how many times faster at the very best."""

    remedy: Remedy
    most_from_software: float
    sentences: tuple[str, ...]


def verdict(floor_s: float, measured_s: float, bound: str, share: float, name: str = "MBU") -> Verdict:
    """The verdict on one measured step.

    share: MBU of a memory-bound step, MFU of a compute-bound one, floor over measured of a link-bound one. At 0.6 and
    above no kernel work gives twice the rate: the whole distance to the roof is measured / floor. A step that beats its
    floor is a finding about what was measured, not about software.
    """
    times = measured_s / floor_s
    if is_finding(1 / times):
        beaten = f"{name} {percent(share)}: {1 / times:.4g} times faster than the {bound} floor, which nothing beats"
        suspect = (
            "suspect another batch, context, format or machine than was said, or tokens of all users taken for one"
        )
        return Verdict("what was measured", times, (beaten, suspect))
    reached = f"{name} {percent(share)}: at the very best, software makes this {times:.3g} times faster"
    if share >= NO_KERNEL_GIVES_TWICE:
        only = f"so no kernel work gives 2x; what does: {ONLY.get(bound, ONLY['compute'])}"
        return Verdict("batch, precision or hardware", times, (reached, only))
    lost = f"{percent(1 - 1 / times)} of the time is not the {bound} floor: launches, host, kernels below the roof"
    return Verdict("software", times, (reached, f"{lost}; look there first, with a profiler"))
