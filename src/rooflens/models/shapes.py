"""Every model type that is modelled, each with the two functions that make its letters and its blocks."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from rooflens.models import assemble
from rooflens.models.config import Config
from rooflens.models.dense import DENSE
from rooflens.models.family import Family
from rooflens.models.hybrids import HYBRIDS
from rooflens.models.model import Block, Choices
from rooflens.models.moe import MOE
from rooflens.records import record

Letters = dict[str, float]


@record
class Shape:
    """How a config becomes letters, and these become blocks."""

    letters: Callable[[Config], Letters]
    blocks: Callable[[Config, Letters, Choices], tuple[Block, ...]]


def _of(family: Family) -> Shape:
    return Shape(partial(assemble.letters, family=family), partial(assemble.blocks, family=family))


def _own(module: str, prefix: str = "") -> Shape:
    """A mixer with a file of its own, which is loaded when a model of it is met."""

    def letters(config: Config) -> Letters:
        found: Letters = getattr(import_module(f"rooflens.models.{module}"), f"{prefix}letters")(config)
        return found

    def blocks(config: Config, sizes: Letters, choices: Choices) -> tuple[Block, ...]:
        made = getattr(import_module(f"rooflens.models.{module}"), f"{prefix}blocks")
        found: tuple[Block, ...] = made(config, sizes, choices)
        return found

    return Shape(letters, blocks)


SHAPES: dict[str, Shape] = {
    **{name: _of(family) for name, family in {**DENSE, **MOE, **HYBRIDS}.items()},
    "RefinedWeb": _of(DENSE["falcon"]),
    "RefinedWebModel": _of(DENSE["falcon"]),
    "hf_olmo": _of(DENSE["olmo"]),
    "hunyuan": _of(MOE["hunyuan_v1_moe"]),
    **dict.fromkeys(("gemma3n_text", "gemma4_text", "gemma4_unified_text"), _own("gemma")),
    "zamba2": _own("zamba"),
    **dict.fromkeys(("deci", "nemotron-nas"), _own("searched", "nas_")),
    "openelm": _own("searched", "openelm_"),
}
