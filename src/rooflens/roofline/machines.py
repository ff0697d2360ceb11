"""A datasheet as a set of ceilings, and a person's own figures laid over any machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rooflens.catalogue import NETWORK_BYTES_PER_S, Accelerator
from rooflens.dtypes import DTYPES, dtype
from rooflens.errors import RooflensError, Unknown
from rooflens.records import fields, replace
from rooflens.roofline.ceilings import Ceiling, Kind, Machine
from rooflens.units import parse, show

LINKS = ("nvlink", "pcie", "network")
LATENCIES = tuple(f"{link}_latency" for link in LINKS)


def from_accelerator(chip: Accelerator) -> Machine:
    """The dense peaks, memory and links that a catalogue row states, and an assumed network port.

    What it does not state is not there. Peaks that only follow from units x clock x rate have origin "derived".
    """
    source = "; ".join(chip.sources) or None
    found = [replace(c, source=source) for c in (*_compute(chip), *_memory(chip), *_links(chip))]
    found.append(_network())
    return Machine(
        name=chip.id,
        title=chip.name,
        ceilings=tuple(found),
        memory_bytes=chip.memory.capacity_bytes,
        peak_basis=f"dense, {chip.peak_basis or 'as stated'}",
        sources=chip.sources,
        notes=(chip.note,) if chip.note else (),
        price_usd_per_hour=chip.price.usd_per_hour if chip.price else None,
        sparse_multipliers={math: times for math in chip.peaks["matrix"] if (times := chip.sparse(math))},
        compute_capability=chip.compute_capability,
        link="nvlink" if chip.scale_up.bytes_per_s_per_direction else "pcie",
        family=_family(chip),
        power_w=chip.tdp_w,
        units=chip.unit_count,
        clock_hz=chip.tensor_clock_hz or chip.boost_clock_hz or chip.base_clock_hz,
        cache_bytes=chip.on_chip.llc_bytes or chip.on_chip.l2_bytes,
        assumed={} if chip.sources else {"machine": "its own figures, without a source"},
    )


def at_clocks(machine: Machine, clock_hz: float | None, memory_bytes_per_s: float | None = None) -> Machine:
    """`machine` as it was while its units ran at `clock_hz`: compute roofs scale with the clock they are stated at.

    memory_bytes_per_s: the peak of its memory at the clock of the run; it replaces the figure of a datasheet, never one
    that was measured. A roof whose own clock is not known stays as it is.
    """
    if not clock_hz and not memory_bytes_per_s:
        return machine
    return replace(
        machine,
        ceilings=tuple(_at(c, clock_hz, c.clock_hz or machine.clock_hz, memory_bytes_per_s) for c in machine.ceilings),
    )


def _at(c: Ceiling, clock_hz: float | None, stated_hz: float | None, memory_bytes_per_s: float | None) -> Ceiling:
    if c.kind == "compute" and clock_hz and stated_hz and c.value:
        times = clock_hz / stated_hz
        return replace(c, value=c.value * times, best=None if c.best is None else c.best * times, clock_hz=clock_hz)
    if c.kind == "memory" and c.level == "main" and c.origin != "measured" and memory_bytes_per_s:
        return replace(c, value=memory_bytes_per_s, best=None, note="at the memory clock of the run")
    return c


def _family(chip: Accelerator) -> str:
    """What kind of chip this is where software reaches other shares of a roof: by maker, and by memory at NVIDIA."""
    maker, kind = (chip.vendor or "").lower(), (chip.memory.kind or "").lower()
    if kind.startswith("gddr"):
        return "gddr"
    return {"nvidia": "hbm", "amd": "cdna"}.get(maker, maker) if kind.startswith("hbm") else maker


def overridden(machine: Machine, assignments: Iterable[str]) -> Machine:
    """`machine` with ceilings replaced by a person's figures, as `memory=2.0TB/s` or `bf16=300TFLOP/s`.

    Keys: memory, capacity, launch, host_launch, nvlink, pcie, network, these three with `_latency`, a dtype, or
    PATH.dtype (`vector.fp32`).
    The new ceilings have origin "assumed", and the machine remembers them so that every answer can repeat them.
    Raises RooflensError for what assigns nothing, a key that is given twice or a rate that is none, Unknown for a key.
    """
    for assignment in assignments:
        key, equals, text = (part.strip() for part in assignment.partition("="))
        if not equals:
            raise RooflensError(f"{assignment!r}: write NAME=VALUE, like memory=2.0TB/s or bf16=300TFLOP/s")
        if key in machine.assumed:
            raise RooflensError(f"{key} is given twice; write it once")
        machine = replace(_override(machine, key, text), assumed={**machine.assumed, key: text})
    return machine


def _override(machine: Machine, key: str, text: str) -> Machine:
    if key == "capacity":
        return replace(machine, memory_bytes=_positive(key, text, "B"))
    if key == "memory":
        return _replaced(machine, "memory", "main", _positive(key, text, "B/s"))
    if key in ("launch", "host_launch"):
        return _replaced(machine, "launch", "host" if key == "host_launch" else "device", parse(text, "s"))
    link, latency, _ = key.partition("_latency")
    if latency and key in LATENCIES:
        return _replaced(machine, "launch", f"link:{link}", parse(text, "s"))
    if key in LINKS:
        changed = _replaced(machine, "link", key, _positive(key, text, "B/s"))
        return changed if machine.link else replace(changed, link=key)
    return _override_compute(machine, key, text)


def _override_compute(machine: Machine, key: str, text: str) -> Machine:
    path, dot, name = key.rpartition(".")
    if (dot and path not in ("matrix", "vector")) or (name not in DTYPES and not name.endswith("_acc16")):
        known = ["memory", "capacity", "launch", "host_launch", *LINKS, *LATENCIES, *DTYPES]
        raise Unknown("ceiling", key, known)
    math = dtype(name).math if name in DTYPES else name
    value = _positive(key, text, "FLOP/s")
    mine = machine.find("compute", dtype=math, path=path or None)
    path = path or (mine[0].path if mine and mine[0].path else "matrix")
    kept = [c for c in machine.ceilings if not (c.kind == "compute" and c.dtype == math and c.path == path)]
    new = Ceiling(f"compute/{path}/{math}", "compute", value, "assumed", dtype=math, path=path)
    return replace(machine, ceilings=(*kept, new))


def _replaced(machine: Machine, kind: Kind, level: str, value: float) -> Machine:
    kept = [c for c in machine.ceilings if not (c.kind == kind and c.level == level)]
    return replace(machine, ceilings=(*kept, Ceiling(f"{kind}/{level}", kind, value, "assumed", level=level)))


def _positive(key: str, text: str, unit: str) -> float:
    value = parse(text, unit)
    if value <= 0:
        raise RooflensError(f"{key}={text}: a ceiling must be above 0")
    return value


def _compute(chip: Accelerator) -> Iterator[Ceiling]:
    for path, peaks in (("matrix", chip.matrix), ("vector", chip.vector)):
        for peak in fields(peaks):
            value = getattr(peaks, peak.name)
            if value is not None:
                roof = Ceiling(
                    f"compute/{path}/{peak.name}", "compute", value, chip.peak_origin, dtype=peak.name, path=path
                )
                yield _scaled(chip, roof) if peak.name == "fp8" else roof


def _scaled(chip: Accelerator, roof: Ceiling) -> Ceiling:
    """GeForce Blackwell multiplies block-scaled fp8 at the rate stated for fp16 accumulation, which a floor must allow.

    Source: cuBLASLt reached 774 TFLOP/s in fp8 on an RTX 5090, whose stated fp32-accumulate rate is 419.
    """
    if chip.arch != "gb20x_geforce" or chip.matrix.fp8_acc16 is None:
        return roof
    return replace(roof, best=chip.matrix.fp8_acc16, note="block-scaled fp8 runs at the fp16-accumulate rate")


def _memory(chip: Accelerator) -> Iterator[Ceiling]:
    if chip.memory.bandwidth_bytes_per_s is not None:
        yield Ceiling("memory/main", "memory", chip.memory.bandwidth_bytes_per_s, chip.origin, level="main")


def _network() -> Ceiling:
    note = f"{show(NETWORK_BYTES_PER_S, 'B/s')} each way: one 400 Gb/s port, which no chip's datasheet knows"
    return Ceiling("link/network", "link", NETWORK_BYTES_PER_S, "assumed", level="network", note=note)


def _links(chip: Accelerator) -> Iterator[Ceiling]:
    note = "one direction"
    if chip.scale_up.bytes_per_s_per_direction is not None:
        rate = chip.scale_up.bytes_per_s_per_direction
        yield Ceiling("link/nvlink", "link", rate, chip.origin, level="nvlink", note=f"{chip.scale_up.kind}, {note}")
    if chip.pcie.bytes_per_s_per_direction is not None:
        rate = chip.pcie.bytes_per_s_per_direction
        yield Ceiling("link/pcie", "link", rate, chip.origin, level="pcie", note=note)
