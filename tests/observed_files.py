"""Files as profilers and benchmarks write them, small ones made here: what tests of the readers share."""

from __future__ import annotations

import csv
import gzip
import io
import json
from pathlib import Path

from rooflens import readers

DATA = Path(__file__).parent / "data"
TRACE = DATA / "h200_llama_two_layers.json.gz"  # two layers of a Llama, one prefill of 512 tokens and two decode steps
COUNTERS = DATA / "h200_ncu_roofline.csv.gz"  # 26 kernels of CuPy, ncu --set roofline, the columns that are read


def observed(tmp_path, text, name="file"):
    """What the readers say of a file with this text or these bytes."""
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return readers.observed(path)


def packed(data):
    """Gzipped, without a time in it."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as file:
        file.write(data)
    return out.getvalue()


def quoted(*rows):
    """Rows as ncu writes CSV."""
    out = io.StringIO()
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue()


def ncu_wide(metrics, *, name="a_kernel", cc="8.0", units=True):
    """A raw page with one kernel: {metric: (unit, cell)}."""
    head = ("ID", "Kernel Name", "Device", "CC", *metrics)
    unit_row = [("", "", "", "", *(unit for unit, _ in metrics.values()))] if units else []
    return quoted(head, *unit_row, ("0", name, "0", cc, *(cell for _, cell in metrics.values())))


LONG = ("ID", "Process ID", "Kernel Name", "Block Size", "Grid Size", "Device", "CC", "Section Name", "Metric Name",
        "Metric Unit", "Metric Value", "Rule Name", "Rule Type")  # fmt: skip
SOL = "GPU Speed Of Light Throughput"


def ncu_long(*kernels):
    """A details page: for each kernel a name and rows (section, metric, unit, cell)."""
    rows = [
        (str(i), "7", name, "(256, 1, 1)", "(64, 2, 1)", "0", "8.0", *row, "", "")
        for i, (name, metrics) in enumerate(kernels)
        for row in metrics
    ]
    return "==PROF== Connected to process 7\n" + quoted(LONG, *rows)


def kernel(name, ts, dur, *, corr=-1, ext=None, pid=0, **args):
    """A kernel of a trace."""
    ids = {"correlation": corr, **({} if ext is None else {"External id": ext})}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": pid, "tid": 7, "ts": ts, "dur": dur,
            "args": {"device": 0, "stream": 7, "grid": [64, 1, 1], "block": [128, 1, 1], **ids, **args}}  # fmt: skip


def launch(ts, dur, corr, name="cudaLaunchKernel", tid=1):
    """A call of the host."""
    return {"ph": "X", "cat": "cuda_runtime", "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur,
            "args": {"correlation": corr}}  # fmt: skip


def op(name, ts, dur, shapes=None, types=None, values=None, *, tid=1, ext=None):
    """An operator of the host."""
    args = {} if shapes is None else {"Input Dims": shapes, "Input type": types or ["c10::BFloat16"] * len(shapes)}
    args |= {} if values is None else {"Concrete Inputs": values}
    args |= {} if ext is None else {"External id": ext}
    return {"ph": "X", "cat": "cpu_op", "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": args}


def span(name, ts, dur, tid=1):
    """An annotation of the user."""
    return {"ph": "X", "cat": "user_annotation", "name": name, "pid": 9, "tid": tid, "ts": ts, "dur": dur, "args": {}}


def trace(*events, **facts):
    """A trace of these events."""
    return json.dumps({"schemaVersion": 1, **facts, "traceEvents": list(events)}, indent=1)
