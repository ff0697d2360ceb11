"""Which held-out residuals speak for an estimate: by the kind of model, the engine and whether the chip was seen.

A class is named by what a person asks; a file of constants holds the classes that had rows enough, and the most special
one of them speaks.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator

from rooflens.models import Model

LLAMA = "llama.cpp"
GENERIC = "generic"
UNSEEN = ", chip unseen"


def stack_of(engine: str) -> str:
    """The family of stacks that were measured on the same chips: of today under load, of 2024, llama.cpp."""
    if engine == LLAMA:
        return LLAMA
    return "2024" if engine.endswith("2024") or engine == "deepspeed" else "served"


def kind_of(model: Model) -> str:
    """What most of the errors depend on."""
    return "experts" if "E" in model.letters else "dense"


def residual_class(engine: str, model: Model, what: str, has: Collection[str], *, known: bool) -> str:
    """The name of the class of residuals, one that a file `has`. what: tpot or ttft. known: the chip was seen."""
    end = "" if known else UNSEEN
    return next(name for name in (f"{one}{end}" for one in _named(engine, model, what)) if name in has)


def own_class(model: Model) -> str:
    """The class of estimates with factors of one's own points."""
    return f"own points, {kind_of(model)}"


def _named(engine: str, model: Model, what: str) -> Iterator[str]:
    """Names from the most special one to the last."""
    kind, stack = kind_of(model), stack_of(engine)
    if what == "ttft":
        yield "ttft unloaded"
    elif stack != "served":
        yield stack
    elif engine == GENERIC:
        yield f"engine not named, {kind}"
    else:
        if "R" in model.letters:
            yield f"{kind}, latent, {engine}"
        yield f"{kind}, {engine}"
        yield kind
