"""What is known of each constant before a row is seen, and how a list of their logarithms becomes the constants.

Every prior is log-normal: a value and the standard deviation of its logarithm, so that no constant changes its sign and
one that no row speaks of keeps its value.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from rooflens.catalogue.calibrations import EngineCosts, ServedConstants

LIVE = ("trtllm", "vllm", "sglang")  # engines with rows of today, under load
ENGINES = (*LIVE, "llama.cpp", "deepspeed", "trtllm-2024", "vllm-2024", "vllm-rocm-2024")
FIXED = {"activations_copy": 0.7, "most": 0.95}
ROOFS = {
    "memory.16": (0.82, 0.08), "memory.8": (0.72, 0.12), "memory.4": (0.62, 0.12), "memory.int4": (0.45, 0.06),
    "memory.gguf": (0.65, 0.2), "cache": (0.7, 0.2), "expert_memory": (0.9, 0.2), "activations": (1.5, 0.5),
    "family_memory.cdna": (1.0, 0.15), "family_memory.apple": (1.0, 0.15), "family_memory.gddr": (1.0, 0.15),
    "family_memory.llama.cpp on hbm": (0.7, 0.3), "family_compute.cdna": (1.0, 0.2),
    "compute.16": (0.65, 0.15), "compute.8": (0.5, 0.15), "compute.4": (0.4, 0.2), "expert_compute": (0.7, 0.3),
    "link": (0.75, 0.1),
}  # fmt: skip
COSTS = {
    "kernel_s": (2.5e-6, 0.5), "mixed_s": (15e-6, 0.7), "prefill_s": (15e-6, 0.7), "collective_s": (8e-6, 0.4),
    "rider": (0.7, 0.5), "experts": (4.0, 0.5), "experts_prefill": (6.0, 0.8), "fused_experts": (0.5, 0.6),
    "latent": (4.0, 0.5), "scan": (4.0, 0.5), "narrowing": (1.0, 0.6), "spread_first_s": (0.5, 0.8),
}  # fmt: skip
EVERY_ENGINE = {"decode_kernel": (1.0, 0.4), "host_s": (5e-4, 0.8), "sequence_s": (8e-6, 0.8)}
LIVE_ENGINE = {
    "mixed_kernel": (1.0, 0.5), "prefill_kernel": (1.0, 0.5), "others": (0.8, 0.25), "first_s": (15e-3, 0.8),
    "first_passes": (1.2, 0.3), "first_met": (0.2, 1.2),
}  # fmt: skip
UNLOADED = {"others": 0.8, "first_s": 15e-3, "first_passes": 1.2, "first_met": 0.2}  # engines without a row under load
OLD_STACK_SD = 1.0  # how far the kernels of a stack of 2024 may be from those of today
FIRST = ("prefill_s", "experts_prefill", "spread_first_s", "prefill_kernel", "first_s", "first_passes", "first_met")
START = {
    "kernel_s": 4.5e-6, "prefill_s": 4.2e-5, "spread_first_s": 0.4, "engines.sglang.prefill_kernel": 1.9,
    "engines.trtllm.first_s": 0.03, "engines.vllm.first_s": 0.012, "engines.sglang.first_s": 0.02,
    "engines.sglang.first_met": 0.4, "engines.trtllm.first_met": 0.08, "engines.vllm.first_met": 0.08,
    "engines.sglang.first_passes": 1.9,
}  # fmt: skip


def _priors() -> dict[str, tuple[float, float]]:
    found = {**ROOFS, **COSTS}
    for engine in ENGINES:
        of = {**EVERY_ENGINE, **(LIVE_ENGINE if engine in LIVE else {})}
        found |= {f"engines.{engine}.{name}": prior for name, prior in of.items()}
        if engine.endswith("2024"):
            found[f"engines.{engine}.decode_kernel"] = (1.0, OLD_STACK_SD)
    return found


PRIORS = _priors()
NAMES = tuple(PRIORS)
MEANS = np.log([value for value, _ in PRIORS.values()])
SDS = np.array([sd for _, sd in PRIORS.values()])
OF_FIRST = np.array([name.rpartition(".")[2] in FIRST for name in NAMES])  # found from first tokens
BEGIN = np.log([START.get(name, value) for name, (value, _) in PRIORS.items()])


def values(x: np.ndarray) -> dict[str, float]:
    """The constants by name. A share of others' prompts is at most all of them, fused kernels at most the unfused."""
    found = {name: float(value) for name, value in zip(NAMES, np.exp(x), strict=True)}
    limited = [name for name in NAMES if name.endswith(".others") or name == "fused_experts"]
    return {**found, **{name: min(found[name], 1.0) for name in limited}}


def constants(found: Mapping[str, float], **said: object) -> ServedConstants:
    """The constants as the product reads them. said: the date, source, rows, chips and residuals of a file."""
    tables: dict[str, dict[str, float]] = {"memory": {}, "family_memory": {}, "family_compute": {}, "compute": {}}
    plain: dict[str, float] = {"copy": FIXED["activations_copy"], "most": FIXED["most"]}
    engines: dict[str, dict[str, float]] = {engine: dict(UNLOADED) for engine in ENGINES}
    for name, value in found.items():
        table, _, key = name.partition(".")
        if table == "engines":
            engine, _, of = key.rpartition(".")
            engines[engine][of] = value
        elif key:
            tables[table][key] = value
        else:
            plain[name] = value
    engines["generic"] = {of: _mean([engines[engine][of] for engine in LIVE]) for of in (*EVERY_ENGINE, *LIVE_ENGINE)}
    costs = {engine: EngineCosts(**of) for engine, of in engines.items()}
    head = {"date": "", "source": "", "rows": {}, "chips": (), "residuals": {}, **said}
    return ServedConstants(**tables, **plain, engines=costs, **head)


def _mean(several: list[float]) -> float:
    """The geometric mean: what to expect of an engine that nobody names."""
    return float(np.exp(np.mean(np.log(several))))
