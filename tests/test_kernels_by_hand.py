"""Every part of a kernel's time against its closed form, on a chip and with constants that one can reckon with.

The chip has 1 TFLOP/s, 1 TB/s and ten units at 1 GHz: a cycle is a nanosecond, a unit has 100 GFLOP/s.
"""

from __future__ import annotations

from math import inf

import pytest

from rooflens.catalogue.kernels import (
    CacheSlope,
    DecodeCommon,
    DecodeCosts,
    ExchangeCommon,
    ExchangeCosts,
    PrefillCommon,
    PrefillCosts,
    ProductCommon,
    ProductCosts,
)
from rooflens.prediction.attending import Decode, Prefill
from rooflens.prediction.exchanging import Exchange
from rooflens.prediction.kernels import Chip
from rooflens.prediction.products import FLAVOURS, Product, Tiling, from_datasheet
from rooflens.records import replace

CHIP = Chip(1e12, 1e12, 10.0, 1e9, None)
SLOPE = CacheSlope(share=0.5, steep=8.0, gain=4.0)
COMMON = ProductCommon(
    overlap=1.0, cache=SLOPE, split_cycles=2000.0, power_s=1e-3, feed=0.0, feed_exponent=1.0, busy=0.5,
    narrowing_rows=2.0, by_density=-0.5, by_rate=2.0, family_compute={"odd": 0.25},
)  # fmt: skip
COSTS = ProductCosts(fixed_cycles=1000.0, compute=0.5, memory=0.8, fill=64.0, sustained=0.6, narrowing=0.25)
DECODE = DecodeCosts(fixed_cycles=3000.0, memory=0.8, compute=0.5, wave_cycles=100.0, combine_cycles=700.0)
DECODING = DecodeCommon(overlap=1.0, cache=SLOPE, busy=0.5, chunk=256.0, rows=16.0)
PREFILL = PrefillCosts(
    fixed_cycles=5000.0, memory=0.8, compute=0.5, block_cycles=300.0, scores_per_cycle=10.0, unusual=0.6
)
PREFILLING = PrefillCommon(overlap=1.0, cache=SLOPE, rows=64.0, columns=32.0)

BITS = {  # of a weight, an activation as multiplied, an output
    "16": (16, 16, 16), "32": (32, 32, 32), "fp8-static": (8, 8, 16), "fp8-dynamic": (8, 8, 16),
    "fp8-block": (8, 8, 16), "fp4": (4 + 8 / 16, 4 + 8 / 16, 16), "int8": (8, 8, 16), "8-weights": (8, 16, 16),
    "4-weights": (4, 16, 16),
}  # fmt: skip
NARROWED = {"fp8-static", "fp8-dynamic", "fp8-block", "fp4", "int8"}  # from 16 bits, by a kernel before the product
LIBRARY = {"16", "32", "fp8-static", "8-weights", "4-weights"}  # whose kernels cut K where tiles are few


def product(flavour: str = "16", **common: float) -> Product:
    return Product(CHIP, FLAVOURS[flavour], COSTS, replace(COMMON, **common))


def test_whole_tiles_in_whole_waves_take_their_arithmetic():
    """128 x 640 in tiles of 64 x 64, K = 1,000 cut in two: 40 blocks are 4 waves of 8 steps of 64, and 64 to fill."""
    spent = product().spent(128.0, 640.0, 1000.0, Tiling(64.0, 64.0, 2.0))
    ideal_s = 2 * 128 * 640 * 1000 / 1e12
    reach = 0.5 * (0.6 + 0.4 / (1 + ideal_s / 1e-3))
    assert spent.compute_s == pytest.approx(4 * 10 * 2 * 64 * 64 * (8 * 64 + 64) / (reach * 1e12), rel=1e-12)
    assert spent.fixed_s == pytest.approx(1e-6, rel=1e-12)
    assert spent.beside_s == pytest.approx(2e-6 + 2 * 8 * 128 * 640 / (4 * 1e12), rel=1e-12)  # written, read, in fp32
    assert spent.time_s == pytest.approx(spent.fixed_s + spent.compute_s + spent.memory_s + spent.beside_s, rel=1e-12)


@pytest.mark.parametrize("flavour", BITS)
def test_operands_and_output_take_their_bytes_in_every_flavour(flavour):
    weight, activation, output = (bits / 8 for bits in BITS[flavour])
    spent = product(flavour).spent(128.0, 640.0, 1000.0, Tiling(64.0, 64.0))
    moved = 128 * 1000 * activation + 1000 * 640 * weight + 128 * 640 * output
    assert spent.memory_s == pytest.approx(moved / (0.8 * 1e12), rel=1e-12)
    narrowed = 128 * 1000 * (2 + activation) / (0.25 * 1e12)
    assert spent.beside_s == pytest.approx(narrowed if flavour in NARROWED else 0.0, rel=1e-12)
    assert {by.cuts for by in product(flavour).tilings} == ({1, 2, 4, 8, 16, 32} if flavour in LIBRARY else {1})


def test_blocks_for_fewer_than_half_of_the_units_leave_the_bus_idle():
    one, four, five = (product().spent(64.0, 64.0 * n, 512.0, Tiling(64.0, 64.0)) for n in (1, 4, 5))
    moved = [2 * (64 * 512 + 512 * 64 * n + 64 * 64 * n) for n in (1, 4, 5)]
    slower = [s.memory_s / (b / 0.8e12) for s, b in zip((one, four, five), moved, strict=True)]
    assert slower == pytest.approx([5 / 1, 5 / 4, 1], rel=1e-12)


def test_few_rows_are_narrowed_by_few_units():
    few, many = (product("int8").narrowing_s(M, 1000.0) for M in (5.0, 40.0))
    assert few == pytest.approx(5 * 1000 * 3 / 0.25e12 * (2 * 10 / 5), rel=1e-12)
    assert many == pytest.approx(40 * 1000 * 3 / 0.25e12, rel=1e-12)
    assert replace(product("int8"), costs=replace(COSTS, narrowing=None)).narrowing_s(5.0, 1000.0) == 0


def test_a_small_tile_fetches_its_operands_more_often_than_the_mean_one():
    """By what a unit takes a second, 100 GFLOP/s x 2 bytes over 15 TB/s; of the mean tile 1/rows + 1/columns = 1/64."""
    feed = 900.0 * (1e12 / 10 * 2 / 1.5e13) ** 2.0
    small, mean = (
        product(feed=900.0, feed_exponent=2.0).spent(128.0, 128.0, 512.0, Tiling(*tile)).compute_s
        / product().spent(128.0, 128.0, 512.0, Tiling(*tile)).compute_s
        for tile in ((16.0, 64.0), (128.0, 128.0))
    )
    assert small == pytest.approx((1 + feed * (1 / 16 + 1 / 64)) / (1 + feed / 64), rel=1e-12)
    assert mean == pytest.approx(1.0, rel=1e-12)


def test_constants_of_no_chip_move_with_the_peak_a_watt_and_a_unit():
    dense, fill = from_datasheet(COMMON, CHIP, 1e12 / (4 * 1.42e12), "odd")  # four times the peak a watt
    assert dense == pytest.approx(4**-0.5 * 0.25, rel=1e-12)
    assert fill == pytest.approx((1e11 / 7.5e12) ** 2, rel=1e-12)
    assert from_datasheet(COMMON, CHIP, None, "even")[0] == 1


def test_a_decode_step_is_its_cache_its_padded_heads_and_its_waves():
    """3 x 2 key-value heads, chunks of 256: 1,000 positions in two, as ten units want, 12 blocks, so one wave more."""
    spent = Decode(CHIP, 1.0, DECODE, DECODING).spent(3.0, 1000.0, 40.0, 2.0, 128.0)
    assert spent.fixed_s == pytest.approx(3e-6 + 0.7e-6 + 0.1e-6, rel=1e-12)
    assert spent.compute_s == pytest.approx(4 * 3 * 1000 * 2 * 32 * 128 / 0.5e12, rel=1e-12)  # 20 heads fill 32 rows
    cache, io = 2 * 3 * 1000 * 2 * 128 * 1, 2 * 2 * 3 * 40 * 128
    assert spent.memory_s == pytest.approx((cache + io) / 0.8e12, rel=1e-12)
    assert spent.beside_s == 0
    assert spent.time_s == pytest.approx(spent.fixed_s + spent.compute_s + spent.memory_s, rel=1e-12)


@pytest.mark.parametrize(
    ("B", "S", "H", "K", "blocks", "cuts"),
    [
        (1, 100, 8, 1, 1, 1),  # a chunk is not cut
        (1, 257, 8, 1, 2, 2),
        (2, 5120, 8, 1, 10, 5),  # 20 chunks, of which every unit gets one
        (1, 5120, 65, 1, 10, 5),  # 65 heads of a group are two blocks
        (1, 5120, 64, 1, 10, 10),
        (11, 5120, 8, 1, 11, 1),
    ],
)
def test_a_context_is_cut_until_every_unit_has_a_block(B, S, H, K, blocks, cuts):
    spent = Decode(CHIP, 2.0, DECODE, DECODING).spent(float(B), float(S), float(H), float(K), 64.0)
    waves = -(-blocks // 10) - 1
    assert spent.fixed_s == pytest.approx(3e-6 + (0.7e-6 if cuts > 1 else 0) + waves * 0.1e-6, rel=1e-12)
    moved = 2 * B * S * K * 64 * 2 + 2 * 2 * B * H * 64
    assert spent.memory_s == pytest.approx(moved / 0.8e12 * max(1, 5 / min(blocks, 10)), rel=1e-12)


def test_a_group_of_more_heads_than_one_reading_serves_is_read_head_by_head():
    kernel = Decode(CHIP, 2.0, replace(DECODE, widest=8.0), DECODING)
    cache, io = 2 * 10 * 256 * 64 * 2, 2 * 2 * 10 * 64
    assert kernel.spent(10.0, 256.0, 8.0, 1.0, 64.0).memory_s == pytest.approx((cache + 8 * io) / 0.8e12, rel=1e-12)
    assert kernel.spent(10.0, 256.0, 9.0, 1.0, 64.0).memory_s == pytest.approx((9 * cache + 9 * io) / 0.8e12, rel=1e-12)
    assert kernel.efficiency(9.0, 1.0) == 9 / 16
    assert kernel.efficiency(34.0, 2.0) == 17 / 32


def test_a_prompt_is_its_tiles_its_softmax_and_its_blocks():
    """Two prompts of 128 rows in blocks of 64, 8 heads: of each head 2 blocks take 2 and 4 steps of 32, 96 a prompt."""
    spent = Prefill(CHIP, 1.0, PREFILL, PREFILLING).spent(2.0, 128.0, 128.0, 8.0, 4.0, 64.0)
    score_s = 4 * 64 / (0.5 * 1e11) + 1 / (10 * 1e9)
    tiles = 2 * 8 * (2 + 4) / 10
    assert spent.compute_s == pytest.approx(tiles * 64 * 32 * score_s + 4 * 0.3e-6, rel=1e-12)  # 32 blocks, ten units
    assert spent.fixed_s == pytest.approx(5e-6, rel=1e-12)
    io, fresh, cache = 2 * 2 * 128 * 8, 2 * 4 * 128 * 2, 2 * 4 * 128 * 1
    assert spent.memory_s == pytest.approx(2 * 64 * (io + fresh + cache) / 0.8e12, rel=1e-12)
    assert spent.beside_s == 0


def test_a_prompt_of_few_tiles_takes_as_long_as_one_unit_through_all_its_positions():
    spent = Prefill(CHIP, 2.0, PREFILL, PREFILLING).spent(1.0, 64.0, 320.0, 1.0, 1.0, 128.0, causal=False)
    score_s = 4 * 128 / (0.5 * 1e11) + 1 / (10 * 1e9)
    assert spent.compute_s == pytest.approx(10 * 64 * 32 * score_s + 0.3e-6, rel=1e-12)


@pytest.mark.parametrize(("width", "reach"), [(64, 1.0), (128, 1.0), (256, 1.0), (96, 0.6), (192, 0.6), (512, 0.6)])
def test_heads_of_a_width_that_kernels_are_not_made_for_reach_less(width, reach):
    costs = replace(PREFILL, scores_per_cycle=inf, block_cycles=0.0)
    spent = Prefill(CHIP, 2.0, costs, PREFILLING).spent(10.0, 64.0, 64.0, 1.0, 1.0, float(width), causal=False)
    assert spent.compute_s == pytest.approx(2 * 64 * 32 * 4 * width / (0.5 * reach * 1e11), rel=1e-12)


def test_a_prompt_after_a_prefix_takes_whole_tiles_of_both():
    """64 rows after 100 positions: all 164 in 6 steps, of which a causal block takes 6, on average with its first."""
    kernel = Prefill(CHIP, 2.0, PREFILL, PREFILLING)
    assert kernel.efficiency(64.0, 164.0) == pytest.approx(64 * (164 - 63 / 2) / (6 * 64 * 32), rel=1e-12)
    assert kernel.efficiency(128.0, 128.0) == pytest.approx(128 * (128 - 127 / 2) / ((2 + 4) * 64 * 32), rel=1e-12)
    assert kernel.efficiency(65.0, 33.0, causal=False) == pytest.approx(65 * 33 / (2 * 2 * 64 * 32), rel=1e-12)


EXCHANGING = ExchangeCommon(quick=0.5, bulk_s=8e-6, two_shot_s=3e-6, hop_s=1e-6, bridge_s=2e-6, shared=0.5)
EXCHANGE = ExchangeCosts(own_s=4e-6, ring_s=10e-6, link=0.8)


@pytest.mark.parametrize("bridged", [False, True])
def test_every_protocol_of_an_all_reduce_is_what_it_starts_with_and_its_bytes(bridged):
    """Eight devices: 2 x 7/8 of a message around the ring, 7 of it in one shot, 2 x 7/8 in two; six beyond the pair."""
    found = Exchange(1e11, EXCHANGE, EXCHANGING, bridged, own=True).by_protocol_s("all-reduce", 8, 1e6)
    rate = 0.8e11 * ((2 / 8) ** 0.5 if bridged else 1)
    bridges = 6 * 2e-6 if bridged else 0.0
    start = 10e-6 + bridges + 6 * 1e-6
    wanted = {
        "low-latency ring": start + 1.75e6 / (rate * 0.5), "ring": start + 8e-6 * (8 / 2) ** 0.5 + 1.75e6 / rate,
        "one-shot": 4e-6 + bridges + 7e6 / rate, "two-shot": 4e-6 + bridges + 3e-6 + 1.75e6 / rate,
    }  # fmt: skip
    assert found == pytest.approx(wanted, rel=1e-12)


def test_a_library_alone_knows_rings_and_a_send_is_one_copy():
    library = Exchange(1e11, EXCHANGE, EXCHANGING)
    assert set(library.by_protocol_s("all-reduce", 8, 1e6)) == {"low-latency ring", "ring"}
    own = Exchange(1e11, EXCHANGE, EXCHANGING, own=True)
    assert set(own.by_protocol_s("all-gather", 8, 1e6)) == {"low-latency ring", "ring"}
    assert own.by_protocol_s("send", 2, 1e6) == pytest.approx({"copy": 10e-6 + 1e6 / 0.8e11}, rel=1e-12)
    assert own.by_protocol_s("all-gather", 2, 1e6)["ring"] == pytest.approx(10e-6 + 8e-6 + 5e5 / 0.8e11, rel=1e-12)
