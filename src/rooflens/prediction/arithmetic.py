"""Batch-1 decode without an architecture: parameters, bytes, and the most tokens a second that memory allows."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.diagnose import Verdict, verdict
from rooflens.operators.alone import Alone
from rooflens.operators.cost import Precision
from rooflens.records import html, record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import mbu, mfu, place, ridge
from rooflens.roofline.placement import conventions
from rooflens.roofline.points import Point


@record
class Arithmetic:
    """One token that streams its weights once and multiplies each by 2.

    tokens_per_s_ceiling: 1 / largest of FLOPs over peak and bytes over bandwidth. below_ridge_times: ridge point over
    intensity. tokens_per_s_whole_file: were the looked-up table streamed too, where one was said. mbu, mfu: of a
    measured rate, of the read bandwidth and of the peak of `math`.
    """

    _repr_html_ = html

    model: str
    machine: str
    tokens_per_s_ceiling: float
    intensity_flops_per_byte: float
    ridge_flops_per_byte: float
    below_ridge_times: float
    attainable_flops_per_s: float
    share_of_peak: float
    bound: str
    math: str
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float
    conventions: Mapping[str, str]
    tokens_per_s_whole_file: float | None = None
    measured_tokens_per_s: float | None = None
    mbu: float | None = None
    mfu: float | None = None
    verdict: Verdict | None = None


def arithmetic(
    text: str, step: Alone, precision: Precision, machine: Machine, measured_tokens_per_s: float | None = None
) -> Arithmetic:
    """The six numbers of a batch-1 step, and what a measured rate is of them.

    Not counted: the cache, activations, launches. Raises NoPath for a machine without the math.
    """
    cost = step.cost(precision)
    point = place(text, cost, machine)
    ridge_point, read = ridge(machine, point.dtype), machine.memory("read").floor_value
    intensity = point.flops / point.bytes
    rate, peak = measured_tokens_per_s, machine.compute(point.dtype).floor_value
    of_bandwidth, of_peak = (
        (None, None) if rate is None else (mbu(point.bytes, machine, 1 / rate), mfu(cost, machine, 1 / rate))
    )
    return Arithmetic(
        model=text,
        machine=machine.title,
        tokens_per_s_ceiling=1 / point.time_s,
        intensity_flops_per_byte=intensity,
        ridge_flops_per_byte=ridge_point,
        below_ridge_times=ridge_point / intensity,
        attainable_flops_per_s=point.attainable_flops_per_s,
        share_of_peak=point.share_of_peak,
        bound=point.bound,
        math=point.dtype,
        peak_flops_per_s=peak,
        bandwidth_bytes_per_s=read,
        conventions={**conventions(machine, precision, "causal"), "not_counted": "KV cache, activations, launches"},
        tokens_per_s_whole_file=read / (point.bytes + step.table_bytes) if step.table_bytes else None,
        measured_tokens_per_s=rate,
        mbu=of_bandwidth,
        mfu=of_peak,
        verdict=None if rate is None else _verdict(point, rate, of_bandwidth, of_peak),
    )


def _verdict(point: Point, rate: float, of_bandwidth: float | None, of_peak: float | None) -> Verdict:
    share, name = (of_peak, "MFU") if point.bound == "compute" else (of_bandwidth, "MBU")
    return verdict(point.time_s, 1 / rate, point.bound, share or 0.0, name)
