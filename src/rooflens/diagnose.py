"""From a measured time to what to do about it: what the roof leaves, and what software still could."""

from __future__ import annotations

from typing import Literal

from rooflens.records import record
from rooflens.units import percent

NO_KERNEL_GIVES_TWICE = 0.6  # at this MBU and above, the roof is too near for kernels to double a decode rate

Remedy = Literal["batch, precision or hardware", "software"]


@record
class Verdict:
    """What stands between a measured step and its floor. most_from_software: how many times faster at the very best."""

    remedy: Remedy
    most_from_software: float
    sentences: tuple[str, ...]


def verdict(floor_s: float, measured_s: float, bound: str, share: float, name: str = "MBU") -> Verdict:
    """The verdict on one measured step.

    share: MBU of a memory-bound step, MFU of a compute-bound one, against the roofs of `floor_s`. At 0.6 and above no
    kernel work gives twice the rate: the whole distance to the roof is measured / floor.
    """
    times = measured_s / floor_s
    reached = f"{name} {percent(share)}: at the very best, software makes this {times:.3g} times faster"
    if share >= NO_KERNEL_GIVES_TWICE:
        only = (
            "a larger batch, fewer bits, or faster hardware" if bound == "memory" else "fewer bits or faster hardware"
        )
        return Verdict(
            "batch, precision or hardware",
            times,
            (reached, f"so no kernel work gives 2x; what does: {only}"),
        )
    lost = f"{percent(1 - 1 / times)} of the time is not the {bound} floor: launches, host, kernels below the roof"
    return Verdict("software", times, (reached, f"{lost}; look there first, with a profiler"))
