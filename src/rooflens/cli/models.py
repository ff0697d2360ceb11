"""`rooflens models`: the catalogue, and one model whole."""

from __future__ import annotations

import click

from rooflens import artefacts, models, workload
from rooflens.api import model
from rooflens.cli.options import json_flag, lang
from rooflens.cli.printing import emit, headed
from rooflens.models import Model, ModelFacts
from rooflens.present.retold import retold
from rooflens.present.words import say
from rooflens.records import encode
from rooflens.units import show

LIST_SCHEMA, ONE_SCHEMA = "rooflens/models/1", "rooflens/model/1"
NAME_WIDTH = 42
CONVENTIONS = {
    "params": "tied embeddings once, no buffers, the text part of a multimodal model, no multi-token-prediction layers",
    "weight_bytes": "as stored, scales and zero points included",
    "params_streamed": "at batch 1, the embedding look-up left out",
}


@click.command("models", epilog="Example:  rooflens models llama-3.1-8b --kv fp8")
@click.argument("name", required=False)
@click.option("--weights", help="Stored format of weights: bf16, fp8, int4 ... (default: the model's own).")
@click.option("--kv", help="Stored format of the KV cache (default: the model's own).")
@lang
@json_flag
def command(name: str | None, weights: str | None, kv: str | None, lang: str, as_json: bool) -> None:
    """What is known about a model: parameters, stored bytes, layers, KV cache, state, what is left out.

    NAME is a catalogue name, a config.json, a model folder, a .safetensors file or index, or a .gguf file.
    """
    if name is None:
        _list(weights, kv, lang, as_json)
        return
    found, assumed = _facts(model(name), weights, kv)
    emit(
        artefacts.to_json({"conventions": CONVENTIONS, **encode(found)}, ONE_SCHEMA)
        if as_json
        else _shown(found, assumed, lang)
    )


def _facts(found: Model, weights: str | None, kv: str | None) -> tuple[ModelFacts, tuple[str, ...]]:
    own, assumed = workload.own_dtype(found)
    stored = workload.precision(own, weights, kv, found.stored, found.state_dtype)
    return models.facts(found, stored), () if weights else assumed


def _list(weights: str | None, kv: str | None, lang: str, as_json: bool) -> None:
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
    columns = ["name", "family", "parameters", "active", "weights", "kv", "layers"]
    left_open = [f"about {m.name}: {warning}" for m in every for warning in m.warnings]
    below = [say("frame.warning", lang, text=retold(one, lang)) for one in left_open]
    below.append(say("models.count", lang, count=len(every)))
    emit(headed("models", columns, rows, lang) + "\n\n" + "\n".join(below))


def _shown(found: ModelFacts, assumed: tuple[str, ...], lang: str) -> str:
    rows = _rows(found, lang)
    wide = max(NAME_WIDTH, *(len(name) + 2 for name, _ in rows))
    lines = [f"{found.name} ({found.family})", *(f"{name:<{wide}}{value}" for name, value in rows)]
    for frame, sentences in (
        ("models.special", found.special),
        ("frame.warning", found.warnings),
        ("frame.note", assumed),
        ("models.not_modelled", found.not_modelled),
    ):
        lines += [say(frame, lang, text=retold(said, lang)) for said in sentences]
    return "\n".join(lines)


def _rows(found: ModelFacts, lang: str) -> list[tuple[str, str]]:
    formats = ", ".join(f"{show(size, 'B')} {name}" for name, size in found.weight_bytes_by_format.items())
    kinds = ", ".join(f"{count} {kind}" for kind, count in found.layers_by_kind.items())
    positions = say("models.positions", lang, count=f"{found.max_context:,}") if found.max_context else None
    return [
        (say("models.parameters", lang), f"{found.params_total:,}"),
        (say("models.row.active", lang), f"{found.params_active:,}"),
        (say("models.row.streamed", lang), f"{found.params_streamed:,}"),
        (say("models.row.weights", lang), f"{show(found.weight_bytes, 'B')} ({formats})"),
        (say("models.layers", lang), f"{found.layers} ({kinds})"),
        (say("models.row.kv", lang, format=found.kv_format), show(found.kv_bytes_per_token, "B")),
        (say("models.row.kv_growing", lang), show(found.kv_bytes_per_token_growing, "B")),
        (say("models.row.kv_allocated", lang), show(found.kv_bytes_per_token_allocated, "B")),
        (say("models.row.state", lang), show(found.state_bytes_per_sequence, "B")),
        (say("models.row.context", lang), positions or say("frame.unknown", lang)),
    ]


def _count(number: int) -> str:
    return f"{number / 1e9:.2f} B" if number >= 1e9 else f"{number / 1e6:.1f} M"
