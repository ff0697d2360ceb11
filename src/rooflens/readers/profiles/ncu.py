"""Nsight Compute as CSV (`ncu --csv`, any page and form), with the lines that the tool prints above it."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from rooflens.errors import BadFile, RooflensError
from rooflens.readers.figures import whole
from rooflens.readers.profiles.ncu_metrics import kernel_of
from rooflens.readers.profiles.ncu_table import Row, is_header, plain, rows
from rooflens.roofline.observed import Device, Kernel, Observed

EXPORT = "export it with: ncu --import REPORT.ncu-rep --csv --page raw > FILE.csv"
_SAID = re.compile(r"==(?:PROF|ERROR|WARNING|LOG)==")
MOST_KERNELS = 100_000
_LINES_BEFORE = 200_000  # what a program prints before its table


def csv(lines: Iterable[str], where: str) -> Observed:
    """The kernels of an export, one a row.

    Raises RooflensError when the tool had no permission or saw no kernel, BadFile when there is no table.
    """
    said: list[str] = []
    return observed(rows(_from_header(iter(lines), said, where), where), where, "ncu-csv", said)


def observed(found: Iterable[Row], where: str, kind: str, said: Iterable[str]) -> Observed:
    """The kernels of these rows and the devices they ran on. Raises BadFile when there are none."""
    kernels: list[Kernel] = []
    devices: dict[int | None, Device] = {}
    for row in itertools.islice(found, MOST_KERNELS):
        kernel = kernel_of(row)
        kernels.append(kernel)
        if kernel.device not in devices:
            devices[kernel.device] = device_of(row, kernel)
    if not kernels:
        raise BadFile(where, ["its table has no kernels; did the profiler's filters leave any?"])
    on = tuple(devices.values())
    beyond = (f"only the first {MOST_KERNELS} kernels were read",) if len(kernels) == MOST_KERNELS else ()
    return Observed(where, kind, tuple(kernels), devices=on, warnings=(*beyond, *warnings(kernels, said)))


def _from_header(lines: Iterator[str], said: list[str], where: str) -> Iterator[str]:
    for count, line in enumerate(lines):
        if is_header(line):
            yield line.lstrip("\ufeff")
            yield from (rest + "\n" for rest in lines)
            return
        if _SAID.match(line):
            said.append(line)
        if count > _LINES_BEFORE:
            break
    raise _no_table("\n".join(said), where)


def _no_table(said: str, where: str) -> RooflensError:
    if "ERR_NVGPUCTRPERM" in said:
        return RooflensError(
            f"{where}: ncu had no permission to read the GPU's counters, so it holds no kernels; run it as "
            "administrator, or let users profile (driver option NVreg_RestrictProfilingToAdminUsers=0), and again"
        )
    if "No kernels were profiled" in said:
        return RooflensError(f"{where}: ncu profiled no kernel; check its filters (-k, -s, -c) and profile again")
    error = re.search(r"==ERROR== (.{1,200})", said)
    why = f"ncu stopped with: {error[1]}" if error else f"it holds no table of Nsight Compute; {EXPORT}"
    return BadFile(where, [why])


def warnings(kernels: Sequence[Kernel], said: Iterable[str]) -> tuple[str, ...]:
    """What a reader of these kernels should know: the clocks they ran at, and what nobody collected."""
    out = []
    if not any("unmodified GPU clocks" in line for line in said) and any(kernel.clock_hz for kernel in kernels):
        out.append("ncu locks the clocks to base unless told not to: compare with roofs at clock_hz, not at boost")
    for field in ("time_s", "bytes", "flops", "vector_flops"):
        reasons = [kernel.missing[field] for kernel in kernels if field in kernel.missing]
        if reasons:
            out.append(f"{field} of {len(reasons)} of {len(kernels)} kernels: unavailable, {reasons[0]}")
    return tuple(out)


def device_of(row: Row, kernel: Kernel) -> Device:
    """What a row says of its device. Its bandwidth: of the memory at the clock of the run."""
    metrics, attribute = row.metrics, "device__attribute_"
    return Device(
        row.texts.get(attribute + "display_name"),
        kernel.device,
        row.facts.get("CC"),
        whole(metrics.get(attribute + "multiprocessor_count")),
        plain(metrics.get(attribute + "total_memory")),
        kernel.peaks.get("memory"),
        kernel.clock_hz,
    )
