"""Models: from a config.json's facts to blocks of rows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

from rooflens.errors import RooflensError, Unknown, near
from rooflens.models.config import Config
from rooflens.models.dialects import common
from rooflens.models.facts import ModelFacts, facts
from rooflens.models.model import Block, Choices, Model
from rooflens.models.refused import REFUSED, SWITCHES
from rooflens.models.schemes import Stored
from rooflens.models.shapes import SHAPES, Shape
from rooflens.models.spellings import asked, same_fact
from rooflens.models.wrappers import QUANTISED, Unwrapped, unwrap
from rooflens.records import replace

__all__ = [
    "Block",
    "Choices",
    "Model",
    "ModelFacts",
    "Stored",
    "facts",
    "from_config",
    "known",
    "named",
    "rebuilt",
]

DEFAULT = Choices()
DATA = Path(__file__).with_name("data")
_DRAFTS = "{} multi-token-prediction layers: left out, as they do not run in a plain step"


def from_config(data: Mapping[str, Any], name: str, choices: Choices = DEFAULT, where: str | None = None) -> Model:
    """A model from the facts of its config.json; of a model that holds a language model, that one.

    Raises BadFile listing every fault, RooflensError for a model_type that is not modelled (never read as another).
    """
    where = where or name
    found = unwrap(data, where)
    shape = _shape(found.family, where)
    for key, why in SWITCHES.items():
        if found.facts.get(key) is True:
            raise RooflensError(f"{where}: {key} is not modelled: it means {why}")
    config = _config(found, where)
    sizes = shape.letters(config)
    config.close()
    blocks = shape.blocks(config, sizes, choices)
    dtype, context, state = config.text("dtype"), config.size("context", 0), config.text("state_dtype", "float32")
    drafts = config.setting("drafts")
    config.close()
    narrow: Stored | None = None
    if any(config.data.get(key) for key in QUANTISED):
        from rooflens.models.quantised import quantised

        narrow, blocks = quantised(config.data, where, blocks)
    return Model(
        name, found.family, sizes, blocks, dtype, dict(data), choices, context or None,
        warnings=(*config.notes(), *(narrow.warnings if narrow else ())),
        not_modelled=(*found.left_out, *([_DRAFTS.format(drafts)] if drafts else [])),
        stored=narrow, state_dtype=state,
    )  # fmt: skip


def rebuilt(model: Model, **choices: Any) -> Model:
    """The same model with other builder's choices: `rebuilt(m, attention="unfused")`."""
    again = from_config(model.config, model.name, replace(model.choices, **choices))
    return replace(again, warnings=model.warnings, stored=model.stored)


@cache
def known() -> tuple[str, ...]:
    """The names of the models that ship with rooflens."""
    return tuple(sorted(file.stem for file in DATA.iterdir() if file.suffix == ".json"))


def named(name: str, choices: Choices = DEFAULT) -> Model:
    """A model that ships with rooflens. Raises Unknown with near matches."""
    if name not in known():
        raise Unknown("model", name, known(), see="rooflens models")
    found = from_config(json.loads((DATA / f"{name}.json").read_text(encoding="utf-8")), name, choices)
    promised = next((scheme for scheme in ("nvfp4", "fp8", "int4") if name.endswith(f"-{scheme}")), None)
    if promised is None or found.stored is not None:
        return found
    said = f"the name says {promised} and the config does not say what is stored so: counted in 16 bit"
    return replace(found, warnings=(*found.warnings, f"{said} unless --weights {promised} is given"))


def _shape(family: str, where: str) -> Shape:
    found = SHAPES.get(family)
    if found is not None:
        return found
    why = REFUSED.get(family)
    if why:
        raise RooflensError(f"{where}: model_type {family!r} is not modelled: it has {why}")
    close = near(family, SHAPES)
    hint = f" (nearest: {', '.join(close)})" if close else ""
    raise RooflensError(f"{where}: model_type {family!r} is not modelled, and no other is put in its place{hint}")


def _config(found: Unwrapped, where: str) -> Config:
    """The language model's facts in common words, those that its file left to its class filled in.

    An absent key is what the class takes for it; one that is null says none, which is another thing. The sizes that
    make a model what it is are asked for, unless they stand inside another config, which leaves out what is usual.
    """
    defaults = _classes().get(found.family, {})
    said = {other for key in (*found.facts, *common(found.family, found.facts)) for other in same_fact(key)}
    left = {key: value for key, value in defaults.items() if key not in said and (found.nested or not asked(key))}
    return Config(common(found.family, {**left, **found.facts}), where, defaults, left)


@cache
def _classes() -> dict[str, dict[str, Any]]:
    """What each class takes for a key that is absent."""
    loaded: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("classes.json").read_text(encoding="utf-8"))
    return loaded
