"""Every model type that is modelled, each with the two functions that make its letters and its blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module

from rooflens.models import assemble
from rooflens.models.config import Config
from rooflens.models.family import Family
from rooflens.models.model import Block, Choices
from rooflens.records import record

Letters = dict[str, float]


@record
class Shape:
    """How a config becomes letters, and these become blocks."""

    letters: Callable[[Config], Letters]
    blocks: Callable[[Config, Letters, Choices], tuple[Block, ...]]


def _of(family: Family) -> Shape:
    return Shape(partial(assemble.letters, family=family), partial(assemble.blocks, family=family))


def _own(module: str, prefix: str) -> Shape:
    """A mixer with a file of its own."""
    own = import_module(f"rooflens.models.{module}")
    return Shape(getattr(own, f"{prefix}letters"), getattr(own, f"{prefix}blocks"))


# Other names of a type, and the types whose mixer has a file of its own, with what its functions begin with.
_SAME = {"RefinedWeb": "falcon", "RefinedWebModel": "falcon", "hf_olmo": "olmo", "hunyuan": "hunyuan_v1_moe"}
_OWN = {
    **dict.fromkeys(("gemma3n_text", "gemma4_text", "gemma4_unified_text"), ("gemma", "")),
    "zamba2": ("zamba", ""),
    **dict.fromkeys(("deci", "nemotron-nas"), ("searched", "nas_")),
    "openelm": ("searched", "openelm_"),
}


def _tables() -> Iterator[dict[str, Family]]:
    """The tables of features, each loaded when those before it do not have a type."""
    from rooflens.models.dense import DENSE

    yield DENSE
    from rooflens.models.moe import MOE

    yield MOE
    from rooflens.models.hybrids import HYBRIDS

    yield HYBRIDS


class _Shapes(Mapping[str, Shape]):
    """By model type."""

    def __getitem__(self, family: str) -> Shape:
        if family in _OWN:
            return _own(*_OWN[family])
        name = _SAME.get(family, family)
        for table in _tables():
            if name in table:
                return _of(table[name])
        raise KeyError(family)

    def __iter__(self) -> Iterator[str]:
        return iter([*(name for table in _tables() for name in table), *_SAME, *_OWN])

    def __len__(self) -> int:
        return sum(1 for _ in self)


SHAPES = _Shapes()
