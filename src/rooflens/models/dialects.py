"""Configs that say common facts in their own way, put into the common words before they are read.

Each function takes the facts of one model type and returns them with other keys; what it leaves stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rooflens.models.unlisted import listed

Facts = dict[str, Any]


def common(family: str, data: Mapping[str, Any]) -> Facts:
    """The facts of a config of this model type in common words."""
    return listed(family, _DIALECTS.get(family, dict)(dict(data)))


def _inner(facts: Facts, key: str) -> Facts:
    """A nested object taken out of the facts; empty when there is none."""
    inner = facts.pop(key, None)
    return dict(inner) if isinstance(inner, Mapping) else {}


def is_factor(value: Any) -> bool:
    """Whether a value can be multiplied with a width."""
    return isinstance(value, (int, float)) and 0 < value < 1e6


def _falcon(facts: Facts) -> Facts:
    """One key-value head (multi_query), some (new decoder) or all; in parallel blocks one norm or two."""
    new = facts.pop("new_decoder_architecture", None) is True or facts.get("model_type") == "RefinedWeb"
    one = facts.pop("multi_query", True) not in (False, None)
    listed = [facts.pop(key, None) for key in ("num_kv_heads", "n_head_kv")]
    if new:
        facts["num_key_value_heads"] = next((n for n in listed if n is not None), None)
    elif one:
        facts["num_key_value_heads"] = 1
    norms, parallel = facts.pop("num_ln_in_parallel_attn", None), new or facts.get("parallel_attn", True)
    facts |= {"shared_norm": not new or norms == 1} if parallel is True else {}
    return {**facts, "parallel_attn": parallel}


def _bigcode(facts: Facts) -> Facts:
    if facts.pop("multi_query", True) not in (False, None):
        facts["num_key_value_heads"] = 1
    return facts


def _mpt(facts: Facts) -> Facts:
    attention = _inner(facts, "attn_config")
    heads = attention.get("kv_n_heads")
    if attention.get("attn_type") == "multiquery_attention":
        heads = 1
    for key in ("ffn_config", "no_bias", "learned_pos_emb"):
        facts.pop(key, None)
    ratio, width = facts.pop("expansion_ratio", 4), facts.get("d_model")
    if is_factor(ratio) and isinstance(width, int):
        facts["intermediate_size"] = int(ratio * width)
    return {**facts, "num_key_value_heads": heads, "qk_ln": attention.get("qk_ln", False)}


def _dbrx(facts: Facts) -> Facts:
    attention, ffn = _inner(facts, "attn_config"), _inner(facts, "ffn_config")
    experts: Facts = {key: ffn.get(key) for key in ("moe_num_experts", "moe_top_k", "ffn_hidden_size")}
    return {**facts, **experts, "num_key_value_heads": attention.get("kv_n_heads")}


def _chatglm(facts: Facts) -> Facts:
    if facts.pop("multi_query_attention", False) is not True:
        facts.pop("multi_query_group_num", None)
    return facts


def _qwen(facts: Facts) -> Facts:
    """The first Qwen writes the width of gate and up together, and that other products have no bias."""
    facts["other_bias"] = facts.pop("no_bias", True) is False
    return _halved(facts)


def _halved(facts: Facts) -> Facts:
    both = facts.get("intermediate_size")
    if isinstance(both, int) and both % 2 == 0:
        facts["intermediate_size"] = both // 2
    return facts


def _hf_olmo(facts: Facts) -> Facts:
    both, heads = facts.pop("mlp_hidden_size", None), facts.get("n_kv_heads")
    if isinstance(both, int):
        facts["intermediate_size"] = both // 2
    tied, vocab = facts.pop("weight_tying", True), facts.get("embedding_size")
    facts |= {"tie_word_embeddings": tied, "num_key_value_heads": 1 if facts.get("multi_query_attention") else heads}
    return {**facts, "vocab_size": vocab or facts.get("vocab_size")}


def _gpt_neo(facts: Facts) -> Facts:
    """[[["global", "local"], 12]]: kinds, and how often."""
    groups = facts.pop("attention_types", None)
    if "attention_layers" not in facts and isinstance(groups, list):
        try:
            facts["attention_layers"] = [kind for kinds, times in groups for _ in range(times) for kind in kinds]
        except (TypeError, ValueError):
            facts["attention_layers"] = ["attention_types"]
    return facts


def _xglm(facts: Facts) -> Facts:
    width = facts.pop("ffn_dim", None)
    return {**facts, "intermediate_size": width}


def _opt(facts: Facts) -> Facts:
    if facts.pop("_remove_final_layer_norm", False) is True:
        facts["do_layer_norm_before"] = False
    narrow = facts.pop("word_embed_proj_dim", None)
    return facts if narrow in (None, facts.get("hidden_size")) else {**facts, "embed_width": narrow}


def _starcoder2(facts: Facts) -> Facts:
    if facts.get("mlp_type") == "default":
        del facts["mlp_type"]
    return facts


def _granite_hybrid(facts: Facts) -> Facts:
    """Without experts, what they would share is the whole feed-forward network."""
    if facts.get("num_local_experts") == 0:
        facts["intermediate_size"] = facts.pop("shared_intermediate_size", None)
    return facts


def _one_expert(facts: Facts) -> Facts:
    """One expert is a plain feed-forward network."""
    return {**facts, "num_experts": 0} if facts.get("num_experts") == 1 else facts


def _laguna(facts: Facts) -> Facts:
    """A gate for each head, and as many heads in every layer; anything else stays unread, and is said."""
    if facts.get("gating") in (True, "per-head"):
        del facts["gating"]
    each, heads = facts.get("num_attention_heads_per_layer"), facts.get("num_attention_heads")
    if isinstance(each, list) and each.count(heads) == len(each):
        del facts["num_attention_heads_per_layer"]
    return facts


def _mamba2(facts: Facts) -> Facts:
    """Alone it calls its own heads num_heads and head_dim, as others call those of attention."""
    heads, width = facts.pop("num_heads", None), facts.pop("head_dim", None)
    return {**facts, "mamba_num_heads": heads, "mamba_head_dim": width}


def _mamba1(facts: Facts) -> Facts:
    inner = facts.pop("intermediate_size", None)
    return {**facts, "mamba_inner": inner}


def _lfm2(facts: Facts) -> Facts:
    """The feed-forward width is adjusted: two thirds, times a factor, rounded up to a multiple."""
    facts = _tied(facts)
    width = facts.get("block_ff_dim", facts.get("intermediate_size"))
    adjusts = facts.pop("block_auto_adjust_ff_dim", True) is not False
    factor, multiple = facts.pop("block_ffn_dim_multiplier", 1.0), facts.pop("block_multiple_of", 256)
    if adjusts and isinstance(width, int) and isinstance(multiple, int) and multiple > 0:
        width = int(2 * width / 3)
        width = int(factor * width) if is_factor(factor) else width
        width = -(-width // multiple) * multiple
    for key in ("block_ff_dim", "conv_dim", "conv_dim_out"):  # as wide as the stream in the class
        facts.pop(key, None)
    return {**facts, "intermediate_size": width}


def _tied(facts: Facts) -> Facts:
    tied = facts.pop("tie_embedding", None)
    return facts if tied is None else {**facts, "tie_word_embeddings": tied}


def _recurrent_gemma(facts: Facts) -> Facts:
    """Kinds are a cycle; attention is local; the feed-forward width is written for gate and up together."""
    cycle, layers = facts.pop("block_types", None), facts.get("num_hidden_layers")
    if isinstance(cycle, list) and cycle and isinstance(layers, int) and 0 < layers < 10_000:
        kinds = ["local" if kind == "attention" else kind for kind in cycle]
        facts["layer_types"] = [kinds[i % len(kinds)] for i in range(layers)]
    return _halved(facts)


def _kimi_linear(facts: Facts) -> Facts:
    inner, layers = _inner(facts, "linear_attn_config"), facts.get("num_hidden_layers")
    full = inner.get("full_attn_layers")
    if isinstance(full, list) and isinstance(layers, int) and 0 < layers < 10_000:
        facts["layer_types"] = ["full_attention" if i + 1 in full else "linear_attention" for i in range(layers)]
    own = {
        "num_heads": "linear_num_heads",
        "head_dim": "linear_head_dim",
        "short_conv_kernel_size": "linear_conv_kernel_dim",
    }
    return {**facts, **{word: inner[key] for key, word in own.items() if key in inner}}


def _gemma4(facts: Facts) -> Facts:
    """Newer files write what is different in layers that attend to everything at the number of each such layer."""
    own = _inner(facts, "per_layer_config")
    for entry in own.values():
        if isinstance(entry, Mapping):
            facts["global_head_dim"] = entry.get("head_dim", facts.get("global_head_dim"))
            facts["num_global_key_value_heads"] = entry.get(
                "num_key_value_heads", facts.get("num_global_key_value_heads")
            )
    return facts


def _nemotron_h(facts: Facts) -> Facts:
    """Newer files list their layers without counting them; the shared experts' width is that of all together."""
    if isinstance(facts.get("n_shared_experts"), int) and facts.get("moe_shared_expert_intermediate_size"):
        facts["n_shared_experts"] = min(facts["n_shared_experts"], 1)
    listed = facts.get("layers_block_type")
    if facts.get("num_hidden_layers") is None and isinstance(listed, list):
        facts["num_hidden_layers"] = len(listed)
    return facts


def _mimo(facts: Facts) -> Facts:
    """Local layers have twice the key-value heads unless their number is written."""
    heads = facts.get("num_key_value_heads")
    if facts.get("swa_num_key_value_heads") is None and isinstance(heads, int):
        facts["swa_num_key_value_heads"] = 2 * heads
    facts.pop("attention_chunk_size", None)
    return facts


def _step(facts: Facts) -> Facts:
    """Key-value heads are groups; layers with experts stand in a text; local layers have heads of their own number."""
    local, listed = _inner(facts, "attention_other_setting"), facts.pop("moe_layers_enum", None)
    own = {
        "num_key_value_heads": "num_attention_groups", "shared_expert_intermediate_size": "share_expert_dim",
        "swa_num_attention_heads": "num_sliding_attention_heads",
    }  # fmt: skip
    facts |= {word: facts.pop(key) for word, key in own.items() if key in facts}
    if "num_attention_heads" in local:
        facts["swa_num_attention_heads"] = local["num_attention_heads"]
    if "n_routed_experts" in facts:
        facts.pop("num_local_experts", None)
    if facts.get("use_head_wise_attn_gate") is True:
        del facts["use_head_wise_attn_gate"]
    if isinstance(listed, str):
        facts["moe_layers"] = [int(part) if part.strip().isdecimal() else part for part in listed.split(",")]
    return facts


def _bailing_hybrid(facts: Facts) -> Facts:
    """Recurrent layers have as many heads, and as wide ones, as attention would have."""
    taps = facts.pop("short_conv_kernel_size", facts.get("linear_conv_kernel_dim"))
    heads = {"linear_num_heads": facts.get("num_attention_heads"), "linear_head_dim": facts.get("head_dim")}
    return {**heads, **facts, "linear_conv_kernel_dim": taps}


def _hunyuan_moe(facts: Facts) -> Facts:
    """Experts, and how many a token visits, may be written for each layer; they are all equal, and as wide as F."""
    facts.pop("moe_intermediate_size", None)
    for key in ("moe_topk", "num_shared_expert", "num_experts"):
        value = facts.get(key)
        if isinstance(value, list) and value and value.count(value[0]) == len(value):
            facts[key] = value[0]
    return facts


def _llama4(facts: Facts) -> Facts:
    """intermediate_size is an expert's width, intermediate_size_mlp that of a dense layer."""
    dense = facts.pop("intermediate_size_mlp", None)
    if facts.get("intermediate_size") is None:
        return facts
    return {**facts, "moe_intermediate_size": facts.get("intermediate_size"), "intermediate_size": dense}


_DIALECTS: dict[str, Callable[[Facts], Facts]] = {
    "bailing_hybrid": _bailing_hybrid, "chatglm": _chatglm, "dbrx": _dbrx, "falcon": _falcon, "falcon_mamba": _mamba1,
    "gemma4_text": _gemma4, "gemma4_unified_text": _gemma4, "gpt_bigcode": _bigcode, "gpt_neo": _gpt_neo,
    "granitemoehybrid": _granite_hybrid, "hf_olmo": _hf_olmo, "hunyuan": _hunyuan_moe,
    "hunyuan_v1_dense": _one_expert, "hunyuan_v1_moe": _hunyuan_moe, "jamba": _one_expert,
    "kimi_linear": _kimi_linear, "laguna": _laguna, "lfm2": _lfm2, "lfm2_moe": _tied, "llama4_text": _llama4,
    "mamba": _mamba1, "mamba2": _mamba2, "mimo_v2_flash": _mimo, "mpt": _mpt, "nemotron_h": _nemotron_h, "opt": _opt,
    "qwen": _qwen, "recurrent_gemma": _recurrent_gemma, "RefinedWeb": _falcon, "RefinedWebModel": _falcon,
    "starcoder2": _starcoder2, "step3p5": _step, "xglm": _xglm,
}  # fmt: skip
