"""Every figure of a chip under the names that people give it, and in the ways in which sheets print it."""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.catalogue import NETWORK_BYTES_PER_S, Accelerator, derive_peak
from rooflens.catalogue.record import MatrixPeaks, VectorPeaks
from rooflens.errors import NoPath, RooflensError
from rooflens.records import fields, record
from rooflens.units import parse, show, show_binary

ACCUMULATED = "_acc16"
COUNT = "count"
_DIFFERS = 1.01  # less than this and it is the same figure


@record
class Figure:
    """One figure. roof: a dtype, memory, capacity, l2, nvlink, pcie, network, clock, power or units.

    way: how it is read; the first way of a roof in `figures` is how it should be read.
    """

    roof: str
    way: str
    value: float
    unit: str
    chip: str

    @property
    def name(self) -> str:
        """ "bf16, 2:4 sparse"."""
        return f"{self.roof}, {self.way}" if self.way else self.roof

    @property
    def shown(self) -> str:
        """Its value with its unit; bytes in both countings."""
        if self.unit == COUNT:
            return f"{self.value:g}"
        binary = f" ({show_binary(self.value)})" if self.unit == "B" else ""
        return f"{show(self.value, self.unit)}{binary}"


SPARSE, DENSE, VECTOR, ACC16, BOTH_WAYS = "2:4 sparse", "dense", "on the vector units", "fp16 accumulation", "both ways"
ONE_WAY = "one way"


def figures(chip: Accelerator) -> tuple[Figure, ...]:
    """All figures of a chip that are known and not 0, those of a roof together, its right reading first."""
    return tuple(f for f in (*_compute(chip), *_memory(chip), *_links(chip), *_rest(chip)) if f.value)


def right(chip: Accelerator, roof: str, way: str | None = None) -> Figure:
    """The figure of this roof, read as `way` or as it should be; its value is 0 where there is no such path.

    Raises NoPath when it is not known, since nothing can then be judged.
    """
    own = [f for f in figures(chip) if f.roof == roof and way in (None, f.way)]
    if own:
        return own[0]
    if way is None and 0 in _stated(chip, roof):
        return Figure(roof, "", 0.0, "FLOP/s", chip.id)
    said = f"{roof}, {way}," if way else roof
    raise NoPath(f"{said} of {chip.id} is not in the catalogue, so nothing can be said about it.  See: {_see(chip)}")


def compute_roofs() -> tuple[str, ...]:
    """The formats that a compute roof may have."""
    return tuple(dict.fromkeys(f.name for kind in (MatrixPeaks, VectorPeaks) for f in fields(kind) if _plain(f.name)))


def _plain(name: str) -> bool:
    return not name.endswith(ACCUMULATED)


def _see(chip: Accelerator) -> str:
    return f"rooflens machines {chip.id}"


def _stated(chip: Accelerator, roof: str) -> list[float | None]:
    return [getattr(peaks, roof, None) for peaks in (chip.matrix, chip.vector)]


def _compute(chip: Accelerator) -> Iterator[Figure]:
    for roof in compute_roofs():
        ways = list(_ways(chip, roof))
        for way, value in ways:
            yield Figure(roof, way, value, "FLOP/s", chip.id)
        if chip.devices > 1 and ways:
            yield Figure(roof, f"one of {chip.devices} devices", ways[0][1] / chip.devices, "FLOP/s", chip.id)


def _ways(chip: Accelerator, roof: str) -> Iterator[tuple[str, float]]:
    matrix, vector = _stated(chip, roof)
    if matrix:
        yield from _with_sparse(DENSE, matrix, chip.sparse(roof))
        narrow = getattr(chip.matrix, roof + ACCUMULATED, None)
        if narrow and narrow > _DIFFERS * matrix:
            yield from _with_sparse(ACC16, narrow, chip.sparse(roof))
        yield from _at_other_clocks(chip, roof, matrix)
    if vector:
        yield VECTOR, vector


def _with_sparse(way: str, value: float, times: float | None) -> Iterator[tuple[str, float]]:
    yield way, value
    if times and times > _DIFFERS:
        yield SPARSE if way == DENSE else f"{way}, {SPARSE}", times * value


def _at_other_clocks(chip: Accelerator, roof: str, matrix: float) -> Iterator[tuple[str, float]]:
    """What the same units would do at the clocks that the matrix figure is not of."""
    if chip.arch is None or chip.unit_count is None:
        return
    for name, clock in (("boost", chip.boost_clock_hz), ("base", chip.base_clock_hz)):
        value = derive_peak(chip.arch, chip.unit_count, clock, roof) if clock else None
        if value and not 1 / _DIFFERS < value / matrix < _DIFFERS:
            yield f"dense at the {name} clock of {show(clock or 0.0, 'Hz')}", value


def _memory(chip: Accelerator) -> Iterator[Figure]:
    memory = chip.memory
    whole = [
        Figure("memory", "", memory.bandwidth_bytes_per_s or 0.0, "B/s", chip.id),
        Figure("capacity", "", memory.capacity_bytes or 0.0, "B", chip.id),
        Figure("capacity", "as a driver shows it", memory.visible_bytes or 0.0, "B", chip.id),
        Figure("capacity", "as it is printed", _printed(memory.label), "B", chip.id),
        Figure("l2", "", chip.on_chip.l2_bytes or 0.0, "B", chip.id),
    ]
    yield from whole
    if chip.devices > 1:
        way = f"one of {chip.devices} devices"
        yield from (Figure(f.roof, way, f.value / chip.devices, f.unit, chip.id) for f in whole[:2])


def _printed(label: str | None) -> float:
    """What the maker's label says in the units it is written in: GB where GiB is meant. 0 when it is no amount."""
    try:
        return parse(label or "", "B")
    except RooflensError:
        return 0.0


def _links(chip: Accelerator) -> Iterator[Figure]:
    for roof, rate in (
        ("nvlink", chip.scale_up.bytes_per_s_per_direction),
        ("pcie", chip.pcie.bytes_per_s_per_direction),
        ("network", NETWORK_BYTES_PER_S),
    ):
        one = ONE_WAY if roof != "network" else f"{ONE_WAY}, assumed: one 400 Gb/s port"
        yield Figure(roof, one, rate or 0.0, "B/s", chip.id)
        yield Figure(roof, BOTH_WAYS, 2 * (rate or 0.0), "B/s", chip.id)


def _rest(chip: Accelerator) -> Iterator[Figure]:
    yield Figure("clock", "boost", chip.boost_clock_hz or 0.0, "Hz", chip.id)
    if chip.tensor_clock_hz != chip.boost_clock_hz:
        yield Figure("clock", "tensor", chip.tensor_clock_hz or 0.0, "Hz", chip.id)
    yield Figure("clock", "base", chip.base_clock_hz or 0.0, "Hz", chip.id)
    yield Figure("power", "", chip.tdp_w or 0.0, "W", chip.id)
    yield Figure("units", chip.unit_kind or "", float(chip.unit_count or 0), COUNT, chip.id)
