"""The table-driven peer on the same points: what aiconfigurator-core itself says of a deployment, where it answers.

Asked as kindly as we know how: the layout as we read it, its tables of measured kernels first, with an 8-bit cache and
16-bit attention where they lack the default, then its hybrid of tables and formulas; one prompt a pass. A point that it
cannot price, or whose model it would have to fetch, has no answer.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from benchmarks.accuracy.rows import Row
from benchmarks.accuracy.silicon import Point
from rooflens.records import record

NAMES = {
    "meta-llama/Llama-3.1-8B-Instruct": "meta-llama/Meta-Llama-3.1-8B", "zhipuai/GLM-5": "zai-org/GLM-5",
    "nvidia/Llama-3.1-8B-Instruct-FP8": "meta-llama/Meta-Llama-3.1-8B", "nvidia/Qwen3-32B-NVFP4": "Qwen/Qwen3-32B",
    "meta-llama/Llama-3.1-70B": "meta-llama/Meta-Llama-3.1-70B", "nvidia/DeepSeek-R1-NVFP4": "deepseek-ai/DeepSeek-R1",
    "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-ai/DeepSeek-V3",
}  # fmt: skip
GPT_OSS = "openai/gpt-oss-120b"
MODES = ("SILICON", "HYBRID")
CACHES = ((None, None), ("fp8", "bfloat16"), ("bfloat16", "bfloat16"))


@record
class Answer:
    """What it says: seconds a token, and by which of its modes; or why not."""

    tpot_s: float | None = None
    mode: str = ""
    why_not: str = ""


def answers(points: Sequence[Point]) -> dict[str, Answer]:
    """Its answers by the name of the point."""
    logging.disable(logging.CRITICAL)
    try:
        return {point.id: _answer(point) for point in points}
    finally:
        logging.disable(logging.NOTSET)


def _answer(point: Point) -> Answer:
    assert point.row is not None  # noqa: S101  only points with a deployment are asked about
    said = ""
    for mode, kv, attention in _ways():
        try:
            return Answer(_tpot_s(point.raw, point.row, mode, kv, attention), mode)
        except Exception as error:  # noqa: BLE001  whatever it raises, it has no answer
            said = said or f"{type(error).__name__}: {error}"
    return Answer(None, "", said[:200])


def _ways() -> Iterator[tuple[str, str | None, str | None]]:
    for mode in MODES:
        for kv, attention in CACHES:
            yield mode, kv, attention


def _tpot_s(raw: dict[str, str], row: Row, mode: str, kv: str | None, attention: str | None) -> float:
    from aiconfigurator_core.sdk.backends.factory import get_backend
    from aiconfigurator_core.sdk.config import RuntimeConfig

    formats = (*_formats(raw), kv, attention)
    model = _model(raw["model_path"], raw["backend"], (row.tp, row.dp, row.ep), formats)
    backend = get_backend(raw["backend"])  # a new one each time: it remembers answers by their load alone
    batch, isl, osl = max(1, round(row.batch / row.dp)), int(row.prompt), int(row.output)
    asked = RuntimeConfig(batch_size=batch, isl=isl, osl=osl)
    there = _database(raw["system"], raw["backend"], mode)
    if raw["mode"] == "disagg":
        return _decode_s(backend, model, there, asked)
    found = backend.run_agg(model, there, asked, ctx_tokens=isl).get_result_dict()
    return float(found["tpot"]) / 1e3


def _decode_s(backend: Any, model: Any, there: Any, asked: Any) -> float:
    """A decode worker alone."""
    found = backend.run_static(model, there, asked, mode="static_gen").get_result_dict()
    return float(found["tpot"]) / 1e3


def _formats(raw: dict[str, str]) -> tuple[str | None, str | None]:
    """What the sample says of the weights; gpt-oss is stored in mxfp4 whatever it says."""
    if raw["model_path"] == GPT_OSS:
        hopper = raw["system"] in ("h100_sxm", "h200_sxm")
        return "bfloat16", "w4a16_mxfp4" if hopper else "w4a8_mxfp4_mxfp8"
    return raw["gemm_quant_mode"] or None, raw["moe_quant_mode"] or None


@cache
def _database(system: str, backend: str, mode: str) -> Any:
    from aiconfigurator_core.sdk.perf_database import get_database_view

    return get_database_view(system, backend, "current", database_mode=mode)


@cache
def _model(name: str, backend: str, layout: tuple[int, int, int], formats: tuple[str | None, ...]) -> Any:
    """Its model of one layout (tp, dp, ep). Models that are not in the package are not fetched."""
    from aiconfigurator_core.sdk.config_builders import build_model_config
    from aiconfigurator_core.sdk.models import get_model

    (tp, dp, ep), (gemm, moe, kv, fmha) = layout, formats
    found = build_model_config(tp, 1, dp, max(1, tp * dp // ep), ep, gemm, kv, fmha, moe)
    return get_model(NAMES.get(name, name), found, backend)
