"""`rooflens models`: the catalogue, and one model whole."""

from __future__ import annotations

import click

from rooflens import artefacts, models
from rooflens.api import model
from rooflens.cli.options import json_flag
from rooflens.cli.printing import emit, table
from rooflens.models import Model
from rooflens.units import show

LIST_SCHEMA, ONE_SCHEMA = "rooflens/models/1", "rooflens/model/1"


@click.command("models", epilog="Example:  rooflens models llama-2-7b")
@click.argument("name", required=False)
@json_flag
def command(name: str | None, as_json: bool) -> None:
    """What is known about a model: parameters, KV bytes per token, layers. NAME may be a config.json."""
    if name is None:
        _list(as_json)
        return
    found = facts(model(name))
    emit(artefacts.to_json(found, ONE_SCHEMA) if as_json else table(["", ""], [[k, str(v)] for k, v in found.items()]))


def facts(found: Model) -> dict[str, object]:
    """A model in the keys of the contract, KV in 16 bit."""
    return {
        "name": found.name,
        "family": found.family,
        "params_total": found.params_total,
        "params_active": found.params_active,
        "layers": int(found.letters["L"]),
        "kv_bytes_per_token": 2 * found.kv_elements_per_token(),
        "kv_bytes_per_token_growing": 2 * found.kv_elements_per_token(growing=True),
        "warnings": list(found.warnings),
        "not_modelled": list(found.not_modelled),
    }


def _list(as_json: bool) -> None:
    every = [models.named(name) for name in models.known()]
    if as_json:
        emit(artefacts.to_json({"models": [facts(m) for m in every]}, LIST_SCHEMA))
        return
    rows = [[m.name, m.family, f"{m.params_total:,}", show(2 * m.kv_elements_per_token(), "B")] for m in every]
    emit(table(["name", "family", "parameters", "KV a token (16 bit)"], rows))
