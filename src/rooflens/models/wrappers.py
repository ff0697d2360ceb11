"""Models that hold a language model inside: which one it is, and what stands around it and is left out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.errors import RooflensError
from rooflens.records import record

INNER = ("text_config", "language_config", "llm_config", "thinker_config")
QUANTISED = ("quantization_config", "quantization", "compression_config")  # the last: compressed-tensors before 2024-10
OUTER = ("tie_word_embeddings", "torch_dtype", "dtype", *QUANTISED)
_TOWERS = ("img_processor", "visual", "mm_vision_tower")
# Outer type: the type of its text part where that is not written. Its soft tokens enter as any other token does.
WRAPPERS: dict[str, str] = {
    "apertus1p5": "apertus1p5_text", "aria": "aria_text", "audioflamingo3": "qwen2", "aya_vision": "cohere2",
    "cohere2_vision": "cohere2", "deepseek_vl": "llama", "deepseek_vl_hybrid": "llama",
    "deepseek_vl_v2": "deepseek_v2", "exaone4_5": "exaone4", "fast_vlm": "qwen2", "fuyu": "persimmon",
    "gemma3": "gemma3_text", "gemma3n": "gemma3n_text", "gemma4": "gemma4_text",
    "gemma4_unified": "gemma4_unified_text", "glm46v": "glm4v_text", "glm4v": "glm4v_text",
    "glm4v_moe": "glm4v_moe_text", "got_ocr2": "qwen2", "granite_speech": "granite",
    "hyperclovax_vision_v2": "hyperclovax", "idefics2": "mistral", "idefics3": "llama", "internvl": "qwen2",
    "internvl_chat": "", "janus": "llama", "kimi_k25": "deepseek_v3", "kimi_vl": "deepseek_v3", "lfm2_vl": "lfm2",
    "lfm3_vl": "lfm3", "lighton_ocr": "qwen3", "llama4": "llama4_text", "llava": "llama", "llava_llama": "llama",
    "llava_next": "llama", "llava_next_video": "llama", "llava_onevision": "qwen2", "minicpmo": "qwen2",
    "minicpmv": "qwen2", "mistral3": "mistral", "musicflamingo": "qwen2", "nemotron_h_omni": "nemotron_h",
    "NVLM_D": "qwen2", "omniasr": "llama", "ovis2": "qwen2", "paddleocr_vl": "paddleocr_vl_text", "paligemma": "gemma",
    "perception_lm": "llama", "phi3_v": "phi3", "qianfan_ocr": "qwen3", "qwen2_5_omni": "qwen2_5_omni_text",
    "qwen2_5_omni_thinker": "qwen2_5_omni_text", "qwen2_5_vl": "qwen2_5_vl_text", "qwen2_audio": "qwen2",
    "qwen2_vl": "qwen2_vl_text", "qwen3_5": "qwen3_5_text", "qwen3_5_moe": "qwen3_5_moe_text", "qwen3_asr": "qwen3",
    "qwen3_omni_moe": "qwen3_omni_moe_text", "qwen3_omni_moe_thinker": "qwen3_omni_moe_text",
    "qwen3_vl": "qwen3_vl_text", "qwen3_vl_moe": "qwen3_vl_moe_text", "shieldgemma2": "gemma3_text",
    "smolvlm": "llama", "step3p7": "step3p5", "video_llama_3": "qwen2", "video_llava": "llama", "vipllava": "llama",
    "voxtral": "llama",
}  # fmt: skip


@record
class Unwrapped:
    """The facts of the language model, whether they stood inside another config, and what is left out around it."""

    family: str
    facts: Mapping[str, Any]
    nested: bool
    left_out: tuple[str, ...] = ()


def unwrap(data: Mapping[str, Any], where: str) -> Unwrapped:
    """The language model of a config. Raises RooflensError where the model_type or the text part is missing."""
    outer = _type(data, where)
    if outer not in WRAPPERS:
        return Unwrapped(outer, data, nested=False)
    levels = [data]
    while len(levels) <= len(INNER) and (found := _inside(levels[-1])) is not None:
        levels.append(found)
    inner, nested = levels[-1], len(levels) > 1
    facts = {
        **inner,
        **{key: said for key in OUTER for level in reversed(levels) if (said := level.get(key)) is not None},
    }
    family = _inner_type(inner, outer) if nested else WRAPPERS[outer]
    if not family:
        raise RooflensError(
            f"{where}: model_type {outer!r} holds a language model, but none of {', '.join(INNER)} is there"
        )
    return Unwrapped(family, facts, nested, tuple(_around(data)))


def _type(data: Mapping[str, Any], where: str) -> str:
    family = data.get("model_type")
    if not isinstance(family, str) or not family:
        raise RooflensError(
            f"{where}: model_type is missing, so the architecture is not known; is this a model's config.json?"
        )
    return family


def _inside(data: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((data[key] for key in INNER if isinstance(data.get(key), Mapping)), None)


def _inner_type(inner: Mapping[str, Any], outer: str) -> str:
    """What the inner config calls itself; an inner one that repeats the outer name, or says none, is the usual one."""
    said = inner.get("model_type")
    return said if isinstance(said, str) and said and said not in WRAPPERS else WRAPPERS[outer]


def _around(data: Mapping[str, Any]) -> Iterator[str]:
    for key, value in data.items():
        if isinstance(value, Mapping) and key.endswith("_config") and key not in (*INNER, *OUTER):
            inner_type = value.get("model_type")
            named = f" ({inner_type})" if isinstance(inner_type, str) else ""
            yield f"{key.removesuffix('_config')} part{named}: left out, the text part alone is counted"
        if key in _TOWERS and value:
            yield f"{key} part: left out, the text part alone is counted"
        if key == "thinker_config" and isinstance(value, Mapping):
            yield from _around(value)
