"""The counters of Nsight Compute as a kernel: amounts from sums, rates or averages, whichever the file holds.

- Bytes of main memory: dram__bytes, else read + write, else sectors of 32 bytes, else the rate x the time.
- Vector FLOPs: thread instructions; add and mul are 1, fma 2; of packed halves add and mul 2, fma 4 (at most: an
  instruction on a single half counts as if it were packed).
- Tensor FLOPs: sm__ops_path_tensor_src_*; totals and their parts by accumulator or sparsity are not added up. With
  sparsity on, operations count the zeros that were skipped, as sparse peaks do.
Where an amount was not collected, the kernel says which counter to collect.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from rooflens.readers.figures import whole
from rooflens.readers.profiles.kernel_names import said
from rooflens.readers.profiles.ncu_table import PCT, Row, known, plain
from rooflens.records import replace
from rooflens.roofline.observed import Kernel, Launch, Unit

SECTOR_BYTES = 32
VOLTA_FLOPS = 512  # of one tensor instruction of a warp on compute capability 7.0
VECTOR = {"d": "fp64", "f": "fp32", "h": "fp16"}
_INST = "smsp__sass_thread_inst_executed_op_{}_pred_on"
_WORTH = {"add": 1, "mul": 1, "fma": 2}
_PACKED = {"d": 1, "f": 1, "h": 2}
_TENSOR = re.compile(
    r"(?:sm|smsp)__ops_path_tensor(?:_op_(?P<op>[a-z]+))?_src_(?P<src>fp4_fp6|[a-z]+\d+)"
    r"(?:_dst_(?P<dst>[a-z]+\d+))?(?:_sparsity_(?P<sparsity>on|off))?"
)
_SHARES: dict[str, tuple[str, ...]] = {
    "compute": ("sm__throughput" + PCT,),
    "memory": ("gpu__compute_memory_throughput" + PCT,),
    "dram": ("gpu__dram_throughput" + PCT, "dram__throughput" + PCT),
    "l2": ("lts__throughput" + PCT,),
    "l1": ("l1tex__throughput.avg.pct_of_peak_sustained_active", "l1tex__throughput" + PCT),
    "tensor": ("sm__pipe_tensor_cycles_active" + PCT, "sm__inst_executed_pipe_tensor" + PCT),
    "occupancy": ("sm__warps_active.avg.pct_of_peak_sustained_active",),
}
_TIME = ("gpu__time_duration.sum", "gpu__time_duration.max", "gpu__time_duration.avg", "gpu__time_duration",
         "gpu__time_active.sum", "gpu__time_active.avg")  # fmt: skip
_CLOCK = ("sm__cycles_elapsed.avg.per_second", "smsp__cycles_elapsed.avg.per_second",
          "gpc__cycles_elapsed.avg.per_second", "l1tex__cycles_elapsed.avg.per_second")  # fmt: skip
_CYCLES = ("sm__cycles_elapsed.avg", "smsp__cycles_elapsed.avg", "sm__cycles_elapsed.max", "smsp__cycles_elapsed.max",
           "gpc__cycles_elapsed.max", "gpc__cycles_elapsed.avg")  # fmt: skip


_COLLECT = {
    "time_s": "gpu__time_duration.sum",
    "bytes": "dram__bytes.sum (ncu --set roofline, or --section MemoryWorkloadAnalysis)",
    "flops": "sm__ops_path_tensor_src_*.sum (ncu --set roofline)",
    "vector_flops": "smsp__sass_thread_inst_executed_op_*_pred_on.sum (ncu --set roofline)",
}


def kernel_of(row: Row) -> Kernel:
    """The kernel of one row of an export."""
    metrics, name = row.metrics, row.facts.get("Kernel Name") or "(no name)"
    time_s = _time_s(metrics)
    each = _Amounts(metrics, time_s)
    tensor, vector, memory = each.tensor(row.facts.get("CC")), each.vector(), each.memory()
    amounts = {"time_s": time_s, "bytes": memory, "flops": _total(tensor), "vector_flops": _total(vector)}
    reasons = {name: _why(amount, _COLLECT[name]) for name, amount in amounts.items()}
    times = row.calls
    made = Kernel(
        name,
        calls=times,
        time_s=_times(plain(time_s), times),
        flops=None if tensor is None else {k: v * times for k, v in tensor.items() if v},
        vector_flops=None if vector is None else {k: v * times for k, v in vector.items() if v},
        flops_origin="unknown" if tensor is None and vector is None else "counted",
        bytes=_times(plain(memory), times),
        bytes_origin="unknown" if plain(memory) is None else "counted",
        read_bytes=_times(plain(each.dram("read")), times),
        write_bytes=_times(plain(each.dram("write")), times),
        cache_bytes={k: v * times for k, v in each.caches().items()},
        clock_hz=plain(known(metrics, *_CLOCK)),
        memory_clock_hz=plain(known(metrics, "dram__cycles_elapsed.avg.per_second")),
        shares=_shares(metrics),
        peaks=_peaks(metrics),
        device=whole(row.facts.get("Device")),
        stream=whole(row.facts.get("Stream")),
        launch=_launch(row),
        missing={k: v for k, v in reasons.items() if v is not None},
        notes=each.notes(),
    )
    return _with_math(made, metrics)


def _total(flops: Mapping[str, float] | None) -> float | None:
    return None if flops is None else sum(flops.values())


def _why(amount: float | None, collect: str) -> str | None:
    """The reason that there is no number; None when there is one."""
    if amount is None:
        return f"not in the file: collect {collect}"
    return None if math.isfinite(amount) else "the file says that it is not a number"


def _times(value: float | None, calls: int) -> float | None:
    return None if value is None else value * calls


def _time_s(metrics: Mapping[str, float]) -> float | None:
    said_s = known(metrics, *_TIME)
    if said_s is not None:
        return said_s
    cycles, clock = known(metrics, *_CYCLES), known(metrics, *_CLOCK)
    return cycles / clock if cycles is not None and clock else None


class _Amounts:
    """Amounts of one call, whichever way they were collected."""

    def __init__(self, metrics: Mapping[str, float], time_s: float | None) -> None:
        self.metrics, self.time_s = metrics, time_s
        clock = known(metrics, *_CLOCK)
        self.cycles = known(metrics, *_CYCLES)
        if self.cycles is None and clock is not None and time_s is not None:
            self.cycles = clock * time_s
        self.uncounted: list[str] = []

    def sum(self, base: str) -> float | None:
        """The sum over the device: as such, or the rate x time, or the rate x cycles."""
        found = known(self.metrics, base + ".sum", base)
        if found is not None:
            return found
        rate = known(self.metrics, base + ".sum.per_second")
        if rate is not None and self.time_s is not None:
            return rate * self.time_s
        each = known(self.metrics, base + ".sum.per_cycle_elapsed")
        return each * self.cycles if each is not None and self.cycles is not None else None

    def dram(self, way: str) -> float | None:
        """Bytes read from or written to main memory."""
        for base in (f"dram__bytes_{way}", f"fbpa__dram_{way}_bytes"):
            if (found := self.sum(base)) is not None:
                return found
        for base in (f"dram__sectors_{way}", f"fbpa__dram_{way}_sectors"):
            if (found := self.sum(base)) is not None:
                return found * SECTOR_BYTES
        return None

    def memory(self) -> float | None:
        """Bytes to and from main memory."""
        found = self.sum("dram__bytes")
        if found is not None:
            return found
        both = self.dram("read"), self.dram("write")
        if both[0] is not None and both[1] is not None:
            return both[0] + both[1]
        sectors = self.sum("dram__sectors")
        return None if sectors is None else sectors * SECTOR_BYTES

    def caches(self) -> dict[str, float]:
        """Bytes that the L2 and L1 caches served."""
        l2 = self.sum("lts__t_bytes")
        if l2 is None:
            sectors = [self.sum(f"lts__t_sectors_op_{way}") for way in ("read", "write", "atom", "red")]
            there = [n for n in sectors if n is not None]
            l2 = sum(there) * SECTOR_BYTES if sectors[0] is not None and sectors[1] is not None else None
        if l2 is None and (all_sectors := self.sum("lts__t_sectors")) is not None:
            l2 = all_sectors * SECTOR_BYTES
        found = {"L2": plain(l2), "L1": plain(self.sum("l1tex__t_bytes"))}
        return {level: value for level, value in found.items() if value is not None}

    def vector(self) -> dict[str, float] | None:
        """FLOPs on the vector units by format; None when nobody counted any."""
        out: dict[str, float] = {}
        for letter, dtype in VECTOR.items():
            counts = {op: self._instructions(letter + op) for op in _WORTH}
            there = {op: n for op, n in counts.items() if n is not None and math.isfinite(n)}
            if there:
                out[dtype] = sum(n * _WORTH[op] * _PACKED[letter] for op, n in there.items())
                self.uncounted += [letter + op for op in _WORTH if op not in there]
        return out or None

    def _instructions(self, op: str) -> float | None:
        for domain in ("smsp", "sm"):
            found = self.sum(_INST.format(op).replace("smsp", domain))
            if found is not None:
                return found
        return None

    def tensor(self, capability: str | None) -> dict[str, float] | None:
        """FLOPs on the tensor units by what is multiplied; None when nobody counted any."""
        ways: dict[str, dict[tuple[bool, bool, bool], float]] = {}
        for base in {name.partition(".sum")[0] for name in self.metrics if "__ops_path_tensor" in name}:
            found, amount = _TENSOR.fullmatch(base), self.sum(base)
            if found and amount is not None and math.isfinite(amount):
                sort = found["op"] is not None, found["dst"] is not None, found["sparsity"] is not None
                of = ways.setdefault(_format(found["src"]), {})
                of[sort] = of.get(sort, 0.0) + amount
        if ways:  # each way of dividing is whole by itself: the largest is the one without gaps
            return {src: max(each.values()) for src, each in ways.items()}
        return self._by_instructions(capability)

    def _by_instructions(self, capability: str | None) -> dict[str, float] | None:
        count = self.sum("sm__inst_executed_pipe_tensor")
        if count is None:
            count = self.sum("sm__inst_executed_pipe_tensor_op_hmma")
        if count == 0:
            return {}
        return {"fp16": count * VOLTA_FLOPS} if count is not None and capability == "7.0" else None

    def notes(self) -> tuple[str, ...]:
        """What the counts leave out."""
        gone = [op for op in self.uncounted if op[1:] != "fma"]
        return (f"vector FLOPs leave out {', '.join(gone)}: not collected",) if gone else ()


def _format(src: str) -> str:
    return "fp4" if src == "fp4_fp6" else src


def _with_math(kernel: Kernel, metrics: Mapping[str, float]) -> Kernel:
    """The kernel with the math that its counters show, or else what its name says."""
    tensor, vector, named = kernel.flops or {}, kernel.vector_flops or {}, said(kernel.name)
    dtype: str | None = max(tensor, key=lambda d: tensor[d]) if any(tensor.values()) else None
    unit: Unit | None = "matrix" if dtype else None
    if dtype is None and any(vector.values()):
        moves = _only_moves(metrics) and vector.get("fp32", 0.0) > 0
        dtype, unit = "fp32" if moves else max(vector, key=lambda d: vector[d]), "vector"
    if kernel.flops_origin == "unknown" or (kernel.flops is None and named.unit == "matrix"):
        dtype, unit = named.dtype, named.unit  # nobody counted its tensor operations, its name says that it has some
    accumulate, sparse = _accumulate(metrics), _sparse(metrics)
    if accumulate is None and dtype == named.dtype:
        accumulate = named.accumulate
    note = ("fp16 vector FLOPs are at most this: halves' fma also moves constants",) if _only_moves(metrics) else ()
    accumulate = accumulate if unit == "matrix" else None
    return replace(kernel, dtype=dtype, unit=unit, accumulate=accumulate, sparse=sparse, notes=(*kernel.notes, *note))


def _only_moves(metrics: Mapping[str, float]) -> bool:
    """Whether all that halves do is fma: compilers load constants with it, so perhaps nothing was computed."""
    each = _Amounts(metrics, _time_s(metrics))
    fma, others = each.sum(_INST.format("hfma")), [each.sum(_INST.format(op)) for op in ("hadd", "hmul")]
    return bool(fma) and not any(others)


def _parts(metrics: Mapping[str, float], part: str) -> dict[str, float]:
    """Tensor operations by one part of the counter's name, where it has that part."""
    out: dict[str, float] = {}
    for name, value in metrics.items():
        base, dot, rate = name.partition(".sum")
        found = _TENSOR.fullmatch(base) if dot and value > 0 and "peak" not in rate else None
        if found and found[part] is not None:
            out[found[part]] = out.get(found[part], 0.0) + value
    return out


def _accumulate(metrics: Mapping[str, float]) -> str | None:
    found = _parts(metrics, "dst")
    return max(found, key=lambda d: found[d]) if found else None


def _sparse(metrics: Mapping[str, float]) -> bool | None:
    found = _parts(metrics, "sparsity")
    return found.get("on", 0.0) > found.get("off", 0.0) if found else None


def _shares(metrics: Mapping[str, float]) -> dict[str, float]:
    found = {share: plain(known(metrics, *names)) for share, names in _SHARES.items()}
    return {share: value for share, value in found.items() if value is not None}


def _peaks(metrics: Mapping[str, float]) -> dict[str, float]:
    """Rates at the clocks of the run: main memory in byte/s, tensor and vector units in FLOP/s."""
    clock = known(metrics, *_CLOCK) or 0.0
    found: dict[str, float | None] = {
        "memory": (known(metrics, "dram__bytes.sum.peak_sustained") or 0.0)
        * (known(metrics, "dram__cycles_elapsed.avg.per_second") or 0.0)
    }
    for letter, dtype in VECTOR.items():
        each = known(metrics, f"sm__sass_thread_inst_executed_op_{letter}fma_pred_on.sum.peak_sustained")
        found[f"vector {dtype}"] = (each or 0.0) * 2 * _PACKED[letter] * clock
    for name, value in metrics.items():
        if name.endswith(".sum.peak_sustained_elapsed.per_second") and "__ops_path_tensor" in name:
            tensor = _TENSOR.fullmatch(name.partition(".sum")[0])
            if tensor and (tensor["sparsity"] == "off" or tensor["src"] == "fp64"):  # of the others: the sparse peak
                key = _format(tensor["src"])
                found[key] = max(found.get(key) or 0.0, value)
    return {key: value for key, value in found.items() if plain(value) and value}


def _launch(row: Row) -> Launch | None:
    grid, block = _sizes(row.facts.get("Grid Size")), _sizes(row.facts.get("Block Size"))
    metrics = row.metrics
    grid = grid or tuple(int(metrics[f"launch__grid_dim_{d}"]) for d in "xyz" if f"launch__grid_dim_{d}" in metrics)
    block = block or tuple(int(metrics[f"launch__block_dim_{d}"]) for d in "xyz" if f"launch__block_dim_{d}" in metrics)
    registers = whole(metrics.get("launch__registers_per_thread"))
    return Launch(grid, block, registers) if grid or block or registers is not None else None


def _sizes(cell: str | None) -> tuple[int, ...]:
    """`(2304, 1, 1)`, or `2304x1x1`, as sizes."""
    return tuple(int(n) for n in re.findall(r"\d{1,12}", cell or "")[:3])
