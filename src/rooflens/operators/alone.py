"""One operator without a model, written as text: `gemm:M=16,K=4096,N=14336`, `op:flops=1e12,bytes=2e9`."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from rooflens.errors import RooflensError, Unknown
from rooflens.operators.collectives import Group, ways
from rooflens.operators.cost import Cost, Precision, cost_of, total
from rooflens.operators.letters import Letters
from rooflens.operators.rows import Collective, Row
from rooflens.operators.standard import ALONE, AttentionForm, attended, attention
from rooflens.records import record, replace
from rooflens.units import LARGEST, whole

Values = Mapping[str, float]
AMOUNTS = ("flops", "bytes", "params", "weight_bytes", "table_bytes")  # somebody's counts; other keys are whole
_WRITTEN = r"(?s)\s*[\w-]+\s*:\s*\w+\s*=.*|(params|weight_bytes|table_bytes)=.*"


@record
class Alone:
    """An operator of its own: rows with their letters, or a count that somebody made (`flops`, `bytes`).

    table_bytes: weights that are stored and only looked up, so not among weight_bytes. collective: what `devices` do
    with a message of so many bytes, as operators.collectives counts it.
    """

    name: str
    rows: tuple[Row, ...] = ()
    letters: Letters | None = None
    flops: float = 0.0
    weight_bytes: float = 0.0
    activation_bytes: float = 0.0
    table_bytes: float = 0.0
    collective: Collective | None = None
    message_bytes: float = 0.0
    devices: int = 1

    def cost(self, precision: Precision) -> Cost:
        """Its demand in this precision; counts that were given are not touched by it."""
        if self.collective is not None:
            least = min(ways(self.collective, Group(self.devices)), key=lambda way: way.link_bytes)
            return Cost(link_bytes=least.link_bytes * self.message_bytes, link_steps=least.link_steps, launches=1.0)
        if self.letters is not None:
            letters = self.letters
            return total(cost_of(row, letters, precision) for row in self.rows)
        flops = {precision.math_of("linear"): self.flops} if self.flops else {}
        return Cost(flops, weight_bytes=self.weight_bytes, activation_bytes=self.activation_bytes, launches=1.0)


@record
class _Form:
    """What an operator takes: required names, optional ones with their default, and how to make it."""

    required: tuple[str, ...]
    optional: Mapping[str, float]
    make: Callable[[Values, AttentionForm], Alone]


def is_alone(text: str) -> bool:
    """Whether `text` writes an operator, known or not, and not a model's name."""
    return text.partition(":")[0] in FORMS or ("=" in text and re.fullmatch(_WRITTEN, text) is not None)


def alone(text: str, form: AttentionForm = "flash") -> Alone:
    """The operator that `text` writes.

    Raises Unknown for a name or key nobody knows, RooflensError for a missing key or a value that is not a size.
    """
    name, colon, rest = text.partition(":")
    if not colon and "=" in text:
        name, rest = "params", text
    name = name.strip()
    if name not in FORMS:
        raise Unknown("operator", name, FORMS, every())
    if not rest:
        raise RooflensError(f"{name} needs its sizes: write {usage(name)}.  Operators placed alone: {every()}")
    wanted = FORMS[name]
    values = {**wanted.optional, **_values(text, rest, (*wanted.required, *wanted.optional))}
    missing = [key for key in wanted.required if key not in values]
    if missing:
        raise RooflensError(f"{text!r}: {', '.join(missing)} missing; write {usage(name)}")
    return wanted.make(values, form)


def every() -> str:
    """How each operator is written."""
    return "; ".join(map(usage, FORMS))


def usage(name: str) -> str:
    """How the operator is written."""
    wanted = FORMS[name]
    keys = [f"{key}=..." for key in wanted.required] + [f"[{key}={value:g}]" for key, value in wanted.optional.items()]
    return ("" if name == "params" else f"{name}:") + ",".join(keys)


def _values(text: str, rest: str, known: tuple[str, ...]) -> dict[str, float]:
    found: dict[str, float] = {}
    for pair in filter(None, rest.split(",")):
        key, _, value = (part.strip() for part in pair.partition("="))
        if key not in known:
            raise Unknown(f"key in {text!r}:", key, known)
        if key in found:
            raise RooflensError(f"{text!r}: {key} is given twice")
        found[key] = _size(text, key, value)
    return found


def _size(text: str, key: str, value: str) -> float:
    try:
        size = float(value)
    except ValueError:
        raise RooflensError(f"{text!r}: {key}={value!r} is not a number") from None
    if key not in AMOUNTS:
        whole(size, f"{text!r}: {key}", least=0 if key == "causal" else 1)
    elif not 0 <= size <= LARGEST or (size == 0 and key not in ("flops", "bytes", "table_bytes")):
        raise RooflensError(f"{text!r}: {key}={value} is not an amount up to {LARGEST:g}")
    return size


def _gemm(v: Values, _: AttentionForm) -> Alone:
    return Alone("gemm", (ALONE["gemm"],), {"B": v["M"], "D": v["K"], "F": v["N"]})


def _attention(v: Values, form: AttentionForm) -> Alone:
    if v["H"] % v["K"]:
        raise RooflensError(f"attention: {v['H']:g} query heads are not a multiple of {v['K']:g} key-value heads")
    if v["causal"] > 1:
        raise RooflensError(f"attention: causal is 1 (half of the scores) or 0 (all of them), not {v['causal']:g}")
    if v["T"] > v["S"]:
        raise RooflensError("attention: S counts the new tokens too, so it cannot be below T")
    sizes: Letters = {"B": v["B"], "T": v["T"], "K": v["K"], "G": v["H"] / v["K"], "W": v["W"], "S": v["S"]}
    seen = attended(v["T"], v["S"], causal=bool(v["causal"]))
    return Alone("attention", attention(form), {**sizes, "P": seen})


def _elementwise(v: Values, _: AttentionForm) -> Alone:
    row = replace(ALONE["elementwise"], flops_per_point=v["flops"])
    return Alone("elementwise", (row,), {"N": v["n"]})


def _norm(v: Values, _: AttentionForm) -> Alone:
    return Alone("norm", (replace(ALONE["layernorm"], flops_per_point=v["flops"]),), {"N": v["n"]})


def _op(v: Values, _: AttentionForm) -> Alone:
    if not v["flops"] and not v["bytes"]:
        raise RooflensError("op: neither flops nor bytes, so it does nothing; give one of them")
    return Alone("op", flops=v["flops"], activation_bytes=v["bytes"])


def _pass(name: str) -> Callable[[Values, AttentionForm], Alone]:
    return lambda v, _: Alone(name, (ALONE[name],), {"N": v["n"]})


def _step(v: Values, _: AttentionForm) -> Alone:
    if v["table_bytes"] >= v["weight_bytes"]:
        raise RooflensError("table_bytes is the part of weight_bytes that is looked up, so it must be smaller")
    streamed = v["weight_bytes"] - v["table_bytes"]
    return Alone("step", flops=2 * v["params"], weight_bytes=streamed, table_bytes=v["table_bytes"])


def _exchange(name: Collective) -> Callable[[Values, AttentionForm], Alone]:
    def made(v: Values, _: AttentionForm) -> Alone:
        if v["devices"] < 2 or not v["bytes"]:
            raise RooflensError(f"{name} needs two devices or more and a message above 0 bytes")
        return Alone(name, collective=name, message_bytes=v["bytes"], devices=int(v["devices"]))

    return made


FORMS: dict[str, _Form] = {
    "gemm": _Form(("M", "K", "N"), {}, _gemm),
    "attention": _Form(("H", "W", "S", "K"), {"B": 1, "T": 1, "causal": 1}, _attention),
    "elementwise": _Form(("n",), {"flops": ALONE["elementwise"].flops_per_point}, _elementwise),
    "softmax": _Form(("n",), {}, _pass("softmax")),
    "norm": _Form(("n",), {"flops": ALONE["layernorm"].flops_per_point}, _norm),
    "rmsnorm": _Form(("n",), {}, _pass("rmsnorm")),
    "layernorm": _Form(("n",), {}, _pass("layernorm")),
    "op": _Form(("flops", "bytes"), {}, _op),
    "all-reduce": _Form(("bytes", "devices"), {}, _exchange("all-reduce")),
    "all-gather": _Form(("bytes", "devices"), {}, _exchange("all-gather")),
    "reduce-scatter": _Form(("bytes", "devices"), {}, _exchange("reduce-scatter")),
    "all-to-all": _Form(("bytes", "devices"), {}, _exchange("all-to-all")),
    "send": _Form(("bytes",), {"devices": 2}, _exchange("send")),
    "params": _Form(("params", "weight_bytes"), {"table_bytes": 0}, _step),
}
