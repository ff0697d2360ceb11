"""Steps: what is touched, attended to, routed, sent and accepted, against counting it one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import models, workload
from rooflens.api import machine
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.models import Choices
from rooflens.models.model import Local
from rooflens.operators.cost import Cost, total
from rooflens.operators.experts import experts_touched, popularity, ranks_touched
from rooflens.operators.rows import Row
from rooflens.operators.standard import norm
from rooflens.records import replace
from rooflens.roofline.place import mbu, mfu
from rooflens.workload import Step

BF16 = workload.precision(dtype("bf16"))
MIXTRAL = models.named("mixtral-8x7b", Choices(links=True))
LLAMA = models.named("llama-3.1-8b")
PRIMES = (11, 13, 17, 19, 23, 29, 31, 37, 41)
sizes = st.integers(1, 40)


def cost(model: models.Model, *steps: Step) -> Cost:
    return total(o.cost * o.count for o in workload.operators(model, steps, BF16))


@pytest.mark.parametrize("spec", ["B D, D F", "B D, D F, F D -> B F"])
def test_a_row_has_an_input_at_most_one_operand_and_an_output(spec):
    with pytest.raises(RooflensError, match="write 'input, operand -> output'"):
        _ = Row("odd", spec).operands


def test_every_demand_of_a_cost_is_added_and_taken_so_often():
    names = ("vector_flops", "weight_bytes", "kv_bytes", "activation_bytes", "link_bytes", "launches", "link_steps",
             "network_bytes", "network_steps")  # fmt: skip
    one = Cost({"bf16": 2.0, "fp8": 3.0}, **{name: float(prime) for name, prime in zip(names, PRIMES, strict=True)})
    other = Cost({"fp8": 5.0, "int8": 7.0}, **dict.fromkeys(names, 1.0))
    thrice, both = one * 3.0, one + other
    assert thrice.flops == {"bf16": 6.0, "fp8": 9.0}
    assert [getattr(thrice, name) for name in names] == [3.0 * prime for prime in PRIMES]
    assert both.flops == {"bf16": 2.0, "fp8": 8.0, "int8": 7.0}
    assert [getattr(both, name) for name in names] == [prime + 1.0 for prime in PRIMES]
    assert (one.total_flops, one.streamed_bytes, one.bytes) == (5.0, 13.0 + 17.0, 13.0 + 17.0 + 19.0)


def test_a_layer_of_a_llama_is_five_kernels_and_all_else_rides_with_them():
    kinds = [(o.kind, o.count) for o in workload.operators(LLAMA, workload.decode(1, 1), BF16)]
    layer = [("attention", 32)] * 3 + [("ffn", 32)] * 2
    assert kinds == [("embedding", 1), *layer, ("head", 1)]


def test_a_norm_keeps_its_weights_as_one_vector_and_a_product_as_a_matrix():
    kept = {name: row.matrices[0] for name, row in {"norm": norm("n"), "gemm": Row("gemm", "B D, D F -> B F")}.items()}
    sides = {
        name: ([t.text for out in one.outputs for t in out], [t.text for t in one.inputs]) for name, one in kept.items()
    }
    assert sides == {"norm": ([], ["D"]), "gemm": (["F"], ["D"])}


def test_no_work_adds_nothing_and_has_neither_mfu_nor_mbu():
    one = Cost({"bf16": 2.0}, *map(float, PRIMES))
    assert (one + Cost(), Cost() + one) == (one, one)
    card = machine("h100-sxm5-80gb")
    assert mfu(Cost(), card, 1.0) == mbu(0.0, card, 1.0) == 0.0


def test_a_softmax_is_a_kernel_of_its_own_that_reads_and_writes_its_scores_unless_it_is_fused():
    """Scores: 32 heads x 1 token x 1024 positions, in bf16 read and written."""
    built = {form: models.named("llama-3.1-8b", Choices(form)) for form in ("flash", "unfused")}
    own = {form: {r.rides for b in m.blocks for r in b.rows if r.name == "softmax"} for form, m in built.items()}
    assert own == {"flash": {True}, "unfused": {False}}
    moved = {form: cost(model, workload.decode(1, 1024)).activation_bytes for form, model in built.items()}
    assert moved["unfused"] - moved["flash"] >= 2 * 32 * (32 * 1024 * 2)  # read and written in each of 32 layers


@given(sizes, sizes, sizes, st.sampled_from(["window", "chunk"]))
def test_positions_are_those_of_counting_token_by_token(tokens: int, before: int, window: int, local: Local) -> None:
    step = workload.prefill(1, tokens, before + tokens)
    seen: set[int] = set()
    attended = 0
    for token in range(before, before + tokens):
        first = max(0, token - window + 1) if local == "window" else token // window * window
        seen |= set(range(first, token + 1))
        attended += token + 1 - first
    touched, average = workload.positions(step, float(window), local)
    assert touched == len(seen)
    assert average * tokens == pytest.approx(attended)


@given(sizes, sizes, sizes)
def test_a_selection_is_made_by_each_token_of_its_own(tokens: int, before: int, most: int) -> None:
    step = workload.prefill(1, tokens, before + tokens)
    touched, average = workload.positions(step, float(most), "selection")
    assert touched == min(before + tokens, tokens * most)
    assert average * tokens == pytest.approx(sum(min(token + 1, most) for token in range(before, before + tokens)))


@given(sizes, sizes)
def test_a_full_mask_attends_to_everything(tokens: int, before: int) -> None:
    step = workload.prefill(1, tokens, before + tokens, mask="full")
    assert workload.positions(step, None) == (before + tokens, before + tokens)
    # a window of 7 bounds what each token attends to; all tokens together touch 6 positions more than there are tokens
    assert workload.positions(step, 7.0) == (min(before + tokens, tokens + 6), min(before + tokens, 7))


@pytest.mark.parametrize("local", ["window", "chunk", "selection"])
def test_positions_of_arrays_are_those_of_their_points(local: Local) -> None:
    contexts = np.array([1, 5, 8, 9, 64])
    touched, attended = workload.positions(workload.decode(1, contexts), 8.0, local)
    points = [workload.positions(workload.decode(1, int(context)), 8.0, local) for context in contexts]
    assert (list(touched), list(attended)) == ([p[0] for p in points], [p[1] for p in points])


def test_causal_attention_counts_half_of_the_scores() -> None:
    """(T + 1) / 2T of the full matrix: 50.01 % at 4096."""
    causal, full = (workload.positions(workload.prefill(1, 4096, mask=mask), None)[1] for mask in ("causal", "full"))
    assert causal / full == pytest.approx(4097 / 8192)


@given(st.integers(1, 60), st.data(), st.integers(1, 300))
def test_experts_touched_by_even_routing(experts: int, data: st.DataObject, tokens: int) -> None:
    active = data.draw(st.integers(1, experts))
    touched = experts_touched(experts, active, tokens)
    assert touched == pytest.approx(experts * (1 - (1 - active / experts) ** tokens))
    assert active * (1 - 1e-12) <= touched <= min(experts, active * tokens) * (1 + 1e-12)


@given(st.integers(1, 60), st.data(), st.floats(0, 4), st.floats(0.01, 2), st.integers(1, 300))
def test_experts_touched_never_rise_with_skew(
    experts: int, data: st.DataObject, skew: float, more: float, tokens: int
) -> None:
    active = data.draw(st.integers(1, experts))
    even, uneven = (experts_touched(experts, active, tokens, s) for s in (skew, skew + more))
    assert uneven <= even * (1 + 1e-9)
    assert uneven >= active * (1 - 1e-9)


@given(st.integers(1, 300), st.data(), st.floats(0, 5))
def test_popularity_is_a_chance_for_each_expert_and_adds_up_to_the_active_ones(
    experts: int, data: st.DataObject, skew: float
) -> None:
    active = data.draw(st.integers(1, experts))
    chances = popularity(experts, active, skew)
    assert len(chances) == experts
    assert all(0 <= chance <= 1 + 1e-12 for chance in chances)
    assert list(chances) == sorted(chances, reverse=True)
    assert math.fsum(chances) == pytest.approx(active)


def test_a_skew_of_one_makes_the_second_expert_half_as_popular() -> None:
    first, second, third, *_ = popularity(64, 1, 1.0)
    assert (first / second, first / third) == (pytest.approx(2), pytest.approx(3))


def test_skew_over_arrays_is_skew_over_their_points() -> None:
    tokens = np.array([1.0, 8.0, 64.0])
    assert list(experts_touched(64, 6, tokens, 0.8)) == pytest.approx([experts_touched(64, 6, t, 0.8) for t in tokens])


def test_uneven_routing_reads_fewer_weights_and_computes_as_much() -> None:
    even, uneven = (cost(MIXTRAL, workload.decode(4, 64, routing_skew=skew)) for skew in (0.0, 1.5))
    assert uneven.weight_bytes < even.weight_bytes
    assert uneven.total_flops == pytest.approx(even.total_flops)


@given(st.integers(1, 30), st.floats(0, 1))
def test_accepted_tokens_are_the_sum_of_the_powers(tokens: int, acceptance: float) -> None:
    assert workload.accepted(tokens, acceptance) == pytest.approx(sum(acceptance**i for i in range(tokens)))


def test_an_acceptance_rate_is_a_rate() -> None:
    with pytest.raises(RooflensError, match="between 0 and 1"):
        workload.accepted(4, 1.2)


def test_a_speculating_step_reads_the_weights_once_for_all_its_tokens() -> None:
    one, four = cost(LLAMA, workload.decode(1, 1000)), cost(LLAMA, workload.decode(1, 1003, tokens=4))
    assert four.weight_bytes == one.weight_bytes
    linear = 2 * (LLAMA.params_streamed - 65 * 4096)  # norms are no products
    attention = 32 * 4 * 32 * 128
    assert one.total_flops == linear + attention * 1000
    assert four.total_flops == 4 * linear + attention * (1000 + 1001 + 1002 + 1003)


def test_a_cached_prefix_is_attended_to_and_not_computed() -> None:
    whole, behind = cost(LLAMA, workload.prefill(1, 1000)), cost(LLAMA, workload.prefill(1, 400, context=1000))
    first = cost(LLAMA, workload.prefill(1, 600))
    head = 2 * 4096 * 128_256
    assert first.total_flops + behind.total_flops == pytest.approx(whole.total_flops + head)


def test_one_pass_of_a_chunk_and_decodes_reads_the_weights_once() -> None:
    chunk, decodes = workload.prefill(1, 512, 2048), workload.decode(32, 1024)
    apart, together = [cost(LLAMA, chunk), cost(LLAMA, decodes)], cost(LLAMA, chunk, decodes)
    assert together.weight_bytes == apart[0].weight_bytes == apart[1].weight_bytes
    assert together.total_flops == pytest.approx(apart[0].total_flops + apart[1].total_flops)
    assert together.kv_bytes == pytest.approx(apart[0].kv_bytes + apart[1].kv_bytes)
    assert together.launches == apart[0].launches


def test_one_pass_touches_the_experts_of_all_its_tokens() -> None:
    plain = models.named("mixtral-8x7b")
    together = workload.operators(plain, [workload.decode(3, 10), workload.decode(2, 50)], BF16)
    alone = workload.operators(plain, workload.decode(5, 10), BF16)
    weights = [next(o.cost.weight_bytes for o in of if o.name == "expert gate_up") for of in (together, alone)]
    assert weights[0] == pytest.approx(weights[1])


def test_a_pass_of_one_step_is_that_step() -> None:
    step = workload.decode(7, 100)
    assert cost(LLAMA, step) == total(o.cost * o.count for o in workload.operators(LLAMA, step, BF16))


def test_steps_of_one_pass_run_on_the_same_devices() -> None:
    with pytest.raises(RooflensError, match="same devices"):
        workload.operators(MIXTRAL, [workload.decode(tp=2), workload.decode(tp=4)], BF16)
    with pytest.raises(RooflensError, match="at least one step"):
        workload.operators(MIXTRAL, [], BF16)


@pytest.mark.parametrize("layout", [{"tp": 2}, {"ep": 2, "tp": 2}, {"dp": 2}, {"dp": 4, "ep": 2}])
def test_several_devices_need_their_collectives(layout: dict[str, int]) -> None:
    with pytest.raises(RooflensError, match="links=True"):
        workload.operators(models.named("mixtral-8x7b"), workload.decode(**layout), BF16)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"tp": 0}, "tp must be at least 1, not 0"),
        ({"tp": 2, "ep": 4}, "ep 4 must divide tp x dp = 2"),
        ({"routing_skew": -1.0}, "routing_skew must be at least 0"),
        ({"batch": 0}, "batch must be at least 1, not 0"),
        ({"tokens": 3, "context": 2}, "context counts the new tokens too"),
    ],
)
def test_a_step_that_cannot_be_is_a_sentence(wrong: dict[str, float], sentence: str) -> None:
    with pytest.raises(RooflensError, match=sentence):
        workload.decode(**wrong)


@pytest.mark.parametrize(("tp", "ep", "dp"), [(8, 1, 1), (8, 8, 1), (8, 4, 1), (1, 8, 8), (2, 8, 4), (2, 4, 4)])
def test_devices_share_the_experts_however_these_are_spread(tp: int, ep: int, dp: int) -> None:
    """All devices together hold every expert once (each replica does when ep is 1) and serve each token once."""
    step = workload.prefill(64, 512, tp=tp, ep=ep, dp=dp)
    one = {o.name: o.cost for o in workload.operators(MIXTRAL, workload.prefill(64, 512), BF16)}
    many = {o.name: o.cost for o in workload.operators(MIXTRAL, step, BF16)}
    copies = dp if ep == 1 else 1
    for name in ("expert gate_up", "expert down"):
        assert tp * dp * many[name].total_flops == pytest.approx(one[name].total_flops)
        assert tp * dp * many[name].weight_bytes == pytest.approx(copies * one[name].weight_bytes)


@pytest.mark.parametrize(
    ("layout", "links"),
    [
        ({"tp": 1}, set()),
        ({"tp": 2}, {"out all-reduce", "down all-reduce"}),
        ({"tp": 2, "ep": 2}, {"out all-reduce", "down all-reduce"}),
        ({"dp": 2, "ep": 2}, {"dispatch", "combine"}),
        ({"tp": 2, "dp": 2, "ep": 4}, {"out all-reduce", "down all-reduce", "dispatch", "combine"}),
    ],
)
def test_collectives_stand_where_there_is_someone_to_talk_to(layout: dict[str, int], links: set[str]) -> None:
    operators = workload.operators(MIXTRAL, workload.decode(8, 64, **layout), BF16)
    assert {o.name for o in operators if o.rows[0].home == "link"} == links


def test_norms_and_residuals_are_counted_whether_or_not_there_are_collectives() -> None:
    plain = models.named("mixtral-8x7b")
    assert cost(MIXTRAL, workload.decode(8, 64)).vector_flops == cost(plain, workload.decode(8, 64)).vector_flops


def test_a_token_goes_to_each_device_that_has_one_of_its_experts() -> None:
    """2 experts on 4 devices: each of the 3 others has one of them with chance 1 - (3/4)^2."""
    assert ranks_touched(4, 2) == pytest.approx(3 * 7 / 16)
    operators = workload.operators(MIXTRAL, workload.decode(8, 64, dp=4, ep=4), BF16)
    sent = next(o.cost.link_bytes for o in operators if o.name == "dispatch")
    assert sent == pytest.approx(2 * 4096 * 2 * 3 * 7 / 16)  # 2 of 8 sequences, D, 2 bytes


@pytest.mark.parametrize(("kv_heads", "tp", "held"), [(8, 4, 2), (8, 16, 1), (1, 8, 1)])
def test_fewer_key_value_heads_than_devices_are_held_again(kv_heads: int, tp: int, held: int) -> None:
    config = {**LLAMA.config, "num_key_value_heads": kv_heads}
    model = models.from_config(config, "x", Choices(links=True))
    attention = next(
        o for o in workload.operators(model, workload.decode(1, 100, tp=tp), BF16) if o.name == "attention"
    )
    assert attention.cost.kv_bytes == 2 * 100 * held * 128 * 2


def test_a_latent_cache_is_whole_on_every_device() -> None:
    model = models.named("deepseek-v3", Choices(links=True))
    one, eight = (cost(model, workload.decode(4, 1000, tp=tp)).kv_bytes for tp in (1, 8))
    assert one == eight == 4 * 1000 * 70_272


def test_a_layer_that_reads_an_earlier_cache_reads_it_again() -> None:
    gemma = {
        "model_type": "gemma4_text", "hidden_size": 64, "intermediate_size": 96, "num_hidden_layers": 4,
        "vocab_size": 100, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 8, "global_head_dim": 8,
        "hidden_size_per_layer_input": 0, "num_kv_shared_layers": 2, "layer_types": ["full_attention"] * 4,
    }  # fmt: skip
    model = models.from_config(gemma, "x")
    assert cost(model, workload.decode(1, 100)).kv_bytes == 2 * 100 * 2 * model.kv_elements_per_token()


def test_states_are_read_and_written_once_a_step_in_their_own_format() -> None:
    model = models.named("mamba2-codestral-7b")
    assert cost(model, workload.decode(3, 5000)).kv_bytes == 3 * 2 * 273_678_336
    narrow = workload.precision(dtype("bf16"), "fp8", "fp8", state="bf16")
    states, taps = model.state_elements()
    moved = total(o.cost * o.count for o in workload.operators(model, workload.decode(3, 5000), narrow)).kv_bytes
    assert moved == 3 * 2 * 2 * (states + taps)


def test_an_indexer_scores_every_position_and_attention_reads_the_selected() -> None:
    config = {**models.named("deepseek-v3").config, "model_type": "deepseek_v32"}
    config |= {"index_topk": 2048, "index_n_heads": 64, "index_head_dim": 128}
    model = models.from_config({k: v for k, v in config.items() if k != "quantization_config"}, "v32")
    read = {o.name: o.cost.kv_bytes for o in workload.operators(model, workload.decode(1, 100_000), BF16)}
    assert read["index scores"] == 100_000 * 128 * 2
    assert read["attention"] == 2048 * 576 * 2


def test_layouts_name_what_may_not_differ() -> None:
    assert workload.decode(tp=8).layout == "tp 8"
    assert workload.decode(tp=8, ep=8).layout == "tp 8, ep 8, dp 1"
    assert replace(workload.prefill(prompt=5), logits=0.0).layout == "tp 1, no logits"


def test_a_replica_of_its_own_experts_touches_those_of_its_own_sequences() -> None:
    """One sequence on two replicas: the one that has it touches two experts, spread or not."""
    one = workload.moving_letters(MIXTRAL, workload.decode(1, 10, dp=2), MIXTRAL.blocks[2])
    assert (one["B"], one["X"]) == (1, pytest.approx(2))
    three = workload.moving_letters(MIXTRAL, workload.decode(3, 10, dp=2), MIXTRAL.blocks[2])
    assert (three["B"], three["X"]) == (2, pytest.approx(experts_touched(8, 2, 2)))


def test_state_heads_are_shared_out_whole_too() -> None:
    model = models.named("mamba2-codestral-7b", models.Choices(links=True))
    stored = workload.precision(dtype("bf16"))
    assert workload.operators(model, workload.decode(tp=8), stored)
    with pytest.raises(RooflensError, match="tp 3 does not share out the 128 heads"):
        workload.operators(model, workload.decode(tp=3), stored)


def test_a_format_that_nobody_knows_is_refused_with_the_model_that_says_it() -> None:
    with pytest.raises(RooflensError, match=r"the config of llama.*: unknown dtype 'bfloat17'"):
        workload.own_dtype(replace(LLAMA, dtype="bfloat17"))
