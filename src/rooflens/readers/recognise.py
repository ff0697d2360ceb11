"""Which kind of file something is, by what is in it; its name says nothing."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rooflens.errors import RooflensError
from rooflens.readers.benches import lenient, llama_bench, matmul_tests, memory_tests, nccl_tests, nvbandwidth, serving
from rooflens.readers.content import Content
from rooflens.readers.profiles import ncu, ncu_rep, ncu_table, nsys_sqlite, nsys_stats, rocprof, torch_trace
from rooflens.roofline.observed import Observed

Reader = Callable[[Content], Observed]
PROFILES = ("Nsight Compute (CSV, .ncu-rep)", "PyTorch traces (.json, .json.gz)", "Nsight Systems (sqlite, stats)",
            "rocprof (CSV)")  # fmt: skip
BENCHES = ("llama-bench (JSON, CSV, SQL, markdown)", "vLLM and SGLang serving results (JSON, text)", "nccl-tests",
           "nvbandwidth", "mamf-finder", "BabelStream")  # fmt: skip
_TRACE = re.compile(r'"(traceEvents|deviceProperties|distributedInfo|ph)"\s*:')
_JSON = re.compile(r'\s*(?:\{\s*(?:["}]|$)|\[\s*(?:[\[{"\]]|$))')
_BELOW = re.compile(r"^(?:[\[{]\s*$|\[?\{\")", re.MULTILINE)
_RESULTS = re.compile(r"\"(avg_ts|nvbandwidth|output_throughput|mean_ttft_ms|requests_per_second|prefill_throughput)\"")
_COLOURS = re.compile(r"\x1b\[[\d;]{0,20}[A-Za-z]")
_MOST_JSON = 64 << 20
_OTHERS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"Section: GPU Speed Of Light|Section: Command line profiler metrics"),
     f"is what ncu prints for people; profile again with --csv --page raw, or {ncu.EXPORT}"),
    (re.compile(r"^version https://git-lfs", re.MULTILINE), "is a pointer of Git LFS; fetch the file itself"),
    (re.compile(r"<!DOCTYPE html|<html", re.IGNORECASE), "is a page of the web; download the file itself"),
)  # fmt: skip


def reader(content: Content) -> Reader:
    """The reader of this file. Raises RooflensError, saying what is read, for a kind that nobody here knows."""
    found = _binary(content) if not content.is_text or content.head.startswith("NVR") else None
    found = found or (_json(content) if _JSON.match(content.head) else _text(_plain(content.head)) or _later(content))
    if found is None:
        raise RooflensError(f"{content.where}{_why_not(content)}")
    return found


def is_profiler(found: Reader) -> bool:
    """Whether what it reads are kernels of a profiler, and no benchmark's figures."""
    return found in (ncu_rep.report, nsys_sqlite.database, torch_trace.trace, *_TABLES)


def _why_not(content: Content) -> str:
    said = next((f" {why}" for pattern, why in _OTHERS if pattern.search(content.head)), None)
    what = "is no profile or benchmark that is known here"
    if not content.is_text:
        what = "is a binary file of another kind (export an .nsys-rep with: nsys export --type sqlite FILE)"
    return said or f" {what}; read are: {', '.join((*PROFILES, *BENCHES))}"


def _binary(content: Content) -> Reader | None:
    raw = content.head.encode("latin-1", errors="replace")
    if raw.startswith(ncu_rep.MAGIC):
        return ncu_rep.report
    if raw.startswith(nsys_sqlite.MAGIC):
        return nsys_sqlite.database
    if raw.startswith(b"PK\x03\x04"):
        raise RooflensError(f"{content.where} is a zip archive; unpack it and name a file of it")
    return None


def _json(content: Content) -> Reader:
    """A trace where the beginning looks like one, or it is too large for anything else."""
    return torch_trace.trace if _TRACE.search(content.head) or content.size > _MOST_JSON else _small_json


def _small_json(content: Content) -> Observed:
    return _results(_decoded(content), content.where)


def _results(text: str, where: str) -> Observed:
    found, faults = lenient.values(text, where)
    records = lenient.records(found)
    if any("nvbandwidth" in record for record in records):
        return nvbandwidth.from_json(next(r for r in records if "nvbandwidth" in r), where)
    if any(llama_bench.is_row(record) for record in records):
        return llama_bench.from_records(records, where, faults)
    if any(serving.is_result(record) for record in records):
        return serving.from_records(records, where, faults)
    raise RooflensError(
        f"{where} is JSON of no profile or benchmark known here; read are: {', '.join(PROFILES + BENCHES)}"
    )


def _later(content: Content) -> Reader | None:
    """JSON of a benchmark below what a program printed before it."""
    head = _plain(content.head)
    start = _BELOW.search(head)
    if not start or not _RESULTS.search(head, start.start()):
        return None
    return lambda opened: _results(_decoded(opened)[start.start() :], opened.where)


def _plain(text: str) -> str:
    """The text without the colours of a terminal."""
    return _COLOURS.sub("", text) if "\x1b" in text else text


def _decoded(content: Content) -> str:
    return _plain(content.whole(_MOST_JSON).decode(content.encoding, errors="replace"))


def _whole(read: Callable[[str, str], Observed]) -> Reader:
    return lambda content: read(_decoded(content), content.where)


def _lines(read: Callable[[Any, str], Observed]) -> Reader:
    return lambda content: read(content.lines(), content.where)


def _text(head: str) -> Reader | None:
    """By headers and by lines that only one tool writes."""
    lines = head.splitlines()
    for found, is_header in _TABLES.items():
        if any(is_header(line.strip()) for line in lines):
            return found
    known = next((found for pattern, found in _TEXTS if pattern.search(head)), None)
    return known or (_NCU if re.search(r"^==(PROF|ERROR)==", head, re.MULTILINE) else None)


_NCU = _lines(ncu.csv)
_TABLES: dict[Reader, Callable[[str], bool]] = {  # of profilers, by their headers
    _NCU: ncu_table.is_header,
    _lines(nsys_stats.stats): nsys_stats.is_header,
    _lines(rocprof.csv): rocprof.is_header,
}

_TEXTS: tuple[tuple[re.Pattern[str], Reader], ...] = (
    (re.compile(r"^device,.*\bHBMBw\b", re.MULTILINE), _whole(matmul_tests.rocm_roofs)),
    (re.compile(r"^INSERT INTO \w{1,80} \([\w, ]{0,2000}?\bavg_ts\b", re.MULTILINE), _whole(llama_bench.from_sql)),
    (re.compile(r"^[\"\w,]{0,2000}?\bn_prompt\b[\"\w,]{0,500}?\bavg_ts\b", re.MULTILINE), _whole(llama_bench.from_csv)),
    (re.compile(r"^\|.*\btest\b.*\|\s*t/s\s*\|", re.MULTILINE), _whole(llama_bench.from_markdown)),
    (re.compile(r"Serving Benchmark Result|^Throughput: [\d.]+ requests/s|^Avg latency: [\d.]+ s"
                r"|^.{0,80}?Prefill\. latency:\s*[\d.]+ s", re.MULTILINE), _whole(serving.from_text)),
    (re.compile(r"#.*\balgbw\b.*\bbusbw\b"), _whole(nccl_tests.from_text)),
    (re.compile(r"^nvbandwidth Version|^(memcpy|memory latency) .*\((GB/s|ns)\)|^\s*Running \w+_(ce|sm)\.",
                re.MULTILINE), _whole(nvbandwidth.from_text)),
    (re.compile(r"\bmamf_tflops\b"), _whole(matmul_tests.mamf_table)),
    (re.compile(r"TFLOPS @ \d+x\d+x\d+"), _whole(matmul_tests.mamf_text)),
    (re.compile(r"^BabelStream|^\s*Function\s+(Best )?(Rate )?\(?[MG]i?B(ytes)?/s|^(phase,)?function,num_times",
                re.MULTILINE), _whole(memory_tests.from_text)),
)  # fmt: skip
