"""AMD's counters as FLOPs and bytes: see rocprof."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from rooflens.readers.profiles.kernel_names import said
from rooflens.records import replace
from rooflens.roofline.observed import Kernel, Unit

LANES = 64  # of a wave, on the accelerators that have these counters
MFMA_FLOPS = 512  # of one unit of an MFMA counter
REQUEST_BYTES = 64
_VALU = re.compile(r"SQ_INSTS_VALU_(ADD|MUL|FMA|TRANS)_F(16|32|64)(_sum)?")
_MFMA = re.compile(r"SQ_INSTS_VALU_MFMA_MOPS_(F16|BF16|F32|F64|F8|I8|F6F4|XF32)(_sum)?")
_FORMATS = {"F16": "fp16", "BF16": "bf16", "F32": "fp32", "F64": "fp64", "F8": "fp8", "I8": "int8", "F6F4": "fp4",
            "XF32": "tf32"}  # fmt: skip
_COUNTER = re.compile(
    r"^(SQ|TCP|TCC|TA|TD|CPC|CPF|SPI|GRBM|GL2C|TCA)_\w+$|^(FETCH_SIZE|WRITE_SIZE|FetchSize|WriteSize)$"
)
NOT_COLLECTED = {
    "bytes": "not in the file: collect TCC_EA_RDREQ_sum, TCC_EA_RDREQ_32B_sum, TCC_EA_WRREQ_sum, TCC_EA_WRREQ_64B_sum, "
    "or FETCH_SIZE and WRITE_SIZE",
    "flops": "not in the file: collect SQ_INSTS_VALU_MFMA_MOPS_F16, _BF16, _F32, _F64 (and _F8, _I8)",
    "vector_flops": "not in the file: collect SQ_INSTS_VALU_ADD_F32, _MUL_F32, _FMA_F32, _TRANS_F32 (and _F16, _F64)",
}


def is_counter(name: str) -> bool:
    """Whether a column of this name counts something of a device."""
    return bool(_COUNTER.match(name.strip()))


def counted(kernel: Kernel, lanes: int, counters: Mapping[str, float]) -> Kernel:
    """The kernel with what was counted of it, and what to collect for the rest."""
    matrix, vector = _matrix(counters), _vector(counters, lanes)
    read, written, note = _read(counters), _written(counters), _note(counters)
    both = read + written if read is not None and written is not None else None
    named = said(kernel.name)
    dtype, unit = _math(matrix or {}, vector or {})
    if matrix is None and vector is None:
        dtype, unit = named.dtype, named.unit
    gone = {"bytes": both, "flops": matrix, "vector_flops": vector}
    return replace(
        kernel,
        flops=matrix,
        vector_flops=vector,
        flops_origin="unknown" if matrix is None and vector is None else "counted",
        bytes=both,
        bytes_origin="unknown" if both is None else "counted",
        read_bytes=read,
        write_bytes=written,
        cache_bytes=_caches(counters),
        dtype=dtype,
        unit=unit,
        accumulate=named.accumulate if unit == "matrix" else None,
        missing={**kernel.missing, **{name: NOT_COLLECTED[name] for name, found in gone.items() if found is None}},
        notes=(note,) if note else (),
    )


def _matrix(counters: Mapping[str, float]) -> dict[str, float] | None:
    found = {_FORMATS[m[1]]: value * MFMA_FLOPS for name, value in counters.items() if (m := _MFMA.fullmatch(name))}
    return {dtype: flops for dtype, flops in found.items() if flops} if found else None


def _vector(counters: Mapping[str, float], lanes: int) -> dict[str, float] | None:
    out: dict[str, float] = {}
    for name, value in counters.items():
        found = _VALU.fullmatch(name)
        if found:
            key = f"fp{found[2]}"
            out[key] = out.get(key, 0.0) + value * lanes * (2 if found[1] == "FMA" else 1)
    return {dtype: flops for dtype, flops in out.items() if flops} if out else None


def _math(matrix: Mapping[str, float], vector: Mapping[str, float]) -> tuple[str | None, Unit | None]:
    if matrix:
        return max(matrix, key=lambda dtype: matrix[dtype]), "matrix"
    return (max(vector, key=lambda dtype: vector[dtype]), "vector") if vector else (None, None)


def _one(counters: Mapping[str, float], *names: str) -> float | None:
    return next((counters[name + end] for name in names for end in ("_sum", "") if name + end in counters), None)


def _read(counters: Mapping[str, float]) -> float | None:
    """64 bytes a request, 32 of those that say so, 128 of those that were joined."""
    said_kib = _one(counters, "FETCH_SIZE", "FetchSize")
    if said_kib is not None:
        return said_kib * 1024
    all_, small = (
        _one(counters, "TCC_EA_RDREQ", "TCC_EA0_RDREQ"),
        _one(counters, "TCC_EA_RDREQ_32B", "TCC_EA0_RDREQ_32B"),
    )
    if all_ is None:
        return None
    small, large = small or 0.0, _one(counters, "TCC_BUBBLE", "TCC_EA0_RDREQ_128B") or 0.0
    return REQUEST_BYTES * (all_ - small - large) + 32 * small + 128 * large


def _written(counters: Mapping[str, float]) -> float | None:
    """64 bytes of those that say so, 32 of the others."""
    said_kib = _one(counters, "WRITE_SIZE", "WriteSize")
    if said_kib is not None:
        return said_kib * 1024
    all_, full = (
        _one(counters, "TCC_EA_WRREQ", "TCC_EA0_WRREQ"),
        _one(counters, "TCC_EA_WRREQ_64B", "TCC_EA0_WRREQ_64B"),
    )
    if all_ is None:
        return None
    full = all_ if full is None else full
    return REQUEST_BYTES * full + 32 * (all_ - full)


def _note(counters: Mapping[str, float]) -> str | None:
    if _one(counters, "TCC_EA0_RDREQ") is not None and _one(counters, "TCC_BUBBLE", "TCC_EA0_RDREQ_128B") is None:
        return "reads of 128 bytes count as 64: collect TCC_BUBBLE_sum to tell them apart"
    return None


def _caches(counters: Mapping[str, float]) -> dict[str, float]:
    """Bytes between L1 and L2, and those that L1 was asked for."""
    parts = [_one(counters, f"TCP_TCC_{kind}") for kind in
             ("READ_REQ", "WRITE_REQ", "ATOMIC_WITH_RET_REQ", "ATOMIC_WITHOUT_RET_REQ")]  # fmt: skip
    out = {}
    if parts[0] is not None and parts[1] is not None:
        out["L2"] = REQUEST_BYTES * sum(part or 0.0 for part in parts)
    accesses = _one(counters, "TCP_TOTAL_CACHE_ACCESSES")
    if accesses is not None:
        out["L1"] = REQUEST_BYTES * accesses
    return out


def warnings(kernels: Sequence[Kernel]) -> Iterator[str]:
    """What nobody collected."""
    for field in NOT_COLLECTED:
        reasons = [kernel.missing[field] for kernel in kernels if field in kernel.missing]
        if reasons:
            yield f"{field} of {len(reasons)} of {len(kernels)} kernels: unavailable, {reasons[0]}"
