"""Problems about a vendor's sentence: what a printed figure is of, and what a speed-up is true for."""

from __future__ import annotations

from rooflens import catalogue
from rooflens.claims.figures import BOTH_WAYS, SPARSE, right
from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import WITH_NVLINK, bandwidth, cost, machine, peak, sources, sparse
from rooflens.roofline.place import place
from rooflens.units import show

PAIRS = (
    ("h100-sxm5-80gb", "a100-sxm4-80gb"), ("h200-sxm-141gb", "h100-sxm5-80gb"), ("b200-sxm-180gb", "h100-sxm5-80gb"),
    ("b200-sxm-180gb", "a100-sxm4-80gb"), ("h200-sxm-141gb", "a100-sxm4-80gb"), ("h100-sxm5-80gb", "l40s"),
)  # fmt: skip
ROOFS = (
    ("h100-sxm5-80gb", "bf16"), ("h100-sxm5-80gb", "fp8"), ("a100-sxm4-80gb", "bf16"), ("a100-sxm4-80gb", "int8"),
    ("b200-sxm-180gb", "fp8"), ("l40s", "fp8"),
)  # fmt: skip


def _speedup(pick: Pick) -> Drawn:
    first, second = pick.one(*PAIRS)
    text = "params=8e9,weight_bytes=16e9"
    new, old = (place(text, cost(text, on)[0], machine(on)).time_s for on in (first, second))
    compute = peak(first, "bf16") / peak(second, "bf16")
    narrow = peak(first, "fp8") / peak(second, "bf16")
    return Drawn(
        {
            "first": machine(first).title, "second": machine(second).title, "times": f"{narrow:.2g}",
            "first_peak": show(peak(first, "bf16"), "FLOP/s"), "second_peak": show(peak(second, "bf16"), "FLOP/s"),
            "first_bandwidth": show(bandwidth(first), "B/s"), "second_bandwidth": show(bandwidth(second), "B/s"),
        },
        old / new,
        f"{show(bandwidth(first), 'B/s')} / {show(bandwidth(second), 'B/s')} = {old / new:.4g}",
        {
            "compute_ratio": compute, "format_changed": narrow, "inverted": new / old,
            "both_multiplied": compute * old / new,
        },
        f"rooflens claim {first} {second} --times {narrow:.2g}",
        "ratios.memory",
        sources=(*sources(first), *sources(second)),
    )  # fmt: skip


def _sparse(pick: Pick) -> Drawn:
    on, math = pick.one(*ROOFS)
    chip = catalogue.accelerator(on)
    dense, printed = right(chip, math).value, right(chip, math, SPARSE).value
    return Drawn(
        {"machine": machine(on).title, "dtype": math, "printed": show(printed, "FLOP/s")},
        dense,
        f"{show(printed, 'FLOP/s')} / {(sparse(on, math) or 0) / dense:g} = {show(dense, 'FLOP/s')}",
        {
            "as_printed": printed,
            "halved_twice": dense / 2,
        },
        f"rooflens claim {on} --says '{show(printed, 'FLOP/s')} {math}'",
        "right",
        sources=sources(on),
    )


def _directions(pick: Pick) -> Drawn:
    on = pick.one(*WITH_NVLINK)
    chip = catalogue.accelerator(on)
    one, both = right(chip, "nvlink").value, right(chip, "nvlink", BOTH_WAYS).value
    return Drawn(
        {"machine": machine(on).title, "both": show(both, "B/s")},
        one,
        f"{show(both, 'B/s')} / 2 = {show(one, 'B/s')}",
        {"as_printed": both, "halved_twice": one / 2},
        f"rooflens claim {on} --says '{show(both, 'B/s')} nvlink'",
        "right",
        sources=sources(on),
    )


PROBLEMS = (
    Problem("speed-up", "claims", "times", _speedup),
    Problem("sparse", "claims", "FLOP/s", _sparse),
    Problem("directions", "claims", "B/s", _directions),
)
