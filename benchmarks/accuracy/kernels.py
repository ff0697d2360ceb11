"""The measured kernels as groups of rows that the product's own formulas price, and which rows belong together.

A family is a shape at every load, on every chip and engine: the weights of a product, the heads of an attention, a
collective with its message. Not priced: collectives between hosts, and experts' kernels, which are several products.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from benchmarks.accuracy.rows import UNFITTED, machine, read
from benchmarks.accuracy.shrunk import Array, Label, Model
from rooflens.catalogue.kernels import (
    CacheSlope,
    DecodeCommon,
    DecodeCosts,
    ExchangeCommon,
    ExchangeCosts,
    PrefillCommon,
    PrefillCosts,
    ProductCommon,
    ProductCosts,
)
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.collectives import Group, ways
from rooflens.operators.cost import Cost, Precision
from rooflens.prediction.attending import Decode, Prefill
from rooflens.prediction.exchanging import Exchange
from rooflens.prediction.fitted import chip_of
from rooflens.prediction.kernels import Chip
from rooflens.prediction.products import ALL, FLAVOURS, WHOLE, Product, Tiling, from_datasheet
from rooflens.records import replace

ENGINES = ("sglang", "trtllm", "vllm")
WIDEST = {"trtllm": 32.0}  # its decode kernel reads the cache again beyond so many query heads a group
BITS = {"bf16": "16", "fp16": "16", "fp8": "8"}
FLAVOUR_OF = {
    "bfloat16": "16", "sq": "int8", "fp8_block": "fp8-block", "nvfp4": "fp4", "int8_wo": "8-weights",
    "int4_wo": "4-weights",
}  # fmt: skip
FORMAT_OF = {"fp8": "fp8-block", "int8": "int8", "fp32": "32"}  # rows that name a format only
MATH = {"32": "fp32", "fp4": "fp4", "int8": "int8", "8/8": "fp8"}  # others: fp8 where it is said, else 16 bit

# What all kernels share was tuned on all rows; tuned on half of the families, the others came out half a point worse.
PRODUCT = ProductCommon(
    overlap=3.0, cache=CacheSlope(0.05, 2.0, 5.0), split_cycles=5000.0, power_s=150e-6, feed=22.0, feed_exponent=0.5,
    busy=0.35, narrowing_rows=2.0, by_density=-0.12, by_rate=0.6, family_compute={"cdna": 0.67},
)  # fmt: skip
DECODE = DecodeCommon(overlap=6.0, cache=CacheSlope(0.85, 8.0, 4.5), busy=0.175, chunk=1024.0, rows=16.0)
PREFILL = PrefillCommon(overlap=1.13, cache=CacheSlope(0.85, 8.0, 1.6), rows=64.0, columns=32.0)
EXCHANGE = ExchangeCommon(quick=0.5, bulk_s=16.7e-6, two_shot_s=6e-6, hop_s=0.89e-6, bridge_s=1.33e-6, shared=1.65)
COMMON = {"products": PRODUCT, "decoding": DECODE, "prefilling": PREFILL, "exchanging": EXCHANGE}


class Row(NamedTuple):
    """One measured kernel. label: chip, arch, flavour, engine (or library, or source), narrows."""

    source: str
    label: Label
    family: str
    sizes: Mapping[str, Any]
    time_s: float
    cost: Cost
    heard: bool = True  # a row that cannot be as it says is scored and not fitted

    @property
    def served(self) -> bool:
        """Whether an engine's kernel was measured."""
        return self.label["engine"] in ENGINES


@cache
def rows() -> Mapping[str, list[Row]]:
    """Every row that is priced, by the kind of its kernel."""
    found: dict[str, list[Row]] = defaultdict(list)
    made: dict[str, tuple[str, Callable[[Mapping[str, str]], Row]]] = {
        "product": ("products", _product),
        "decode attention": ("decoding", _decode),
        "prefill attention": ("prefilling", _prefill),
    }
    for text in read("operators"):
        left_out = text["left_out"]
        if text["kind"] != "experts" and (not left_out or left_out.startswith(UNFITTED)):
            kind, make = made.get(text["kind"], ("exchanging", _exchange))
            found[kind].append(make(text)._replace(heard=not left_out))
    return found


def chip(name: str, math: str, caches: Mapping[str, float]) -> Chip:
    """The datasheet of a chip as a kernel meets it; caches: of those whose catalogue row has none."""
    return chip_of(machine(name), math, caches)


def math_of(flavour: str) -> str:
    """The arithmetic of a flavour."""
    return MATH.get(flavour, "fp8" if flavour.startswith("fp8") else "fp16")


def models(caches: Mapping[str, float]) -> dict[str, Model]:
    """What is fitted for each kind of kernel, with the last caches that the catalogue does not know."""
    attention = [
        (("flavour",), 1.0), (("engine", "flavour"), 1.0), (("engine",), 1.0), (("chip",), 1.0),
        (("chip", "flavour"), 0.7), (("arch", "flavour"), 0.8),
    ]  # fmt: skip
    product = [
        (("flavour",), 1.0), (("engine", "flavour"), 2.0), (("narrows",), 1.0), (("chip",), 1.0),
        (("chip", "flavour"), 0.7), (("arch", "flavour"), 0.8),
    ]  # fmt: skip
    return {
        "products": Model(
            {"fixed_cycles": 5e3, "compute": 0.85, "memory": 0.85, "fill": 200, "sustained": 0.85, "narrowing": 0.3},
            {"fixed_cycles": 0.4, "compute": 0.12, "memory": 0.12, "fill": 0.5, "sustained": 0.12, "narrowing": 0.4},
            product, lambda *given: _product_s(caches, *given), _product_prior,
        ),
        "decoding": Model(
            {"fixed_cycles": 16e3, "memory": 0.85, "compute": 0.5, "wave_cycles": 2e3, "combine_cycles": 4e3},
            {"fixed_cycles": 0.4, "memory": 0.12, "compute": 0.4, "wave_cycles": 0.6, "combine_cycles": 0.6},
            attention, lambda *given: _decode_s(caches, *given),
        ),
        "prefilling": Model(
            {
                "fixed_cycles": 20e3, "memory": 0.6, "compute": 0.75, "block_cycles": 5e3, "scores_per_cycle": 64,
                "unusual": 0.8,
            },
            {
                "fixed_cycles": 0.4, "memory": 0.3, "compute": 0.15, "block_cycles": 0.5, "scores_per_cycle": 0.5,
                "unusual": 0.5,
            },
            attention, lambda *given: _prefill_s(caches, *given),
        ),
        "exchanging": Model(
            {"own_s": 4.5e-6, "ring_s": 9e-6, "link": 0.7}, {"own_s": 0.35, "ring_s": 0.35, "link": 0.12},
            [(("engine",), 1.0), (("chip",), 1.0)], _exchange_s,
        ),
    }  # fmt: skip


def _product(text: Mapping[str, str]) -> Row:
    flavour = FLAVOUR_OF.get(text["flavour"]) or FORMAT_OF.get(text["weights"], "16")
    if text["flavour"] == "fp8":
        flavour = "fp8-static" if text["engine"] == "trtllm" else "fp8-dynamic"
    side = text["m"] if text["source"] == "deepbench" else text["n"]  # stored by columns: its weights stand first
    stored = Precision(dtype(text["weights"]), dtype("bf16"), dtype(text["activations"]), math={"": math_of(flavour)})
    sizes = {letter: float(text[letter.lower()]) for letter in "MNK"}
    label = _label(text, flavour) | {"narrows": FLAVOURS[flavour].narrowed and text["engine"] in ENGINES}
    written = ",".join(f"{letter}={value:.0f}" for letter, value in sizes.items())
    cost = alone(f"gemm:{written}").cost(stored)
    return Row(text["source"], label, f"{side}x{text['k']}", sizes, float(text["time_s"]), cost)


def _decode(text: Mapping[str, str]) -> Row:
    return _attention(text, BITS[text["cache"]], 1.0)


def _prefill(text: Mapping[str, str]) -> Row:
    return _attention(text, f"{BITS[text['activations']]}/{BITS[text['cache']]}", float(text["context"]))


def _attention(text: Mapping[str, str], flavour: str, tokens: float) -> Row:
    names = {"B": "batch", "S": "context", "H": "heads", "K": "kv_heads", "W": "head_width"}
    sizes = {letter: float(text[name]) for letter, name in names.items()}
    stored = Precision(dtype("bf16"), dtype(text["cache"]), dtype(text["activations"]), math={"": math_of(flavour)})
    written = ",".join(f"{letter}={value:.0f}" for letter, value in {**sizes, "T": tokens}.items())
    family = "/".join(text[name] for name in ("heads", "kv_heads", "head_width"))
    cost = alone(f"attention:{written}").cost(stored)
    return Row(text["source"], _label(text, flavour), family, sizes, float(text["time_s"]), cost)


def _exchange(text: Mapping[str, str]) -> Row:
    devices, message = int(text["devices"]), float(text["message_bytes"])
    name: Any = text["kind"]
    links = "bridges" if machine(text["chip"]).link == "pcie" else "links"
    label = _label(text, "copies" if name == "send" else links)
    least = min(way.link_bytes for way in ways(name, Group(devices)))
    sizes = {"name": name, "devices": devices, "bytes": message}
    cost = Cost(link_bytes=least * message)
    return Row(text["source"], label, f"{name} of {message:.0f}", sizes, float(text["time_s"]), cost)


def _label(text: Mapping[str, str], flavour: str) -> dict[str, Any]:
    engine = text["engine"] or (text["library"] if text["library"] == "nccl" else text["source"])
    arch = machine(text["chip"]).compute_capability
    return {"chip": text["chip"], "arch": arch, "flavour": flavour, "engine": engine}


def _product_prior(label: Label) -> dict[str, float]:
    """What the prior is times: launches and fill where activations are narrowed, and what a datasheet says."""
    times = {"fixed_cycles": 1.8 if label["narrows"] else 1.0}
    times |= {"compute": 1.0, "fill": 2.0 if FLAVOURS[label["flavour"]].narrowed else 1.0}
    if label["chip"] is not None:
        there = machine(label["chip"])
        found = from_datasheet(PRODUCT, chip(label["chip"], math_of(label["flavour"]), {}), there.power_w, there.family)
        times = {**times, "compute": found[0], "fill": times["fill"] * found[1]}
    return times


def _columns(tilings: tuple[Tiling, ...]) -> Tiling:
    return Tiling(*(np.array([getattr(one, name) for one in tilings]) for name in ("rows", "columns", "cuts")))


EVERY, UNCUT = _columns(ALL), _columns(WHOLE)


def _product_s(caches: Mapping[str, float], label: Label, sizes: Mapping[str, Array], c: Mapping[str, float]) -> Array:
    flavour = FLAVOURS[label["flavour"]]
    costs = ProductCosts(**c) if label["narrows"] else replace(ProductCosts(**c), narrowing=None)
    kernel = Product(chip(label["chip"], math_of(label["flavour"]), caches), flavour, costs, PRODUCT)
    M, N, K = (sizes[letter][:, None] for letter in "MNK")
    found: Array = np.min(kernel.spent(M, N, K, EVERY if flavour.cut else UNCUT).time_s, axis=1)
    return found


def _decode_s(caches: Mapping[str, float], label: Label, sizes: Mapping[str, Array], c: Mapping[str, float]) -> Array:
    costs = DecodeCosts(**c, widest=WIDEST.get(label["engine"] or ""))
    kernel = Decode(chip(label["chip"], "fp16", caches), float(label["flavour"]) / 8, costs, DECODE)
    found: Any = kernel.spent(*(sizes[letter] for letter in "BSHKW")).time_s
    return np.asarray(found)


def _prefill_s(caches: Mapping[str, float], label: Label, sizes: Mapping[str, Array], c: Mapping[str, float]) -> Array:
    stored = float(label["flavour"].partition("/")[2]) / 8
    kernel = Prefill(chip(label["chip"], math_of(label["flavour"]), caches), stored, PrefillCosts(**c), PREFILL)
    found: Any = kernel.spent(*(sizes[letter] for letter in "BSSHKW")).time_s
    return np.asarray(found)


def _exchange_s(label: Label, sizes: Mapping[str, Array], c: Mapping[str, float]) -> Array:
    rate = machine(label["chip"]).the_link().floor_value
    own = label["engine"] in ENGINES
    kernel = Exchange(rate, ExchangeCosts(**c), EXCHANGE, label["flavour"] == "bridges", own)
    asked = zip(sizes["name"], sizes["devices"], sizes["bytes"], strict=True)
    return np.array([kernel.time_s(name, int(devices), float(message)) for name, devices, message in asked])
