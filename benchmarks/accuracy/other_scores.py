"""The other parts of the table: steps of one H200 from its own profile, and the public sample beside its peer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from benchmarks.accuracy import peer, steps, yardstick
from benchmarks.accuracy.rows import served as rows
from benchmarks.accuracy.served_scores import Line
from benchmarks.accuracy.table import Column
from benchmarks.accuracy.yardstick import Said
from rooflens.catalogue.calibrations import served
from rooflens.records import record


@record
class Yardstick:
    """The public sample: points priced, points that are not, and what the peer says of those that are."""

    said: list[Said]
    unpriced: int
    peer: Mapping[str, peer.Answer]


def h200() -> Iterator[Line]:
    """Decode under a graph and prefill started one by one, against the measured profile."""
    every, by = steps.steps(), steps.profiled()
    for attention in ("cudnn", "flash"):
        decode = list(steps.pick(every, "decode", attention))
        yield _steps(f"decode, {attention}", steps.ratios(decode, by), "5" if attention == "cudnn" else "")
    decode = list(steps.pick(every, "decode", "cudnn"))
    yield _steps("decode, cudnn, constant from the other models", steps.others(decode, by))
    yield _steps("decode, cudnn, no constant", steps.ratios(decode, steps.unfitted(by)))
    prefill = list(steps.pick(every, "prefill", "cudnn"))
    bound = np.array([steps.host_bound(one, by) for one in prefill])
    yield _steps("eager prefill, cudnn", steps.ratios(prefill, by), "12")
    yield _steps("of these, host-bound", steps.ratios(prefill, by)[bound])
    yield _steps("of these, device-bound", steps.ratios(prefill, by)[~bound])


def sample(ask: bool = True) -> Yardstick:  # noqa: FBT001, FBT002  whether the peer is asked too
    """The installed sample, scored. Raises RooflensError when one of its points was fitted."""
    fitted = [row for row in rows() if row.source == "aiconfigurator"]
    points, unpriced = yardstick.scored(fitted)
    said = list(yardstick.said(points, served()))
    answers = peer.answers([one.point for one in said]) if ask else {}
    return Yardstick(said, len(unpriced) + len(points) - len(said), answers)


def public(of: Yardstick) -> Iterator[Line]:
    """Errors, coverage and floors by kind; beside them the peer, on the points that it answers."""
    groups = {
        "aggregated": [one for one in of.said if _mode(one) == "agg"],
        "chips fitted on": [one for one in of.said if _mode(one) == "agg" and one.seen],
        "chips not seen": [one for one in of.said if _mode(one) == "agg" and not one.seen],
        "decode workers": [one for one in of.said if _mode(one) == "disagg"],
        "aggregated, each measurement once": list(
            {one.point.key: one for one in reversed(of.said) if _mode(one) == "agg"}.values()
        ),
    }
    if of.peer:
        tables = [one for one in groups["aggregated"] if of.peer[one.point.id].mode == peer.MODES[0]]
        groups["aggregated, where the peer's own tables answer"] = tables
    for name, chosen in groups.items():
        yield Line(name, len(chosen), _columns(chosen, of.peer))


def by_model(of: Yardstick) -> Iterator[Line]:
    """The aggregated points by chip, engine and model."""
    aggregated = [one for one in of.said if _mode(one) == "agg"]
    for kind in ("chip", "engine", "model"):
        for name in sorted({getattr(one.point.row, kind) for one in aggregated}):
            chosen = [one for one in aggregated if getattr(one.point.row, kind) == name]
            yield Line(name, len(chosen), _columns(chosen, of.peer))


def _columns(chosen: Sequence[Said], answers: Mapping[str, peer.Answer]) -> dict[str, str]:
    inside, beaten = np.mean([one.inside for one in chosen]), np.mean([one.measured_s < one.floor_s for one in chosen])
    found = {
        "median / mean": _errors(np.array([one.ratio for one in chosen])), "inside": f"{100 * inside:.0f} %",
        "high / low": f"{np.median([one.high_s / one.low_s for one in chosen]):.2f}",
        "beat the floor": f"{100 * beaten:.2f} %",
    }  # fmt: skip
    both = [(one, answers[one.point.id].tpot_s) for one in chosen if answers and answers[one.point.id].tpot_s]
    if both:
        theirs = np.array([said / one.measured_s for one, said in both if said])
        found["peer answers"] = f"{len(both)}"
        found["peer"] = _errors(theirs)
        found["ours there"] = _errors(np.array([one.ratio for one, _ in both]))
    return found


def _errors(ratios: Column) -> str:
    off = 100 * np.abs(ratios - 1.0)
    return f"{np.median(off):.1f} / {off.mean():.1f}"


def _steps(what: str, ratios: Column, wanted: str = "") -> Line:
    off = 100 * np.abs(ratios - 1.0)
    low, high = np.quantile(ratios, [0.1, 0.9])
    columns = {"wanted": wanted, "median": f"{np.median(off):.1f}", "said / measured": f"{low:.2f} to {high:.2f}"}
    return Line(what, len(ratios), columns)


def _mode(one: Said) -> str:
    return one.point.raw["mode"]
