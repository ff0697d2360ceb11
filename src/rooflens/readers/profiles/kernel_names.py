"""What the name of a kernel says: the math it does, on which units, and what kind of kernel it is.

Names are the only witness in traces without counters. What a name does not say for certain is absent: a 16-bit flash
kernel may be bf16 or fp16, and then the operator's types decide.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

from rooflens.records import record
from rooflens.roofline.observed import Unit

Family = Literal["gemm", "attention", "collective", "helper", "other"]


@record
class Said:
    """What a name says. dtype: the math; None too where it says 16 bit and not which."""

    family: Family
    dtype: str | None = None
    unit: Unit | None = None
    accumulate: str | None = None
    sparse: bool | None = None


_COLLECTIVE = re.compile(
    r"^(nccl|rccl|mscclKernel)|nccl(Dev)?Kernel|cross_device_reduce|"
    r"(all_?reduce|all_?gather|reduce_?scatter|all_?to_?all)\w*(kernel|_1stage|_2stage|<)",
    re.IGNORECASE,
)
# Kernels that an operator launches beside the one that does its work.
_HELPER = re.compile(
    r"split_?K_?reduce|splitkv?_?(combine|reduce)|lean_reduction|reduce_kernel|dot_do_o|convert_d[qkv]|Memset|Memcpy|"
    r"cublasLt::epilogue|PostGSU|_combine_kernel|cast_|quantize(?!d)|transpose|pack_",
    re.IGNORECASE,
)
_ATTENTION = re.compile(
    r"flash|fmha|sdpa|attention|attn_|mha_|paged_?att|unified_att|(Batch|Single)(Decode|Prefill)|\bmla_", re.IGNORECASE
)
_GEMM = re.compile(
    r"gemm|gemv|nvjet|cutlass_\w*tensorop|cutlass3x|xmma|^Cijk_|^Custom_Cijk|matmul|_mm_|wgrad|dgrad|fprop|"
    r"implicit_|convolve|^dot_kernel|mul_mat|marlin|machete|cublasLt|splitK|mma_",
    re.IGNORECASE,
)
_NVJET = re.compile(r"nvjet_(?:sm\d+\w?_)?([a-z]{2,6})_")
_NVJET_IN = {"h": "fp16", "t": "bf16", "q": "fp8", "r": "fp8", "o": "fp4"}  # what its letters stand for, as far as seen
_TENSILE = re.compile(r"Cijk_\w+?_(HHS|HSS|HHH|BBS|BSS|SB|SS|DB|DD|F8\w*|B8\w*|I8\w*|4xi8\w*|XS\w*)_")
_TENSILE_MATH = {"HHS": ("fp16", "fp32"), "HSS": ("fp16", "fp32"), "HHH": ("fp16", "fp16"), "BBS": ("bf16", "fp32"),
                 "BSS": ("bf16", "fp32"), "SB": ("fp32", "fp32"), "SS": ("fp32", "fp32"), "DB": ("fp64", "fp64"),
                 "DD": ("fp64", "fp64")}  # fmt: skip
_XMMA = re.compile(r"gemm_(\w+?)_(\w+?)_(f16|f32|f64|bf16|i32|\w+?)_[nt]{2}_")
_WORDS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("fp4", re.compile(r"nvfp4|mxfp4|e2m1|fp4")),
    ("fp8", re.compile(r"e4m3|e5m2|fp8|f8f8|float8")),
    ("int8", re.compile(r"i8i8|s8s8|int8|imma|i16832|i8816|igemm(?!_(?:fwd|bwd|wrw))|_s8_|w8a8_int8")),
    ("tf32", re.compile(r"tf32|tensorop_s1688(?:gemm|fprop|dgrad|wgrad)(?!_(?:b?f16|fp16))|s1688tf32")),
    ("bf16", re.compile(r"bf16|bfloat16|BFloat16")),
    ("fp16", re.compile(r"fp16|[^b]f16|__half|c10::Half|half_t|\bhalf\b|hgemm|h16816|h884|h1688|hmma")),
    ("fp64", re.compile(r"f64|dgemm|d884|\bdouble\b|dmma")),
    ("fp32", re.compile(r"sgemm|simt|\bfloat\b")),
)
_OPAQUE = re.compile(r"OpaqueType<(\d{1,2})u?>")
_VECTOR = re.compile(r"simt|gemv", re.IGNORECASE)
_NO_WORD_16 = re.compile(r"(?:wgmma|wmma|mma|prop)_f16")  # cuDNN writes f16 for both kinds of 16 bit


@lru_cache(maxsize=200_000)
def said(name: str) -> Said:
    """What this kernel's name says of it."""
    short = name[:2000]
    family = _family(short)
    if family in ("collective", "other", "helper"):
        return Said(family)
    sparse = True if re.search(r"sparse|_sp(?:mma)?_|spgemm", short, re.IGNORECASE) else None
    for look in (_nvjet, _tensile, _xmma):
        if (found := look(short)) is not None:
            return Said(family, found[0], found[1], found[2], sparse)
    dtype = None if _NO_WORD_16.search(short) else next((d for d, word in _WORDS if word.search(short)), None)
    unit = _unit(short, dtype)
    if unit == "vector" and dtype in ("fp16", "bf16"):
        dtype = "fp32"  # what is stored in 16 bit is multiplied in 32 there
    accumulate = "fp16" if re.search(r"(?:^|_)h(?:16816|1688|884)", short) else None
    return Said(family, dtype, unit, accumulate, sparse)


def _family(name: str) -> Family:
    if _COLLECTIVE.search(name):
        return "collective"
    if _HELPER.search(name):
        return "helper"
    if _ATTENTION.search(name):
        return "attention"
    return "gemm" if _GEMM.search(name) else "other"


def _unit(name: str, dtype: str | None) -> Unit | None:
    if dtype == "fp32" or (_VECTOR.search(name) and dtype in ("fp64", "fp16", "bf16")):
        return "vector"
    return None if dtype is None else "matrix"


def _nvjet(name: str) -> tuple[str | None, Unit, str | None] | None:
    found = _NVJET.match(name)
    if not found:
        return None
    letters = found[1]
    dtype = _NVJET_IN.get(letters[0])
    compute = letters[-2] if len(letters) > 2 else ""
    return dtype, "matrix", "fp32" if compute == "s" else ("fp16" if compute == "h" else None)


def _tensile(name: str) -> tuple[str | None, Unit, str | None] | None:
    found = _TENSILE.search(name)
    if not found:
        return None
    word = found[1]
    if word in _TENSILE_MATH:
        return (*_TENSILE_MATH[word][:1], "matrix", _TENSILE_MATH[word][1])
    start = "fp8" if word[0] in "FB" else "int8" if "I8" in word.upper() else "tf32"
    return start, "matrix", "fp32" if start != "int8" else "int32"


def _xmma(name: str) -> tuple[str | None, Unit, str | None] | None:
    found = _XMMA.search(name)
    if not found:
        return None
    operands, middle = found[1], found[2]
    if "tf32" in middle:
        return "tf32", "matrix", "fp32"
    for dtype, sign in (("fp8", "e4m3"), ("fp8", "e5m2"), ("bf16", "bf16bf16"), ("int8", "i8i8"), ("fp64", "f64f64")):
        if operands.startswith(sign):
            return dtype, "matrix", "fp64" if dtype == "fp64" else "int32" if dtype == "int8" else "fp32"
    if operands.startswith("f16f16"):
        return "fp16", "matrix", "fp16" if middle.endswith("f16") else "fp32"
    return ("fp32", "vector", "fp32") if operands == "f32f32" else None


def item_bytes(name: str) -> int | None:
    """Bytes of a value that a kernel moves without looking at it, where its name says so."""
    found = _OPAQUE.search(name)
    return int(found[1]) if found else None
