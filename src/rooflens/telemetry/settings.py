"""What engines say of how they serve, as questions take it: the cache's format, the devices that share a layer."""

from __future__ import annotations

from collections.abc import Mapping

from rooflens.dtypes import dtype
from rooflens.errors import RooflensError

CACHE = ("cache_dtype", "kv_cache_dtype", "type_k")
FORMATS = {
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float32": "fp32",
}
SHARED = {"tp": ("tensor_parallel_size", "tp_size"), "pp": ("pipeline_parallel_size", "pp_size")}
MOST_DEVICES = 4096
TUNED = ("-instruct", "-it", "-chat")  # names of models that were only trained on


def asked_of(settings: Mapping[str, str]) -> dict[str, str | int]:
    """The options that the engine answers itself: kv, tp, pp. What it leaves to the model is not among them."""
    found: dict[str, str | int] = {}
    cache = next((settings[name].lower() for name in CACHE if name in settings), "auto")
    try:
        found["kv"] = dtype(FORMATS.get(cache, cache)).name
    except RooflensError:
        found.pop("kv", None)
    for option, names in SHARED.items():
        said = next((settings[name] for name in names if name in settings), "")
        if said.isascii() and said.isdigit() and 1 <= int(said[:9]) <= MOST_DEVICES:
            found[option] = int(said)
    return found


def named(model: str | None, known: tuple[str, ...]) -> str | None:
    """The model of ours that an engine's name means; None where it is not exactly one, or one that was trained on."""
    if model is None:
        return None
    last = model.rstrip("/").rpartition("/")[2].lower()
    plain = next((last.removesuffix(end) for end in TUNED if last.endswith(end)), last)
    return next((name for name in (last, plain) if name in known), None)
