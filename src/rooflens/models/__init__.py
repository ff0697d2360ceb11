"""Models: from a config.json's facts to blocks of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from typing import Any

from rooflens.errors import RooflensError, Unknown
from rooflens.models import dense
from rooflens.models.config import Config
from rooflens.models.model import Block, Choices, Model
from rooflens.models.quantised import Stored, stored

__all__ = ["Block", "Choices", "Model", "Stored", "from_config", "known", "named", "rebuilt"]

DEFAULT = Choices()


def from_config(data: Mapping[str, Any], name: str, choices: Choices = DEFAULT, where: str | None = None) -> Model:
    """A model from the facts of its config.json.

    Raises BadFile listing every fault, RooflensError for a model_type that is not modelled (never read as another).
    """
    config = Config(data, where or name)
    family = config.text("model_type", "")
    if family not in dense.FAMILIES:
        raise RooflensError(_not_modelled(family, where or name))
    features = dense.FAMILIES[family]
    sizes = dense.letters(config, features)
    config.close()
    blocks = dense.blocks(config, features, sizes, choices)
    dtype, context = config.text("dtype", ""), config.size("context", 0)
    config.close()
    quantised = stored(data, where or name, int(sizes["L"]), int(sizes["D"]))
    return Model(
        name, family, sizes, blocks, dtype, dict(data), choices, context or None,
        warnings=quantised.warnings if quantised else (), stored=quantised,
    )  # fmt: skip


def rebuilt(model: Model, **choices: Any) -> Model:
    """The same model with other builder's choices: `rebuilt(m, attention="unfused")`."""
    again = from_config(model.config, model.name, replace(model.choices, **choices))
    return replace(again, warnings=model.warnings, stored=model.stored)


def known() -> tuple[str, ...]:
    """The names of the models that ship with rooflens."""
    return tuple(sorted(f.name.removesuffix(".json") for f in _data().iterdir() if f.name.endswith(".json")))


def named(name: str, choices: Choices = DEFAULT) -> Model:
    """A model that ships with rooflens. Raises Unknown with near matches."""
    file = _data() / f"{name}.json"
    if name not in known():
        raise Unknown("model", name, known(), see="rooflens models")
    return from_config(json.loads(file.read_text()), name, choices)


def _data() -> Any:
    return resources.files("rooflens.models") / "data"


def _not_modelled(family: str, where: str) -> str:
    if not family:
        return f"{where}: model_type is missing, so the architecture is not known; is this a model's config.json?"
    return f"{where}: model_type {family!r} is not modelled; modelled are: {', '.join(sorted(dense.FAMILIES))}"
