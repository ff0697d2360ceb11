"""Problems about a model: its cache under several kinds of attention, its bytes, its experts."""

from __future__ import annotations

from rooflens.batch_one import of_model
from rooflens.dtypes import dtype
from rooflens.operators.experts import experts_touched
from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import CHIPS, built, deployment, letters, machine
from rooflens.units import show, show_binary

ON = "h200-sxm-141gb"
MHA = ("llama-2-7b", "llama-2-13b", "olmo2-7b")
GQA = ("llama-3.1-8b", "llama-3.1-70b", "mistral-7b-v0.1", "qwen2.5-32b", "qwen3-32b")
MLA = ("deepseek-v3", "kimi-k2-instruct")
UNTIED = ("llama-2-7b", "llama-3.1-8b", "llama-3.1-70b", "qwen2.5-7b", "phi-4")
FEW = 8
MIXTURES = ("mixtral-8x7b", "mixtral-8x22b", "qwen3-30b-a3b", "qwen3-235b-a22b")


def _cached(model: str, batch: int, context: int) -> tuple[float, float]:
    """Bytes of cache of so many sequences, and of one layer of them."""
    served = deployment(model, ON, batch=batch, context=context)
    held = float(served.model.kv_bytes(context, served.precision)) * batch
    return held, held / served.model.letters["L"]


def _kv(pick: Pick, of: tuple[str, ...]) -> Drawn:
    model, batch, context = pick.one(*of), pick.one(1, 2, 8, 16, 64), pick.one(1024, 2048, 4096)
    right, layer = _cached(model, batch, context)
    x = letters(model)
    return Drawn(
        {
            "model": model, "layers": f"{x['L']:g}", "heads": f"{x['H']:g}", "kv_heads": f"{x['K']:g}",
            "width": f"{x['W']:g}", "batch": f"{batch}", "context": f"{context}",
        },
        right,
        f"2 x L {x['L']:g} x K {x['K']:g} x W {x['W']:g} x S {context} x B {batch} x 2 B = {show(right, 'B')}"
        f" = {show_binary(right)}",
        {
            "keys_only": right / 2, "elements": right / 2, "one_layer": layer, "one_sequence": right / batch,
            "query_heads": right * x["H"] / x["K"], "one_head": right / x["K"],
        },
        f"rooflens predict {model} --on {ON} --batch {batch} --context {context}",
        "memory.kv_bytes",
    )  # fmt: skip


def _kv_mla(pick: Pick) -> Drawn:
    model, batch, context = pick.one(*MLA), pick.one(1, 4, 16, 64), pick.one(2048, 4096, 8192, 32768)
    right, layer = _cached(model, batch, context)
    x = letters(model)
    held = x["R"] + x["Wr"]
    heads = x["H"] * (x["Wn"] + x["Wr"] + x["Wv"])
    return Drawn(
        {
            "model": model, "layers": f"{x['L']:g}", "latent": f"{x['R']:g}", "rope": f"{x['Wr']:g}",
            "heads": f"{x['H']:g}", "batch": f"{batch}", "context": f"{context}",
        },
        right,
        f"L {x['L']:g} x (R {x['R']:g} + Wr {x['Wr']:g}) x S {context} x B {batch} x 2 B = {show(right, 'B')}"
        f" = {show_binary(right)}",
        {
            "latent_twice": 2 * right, "rope_forgotten": right * x["R"] / held, "heads_cached": right * heads / held,
            "elements": right / 2, "one_layer": layer, "one_sequence": right / batch,
        },
        f"rooflens predict {model} --on {ON} --batch {batch} --context {context}",
        "memory.kv_bytes",
    )  # fmt: skip


def _streamed(pick: Pick) -> Drawn:
    model, on = pick.one(*UNTIED), pick.one(*CHIPS)
    served = deployment(model, on, context=1)
    right = of_model(served.model, served.precision, served.machine, model).streamed_bytes or 0.0
    x, total = letters(model), built(model).params_total
    table = x["V"] * x["D"]
    return Drawn(
        {"model": model, "params": f"{total:,}", "vocabulary": f"{x['V']:g}", "width": f"{x['D']:g}"},
        right,
        f"2 B x ({total:,} - V {x['V']:g} x D {x['D']:g}) = {show(right, 'B')}",
        {
            "table_too": 2.0 * total, "head_too_few": 2 * (total - 2 * table), "elements": right / 2,
        },
        f"rooflens ceilings {model} --on {on}",
        "ceilings[0].streamed_bytes",
    )  # fmt: skip


def _bits(pick: Pick) -> Drawn:
    model, bits = pick.one("llama-3.1-70b", "llama-2-13b", "llama-3.1-405b"), pick.one("3.5", "4.25", "4.85", "5.5")
    served = deployment(model, ON, weights=f"{bits} bits")
    right, total = sum(served.model.stored_bytes(served.precision).values()), served.model.params_total
    return Drawn(
        {"params": f"{total:,}", "bits": bits},
        right,
        f"{total:,} x {bits} bits / 8 = {show(right, 'B')} = {show_binary(right)}",
        {
            "sixteen_bits": 2.0 * total, "four_bits": total / 2, "whole_bytes": float(total),
        },
        f"rooflens predict {model} --weights '{bits} bits' --on {ON}",
        "memory.weight_bytes",
    )  # fmt: skip


def _routed(pick: Pick) -> tuple[str, int]:
    """A mixture of experts, and a batch that leaves some of them out."""
    model = pick.one(*MIXTURES)
    return model, pick.one(*((2, 3, 4) if letters(model)["E"] == FEW else (4, 8, 16, 32)))


def _experts(pick: Pick) -> Drawn:
    model, batch = _routed(pick)
    every, active = (letters(model)[name] for name in "EA")
    right = float(experts_touched(every, active, float(batch)))
    return Drawn(
        {"model": model, "experts": f"{every:g}", "active": f"{active:g}", "batch": f"{batch}"},
        right,
        f"E (1 - (1 - A/E)^B) = {every:g} x (1 - (1 - {active:g}/{every:g})^{batch}) = {right:.4g}",
        {
            "all_apart": min(every, active * batch), "active_only": active, "all_experts": every,
        },
        f"rooflens place {model} --on {ON} --batch {batch} --explain",
    )  # fmt: skip


def _expert_bytes(pick: Pick) -> Drawn:
    model, batch = _routed(pick)
    served, x = deployment(model, ON, batch=batch), letters(model)
    down = next(one for one in served.operators("decode") if one.name == "expert down")
    right = float(down.cost.weight_bytes)
    each = x["D"] * x["Fe"] * dtype("bf16").bytes
    touched = float(experts_touched(x["E"], x["A"], float(batch)))
    return Drawn(
        {
            "model": model, "experts": f"{x['E']:g}", "active": f"{x['A']:g}", "batch": f"{batch}",
            "width": f"{x['D']:g}", "inner": f"{x['Fe']:g}",
        },
        right,
        f"X {touched:.4g} x D {x['D']:g} x Fe {x['Fe']:g} x 2 B = {show(right, 'B')}",
        {
            "active_only": x["A"] * each, "all_experts": x["E"] * each, "all_apart": batch * x["A"] * each,
            "elements": right / 2,
        },
        f"rooflens place {model} --on {machine(ON).name} --batch {batch}",
        "operators[expert down].weight_bytes",
    )  # fmt: skip


PROBLEMS = (
    Problem("kv-mha", "models", "B", lambda pick: _kv(pick, MHA)),
    Problem("kv-gqa", "models", "B", lambda pick: _kv(pick, GQA)),
    Problem("kv-mla", "models", "B", _kv_mla),
    Problem("streamed", "models", "B", _streamed),
    Problem("bits", "models", "B", _bits),
    Problem("experts", "models", "count", _experts),
    Problem("expert-bytes", "models", "B", _expert_bytes),
)
