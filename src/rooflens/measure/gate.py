"""Reasons not to believe a figure: somebody else ran meanwhile.

Contention halves a rate while every stability test passes; CPU time against wall time and involuntary context
switches tell the two apart (alone: 0.94 to 1.0 and 0 to 1 switches; disturbed: 0.5 and 58 to 219).
"""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.measure.backend import Usage
from rooflens.roofline.profile import Gate
from rooflens.units import percent

LEAST_CPU_SHARE = 0.9
ALONE_CPU_SHARE = 0.94  # with this much, few switches are somebody's blink: even alone, not every moment is filled
FEW_SWITCHES = 5  # and so many more a second and thread:
FEW_SWITCHES_PER_S = 5.0
MANY_SWITCHES_PER_S = 50.0
MOST_PRESSURE = 0.05
STEAL_TICK_S = 0.0101  # the counter's grain: one tick may belong to the time before
FLAGGED_STEAL = 0.002  # said: a shared host takes a little now and then, and a rate is then low by about as much
MOST_STEAL = 0.02  # refused


def judge(id: str, before: Usage, after: Usage, threads: int, *, fills: bool = True) -> Gate:
    """The gate of what ran between two readings on `threads` threads; `reasons` is empty when it ran alone.

    fills: whether the threads had work all the time. If not, the share is of the time they wanted to run: on a CPU
    or in line for one.
    """
    wall_s = max(after.wall_s - before.wall_s, 1e-9)
    wanted_s = threads * wall_s if fills else _wanted_s(before, after)
    cpu_s = _grown(before.cpu_s, after.cpu_s)
    steal_s = _grown(before.steal_s, after.steal_s)
    switches = _grown(before.involuntary_switches, after.involuntary_switches)
    gate = Gate(
        id=id,
        cpu_share=None if cpu_s is None or not wanted_s else cpu_s / wanted_s,
        involuntary_switches=None if switches is None else int(switches),
        pressure=before.pressure,
        steal=None if steal_s is None else (steal_s / (threads * wall_s) if steal_s > STEAL_TICK_S else 0.0),
    )
    others = (*before.others, *after.others)
    reasons = (*_processor(gate, threads), *_switches(gate, threads, wall_s), *_system(gate), *others)
    return Gate(id, gate.cpu_share, gate.involuntary_switches, gate.pressure, gate.steal, tuple(dict.fromkeys(reasons)))


def _wanted_s(before: Usage, after: Usage) -> float | None:
    cpu_s, waited_s = _grown(before.cpu_s, after.cpu_s), _grown(before.waited_s, after.waited_s)
    return None if cpu_s is None or waited_s is None else cpu_s + waited_s


def _processor(gate: Gate, threads: int) -> tuple[str, ...]:
    if gate.cpu_share is None or gate.cpu_share >= LEAST_CPU_SHARE:
        return ()
    got = f"{percent(gate.cpu_share, 2)} of the time of its {threads} thread{'' if threads == 1 else 's'}"
    return (f"contention: this process got {got} ({percent(LEAST_CPU_SHARE)} or more when alone)",)


def _switches(gate: Gate, threads: int, wall_s: float) -> tuple[str, ...]:
    alone = gate.cpu_share is not None and gate.cpu_share >= ALONE_CPU_SHARE
    allowed = FEW_SWITCHES + (MANY_SWITCHES_PER_S if alone else FEW_SWITCHES_PER_S) * threads * wall_s
    if gate.involuntary_switches is None or gate.involuntary_switches <= allowed:
        return ()
    return (f"contention: switched out {gate.involuntary_switches} times in {wall_s:.2g} s (0 or 1 when alone)",)


def _system(gate: Gate) -> tuple[str, ...]:
    reasons = []
    if gate.pressure is not None and gate.pressure > MOST_PRESSURE:
        reasons.append(f"contention: tasks waited for a CPU {percent(gate.pressure, 2)} of the ten seconds before")
    if gate.steal is not None and gate.steal > MOST_STEAL:
        reasons.append(f"contention: the hypervisor gave away {percent(gate.steal, 2)} of the CPU time (steal)")
    return tuple(reasons)


def _grown(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def remark(gates: Sequence[Gate]) -> str | None:
    """A sentence about the little that a hypervisor took from measurements that are trusted; None when it took none."""
    taken = [g.steal for g in gates if not g.reasons and g.steal is not None and g.steal > FLAGGED_STEAL]
    if not taken:
        return None
    worst = f"up to {percent(max(taken), 2)} of the CPU time"
    return f"the hypervisor gave away {worst} during {len(taken)} trusted measurements: they may be low by as much"
