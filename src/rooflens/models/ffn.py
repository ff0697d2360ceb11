"""The feed-forward half: two or three matrices, or a router with experts and what is shared between them."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.models.config import Config
from rooflens.models.family import Experts, Plan
from rooflens.operators.rows import Part, Row
from rooflens.operators.standard import (
    ACTIVATION_FLOPS,
    GATED_FLOPS,
    SOFTMAX_FLOPS,
    activation,
    bias,
    linear,
    link,
    vector,
)
from rooflens.records import replace


def expert_letters(config: Config, experts: Experts) -> dict[str, float]:
    """Experts, how many a token visits, and their width; the width of the shared ones together, if any."""
    count, active = config.size("experts"), config.size("active")
    own = config.has("expert_ffn") or config.of_class("expert_ffn")
    width = config.size("expert_ffn" if own else "ffn")
    config.must(f"{active} experts active a token, but there are {count}", holds=active <= count)
    shared = _shared_width(config, experts, width)
    found = {"E": count, "A": active, "Fe": width, **({"Fs": shared} if shared else {})}
    return {name: float(size) for name, size in found.items()}


def _shared_width(config: Config, experts: Experts, width: int) -> int:
    if experts.shared == "one":
        return width
    many = config.count("shared_experts", 1 if config.has("shared_ffn") else 0)
    return many * config.count("shared_ffn", width)


def dense(plan: Plan, *, normed: bool = True) -> tuple[Row, ...]:
    """A plain or gated feed-forward half."""
    return (*mlp(plan, "F", "linear", normed=normed), *plan.after("down"))


def mlp(plan: Plan, width: str, part: Part, *, normed: bool = False, name: str = "") -> Iterator[Row]:
    """The matrices of a feed-forward network of this width, without what follows them."""
    has_bias = plan.asked(plan.family.ffn_bias)
    for i, (first, size, stored) in enumerate(_first_products(plan, width)):
        yield linear(f"{name}{first}", f"B T D, D {size} -> B T {size}", part, stored=stored)
        if normed and i == 0:
            yield from plan.norm("ffn norm")
        if has_bias:
            yield bias(f"{name}{first} bias", size)
    yield activation(f"B T {width}", _activation_flops(plan))
    yield from plan.family.ffn_extra
    yield linear(f"{name}down", f"B T {width}, {width} D -> B T D", part, stored="down")
    if has_bias:
        yield bias(f"{name}down bias", "D")


def mixture(plan: Plan, *, normed: bool = True) -> tuple[Row, ...]:
    """A router, its experts, and the shared ones where the config has them."""
    experts = plan.family.experts or Experts()
    return (
        *_router(plan, experts, normed=normed),
        *expert_rows(plan, experts),
        *_shared(plan, experts),
        *(row for i in range(experts.norms) for row in plan.norm(f"experts norm {i + 1}")),
        *plan.after("down"),
    )


def _router(plan: Plan, experts: Experts, *, normed: bool) -> Iterator[Row]:
    router = linear("router", "B T D, D E -> B T E", "router")
    yield replace(router, apart=(((None, 1.0),),)) if experts.bare_router else router
    if normed:
        yield from plan.norm("ffn norm")
    if plan.asked(experts.router_bias):
        yield bias("router bias", "E")
    yield vector("choice", "B T E -> B T E", SOFTMAX_FLOPS)


def expert_rows(plan: Plan, experts: Experts) -> Iterator[Row]:
    """The experts: X touched ones are read, A of them compute for each token."""
    if plan.choices.links:
        yield link("dispatch", "all-to-all")
    for name, size, stored in _first_products(plan, "Fe"):
        yield linear(f"expert {name}", f"B T D, [X] D {size} -> B T A {size}", "expert", stored=stored)
        if experts.bias:
            yield _expert_bias(f"expert {name}", size)
    yield activation("B T A Fe", _activation_flops(plan))
    yield linear("expert down", "B T A Fe, [X] Fe D -> B T D", "expert", stored="down")
    if experts.bias:
        yield _expert_bias("expert down", "D")
    if plan.choices.links:
        yield link("combine", "all-to-all")


def _expert_bias(name: str, size: str) -> Row:
    return Row(f"{name} bias", f"B T A {size}, [X] {size} -> B T A {size}", "weight", "norm", "w", 1.0, rides=True)


def _shared(plan: Plan, experts: Experts) -> Iterator[Row]:
    if not _shared_width(plan.config, experts, 1):
        return
    yield from mlp(plan, "Fs", "shared", name="shared ")
    if experts.shared_gate:
        yield Row("shared gate", "B T D, D -> B T", "weight", "router", "w", rides=True)


def _first_products(plan: Plan, width: str) -> list[tuple[str, str, str]]:
    """Name, width, and what a file keeps it in."""
    if not plan.family.gated:
        return [("up", width, "up")]
    gate, up = f"gate: {width}, D", f"up: {width}, D"
    if plan.packs("ffn"):
        gate = up = f"gate_up: 2 {width}, D"
    if plan.choices.fused:
        return [("gate_up", f"2 {width}", gate if gate == up else f"{gate}; {up}")]
    return [("gate", width, gate), ("up", width, up)]


def _activation_flops(plan: Plan) -> float:
    return GATED_FLOPS if plan.family.gated else ACTIVATION_FLOPS
