"""What a tensor's name says: the part of the model it belongs to, and whether it holds parameters."""

from __future__ import annotations

import re

from rooflens.operators.rows import Part

_APART = re.compile(
    r"(^|\.)(visual|vision\w*|audio\w*|image\w*|multi_modal\w*|multimodal\w*|mm_projector|mm|v|mtp\w*|nextn)\."
)
_LAYER = re.compile(r"(?:^|\.)(?:layers|layer|blocks|h|blk)\.(\d{1,6})\.")
# Scales, offsets and indices of quantised tensors; masks and tables that the model computes with and never learned.
_NOT_LEARNED = re.compile(
    r"(scales?|scale_inv|_scale_2|zeros|zero_point|g_idx|absmax|quant_map|nested_\w+|SCB|weight_format|weight_shape"
    r"|quant_state\.\w+|inv_freq|masked_bias|rope_freqs\.weight|e_score_correction_bias|exp_probs_b(\.bias)?"
    r"|(^|\.)h\.\d+\.attn\.bias|biases|position_ids)$"
)
_PARTS: tuple[tuple[Part, re.Pattern[str]], ...] = (
    (
        "router",
        re.compile(r"ffn_gate_inp|router|(mlp|moe|feed_forward|mixer)\.(gate|shared_expert_gate)\.|exp_probs_b"),
    ),
    ("norm", re.compile(r"norm[^.]*(\.(weight|gamma|beta))?$|(^|\.)ln_[^.]*\.|[._]bias$|sinks")),
    (
        "embed",
        re.compile(r"embed_tokens|(^|\.)w[tp]e\.|word_embeddings|embed_in\.|(token|position)_embd|embeddings?\."),
    ),
    ("head", re.compile(r"(^|\.)lm_head\.|^output\.|embed_out\.")),
    ("shared", re.compile(r"shared_expert|shared_mlp|_shexp\.")),
    ("expert", re.compile(r"experts|_exps\.")),
    ("conv", re.compile(r"conv1d|conv_|\.conv\.")),
    ("ssm", re.compile(r"ssm|mamba|linear_attn|mixer\.(in_proj|out_proj|x_proj|dt_|A_log|D$)")),
    ("project", re.compile(r"attn|attention|[qkvo]_proj")),
)


def part_of(name: str) -> Part | None:
    """The part of a language model that this tensor belongs to; None for vision, audio and draft heads beside it."""
    if _APART.search(name):
        return None
    return next((part for part, pattern in _PARTS if pattern.search(name)), "linear")


def layer_of(name: str) -> int | None:
    """The index of the layer that this tensor stands in."""
    found = _LAYER.search(name)
    return int(found[1]) if found else None


def is_learned(name: str) -> bool:
    """Whether its values are parameters, and not scales, zero points, indices or masks."""
    return not _NOT_LEARNED.search(name)
