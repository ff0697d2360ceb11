"""The six applications that Jouppi et al. (2017) put under the roof of the first TPU: tpu_v1.csv, drawn.

python docs/pictures/tpu_v1.py [FILE.svg|FILE.png]   (tpu_v1.svg beside this script)

The paper counts a multiply-add as one operation on its axis; here it is two, as everywhere, and so is its peak of 92.
"""

from __future__ import annotations

import csv
import sys
from dataclasses import replace
from pathlib import Path

from rooflens import machine
from rooflens.operators.cost import Cost
from rooflens.present.plot import draw, render
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import place
from rooflens.roofline.points import Point

HERE = Path(__file__).parent


def tpu() -> Machine:
    """The chip without its links, which bound none of these."""
    whole = machine("tpu-v1")
    return replace(whole, ceilings=tuple(c for c in whole.ceilings if c.kind != "link"))


def applications() -> dict[str, tuple[float, float]]:
    """Of each application the operations a byte of weights, and the op/s that a clock said."""
    with (HERE / "tpu_v1.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    return {r["application"]: (2 * float(r["macs_per_weight_byte"]), float(r["measured_ops_per_s"])) for r in rows}


def points() -> list[Point]:
    """Each application as a measured point; how much it computed in all does not move it."""
    found = []
    for name, (ops_per_byte, ops_per_s) in applications().items():
        cost = Cost({"int8": ops_per_byte * 1e9}, weight_bytes=1e9)
        found.append(place(name, cost, tpu(), measured_s=ops_per_byte * 1e9 / ops_per_s))
    return found


def main() -> None:
    """Draws."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "tpu_v1.svg"
    figure = draw(tpu(), points(), title="Six applications on the first TPU (Jouppi et al., 2017)")
    path.write_bytes(render(figure, path.suffix[1:]))


if __name__ == "__main__":
    main()
