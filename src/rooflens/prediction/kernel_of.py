"""The kernel that an operator alone would be: its formats as they were measured, its constants, where its time goes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

from rooflens.catalogue.calibrations import Residuals
from rooflens.catalogue.kernels import KernelConstants, ProductCosts
from rooflens.dtypes import SIXTEEN_BIT
from rooflens.errors import NoPath, RooflensError
from rooflens.operators.alone import Alone
from rooflens.operators.cost import Precision
from rooflens.prediction.attending import Decode, Prefill
from rooflens.prediction.exchanging import Exchange, bridged
from rooflens.prediction.fitted import UNSEEN, Chosen, KernelKind, chip_of, chosen
from rooflens.prediction.kernels import Chip, Spent
from rooflens.prediction.products import FLAVOURS, Product, from_datasheet
from rooflens.prediction.record import Constant, Scales
from rooflens.records import record, replace
from rooflens.roofline.ceilings import Machine
from rooflens.units import show

C = TypeVar("C")
OWN_KERNELS = ("sglang", "trtllm", "vllm")  # engines with all-reduce kernels beside the library's
STATIC = ("trtllm",)  # engines whose fp8 products have scales that are known before
FAMILIES = ("hbm", "gddr", "cdna")  # kinds of chips that rows are of


@record
class Known:
    """What an estimate may rest on. there: the machine's datasheet, whose roofs the constants are shares of.

    scales: of fp8 products; None: what the engine has by default.
    """

    found: KernelConstants
    there: Machine | None = None
    engine: str | None = None
    scales: Scales | None = None


@record
class Kernel:
    """A kernel that was estimated. parts_s: where its time goes; tiles: how a product is cut.

    Of a collective there is no chip and no tile, and `protocol` is the one that is fastest for its message.
    """

    flavour: str
    chip: Chip | None
    spent: Spent
    parts_s: Mapping[str, float]
    efficiency: float | None
    chosen: Chosen[Any]
    tiles: Mapping[str, float] | None = None
    protocol: str | None = None

    @property
    def cache_bytes(self) -> float | None:
        """The last cache that it may find its data in."""
        return self.chip.cache_bytes if self.chip else None

    @property
    def residuals(self) -> Residuals:
        """Measured over estimated where as much was known."""
        return self.chosen.residuals

    def constants(self, date: str) -> tuple[Constant, ...]:
        """What it rests on."""
        return self.chosen.constants(date)


def kernel_of(asked: Alone, precision: Precision, known: Known) -> tuple[Kernel | None, tuple[str, ...]]:
    """The kernel, and what must be said of it; None and the reason where nothing like it was measured.

    Raises RooflensError for scales of what is no fp8 product.
    """
    flavour = flavour_of(asked, precision, known)
    if known.scales is not None and not (flavour or "").startswith("fp8-"):
        raise RooflensError(
            "a flavour is of fp8 products, and this is none: leave --flavour away, or store the weights of a gemm as "
            "--weights fp8 on a machine with fp8 arithmetic"
        )
    if known.there is None:
        return None, ("floors only: constants are shares of a datasheet's roofs, and this machine has none",)
    if known.there.family not in FAMILIES:
        return None, (f"floors only: no kernel was measured on this kind of chip ({known.there.title})",)
    if flavour is None:
        return None, (f"floors only: no kernel of {asked.name} in these formats was measured",)
    made = _product if asked.name == "gemm" else _prompt if "/" in flavour else _step
    try:
        kernel = (_talk if asked.collective else made)(asked, flavour, precision, known, known.there)
    except NoPath as reason:
        return None, (f"floors only: {reason}",)
    return kernel, tuple(_said(asked, kernel, known, known.there))


def flavour_of(asked: Alone, precision: Precision, known: Known) -> str | None:
    """The formats of a kernel as the constants name them, or the way between devices; None where none was measured."""
    if asked.collective is not None:
        return "copies" if asked.collective == "send" else "bridges" if bridged(known.there) else "links"
    if asked.name == "gemm":
        return _product_flavour(precision, known)
    if asked.name != "attention" or not all(row.rides for row in asked.rows[1:]):
        return None
    wide = {"bf16": "16", "fp16": "16", "fp8": "8"}.get(precision.math_of("attend"))
    cache = {16: "16", 8: "8"}.get(int(precision.kv.bits))
    if wide is None or cache is None:
        return None
    if _letters(asked)["T"] > 1:
        return f"{wide}/{cache}"
    return cache if wide == "16" else None


def _product_flavour(precision: Precision, known: Known) -> str | None:
    math, stored = precision.math_of("linear"), precision.stored("linear")
    bits = int(stored.bits)
    if stored.everywhere:
        return None
    if math == "fp8" and bits == 8:
        return f"fp8-{known.scales or ('static' if known.engine in STATIC else 'dynamic')}"
    measured = {("fp32", 32): "32", ("int8", 8): "int8", ("fp4", 4): "fp4"}
    if math in SIXTEEN_BIT:
        return {16: "16", 8: "8-weights", 4: "4-weights"}.get(bits)
    return measured.get((math, bits))


def _product(asked: Alone, flavour: str, precision: Precision, known: Known, there: Machine) -> Kernel:
    letters, kind = _letters(asked), known.found.products
    found = _chosen(kind, there, flavour, known.engine)
    chip = chip_of(there, precision.math_of("linear"), known.found.cache_bytes)
    costs: ProductCosts = found.costs
    if found.known == UNSEEN:
        dense, fill = from_datasheet(kind.common, chip, there.power_w, there.family)
        costs = replace(costs, compute=costs.compute * dense, fill=costs.fill * fill)
    product = Product(chip, FLAVOURS[flavour], costs, kind.common)
    M, N, K = letters["B"], letters["F"], letters["D"]
    by = product.tiling(M, N, K)
    spent, narrowing_s = product.spent(M, N, K, by), float(product.narrowing_s(M, K))
    tiles = {"rows": by.rows, "columns": by.columns, "cuts": by.cuts}
    tiles |= {"blocks": product.blocks(M, N, by), "waves": product.waves(M, N, by)}
    beside = {"joining": float(spent.beside_s) - narrowing_s, "narrowing": narrowing_s}
    return Kernel(
        flavour, chip, spent, _parts(spent) | {name: s for name, s in beside.items() if s > 0},
        float(product.efficiency(M, N, K, by)), replace(found, costs=costs),
        {name: float(value) for name, value in tiles.items()},
    )  # fmt: skip


def _step(asked: Alone, flavour: str, precision: Precision, known: Known, there: Machine) -> Kernel:
    letters, kind = _letters(asked), known.found.decoding
    found = _chosen(kind, there, flavour, known.engine)
    chip = chip_of(there, precision.math_of("attend"), known.found.cache_bytes)
    decode = Decode(chip, precision.kv.bytes, found.costs, kind.common)
    B, S, K, G, W = (letters[name] for name in "BSKGW")
    spent = decode.spent(B, S, K * G, K, W)
    return Kernel(flavour, chip, spent, _parts(spent), float(decode.efficiency(K * G, K)), found)


def _prompt(asked: Alone, flavour: str, precision: Precision, known: Known, there: Machine) -> Kernel:
    letters, kind = _letters(asked), known.found.prefilling
    found = _chosen(kind, there, flavour, known.engine)
    chip = chip_of(there, precision.math_of("attend"), known.found.cache_bytes)
    prefill = Prefill(chip, precision.kv.bytes, found.costs, kind.common)
    B, T, S, K, G, W = (letters[name] for name in "BTSKGW")
    causal = letters["P"] < S
    spent = prefill.spent(B, T, S, K * G, K, W, causal=causal)
    return Kernel(flavour, chip, spent, _parts(spent), float(prefill.efficiency(T, S, causal=causal)), found)


def _talk(asked: Alone, flavour: str, precision: Precision, known: Known, there: Machine) -> Kernel:
    """A collective among devices of one host."""
    kind = known.found.exchanging
    found, rate = _chosen(kind, there, flavour, known.engine), there.the_link().floor_value
    exchange = Exchange(rate, found.costs, kind.common, flavour == "bridges", known.engine in OWN_KERNELS)
    by = exchange.by_protocol_s(asked.collective or "send", asked.devices, asked.message_bytes)
    protocol = min(by, key=lambda name: float(by[name]))
    sent_s = float(asked.cost(precision).link_bytes) / rate
    waited_s = max(0.0, float(by[protocol]) - sent_s)
    spent = Spent(fixed_s=waited_s, compute_s=0.0, memory_s=sent_s, beside_s=0.0, overlap=1.0)
    return Kernel(flavour, None, spent, {"link": sent_s, "waiting": waited_s}, None, found, protocol=protocol)


def _chosen(kind: KernelKind[C], there: Machine, flavour: str, engine: str | None) -> Chosen[C]:
    found = chosen(kind, there, flavour, engine)
    if found is None:
        raise NoPath(f"no kernel of flavour {flavour} was measured on any chip")
    return found


def _parts(spent: Spent) -> dict[str, float]:
    return {"launch": float(spent.fixed_s), "compute": float(spent.compute_s), "memory": float(spent.memory_s)}


def _letters(asked: Alone) -> dict[str, float]:
    return {name: float(value) for name, value in (asked.letters or {}).items()}


def _said(asked: Alone, kernel: Kernel, known: Known, there: Machine) -> Iterator[str]:
    """What a reader must know of the constants."""
    if kernel.chosen.known == UNSEEN:
        yield f"no kernel of flavour {kernel.flavour} was measured on {there.title}: constants are those of other chips"
    if kernel.chosen.engine != known.engine:
        yield f"no kernel of flavour {kernel.flavour} was measured of {known.engine}: constants are those of no engine"
    if asked.collective is not None:
        return
    if there.cache_bytes is None:
        held = kernel.cache_bytes
        shown = f"measured rows show {show(held, 'B')}" if held else "nothing is expected to stay in it"
        yield f"the size of the last cache of {there.title} is not known: {shown}"
    if kernel.flavour.startswith("fp8-") and known.scales is None:
        yield f"fp8 with {kernel.flavour.removeprefix('fp8-')} scales; --flavour says otherwise"
    letters = _letters(asked)
    if "/" in kernel.flavour and (letters["T"] < letters["S"] or letters["P"] == letters["S"]):
        yield "the constants of prompts were fitted on causal ones without a prefix"
