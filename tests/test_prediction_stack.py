"""A plain stack on a measured machine: its own figures, small kernels between products, a host that may bind."""

from __future__ import annotations

import pytest

from rooflens import api, artefacts
from rooflens.api import Question
from rooflens.api.deployed import Load, deployment
from rooflens.api.serving import predict
from rooflens.errors import RooflensError
from rooflens.prediction.stack import CACHE_WRITES, SMALL, expected_machine, is_small, stack
from rooflens.records import replace

ON = "measured:h200-sxm-141gb"


@pytest.fixture(scope="module")
def profile():
    return artefacts.shipped("h200-sxm-141gb")


def load(batch=1, context=1024, what="llama-3.1-8b", **more):
    return deployment(Question(what, batch=batch, **more), Load(context=context), api.machine(ON))


def test_a_llama_layer_has_twelve_small_kernels():
    """Two norms, two sums, four for the rotary embedding, two for the activation, and two cache writes."""
    found = 0.0
    for operator in load().operators("decode"):
        if operator.count == 32:
            found += sum(1.0 if row.function is None else SMALL[row.function] for row in operator.rows if is_small(row))
            found += CACHE_WRITES if any(row.part == "attend" for row in operator.rows) else 0.0
    assert found == 12


def test_a_step_is_its_work_and_what_each_kernel_costs_beside_it(profile):
    """Of nothing but weights: 4 products a layer and the head stream them; attention over one position is all fixed."""
    own = stack(profile)
    expected = own.expect(load(context=1), "decode")
    streamed = 15.01e9 / own.machine.memory("read").value
    kernels = 32 * (4 * own.product_s + own.attention_s) + own.product_s
    small = (32 * 12 + 1) * own.small_s
    assert expected.time_s == pytest.approx(streamed + kernels + small, rel=0.02)


def test_a_host_starts_each_product_each_attention_and_each_small_kernel(profile):
    """32 layers of 4 products, an attention and 12 small kernels; beside them the look-up, a norm and the head."""
    slow = replace(stack(profile), host_s=1e-3)
    assert slow.expect(load(), "decode").time_s == pytest.approx((32 * (4 + 1 + 12) + 3) * 1e-3)


def test_what_a_kernel_costs_is_what_is_left_of_its_time_beside_its_bytes(profile):
    """A product streams n x k weights of two bytes; attention the keys and values of its kv heads, two bytes each."""
    read = stack(profile).machine.memory("read").value
    product = next(p for p in profile.gemms if p.trusted and p.m == 1)
    short = next(p for p in profile.attention if p.trusted and (p.implementation or "").endswith("graph"))
    sizes = [(4096, 4096), (14336, 4096), (4096, 28672)]
    gemms = tuple(replace(product, n=n, k=k, time_s=2 * n * k / read + 3e-6) for n, k in sizes)
    own = {"batch": 4, "tokens": 1, "layers": 2, "heads": 32, "kv_heads": 8, "width": 32 * 128}

    def attends(context, apart_s, share):
        cached = 2 * 2 * 4 * context * 8 * 128
        return replace(short, **own, context=context, time_s=2 * (cached / read / share + apart_s))

    points = (attends(256, 5e-6, 1.0), attends(512, 5e-6, 1.0), attends(65536, 0.0, 0.8))
    found = stack(replace(profile, gemms=gemms, attention=points))
    assert found.product_s == pytest.approx(3e-6)
    assert found.attention_s == pytest.approx(5e-6)
    assert found.attention_share == pytest.approx(0.8)


def test_attention_reads_its_cache_at_the_share_that_was_measured_and_computes_as_before(profile):
    """Keys and values of 8 heads of 128, two bytes each, in 32 layers; at half of the rate they take twice as long."""
    whole, half = (replace(stack(profile), attention_share=share) for share in (1.0, 0.5))
    cached = 32 * 16 * 32768 * 2 * 8 * 128 * 2
    more_s = half.expect(load(16, 32768), "decode").time_s - whole.expect(load(16, 32768), "decode").time_s
    assert more_s == pytest.approx(cached / whole.machine.memory("read").value, rel=0.01)


def test_an_interval_is_that_of_the_constants_it_was_made_with_or_of_those_shipped(profile):
    own, deployed = stack(profile), load(16, 4096)
    shipped = own.found
    wide = replace(shipped, decode=replace(shipped.decode, low=0.99, high=3.0))
    expected = replace(own, found=wide).expect(deployed, "decode")
    assert expected.high_s == pytest.approx(3 * expected.time_s)
    assert expected.low_s == pytest.approx(max(0.99 * expected.time_s, deployed.floor("decode").floor_s))
    for phase in ("decode", "prefill"):
        assert replace(own, found=None).expect(deployed, phase) == own.expect(deployed, phase)


def test_every_part_is_measured_here_but_one_that_says_its_rows(profile):
    origins = {constant.name: constant.origin for constant in stack(profile).constants}
    assert origins.pop("small kernel beside products, over one in a chain").startswith("fitted on 84 rows")
    assert set(origins.values()) == {"measured here"}


def test_a_host_that_starts_every_kernel_binds_small_steps_and_not_large_ones(profile):
    graph, eager = stack(profile), stack(profile, eager=True)
    small, large = load(what="llama-3.2-1b"), load(batch=256, context=4096)
    assert eager.expect(small, "decode").parts_s["host"] > 0
    assert eager.expect(small, "decode").time_s > graph.expect(small, "decode").time_s
    assert "host" not in eager.expect(large, "decode").parts_s
    assert eager.without("host") == replace(eager, host_s=0.0)
    assert graph.without("host") is None


@pytest.mark.parametrize("batch", [1, 16, 256])
def test_an_expectation_is_never_below_the_floor_and_grows_with_batch_and_context(profile, batch):
    own = stack(profile)
    here = own.expect(load(batch), "decode")
    assert here.time_s >= load(batch).floor("decode").floor_s
    assert here.low_s <= here.time_s <= here.high_s
    assert own.expect(load(2 * batch), "decode").time_s >= here.time_s
    assert own.expect(load(batch, 8192), "decode").time_s >= here.time_s


def test_a_profile_without_decode_attention_says_how_to_get_it(profile):
    with pytest.raises(RooflensError, match="rooflens lab"):
        stack(replace(profile, attention=()))


def test_predict_on_a_measured_machine_takes_its_figures_and_an_engine_takes_the_datasheet():
    plain, eager, engine = (predict("llama-3.1-8b", ON, engine=name) for name in (None, "eager", "vllm"))
    assert plain.tpot_s.estimate < engine.tpot_s.estimate
    assert plain.tpot_s.estimate <= eager.tpot_s.estimate
    assert plain.mbu_of_measured > plain.mbu_of_datasheet
    assert any("measured here" in constant.origin for constant in plain.constants)
    unmeasured = predict("llama-3.1-8b", "h200-sxm-141gb", engine="graph")
    assert unmeasured.tpot_s.estimate is None
    assert any("own measurements" in note for note in unmeasured.notes)


def test_several_devices_of_a_measured_machine_say_that_nobody_measured_their_waiting():
    alone, two = (predict("llama-3.1-8b", "measured:h200-sxm-141gb", tp=tp) for tp in (1, 2))
    said = "what devices wait for one another was not measured: links are counted by their bytes alone"
    assert (said in alone.notes, said in two.notes) == (False, True)
    assert two.usd_per_million_tokens is not None  # its datasheet has a price


PAIR = "measured:h200-sxm-141gb-x2"


def estimated(on, **how):
    return predict("llama-3.1-70b", on, batch=64, context=1024, tp=2, **how)


def test_what_a_person_assumes_of_a_measured_machine_moves_what_is_expected_of_it():
    own = estimated(PAIR).tpot_s.estimate
    for slower in ("memory=2TB/s", "bf16=100TFLOP/s", "nvlink=50GB/s", "nvlink_latency=50us"):
        assert estimated(f"{PAIR},{slower}").tpot_s.estimate > own
    for faster in ("memory=9TB/s", "nvlink_latency=1us"):
        assert estimated(f"{PAIR},{faster}").tpot_s.estimate < own


def test_the_link_that_is_asked_for_is_the_one_that_is_expected_to_carry():
    nvlink, pcie = (estimated(PAIR, link=link) for link in ("nvlink", "pcie"))
    assert nvlink.where_time_goes["latency"] > 0
    assert "latency" not in pcie.where_time_goes  # nobody measured it on this link
    assert not any("nvlink" in constant.name for constant in pcie.constants)
    assert any("what pcie carries from the host stands for it" in note for note in pcie.notes)


def test_more_devices_than_were_measured_are_said():
    said = (
        "all-reduce over 4 devices was not measured: it is worked out from 2, by the steps and bytes of its algorithm"
    )
    two, four = (predict("llama-3.1-70b", PAIR, tp=tp) for tp in (2, 4))
    assert (said in two.notes, said in four.notes) == (False, True)


def test_products_are_expected_at_their_burst_where_nothing_settled_was_measured(profile):
    """A quick run measures no sustained rate: nothing is known of a fall, and none is made up."""
    quick = replace(profile, ceilings=tuple(c for c in profile.ceilings if c.mode != "sustained"))
    measured = {c.dtype: c.value for c in quick.machine("quick").ceilings if c.kind == "compute" and c.path == "matrix"}
    expected = expected_machine(quick)
    assert measured
    assert {dtype: expected.compute(dtype, "matrix").value for dtype in measured} == measured
