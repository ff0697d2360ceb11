"""Scenes for the plot tests: machines with figures of real kind, and random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import combinations
from typing import Any

from rooflens.present.boxes import Box
from rooflens.roofline.ceilings import Ceiling, Kind, Machine
from rooflens.roofline.points import Point

DTYPES = ("fp64", "fp32", "tf32", "fp16", "bf16", "fp8", "int8", "fp6", "fp4")


def ceiling(kind: Kind, value: float, **more: Any) -> Ceiling:
    more.setdefault("origin", "spec")
    name = ".".join(str(v) for v in (kind, *more.values()))
    return Ceiling(name, kind, value, **more)


def point(
    machine: Machine, name: str, dtype: str, intensity: float, rate: float | None = None, flops: float = 1e9
) -> Point:
    peak, slope = machine.compute(dtype).value, machine.memory().value
    attainable = min(peak, slope * intensity)
    reached = attainable if rate is None else rate
    bound = "compute" if peak <= slope * intensity else "memory"
    regime = "below-roof" if reached < attainable / 2 else bound
    return Point(
        name, dtype, flops, flops / intensity, flops / reached, reached, attainable, reached / peak, bound, regime,
        rate is not None, intensity,
    )  # fmt: skip


CPU = Machine("here", "Two cores of a server CPU", (
    ceiling("compute", 329e9, dtype="fp32", path="vector", mode="sustained", origin="measured"),
    ceiling("compute", 338e9, dtype="fp32", path="vector", mode="burst", origin="measured"),
    ceiling("compute", 161e9, dtype="fp64", path="vector", mode="sustained", origin="measured"),
    ceiling("compute", 176e9, dtype="fp64", path="vector", mode="burst", origin="measured"),
    ceiling("compute", 500e9, dtype="bf16", mode="burst", origin="measured", trusted=False, why_not="emulated"),
    ceiling("memory", 33.2e9, level="main", access="read", origin="measured"),
    ceiling("memory", 45.7e9, level="main", access="copy", origin="measured"),
    ceiling("memory", 480e9, level="L1", access="read", origin="measured"),
    ceiling("memory", 210e9, level="L2", access="read", origin="measured"),
    ceiling("memory", 70e9, level="L3", access="read", origin="measured"),
    ceiling("launch", 2.1e-6, level="device", origin="measured"),
))  # fmt: skip
A100 = Machine("a100-sxm4-80gb", "NVIDIA A100 SXM4 80 GB", (
    ceiling("compute", 9.7e12, dtype="fp64", path="vector"), ceiling("compute", 19.5e12, dtype="fp64", path="matrix"),
    ceiling("compute", 19.5e12, dtype="fp32", path="vector"), ceiling("compute", 156e12, dtype="tf32", path="matrix"),
    ceiling("compute", 312e12, dtype="fp16", path="matrix"), ceiling("compute", 312e12, dtype="bf16", path="matrix"),
    ceiling("compute", 624e12, dtype="int8", path="matrix"), ceiling("compute", 0.0, dtype="fp8"),
    ceiling("memory", 2.0e12, level="main"), ceiling("link", 300e9, level="nvlink"),
), link="nvlink")  # fmt: skip


def gpu() -> Machine:
    """A card as the lab draws it: seven dtypes, each settled, fresh and as its datasheet says."""
    steps = {
        "int8": (1335, 1633, 1979), "fp8": (1289, 1562, 1979), "bf16": (671, 810, 989), "fp16": (653, 781, 989),
        "tf32": (344, 411, 495), "fp64": (58.3, 63.0, 66.9), "fp32": (51.4, 51.4, 66.9),
    }  # fmt: skip
    found = []
    for dtype, (settled, fresh, sheet) in steps.items():
        throttle = "rate fell 17 % (power cap)" if dtype != "fp32" else None
        for mode, rate in (("sustained", settled), ("burst", fresh)):
            more = {"mode": mode, "throttle": throttle if mode == "sustained" else None, "origin": "measured"}
            found.append(ceiling("compute", rate * 1e12, dtype=dtype, path="matrix", **more))
        found.append(ceiling("compute", sheet * 1e12, dtype=dtype, path="matrix"))
    rates = (("main", 4.608e12), ("L2", 9.26e12), ("shared", 31e12))
    found += [ceiling("memory", rate, level=level, access="read", origin="measured") for level, rate in rates]
    return Machine("h200", "A GPU", tuple(found), power_w=700.0)


def cpu_points() -> list[Point]:
    rates = (9.1e9, 11.2e9, 12.4e9, 13.1e9, 13.5e9, 13.9e9, 14.2e9, 14.4e9)
    decode = [point(CPU, f"decode attention S={128 << i}", "fp32", 0.5, r) for i, r in enumerate(rates)]
    return [*decode, point(CPU, "GEMM 4096", "fp32", 683, 319e9)]


def a100_points() -> list[Point]:
    rows = ("qkv", "o", "gate_up", "down", "lm_head")
    places = (("decode B=1", 1.0), ("decode B=16", 15.9), ("prefill 2048", 1215.0))
    return [point(A100, f"{step} {row}", "fp16", x * (1 + i / 300)) for step, x in places for i, row in enumerate(rows)]


def random_scene(seed: int) -> tuple[list[Machine], dict[str, list[Point]]]:
    """1 to 5 machines, up to 9 dtypes each, 1 to 24 points, some of them identical or nearly so."""
    dice = random.Random(seed)
    machines = [random_machine(dice, i) for i in range(dice.choice((1, 1, 1, 2, 3, 4, 5)))]
    points: dict[str, list[Point]] = {m.name: [] for m in machines}
    for i in range(dice.randint(1, 24)):
        machine = dice.choice(machines)
        mine = points[machine.name]
        if mine and dice.random() < 0.35:
            mine.append(_near(dice, machine, dice.choice(mine)))
        else:
            mine.append(_anywhere(dice, machine, i))
    return machines, points


def random_machine(dice: random.Random, index: int) -> Machine:
    scale = 10 ** dice.uniform(9, 14)
    ceilings = [
        ceiling("memory", scale / 10 ** dice.uniform(0.5, 2.5), level="main", access=dice.choice(("read", None)))
    ]
    for dtype in dice.sample(DTYPES, dice.randint(1, 9)):
        value = scale * dice.choice((0.5, 1.0, 1.01, 2.0, 4.0, dice.uniform(0.1, 8)))
        measured = dice.random() < 0.5
        modes = ("burst", "sustained") if measured and dice.random() < 0.5 else (None,)
        for mode in modes:
            origin = "measured" if measured else "spec"
            rate = value * (0.85 if mode == "sustained" else 1)
            ceilings.append(ceiling("compute", rate, dtype=dtype, path="matrix", mode=mode, origin=origin))
    main = ceilings[0].value
    ceilings += [ceiling("memory", main * 3**n, level=f"L{4 - n}", access="read") for n in range(1, dice.randint(1, 4))]
    ceilings += [ceiling("link", main / 8, level="nvlink")] if dice.random() < 0.5 else []
    ceilings += [ceiling("launch", 10 ** dice.uniform(-6, -4), level="device")] if dice.random() < 0.5 else []
    return Machine(f"m{index}", f"Machine number {index} with a fairly long name", tuple(ceilings))


def _anywhere(dice: random.Random, machine: Machine, number: int) -> Point:
    dtype = dice.choice(sorted({c.dtype for c in machine.ceilings if c.dtype}))
    intensity = 10 ** dice.uniform(-1.5, 4.5)
    limit = min(machine.compute(dtype).value, machine.memory().value * intensity)
    rate = dice.choice((None, limit * 10 ** dice.uniform(-3, 0), limit * dice.uniform(1, 2)))
    name = dice.choice((f"op {number}", f"decode attention S={2**number}", f"prefill gate_up layer {number}", "GEMM"))
    return point(machine, name, dtype, intensity, rate, flops=10 ** dice.uniform(5, 13))


def _near(dice: random.Random, machine: Machine, old: Point) -> Point:
    shift = dice.choice((1.0, 1.001, 1.03, 1.2))
    assert old.intensity_flops_per_byte is not None
    return point(
        machine, dice.choice((old.name, f"{old.name} again")), old.dtype, old.intensity_flops_per_byte * shift,
        old.flops_per_s * dice.choice((1.0, 0.99, 0.9)) if old.measured else None,
    )  # fmt: skip


def overlaps(boxes: list[tuple[str, Box]]) -> Iterator[tuple[str, str]]:
    for (a, box), (b, other) in combinations(boxes, 2):
        if box.hits(other):
            yield a, b


def outside(boxes: list[tuple[str, Box]], width: float, height: float) -> list[str]:
    return [text for text, box in boxes if not box.within(Box(0, 0, width, height))]
