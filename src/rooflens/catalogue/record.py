"""What is known about an accelerator, as its maker or a public source states it; and how derived facts follow.

Every peak is dense. None is not known; 0 is no such path. `*_acc16` peaks accumulate in fp16, the plain ones in
fp32. A package of several devices is described whole; `one_device` is the part a process sees.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from rooflens.records import field, fields, is_record, quantity, record, replace

T = TypeVar("T")
Origin = Literal["spec", "derived", "assumed"]
NETWORK_BYTES_PER_S = 50e9  # one 400 Gb/s port, one direction: no chip states its network
Path = Literal["matrix", "vector"]
GPU_UNITS = ("SM", "CU", "Xe-core")  # kinds of units with a shared memory of their own


@record
class VectorPeaks:
    """FLOP/s of the CUDA cores, VALUs or SIMD lanes."""

    fp64: float | None = quantity("FLOP/s", default=None)
    fp32: float | None = quantity("FLOP/s", default=None)
    fp16: float | None = quantity("FLOP/s", default=None)
    bf16: float | None = quantity("FLOP/s", default=None)


@record
class MatrixPeaks:
    """FLOP/s (op/s for int8 and int4) of the tensor, matrix or tile units."""

    fp64: float | None = quantity("FLOP/s", default=None)
    fp32: float | None = quantity("FLOP/s", default=None)
    tf32: float | None = quantity("FLOP/s", default=None)
    fp16: float | None = quantity("FLOP/s", default=None)
    fp16_acc16: float | None = quantity("FLOP/s", default=None)
    bf16: float | None = quantity("FLOP/s", default=None)
    fp8: float | None = quantity("FLOP/s", default=None)
    fp8_acc16: float | None = quantity("FLOP/s", default=None)
    int8: float | None = quantity("FLOP/s", default=None)
    fp6: float | None = quantity("FLOP/s", default=None)
    fp4: float | None = quantity("FLOP/s", default=None)
    int4: float | None = quantity("FLOP/s", default=None)


@record
class Memory:
    """Main memory. `label` is what the maker prints, `visible_bytes` what a driver or framework reported."""

    kind: str | None = None
    label: str | None = None
    capacity_bytes: float | None = quantity("B", default=None)
    visible_bytes: float | None = quantity("B", default=None)
    bus_bits: int | None = None
    pin_bits_per_s: float | None = None
    bandwidth_bytes_per_s: float | None = quantity("B/s", default=None)


@record
class OnChip:
    """Memories on the die, in bytes: `smem` of one SM or CU, `registers` of all of them, `llc` behind the L2."""

    registers_bytes: float | None = quantity("B", default=None)
    smem_per_unit_bytes: float | None = quantity("B", default=None)
    l2_bytes: float | None = quantity("B", default=None)
    llc_bytes: float | None = quantity("B", default=None)


@record
class ScaleUp:
    """The link to other accelerators. Makers often print the sum of both directions."""

    kind: str | None = None
    bytes_per_s_per_direction: float | None = quantity("B/s", default=None)
    bytes_per_s_bidirectional: float | None = quantity("B/s", default=None)


@record
class Pcie:
    """The host link; the rate is one direction: lanes x GT/s x 128/130 / 8 (from generation 6 on, as stated)."""

    gen: int | None = None
    lanes: int | None = None
    bytes_per_s_per_direction: float | None = quantity("B/s", default=None)


@record
class Price:
    """One offer on one date, not a market average."""

    kind: str
    date: str
    source: str
    usd_per_hour: float = quantity("USD/h")


@record
class Accelerator:
    """One SKU with one memory size.

    aliases:      names a driver or framework prints for this SKU and for no other.
    shared_names: names a driver prints for this SKU and for others: they say nothing without the memory size.
    arch, isa:    keys of the rate tables (`arch_rates`, `cpu_isa_rates`).
    boost clock:  the vector clock; `tensor_clock_hz` is the one that the maker's matrix figures imply.
    sparse_multiplier: what structured sparsity multiplies; `sparse_multipliers` (by dtype) where it is not uniform.
    devices:      how many devices a process sees in this package.
    """

    id: str
    name: str = ""
    vendor: str | None = None
    aliases: tuple[str, ...] = ()
    shared_names: tuple[str, ...] = ()
    architecture: str | None = None
    arch: str | None = None
    isa: str | None = None
    year: int | None = None
    status: Literal["shipping", "announced", "announced/rare"] | None = None
    form_factor: str | None = None
    compute_capability: str | None = None
    unit_kind: str | None = None
    unit_count: int | None = None
    devices: int = 1
    base_clock_hz: float | None = quantity("Hz", default=None)
    boost_clock_hz: float | None = quantity("Hz", default=None)
    tensor_clock_hz: float | None = quantity("Hz", default=None)
    tdp_w: float | None = quantity("W", default=None)
    vector: VectorPeaks = VectorPeaks()
    matrix: MatrixPeaks = MatrixPeaks()
    peak_basis: Literal["vendor", "derived", "vendor+derived"] | None = None
    sparse_multiplier: float | None = None
    sparse_multipliers: dict[str, float] = field(default_factory=dict)
    memory: Memory = Memory()
    on_chip: OnChip = OnChip()
    scale_up: ScaleUp = ScaleUp()
    pcie: Pcie = Pcie()
    price: Price | None = None
    confidence: Literal["A", "B", "C"] | None = None
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    note: str | None = None

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.id)
        faults = [*_bad_id(self.id), *_bad_numbers(self, ""), *_bad_sparse(self.sparse_multipliers)]
        if self.devices < 1:
            faults.append("devices: must be at least 1")
        if faults:
            raise ValueError("; ".join(faults))

    @property
    def peaks(self) -> dict[Path, dict[str, float]]:
        """FLOP/s by path and dtype: what is known, 0 where there is no such path."""
        return {"matrix": _known(self.matrix), "vector": _known(self.vector)}

    @property
    def origin(self) -> Origin:
        """Who answers for these numbers: "spec" where a source is named, else "assumed"."""
        return "spec" if self.sources else "assumed"

    @property
    def peak_origin(self) -> Origin:
        """As `origin`, and "derived" where no maker's peak is behind the figures, only units x clock x rate."""
        return "derived" if self.sources and self.peak_basis == "derived" else self.origin

    @property
    def deviations(self) -> dict[str, float]:
        """Published against first principles where they differ by over 2 %: {"matrix_int8": 0.091} is 9.1 % above."""
        found = (flag.split(":") for flag in self.flags if flag.startswith("DEV:"))
        return {what: float(percent.rstrip("%")) / 100 for _, what, percent in found}

    def sparse(self, dtype: str) -> float | None:
        """What structured sparsity multiplies the dense matrix peak of `dtype` by; None when not known or no path."""
        if not self.peaks["matrix"].get(dtype) or dtype in ("fp64", "fp32"):
            return None
        return self.sparse_multipliers.get(dtype) if self.sparse_multipliers else self.sparse_multiplier


def one_device(package: Accelerator) -> Accelerator:
    """The part of a multi-device package that one process sees: every extensive number divided by `devices`.

    Power, scale-up link, host link and price belong to the package and become unknown.
    """
    n = package.devices
    if n == 1:
        return package
    return replace(
        package,
        name=f"{package.name}, one of {n} devices",
        devices=1,
        unit_count=package.unit_count // n if package.unit_count else None,
        tdp_w=None,
        vector=_divided(package.vector, n),
        matrix=_divided(package.matrix, n),
        memory=replace(
            _divided(package.memory, n, skip=("pin_bits_per_s",)),
            label=None,
            bus_bits=package.memory.bus_bits // n if package.memory.bus_bits else None,
        ),
        on_chip=_divided(package.on_chip, n, skip=("smem_per_unit_bytes",)),
        scale_up=ScaleUp(kind=package.scale_up.kind),
        pcie=Pcie(),
        price=None,
    )


def _known(record: Any) -> dict[str, Any]:
    pairs = ((f.name, getattr(record, f.name)) for f in fields(record))
    return {name: value for name, value in pairs if value is not None}


def _divided(record: T, n: int, skip: tuple[str, ...] = ()) -> T:
    shared = {k: v / n for k, v in _known(record).items() if isinstance(v, float) and k not in skip}
    return cast("T", replace(cast("Any", record), **shared))


def _bad_id(id: str) -> list[str]:
    return [] if id and not set(" ,=:").intersection(id) else [f"id: {id!r} must be one word without ',', '=' or ':'"]


def _bad_numbers(record: Any, path: str) -> list[str]:
    faults = []
    for name, value in _known(record).items():
        if is_record(value):
            faults += _bad_numbers(value, f"{path}{name}.")
        elif isinstance(value, (int, float)) and value < 0:
            faults.append(f"{path}{name}: {value!r} is below 0")
    return faults


def _bad_sparse(multipliers: Mapping[str, float]) -> list[str]:
    known = {f.name for f in fields(MatrixPeaks)}
    return [f"sparse_multipliers: {name!r} is not a matrix dtype" for name in multipliers if name not in known]
