"""Products (GEMM): M x K times K x N in output tiles, waves of them over the units, and K cut where tiles are few."""

from __future__ import annotations

from rooflens.arrays import Number, larger, minimum, smaller, up
from rooflens.catalogue.kernels import ProductCommon, ProductCosts
from rooflens.prediction.kernels import Chip, Spent, when
from rooflens.records import record

STEP = 64.0  # elements of K that a tile takes at once
MEAN_TILE = 64.0  # rows and columns, as 1 / (1/rows + 1/columns), of the tile that `compute` is the reach of
FEED_RATE = 1.5e13  # bytes of operands a second and unit, for the scale of `feed`
PARTIAL_BYTES = 8.0  # a partial sum is written and read in fp32
DENSITY, RATE = 1.42e12, 7.5e12  # FLOP/s a watt, and a unit, of the chip that constants of no chip are of
CUTS = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
TILES = (
    (16.0, 64.0), (16.0, 128.0), (64.0, 64.0), (64.0, 128.0), (128.0, 64.0), (128.0, 128.0), (64.0, 256.0),
    (128.0, 256.0), (256.0, 128.0), (256.0, 256.0),
)  # fmt: skip


@record
class Flavour:
    """Formats of a product: bytes a value, whether activations are narrowed from 16 bit, whether kernels cut K."""

    weight_bytes: float
    activation_bytes: float
    output_bytes: float = 2.0
    narrowed: bool = False
    cut: bool = True


FLAVOURS: dict[str, Flavour] = {
    "16": Flavour(2.0, 2.0),
    "32": Flavour(4.0, 4.0, 4.0),
    "fp8-static": Flavour(1.0, 1.0, narrowed=True),  # scales known before: the library's own kernels
    "fp8-dynamic": Flavour(1.0, 1.0, narrowed=True, cut=False),  # scales a token, found on the way
    "fp8-block": Flavour(1.0, 1.0, narrowed=True, cut=False),  # scales a block of 128
    "fp4": Flavour(0.5625, 0.5625, narrowed=True, cut=False),
    "int8": Flavour(1.0, 1.0, narrowed=True, cut=False),
    "8-weights": Flavour(1.0, 2.0),  # narrow weights, 16-bit arithmetic
    "4-weights": Flavour(0.5, 2.0),
}


@record
class Tiling:
    """How the output is cut: rows and columns of a tile, and into how many parts K."""

    rows: Number
    columns: Number
    cuts: Number = 1.0


ALL = tuple(Tiling(rows, columns, cuts) for rows, columns in TILES for cuts in CUTS)
WHOLE = tuple(tiling for tiling in ALL if tiling.cuts == 1)


@record
class Product:
    """Products of one flavour on one chip: M rows of activations, K of them contracted, with N columns of weights."""

    chip: Chip
    flavour: Flavour
    costs: ProductCosts
    common: ProductCommon

    @property
    def tilings(self) -> tuple[Tiling, ...]:
        """Those that its kernels can choose."""
        return ALL if self.flavour.cut else WHOLE

    def time_s(self, M: Number, N: Number, K: Number) -> Number:
        """With the tiling that is fastest."""
        return minimum(self.spent(M, N, K, tiling).time_s for tiling in self.tilings)

    def tiling(self, M: float, N: float, K: float) -> Tiling:
        """The fastest; the first of equals."""
        return min(self.tilings, key=lambda tiling: float(self.spent(M, N, K, tiling).time_s))

    def spent(self, M: Number, N: Number, K: Number, by: Tiling) -> Spent:
        """Where its time goes with this tiling."""
        chip, common = self.chip, self.common
        blocks = self.blocks(M, N, by)
        deep = up(K / by.cuts / STEP) * STEP + self.costs.fill
        padded = 2.0 * by.rows * by.columns * deep * self.waves(M, N, by) * chip.units
        starved = larger(1.0, common.busy * chip.units / smaller(blocks, chip.units))
        partial_s = PARTIAL_BYTES * by.cuts * M * N / (common.cache.gain * chip.bytes_per_s)
        joined_s = when(by.cuts > 1, common.split_cycles / chip.clock_hz + partial_s)
        return Spent(
            fixed_s=self.costs.fixed_cycles / chip.clock_hz,
            compute_s=padded * self._slower(by) / (self._reach(M, N, K) * chip.flops_per_s),
            memory_s=self._streamed_s(M, N, K) * starved,
            beside_s=joined_s + self.narrowing_s(M, K),
            overlap=common.overlap,
        )

    def blocks(self, M: Number, N: Number, by: Tiling) -> Number:
        """Tiles of the output, times the parts of K."""
        return up(M / by.rows) * up(N / by.columns) * by.cuts

    def waves(self, M: Number, N: Number, by: Tiling) -> Number:
        """How often every unit takes a block."""
        return up(self.blocks(M, N, by) / self.chip.units)

    def efficiency(self, M: Number, N: Number, K: Number, by: Tiling) -> Number:
        """Multiplications asked for over those of whole tiles in whole waves on all units."""
        deep = up(K / by.cuts / STEP) * STEP
        return M * N * K / (by.rows * by.columns * deep * self.waves(M, N, by) * self.chip.units)

    def narrowing_s(self, M: Number, K: Number) -> Number:
        """The kernel that reads 16-bit activations and writes narrow ones; 0 where there is none."""
        if not self.flavour.narrowed or self.costs.narrowing is None:
            return 0.0
        moved = M * K * (2.0 + self.flavour.activation_bytes)
        few = larger(1.0, self.common.narrowing_rows * self.chip.units / M)
        return moved / (self.costs.narrowing * self.chip.bytes_per_s) * few

    def _streamed_s(self, M: Number, N: Number, K: Number) -> Number:
        f = self.flavour
        moved = M * K * f.activation_bytes + N * K * f.weight_bytes + M * N * f.output_bytes
        return moved * self.chip.fetched(moved, self.common.cache) / (self.costs.memory * self.chip.bytes_per_s)

    def _reach(self, M: Number, N: Number, K: Number) -> Number:
        """The share of the peak, which falls as the power cap sets in."""
        ideal_s = 2.0 * M * N * K / self.chip.flops_per_s
        kept = self.costs.sustained
        return self.costs.compute * (kept + (1.0 - kept) / (1.0 + ideal_s / self.common.power_s))

    def _slower(self, by: Tiling) -> Number:
        """A tile that fetches its operands more often than the mean one."""
        wide = max(self.flavour.activation_bytes, self.flavour.weight_bytes)
        rate = self.chip.flops_per_s / self.chip.units * wide / FEED_RATE
        feed: float = self.common.feed * rate**self.common.feed_exponent
        return (1.0 + feed * (1.0 / by.rows + 1.0 / by.columns)) / (1.0 + feed / MEAN_TILE)


def from_datasheet(common: ProductCommon, chip: Chip, power_w: float | None, family: str) -> tuple[float, float]:
    """What compute and fill of constants of no chip are times, for this one; its power may be unknown."""
    dense = (chip.flops_per_s / power_w / DENSITY) ** common.by_density if power_w else 1.0
    fill: float = (chip.flops_per_s / chip.units / RATE) ** common.by_rate
    return dense * common.family_compute.get(family, 1.0), fill
