"""What is stored meets what the machine has: the format each part is computed in."""

from __future__ import annotations

from rooflens.dtypes import dtype
from rooflens.errors import NoPath
from rooflens.operators.cost import Precision
from rooflens.records import replace
from rooflens.roofline.ceilings import Machine

_CONTRACTING = ("", "project", "expert", "shared", "attend", "router", "head", "conv", "ssm")
_FORCED = ("", "project", "expert", "shared")
SIXTEEN = 16


def resolve(stored: Precision, machine: Machine, math: str | None = None) -> tuple[Precision, tuple[str, ...]]:
    """`stored` with the math of every part, and notes on parts computed otherwise than they are stored.

    A format narrower than 16 bit is computed natively when the machine has the path, else as wide as the activations
    (weight-only). `math`: of 16 bit or more, the arithmetic of every part, whatever is stored; narrower, of the linear
    parts, whose activations are then narrowed on the fly. Raises NoPath when the machine lacks what was asked for, or
    the activations' own arithmetic and no other was asked for: none is put in its place.
    """
    asked = None if math is None else _named(math, machine)
    narrow = asked is not None and _bits(asked) < SIXTEEN
    wide = stored.activations.math if asked is None or narrow else asked
    for needed in dict.fromkeys((wide, asked or wide)):
        _require(machine, needed, stored.activations.math)
    notes: list[str] = []
    maths = dict.fromkeys(_CONTRACTING, wide) if asked is not None and not narrow else {}
    for part in [part for part in _CONTRACTING if part not in maths]:
        own = stored.stored_parts.get(part, stored.weights).math
        forced = asked if part in _FORCED else None
        maths[part] = wide if part == "attend" else forced or _math(own, wide, machine, notes)
    notes += [
        f"activations are narrowed on the fly for {maths[part]} products; their bytes are counted as stored"
        for part in _FORCED
        if _bits(maths[part]) < SIXTEEN
    ]
    return replace(stored, math=maths), tuple(dict.fromkeys(notes))


def _named(math: str, machine: Machine) -> str:
    """The arithmetic of this name: one of the machine's own (`fp16_acc16`, `int4`), or that of a dtype."""
    return math if machine.has(math) is not None else dtype(math).math


def _bits(math: str) -> float:
    return dtype(math.partition("_acc")[0]).bits


def _math(own: str, wide: str, machine: Machine, notes: list[str]) -> str:
    if _bits(own) >= SIXTEEN:
        return wide if own == "fp16" else own
    if machine.has(own):
        return own
    why = "has no" if machine.has(own) is False else "is not known to have"
    notes.append(f"{own} weights are computed in {wide}: {machine.name} {why} {own} arithmetic")
    return wide


def _require(machine: Machine, math: str, own: str) -> None:
    """Raises NoPath, naming what may be asked for instead, for a math that the machine lacks. own: of activations."""
    if machine.has(math):
        return
    have = sorted({c.dtype for c in machine.find("compute") if c.value > 0 and c.dtype})
    wide = [name for name in have if _bits(name) >= SIXTEEN or machine.has(own)]
    known = "has no" if machine.has(math) is False else "is not known to have"
    choice = f"no rate of it is known: give one as --on {machine.on},{math}=RATE"
    if wide:
        choice = f"it has {', '.join(wide)}: choose one with --math"
    elif have:
        choice = f"it has {', '.join(have)} alone, and activations need {SIXTEEN} bits or more: name another machine"
    raise NoPath(f"{machine.name} {known} {math} arithmetic; {choice}")
