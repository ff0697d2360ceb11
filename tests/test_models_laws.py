"""Laws that hold for any architecture."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import models, workload
from rooflens.dtypes import dtype
from rooflens.models import Block, Choices, Model
from rooflens.operators.cost import Cost, total
from rooflens.operators.letters import LETTERS
from rooflens.operators.rows import Row, product
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.price import price_step

MACHINE = Machine(
    "acme",
    "Acme One",
    (
        Ceiling("bf16", "compute", 4e14, "spec", dtype="bf16", path="matrix"),
        Ceiling("fp32", "compute", 2e13, "spec", dtype="fp32", path="vector"),
        Ceiling("read", "memory", 2e12, "spec", level="main"),
        Ceiling("link", "link", 2e11, "spec", level="nvlink"),
    ),
    link="nvlink",
)
BF16 = workload.precision(dtype("bf16"))
TP = 2


@st.composite
def configs(draw: st.DrawFn) -> dict[str, Any]:
    """Sizes that split evenly over two devices, except key-value heads, of which there may be one."""
    kv_heads, groups = draw(st.sampled_from([1, 2, 4])), draw(st.sampled_from([2, 4]))
    family = draw(st.sampled_from(sorted(FAMILIES)))
    base = {
        "model_type": family,
        "hidden_size": 64 * draw(st.integers(1, 8)),
        "num_hidden_layers": draw(st.integers(1, 6)),
        "num_attention_heads": kv_heads * groups,
        "num_key_value_heads": kv_heads,
        "head_dim": draw(st.sampled_from([8, 16])),
        "intermediate_size": 2 * draw(st.integers(1, 300)),
        "vocab_size": 2 * draw(st.integers(1, 500)),
        "max_position_embeddings": 1 << 20,
        "tie_word_embeddings": draw(st.booleans()),
    }
    return {**base, **draw(st.fixed_dictionaries(FAMILIES[family]))}


EXPERTS = {
    "num_experts": st.sampled_from([4, 8]),
    "num_experts_per_tok": st.sampled_from([1, 2, 4]),
    "moe_intermediate_size": st.sampled_from([8, 32]),
}
LATENTS = {
    "kv_lora_rank": st.just(16), "q_lora_rank": st.sampled_from([None, 24]), "qk_nope_head_dim": st.just(8),
    "qk_rope_head_dim": st.just(4), "v_head_dim": st.just(8), "first_k_dense_replace": st.integers(0, 2),
}  # fmt: skip
STATES = {
    "linear_num_key_heads": st.just(2), "linear_num_value_heads": st.just(4), "linear_key_head_dim": st.just(8),
    "linear_value_head_dim": st.just(16), "linear_conv_kernel_dim": st.just(4),
}  # fmt: skip
WINDOW = {"sliding_window": st.sampled_from([None, 4, 64])}
FAMILIES: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "llama": {}, "gpt_neox": {}, "falcon": {"multi_query": st.booleans()}, "mistral": WINDOW, "gemma3_text": WINDOW,
    "olmo2": {}, "cohere2": WINDOW, "gpt2": {}, "mixtral": {**EXPERTS, **WINDOW}, "qwen2_moe": EXPERTS,
    "gpt_oss": {**EXPERTS, **WINDOW}, "deepseek_v3": {**EXPERTS, **LATENTS}, "qwen3_next": {**EXPERTS, **STATES},
    "qwen3_5_text": STATES,
    "mamba2": {
        "num_heads": st.just(4), "head_dim": st.just(16), "state_size": st.just(8), "n_groups": st.just(1),
        "intermediate_size": st.none(),
    },
}  # fmt: skip
choices = st.builds(
    Choices, st.sampled_from(["flash", "unfused"]), st.booleans(), st.just(True),
    st.sampled_from(["absorbed", "expanded"]), st.sampled_from(["steps", "chunks"]),
)  # fmt: skip
architectures = st.builds(lambda config, of: models.from_config(config, "drawn", of), configs(), choices)
few = st.integers(1, 64)


def cost(model: Model, *steps: workload.Step, **stored: Any) -> Cost:
    precision = workload.precision(dtype("bf16"), **stored)
    return total(o.cost * o.count for o in workload.operators(model, steps, precision))


def floor_s(model: Model, step: workload.Step, **stored: Any) -> float:
    precision = workload.precision(dtype("bf16"), **stored)
    return float(price_step(workload.operators(model, step, precision), MACHINE).floor_s)


@given(architectures)
def test_the_sum_of_the_weights_in_the_rows_is_the_parameter_count(model: Model) -> None:
    """With 2-byte weights everywhere, weight_bytes of a step that touches all experts is twice what is streamed."""
    step = workload.decode(10_000, 1)
    stored = sum(block.count * _elements(model, block, row, ("weight", "tied")) for block, row in _rows(model))
    assert cost(model, step).weight_bytes == pytest.approx(2 * stored)
    kept = sum(block.count * _elements(model, block, row, ("weight", "table")) for block, row in _rows(model))
    assert kept == model.params_total


@given(architectures, few, few, few)
def test_flops_are_linear_in_sequences(model: Model, batch: int, tokens: int, before: int) -> None:
    one = cost(model, workload.prefill(1, tokens, before + tokens)).total_flops
    assert cost(model, workload.prefill(batch, tokens, before + tokens)).total_flops == pytest.approx(batch * one)


@given(architectures, few, few)
def test_flops_without_attention_are_linear_in_tokens(model: Model, tokens: int, times: int) -> None:
    step, longer = workload.prefill(1, tokens, 10_000), workload.prefill(1, tokens * times, 10_000)
    found = (workload.operators(model, of, BF16) for of in (step, longer))
    for one, many in zip(*found, strict=True):
        names = {name for row in one.rows for side in row.operands for token in side for _, name in token.terms}
        if not {"S", "P", "Y"} & names:
            assert many.cost.total_flops == pytest.approx(times * one.cost.total_flops)


@given(architectures, few, few)
def test_a_prompt_in_parts_costs_the_flops_of_the_whole(model: Model, prompt: int, chunk: int) -> None:
    if model.choices.mla == "expanded":
        return  # each part expands the latents of all before it: that is what parts cost
    ends = [*range(chunk, prompt, chunk), prompt]
    parts = [workload.prefill(1, end - begin, end) for begin, end in itertools.pairwise([0, *ends])]
    parts = [replace(part, logits=0.0) for part in parts[:-1]] + parts[-1:]  # only the last part ends in logits
    found = sum(cost(model, part).total_flops for part in parts)
    assert found == pytest.approx(cost(model, workload.prefill(1, prompt)).total_flops)


@given(architectures, few, few)
def test_weights_of_a_dense_model_do_not_depend_on_the_batch_and_those_of_experts_only_grow(
    model: Model, batch: int, context: int
) -> None:
    one, many = (cost(model, workload.decode(b, context)).weight_bytes for b in (1, batch))
    assert many >= one * (1 - 1e-12)
    if "E" not in model.letters:
        assert many == one


@given(architectures, few, few)
def test_the_cache_is_linear_in_context_up_to_the_window_and_constant_after(
    model: Model, batch: int, context: int
) -> None:
    reach = min((block.window for block in model.blocks if block.window is not None), default=None)
    growing, every = (2 * model.kv_elements_per_token(growing=g) for g in (True, False))
    states = cost(model, workload.decode(batch, 1)).kv_bytes - batch * every
    for at in (context, context + 1000):
        local = min(at, reach) if reach is not None else at
        expected = states + batch * (growing * at + (every - growing) * local)
        if model.choices.attention == "flash" or "R" not in model.letters:
            assert cost(model, workload.decode(batch, at)).kv_bytes == pytest.approx(expected)


@given(architectures, few, few, st.sampled_from(["batch", "context", "tokens"]))
def test_a_floor_never_falls_when_there_is_more_to_do(model: Model, batch: int, context: int, more: str) -> None:
    first = {"batch": batch, "context": context + 64, "tokens": 2}
    second = {**first, more: first[more] + 1}
    assert floor_s(model, workload.decode(**second)) >= floor_s(model, workload.decode(**first)) * (1 - 1e-12)


@given(architectures, few, few)
def test_a_floor_never_falls_when_values_get_wider(model: Model, batch: int, context: int) -> None:
    step = workload.decode(batch, context)
    narrow = [floor_s(model, step, weights=f"{bits} bits") for bits in (2, 4, 6, 8)]
    assert narrow == sorted(narrow)
    assert floor_s(model, step, kv="fp8") <= floor_s(model, step, kv="bf16")


@given(architectures, few, few)
def test_nothing_is_above_a_roof(model: Model, batch: int, context: int) -> None:
    price = price_step(workload.operators(model, workload.decode(batch, context), BF16), MACHINE)
    assert price.cost.total_flops <= 4e14 * price.floor_s * (1 + 1e-12)
    assert price.cost.bytes <= 2e12 * price.floor_s * (1 + 1e-12)
    assert price.floor_overlapped_s <= price.floor_s * (1 + 1e-12)


@given(architectures, few, few)
def test_shards_sum_to_the_whole_and_what_is_declared_replicated(model: Model, batch: int, context: int) -> None:
    """TP x the shard = the whole + (TP - 1) x what stands in terms whose letters are not split."""
    whole, shard = (cost(model, workload.decode(batch, context, tp=tp)) for tp in (1, TP))
    again = 2 * sum(_replicated(model, block, row, batch, context) for block, row in _rows(model))
    assert TP * shard.weight_bytes == pytest.approx(whole.weight_bytes + (TP - 1) * again)
    assert TP * shard.total_flops >= whole.total_flops * (1 - 1e-12)


def _rows(model: Model) -> list[tuple[Block, Row]]:
    return [(block, row) for block in model.blocks for row in block.rows]


def _elements(model: Model, block: Block, row: Row, homes: tuple[str, ...]) -> float:
    letters = {**block.with_letters(model.letters), "X": model.letters.get("E", 0.0)}
    return float(product(row.operands[1], letters)) if row.home in homes else 0.0


def _replicated(model: Model, block: Block, row: Row, batch: int, context: int) -> float:
    """Streamed elements of the terms that every device holds whole: at most one factor of a row is split."""
    if row.home not in ("weight", "tied"):
        return 0.0
    letters = workload.letters(model, workload.decode(batch, context), block)
    kept = 1.0
    for token in row.operands[1]:
        split = [name for _, name in token.terms if name and _splits(name, float(letters[name]))]
        terms = ((c, name) for c, name in token.terms if name not in split)
        kept *= sum(c * (float(letters[name]) if name else 1.0) for c, name in terms)
    return block.count * kept


def _splits(name: str, size: float) -> bool:
    """Whether a letter is split over devices, and there is enough of it to split."""
    letter = LETTERS[name]
    return letter.shard in ("tp", "expert") and not (letter.at_least_one and size < TP)
