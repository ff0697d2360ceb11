"""What is measured, in which order: the most wanted first, so that a short budget still gives a roofline."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from rooflens.measure.backend import Backend
from rooflens.measure.bandwidth import cache_sets, measure_cache, measure_launch, measure_main
from rooflens.measure.budget import Budget
from rooflens.measure.gemm import Roofs, measure_gemm, measure_point
from rooflens.measure.links import PEER_WAYS, WAYS, Way, measure_link, measure_peer, peer_name
from rooflens.measure.options import Options
from rooflens.records import record
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Cache, Gate


@record
class Stage:
    """One step: its name, about how long it takes, what it measures, and what the ids of its ceilings contain."""

    name: str
    seconds: float
    run: Callable[[Budget], Roofs]
    finds: str = ""


@record
class Product:
    """A product of a model, measured as an operator of its own: K values in, N out, for M tokens."""

    name: str
    m: int
    n: int
    k: int


FEED_FORWARD = (
    *(Product(f"decode FFN gate and up, batch {m}", m, 28672, 4096) for m in (1, 16, 64, 256)),
    *(Product(f"decode FFN down, batch {m}", m, 4096, 14336) for m in (1, 16, 64)),
    Product("prefill FFN gate and up, 4096 tokens", 4096, 28672, 4096),
)  # of Llama-3.1-8B
FEED_FORWARD_DTYPE = "bf16"


def plan(backend: Backend, options: Options) -> list[Stage]:
    """The stages for this kind of device."""
    return _gpu(backend, options) if backend.device().kind == "gpu" else _cpu(backend, options)


def _cpu(backend: Backend, options: Options) -> list[Stage]:
    first, others = options.dtypes[:1], options.dtypes[1:]
    return [
        _launch(backend, options, "device"),
        _stream(backend, "read", options),
        *(_gemm(backend, dtype, options) for dtype in first),
        _stream(backend, "copy", options),
        *_caches(backend, options),
        *(_gemm(backend, dtype, options) for dtype in others),
        _stream(backend, "write", options),
        _stream(backend, "triad", options),
    ]


def _gpu(backend: Backend, options: Options) -> list[Stage]:
    """As on a processor, and the cost of launching, the host link, and products of a model."""
    first, others = options.dtypes[:1], options.dtypes[1:]
    products = FEED_FORWARD if FEED_FORWARD_DTYPE in options.dtypes else ()
    return [
        *(_launch(backend, options, level) for level in ("device", "kernel", "host")),
        _stream(backend, "read", options),
        *(_gemm(backend, dtype, options) for dtype in first),
        _stream(backend, "copy", options),
        *_caches(backend, options),
        *(_product(backend, product, options) for product in products),
        *(_gemm(backend, dtype, options) for dtype in others),
        _stream(backend, "write", options),
        _stream(backend, "triad", options),
        *(_link(backend, way, options) for way in WAYS),
        *(_peer(backend, pair, way, options) for pair in _pairs(backend, options) for way in PEER_WAYS),
    ]


def _launch(backend: Backend, options: Options, level: str) -> Stage:
    name = {"device": "launch", "kernel": "small kernels"}.get(level, f"launch from the {level}")
    return Stage(name, options.launch_s, lambda b: _one(measure_launch(backend, options, b, level)), f"launch/{level}")


def _gemm(backend: Backend, dtype: str, options: Options) -> Stage:
    slow = backend.device().kind == "cpu" and dtype not in ("fp32", "fp64")
    mine = options.shorter() if slow else options
    return Stage(
        f"{dtype} products", mine.products_s(dtype), lambda b: measure_gemm(backend, dtype, mine, b), f"/{dtype}/"
    )


def _stream(backend: Backend, access: str, options: Options) -> Stage:
    id = f"memory/main/{access}"
    return Stage(f"memory {access}", options.stream_s, lambda b: _one(measure_main(backend, access, options, b)), id)


def _caches(backend: Backend, options: Options) -> Sequence[Stage]:
    return [_cache(backend, cache, size, options) for cache, size in cache_sets(backend.device())]


def _cache(backend: Backend, cache: Cache, size: float, options: Options) -> Stage:
    return Stage(
        f"{cache.level} read",
        options.cache_s,
        lambda b: _one(measure_cache(backend, cache, size, options, b)),
        f"memory/{cache.level}/read",
    )


def _product(backend: Backend, product: Product, options: Options) -> Stage:
    def run(budget: Budget) -> Roofs:
        shape = (product.m, product.n, product.k)
        return Roofs(points=(measure_point(backend, FEED_FORWARD_DTYPE, *shape, options, budget, product.name),))

    return Stage(product.name, 2 * options.cell_s, run)


def _link(backend: Backend, way: Way, options: Options) -> Stage:
    return Stage(f"link {way.name}", options.cache_s, lambda b: _one(measure_link(backend, way, options, b)))


def _pairs(backend: Backend, options: Options) -> Sequence[tuple[int, int]]:
    return backend.peers() if options.peers else ()


def _peer(backend: Backend, pair: tuple[int, int], way: Way, options: Options) -> Stage:
    name = f"link {peer_name(pair, way)}"
    return Stage(name, options.cache_s, lambda b: _one(measure_peer(backend, pair, way, options, b)))


def _one(found: tuple[Ceiling, Gate]) -> Roofs:
    return Roofs((found[0],), (found[1],))
