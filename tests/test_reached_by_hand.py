"""What single kernels ask of the roofs that engines reach, in closed form, by constants that one can reckon with.

The chip has 1 TFLOP/s in 16 bit, 2 in 8, 4 in 4, a memory of 1 TB/s, a link of 100 GB/s and a network of 10 GB/s.
"""

from __future__ import annotations

import pytest

from rooflens.catalogue.calibrations import EngineCosts, Residuals, ServedConstants
from rooflens.catalogue.kernels import operators as kernel_constants
from rooflens.dtypes import Dtype, dtype
from rooflens.operators.collectives import Collective, Group, ways
from rooflens.operators.cost import Cost, Precision
from rooflens.operators.rows import Row
from rooflens.operators.standard import linear, link, norm, vector
from rooflens.prediction.reached import Reached, bridges, reached
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.workload import Operator

RATES = {"bf16": 1e12, "fp16": 1e12, "fp8": 2e12, "int8": 2e12}
CHIP = Machine(
    name="chip", title="Chip", link="nvlink", family="hbm",
    ceilings=(
        *(Ceiling(f"compute/{of}", "compute", rate, "spec", dtype=of, path="matrix") for of, rate in RATES.items()),
        Ceiling("compute/vector", "compute", 1e11, "spec", dtype="fp32", path="vector"),
        Ceiling("memory/main", "memory", 1e12, "spec", level="main"),
        *(Ceiling(f"link/{name}", "link", 1e11, "spec", level=name) for name in ("nvlink", "pcie")),
        Ceiling("link/network", "link", 1e10, "spec", level="network"),
    ),
)  # fmt: skip
FP4 = replace(
    CHIP, ceilings=(*CHIP.ceilings, Ceiling("compute/fp4", "compute", 4e12, "spec", dtype="fp4", path="matrix"))
)
NAMED = ServedConstants(
    date="2026-11-29", source="by hand", rows={}, chips={"served": ("chip",), "2024": (), "llama.cpp": ()},
    memory={"16": 0.8, "8": 0.5, "4": 0.4, "int4": 0.25, "gguf": 0.2}, cache=0.5, expert_memory=0.5,
    expert_compute=0.25, family_memory={"gddr": 1.5, "cdna": 0.5, "llama.cpp on hbm": 0.1},
    family_compute={"cdna": 0.5}, activations=3.0, copy=0.5, compute={"16": 0.5, "8": 0.25, "4": 0.125}, link=0.5,
    collective_s=7e-6, kernel_s=1e-6, mixed_s=2e-6, prefill_s=3e-6, rider=0.5, experts=4.0, experts_prefill=6.0,
    fused_experts=0.25, latent=2.0, scan=3.0, narrowing=0.75, spread_first_s=1.0, most=0.9,
    engines={"generic": EngineCosts()}, residuals={"dense": Residuals(0.5, 2.0, 1)},
)  # fmt: skip
SMALL_S = 10e-6


def stored(weights="bf16", kv="bf16", **parts):
    return Precision(dtype(weights), dtype(kv), dtype("bf16"), {part: dtype(name) for part, name in parts.items()})


def asked(cost, row=None, precision=None, machine=CHIP, which="decode", engine="", letters=None, more=()):
    operator = Operator("one", 1, cost, (row or linear("one", "B D, D F -> B F"), *more), letters=letters)
    return reached(NAMED, operator, precision or stored(), machine, which, SMALL_S, engine=engine)


@pytest.mark.parametrize(
    ("weights", "share"),
    [
        ("bf16", 0.8), ("fp32", 0.8), ("fp8", 0.5), ("mxfp6", 0.5), ("nvfp4", 0.4), ("mxfp4", 0.4), ("int4", 0.25),
        ("q4_k", 0.2), ("q8_0", 0.2),
    ],
)  # fmt: skip
def test_weights_are_streamed_at_the_share_of_their_kind(weights, share):
    found = asked(Cost(weight_bytes=1e9), linear("one", "B D, D F -> B F", "head"), stored(weights))
    assert found.own == pytest.approx({"memory": 1e-3 / share}, rel=1e-12)
    assert found.fixed_s == SMALL_S
    assert found.roofs_s == pytest.approx(1e-3 / share, rel=1e-12)


@pytest.mark.parametrize(("bits", "share"), [(4.25, 0.25), (5.0, 0.25), (5.5, 0.5), (16.0, 0.8)])
def test_four_bits_with_all_that_stands_beside_them_are_up_to_five(bits, share):
    found = asked(Cost(weight_bytes=1e9), precision=replace(stored(), weights=Dtype("scaled", bits, "bf16")))
    assert found.own == pytest.approx({"memory": 1e-3 / share}, rel=1e-12)


@pytest.mark.parametrize(
    ("math", "seconds"),
    [("bf16", 1e-3 / 0.5), ("fp8", 0.5e-3 / 0.25), ("int8", 0.5e-3 / 0.25), ("fp4", 0.25e-3 / 0.125)],
)
def test_arithmetic_takes_its_flops_over_the_share_of_its_width(math, seconds):
    found = asked(Cost({math: 1e9}, vector_flops=1e15), machine=FP4)
    assert found.own == pytest.approx({f"compute:{math}": seconds}, rel=1e-12)  # vector work hides


def test_experts_reach_other_shares_than_plain_products():
    row = linear("expert", "B D, [X] D Fe -> B Fe", "expert")
    assert asked(Cost({"bf16": 1e9}, weight_bytes=1e9), row).own == pytest.approx(
        {"compute:bf16": 1e-3 / (0.5 * 0.25), "memory": 1e-3 / (0.8 * 0.5)}, rel=1e-12
    )


def test_caches_and_activations_move_at_their_own_shares():
    cost = Cost(kv_bytes=1e9, activation_bytes=1e9)
    row = Row("attention", "B T K G W, B [S] K W -> B T K G P", "kv", "attend")
    for which, times in (("decode", 3.0), ("one", 1.0), ("mixed", 1.0)):
        moved = 1e-3 / 0.5 + times * 1e-3 / 0.5
        assert asked(cost, row, which=which).own == pytest.approx({"memory": moved}, rel=1e-12)


def test_a_kind_of_chip_reaches_its_share_of_every_memory_rate_and_no_more_than_the_most():
    """GDDR: 1.5 times; weights to 0.9 and not 1.2, the cache to 0.75, copies to 0.75. Kinds without a share: 1."""
    row = linear("one", "B D, D F -> B F")

    def seconds(family, **cost):
        return asked(Cost(**cost), row, machine=replace(CHIP, family=family), which="one").own["memory"]

    for family, weights, cache, copies in (("gddr", 0.9, 0.75, 0.75), ("cdna", 0.4, 0.25, 0.25), ("", 0.8, 0.5, 0.5)):
        assert seconds(family, weight_bytes=1e9) == pytest.approx(1e-3 / weights, rel=1e-12)
        assert seconds(family, kv_bytes=1e9) == pytest.approx(1e-3 / cache, rel=1e-12)
        assert seconds(family, activation_bytes=1e9) == pytest.approx(1e-3 / copies, rel=1e-12)


def test_a_cache_is_read_at_no_more_than_the_most_either():
    quick = replace(NAMED, cache=0.8)
    operator = Operator("one", 1, Cost(kv_bytes=1e9), (Row("a", "B T K G W, B [S] K W -> B T K G P", "kv", "attend"),))
    found = reached(quick, operator, stored(), replace(CHIP, family="gddr"), "decode", SMALL_S)
    assert found.own == pytest.approx({"memory": 1e-3 / 0.9}, rel=1e-12)


def test_a_kind_of_chip_reaches_its_share_of_the_arithmetic():
    for family, share in (("cdna", 0.25), ("hbm", 0.5), ("gddr", 0.5)):
        found = asked(Cost({"bf16": 1e9}), machine=replace(CHIP, family=family))
        assert found.own == pytest.approx({"compute:bf16": 1e-3 / share}, rel=1e-12)


@pytest.mark.parametrize(
    ("engine", "family", "share"),
    [
        ("llama.cpp", "hbm", 0.08), ("llama.cpp", "cdna", 0.04), ("llama.cpp", "gddr", 0.9), ("vllm", "hbm", 0.8),
        ("vllm", "cdna", 0.4),
    ],
)  # fmt: skip
def test_llama_cpp_reaches_less_of_hbm_alone(engine, family, share):
    found = asked(Cost(weight_bytes=1e9), machine=replace(CHIP, family=family), engine=engine)
    assert found.own == pytest.approx({"memory": 1e-3 / share}, rel=1e-12)


def test_what_rides_costs_its_share_of_a_small_kernel():
    more = (norm("norm"), vector("rotary", "B T H W -> B T H W", 3.0))
    assert asked(Cost(weight_bytes=1e9), more=more).fixed_s == pytest.approx(SMALL_S * (1 + 2 * 0.5), rel=1e-12)


@pytest.mark.parametrize(
    ("machine", "experts", "which", "kernels"),
    [
        (CHIP, "bf16", "decode", 4), (CHIP, "bf16", "mixed", 4), (CHIP, "bf16", "one", 6), (FP4, "nvfp4", "decode", 1),
        (FP4, "nvfp4", "one", 1.5), (FP4, "mxfp4", "decode", 1), (FP4, "fp8", "decode", 4), (FP4, "int4", "decode", 4),
        (CHIP, "nvfp4", "decode", 4),
    ],
)  # fmt: skip
def test_routing_is_kernels_of_its_own_and_few_where_they_are_fused(machine, experts, which, kernels):
    row = linear("router", "B D, D E -> B E", "router")
    found = asked(Cost(weight_bytes=1e6), row, stored("bf16", expert=experts), machine, which)
    assert found.fixed_s == pytest.approx(SMALL_S * (1 + kernels), rel=1e-12)


def test_fusing_never_makes_routing_dearer():
    operator = Operator("router", 1, Cost(), (linear("router", "B D, D E -> B E", "router"),))
    found = reached(replace(NAMED, fused_experts=1.5), operator, stored(expert="nvfp4"), FP4, "decode", SMALL_S)
    assert found.fixed_s == pytest.approx(SMALL_S * 5, rel=1e-12)


def test_latent_attention_and_scans_are_more_kernels_than_one():
    attention = Row("attention", "B T K G W, B [S] K W -> B T K G P", "kv", "attend")
    scan = Row("scan", "B T Hs Ws, B [Hs] Ns Ws -> B T Hs Ws", "state", "ssm", flops_per_point=6.0)
    chunks = replace(scan, flops_per_point=2.0)
    assert asked(Cost(), attention, letters={"R": 512.0}).fixed_s == pytest.approx(3 * SMALL_S, rel=1e-12)
    assert asked(Cost(), attention, letters={"W": 128.0}).fixed_s == SMALL_S
    assert asked(Cost(), linear("kv_down", "B D, D R -> B R"), letters={"R": 512.0}).fixed_s == SMALL_S
    assert asked(Cost(), scan).fixed_s == pytest.approx(4 * SMALL_S, rel=1e-12)
    assert asked(Cost(), chunks, more=(vector("gate", "B T D -> B T D", 1.0),)).fixed_s == 1.5 * SMALL_S
    assert asked(Cost(), vector("gate", "B T D -> B T D", 1.0)).fixed_s == SMALL_S


def test_a_kernel_is_what_its_first_row_beyond_norms_is():
    """A norm and a sum in front of a product of experts: its weights, its rates."""
    operator = Operator(
        "norm", 1, Cost(weight_bytes=1e9),
        (norm("norm"), vector("sum", "B D -> B D", 1.0), linear("expert", "B D, [X] D Fe -> B Fe", "expert")),
    )  # fmt: skip
    found = reached(NAMED, operator, stored("bf16", expert="int8"), CHIP, "decode", SMALL_S)
    assert found.own == pytest.approx({"memory": 1e-3 / (0.5 * 0.5)}, rel=1e-12)
    only = reached(NAMED, replace(operator, rows=(norm("norm"),)), stored("int8", norm="bf16"), CHIP, "one", SMALL_S)
    assert only.own == pytest.approx({"memory": 1e-3 / 0.8}, rel=1e-12)


def test_a_kernel_without_weights_is_of_the_width_of_its_activations():
    attention = Row("attention", "B T K G W, B [S] K W -> B T K G P", "kv", "attend")
    tied = Row("head", "B D, D V -> B V", "tied", "head")
    cost = Cost(weight_bytes=1e9)
    assert asked(cost, attention, stored("fp8")).own["memory"] == pytest.approx(1e-3 / 0.8, rel=1e-12)
    assert asked(cost, tied, stored("fp8")).own["memory"] == pytest.approx(1e-3 / 0.5, rel=1e-12)


@pytest.mark.parametrize(
    ("weights", "part", "narrows"),
    [
        ("fp8", "linear", True), ("fp8_e4m3", "project", True), ("nvfp4", "expert", True), ("fp8", "shared", True),
        ("fp8", "head", False), ("fp8", "router", False), ("mxfp8", "linear", False), ("int8", "linear", False),
        ("mxfp4", "linear", False), ("bf16", "linear", False), ("fp8_e5m2", "linear", False),
    ],
)  # fmt: skip
def test_products_in_fp8_and_nvfp4_narrow_their_activations(weights, part, narrows):
    found = asked(Cost({"bf16": 1e9}, weight_bytes=1e9), linear("one", "B D, D F -> B F", part), stored(weights))
    assert (found.wide is not None) == narrows
    assert found.narrowing_s == pytest.approx(0.75 * SMALL_S if narrows else 0.0, rel=1e-12)
    assert found.fixed_s == (SMALL_S if part != "router" else 5 * SMALL_S)


def test_the_wide_form_of_a_product_has_sixteen_bit_weights_and_arithmetic():
    """Twice the bytes of fp8, at the share of 16-bit weights; its FLOPs in bf16."""
    found = asked(Cost({"fp8": 4e9}, weight_bytes=1e9, activation_bytes=2e8), precision=stored("fp8"), which="one")
    copied = 2e-4 / 0.5
    assert found.own == pytest.approx({"compute:fp8": 2e-3 / 0.25, "memory": 1e-3 / 0.5 + copied}, rel=1e-12)
    assert found.wide == pytest.approx({"compute:bf16": 4e-3 / 0.5, "memory": 2e-3 / 0.8 + copied}, rel=1e-12)


@pytest.mark.parametrize(
    ("narrowing_s", "roofs_s"),
    [(0.5, 3.5), (5.0, 4.0)],  # narrowing is paid, unless wide weights are the quicker way
)
def test_narrowing_never_makes_a_product_slower_than_wide_weights(narrowing_s, roofs_s):
    own, wide = {"memory": 3.0, "compute:fp8": 1.0}, {"memory": 4.0, "compute:bf16": 2.0}
    assert Reached(own, 0.0, wide, narrowing_s).roofs_s == roofs_s
    assert Reached(own, 9.0, {"memory": 2.0}, 5.0).roofs_s == 3.0  # nor quicker than its own work
    assert Reached(own, wide=wide).roofs_s == 3.0  # where it costs nothing
    assert (Reached({}).roofs_s, Reached({}).fixed_s) == (0.0, 0.0)


def talks(devices, nodes=1):
    group = Group(devices, nodes)
    return Operator(
        "all-reduce", 1, Cost(link_bytes=1e9, network_bytes=1e8), (link("all-reduce", "all-reduce"),),
        collective=Collective("all-reduce", group, ways("all-reduce", group)),
    )  # fmt: skip


def test_a_collective_sends_at_the_reach_of_links_and_waits_once():
    found = reached(NAMED, talks(16, 2), stored(), CHIP, "decode", SMALL_S)
    assert found == Reached({"link": pytest.approx(1e-2 / 0.5), "network": pytest.approx(1e-2 / 0.5)}, 7e-6)
    assert found.roofs_s == pytest.approx(2e-2, rel=1e-12)


def test_devices_on_the_bridges_of_a_host_share_them_within_a_node():
    """(2 / n) to the power that single collectives showed, of the devices of one node."""
    shared, bus = kernel_constants().exchanging.common.shared, replace(CHIP, link="pcie")
    for devices, nodes, power in ((2, 1, 0.0), (4, 1, 1.0), (8, 2, 1.0), (8, 1, 2.0)):
        found = reached(NAMED, talks(devices, nodes), stored(), bus, "decode", SMALL_S)
        assert found.own["link"] == pytest.approx(1e-2 / 0.5 * 2 ** (power * shared), rel=1e-12)
        assert found.own["network"] == pytest.approx(1e-2 / 0.5, rel=1e-12)
    assert bridges(bus, 3) == pytest.approx((2 / 3) ** shared, rel=1e-12)
    assert bridges(bus, 1) == bridges(CHIP, 8) == 1.0
