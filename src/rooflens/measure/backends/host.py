"""What the operating system says about its processor, and how far to believe it."""

from __future__ import annotations

import multiprocessing
import os
import platform
import re
import sys
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from rooflens.measure.processors import allowed
from rooflens.roofline.profile import Cache

ISA = (
    "sse2", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512_vnni", "avx_vnni", "avx512_bf16",
    "avx512_fp16", "amx_tile", "amx_bf16", "amx_int8", "amx_fp16", "asimd", "fphp", "asimdhp", "asimddp", "bf16",
    "i8mm", "sve", "sve2", "sme",
)  # fmt: skip
FORCING = (
    "OPENBLAS_CORETYPE", "MKL_ENABLE_INSTRUCTIONS", "MKL_DEBUG_CPU_TYPE", "MKL_CBWR", "BLIS_ARCH_TYPE",
    "ATEN_CPU_CAPABILITY", "ONEDNN_MAX_CPU_ISA", "DNNL_MAX_CPU_ISA", "NPY_DISABLE_CPU_FEATURES",
)  # fmt: skip
LIMITING = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip
SIXTEEN_BIT_UNITS = {"bf16": ("amx_bf16", "avx512_bf16", "bf16"), "fp16": ("amx_fp16", "avx512_fp16", "asimdhp")}

_CACHES = Path("/sys/devices/system/cpu")
_CGROUP = Path("/sys/fs/cgroup/cpu.max")


def usable_cpus(root: Path = _CGROUP) -> list[int]:
    """The logical CPUs this process may run on, as many as its cgroup's quota allows, one a core first."""
    cpus = allowed()
    quota = cpu_quota(_read(root))
    cpus = one_a_core({cpu: _read(_CACHES / f"cpu{cpu}/topology/thread_siblings_list") for cpu in cpus})
    return cpus if quota is None else cpus[: max(1, int(quota))]


def cpu_quota(text: str) -> float | None:
    """CPUs' worth of time that a cgroup v2 `cpu.max` grants; None for "max" or no such file."""
    match = re.match(r"(\d+)\s+(\d+)", text)
    return int(match[1]) / int(match[2]) if match else None


def one_a_core(siblings: Mapping[int, str]) -> list[int]:
    """The first logical CPU of every core: a second hardware thread adds no bandwidth and no arithmetic."""
    seen: set[str] = set()
    kept = []
    for cpu, core in siblings.items():
        if not core or core not in seen:
            kept.append(cpu)
        seen.add(core)
    return kept


@cache
def cpuinfo() -> dict[str, str]:
    """The first processor's lines of /proc/cpuinfo; empty where there is none."""
    pairs = (line.partition(":") for line in _read(Path("/proc/cpuinfo")).partition("\n\n")[0].splitlines())
    return {key.strip().lower(): value.strip() for key, _, value in pairs}


def name() -> str:
    """What the processor calls itself."""
    info = cpuinfo()
    found = info.get("model name") or info.get("hardware") or platform.processor() or platform.machine()
    return re.sub(r"\s+", " ", re.sub(r"\((R|TM|r|tm)\)", "", found)).strip() or "CPU"


def isa() -> tuple[str, ...]:
    """The instruction sets that matter here, of those the system shows."""
    info = cpuinfo()
    flags = set((info.get("flags") or info.get("features") or "").split())
    return tuple(flag for flag in ISA if flag in flags)


def native_sixteen_bit(flags: Iterable[str]) -> tuple[str, ...]:
    """The 16-bit types this processor has arithmetic for."""
    have = set(flags)
    return tuple(dtype for dtype, units in SIXTEEN_BIT_UNITS.items() if have & set(units))


def caches(cpus: Iterable[int]) -> tuple[Cache, ...]:
    """Data caches of these CPUs as the system shows them, the nearest first."""
    found: dict[int, dict[str, float]] = {}
    for cpu in cpus:
        for index in sorted((_CACHES / f"cpu{cpu}/cache").glob("index*")):
            if _read(index / "type") in ("Data", "Unified") and (size := cache_bytes(_read(index / "size"))):
                found.setdefault(int(_read(index / "level") or 0), {})[_read(index / "shared_cpu_list")] = size
    return tuple(Cache(f"L{level}", max(sizes.values()), len(sizes)) for level, sizes in sorted(found.items()) if level)


def cache_bytes(text: str) -> float:
    """Bytes of the kernel's "512K"; 0 when it says nothing."""
    match = re.fullmatch(r"(\d+)([KMG]?)", text)
    return int(match[1]) * 1024.0 ** " KMG".index(match[2] or " ") if match else 0.0


def virtualised() -> bool | None:
    """Whether a hypervisor stands between; None where that cannot be told."""
    flags = cpuinfo().get("flags")
    return None if flags is None else "hypervisor" in flags.split()


def hypervisor() -> str | None:
    """Who made the virtual machine, as its firmware says."""
    return _read(Path("/sys/class/dmi/id/sys_vendor")) or _read(Path("/sys/hypervisor/type")) or None


def started_by(pid: int) -> int | None:
    """The process that started another one; None where it has ended or the system does not tell."""
    found = re.search(r"^PPid:\s*(\d+)", _read(Path(f"/proc/{pid}/status")), re.MULTILINE)
    return int(found[1]) if found else None


def of_this_run(pid: int) -> bool:
    """Whether a process is this one, one that it started, or the one (or another by it) that started it to measure."""
    parent = multiprocessing.parent_process()
    ours = {os.getpid(), *([parent.pid] if parent else [])}
    return pid in ours or started_by(pid) in ours


def memory_bytes() -> float | None:
    """Memory this process may use: the machine's, or its cgroup's limit where that is lower."""
    import psutil

    limit = _read(Path("/sys/fs/cgroup/memory.max"))
    total = float(psutil.virtual_memory().total)
    return min(total, float(limit)) if limit.isdigit() else total


def clock_limit_hz() -> float | None:
    """The highest clock the system promises; virtual machines often promise none."""
    khz = _read(_CACHES / "cpu0/cpufreq/cpuinfo_max_freq")
    return 1e3 * int(khz) if khz.isdigit() else None


def distrust(environment: Mapping[str, str], *, virtual: bool | None, shown_cache_bytes: float | None) -> list[str]:
    """Sentences, each a reason to doubt what this machine shows of itself."""
    reasons = []
    if virtual:
        shown = f" of {shown_cache_bytes / 2**20:.0f} MiB" if shown_cache_bytes else ""
        reasons.append(f"virtual machine: the cache{shown} it shows may not be its own, nor its clock steady")
    forced = [f"{v}={environment[v]}" for v in FORCING if environment.get(v)]
    limited = [f"{v}={environment[v]}" for v in LIMITING if environment.get(v)]
    reasons += [f"{setting} forces the library's kernel: unset it for the real roof" for setting in forced]
    reasons += [f"{setting} limits the library's threads before measuring sets them" for setting in limited]
    if not sys.platform.startswith("linux"):
        reasons.append("not Linux: threads are not pinned, and contention is seen through CPU time alone")
    return reasons


def pressure() -> float | None:
    """Share of the last ten seconds in which some task waited for a CPU; None where the kernel does not tell."""
    match = re.search(r"some avg10=([\d.]+)", _read(Path("/proc/pressure/cpu")))
    return float(match[1]) / 100 if match else None


def involuntary_switches() -> int | None:
    """How often this process was switched out while it wanted to run; None where the system does not count."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrusage(resource.RUSAGE_SELF).ru_nivcsw


def waited_s() -> float | None:
    """Seconds that this process's living threads stood in line for a CPU; None where the kernel does not tell."""
    lines = [_read(task / "schedstat").split() for task in Path("/proc/self/task").glob("*")]
    waits = [int(fields[1]) for fields in lines if len(fields) > 1]
    return sum(waits) / 1e9 if waits else None


def steal_s(cpus: Iterable[int]) -> float | None:
    """CPU seconds that the hypervisor gave to others on these CPUs since the start."""
    wanted = {f"cpu{cpu}" for cpu in cpus}
    ticks = [line.split() for line in _read(Path("/proc/stat")).splitlines()]
    mine = [int(fields[8]) for fields in ticks if fields and fields[0] in wanted and len(fields) > 8]
    return sum(mine) / os.sysconf("SC_CLK_TCK") if mine else None


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
