"""A plain stack in closed form: a model of few rows on a machine of round figures.

Memory is read at 1 TB/s and copied at 0.5, arithmetic is never in the way, a link carries 100 GB/s.
"""

from __future__ import annotations

import pytest

from rooflens.catalogue.calibrations import Residuals, StackConstants
from rooflens.catalogue.calibrations import stack as shipped
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.models import Block, Model
from rooflens.models.model import Choices
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Row
from rooflens.operators.standard import activation, attention, linear, link, norm, rotary, vector
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.stack import Stack, expected_machine, is_small, stack
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.profile import AttentionPoint, Device, GemmPoint, Profile

US = 1e-6
D, F, K, G, W, S, B = 1000.0, 4000.0, 2.0, 2.0, 100.0, 5000.0, 8.0
HERE = Machine(
    name="here", title="Here", link="nvlink",
    ceilings=(
        Ceiling("compute/bf16", "compute", 1e18, "measured", dtype="bf16", path="matrix"),
        Ceiling("memory/read", "memory", 1e12, "measured", level="main", access="read"),
        Ceiling("memory/copy", "memory", 5e11, "measured", level="main", access="copy"),
        Ceiling("link/nvlink", "link", 1e11, "measured", level="nvlink"),
        Ceiling("link/pcie", "link", 1e10, "measured", level="pcie"),
        Ceiling("launch/link:nvlink", "launch", 9 * US, "measured", level="link:nvlink"),
    ),
)  # fmt: skip
FOUND = StackConstants("2026-11-30", "by hand", 2.0, US, Residuals(0.9, 1.5, 11), Residuals(0.8, 1.25, 12))
OWN = Stack(HERE, product_s=3 * US, attention_s=5 * US, small_s=2 * US, attention_share=0.5, found=FOUND)
BF16 = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"))
PRODUCT = linear("up", "B T D, D F -> B T F")


def of(*rows, layers=2, batch=B, context=S, links=False, **how):
    """A model of these rows in every layer."""
    letters = {"L": float(layers), "D": D, "F": F, "H": K * G, "K": K, "G": G, "W": W, "V": 10.0}
    model = Model("toy", "toy", letters, (Block("mixer", layers, rows),), "bf16", {}, Choices(links=links))
    return Deployment(model, BF16, HERE, batch=batch, prompt=context, context=context, how=how)


def test_a_product_is_its_bytes_and_its_fixed_cost():
    """Weights at the read rate, input and output at the copy rate; the floor leaves these on chip."""
    weights_s, moved_s = 2 * D * F / 1e12, 2 * B * (D + F) / 5e11
    found = OWN.expect(of(PRODUCT), "decode")
    assert found.time_s == pytest.approx(2 * (weights_s + moved_s + 3 * US), rel=1e-12)
    assert found.parts_s == pytest.approx({"reach": 2 * moved_s, "kernels": 2 * 3 * US}, rel=1e-9)
    assert (found.low_s, found.high_s) == pytest.approx((0.9 * found.time_s, 1.5 * found.time_s), rel=1e-12)
    assert OWN.expect(of(PRODUCT, layers=1), "decode").time_s == pytest.approx(found.time_s / 2, rel=1e-12)


def test_a_step_of_a_prompt_has_the_interval_of_prompts():
    found = OWN.expect(of(PRODUCT), "prefill")
    assert (found.low_s, found.high_s) == pytest.approx((0.8 * found.time_s, 1.25 * found.time_s), rel=1e-12)
    assert found.time_s == pytest.approx(2 * (2 * D * F / 1e12 + 2 * S * (D + F) / 5e11 + 3 * US), rel=1e-12)


def test_an_interval_does_not_reach_below_the_floor():
    floor_s = 2 * 2 * D * F / 1e12
    low = replace(OWN, found=replace(FOUND, decode=Residuals(0.1, 0.2, 1)))
    found = low.expect(of(PRODUCT), "decode")
    assert (found.low_s, found.high_s) == pytest.approx((floor_s, floor_s), rel=1e-12)


def test_what_rides_is_a_kernel_of_its_own_with_operands_of_its_own():
    """A norm is one kernel, a rotary embedding four, an activation two: input and output of each through memory."""
    moved_s = 2 * B * 2 * D / 5e11
    named = vector("rotary", "B T D -> B T D", 3.0)  # a name alone says nothing
    for row, kernels in ((norm("norm"), 1), (named, 1), (rotary("B T D"), 4), (activation("B T D", 3.0), 2)):
        alone, beside = (OWN.expect(of(*rows), "decode") for rows in ((PRODUCT,), (PRODUCT, row)))
        weights_s = 2 * D / 1e12 if row.home == "weight" else 0.0
        more_s = 2 * (kernels * (2 * US + moved_s) + weights_s)
        assert beside.time_s - alone.time_s == pytest.approx(more_s, rel=1e-9)
        assert beside.parts_s["kernels"] - alone.parts_s["kernels"] == pytest.approx(
            2 * kernels * (2 * US + moved_s), rel=1e-9
        )


def test_a_kernel_whose_work_has_no_rate_costs_what_it_costs_beside_it():
    found = OWN.expect(of(vector("gate", "B T D -> B T D", 1.0)), "decode")
    assert found.time_s == pytest.approx(2 * (3 * US + 2 * US + 2 * B * 2 * D / 5e11), rel=1e-12)


def test_a_stack_may_say_how_many_kernels_a_row_becomes():
    turned = of(PRODUCT, rotary("B T D"))
    four, one = (replace(OWN, small=small).expect(turned, "decode").time_s for small in ({}, {"rotary": 1}))
    assert four - one == pytest.approx(2 * 3 * (2 * US + 2 * B * 2 * D / 5e11), rel=1e-9)


def test_attention_reads_its_cache_at_its_share_and_writes_it_in_two_kernels():
    """Keys and values at half of the read rate, queries and outputs too; the softmax stays in the kernel."""
    cached_s, moved_s = 2 * 2 * B * S * K * W / 1e12, 2 * 2 * B * K * G * W / 5e11
    found = OWN.expect(of(*attention()), "decode")
    assert found.time_s == pytest.approx(2 * ((cached_s + moved_s) / 0.5 + 5 * US + 2 * 2 * US), rel=1e-12)
    assert found.parts_s["kernels"] == pytest.approx(2 * (5 + 4) * US, rel=1e-12)


def test_a_host_starts_every_kernel_on_a_clock_of_its_own():
    """A product with a rotary embedding is five kernels, one alone, attention three: at 1 ms each in two layers."""
    eager = replace(OWN, host_s=1e-3)
    rows = (PRODUCT, rotary("B T D"), *attention(), PRODUCT)
    graph, found = (one.expect(of(*rows), "decode") for one in (OWN, eager))
    assert found.time_s == pytest.approx(2 * (5 + 3 + 1) * 1e-3, rel=1e-12)
    assert found.parts_s["host"] == pytest.approx(found.time_s - graph.time_s, rel=1e-9)
    assert "host" not in graph.parts_s
    assert eager.without("host") == OWN
    assert (eager.without("prompts"), OWN.without("host")) == (None, None)


def test_a_collective_is_its_bytes_and_its_wait():
    """Half of a message for each of two steps, or all of it in one: 16 kB at 100 GB/s and one wait of 9 us."""
    rows = (PRODUCT, link("all-reduce", "all-reduce"))
    shared = of(*rows, links=True, tp=2)
    message_s = 2 * B * D / 1e11
    found = OWN.expect(shared, "decode")
    product_s = 2 * D * F / 2 / 1e12 + 2 * B * (D + F / 2) / 5e11 + 3 * US
    assert found.time_s == pytest.approx(2 * (product_s + message_s + 9 * US), rel=1e-9)
    assert found.parts_s["latency"] == pytest.approx(2 * 9 * US, rel=1e-9)
    over = OWN.expect(replace(shared, machine=replace(HERE, link="pcie")), "decode")
    assert over.time_s == pytest.approx(2 * (product_s + 10 * message_s), rel=1e-9)  # nobody measured its wait
    assert "latency" not in over.parts_s


def test_microbatches_pass_a_stack_as_they_pass_a_floor():
    one_s = OWN.expect(of(PRODUCT, batch=4.0), "decode").time_s
    found = OWN.expect(of(PRODUCT, batch=8.0, pp=2, microbatches=2, links=True), "decode").time_s
    sent_s = 2 * 4 * D / 1e11 + 9 * US
    assert found == pytest.approx((one_s + sent_s) * 3 / 2, rel=1e-9)  # (m + p - 1) / p of a microbatch's way


@pytest.mark.parametrize(
    ("row", "small"),
    [
        (norm("norm"), True), (vector("residual", "B T D -> B T D", 1.0), True), (PRODUCT, False),
        (replace(PRODUCT, rides=True), False), (vector("softmax", "B T K G P -> B T K G P", 5.0), False),
        (Row("norm", "B T D, D -> B T D", "weight", "norm", "w", 4.0), False),
        (Row("rotary", "B T D, D -> B T D", "weight", "norm", "w", 2.0, rides=True), False),
    ],
)  # fmt: skip
def test_small_kernels_are_vector_work_that_rides_and_no_scores(row, small):
    assert is_small(row) == small


def test_a_stack_says_what_it_rests_on_and_for_whom():
    said = {constant.name: (constant.value, constant.origin) for constant in replace(OWN, host_s=7 * US).constants}
    assert said == {
        "product_s": (3 * US, "measured here"), "attention_s": (5 * US, "measured here"),
        "small_s": (2 * US, "measured here"), "attention_share": (0.5, "measured here"),
        "host_s": (7 * US, "measured here"),
        "small kernel beside products, over one in a chain": (2.0, "fitted on 11 rows, 2026-11-30"),
    }  # fmt: skip
    assert replace(OWN, found=None).constants == replace(OWN, found=shipped()).constants
    assert OWN.of_one_machine
    assert Stack(HERE, 1.0, 1.0, 1.0, 1.0).host_s == 0


def test_what_a_person_assumes_of_launches_is_of_the_host_that_makes_them():
    graph, eager = OWN.assuming(["host_launch=50us"]), replace(OWN, host_s=7 * US).assuming(["host_launch=50us"])
    assert (graph.host_s, eager.host_s) == pytest.approx((0.0, 50 * US), rel=1e-12)
    faster = OWN.assuming(["memory=2TB/s"])
    assert faster.machine.memory("read").value == 2e12
    assert faster.product_s == OWN.product_s


def gemm(fixed_s, m=1, n=1000, k=4000, dtype="bf16", **more):
    """A product of two-byte weights that streams them at 1 TB/s and takes so long beside them."""
    return GemmPoint("product", dtype, m, n, k, 2 * n * k / 1e12 + fixed_s, 1e-9, **more)


def attends(fixed_s, context=512, batch=4, share=1.0, **more):
    """Two layers of decode attention over 8 heads of 128, two bytes each, and so long beside their reading."""
    given = {"dtype": "bf16", "heads": 32, "kv_heads": 8, "width": 32 * 128, "implementation": "flash graph", **more}
    heads = given["kv_heads"] or given["heads"]
    time_s = 2 * (2 * 2 * batch * context * heads * 128 / 1e12 / share + fixed_s)
    times = {"time_s": time_s, "best_s": 1e-9, "count": 1, "calls": 2, "relative_error": 0.0}
    return AttentionPoint(context=context, layers=2, batch=batch, **times, **given)


USUAL = {"gemms": (gemm(3 * US),), "attention": (attends(5 * US),)}


def measured(*ceilings, **points):
    read = Ceiling("memory/main/read", "memory", 1e12, "measured", level="main", access="read", best=1.25e12)
    kept = ceilings or (launch("device", 4 * US),)
    device = Device("Hand", "gpu")
    return Profile(device, (read, *kept), 0, "2026-11-30", 1.0, **{**USUAL, **points})


def launch(level, seconds):
    return Ceiling(f"launch/{level}", "launch", seconds, "measured", level=level)


def product(mode, value, dtype="bf16", kind="compute"):
    return Ceiling(f"{kind}/{dtype}/{mode}", kind, value, "measured", dtype=dtype, path="matrix", mode=mode, best=9e15)


def test_what_a_profile_gives_a_stack():
    """Small kernels cost twice one of a chain, of library kernels where those were measured."""
    found = stack(measured(launch("device", 4 * US), launch("host", 30 * US)))
    assert (found.product_s, found.attention_s) == pytest.approx((3 * US, 5 * US), rel=1e-9)
    assert (found.small_s, found.host_s) == pytest.approx((2.0 * 4 * US, 0.0), rel=1e-12)
    chain = stack(measured(launch("device", 4 * US), launch("kernel", 6 * US), launch("host", 30 * US)), eager=True)
    assert (chain.small_s, chain.host_s) == pytest.approx((2.0 * 6 * US, 30 * US), rel=1e-12)
    assert found.found == shipped()
    assert (found.origin, found.small) == ("measured here", {})


def test_products_of_up_to_sixteen_rows_stream_their_weights():
    others = (gemm(99 * US, m=17), gemm(99 * US, dtype="fp8"), gemm(99 * US, trusted=False, why_not="others ran"))
    assert stack(measured(gemms=(gemm(7 * US, m=16), *others))).product_s == pytest.approx(7 * US, rel=1e-9)
    both = stack(measured(gemms=(gemm(7 * US, dtype="fp16"), gemm(9 * US, n=3000))))
    assert both.product_s == pytest.approx(8 * US, rel=1e-9)
    assert stack(measured(gemms=(gemm(-1 * US),))).product_s == 0  # quicker than its bytes is no cost below nothing


def test_attention_costs_what_is_left_of_short_contexts():
    """Up to 1,024 positions; where none is so short, of the one with the most positions over all sequences."""
    points = (attends(5 * US, 1024), attends(7 * US, 512), attends(99 * US, 1025))
    assert stack(measured(attention=points)).attention_s == pytest.approx(6 * US, rel=1e-9)
    long = (attends(11 * US, 4096, batch=1), attends(13 * US, 2048, batch=4))
    assert stack(measured(attention=long)).attention_s == pytest.approx(13 * US, rel=1e-9)
    assert stack(measured(attention=(attends(-1e-9, 512),))).attention_s == 0


def test_the_share_of_attention_is_that_of_the_most_positions_over_all_sequences_and_not_above_one():
    points = (attends(0.0, 65536, batch=1, share=0.25), attends(0.0, 32768, batch=4, share=0.75), attends(5 * US))
    assert stack(measured(attention=points)).attention_share == pytest.approx(0.75, rel=1e-9)
    assert stack(measured(attention=(attends(0.0, 65536, share=1.1),))).attention_share == 1
    own_heads = attends(0.0, 65536, share=0.5, kv_heads=None)
    assert stack(measured(attention=(own_heads,))).attention_share == pytest.approx(0.5, rel=1e-9)


@pytest.mark.parametrize(
    "other",
    [
        {"implementation": "flash"}, {"implementation": None}, {"kv_dtype": "fp8"}, {"tokens": 512},
        {"dtype": "fp32"}, {"trusted": False},
    ],
)  # fmt: skip
def test_attention_of_another_kind_says_nothing_of_a_decode_step_under_a_graph(other):
    both = stack(measured(attention=(attends(5 * US), attends(99 * US, **other))))
    assert both.attention_s == pytest.approx(5 * US, rel=1e-9)
    with pytest.raises(RooflensError, match="the profile of Hand has no decode products"):
        stack(measured(attention=(attends(5 * US, **other),)))


@pytest.mark.parametrize("without", [{"gemms": ()}, {"attention": ()}, {"gemms": (), "attention": ()}])
def test_a_profile_without_one_of_its_parts_is_no_stack(without):
    with pytest.raises(RooflensError, match="rooflens lab"):
        stack(measured(**without))
    with pytest.raises(RooflensError, match="no launch of kernels"):
        stack(measured(launch("host", 30 * US)))


def test_products_settle_as_they_did_or_as_others_of_the_machine_did():
    """bf16 settled at half of its burst and fp8 at three quarters: fp16, of which nobody waited, at their median."""
    kept = (
        product("burst", 1e15), product("sustained", 5e14), product("burst", 2e15, "fp8"),
        product("sustained", 1.5e15, "fp8"), product("burst", 8e14, "fp16"), product("sustained", 3e13, "tf32"),
        launch("device", 4 * US),
    )  # fmt: skip
    found = expected_machine(measured(*kept))
    values = {ceiling.dtype: ceiling.floor_value for ceiling in found.ceilings if ceiling.kind == "compute"}
    assert values == pytest.approx({"bf16": 5e14, "fp8": 1.5e15, "fp16": 0.625 * 8e14, "tf32": 3e13}, rel=1e-12)
    assert found.memory("read").floor_value == 1e12  # its median, where a floor takes the best
    assert found.launch_s() == 4 * US
    fresh = expected_machine(measured(*(one for one in kept if one.mode == "burst")))
    assert fresh.compute("fp16").floor_value == 8e14
