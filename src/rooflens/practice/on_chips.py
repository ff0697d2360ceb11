"""Problems about a chip: ridge points, roofs and slopes, floors, and where a peak comes from."""

from __future__ import annotations

from rooflens import catalogue
from rooflens.dtypes import dtype
from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import CHIPS, bandwidth, cost, machine, peak, point, rows, sources, sparse
from rooflens.roofline.place import ridge
from rooflens.roofline.price import times
from rooflens.units import show

TIB = 2**40 / 1e12
MATHS = ("bf16", "fp8", "int8")
FROM_CLOCKS = ("h100-sxm5-80gb", "a100-sxm4-80gb", "h200-sxm-141gb", "mi300x-192gb")


def _ridge(pick: Pick) -> Drawn:
    on = pick.one(*CHIPS)
    math = pick.one(*(m for m in MATHS if machine(on).has(m)))
    roof, read, right = peak(on, math), bandwidth(on), ridge(machine(on), math)
    missed = {
        "inverted": 1 / right, "eight_small": right / 8, "tib": right / TIB,
        "elements": right * dtype(math).bytes,
    }  # fmt: skip
    high = sparse(on, math)
    return Drawn(
        {"machine": machine(on).title, "dtype": math, "peak": show(roof, "FLOP/s"), "bandwidth": show(read, "B/s")},
        right,
        f"{show(roof, 'FLOP/s')} / {show(read, 'B/s')} = {right:.4g} FLOP/B",
        missed | ({"sparse": high / read} if high else {}),
        f"rooflens machines {on}",
        f"ridge_flops_per_byte.matrix/{math}",
        sources=sources(on),
    )


def _attainable(pick: Pick) -> Drawn:
    on, gbytes = pick.one(*CHIPS), pick.one(1, 2, 4)
    wanted = pick.one(1, 4, 20, 60, 400, 800, 1500)
    text = f"op:flops={wanted * gbytes}e9,bytes={gbytes}e9"
    right, roof, slope = point(text, on).attainable_flops_per_s, peak(on, "bf16"), wanted * bandwidth(on)
    high = sparse(on, "bf16")
    limit = "<" if slope < roof else ">"
    return Drawn(
        {
            "machine": machine(on).title, "peak": show(roof, "FLOP/s"), "bandwidth": show(bandwidth(on), "B/s"),
            "flops": show(wanted * gbytes * 1e9, "FLOP"), "bytes": show(gbytes * 1e9, "B"),
        },
        right,
        f"{wanted} FLOP/B x {show(bandwidth(on), 'B/s')} = {show(slope, 'FLOP/s')} {limit} {show(roof, 'FLOP/s')}",
        {"roof_only": roof, "slope_only": slope, "divided": bandwidth(on) / wanted}
        | ({"sparse": min(high, slope)} if high else {}),
        f"rooflens place {text} --on {on}",
        "operators[0].attainable_flops_per_s",
        sources=sources(on),
    )  # fmt: skip


def _time(pick: Pick) -> Drawn:
    on = pick.one(*CHIPS)
    m, k, n = pick.one(16, 64, 512, 2048, 4096), pick.one(4096, 5120, 8192), pick.one(8192, 14336)
    text = f"gemm:M={m},K={k},N={n}"
    counted, _ = cost(text, on)
    needs, _ = times(counted, machine(on))
    work_s, move_s = float(needs["compute:bf16"]), float(needs["memory"])
    flops, moved, roof = float(counted.total_flops), float(counted.bytes), peak(on, "bf16")
    high = sparse(on, "bf16")
    return Drawn(
        {
            "machine": machine(on).title, "m": f"{m}", "k": f"{k}", "n": f"{n}", "peak": show(roof, "FLOP/s"),
            "bandwidth": show(bandwidth(on), "B/s"),
        },
        point(text, on).time_s,
        f"max({show(flops, 'FLOP')} / {show(roof, 'FLOP/s')}, {show(moved, 'B')} / {show(bandwidth(on), 'B/s')})"
        f" = max({show(work_s, 's')}, {show(move_s, 's')})",
        {
            "added": work_s + move_s, "smaller": min(work_s, move_s), "half_the_flops": max(work_s / 2, move_s),
            "elements": max(work_s, move_s / 2),
        }
        | ({"sparse": max(flops / high, move_s)} if high else {}),
        f"rooflens place {text} --on {on}",
        "total.floor_s",
        rows=rows(text),
        sources=sources(on),
    )  # fmt: skip


def _peak(pick: Pick) -> Drawn:
    on = pick.one(*FROM_CLOCKS)
    chip = catalogue.accelerator(on)
    units, clock = float(chip.unit_count or 0), float(chip.tensor_clock_hz or chip.boost_clock_hz or 0)
    right = catalogue.derived_peaks(chip)["matrix"]["bf16"]
    rate = right / units / clock
    boost, high = float(chip.boost_clock_hz or clock), sparse(on, "bf16")
    return Drawn(
        {
            "machine": machine(on).title, "units": f"{units:g}", "unit": chip.unit_kind or "",
            "clock": show(clock, "Hz"), "rate": f"{rate / 2:g}",
        },
        right,
        f"{units:g} x {show(clock, 'Hz')} x 2 x {rate / 2:g} FLOP = {show(right, 'FLOP/s')}",
        {"half_the_flops": right / 2, "one_unit": right / units, "other_clock": right * boost / clock}
        | ({"sparse": right * high / peak(on, "bf16")} if high else {}),
        f"rooflens machines {on}",
        "matrix.bf16",
        sources=sources(on),
    )  # fmt: skip


PROBLEMS = (
    Problem("ridge", "chips", "FLOP/B", _ridge),
    Problem("attainable", "chips", "FLOP/s", _attainable),
    Problem("time", "chips", "s", _time),
    Problem("peak", "chips", "FLOP/s", _peak),
)
