"""First principles: units x clock x operations a clock and unit, to set beside what a maker publishes."""

from __future__ import annotations

from rooflens.catalogue.record import Accelerator, Path
from rooflens.catalogue.tables import arch_rates, cpu_isa_rates
from rooflens.errors import Unknown

_AT_VECTOR_CLOCK = ("fp64", "fp32")  # matrix fp64 runs at the boost clock also where the tensor clock is lower


def derived_peaks(known: Accelerator) -> dict[Path, dict[str, float]]:
    """FLOP/s by path and dtype from first principles; empty where units, clock or rate are not known.

    GPU: units x clock x rate of the architecture; CPU: cores x base clock x rate of the instruction set, 16-bit and
    int8 rates of AMX counting as matrix. Structured sparsity and clocks above the quoted ones are not counted.
    """
    if known.isa is not None:
        return _cpu_peaks(known)
    rates, units = arch_rates().get(known.arch or ""), known.unit_count
    if rates is None or units is None:
        return {"matrix": {}, "vector": {}}
    matrix = {
        d: (known.boost_clock_hz if d in _AT_VECTOR_CLOCK else _tensor_clock(known), r) for d, r in rates.matrix.items()
    }
    vector = {d: (known.boost_clock_hz, r) for d, r in rates.vector.items()}
    return {
        "matrix": {d: units * clock * rate for d, (clock, rate) in matrix.items() if clock is not None},
        "vector": {d: units * clock * rate for d, (clock, rate) in vector.items() if clock is not None},
    }


def derive_peak(arch: str, units: int, clock_hz: float, dtype: str, path: Path = "matrix") -> float | None:
    """Units x clock x rate of one architecture variant, in FLOP/s; None when the rate is not known.

    The variant is the key of `arch_rates`, not a compute capability: 8.9 alone is three different chips.
    """
    if arch not in arch_rates():
        raise Unknown("architecture", arch, arch_rates())
    rates = arch_rates()[arch]
    rate = (rates.matrix if path == "matrix" else rates.vector).get(dtype)
    return None if rate is None else units * clock_hz * rate


def _tensor_clock(known: Accelerator) -> float | None:
    return known.tensor_clock_hz if known.tensor_clock_hz is not None else known.boost_clock_hz


def _cpu_peaks(known: Accelerator) -> dict[Path, dict[str, float]]:
    isa = cpu_isa_rates().get(known.isa or "")
    if isa is None or known.unit_count is None or known.base_clock_hz is None:
        return {"matrix": {}, "vector": {}}
    rates = {d: known.unit_count * known.base_clock_hz * rate for d, rate in isa.rates.items()}
    on_tiles = [d for d in rates if d not in ("fp64", "fp32")] if isa.key.startswith("amx") else []
    matrix = {d: rates.pop(d) for d in on_tiles}
    return {"matrix": matrix, "vector": rates}
