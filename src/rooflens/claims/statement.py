"""A figure said in words, `1979 TFLOP/s bf16`, and a ratio, `tf32 is 16x fp32`, taken apart. No chip is known here."""

from __future__ import annotations

import re

from rooflens.claims.figures import ACC16, ACCUMULATED, BOTH_WAYS, COUNT, DENSE, ONE_WAY, SPARSE, VECTOR, compute_roofs
from rooflens.dtypes import DTYPES, dtype
from rooflens.errors import RooflensError, Unknown
from rooflens.records import record
from rooflens.units import parse

EXAMPLES = "'1979 TFLOP/s bf16', '3.35 TB/s', '900 GB/s nvlink', '80 GB' or 'tf32 is 16x fp32'"
_RATIO = re.compile(r"\s*(\S+)\s+is\s+(\d+(?:\.\d+)?)\s*(?:x|times)\s+(?:as fast as\s+)?(\S+)\s*", re.IGNORECASE)
_AMOUNT = re.compile(r"\s*([+-]?[\d.,_]+(?:[eE][+-]?\d+)?)\s*([^\s\d]\S*)?\s*(.*)", re.DOTALL)
_UNITS = ("FLOP/s", "B/s", "B", "Hz", "W")
_COUNTED = ("sm", "sms", "cu", "cus", "core", "cores", "xe-core", "xe-cores")
_ROOFS = {
    "B/s": ("memory", "nvlink", "pcie", "network"),
    "B": ("capacity", "l2"),
    "Hz": ("clock",),
    "W": ("power",),
    COUNT: ("units",),
}
_NAMED = ("memory", "capacity", "nvlink", "pcie", "network")
_WAYS = {"FLOP/s": (DENSE, SPARSE, VECTOR, ACC16), "B/s": (ONE_WAY, BOTH_WAYS), "Hz": ("boost", "tensor", "base")}
_WORDS = {
    "memory": "memory", "hbm": "memory", "dram": "memory", "vram": "memory", "bandwidth": "memory",
    "capacity": "capacity", "l2": "l2", "cache": "l2",
    "nvlink": "nvlink", "ici": "nvlink", "xgmi": "nvlink", "scale-up": "nvlink",
    "pcie": "pcie", "network": "network",
    "clock": "clock", "tdp": "power", "power": "power",
    "dense": DENSE, "sparse": SPARSE, "sparsity": SPARSE, "2:4": SPARSE,
    "vector": VECTOR, "cuda": VECTOR, "simd": VECTOR,
    "acc16": ACC16, "tensor": "tensor", "matrix": DENSE, "boost": "boost", "base": "base",
    "bidirectional": BOTH_WAYS, "both": BOTH_WAYS, "one-way": ONE_WAY, "unidirectional": ONE_WAY, "each": ONE_WAY,
}  # fmt: skip
_FILLERS = ("in", "of", "with", "at", "the", "on", "units", "cores", "peak", "way", "ways", "directions", "link", "is")


@record
class Statement:
    """A figure said of a chip: SI value, its unit, the roof it is of and how it says that it is read (None: no word).

    decimal: its value had its prefix been decimal, where it was written as GiB or TiB/s.
    """

    text: str
    value: float
    unit: str
    roof: str
    way: str | None = None
    decimal: float | None = None


@record
class Ratio:
    """`first is times x second`, of two roofs as a person names them."""

    first: str
    times: float
    second: str


def statement(text: str) -> Statement | Ratio:
    """What `text` says. Raises RooflensError or Unknown for a unit, a word or a number that cannot be placed."""
    ratio = _RATIO.fullmatch(text)
    if ratio:
        return Ratio(ratio[1], factor(ratio[2]), ratio[3])
    found = _AMOUNT.fullmatch(text)
    if not found:
        raise RooflensError(f"{text!r} says no figure; write it like {EXAMPLES}")
    value, unit = _amount(text, found[1], found[2] or "")
    if value <= 0:
        raise RooflensError(f"{text!r}: a claimed figure must be above 0")
    words = found[3].lower().replace("fp16-accumulate", "acc16").replace("2:4-sparse", "sparse").replace(",", " ")
    meant = [_meant(word, text) for word in words.split() if word not in _FILLERS]
    written = (found[2] or "").replace("iB", "B")
    decimal = _amount(text, found[1], written)[0] if written != found[2] else None
    return Statement(text, value, unit, _roof(meant, unit, text), _way(meant, unit, text), decimal)


def roof(name: str) -> tuple[str, str | None]:
    """The roof called `name` and how it is read: `bf16`, `vector.fp16`, `fp16_acc16`, `nvlink`. Raises Unknown."""
    path, _, key = name.strip().lower().rpartition(".")
    plain = key.removesuffix(ACCUMULATED)
    known = [*compute_roofs(), *_NAMED]
    if path not in ("", "vector", "matrix") or (path and plain not in compute_roofs()):
        raise Unknown("roof", name, known)
    way = ACC16 if plain != key else _WORDS.get(path)
    if plain in compute_roofs():
        return plain, way
    if _WORDS.get(key) in _NAMED:
        return _WORDS[key], None
    try:
        return dtype(key).math, None
    except Unknown:
        raise Unknown("roof", name, known) from None


def factor(text: str) -> float:
    """A number of times. Raises RooflensError for one that is not above 0, or beyond all measure."""
    value = float(text)
    if not 0 < value <= 1e9:
        raise RooflensError(f"a claimed ratio must be above 0 and at most 1e9, not {text}")
    return value


def _amount(text: str, number: str, unit: str) -> tuple[float, str]:
    if unit.lower() in _COUNTED:
        return factor(number.replace(",", "")), COUNT
    faults: dict[str, RooflensError] = {}
    for kind in _UNITS:
        try:
            return parse(f"{number} {unit}", kind), kind
        except RooflensError as fault:
            faults[kind] = fault
    if not unit:
        raise RooflensError(f"{text!r} has no unit; write it like {EXAMPLES}")
    hinted = [
        str(fault) for fault in faults.values() if "is not a unit of" not in str(fault) or "did you mean" in str(fault)
    ]
    raise RooflensError(
        hinted[0] if hinted else f"{text!r}: {unit!r} is no unit of a chip's figure; write it like {EXAMPLES}"
    )


def _meant(word: str, text: str) -> str:
    if word in _WORDS:
        return _WORDS[word]
    plain = word.removesuffix(ACCUMULATED)
    known = [*compute_roofs(), *_WORDS]
    if plain in compute_roofs() or word in DTYPES:
        return word
    try:
        return dtype(word).name
    except Unknown:
        raise Unknown(f"word in {text!r}:", word, known) from None


def _roof(meant: list[str], unit: str, text: str) -> str:
    """The roof that the words name; what a bare unit means where they name none."""
    if unit != "FLOP/s":
        known = _ROOFS[unit]
        named = [m for m in meant if m in known]
        _one(named, text)
        return named[0] if named else known[0]
    named = [
        m.removesuffix(ACCUMULATED) for m in meant if m.removesuffix(ACCUMULATED) in compute_roofs() or m in DTYPES
    ]
    if not named:
        raise RooflensError(f"{text!r}: of which format? Write it like '{text.strip()} bf16'")
    _one(named, text)
    return roof(named[0])[0]


def _way(meant: list[str], unit: str, text: str) -> str | None:
    ways = [DENSE if unit == "FLOP/s" and m == "tensor" else m for m in meant]
    ways += [ACC16 for m in meant if m.endswith(ACCUMULATED)]
    named = [w for w in ways if w in _WAYS.get(unit, ())]
    if SPARSE in named and ACC16 in named:
        return f"{ACC16}, {SPARSE}"
    _one(named, text)
    _all_used(meant, unit, text)
    return named[0] if named else None


def _one(named: list[str], text: str) -> None:
    if len(set(named)) > 1:
        raise RooflensError(f"{text!r} says both {named[0]!r} and {named[1]!r}; say one")


def _all_used(meant: list[str], unit: str, text: str) -> None:
    """Raises RooflensError for a word that says nothing about a figure of this unit."""
    formats = [m for m in meant if m.removesuffix(ACCUMULATED) in compute_roofs() or m in DTYPES]
    used = {*_WAYS.get(unit, ()), *_ROOFS.get(unit, ()), *(formats if unit == "FLOP/s" else ())}
    used |= {"tensor"} if unit == "FLOP/s" else set()
    for word in meant:
        if word not in used:
            raise RooflensError(f"{text!r}: {word!r} is not a figure in {unit}; say it like {EXAMPLES}")
