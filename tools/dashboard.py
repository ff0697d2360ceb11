"""Panels of the Grafana dashboard in deploy/, drawn from a recording of `rooflens watch` without Grafana.

    python tools/dashboard.py RECORDING --model MODEL --on MACHINE [--math DTYPE] -o FILE.png|FILE.svg

Titles, series, units and names are those of deploy/grafana/rooflens.json, values what `rooflens export` tells. Scales
are logarithmic here: floors and roofs may be far away, and a way up is a ratio.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from rooflens.api.live import Judge, watched
from rooflens.errors import RooflensError
from rooflens.live.families import BASE, FAMILIES
from rooflens.present.boxes import Box
from rooflens.present.canvas import Canvas, TextStyle, render, ticks
from rooflens.present.palette import ALARM, INK, MACHINES, SOFT
from rooflens.present.scale import majors, minors
from rooflens.telemetry.record import Reading
from rooflens.telemetry.watch import Target
from rooflens.units import percent, show

if TYPE_CHECKING:
    from matplotlib.figure import Figure

DASHBOARD = Path(__file__).resolve().parents[1] / "deploy" / "grafana" / "rooflens.json"
SHOWN = ("Time per output token: floor, expected, measured", "Time to first token", "MBU", "MFU")
SAID = "A recording, played again. A bar lasts from one scrape to the next: the time that its value is of."
TOLD = {family.name: family for family in FAMILIES}
WRITTEN: dict[str, Callable[[float], str]] = {"s": lambda value: show(value, "s"), "percentunit": percent}
Bar = tuple[float, float, float]


def panels() -> list[dict[str, Any]]:
    """The panels of SHOWN, as the dashboard has them."""
    there = {panel["title"]: panel for panel in json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]}
    return [there[title] for title in SHOWN]


def answers(expression: str, reading: Reading, name: str) -> Iterator[tuple[dict[str, str], float]]:
    """What Prometheus would answer of one target: labels and value. Of `A or B`, B where A tells nothing."""
    base = dict(zip(BASE, (name, reading.rates.engine, reading.rates.model or ""), strict=True))
    for part in expression.split(" or "):
        family = TOLD[part.partition("{")[0]]
        wanted = [(label, text) for label, text in re.findall(r'(\w+)=~?"([^"]*)"', part) if not text.startswith("$")]
        told = [(base | dict(zip(family.labels[len(BASE) :], own, strict=True)), v) for own, v in family.of(reading)]
        found = [(by, value) for by, value in told if all(re.fullmatch(text, by[label]) for label, text in wanted)]
        if found:
            yield from found
            return


def bars(panel: Mapping[str, Any], seen: Sequence[Target]) -> dict[str, list[Bar]]:
    """By the name of a series: from, to (seconds after the first page) and value."""
    found: dict[str, list[Bar]] = {}
    readings = [(urlsplit(one.url).netloc, reading) for one in seen for reading in one.models]
    for query in panel["targets"]:
        for name, reading in readings:
            end_s, lasted_s = reading.rates.at_s - seen[0].at_s, reading.rates.interval_s or 0.0
            for labels, value in answers(query["expr"], reading, name):
                series = query["legendFormat"].replace("{{", "{").replace("}}", "}").format(**labels)
                found.setdefault(series, []).append((end_s - lasted_s, end_s, value))
    return found


def draw(seen: Sequence[Target]) -> Figure:
    """Two by two panels over the time of a recording. Raises RooflensError when nothing in it has a roof."""
    roofs = [reading.roof for one in seen for reading in one.models if reading.roof and reading.roof.mbu is not None]
    if not roofs:
        raise RooflensError("nothing in this recording has rates under a roof; see: rooflens watch RECORDING")
    canvas, title = Canvas(), f"{roofs[0].model} on {roofs[0].machine}"
    canvas.figure.set_label(title)
    canvas.write(title, 40, canvas.height - 40, TextStyle(19, bold=True))
    canvas.write(SAID, 40, canvas.height - 82, TextStyle(10.5, SOFT))
    for i, panel in enumerate(panels()):
        left, bottom = 130 + i % 2 * 945, 560 - i // 2 * 495
        frame = Box(left, bottom, left + 765, bottom + 260)
        _panel(canvas, frame, panel, bars(panel, seen), seen[-1].at_s - seen[0].at_s)
        _events(canvas, frame, seen)
    return canvas.figure


def _panel(
    canvas: Canvas, frame: Box, panel: Mapping[str, Any], series: Mapping[str, list[Bar]], whole_s: float
) -> None:
    unit, x, top = panel["fieldConfig"]["defaults"]["unit"], frame.x0 - 90, frame.y1
    values = [value for several in series.values() for *_, value in several] + [1.0] * (unit == "percentunit")
    low, high = min(values, default=1.0) / 2, max(values, default=1.0) * 2
    axes = canvas.frame(frame, (1, 10), (low, high))
    axes.set_xscale("linear")
    axes.set_xlim(0, whole_s)
    minutes = range(0, int(whole_s / 60) + 1, 1 + int(whole_s / 60 / 8))
    ticks(axes, "x", [(60 * m, f"{m} min") for m in minutes], [], 10)
    ticks(axes, "y", [(t.value, WRITTEN[unit](t.value)) for t in majors((low, high), "", 6)], minors((low, high)), 10)
    if unit == "percentunit":  # the roof
        axes.axhline(1, color=ALARM, linestyle=(0, (5, 2)))
    canvas.write(panel["title"], x, top + 124, TextStyle(12.5, bold=True))
    canvas.write(panel["description"].partition(". ")[0], x, top + 92, TextStyle(8.5, SOFT))
    dashed = [one["matcher"]["options"] for one in panel["fieldConfig"]["overrides"]]
    for i, (name, several) in enumerate(series.items()):
        thin = any(re.match(pattern, name) for pattern in dashed)
        colour, width = (INK, 1.8) if thin else (MACHINES[i % len(MACHINES)], max(1.4, 7 - 2.4 * i))  # all are seen
        style: dict[str, Any] = {"linestyle": (0, (3, 1)) if thin else "-", "solid_capstyle": "butt"}
        for begin_s, end_s, value in several:
            axes.plot((begin_s, end_s), (value, value), color=colour, linewidth=width, **style)
        canvas.line((x, x + 36), (top + 56, top + 56), colour, width, **style)
        canvas.write(name, x + 46, top + 56, TextStyle(10, SOFT))
        x += canvas.size(name, 10)[0] + 80


def _events(canvas: Canvas, frame: Box, seen: Sequence[Target]) -> None:
    """When an engine gave no answer, and when it was seen to have restarted."""
    for one in seen:
        restarted = any(reading.rates.restarted for reading in one.models)
        if one.failed or restarted:
            share = (one.at_s - seen[0].at_s) / (seen[-1].at_s - seen[0].at_s)
            x = frame.x0 + share * (frame.x1 - frame.x0)
            canvas.line((x, x), (frame.y0, frame.y1 + 10), ALARM, linestyle=(0, (2, 2)))
            canvas.write("restart seen" if restarted else "no answer", x, frame.y1 + 24, TextStyle(9, ALARM, "center"))


def main() -> None:
    """Draws."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("recording", type=Path)
    parser.add_argument("--model", required=True)
    parser.add_argument("--on", required=True)
    parser.add_argument("--math")
    parser.add_argument("-o", "--out", type=Path, required=True)
    asked = parser.parse_args()
    if asked.out.suffix not in (".png", ".svg"):
        parser.error(f"-o {asked.out}: a picture is .png or .svg")
    math = {"math": asked.math} if asked.math else {}
    try:
        picture = draw(list(watched(asked.recording, Judge(asked.model, asked.on, **math))))
    except RooflensError as why:
        sys.exit(f"error: {why}")
    asked.out.write_bytes(render(picture, asked.out.suffix[1:]))


if __name__ == "__main__":
    main()
