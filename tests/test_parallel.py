"""Several devices: what collectives send, by algorithm; stages, microbatches and nodes, against counting by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflens
from rooflens import models, workload
from rooflens.dtypes import dtype
from rooflens.errors import NoPath, RooflensError
from rooflens.models import Choices, Model
from rooflens.operators.collectives import ALONE, Group, Name, Way, dispatch, ways
from rooflens.operators.experts import ranks_touched
from rooflens.operators.rows import Row
from rooflens.parallel import Pipeline
from rooflens.roofline.bound import bind
from rooflens.roofline.links import by_algorithm_s, collective_s
from rooflens.roofline.price import StepPrice, price_step
from rooflens.workload import Operator, Step

BF16 = workload.precision(dtype("bf16"))
H100 = rooflens.machine("h100-sxm5-80gb")
LLAMA = models.named("llama-3.1-8b", Choices(links=True))
BIG = models.named("llama-3.1-70b", Choices(links=True))
MIXTRAL = models.named("mixtral-8x7b", Choices(links=True))
NAMES: tuple[Name, ...] = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send")


def priced(model: Model, step: Step) -> StepPrice:
    return price_step(workload.operators(model, step, BF16), H100, activations=False)


def floor_s(model: Model, step: Step) -> float:
    return float(priced(model, step).floor_s)


def by_name(name: Name, ranks: int, nodes: int = 1) -> dict[str, Way]:
    return {way.algorithm: way for way in ways(name, Group(ranks, nodes))}


@pytest.mark.parametrize(
    ("name", "algorithm", "sent", "steps"),
    [
        ("all-reduce", "ring", 2 * 7 / 8, 14),
        ("all-reduce", "tree", 2, 6),
        ("all-reduce", "one-shot", 7, 1),
        ("all-reduce", "two-shot", 2 * 7 / 8, 2),
        ("all-gather", "ring", 7 / 8, 7),
        ("all-gather", "tree", 7 / 8, 3),
        ("reduce-scatter", "one-shot", 7 / 8, 1),
        ("all-to-all", "ring", 7 / 8, 7),
        ("all-to-all", "one-shot", 7 / 8, 1),
        ("send", "one-shot", 1, 1),
    ],
)
def test_what_eight_devices_send_and_how_often_they_wait(name: Name, algorithm: str, sent: float, steps: int) -> None:
    assert by_name(name, 8)[algorithm] == Way(algorithm, sent, steps)


@given(st.sampled_from(NAMES), st.integers(2, 64))
def test_no_algorithm_sends_less_than_the_one_that_counts(name: Name, ranks: int) -> None:
    """An all-reduce moves no fewer than 2 (n - 1) / n bytes, a half of it (n - 1) / n."""
    fewest = {"all-reduce": 2 * (ranks - 1) / ranks, "send": 1.0}.get(name, (ranks - 1) / ranks)
    found = ways(name, Group(ranks))
    assert min(way.link_bytes for way in found) == pytest.approx(fewest)
    assert all(way.link_steps >= 1 for way in found)


@given(st.sampled_from(NAMES[:3]), st.integers(2, 16), st.integers(2, 8))
def test_over_nodes_only_a_share_of_the_message_leaves_each_device(name: Name, inside: int, nodes: int) -> None:
    """Of g devices of a node each takes 1/g of the message to the other nodes, and the rest stays inside."""
    halves = 2 if name == "all-reduce" else 1
    for way in ways(name, Group(inside * nodes, nodes)):
        assert way.link_bytes == pytest.approx(halves * (inside - 1) / inside)
        assert way.network_bytes >= halves * (nodes - 1) / nodes / inside * (1 - 1e-12)
    (far,) = (way for way in ways(name, Group(nodes, nodes)) if way.algorithm == "ring")
    assert (far.link_bytes, far.link_steps) == (0, 0)
    assert far.network_bytes == pytest.approx(halves * (nodes - 1) / nodes)


@given(st.integers(1, 16), st.integers(1, 8), st.integers(1, 8))
def test_a_token_goes_to_each_node_once_and_is_handed_on_inside(inside: int, nodes: int, active: int) -> None:
    way = dispatch(Group(inside * nodes, nodes), active)[0]
    assert way.network_bytes == pytest.approx(ranks_touched(nodes, active))
    assert way.link_bytes + way.network_bytes == pytest.approx(ranks_touched(inside * nodes, active))
    assert way.link_bytes >= -1e-12


def test_an_all_to_all_sends_each_other_device_its_part_and_waits_for_each_or_for_all_at_once() -> None:
    """Two nodes of four: of eight parts three stay inside and four leave."""
    found = {way.algorithm: way for way in ways("all-to-all", Group(8, 2))}
    assert found["one-shot"] == Way("one-shot", 3 / 8, 1.0, 4 / 8, 1.0)
    assert found["ring"] == Way("ring", 3 / 8, 3.0, 4 / 8, 4.0)


def test_tokens_on_their_way_to_experts_wait_for_each_other_device_or_for_all_at_once() -> None:
    one_shot, ring = dispatch(Group(8, 2), 2.0)
    assert (one_shot.link_steps, one_shot.network_steps) == (1, 1)
    assert (ring.link_steps, ring.network_steps) == (3, 4)
    alone, lone_ring = dispatch(Group(2, 2), 2.0)  # a device a node: nothing goes inside
    assert (alone.link_steps, lone_ring.link_steps) == (0, 0)


def test_one_device_has_nobody_to_talk_to() -> None:
    assert ways("all-reduce", Group()) == dispatch(Group(), 2) == (ALONE,)


def test_a_link_row_says_its_collective() -> None:
    with pytest.raises(RooflensError, match="a link has a collective"):
        Row("x", "B T D -> B T D", "link", "link", "", 0.0)


def reduced(tokens: int, tp: int = 8) -> Operator:
    step = workload.decode(tokens, 100, tp=tp)
    return next(o for o in workload.operators(LLAMA, step, BF16) if o.collective)


def test_a_small_message_is_reduced_in_one_step_and_a_large_one_by_the_fewest_bytes() -> None:
    there = rooflens.machine("h100-sxm5-80gb,nvlink_latency=2us")
    small, large = by_algorithm_s(reduced(1), there), by_algorithm_s(reduced(100_000), there)
    message = 4096 * 2
    assert small["one-shot"] == pytest.approx(7 * message / 450e9 + 2e-6)
    assert small["ring"] == pytest.approx(2 * 7 / 8 * message / 450e9 + 14 * 2e-6)
    assert min(small, key=lambda name: small[name]) == "one-shot"
    assert min(large, key=lambda name: large[name]) == "two-shot"
    assert collective_s(reduced(1), there) == small["one-shot"]


def test_the_cheapest_over_an_array_is_the_cheapest_of_each_point() -> None:
    there = rooflens.machine("h100-sxm5-80gb,nvlink_latency=2us")
    batches = np.array([1, 64, 100_000])
    step = workload.decode(batches, 100, tp=8)
    found = next(o for o in workload.operators(LLAMA, step, BF16) if o.collective)
    assert list(collective_s(found, there)) == pytest.approx([collective_s(reduced(int(b)), there) for b in batches])


def test_a_latency_that_nobody_measured_is_not_zero() -> None:
    with pytest.raises(NoPath, match="give it as --on h100-sxm5-80gb,nvlink_latency=TIME"):
        collective_s(reduced(1), H100)
    known = rooflens.place("llama-3.1-8b", "h100-sxm5-80gb,nvlink_latency=2us", tp=8)
    unknown = rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", tp=8)
    assert unknown.total.latency_s is None
    assert "not known, so left out" in unknown.conventions["links"]
    assert known.total.latency_s == pytest.approx(64 * 2e-6, rel=0.3)  # 64 one-shots, their bytes beside
    assert known.total.floor_s == unknown.total.floor_s


layouts = st.fixed_dictionaries(
    {
        "tp": st.sampled_from([1, 2, 8]),
        "pp": st.integers(1, 32),
        "microbatches": st.integers(1, 12),
        "dp": st.sampled_from([1, 3]),
        "gpus_per_node": st.sampled_from([None, 1, 2, 8]),
    }
)


@given(layouts, st.integers(1, 300), st.integers(1, 5000), st.sampled_from([LLAMA, MIXTRAL]), st.booleans())
@settings(max_examples=40)
def test_bound_prices_of_pipelines_are_those_of_their_steps(
    layout: dict[str, int], batch: int, context: int, model: Model, activations: bool
) -> None:
    step = workload.decode(batch, context, **layout)
    bound = bind(model, BF16, H100, workload.decode(**{**layout, "microbatches": 1}), activations=activations)
    price = price_step(workload.operators(model, step, BF16), H100, activations=activations)
    assert bound.floor_s(step) == pytest.approx(price.floor_s, rel=1e-12)
    assert bound.floor_overlapped_s(step) == pytest.approx(price.floor_overlapped_s, rel=1e-12)
    assert bound.launch_s(step) == pytest.approx(price.launch_s, rel=1e-12)
    assert sum(price.shares_s.values()) == pytest.approx(float(price.floor_s))


@given(layouts)
@settings(max_examples=20)
def test_a_grid_of_pipelines_is_priced_as_its_points(layout: dict[str, int]) -> None:
    batches, contexts = np.array([1, 3, 64]), np.array([10, 4096])
    bound = bind(LLAMA, BF16, H100, workload.decode(**layout))
    grid = bound.floor_s(workload.decode(batches[:, None], contexts[None, :], **layout))
    points = [[bound.floor_s(workload.decode(int(b), int(c), **layout)) for c in contexts] for b in batches]
    assert grid == pytest.approx(np.array(points), rel=1e-12)


@given(layouts, st.integers(1, 200), st.sampled_from([LLAMA, MIXTRAL]), st.booleans())
@settings(max_examples=60)
def test_a_floor_never_falls_with_the_batch(layout: dict[str, int], batch: int, model: Model, spread: bool) -> None:
    spread = spread and model is MIXTRAL
    layout = {**layout, **({"dp": 4, "ep": 4} if spread else {}), **({"gpus_per_node": None} if spread else {})}
    first, second = (floor_s(model, workload.decode(b, 500, **layout)) for b in (batch, batch + 1))
    assert second >= first * (1 - 1e-12)


@given(st.sampled_from([2, 4, 8, 16]), st.integers(1, 40), st.sampled_from([1, 2, 4]))
def test_stages_sum_to_the_whole_and_microbatches_follow_one_stage_apart(pp: int, microbatches: int, tp: int) -> None:
    """(m + p - 1) / p of a microbatch's way through the whole model and its p - 1 hand-overs."""
    step = workload.decode(64 * microbatches, 2000, tp=tp, pp=pp, microbatches=microbatches)
    whole = floor_s(LLAMA, workload.decode(64, 2000, tp=tp))
    handed = (pp - 1) * 64 * 4096 * 2 / tp / 450e9
    assert floor_s(LLAMA, step) == pytest.approx((microbatches + pp - 1) / pp * (whole + handed))
    price = priced(LLAMA, step)
    assert price.pipeline.bubble == pytest.approx((pp - 1) / (microbatches + pp - 1))
    work = priced(LLAMA, workload.decode(64, 2000, tp=tp)).cost
    assert pp * price.cost.weight_bytes == pytest.approx(microbatches * work.weight_bytes)


def test_the_fullest_stage_lets_the_microbatches_out() -> None:
    """80 layers on 7 stages: one holds 12. The first microbatch passes all, each other one leaves after those 12."""
    step = workload.decode(64, 100, pp=7, microbatches=4)
    kernels = workload.operators(BIG, replace(step, batch=16.0, microbatches=1), BF16)
    alone = price_step(kernels, H100, activations=False)
    layers = sum(k.count * k.time_s for o, k in zip(kernels, alone.kernels, strict=True) if not o.at_an_end)
    assert floor_s(BIG, step) == pytest.approx(float(alone.floor_s) + 3 * 12 / 80 * layers)
    said = rooflens.place("llama-3.1-70b", H100, pp=7, microbatches=4, batch=64).notes
    assert any("7 stages do not share 80 layers evenly: the fullest, of 12" in note for note in said)


@given(st.integers(1, 40), st.integers(1, 9), st.floats(1e-6, 1), st.floats(0, 1))
def test_a_pipeline_is_no_quicker_than_its_work(stages: int, passes: int, layers_s: float, ends_s: float) -> None:
    through = Pipeline(stages, 1 / stages, float(passes))
    assert through.step_s(layers_s, ends_s) >= through.work * (layers_s + ends_s) * (1 - 1e-12)
    assert (1 - through.bubble) * through.step_s(layers_s, 0.0) == pytest.approx(through.work * layers_s)


def test_microbatches_without_a_sequence_do_not_run_and_it_is_said() -> None:
    few, many = (workload.decode(2, 100, pp=4, microbatches=m) for m in (2, 8))
    assert floor_s(LLAMA, few) == floor_s(LLAMA, many)
    assert any("only 2 of 8" in n for n in rooflens.place("llama-3.1-8b", H100, batch=2, pp=4, microbatches=8).notes)


def test_a_microbatch_holds_whole_sequences_of_one_replica() -> None:
    step = workload.decode(10, 100, dp=2, microbatches=3)  # 5 on a replica: 2, 2 and 1
    assert workload.moving_letters(LLAMA, step, LLAMA.blocks[1])["B"] == 2


def test_replicas_leave_the_device_as_it_is() -> None:
    one, four = (priced(LLAMA, workload.decode(batch, 500, dp=dp)) for batch, dp in ((8, 1), (32, 4)))
    assert (one.cost, one.floor_s) == (four.cost, four.floor_s)


@pytest.mark.parametrize(
    ("layout", "inside", "between"),
    [
        ({"tp": 8, "pp": 4}, 3, 0),  # no nodes said: all on one link
        ({"tp": 8, "pp": 4, "gpus_per_node": 8}, 0, 3),
        ({"tp": 4, "pp": 4, "gpus_per_node": 8}, 2, 1),
        ({"tp": 2, "pp": 5, "gpus_per_node": 8}, 3, 1),
        ({"tp": 3 * 2, "pp": 2, "gpus_per_node": 8}, 0, 1),  # two of eight stay idle
        ({"tp": 1, "pp": 3, "gpus_per_node": 8}, 2, 0),
    ],
)
def test_hand_overs_leave_a_node_where_it_is_full(layout: dict[str, int], inside: int, between: int) -> None:
    model = models.from_config({**LLAMA.config, "num_attention_heads": 48, "head_dim": 128}, "x", Choices(links=True))
    if layout["tp"] == 6:
        model = models.from_config({**model.config, "num_key_value_heads": 6}, "x", Choices(links=True))
    found = [o for o in workload.operators(model, workload.decode(8, 100, **layout), BF16) if o.kind.startswith("hand")]
    counts = {name: sum(o.count for o in found if o.kind == name) for name in ("hand-over", "hand-over between nodes")}
    assert tuple(counts.values()) == (inside, between)
    for operator in found:
        sent = operator.cost.network_bytes if "nodes" in operator.kind else operator.cost.link_bytes
        assert sent == pytest.approx(8 * 4096 * 2 / layout["tp"])


def test_a_group_larger_than_a_node_sends_its_share_over_the_network() -> None:
    found = rooflens.place("llama-3.1-70b", "h100-sxm5-80gb", tp=16, gpus_per_node=8, batch=64)
    one = next(o for o in found.operators if o.name == "out all-reduce")
    message = 64 * 8192 * 2
    assert one.link_bytes == 2 * 7 / 8 * message  # inside: 8 devices
    assert one.network_bytes == 2 * 1 / 2 * message / 8  # between two nodes, an eighth for each device
    assert one.floor_s == pytest.approx(max(one.link_bytes / 450e9, one.network_bytes / 50e9))
    assert "400 Gb/s" in found.conventions["assumed network"]
    assert "nvlink inside a node of 8, network between nodes" in found.conventions["links"]


def test_latency_counts_beside_the_floor_where_that_of_every_link_that_is_waited_for_is_known() -> None:
    far = {"tp": 16, "gpus_per_node": 8}
    on = {"one": "h100-sxm5-80gb,nvlink_latency=2us", "both": "h100-sxm5-80gb,nvlink_latency=2us,network_latency=9us"}
    said = {name: rooflens.place("llama-3.1-70b", there, **far).conventions["links"] for name, there in on.items()}
    assert "latency: not known, so left out" in said["one"]
    assert "latency: beside the floor" in said["both"]
    inside = rooflens.place("llama-3.1-70b", on["one"], tp=8, gpus_per_node=8)
    assert "latency: beside the floor" in inside.conventions["links"]


def test_a_node_of_one_device_is_the_network_and_a_link_asked_for_is_every_link() -> None:
    alone, network = (
        rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", tp=8, **how)
        for how in ({"gpus_per_node": 1}, {"link": "network"})
    )
    assert alone.total.floor_s == pytest.approx(network.total.floor_s)
    both = rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", tp=8, link="nvlink", gpus_per_node=1)
    assert both.total.floor_s == rooflens.place("llama-3.1-8b", "h100-sxm5-80gb", tp=8).total.floor_s
    assert any("all collectives are on nvlink, as asked" in note for note in both.notes)


def test_experts_over_two_nodes_cross_once_for_each_node() -> None:
    step = workload.decode(64, 100, dp=8, ep=8, gpus_per_node=4)
    sent = next(o.cost for o in workload.operators(MIXTRAL, step, BF16) if o.name == "dispatch")
    # 8 of 64 sequences; the other node has one of 2 experts with chance 1 - (1/2)^2
    assert sent.network_bytes == pytest.approx(8 * 4096 * 2 * 3 / 4)
    assert sent.link_bytes == pytest.approx(8 * 4096 * 2 * (ranks_touched(8, 2) - 3 / 4))


def test_a_network_that_is_not_known_is_asked_for() -> None:
    without = replace(H100, ceilings=tuple(c for c in H100.ceilings if c.level != "network"))
    with pytest.raises(NoPath, match="network link is not known; give it as"):
        rooflens.place("llama-3.1-70b", without, tp=16, gpus_per_node=8)


@given(st.integers(1, 256), st.integers(1, 8192))
@settings(max_examples=20)
def test_collectives_over_pcie_are_slower_than_over_nvlink(batch: int, context: int) -> None:
    step = workload.decode(batch, context, tp=8)
    kernels = workload.operators(LLAMA, step, BF16)
    assert price_step(kernels, H100.linked("pcie")).floor_s > price_step(kernels, H100).floor_s


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"pp": 0}, "pp must be at least 1, not 0"),
        ({"microbatches": 0}, "microbatches must be at least 1"),
        ({"gpus_per_node": 0}, "gpus_per_node must be at least 1"),
        ({"tp": 12, "gpus_per_node": 8}, "tp 12 does not fill nodes of 8 devices"),
        ({"tp": 2, "dp": 6, "ep": 12, "gpus_per_node": 8}, "ep 12 does not fill nodes of 8 devices"),
    ],
)
def test_devices_that_do_not_go_together_are_a_sentence(wrong: dict[str, int], sentence: str) -> None:
    with pytest.raises(RooflensError, match=sentence):
        workload.decode(**wrong)


def test_experts_are_spread_whole_so_there_are_no_more_ranks_than_experts() -> None:
    with pytest.raises(RooflensError, match=r"ep 16 is more than the 8 experts of mixtral-8x7b; ep may be 1, 2, 4, 8$"):
        rooflens.place("mixtral-8x7b", H100, tp=16, ep=16)
    assert rooflens.place("mixtral-8x7b", H100, tp=16, ep=8).total.floor_s > 0


@pytest.mark.parametrize("skew", [17.0, 1e300, float("inf")])
def test_a_skew_that_no_router_has_is_a_sentence(skew: float) -> None:
    with pytest.raises(RooflensError, match=r"routing_skew .* is out of range"):
        workload.decode(4, 64, routing_skew=skew)


def test_there_are_no_more_stages_than_layers() -> None:
    with pytest.raises(RooflensError, match=r"pp 33 has more stages than llama-3.1-8b has layers \(32\)"):
        workload.operators(LLAMA, workload.decode(pp=33), BF16)


def test_steps_of_one_pass_have_one_pipeline() -> None:
    with pytest.raises(RooflensError, match="on the same devices"):
        workload.operators(LLAMA, [workload.decode(8, 10), workload.decode(8, 10, pp=2)], BF16)
    together = [workload.prefill(1, 512, pp=2), workload.decode(8, 10, pp=2)]
    handed = next(o for o in workload.operators(LLAMA, together, BF16) if o.kind == "hand-over")
    assert handed.cost.link_bytes == (512 + 8) * 4096 * 2
    assert handed.cost.link_steps == 1


def test_the_mean_step_of_a_generation() -> None:
    mean = rooflens.place("llama-3.1-8b", H100, prompt=1000, output=200)
    assert mean.step["context"] == 1100
    assert (mean.step["prompt"], mean.step["output"]) == (1000, 200)
    assert mean.total == rooflens.place("llama-3.1-8b", H100, context=1100).total
    assert any("mean step of 200 generated tokens" in note for note in mean.notes)
    odd = rooflens.place("llama-3.1-8b", H100, prompt=1000, output=201)
    assert odd.step["context"] == 1100.5


def test_a_generation_that_ends_beyond_the_model_is_refused() -> None:
    with pytest.raises(RooflensError, match="made for 4096 positions, and 4100 are asked for; shorten the prompt or"):
        rooflens.place("llama-2-7b", H100, prompt=4000, output=100)
    assert rooflens.place("llama-2-7b", H100, prompt=4000, output=96).step["context"] == 4048


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ({"output": 5}, "an output needs its prompt"),
        ({"output": 5, "prompt": 5, "context": 5}, "an output needs its prompt and no context"),
        ({"prompt": 5}, "belongs to prefill"),
        ({"phase": "prefill", "prompt": 5, "output": 5}, "an output belongs to decode"),
        ({"pp": 1.5}, "pp: expected a whole number"),
    ],
)
def test_a_generation_is_asked_for_with_prompt_and_output(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(RooflensError, match=sentence):
        rooflens.place("llama-3.1-8b", H100, **asked)


def test_a_pipeline_says_its_bubble_and_what_its_figures_are_of() -> None:
    found = rooflens.place("llama-3.1-8b", H100, batch=64, pp=4, microbatches=8)
    assert found.total.bubble == pytest.approx(3 / 11)
    assert (found.step["pp"], found.step["microbatches"]) == (4, 8)
    assert "one microbatch" in found.conventions["operators"]
    assert rooflens.place("llama-3.1-8b", H100).total.bubble is None
    work = rooflens.place("llama-3.1-8b", H100, batch=64).total.flops
    assert found.total.flops == pytest.approx(work / 4)  # one stage's share of the same sequences


def test_a_compute_bound_pipeline_loses_its_bubble_of_the_peak() -> None:
    asked = {"phase": "prefill", "prompt": 4096, "batch": 8, "pp": 4, "microbatches": 8}
    floor = rooflens.place("llama-3.1-8b", H100, **asked).step_floor.floor_s
    full = rooflens.place("llama-3.1-8b", H100, **asked, measured_s=floor).measured
    assert full.mfu == pytest.approx(1 - 3 / 11, rel=0.03)
    assert math.isclose(full.times_floor, 1.0)
