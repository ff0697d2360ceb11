"""Several predictions as curves: a picture and a table of comma-separated values."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.prediction.record import Prediction

if TYPE_CHECKING:
    from rooflens.present.curves import Curve

BAND = ("estimate", "low", "high")
COLUMNS = (
    "batch", "context", "tpot_floor_s", "tpot_estimate_s", "tpot_low_s", "tpot_high_s", "ttft_floor_s",
    "ttft_estimate_s", "tokens_per_s_per_user", "tokens_per_s", "tokens_per_s_ceiling", "bound", "fits",
)  # fmt: skip


def write_csv(path: Path, found: Sequence[Prediction]) -> None:
    """One line a load; a field that is not known is empty."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for p in found:
        t = p.tpot_s
        values = (
            p.step["batch"], p.step["context"], t.floor, t.estimate, t.low, t.high, p.ttft_s.floor, p.ttft_s.estimate,
            p.tokens_per_s_per_user, p.tokens_per_s, p.tokens_per_s_ceiling, p.bound, p.memory and p.memory.fits,
        )  # fmt: skip
        writer.writerow("" if value is None else value for value in values)
    artefacts.write_bytes(path, text.getvalue().encode())


def draw(path: Path, found: Sequence[Prediction], lang: str) -> None:
    """The curves over the batch, or over the context where that is what changes."""
    from rooflens.present.canvas import render
    from rooflens.present.curves import draw as drawn

    if path.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {path}: the name must end in .png or .svg")
    changing = [name for name in ("batch", "context") if len({p.step[name] for p in found}) > 1]
    if len(changing) != 1:
        raise RooflensError("curves run over one thing: give several --batch or several --context, not both")
    loads = [float(p.step[changing[0]]) for p in found]
    fixed = "context" if changing[0] == "batch" else "batch"
    subtitle = f"{found[0].conventions['precision']}; {fixed} {found[0].step[fixed]:g}"
    title = f"{found[0].model} on {found[0].machine}"
    figure = drawn(loads, changing[0], _times(found), _rates(found), title, subtitle, lang)
    artefacts.write_bytes(path, render(figure, path.suffix[1:]))


def _times(found: Sequence[Prediction]) -> Curve:
    from rooflens.present.curves import Curve

    return Curve(tuple(p.tpot_s.floor for p in found), *(_known(found, name, lambda p, t: t) for name in BAND))


def _rates(found: Sequence[Prediction]) -> Curve:
    from rooflens.present.curves import Curve

    ceiling = tuple(p.tokens_per_s_ceiling for p in found)
    expected, slow, fast = (
        _known(found, name, lambda p, t: p.tokens_per_s * p.tpot_s.expected / t) for name in ("estimate", "high", "low")
    )
    return Curve(ceiling, expected, slow, fast)


def _known(found: Sequence[Prediction], name: str, of: Callable[[Prediction, float], float]) -> tuple[float, ...]:
    """A value of every load at this time of its step; none when one of them is not known."""
    times = [(p, getattr(p.tpot_s, name)) for p in found]
    return () if any(t is None for _, t in times) else tuple(of(p, t) for p, t in times)
