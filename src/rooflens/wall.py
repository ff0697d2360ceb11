"""The memory wall: how fast arithmetic, bandwidth and their ratio have grown over the years of the catalogue. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import linear_regression
from typing import Literal

from rooflens.catalogue import Accelerator
from rooflens.catalogue.record import GPU_UNITS
from rooflens.records import html, record

SCHEMA = "rooflens/trend/1"
ChipKind = Literal["datacentre-gpu", "other-gpu", "asic", "cpu", "soc", "all"]
KINDS: dict[ChipKind, str] = {
    "datacentre-gpu": "GPUs with HBM",
    "other-gpu": "GPUs with GDDR memory: GeForce, Radeon, workstation and inference cards",
    "asic": "TPUs, Neuron, Gaudi and other accelerators that are no GPU",
    "cpu": "processors",
    "soc": "GPUs that share a processor's memory: Apple, Jetson, APUs",
    "all": "every accelerator of the catalogue",
}
QUANTITIES = ("compute", "memory", "ridge")
LEAST = 3  # points that a line is drawn through
CONVENTIONS = {
    "compute": "dense 16-bit matrix peak (the faster of bf16 and fp16, fp32 accumulation), FLOP/s",
    "memory": "bandwidth of main memory, byte/s",
    "ridge": "compute over memory, FLOP/byte",
    "fits": "least squares of log10(value) on the year of introduction, one point a product, shipping products only; "
    "low and high: two standard errors of the slope; value = value_first_year x growth ** (year - first_year)",
    "not_counted": "what software reaches, price, power, products that are not in the catalogue",
}
_GPU_MAKERS = ("NVIDIA", "AMD")


@record
class Product:
    """One chip of the picture. fitted: whether it counts in the fit (it does when it ships)."""

    id: str
    name: str
    vendor: str
    year: int
    peak_flops_per_s: float
    bandwidth_bytes_per_s: float
    ridge_flops_per_byte: float
    dtype: str
    fitted: bool

    def value(self, quantity: str) -> float:
        """compute, memory or ridge."""
        return {
            "compute": self.peak_flops_per_s, "memory": self.bandwidth_bytes_per_s, "ridge": self.ridge_flops_per_byte,
        }[quantity]  # fmt: skip


@record
class Fit:
    """Growth a year, as a factor: 1.5 is 50 % more every year. low, high: two standard errors of the slope.

    doubling_years: negative where it halves, absent where it stands still. r_squared: the part of the spread in
    log10(value) that the year explains.
    """

    growth_per_year: float
    low: float
    high: float
    n: int
    first_year: int
    last_year: int
    value_first_year: float
    r_squared: float
    doubling_years: float | None = None

    def at(self, year: float) -> float:
        """The fitted value of a year."""
        return float(self.value_first_year * self.growth_per_year ** (year - self.first_year))


@record
class LeftOut:
    """A product of the kind that is not in the picture, and why."""

    id: str
    why: str


@record
class Trend:
    """Products by year and the lines through them; a quantity without enough points has no fit."""

    _repr_html_ = html

    kind: ChipKind
    fitted: str
    products: tuple[Product, ...]
    fits: Mapping[str, Fit]
    left_out: tuple[LeftOut, ...]


def trend(chips: Iterable[Accelerator], kind: ChipKind = "datacentre-gpu") -> Trend:
    """The products of one kind by year, and the growth of their compute, bandwidth and ridge point."""
    mine = [chip for chip in chips if kind in ("all", kind_of(chip))]
    faults = {chip.id: _fault(chip) for chip in mine}
    found = [_product(chip) for chip in mine if not faults[chip.id]]
    products = tuple(sorted(found, key=lambda p: (p.year, p.id)))
    fits = {quantity: fit for quantity in QUANTITIES if (fit := _fit(products, quantity))}
    out = tuple(LeftOut(id, why) for id, why in faults.items() if why)
    return Trend(kind, f"{KINDS[kind]}, shipping", products, fits, out)


def kind_of(chip: Accelerator) -> ChipKind:
    """What sort of accelerator this is, by what the catalogue says of its units and its memory."""
    if chip.isa is not None:
        return "cpu"
    memory = chip.memory.kind or ""
    gpu = chip.unit_kind in GPU_UNITS or (chip.unit_kind is None and chip.vendor in _GPU_MAKERS)
    if gpu and memory.startswith("HBM"):
        return "datacentre-gpu"
    if "unified" in memory or chip.form_factor == "SoC":
        return "soc"
    return "other-gpu" if gpu else "asic"


def _fault(chip: Accelerator) -> str:
    """Why a chip cannot be drawn; "" when it can."""
    if chip.year is None:
        return "its year is not known"
    peaks = [chip.matrix.bf16, chip.matrix.fp16]
    if not any(peaks):
        return "no 16-bit matrix path" if 0 in peaks else "its 16-bit matrix peak is not known"
    return "" if chip.memory.bandwidth_bytes_per_s else "its bandwidth is not known"


def _product(chip: Accelerator) -> Product:
    bf16, fp16, bandwidth = chip.matrix.bf16 or 0.0, chip.matrix.fp16 or 0.0, chip.memory.bandwidth_bytes_per_s or 0.0
    peak, dtype = (bf16, "bf16") if bf16 >= fp16 else (fp16, "fp16")
    ships = chip.status == "shipping"
    name, vendor = chip.name or chip.id, chip.vendor or "unknown"
    return Product(chip.id, name, vendor, chip.year or 0, peak, bandwidth, peak / bandwidth, dtype, ships)


def _fit(products: Sequence[Product], quantity: str) -> Fit | None:
    """log10(value) = a + b (year - first year) by least squares; None with too few points or years."""
    points = [(p.year, math.log10(p.value(quantity))) for p in products if p.fitted]
    years = [year for year, _ in points]
    if len(points) < LEAST or len(set(years)) < 2:
        return None
    first, logs = min(years), [value for _, value in points]
    along = [year - first for year in years]
    slope, start = linear_regression(along, logs)
    error, explained = _spread(along, logs, slope, start)
    return Fit(
        growth_per_year=10**slope,
        low=10 ** (slope - 2 * error),
        high=10 ** (slope + 2 * error),
        n=len(points),
        first_year=first,
        last_year=max(years),
        value_first_year=10**start,
        r_squared=explained,
        doubling_years=math.log10(2) / slope if abs(slope) > 1e-9 else None,
    )


def _spread(xs: Sequence[float], ys: Sequence[float], slope: float, start: float) -> tuple[float, float]:
    """Standard error of the slope, sqrt(residual variance / sum (x - mean)^2), and R^2."""
    n, mean_x, mean_y = len(xs), math.fsum(xs) / len(xs), math.fsum(ys) / len(ys)
    left = math.fsum((y - start - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    whole = math.fsum((y - mean_y) ** 2 for y in ys)
    error = math.sqrt(left / (n - 2) / math.fsum((x - mean_x) ** 2 for x in xs))
    return error, 1 - left / whole if whole else 1.0
