"""How long a large PyTorch trace takes to read, and in how much memory: one is made, read, and gzipped and read again.

python benchmarks/traces.py [EVENTS] [--gzip]      5,000,000 events are about a gigabyte
python benchmarks/traces.py EVENTS --analyser PYTHON

--analyser: an interpreter in which HolisticTraceAnalysis is installed; it reads the same file, after us, in a process
of its own. It makes a table of all events, where we add up kernels as they come: the two do not answer the same.
"""

from __future__ import annotations

import gzip
import json
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EVENTS = 5_000_000
PART = 5000
OPERATORS = (
    ("aten::mm", "[[1, 4096], [4096, 14336]]", ("c10::BFloat16", "c10::BFloat16")),
    ("aten::add", "[[1, 512, 4096], [1, 512, 4096], []]", ("c10::BFloat16", "c10::BFloat16", "Scalar")),
    ("aten::silu", "[[1, 512, 14336]]", ("c10::BFloat16",)),
)
GROUP = """  {{"ph": "X", "cat": "cpu_op", "name": "{op}", "pid": 594, "tid": 594, "ts": {t:.3f}, "dur": 18.541,
    "args": {{"External id": {i}, "Input type": {types}, "Input Dims": {shapes}}}}},
  {{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 594, "tid": 594, "ts": {called:.3f},
    "dur": 4.5, "args": {{"External id": {i}, "cbid": 211, "correlation": {i}}}}},
  {{"ph": "X", "cat": "kernel", "name": "void kernel_{k}<float, 4>(int)", "pid": 0, "tid": 7, "ts": {began:.3f},
    "dur": 3.904, "args": {{"External id": {i}, "device": 0, "stream": 7, "correlation": {i},
      "registers per thread": 32, "shared memory": 0, "grid": [512, 2, 1], "block": [256, 1, 1]}}}},
  {{"ph": "s", "id": {i}, "pid": 594, "tid": 594, "ts": {called:.3f}, "cat": "ac2g", "name": "ac2g"}},
  {{"ph": "f", "id": {i}, "pid": 0, "tid": 7, "ts": {began:.3f}, "cat": "ac2g", "name": "ac2g", "bp": "e"}}"""


def write(path: Path, events: int) -> None:
    """A trace of this many events: operators, their launches, kernels, and the arrows between them."""
    with path.open("w", encoding="utf-8") as file:
        file.write('{"schemaVersion": 1, "deviceProperties": [], "traceEvents": [\n')
        for first in range(0, events // 5, PART):
            numbers = range(first, min(first + PART, events // 5))
            file.write((",\n" if first else "") + ",\n".join(group(i) for i in numbers))
        file.write("\n]}\n")


def group(i: int) -> str:
    """One operator and what follows from it."""
    op, shapes, types = OPERATORS[i % len(OPERATORS)]
    t = 5105417279406.524 + 25 * i
    written = json.dumps(types)
    return GROUP.format(i=i, k=i % 200, op=op, shapes=shapes, types=written, t=t, called=t + 5, began=t + 12)


def report(path: Path) -> None:
    """Reads the file and says what it took."""
    from rooflens import readers

    began, busy = time.perf_counter(), time.process_time()
    found = readers.observed(path)
    seconds, own = time.perf_counter() - began, time.process_time() - busy
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    beside = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(f"{path.name}: {path.stat().st_size / 1e6:.0f} MB in {seconds:.1f} s ({own:.1f} s of this process); "
          f"memory {peak / 1e3:.0f} MB + {beside / 1e3:.0f} MB beside; {len(found.kernels)} kinds of kernels, "
          f"{found.time_s:.6f} s on the device")  # fmt: skip


ANALYSER = """
import resource, sys, time
from hta.common.trace import Trace
began = time.perf_counter()
trace = Trace(trace_files={0: sys.argv[1]}, trace_dir="")
trace.parse_traces(use_multiprocessing=False)
print(time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(trace.get_trace(0)))
"""


def analyser(python: str, path: Path) -> None:
    """What the common analyser takes for the same file; its imports are not counted."""
    command = [python, "-c", ANALYSER, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=path.parent)
    if done.returncode:
        print(f"HolisticTraceAnalysis ended with: {done.stderr.strip().splitlines()[-1:]}")
        return
    seconds, peak, events = done.stdout.split()[-3:]
    print(f"HolisticTraceAnalysis: {float(seconds):.1f} s; memory {float(peak) / 1e3:.0f} MB; {events} events")


def main() -> None:
    """Makes the trace beside nothing of anybody's, and reads it."""
    other = sys.argv[sys.argv.index("--analyser") + 1] if "--analyser" in sys.argv[:-1] else None
    numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.json"
        write(path, int(numbers[0]) if numbers else EVENTS)
        if "--gzip" in sys.argv:
            packed = path.with_suffix(".json.gz")
            with path.open("rb") as plain, gzip.open(packed, "wb", compresslevel=1) as out:
                shutil.copyfileobj(plain, out, 1 << 20)
            path = packed
        report(path)
        if other is not None:
            analyser(other, path)


if __name__ == "__main__":
    main()
