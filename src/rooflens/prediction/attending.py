"""Attention as one kernel: a decode step that reads the cache, and a prompt that multiplies and takes the softmax.

Letters: B sequences, T new tokens each, S positions, H query heads, K key-value heads, W head width.
"""

from __future__ import annotations

from rooflens.arrays import Number, larger, smaller, up
from rooflens.catalogue.kernels import DecodeCommon, DecodeCosts, PrefillCommon, PrefillCosts
from rooflens.operators.standard import attended
from rooflens.prediction.kernels import Chip, Spent, when
from rooflens.records import record

WIDE = 2.0  # bytes of a query, an output, a new key or value
BLOCK_HEADS = 64.0  # query heads of a group that one block takes
USUAL = (64.0, 128.0, 256.0)  # head widths that kernels are made for


@record
class Decode:
    """Decode attention on one chip: the context is cut into chunks until there are blocks for all units."""

    chip: Chip
    cache_bytes_a_value: float
    costs: DecodeCosts
    common: DecodeCommon

    def spent(self, B: Number, S: Number, H: Number, K: Number, W: Number) -> Spent:
        """Where its time goes."""
        chip, costs, common = self.chip, self.costs, self.common
        heads, cuts = self._heads(B, H, K), self._cuts(B, S, H, K)
        blocks = heads * cuts
        starved = larger(1.0, common.busy * chip.units / smaller(blocks, chip.units))
        padded = 4.0 * B * S * K * self._rows(H / K) * W
        waves = (up(blocks / chip.units) - 1.0) * costs.wave_cycles
        return Spent(
            fixed_s=(costs.fixed_cycles + when(cuts > 1, costs.combine_cycles) + waves) / chip.clock_hz,
            compute_s=padded / (costs.compute * chip.flops_per_s),
            memory_s=self._moved(B, S, H, K, W) / (costs.memory * chip.bytes_per_s) * starved,
            beside_s=0.0,
            overlap=common.overlap,
        )

    def efficiency(self, H: Number, K: Number) -> Number:
        """Query heads of a group over the rows of the matrix instructions that they fill."""
        return H / K / self._rows(H / K)

    def _rows(self, group: Number) -> Number:
        return up(group / self.common.rows) * self.common.rows

    def _heads(self, B: Number, H: Number, K: Number) -> Number:
        return B * K * up(H / K / BLOCK_HEADS)

    def _cuts(self, B: Number, S: Number, H: Number, K: Number) -> Number:
        """Parts of a context: no more than its chunks, and no more than give every unit a block."""
        return smaller(up(S / self.common.chunk), larger(1.0, up(self.chip.units / self._heads(B, H, K))))

    def _moved(self, B: Number, S: Number, H: Number, K: Number, W: Number) -> Number:
        """Bytes, less those that the last cache serves; a group wider than `widest` reads its cache head by head."""
        cache, io = 2.0 * B * S * K * W * self.cache_bytes_a_value, 2.0 * WIDE * B * H * W
        group, widest = H / K, self.costs.widest
        again = 1.0 if widest is None else 1.0 + when(group > widest, group - 1.0)
        return (cache * again + io) * self.chip.fetched(cache + io, self.common.cache)


@record
class Prefill:
    """Attention of prompts on one chip, in tiles of query rows by positions; the causal half in whole tiles."""

    chip: Chip
    cache_bytes_a_value: float
    costs: PrefillCosts
    common: PrefillCommon

    def spent(self, B: Number, T: Number, S: Number, H: Number, K: Number, W: Number, *, causal: bool = True) -> Spent:
        """Where its time goes: T new tokens, the last of S positions. Fitted where T is S."""
        chip, costs, common = self.chip, self.costs, self.common
        blocks, steps = up(T / common.rows), up(S / common.columns)
        score_s = 4.0 * W / self._rate(W) + 1.0 / (costs.scores_per_cycle * chip.clock_hz)
        tiles = larger(B * H * self._tiles(T, S, causal=causal) / chip.units, steps)
        started = up(B * H * blocks / chip.units) * costs.block_cycles / chip.clock_hz
        moved = B * W * (2.0 * WIDE * T * H + 2.0 * K * (T * WIDE + S * self.cache_bytes_a_value))
        return Spent(
            fixed_s=costs.fixed_cycles / chip.clock_hz,
            compute_s=tiles * common.rows * common.columns * score_s + started,
            memory_s=moved * chip.fetched(moved, common.cache) / (costs.memory * chip.bytes_per_s),
            beside_s=0.0,
            overlap=common.overlap,
        )

    def efficiency(self, T: Number, S: Number, *, causal: bool = True) -> Number:
        """Scores that are attended to over those of whole tiles."""
        asked = T * attended(T, S, causal=causal)
        return asked / (self._tiles(T, S, causal=causal) * self.common.rows * self.common.columns)

    def _tiles(self, T: Number, S: Number, *, causal: bool) -> Number:
        """Of one head: a block of rows takes every position up to its last row, on average those of first and last."""
        blocks, steps = up(T / self.common.rows), up(S / self.common.columns)
        first = up((S - T + self.common.rows) / self.common.columns)
        return blocks * (smaller(first, steps) + steps) / 2.0 if causal else blocks * steps

    def _rate(self, W: Number) -> Number:
        """FLOP/s of a unit, which heads of an unusual width do not reach."""
        made_for = sum(when(width == W, 1.0) for width in USUAL)
        reach = self.costs.unusual + made_for * (1.0 - self.costs.unusual)
        return self.costs.compute * reach * self.chip.flops_per_s / self.chip.units
