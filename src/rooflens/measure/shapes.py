"""Which product is fastest: growing cubes on a processor, a climb over shapes on a GPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rooflens.measure.backend import Backend, Cannot, Kernel
from rooflens.measure.budget import Budget
from rooflens.measure.kernels import gemm_flops
from rooflens.measure.loop import fastest
from rooflens.measure.memory import fits
from rooflens.measure.options import Options
from rooflens.records import record, replace
from rooflens.roofline.profile import GemmPoint
from rooflens.units import percent

CUBES = (512, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 16384)
Shape = tuple[int, int, int]
START: tuple[Shape, ...] = ((4096, 4096, 4096), (8192, 8192, 8192), (4096, 28672, 4096))  # two cubes, one model's FFN
SMALLEST, LARGEST = 2048, 16384
BETTER = 1.005
COOL_S = 0.5  # until a power limit lets go: while it holds, what is tried first wins
NEAR_BEST = 0.98
LONGEST_S = 0.1  # of one product in a run that must settle within seconds
LARGEST_NEAR = f"the largest shape whose burst is within {percent(1 - NEAR_BEST)} of the best"


@record
class Best:
    """A product in its fastest way: its kernel, M, N, K, how long it took, and why it is chosen if not for its rate."""

    kernel: Kernel
    shape: Shape
    took_s: float
    chosen: str = ""

    @property
    def flops(self) -> float:
        """Of one product."""
        return gemm_flops(*self.shape)

    @property
    def rate(self) -> float:
        """FLOP/s."""
        return self.flops / self.took_s


@record
class Shapes:
    """What to time from rest, what then runs for long, and a point for every shape tried.

    Under a power limit a large product settles at a higher rate than a small one of the same burst: more of its power
    goes into arithmetic.
    """

    fresh: Best
    lasting: Best
    points: tuple[GemmPoint, ...]


def best_shapes(backend: Backend, dtype: str, options: Options, budget: Budget) -> Shapes:
    """The fastest products of `dtype` found within `options.shapes_s`. Raises Cannot when none could be tried."""
    gpu = backend.device().kind == "gpu"
    search = _climb if gpu else _grow
    if gpu:
        backend.rest(budget.limit(COOL_S))
    end = backend.clock() + budget.limit(options.shapes_s)
    tried: list[Best] = []
    for found in search(backend, dtype, options, budget):
        tried.append(found)
        if backend.clock() > end:
            break
    if not tried:
        raise Cannot(f"{dtype} skipped: no shape could be tried")
    points = tuple(_point(dtype, found) for found in tried)
    if gpu:
        return Shapes(_shortest_good(tried), _largest_good(tried), points)
    return Shapes(_last_good(tried), _last_good(tried), points)


def _last_good(tried: Sequence[Best]) -> Best:
    """The largest cube that is within 1 % of what came before it."""
    best = tried[0]
    for found in tried[1:]:
        best = found if found.rate > 0.99 * best.rate else best
    return best


def _shortest_good(tried: Sequence[Best]) -> Best:
    """The shortest product within 1.5 % of the best: ten of it are over before a power limit acts."""
    most = max(found.rate for found in tried)
    return min((found for found in tried if found.rate >= 0.985 * most), key=lambda found: found.took_s)


def _largest_good(tried: Sequence[Best]) -> Best:
    """The largest product within 2 % of the best, the faster of equals; the shortest good one where all take long."""
    most = max(found.rate for found in tried)
    near = [found for found in tried if found.rate >= NEAR_BEST * most and found.took_s <= LONGEST_S]
    if not near:
        return _shortest_good(tried)
    return replace(max(near, key=lambda found: (found.flops, found.rate)), chosen=LARGEST_NEAR)


def _grow(backend: Backend, dtype: str, options: Options, budget: Budget) -> Iterator[Best]:
    """Cubes until one product is long enough; later sizes only in the two best ways of the earlier."""
    enough_s = 0.5 * options.product_s * budget.scale
    ways: list[str] = []
    for size in CUBES:
        kernels = [k for k in backend.gemm(dtype, size, size, size, options.seed) if not ways or k.unit in ways]
        kernel, best_s = fastest(backend, kernels, budget, options.shapes_s / 4, rounds=3)
        ways = sorted(best_s, key=best_s.__getitem__)[:2]
        long_enough = best_s[kernel.unit] > enough_s
        if size > CUBES[0] or long_enough:  # the smallest only finds the best ways, or serves what is emulated
            yield Best(kernel, (size, size, size), best_s[kernel.unit])
        if long_enough:
            return


def _climb(backend: Backend, dtype: str, options: Options, budget: Budget) -> Iterator[Best]:
    """Two cubes and a model's shape, then the neighbours of the best so far, while one of them is better."""
    tried: dict[Shape, Best] = {}
    wanted: list[Shape] = list(START)
    while wanted:
        for shape in wanted:
            try:
                with fits(f"{dtype} {'x'.join(map(str, shape))}"):
                    kernels = backend.gemm(dtype, *shape, options.seed)
                    kernel, best_s = fastest(backend, kernels, budget, options.shapes_s / 8, rounds=2)
            except Cannot:
                if shape == START[0]:  # then no other will do either
                    raise
                continue
            tried[shape] = Best(kernel, shape, best_s[kernel.unit])
            yield tried[shape]
        best = max(tried.values(), key=lambda b: b.rate)
        came_from = max((b.rate for s, b in tried.items() if s not in wanted), default=0.0)
        if best.rate < BETTER * came_from:
            return
        wanted = [s for s in neighbours(best.shape) if s not in tried]


def neighbours(shape: Shape) -> list[Shape]:
    """Each side doubled and halved, within what is worth trying."""
    m, n, k = shape
    found = [(2 * m, n, k), (m // 2, n, k), (m, 2 * n, k), (m, n // 2, k), (m, n, 2 * k), (m, n, k // 2)]
    return [s for s in found if min(s) >= SMALLEST and max(s) <= max(LARGEST, *shape)]


def _point(dtype: str, found: Best) -> GemmPoint:
    m, n, k = found.shape
    return GemmPoint(
        name=f"gemm {dtype} {m}x{n}x{k} ({found.kernel.unit})",
        dtype=dtype,
        m=m,
        n=n,
        k=k,
        time_s=found.took_s,
        best_s=found.took_s,
        samples_s=(found.took_s,),
        path=found.kernel.path,
        trusted=False,
        why_not="one of the shapes tried, with two samples: not a measured point",
    )
