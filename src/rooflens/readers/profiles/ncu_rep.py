"""Nsight Compute reports (.ncu-rep), through NVIDIA's own package where it is installed (extra `ncu`)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rooflens.errors import BadFile, RooflensError
from rooflens.readers.content import Content
from rooflens.readers.figures import unit
from rooflens.readers.profiles import ncu
from rooflens.readers.profiles.ncu_table import Row
from rooflens.roofline.observed import Observed

MAGIC = b"NVR\0"
LARGEST_REPORT = 4 << 30
_FACTS = {"Device": "launch__device_id", "Stream": "launch__stream_id", "Context": "launch__context_id"}


def report(content: Content) -> Observed:
    """The kernels of a report, one a launch. Raises RooflensError, saying how to export CSV, without the package."""
    try:
        import ncu_report
    except ImportError:
        raise RooflensError(
            f"{content.where} is a report of Nsight Compute; to read it, install rooflens with the extra ncu "
            f"(pip install 'rooflens[ncu]'), or {ncu.EXPORT}"
        ) from None
    with content.unpacked(".ncu-rep", LARGEST_REPORT) as path:  # the package wants a file that is not packed
        try:
            found = list(_rows(ncu_report.load_report(str(path))))
        except Exception as error:  # noqa: BLE001 - its own kinds of error, which are not documented
            raise BadFile(content.where, [f"the package ncu-report cannot read it: {error!s:.200}"]) from None
    return ncu.observed(found, content.where, "ncu-rep", ())


def _rows(report: Any) -> Iterator[Row]:
    for at in range(report.num_ranges()):
        actions = report.range_by_idx(at)
        for index in range(actions.num_actions()):
            yield _row(actions.action_by_idx(index), str(index))


def _row(action: Any, index: str) -> Row:
    metrics: dict[str, float] = {}
    texts: dict[str, str] = {}
    for name in action.metric_names():
        metric = action.metric_by_name(name)
        if metric is None or not metric.has_value():
            continue
        if metric.kind() == metric.ValueKind_STRING:
            texts[name] = metric.as_string()
        else:
            metrics[name] = metric.as_double() * unit(metric.unit() or "")[0]
    facts = {key: f"{metrics[name]:.0f}" for key, name in _FACTS.items() if name in metrics}
    cc = [metrics.get(f"device__attribute_compute_capability_{part}") for part in ("major", "minor")]
    if cc[0] is not None and cc[1] is not None:
        facts["CC"] = f"{cc[0]:.0f}.{cc[1]:.0f}"
    name = action.name(action.NameBase_DEMANGLED) or action.name()
    return Row({"ID": index, "Kernel Name": name, **facts}, metrics, texts=texts)
