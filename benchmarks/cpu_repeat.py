"""Repeats the measurement of this machine, then disturbs it: figures must agree and the neighbour be noticed.

    python benchmarks/cpu_repeat.py [runs] [--quick]

Measures the same machine five times and prints for every ceiling how far the trusted values lie apart (wanted: 5 %),
or that fewer than three were trusted. Then once more beside a process that burns one core: everything that uses all
cores must be refused.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections import defaultdict

from rooflens.measure.backends.cpu import CpuBackend
from rooflens.measure.options import Options, quick
from rooflens.measure.run import measure
from rooflens.roofline.profile import Profile
from rooflens.units import percent, show

LEAST_TRUSTED = 3
BURN = "while True: pass"


def one(options: Options) -> Profile:
    """A fresh backend, measured once."""
    backend = CpuBackend(torch=False)
    try:
        return measure(backend, options)
    finally:
        backend.close()


def agreement(profiles: list[Profile]) -> None:
    """How far the trusted values of each ceiling lie apart."""
    trusted, units, refused = defaultdict(list), {}, defaultdict(list)
    for profile in profiles:
        for c in profile.ceilings:
            units[c.id] = c.unit
            if c.origin == "measured":
                (trusted[c.id].append(c.value) if c.trusted else refused[c.id].append(c.why_not))
    for id in [i for i in units if trusted[i] or refused[i]]:
        values = trusted[id]
        if len(values) < LEAST_TRUSTED:
            print(f"{id:34} only {len(values)} of {len(profiles)} trusted: {refused[id][-1]}")
            continue
        apart = (max(values) - min(values)) / max(values)
        word = "ok" if apart <= 0.05 else "APART"
        middle = show(sorted(values)[len(values) // 2], units[id])
        print(f"{id:34} {middle:>16}  {percent(apart, 2):>7} apart, {len(values)} of {len(profiles)} trusted  {word}")


def neighbour(options: Options) -> None:
    """Measure beside a busy loop on the first core and say what was believed all the same."""
    cpu = min(os.sched_getaffinity(0))
    burner = subprocess.Popen([sys.executable, "-c", f"import os; os.sched_setaffinity(0, {{{cpu}}}); exec({BURN!r})"])
    try:
        profile = one(options)
    finally:
        burner.terminate()
        burner.wait()
    believed = [c.id for c in profile.ceilings if c.origin == "measured" and c.trusted]
    print(f"beside a busy core: {len(profile.refused())} refused, still believed: {', '.join(believed) or 'none'}")
    print(profile.contention or "no contention noticed: WRONG")


def main() -> None:
    """Repeat, then disturb."""
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    options = quick() if "--quick" in sys.argv else Options()
    profiles = []
    for _ in range(numbers[0] if numbers else 5):
        profiles.append(one(options))
        print(f"{profiles[-1].duration_s:.0f} s: {len(profiles[-1].refused())} refused", flush=True)
    agreement(profiles)
    neighbour(options)


if __name__ == "__main__":
    main()
