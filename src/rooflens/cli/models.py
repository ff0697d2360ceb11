"""`rooflens models`: the catalogue, and one model whole."""

from __future__ import annotations

import click

from rooflens import artefacts, models, workload
from rooflens.api import model
from rooflens.cli.options import json_flag
from rooflens.cli.printing import emit, table
from rooflens.models import Model, ModelFacts
from rooflens.records import encode
from rooflens.units import show

LIST_SCHEMA, ONE_SCHEMA = "rooflens/models/1", "rooflens/model/1"
CONVENTIONS = {
    "params": "tied embeddings once, no buffers, the text part of a multimodal model, no multi-token-prediction layers",
    "weight_bytes": "as stored, scales and zero points included",
    "params_streamed": "at batch 1, the embedding look-up left out",
}


@click.command("models", epilog="Example:  rooflens models llama-3.1-8b --kv fp8")
@click.argument("name", required=False)
@click.option("--weights", help="Stored format of weights, when not the model's own.")
@click.option("--kv", help="Stored format of the KV cache, when not the model's own.")
@json_flag
def command(name: str | None, weights: str | None, kv: str | None, as_json: bool) -> None:
    """What is known about a model: parameters, stored bytes, layers, KV cache, state, what is left out.

    NAME is a catalogue name, a config.json, a model folder, a .safetensors file or index, or a .gguf file.
    """
    if name is None:
        _list(weights, kv, as_json)
        return
    found, assumed = _facts(model(name), weights, kv)
    emit(
        artefacts.to_json({"conventions": CONVENTIONS, **encode(found)}, ONE_SCHEMA)
        if as_json
        else _shown(found, assumed)
    )


def _facts(found: Model, weights: str | None, kv: str | None) -> tuple[ModelFacts, tuple[str, ...]]:
    own, assumed = workload.own_dtype(found)
    stored = workload.precision(own, weights, kv, found.stored, found.state_dtype)
    return models.facts(found, stored), () if weights else assumed


def _list(weights: str | None, kv: str | None, as_json: bool) -> None:
    every = [_facts(models.named(name), weights, kv)[0] for name in models.known()]
    if as_json:
        emit(artefacts.to_json({"conventions": CONVENTIONS, "models": every}, LIST_SCHEMA))
        return
    rows = [
        [
            m.name, m.family, _count(m.params_total), _count(m.params_active), show(m.weight_bytes, "B"),
            show(m.kv_bytes_per_token, "B"), str(m.layers),
        ]
        for m in every
    ]  # fmt: skip
    columns = ["name", "family", "parameters", "active", "weights", "KV a token", "layers"]
    emit(f"{table(columns, rows)}\n\n{len(every)} models. One of them whole: rooflens models NAME")


def _shown(found: ModelFacts, assumed: tuple[str, ...]) -> str:
    formats = ", ".join(f"{show(size, 'B')} {name}" for name, size in found.weight_bytes_by_format.items())
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.layers_by_kind.items())
    rows = [
        ["parameters", f"{found.params_total:,}"],
        ["active a token", f"{found.params_active:,}"],
        ["streamed a step of one token", f"{found.params_streamed:,}"],
        ["weights as stored", f"{show(found.weight_bytes, 'B')} ({formats})"],
        ["layers", f"{found.layers} ({kinds})"],
        [f"KV a token, all layers ({found.kv_format})", show(found.kv_bytes_per_token, "B")],
        ["KV a token, layers that keep growing", show(found.kv_bytes_per_token_growing, "B")],
        ["KV a token, as uniform pages allocate it", show(found.kv_bytes_per_token_allocated, "B")],
        ["recurrent state a sequence", show(found.state_bytes_per_sequence, "B")],
        ["made for", f"{found.max_context:,} positions" if found.max_context else "unknown"],
    ]
    lines = [f"{found.name} ({found.family})", *(f"{name:<42}{value}" for name, value in rows)]
    lines += [f"special: {said}" for said in found.special]
    lines += [f"warning: {said}" for said in found.warnings]
    lines += [f"note: {said}" for said in assumed]
    return "\n".join([*lines, *(f"not modelled: {said}" for said in found.not_modelled)])


def _count(number: int) -> str:
    return f"{number / 1e9:.2f} B" if number >= 1e9 else f"{number / 1e6:.1f} M"
