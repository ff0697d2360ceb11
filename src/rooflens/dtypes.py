"""Number formats: the bits that are really stored a value (scales included) and the math they are computed in.

`bits` is what a weight costs in memory. Block formats carry their scale: mxfp4 is 4 bits and one 8-bit
scale per 32 values = 4.25. Sources: OCP MX 1.0 for mx*; NVFP4 = 16 values, one fp8 scale; llama.cpp
`ggml-common.h` block structures for the GGUF types (bytes per block / values per block).
"""

from __future__ import annotations

import math as arithmetic
import re

from rooflens.errors import RooflensError, Unknown
from rooflens.records import record
from rooflens.units import parse as parse_unit


@record
class Layout:
    """How a file keeps one matrix of so many rows (outputs) and columns (inputs): its values, and what is beside them.

    Bits: value_bits of every value; shared_bits of a block of rows x columns (scale and zero point), where 0 is all of
    them and blocks at an edge count whole; again_bits of every `again` of these; of a row, a column, a matrix; and of
    single modules by their names (the cache's scales, say). flat: blocks run on over the ends of rows.
    """

    value_bits: float
    shared_bits: float = 0.0
    rows: int = 1
    columns: int = 0
    flat: bool = False
    again: int = 0
    again_bits: float = 0.0
    row_bits: float = 0.0
    column_bits: float = 0.0
    matrix_bits: float = 0.0
    module_bits: tuple[tuple[str, float], ...] = ()

    @property
    def mean_bits(self) -> float:
        """Bits a value of a large matrix."""
        shared = self.shared_bits + (self.again_bits / self.again if self.again else 0.0)
        return self.value_bits + (shared / (self.rows * self.columns) if self.rows and self.columns else 0.0)

    def bits(self, rows: float, columns: float, module: str = "") -> float:
        """Bits of one matrix, nothing averaged."""
        blocks = self._blocks(rows, columns)
        found = rows * columns * self.value_bits + blocks * self.shared_bits
        found += _parts(blocks, self.again) * self.again_bits if self.again else 0.0
        found += rows * self.row_bits + columns * self.column_bits + self.matrix_bits
        return found + sum(bits for name, bits in self.module_bits if name == module)

    def _blocks(self, rows: float, columns: float) -> int:
        if self.flat:
            return _parts(rows * columns, self.columns)
        return _parts(rows, self.rows) * _parts(columns, self.columns)


def _parts(size: float, part: int) -> int:
    """Blocks of this size in so many, the last one counted whole; 0: one of all."""
    return arithmetic.ceil(size / part - 1e-9) if part else 1


@record
class Dtype:
    """A stored format. `math` is the format it is computed in when the machine has that path; else 16 bit.

    everywhere: files in this format hold nearly every weight in it, embedding and head too (GGUF types, bit averages).
    parts: of a mixture, the parts that are stored otherwise than `bits` says, by name.
    layout: of a quantised file, what each matrix takes exactly; `bits` is then what a value of a large one takes.
    """

    name: str
    bits: float
    math: str
    everywhere: bool = False
    parts: tuple[tuple[str, str], ...] = ()
    layout: Layout | None = None

    @property
    def bytes(self) -> float:
        """Bytes a stored value, scales included."""
        return self.bits / 8


def _gguf(name: str, block_bytes: float, block_values: int) -> Dtype:
    return Dtype(name, 8 * block_bytes / block_values, "fp16", everywhere=True)


def _mixture(name: str, layers_bits: float, embedding: str) -> Dtype:
    """What llama.cpp calls by a file's name: layers in several types, the head in q6_k, the embedding in its own.

    layers_bits: their mean, q6_k (of q4_k_s: q5_k) standing for the share of the attention values and down projections
    that src/llama-quant.cpp gives more bits. Counted for Llama 3.1 8B, where the four files agree with their published
    sizes to 0.2 %; other shapes differ by up to 0.4 %. Not counted: what `--imatrix` and tied embeddings change.
    """
    return Dtype(name, layers_bits, "fp16", everywhere=True, parts=(("embed", embedding), ("head", "q6_k")))


_ALL = (
    Dtype("fp64", 64, "fp64"),
    Dtype("fp32", 32, "fp32"),
    Dtype("tf32", 32, "tf32"),  # stored as fp32, multiplied with 10 bits of mantissa
    Dtype("fp16", 16, "fp16"),
    Dtype("bf16", 16, "bf16"),
    Dtype("fp8_e4m3", 8, "fp8"),
    Dtype("fp8_e5m2", 8, "fp8"),
    Dtype("fp8", 8, "fp8"),
    Dtype("mxfp8", 8.25, "fp8"),
    Dtype("mxfp6", 6.25, "fp6"),
    Dtype("nvfp4", 4.5, "fp4"),
    Dtype("mxfp4", 4.25, "fp4"),
    Dtype("fp4", 4, "fp4"),
    Dtype("int8", 8, "int8"),
    Dtype("int4", 4, "fp16"),  # weight-only by convention: computed in 16 bit, whatever int4 path there is
    _gguf("q4_0", 18, 32),
    _gguf("q4_1", 20, 32),
    _gguf("q5_0", 22, 32),
    _gguf("q5_1", 24, 32),
    _gguf("q8_0", 34, 32),
    _gguf("q8_1", 36, 32),
    _gguf("q2_k", 84, 256),
    _gguf("q3_k", 110, 256),
    _gguf("q4_k", 144, 256),
    _gguf("q5_k", 176, 256),
    _gguf("q6_k", 210, 256),
    _gguf("q8_k", 292, 256),
    _gguf("iq1_s", 50, 256),
    _gguf("iq1_m", 56, 256),
    _gguf("iq2_xxs", 66, 256),
    _gguf("iq2_xs", 74, 256),
    _gguf("iq2_s", 82, 256),
    _gguf("iq3_xxs", 98, 256),
    _gguf("iq3_s", 110, 256),
    _gguf("iq4_nl", 18, 32),
    _gguf("iq4_xs", 136, 256),
    _gguf("tq1_0", 54, 256),
    _gguf("tq2_0", 66, 256),
    _mixture("q4_k_s", 4.534, "q4_k"),
    _mixture("q4_k_m", 4.797, "q4_k"),
    _mixture("q5_k_s", 5.5, "q5_k"),
    _mixture("q5_k_m", 5.653, "q5_k"),
)
DTYPES = {d.name: d for d in _ALL}

_SPELLINGS = {
    "float64": "fp64", "f64": "fp64", "double": "fp64",
    "float32": "fp32", "f32": "fp32", "float": "fp32",
    "float16": "fp16", "f16": "fp16", "half": "fp16",
    "bfloat16": "bf16",
    "float8_e4m3fn": "fp8_e4m3", "f8_e4m3": "fp8_e4m3", "e4m3": "fp8_e4m3",
    "float8_e5m2": "fp8_e5m2", "f8_e5m2": "fp8_e5m2", "e5m2": "fp8_e5m2",
    "i8": "int8", "i4": "int4",
}  # fmt: skip

SIXTEEN_BIT = ("bf16", "fp16")


def dtype(name: str) -> Dtype:
    """The format called `name`, in any usual spelling, or `"4.6 bits"` for a mixture of formats.

    Raises Unknown with near matches, RooflensError for a bit count that is not above 0 and at most 64.
    """
    key = name.strip().lower().removeprefix("torch.")
    key = _SPELLINGS.get(key, key)
    if key in DTYPES:
        return DTYPES[key]
    if re.fullmatch(r"[-+\d.]+\s*(bits?|bpw)", key):
        bits = parse_unit(key, "bits")
        if not 0 < bits <= 64:
            raise RooflensError(f"{name!r}: bits per value must be above 0 and at most 64")
        return Dtype(f"{bits:g} bits", bits, "fp16", everywhere=True)
    raise Unknown("dtype", name, [*DTYPES, *_SPELLINGS])
