"""torch on the processor: the only door to bf16, fp16 and int8 products here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from itertools import cycle
from typing import Any

from rooflens.measure.backend import AttentionShape, Cannot, Kernel
from rooflens.measure.backends.cpu_attention import Data, random_data, reference, relative_error

NAMES = {"fp64": "float64", "fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "int8": "int8"}
TOLERANCE = {"fp64": 1e-13, "fp32": 1e-5, "bf16": 1e-2, "fp16": 2e-3, "int8": 0.0}
MATRIX_UNITS = {"bf16": ("amx_bf16", "sme"), "fp16": ("amx_fp16",), "int8": ("amx_int8", "sme")}
INSTRUCTIONS = {
    "bf16": ("avx512_bf16", "bf16"),
    "fp16": ("avx512_fp16", "asimdhp"),
    "int8": ("avx512_vnni", "avx_vnni", "asimddp", "i8mm"),
}
BYTES = {"fp32": 4, "bf16": 2, "fp16": 2}


def gemm(dtype: str, m: int, n: int, k: int, seed: int, threads: int, isa: Sequence[str]) -> list[Kernel]:
    """Both transposes. Raises Cannot when this torch does not multiply the dtype on a CPU."""
    import torch

    if dtype not in NAMES:
        raise Cannot(f"{dtype} skipped: torch does not multiply {dtype} on a CPU")
    generator = torch.Generator().manual_seed(seed)
    a, b = (_values(torch, dtype, shape, generator) for shape in ((m, k), (k, n)))
    forms = {"A B": b, "A B^T": b.t().contiguous().t()}
    made = [_product(torch, dtype, a, second, form, threads, isa) for form, second in forms.items()]
    _refuse_if_unknown(torch, dtype)
    return made


def attention(
    dtype: str, context: int, shape: AttentionShape, seed: int, threads: int, cold_bytes: float
) -> list[Kernel]:
    """The fused attention of torch, and the three plain calls, on [H, S, W] caches that take turns.

    Checked against float64 on the rounded operands: the error is that of the arithmetic.
    """
    import torch

    data = random_data(shape, context, seed, cold_bytes, BYTES[dtype])
    kind = getattr(torch, NAMES[dtype])
    q = torch.from_numpy(data.q).to(kind)[:, None, :, None, :]
    k, v = (torch.from_numpy(a.swapaxes(-1, -2).copy()).to(kind)[:, :, None] for a in (data.k, data.v))
    rounded = Data(*(a.to(torch.float64).numpy() for a in (q[:, 0, :, 0], k[:1, :, 0].mT, v[:1, :, 0].mT)))
    out: list[Any] = [None] * shape.layers
    ways = {"fused": (_fused, 1), "plain": (_plain, 3)}
    return [
        _attention(
            torch,
            partial(way, torch, q, k, v, out),
            f"torch {name}",
            calls * shape.layers,
            threads,
            data.sets,
            rounded,
            out,
        )
        for name, (way, calls) in ways.items()
    ]


def native_path(dtype: str, isa: Sequence[str]) -> tuple[str, str]:
    """("matrix" or "vector", which unit by name); "" where the processor has no instruction for the dtype."""
    have = set(isa)
    if units := [u for u in MATRIX_UNITS.get(dtype, ()) if u in have]:
        return "matrix", units[0]
    found = [u for u in INSTRUCTIONS.get(dtype, ("avx512f", "avx2", "avx", "asimd")) if u in have]
    return "vector", found[0] if found else ""


def _product(torch: Any, dtype: str, a: Any, b: Any, form: str, threads: int, isa: Sequence[str]) -> Kernel:
    path, unit = native_path(dtype, isa)
    kind = torch.int32 if dtype == "int8" else a.dtype
    out = torch.empty((a.shape[0], b.shape[1]), dtype=kind)
    multiply = torch._int_mm if dtype == "int8" else torch.mm  # noqa: SLF001  (the only int8 product torch offers)

    def run() -> None:
        multiply(a, b, out=out)

    return Kernel(
        run=run,
        unit=f"torch {form}, {unit or 'emulated'}",
        error=lambda: _error(torch, run, a, b, out),
        tolerance=TOLERANCE[dtype],
        threads=threads,
        path=path,
        setting=partial(_threads, torch, threads),
        note="" if unit else f"no {dtype} instruction here: emulated",
    )


def _refuse_if_unknown(torch: Any, dtype: str) -> None:
    """Try the smallest product once, so that a missing path is a sentence and not a traceback."""
    a = torch.ones((32, 32), dtype=getattr(torch, NAMES[dtype]))
    try:
        _ = torch._int_mm(a, a) if dtype == "int8" else torch.mm(a, a)  # noqa: SLF001
    except (RuntimeError, AttributeError, NotImplementedError) as error:
        said = str(error).splitlines()[0]
        raise Cannot(f"{dtype} skipped: torch {torch.__version__} does not multiply it on a CPU ({said})") from error


def _values(torch: Any, dtype: str, shape: tuple[int, int], generator: Any) -> Any:
    if dtype == "int8":
        return torch.randint(-128, 128, shape, dtype=torch.int8, generator=generator)
    return torch.randn(shape, generator=generator, dtype=torch.float32).to(getattr(torch, NAMES[dtype]))


def _error(torch: Any, run: Callable[[], None], a: Any, b: Any, out: Any) -> float:
    run()
    rows, columns = slice(None, None, max(1, a.shape[0] // 16)), slice(None, None, max(1, b.shape[1] // 64))
    expected = a[rows].to(torch.float64) @ b[:, columns].to(torch.float64)
    difference = (out[rows, columns].to(torch.float64) - expected).abs().max()
    return float(difference / expected.abs().max())


@contextmanager
def _threads(torch: Any, count: int) -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        with torch.inference_mode():
            yield
    finally:
        torch.set_num_threads(before)


def _attention(
    torch: Any, way: Callable[[int], None], unit: str, calls: int, threads: int, sets: int, data: Data, out: list[Any]
) -> Kernel:
    turns = cycle(range(sets))
    setting: Callable[[], AbstractContextManager[object]] = partial(_threads, torch, threads)

    def error() -> float:
        with setting():
            way(0)
        found = torch.stack([layer.reshape(data.q.shape[1:]) for layer in out]).to(torch.float64).numpy()
        return relative_error(found, reference(data, 0))

    return Kernel(
        run=lambda: way(next(turns)),
        unit=unit,
        error=error,
        tolerance=1.0,
        threads=threads,
        calls=calls,
        fills=False,
        setting=setting,
        note=f"{sets} caches take turns",
    )


def _fused(torch: Any, q: Any, k: Any, v: Any, out: list[Any], which: int) -> None:
    attend = torch.nn.functional.scaled_dot_product_attention
    for layer in range(len(out)):
        out[layer] = attend(q[layer], k[which, layer], v[which, layer], scale=1.0)


def _plain(torch: Any, q: Any, k: Any, v: Any, out: list[Any], which: int) -> None:
    for layer in range(len(out)):
        scores = torch.matmul(q[layer], k[which, layer].transpose(-1, -2))
        out[layer] = torch.matmul(torch.softmax(scores, dim=-1), v[which, layer])
