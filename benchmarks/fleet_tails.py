"""How many sound devices the report of a fleet names where devices differ by another law than the normal one.

    python benchmarks/fleet_tails.py [DEVICES]

3,000 devices without a fault, 16 figures each, all of one median distance from their median (that of 0.6 %): as a
normal distribution has it, as Student's t with five and with three degrees of freedom, and with a slow exponential
tail.
Samples scatter by 0.6 %. Printed: how many are out, and the speed of the slowest over the median.
"""

from __future__ import annotations

import math
import random
import sys
from collections.abc import Callable, Iterator

from rooflens.peers.judging import judge
from rooflens.peers.record import Figure, Key
from rooflens.units import percent

DEVICES, FIGURES, SAMPLES = 3000, 16, 11
SPREAD = 0.006
MAD = 0.6745 * SPREAD
KEY = Key("Acme One", "1.0", "lib 1").text
LAWS: dict[str, tuple[Callable[[random.Random], float], float]] = {  # a draw, and its own median distance
    "normal": (lambda of: of.gauss(0, 1), 0.6745),
    "Student's t, five degrees": (lambda of: student(of, 5), 0.7267),
    "Student's t, three degrees": (lambda of: student(of, 3), 0.7649),
    "slow exponential tail": (lambda of: -of.expovariate(1), 0.4812),
}


def student(of: random.Random, freedom: int) -> float:
    """One draw of Student's t."""
    return of.gauss(0, 1) / math.sqrt(sum(of.gauss(0, 1) ** 2 for _ in range(freedom)) / freedom)


def figures(draw: Callable[[random.Random], float], scale: float, devices: int) -> Iterator[Figure]:
    """Every device keeps one factor over all of its figures."""
    for device in range(devices):
        life = random.Random(f"tails/{device}")
        factor, name = math.exp(scale * draw(life)), f"node{device:04d}"
        for place in range(FIGURES):
            samples = tuple(1e12 * factor * math.exp(SPREAD * life.gauss(0, 1)) for _ in range(SAMPLES))
            middle = sorted(samples)[SAMPLES // 2]
            yield Figure(f"memory/main/{place}", name, name, KEY, middle, "B/s", samples=samples)


def main(devices: int) -> None:
    """Prints a line a law."""
    for name, (draw, own) in LAWS.items():
        found = judge(list(figures(draw, MAD / own, devices)))
        out = [one for one in found.standings if one.state == "out"]
        least = min(one.beside_peers for one in found.standings if one.beside_peers)
        print(f"{name}: {len(out)} of {devices} out; the slowest at {percent(least, 3)}", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else DEVICES)
