"""The public yardstick: the sample of measured deployments inside aiconfigurator-core, read and never fitted.

Its points are those that nobody here has seen, less those whose twins were fitted: the sample holds many points under
two names.
"""

from __future__ import annotations

import csv
import importlib.util
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.accuracy import rows as measured
from benchmarks.accuracy.rows import Row
from rooflens.errors import RooflensError
from rooflens.prediction.deployment import Deployment
from rooflens.records import record, replace

PACKAGE = "aiconfigurator_core"
SYSTEMS = {
    "b200_sxm": "b200-sxm-180gb", "h200_sxm": "h200-sxm-141gb", "h100_sxm": "h100-sxm5-80gb", "gb200": "gb200-186gb",
    "b300_sxm": "b300-sxm-288gb", "gb300": "gb300-288gb",
}  # fmt: skip
MODELS = {
    "deepseek-ai/DeepSeek-R1": "deepseek-v3", "deepseek-ai/DeepSeek-V3": "deepseek-v3",
    "nvidia/DeepSeek-R1-NVFP4": "deepseek-v3", "nvidia/DeepSeek-V3.1-NVFP4": "deepseek-v3",
    "MiniMaxAI/MiniMax-M2.5": "minimax-m2.5", "openai/gpt-oss-120b": "gpt-oss-120b",
    "meta-llama/Llama-3.1-70B": "llama-3.1-70b", "Qwen/Qwen3-32B": "qwen3-32b", "nvidia/Qwen3-32B-NVFP4": "qwen3-32b",
    "Qwen/Qwen3.5-397B-A17B": "qwen3.5-397b-a17b", "moonshotai/Kimi-K2.5": "kimi-k2-instruct",
    "meta-llama/Llama-3.1-8B-Instruct": "llama-3.1-8b", "nvidia/Llama-3.1-8B-Instruct-FP8": "llama-3.1-8b",
    "Qwen/Qwen3-235B-A22B-FP8": "qwen3-235b-a22b", "zhipuai/GLM-5": "glm-5",
}  # fmt: skip
FORMATS = {"fp8": "fp8", "fp8_block": "fp8", "nvfp4": "nvfp4", "int4_wo": "int4", "fp4": "nvfp4", "bf16": "bf16"}
CORRECTION = "published with its devices counted once more for each expert group"


@record
class Point:
    """One row of the sample. raw: as its file says it. why_not: why it has no deployment."""

    raw: dict[str, str]
    row: Row | None = None
    why_not: str = ""

    @property
    def id(self) -> str:
        """Its name in the sample."""
        return self.raw["id"]

    @property
    def key(self) -> tuple[str, ...]:
        """What two names of one measurement have in common."""
        raw = self.raw
        times = (f"{float(raw['silicon_tpot_ms']):.5g}", f"{float(raw['silicon_ttft_ms']):.4g}")
        return raw["system"], raw["backend"], raw["isl"], raw["osl"], *times


def folder() -> Path:
    """Where the package is installed. Raises RooflensError when it is not."""
    found = importlib.util.find_spec(PACKAGE)
    if found is None or found.origin is None:
        raise RooflensError("the public sample is in the package aiconfigurator-core: pip install -e '.[bench]'")
    return Path(found.origin).parent


def sample() -> list[Point]:
    """Every point of the installed sample."""
    text = (folder() / "systems" / "silicon_sample.csv").read_text(encoding="utf-8")
    return [point(raw) for raw in csv.DictReader(text.splitlines())]


def point(raw: dict[str, str]) -> Point:
    """A line of the sample as a row, where it says enough."""
    part = "decode_" if raw["mode"] == "disagg" else ""
    if not raw[f"{part}batch_size"]:
        return Point(raw, None, "the batch of a decode worker is not said")
    if raw["model_path"] not in MODELS:
        return Point(raw, None, "the model is not known here")
    sizes = ("tp_size", "attention_dp_size", "moe_ep_size", "moe_tp_size")
    tp, dp, ep, moe_tp = (_whole(raw[part + name]) for name in sizes)
    batch, said = float(raw[f"{part}batch_size"]) * dp, ""
    if not part and ep > 1 and moe_tp == ep and "_epnone_" not in raw["id"]:
        said = CORRECTION
        tp, dp = (tp, dp // ep) if dp > 1 else (tp // ep, dp)
    row = Row(
        source="aiconfigurator", id=raw["id"], published_model=raw["model_path"], model=MODELS[raw["model_path"]],
        engine=raw["backend"], version=raw["backend_version"], date="", chip=SYSTEMS[raw["system"]], devices=tp * dp,
        weights=weights(raw), tp=tp, pp=1, ep=ep if tp * dp % ep == 0 else 1, dp=dp, batch=max(batch, float(dp)),
        prompt=float(raw["isl"]), output=float(raw["osl"]), what="tpot", time_s=float(raw["silicon_tpot_ms"]) / 1e3,
        correction=said, left_out="",
    )  # fmt: skip
    return Point(raw, row)


def weights(raw: dict[str, str]) -> str:
    """The format of the weights, as rooflens calls it."""
    if raw["model_path"] == "openai/gpt-oss-120b":
        return "mxfp4"
    said = raw["moe_quant_mode"] or raw["gemm_quant_mode"] or raw["precision"] or "bf16"
    return FORMATS["fp4" if raw["precision"] == "fp4" else said]


def deployment(one: Point) -> Deployment:
    """The point as it runs. Decode workers of a disaggregated one read nobody's prompts."""
    if one.row is None:
        raise RooflensError(f"{one.id}: {one.why_not}")
    whole = measured.deployment(one.row)
    if one.raw["mode"] != "disagg":
        return whole
    return replace(whole, context=one.row.prompt + one.row.output / 2, output=0.0)


def unseen(points: Sequence[Point], fitted: Sequence[Row]) -> list[Point]:
    """The points that no constant has seen, by name or by value."""
    names = {row.id for row in fitted}
    twins = {one.key for one in points if one.id in names}
    return [one for one in points if one.key not in twins]


def check(scored: Sequence[Point], fitted: Sequence[Row]) -> None:
    """Raises RooflensError when a point that is scored was fitted, under its own name or with the very same times."""
    names, known = {row.id for row in fitted}, set(_measured(fitted))
    seen = [one.id for one in scored if one.id in names or _chip(one.key) in known]
    if seen:
        raise RooflensError(f"{len(seen)} points that are scored were fitted: {', '.join(seen[:5])}")


def _measured(fitted: Sequence[Row]) -> Iterator[tuple[str, ...]]:
    """The keys of the fitted rows that came from the sample."""
    times: dict[str, dict[str, Row]] = {}
    for row in fitted:
        times.setdefault(row.id, {})[row.what] = row
    for of in times.values():
        if {"tpot", "ttft"} <= set(of):
            row, first = of["tpot"], of["ttft"]
            tpot, ttft = f"{row.time_s * 1e3:.5g}", f"{first.time_s * 1e3:.4g}"
            yield row.chip, row.engine, f"{row.prompt:g}", f"{row.output:g}", tpot, ttft


def _chip(key: tuple[str, ...]) -> tuple[str, ...]:
    return (SYSTEMS.get(key[0], key[0]), *key[1:])


def _whole(text: str) -> int:
    return max(1, int(float(text or 1)))
