"""The text part of a model that holds others is counted as its class holds it, saved whole or without its defaults."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
import torch
from transformers import AutoConfig, AutoModelForImageTextToText

from rooflens import models

TEXT = re.compile(r"language_model|lm_head|text_model|^model\.(layers|embed_tokens|norm)")
OTHER = re.compile(r"visual|vision|audio|projector|multi_modal")
WRAPPERS = [
    "aria", "cohere2_vision", "exaone4_5", "gemma3", "gemma4", "glm4v", "got_ocr2", "idefics2", "idefics3", "internvl",
    "kimi_k25", "lfm2_vl", "llama4", "llava", "llava_next", "llava_onevision", "mistral3", "ovis2", "paligemma",
    "paddleocr_vl", "qwen2_5_vl", "qwen2_vl", "qwen3_5", "qwen3_5_moe", "qwen3_vl", "qwen3_vl_moe", "smolvlm",
    "step3p7", "video_llama_3", "vipllava",
]  # fmt: skip


@pytest.mark.parametrize("family", WRAPPERS)
def test_the_text_part_of_a_wrapper(family: str) -> None:
    config = AutoConfig.for_model(family)
    with torch.device("meta"):
        built = AutoModelForImageTextToText.from_config(config)
    built.tie_weights()
    text = sum(p.numel() for name, p in built.named_parameters() if TEXT.search(name) and not OTHER.search(name))
    whole = json.loads(json.dumps(config.to_dict(), default=str))
    saved: dict[str, Any] = json.loads(config.to_json_string(use_diff=True))
    for facts in (whole, saved):
        assert models.from_config({**facts, "model_type": family}, family).params_total == text
