"""Machines on figures that one can reckon with: datasheets, clocks, a person's own figures, which roof, arithmetic."""

from __future__ import annotations

import pytest

from rooflens.catalogue import Accelerator
from rooflens.catalogue.record import MatrixPeaks, Memory, OnChip, Pcie, Price, ScaleUp, VectorPeaks
from rooflens.dtypes import dtype
from rooflens.errors import NoPath, RooflensError, Unknown
from rooflens.operators.cost import Precision
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.machines import at_clocks, from_accelerator, overridden
from rooflens.roofline.math import resolve

CHIP = Accelerator(
    "acme-one", "Acme One", "NVIDIA", compute_capability="9.0", unit_count=10, base_clock_hz=1e9, boost_clock_hz=2e9,
    tensor_clock_hz=1.5e9, tdp_w=300.0, vector=VectorPeaks(fp32=1e12),
    matrix=MatrixPeaks(bf16=10e12, fp8=20e12, int4=0.0), sparse_multiplier=2.0,
    memory=Memory("HBM3", capacity_bytes=8e9, bandwidth_bytes_per_s=1e12), on_chip=OnChip(l2_bytes=4e6, llc_bytes=9e6),
    scale_up=ScaleUp("NVLink4", 450e9), pcie=Pcie(5, 16, 64e9), price=Price("cloud", "2026-01-01", "a list", 3.0),
    sources=("a sheet",), note="a note",
)  # fmt: skip


def test_a_datasheet_is_its_roofs_and_an_assumed_port():
    found = from_accelerator(CHIP)
    assert (found.name, found.title) == ("acme-one", "Acme One")
    assert {c.id: (c.value, c.origin, c.level, c.path) for c in found.ceilings} == {
        "compute/matrix/bf16": (10e12, "spec", None, "matrix"), "compute/matrix/fp8": (20e12, "spec", None, "matrix"),
        "compute/matrix/int4": (0, "spec", None, "matrix"), "compute/vector/fp32": (1e12, "spec", None, "vector"),
        "memory/main": (1e12, "spec", "main", None), "link/nvlink": (450e9, "spec", "nvlink", None),
        "link/pcie": (64e9, "spec", "pcie", None), "link/network": (50e9, "assumed", "network", None),
    }  # fmt: skip
    assert (found.memory_bytes, found.price_usd_per_hour, found.power_w, found.units) == (8e9, 3, 300, 10)
    assert (found.cache_bytes, found.clock_hz, found.link, found.family) == (9e6, 1.5e9, "nvlink", "hbm")
    assert (found.sparse_multipliers, found.notes, found.assumed) == ({"bf16": 2, "fp8": 2}, ("a note",), {})
    assert [found.has(math) for math in ("bf16", "int4", "fp16")] == [True, False, None]
    assert not found.measured


def test_what_a_datasheet_leaves_out_is_taken_from_what_is_nearest_to_it_or_not_there():
    bare = replace(
        CHIP, on_chip=OnChip(l2_bytes=4e6), tensor_clock_hz=None, scale_up=ScaleUp(), price=None, sources=(), note=None,
    )  # fmt: skip
    found = from_accelerator(bare)
    assert (found.cache_bytes, found.clock_hz, found.link) == (4e6, 2e9, "pcie")
    assert (found.price_usd_per_hour, found.notes) == (None, ())
    assert found.assumed == {"machine": "its own figures, without a source"}
    assert {c.origin for c in found.ceilings} == {"assumed"}
    assert from_accelerator(replace(bare, boost_clock_hz=None)).clock_hz == 1e9


@pytest.mark.parametrize(
    ("vendor", "memory", "family"),
    [
        ("NVIDIA", "HBM3", "hbm"), ("NVIDIA", "GDDR6X", "gddr"), ("NVIDIA", "LPDDR5X", "nvidia"),
        ("AMD", "HBM3", "cdna"), ("AMD", "GDDR6", "gddr"), ("AMD", "DDR5", "amd"),
        ("Intel", "HBM2e", "intel"), ("Apple", "LPDDR", "apple"), (None, None, ""),
    ],
)  # fmt: skip
def test_a_chip_is_of_the_kind_of_its_maker_and_memory(vendor, memory, family):
    assert from_accelerator(replace(CHIP, vendor=vendor, memory=Memory(memory))).family == family


def roof(id, kind="compute", value=1.0, **more):
    return Ceiling(id, kind, value, more.pop("origin", "measured"), **more)


def test_roofs_scale_with_the_clock_that_they_are_stated_at():
    own = roof("own", value=4e12, dtype="bf16", best=8e12, clock_hz=1e9)
    stated, none = roof("stated", value=6e12, dtype="fp8"), roof("none", value=0.0, dtype="int4")
    main = roof("main", "memory", 1e12, origin="spec", level="main", best=3e12)
    seen, near = roof("seen", "memory", 1e12, level="main"), roof("near", "memory", 9e12, origin="spec", level="L2")
    machine = Machine("acme", "Acme", (own, stated, none, main, seen, near), clock_hz=3e9)
    slower = {c.id: c for c in at_clocks(machine, 0.5e9).ceilings}
    assert (slower["own"].value, slower["own"].best, slower["own"].clock_hz) == (2e12, 4e12, 0.5e9)
    assert (slower["stated"].value, slower["stated"].best, slower["stated"].clock_hz) == (1e12, None, 0.5e9)
    assert [slower[id] for id in ("none", "main", "seen", "near")] == [none, main, seen, near]
    at_memory = {c.id: c for c in at_clocks(machine, None, 2e12).ceilings}
    assert (at_memory["main"].value, at_memory["main"].best) == (2e12, None)
    assert [at_memory[id] for id in ("own", "stated", "seen", "near")] == [own, stated, seen, near]
    assert at_clocks(machine, None) is machine
    unknown = replace(machine, clock_hz=None)
    assert at_clocks(unknown, 0.5e9).ceilings[1] == stated


@pytest.mark.parametrize(
    ("written", "kind", "asked", "value"),
    [
        ("memory=2TB/s", "memory", {"level": "main"}, 2e12),
        ("memory=1B/s", "memory", {"level": "main"}, 1),
        ("launch=3us", "launch", {"level": "device"}, 3e-6),
        ("launch=0s", "launch", {"level": "device"}, 0),
        ("host_launch=4us", "launch", {"level": "host"}, 4e-6),
        ("nvlink_latency=5us", "launch", {"level": "link:nvlink"}, 5e-6),
        ("network=100GB/s", "link", {"level": "network"}, 100e9),
        ("bf16=7TFLOP/s", "compute", {"dtype": "bf16", "path": "matrix"}, 7e12),
        ("fp32=2TFLOP/s", "compute", {"dtype": "fp32", "path": "vector"}, 2e12),  # where its own roof is
        ("matrix.fp32=2TFLOP/s", "compute", {"dtype": "fp32", "path": "matrix"}, 2e12),
        ("fp64=2TFLOP/s", "compute", {"dtype": "fp64", "path": "matrix"}, 2e12),
        ("vector.bf16=2TFLOP/s", "compute", {"dtype": "bf16", "path": "vector"}, 2e12),
        ("fp8_e4m3=3PFLOP/s", "compute", {"dtype": "fp8", "path": "matrix"}, 3e15),
    ],
)
def test_a_persons_figure_stands_in_place_of_the_machines_and_of_no_other(written, kind, asked, value):
    before = replace(
        from_accelerator(CHIP),
        ceilings=(*from_accelerator(CHIP).ceilings, Ceiling("near", "memory", 9e12, "spec", level="L2")),
    )
    after = overridden(before, [written])
    (found,) = after.find(kind, **asked)
    assert (found.value, found.origin) == (value, "assumed")
    gone = [c for c in before.ceilings if c not in after.ceilings]
    assert all(c.kind == kind and all(getattr(c, name) == said for name, said in asked.items()) for c in gone)
    assert len(after.ceilings) == len(before.ceilings) - len(gone) + 1
    assert after.assumed == dict([written.split("=")])
    assert after.assumptions == (f"assumed of acme-one: {written.replace('=', ' ')}",)


def test_figures_beside_roofs_and_a_link_where_there_was_none():
    machine = from_accelerator(CHIP)
    assert overridden(machine, ["capacity=9GB"]).memory_bytes == 9e9
    assert overridden(machine, ["pcie=9GB/s"]).link == "nvlink"
    assert overridden(replace(machine, link=None), ["pcie=9GB/s"]).link == "pcie"
    lanes = roof("v", value=1e9, dtype="bf16", path="vector")
    faster = replace(machine, ceilings=(*machine.ceilings, lanes))
    both = overridden(faster, ["bf16=7TFLOP/s"])
    assert [(c.path, c.value) for c in both.find("compute", dtype="bf16")] == [("matrix", 7e12), ("vector", 1e9)]


@pytest.mark.parametrize(
    ("written", "said"),
    [
        (["memory"], "write NAME=VALUE"),
        (["memory=1TB/s", "memory=2TB/s"], "memory is given twice"),
        (["memory=0B/s"], "a ceiling must be above 0"),
        (["capacity=0GB"], "a ceiling must be above 0"),
        (["bf16=0FLOP/s"], "a ceiling must be above 0"),
    ],
)
def test_a_figure_that_is_none_is_said(written, said):
    with pytest.raises(RooflensError, match=said):
        overridden(from_accelerator(CHIP), written)


@pytest.mark.parametrize("name", ["bf61", "tensor.bf16", "vector.bf61", "latency", "_latency", "x_latency"])
def test_a_ceiling_that_nobody_knows_is_named(name):
    with pytest.raises(Unknown, match="ceiling"):
        overridden(from_accelerator(CHIP), [f"{name}=1TFLOP/s"])


def test_the_faster_trusted_roof_is_taken_by_its_best_sample():
    machine = Machine("acme", "Acme", (
        roof("slow", value=5.0, dtype="bf16", path="matrix"),
        roof("fast", value=4.0, best=9.0, dtype="bf16", path="vector"),
        roof("doubtful", value=99.0, dtype="bf16", trusted=False),
        roof("read", "memory", 3.0, level="main", access="read"),
        roof("copy", "memory", 2.0, level="main", access="copy"),
        roof("any", "memory", 8.0, level="L2"), roof("fitted", "link", 9.0, level="nvlink", access="all-reduce/long"),
        roof("one", "link", 7.0, level="nvlink", access="0-1"), roof("host", "launch", 6.0, level="host"),
        roof("device", "launch", 4.0, level="device", best=3.0), roof("again", "launch", 5.0, level="device"),
    ), link="nvlink")  # fmt: skip
    assert [c.id for c in machine.find("compute", dtype="bf16")] == ["fast", "slow"]
    assert (machine.compute("bf16").id, machine.compute("bf16", "matrix").id) == ("fast", "slow")
    assert [machine.memory(access).id for access in ("read", "copy")] == ["read", "copy"]
    assert machine.memory("read", "L2").id == "any"  # a datasheet's one figure is of every access
    assert (machine.the_link().id, machine.the_link("nvlink").id) == ("one", "one")
    assert (machine.launch_s(), machine.launch_s("host"), replace(machine, ceilings=()).launch_s()) == (3, 6, 0)
    assert (machine.latency_s(), machine.measured) == (None, True)
    assert overridden(machine, ["fp8=1FLOP/s"]).measured  # some of it is
    with pytest.raises(NoPath, match="the rate of triad bandwidth of main memory is not known"):
        machine.memory("triad")
    with pytest.raises(NoPath, match="the rate of scale-up link is not known"):
        replace(machine, link=None).the_link()
    with pytest.raises(NoPath, match="acme has no int4 arithmetic on its matrix units"):
        replace(machine, ceilings=(roof("none", value=0.0, dtype="int4", path="matrix"),)).compute("int4", "matrix")


def test_a_link_whose_rate_is_assumed_is_said_and_a_step_of_it_waits_its_least():
    waits = [roof(f"{s}", "launch", s, level="link:nvlink") for s in (3.0, 2.0)]
    port = roof("p", "link", 1.0, level="pcie", origin="assumed", note="a port")
    machine = Machine(
        "acme", "Acme", (roof("n", "link", level="nvlink"), port, *waits), link="nvlink", assumed={"memory": "2 TB/s"}
    )
    assert (machine.latency_s(), machine.latency_s("nvlink"), machine.latency_s("pcie")) == (2, 2, None)
    assert machine.linked("pcie").link == "pcie"
    assert machine.linked("pcie").assumed == {"pcie": "a port", "memory": "2 TB/s"}
    assert (machine.using("pcie").link, machine.using("nvlink").assumed) == ("nvlink", {"memory": "2 TB/s"})


MATHS = Machine("acme", "Acme", (
    roof("bf16", value=2.0, dtype="bf16"), roof("tf32", value=1.0, dtype="tf32"), roof("fp8", value=4.0, dtype="fp8"),
    roof("fp4", value=0.0, dtype="fp4"),
))  # fmt: skip
PARTS = ("linear", "project", "expert", "shared", "attend", "router", "head", "conv", "ssm")


@pytest.mark.parametrize(
    ("weights", "math", "wanted", "notes"),
    [
        ("bf16", None, "bf16", 0),
        ("fp8", None, "fp8", 1),  # activations are narrowed
        ("int8", None, "bf16", 1),  # no such arithmetic is known
        ("fp4", None, "bf16", 1),  # nor is there this one
        ("fp16", None, "bf16", 0),  # stored in 16 bit: as the activations
        ("fp32", None, "fp32", 0),
        ("fp8", "bf16", "bf16", 0),
        ("bf16", "tf32", "tf32", 0),
    ],
)
def test_every_part_is_computed_as_it_is_stored_where_the_machine_can(weights, math, wanted, notes):
    found, said = resolve(Precision(dtype(weights), dtype("bf16"), dtype("bf16")), MATHS, math)
    attention = math or "bf16"
    assert {part: found.math_of(part) for part in PARTS} == {**dict.fromkeys(PARTS, wanted), "attend": attention}
    assert len(said) == notes


def test_narrow_arithmetic_that_is_asked_for_is_of_products_alone_and_parts_keep_their_own():
    stored = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"), {"head": dtype("fp32"), "router": dtype("int8")})
    found, said = resolve(stored, MATHS, "fp8")
    narrow = dict.fromkeys(("linear", "project", "expert", "shared"), "fp8")
    wide = dict.fromkeys(("attend", "conv", "ssm", "router"), "bf16")
    assert {part: found.math_of(part) for part in PARTS} == {**narrow, **wide, "head": "fp32"}
    assert said == (
        "int8 weights are computed in bf16: acme is not known to have int8 arithmetic",
        "activations are narrowed on the fly for fp8 products; their bytes are counted as stored",
    )
    (no,) = resolve(replace(stored, stored_parts={"head": dtype("fp4")}), MATHS)[1]
    assert no == "fp4 weights are computed in bf16: acme has no fp4 arithmetic"


def test_activations_are_narrowed_for_the_parts_that_are_stored_narrow():
    stored = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"), {"expert": dtype("fp8"), "head": dtype("fp8")})
    found, said = resolve(stored, MATHS)
    assert (found.math_of("expert"), found.math_of("linear")) == ("fp8", "bf16")
    assert said == ("activations are narrowed on the fly for fp8 products; their bytes are counted as stored",)
    assert resolve(replace(stored, stored_parts={"head": dtype("fp8")}), MATHS)[1] == ()


def test_arithmetic_that_a_machine_lacks_is_refused_with_what_it_has():
    stored = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"))
    with pytest.raises(NoPath, match="acme has no fp4 arithmetic; it has bf16, fp8, tf32: choose one with --math"):
        resolve(stored, MATHS, "fp4")
    with pytest.raises(NoPath, match="acme is not known to have int8 arithmetic; it has bf16"):
        resolve(stored, MATHS, "int8")
    eight = replace(MATHS, ceilings=(roof("int8", dtype="int8"),))
    with pytest.raises(NoPath, match="not known to have bf16 arithmetic; it has int8 alone, and activations need 16"):
        resolve(stored, eight)
    with pytest.raises(NoPath, match="no rate of it is known: give one as --on acme,bf16=RATE"):
        resolve(stored, replace(MATHS, ceilings=()))


def test_arithmetic_is_named_by_a_machine_before_by_a_format():
    """int4 weights are computed in 16 bit, unless a machine that multiplies in int4 is asked to."""
    stored = Precision(dtype("int4"), dtype("bf16"), dtype("bf16"))
    four = replace(MATHS, ceilings=(*MATHS.ceilings, roof("int4", dtype="int4"), roof("a", dtype="bf16_acc16")))
    assert resolve(stored, four, "int4")[0].math_of("linear") == "int4"
    assert resolve(stored, four, "fp8_e4m3")[0].math_of("linear") == "fp8"
    assert resolve(stored, four, "bf16_acc16")[0].math_of("head") == "bf16_acc16"
    with pytest.raises(NoPath, match="not known to have fp16 arithmetic"):
        resolve(stored, MATHS, "int4")
