"""The time of one kernel: closed forms of tiles and waves, golden values of the study behind it, and laws.

Exceptions to "more work takes longer", which tiles make: where blocks are too few to fill the memory bus, one block
more may be faster; and a context that need not be cut any more saves the pass that joins its parts.
"""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens.arrays import library, up
from rooflens.catalogue.kernels import (
    CacheSlope,
    DecodeCosts,
    ExchangeCosts,
    PrefillCosts,
    ProductCosts,
    operators,
)
from rooflens.errors import Unknown
from rooflens.prediction.attending import Decode, Prefill
from rooflens.prediction.exchanging import Exchange
from rooflens.prediction.kernels import Chip, together
from rooflens.prediction.products import CUTS, FLAVOURS, TILES, Product, Tiling, from_datasheet

FOUND = operators()
CHIP = Chip(989.4e12, 3.35e12, 132, 1.83e9, 52428800.0)  # an H100
COSTS = ProductCosts(5000.0, 0.85, 0.83, 150.0, 0.8, 0.3)
DECODE = DecodeCosts(20000.0, 0.86, 0.45, 1500.0, 4000.0)
PREFILL = PrefillCosts(20000.0, 0.6, 0.7, 3600.0, 50.0, 0.8)
EXCHANGE = ExchangeCosts(4.5e-6, 9e-6, 0.7)
sizes = st.integers(1, 30000).map(float)
heads = st.sampled_from([(32.0, 32.0), (32.0, 8.0), (64.0, 8.0), (128.0, 1.0), (7.0, 7.0)])
widths = st.sampled_from([64.0, 128.0, 192.0, 256.0])


def product(flavour: str = "16", chip: Chip = CHIP, **changes: float) -> Product:
    return Product(chip, FLAVOURS[flavour], replace(COSTS, **changes), FOUND.products.common)


def decode(cache: float = 2.0, **changes: float) -> Decode:
    return Decode(CHIP, cache, replace(DECODE, **changes), FOUND.decoding.common)


def prefill(cache: float = 2.0) -> Prefill:
    return Prefill(CHIP, cache, PREFILL, FOUND.prefilling.common)


def exchange(*, bridged: bool = False, own: bool = False) -> Exchange:
    return Exchange(450e9, EXCHANGE, FOUND.exchanging.common, bridged, own)


PRODUCTS = [
    ("16", 1, 4096, 4096, 1.47958e-05),
    ("16", 16, 14336, 4096, 4.51906e-05),
    ("16", 64, 1024, 65536, 5.73513e-05),
    ("16", 512, 8192, 8192, 9.51961e-05),
    ("16", 8192, 8192, 8192, 0.00145672),
    ("fp8-dynamic", 16, 14336, 4096, 2.73058e-05),
    ("fp8-dynamic", 4096, 128, 7168, 0.000104588),
    ("fp8-static", 16, 256, 16384, 1.97261e-05),
    ("4-weights", 1, 28672, 8192, 4.64957e-05),
    ("fp4", 256, 7168, 2048, 1.57175e-05),
]
DECODES = [
    (1, 128, 32, 8, 128, 2, None, 1.10494e-05),
    (16, 4096, 32, 8, 128, 2, None, 0.0001072),
    (64, 16384, 32, 8, 128, 1, None, 0.000759157),
    (8, 1024, 128, 1, 192, 2, 32, 0.000100697),
    (256, 8192, 64, 64, 64, 2, None, 0.0120404),
]
PREFILLS = [
    (1, 16, 32, 8, 128, 2, 1.31926e-05),
    (4, 2048, 32, 8, 128, 2, 0.000377422),
    (1, 32768, 64, 8, 192, 1, 0.0515724),
]
EXCHANGES = [
    ("all-reduce", 8, 8192, False, True, 4.68204e-06),
    ("all-reduce", 8, 8388608, False, True, 5.71034e-05),
    ("all-reduce", 4, 1048576, True, False, 4.47808e-05),
    ("all-gather", 8, 67108864, False, False, 0.000234154),
    ("send", 2, 4194304, False, False, 2.23153e-05),
]


@pytest.mark.parametrize(("flavour", "M", "N", "K", "expected"), PRODUCTS)
def test_products_take_what_the_study_computes(flavour, M, N, K, expected):
    assert product(flavour).time_s(float(M), float(N), float(K)) == pytest.approx(expected, rel=5e-4)


@pytest.mark.parametrize(("B", "S", "H", "K", "W", "cache", "widest", "expected"), DECODES)
def test_decode_attention_takes_what_the_study_computes(B, S, H, K, W, cache, widest, expected):
    kernel = decode(cache, widest=widest)
    assert kernel.spent(float(B), float(S), float(H), float(K), float(W)).time_s == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("B", "S", "H", "K", "W", "cache", "expected"), PREFILLS)
def test_prefill_attention_takes_what_the_study_computes(B, S, H, K, W, cache, expected):
    found = prefill(cache).spent(float(B), float(S), float(S), float(H), float(K), float(W))
    assert found.time_s == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize(("name", "devices", "message", "bridged", "own", "expected"), EXCHANGES)
def test_collectives_take_what_the_study_computes(name, devices, message, bridged, own, expected):
    assert exchange(bridged=bridged, own=own).time_s(name, devices, float(message)) == pytest.approx(expected, rel=1e-5)


def test_one_tile_takes_its_fixed_cost_and_its_bytes():
    kernel, K = product(), 65536.0
    fixed_s, bytes_s = 5000 / 1.83e9, (128 + 128) * K * 2 / (0.83 * 3.35e12)
    assert kernel.time_s(128.0, 128.0, K) > fixed_s + bytes_s


def test_twice_the_columns_take_twice_the_time_beyond_the_waves():
    kernel = product(sustained=1.0, chip=replace(CHIP, cache_bytes=0.0))
    once = kernel.time_s(8192.0, 132 * 256.0, 8192.0)
    assert kernel.time_s(8192.0, 2 * 132 * 256.0, 8192.0) == pytest.approx(2 * once, rel=2e-3)


def test_one_tile_more_than_the_units_is_a_wave_more():
    kernel, by = product(), Tiling(128.0, 128.0)
    full, more = (kernel.spent(128.0, 128.0 * tiles, 4096.0, by) for tiles in (132, 133))
    assert kernel.waves(128.0, 128.0 * 132, by) == 1
    assert kernel.waves(128.0, 128.0 * 133, by) == 2
    assert more.compute_s == pytest.approx(2 * full.compute_s, rel=0.02)
    assert kernel.efficiency(128.0, 128.0 * 132, 4096.0, by) == 1.0
    assert kernel.efficiency(128.0, 128.0 * 133, 4096.0, by) == pytest.approx(133 / 264)


def test_a_deep_product_is_cut_where_tiles_are_few_and_kernels_can():
    assert product("16").tiling(16.0, 256.0, 65536.0).cuts > 1
    assert product("fp8-dynamic").tiling(16.0, 256.0, 65536.0).cuts == 1
    assert product("16").tiling(8192.0, 8192.0, 1024.0).cuts == 1


def test_a_tall_product_pays_for_narrowing_its_activations_where_they_are_narrowed():
    M, K = 16384.0, 7168.0
    added = product("fp8-dynamic").time_s(M, 128.0, K) - product("fp8-dynamic", narrowing=None).time_s(M, 128.0, K)
    assert added == pytest.approx(M * K * (2 + 1) / (0.3 * 3.35e12))  # bytes read in 16 bit and written in 8


def test_what_the_last_cache_serves_comes_at_its_own_rate():
    slope = CacheSlope(share=0.5, steep=8.0, gain=4.0)
    chip = replace(CHIP, cache_bytes=1e8)
    assert chip.fetched(1e6, slope) == pytest.approx(1 / 4)
    assert chip.fetched(5e7, slope) == pytest.approx((1 + 1 / 4) / 2)
    assert chip.fetched(1e10, slope) == pytest.approx(1.0)
    assert replace(CHIP, cache_bytes=0.0).fetched(1e6, slope) == 1.0


def test_times_overlap_from_a_sum_to_the_larger_one():
    assert together(3.0, 4.0, 1.0) == 7.0
    assert together(3.0, 4.0, 2.0) == 5.0
    assert together(3.0, 4.0, 60.0) == pytest.approx(4.0)
    assert together(0.0, 0.0, 3.0) == 0.0


def test_decode_streams_its_cache_at_the_reached_rate_when_it_is_long():
    B, S, K, W = 64.0, 65536.0, 8.0, 128.0
    spent = decode().spent(B, S, 4 * K, K, W)
    assert spent.time_s == pytest.approx(2 * B * S * K * W * 2 / (0.86 * 3.35e12), rel=0.01)
    assert decode(1.0).spent(B, S, 4 * K, K, W).memory_s == pytest.approx(spent.memory_s / 2, rel=1e-3)


def test_a_group_too_wide_for_one_reading_reads_the_cache_for_each_head():
    one = decode(widest=32.0).spent(8.0, 8192.0, 32.0, 1.0, 128.0)
    wide = decode(widest=32.0).spent(8.0, 8192.0, 64.0, 1.0, 128.0)
    assert wide.memory_s == pytest.approx(64 * one.memory_s, rel=0.1)
    narrow = (8.0, 8192.0, 32.0, 8.0, 128.0)  # four heads share one of the cache
    assert decode(widest=32.0).spent(*narrow).memory_s == decode().spent(*narrow).memory_s


def test_few_blocks_leave_most_of_the_memory_bus_to_nobody():
    bare, tiling = product(chip=replace(CHIP, cache_bytes=None)), Tiling(128.0, 128.0, 1.0)
    alone, filled = bare.spent(128.0, 128.0, 8192.0, tiling), bare.spent(128.0, 132 * 128.0, 8192.0, tiling)
    bytes_of_one, bytes_of_all = (2 * (128 * 8192 + 8192 * n + 128 * n) for n in (128, 132 * 128))
    slower = (alone.memory_s / bytes_of_one) / (filled.memory_s / bytes_of_all)
    assert slower == pytest.approx(FOUND.products.common.busy * 132)


def test_a_prompt_costs_half_of_its_square_when_it_is_causal():
    causal, full = (prefill().spent(1.0, 16384.0, 16384.0, 32.0, 8.0, 128.0, causal=c) for c in (True, False))
    assert full.compute_s == pytest.approx(2 * causal.compute_s, rel=0.03)  # blocks start once either way
    assert prefill().efficiency(16384.0, 16384.0) == pytest.approx(1.0, rel=0.01)
    assert prefill().efficiency(1.0, 1.0) == 1 / (64 * 32)
    assert prefill().efficiency(3 * 64.0, 5 * 32.0, causal=False) == 1.0  # 15 whole tiles, all of them asked for


def test_a_prefix_adds_its_own_positions_to_a_prompt():
    with_prefix = prefill().spent(1.0, 4096.0, 8192.0, 32.0, 8.0, 128.0).compute_s
    whole, first = (prefill().spent(1.0, T, T, 32.0, 8.0, 128.0).compute_s for T in (8192.0, 4096.0))
    assert with_prefix == pytest.approx(whole - first, rel=0.01)


def test_small_messages_go_in_one_shot_and_large_ones_around_the_ring():
    small, large = (exchange(own=True).by_protocol_s("all-reduce", 8, b) for b in (4096.0, 2.0**30))
    assert min(small, key=small.get) == "one-shot"
    assert large["one-shot"] == pytest.approx(7 * 2**30 / (0.7 * 450e9), rel=1e-3)
    assert min(large.values()) == pytest.approx(2 * 7 / 8 * 2**30 / (0.7 * 450e9), rel=0.01)


def test_devices_behind_bridges_share_them():
    assert exchange(bridged=True).time_s("all-reduce", 8, 2.0**28) > 5 * exchange().time_s("all-reduce", 8, 2.0**28)


@given(M=sizes, N=sizes, K=sizes, flavour=st.sampled_from(list(FLAVOURS)))
def test_every_product_takes_longer_than_its_fixed_cost_and_its_work_at_the_reach(M, N, K, flavour):
    kernel = product(flavour)
    assert math.isfinite(kernel.time_s(M, N, K))
    assert kernel.time_s(M, N, K) >= 5000 / 1.83e9 + 0.9 * 2 * M * N * K / 989.4e12
    assert 0 < kernel.efficiency(M, N, K, kernel.tiling(M, N, K)) <= 1


@given(M=sizes, N=sizes, K=sizes, more=st.integers(1, 30000), flavour=st.sampled_from(list(FLAVOURS)))
def test_a_deeper_product_never_takes_less(M, N, K, more, flavour):
    assert product(flavour).time_s(M, N, K + more) >= product(flavour).time_s(M, N, K) * (1 - 1e-12)


@given(M=sizes, N=st.integers(12288, 60000).map(float), K=sizes, more=st.integers(1, 30000))
def test_more_rows_or_columns_never_take_less_once_their_tiles_fill_the_bus(M, N, K, more):
    kernel = product()  # 12,288 columns are 48 of the widest tiles, over a third of the units
    least = kernel.time_s(M, N, K) * (1 - 1e-12)
    assert kernel.time_s(M + more, N, K) >= least
    assert kernel.time_s(M, N + more, K) >= least


@given(B=st.integers(24, 512), S=sizes, more=st.integers(1, 30000), HK=heads, W=widths)
def test_a_longer_context_never_takes_less_once_sequences_fill_the_bus(B, S, more, HK, W):
    H, K = HK
    assert decode().spent(float(B), S + more, H, K, W).time_s >= decode().spent(float(B), S, H, K, W).time_s


@given(B=st.integers(24, 512), more=st.integers(1, 512), S=st.integers(1, 1024), HK=heads, W=widths)
def test_more_sequences_never_take_less_while_no_context_is_cut(B, more, S, HK, W):
    H, K = HK
    assert (
        decode().spent(float(B + more), float(S), H, K, W).time_s >= decode().spent(float(B), float(S), H, K, W).time_s
    )


@given(B=st.integers(1, 64), S=sizes, more=st.integers(1, 30000), HK=heads, W=widths)
def test_a_longer_prompt_or_one_more_never_takes_less(B, S, more, HK, W):
    def time_s(B: float, S: float) -> float:
        return prefill().spent(float(B), S, S, *HK, W).time_s

    assert time_s(B, S + more) >= time_s(B, S)
    assert time_s(B + 1, S) >= time_s(B, S)


@given(
    name=st.sampled_from(["all-reduce", "all-gather", "reduce-scatter", "all-to-all", "send"]),
    devices=st.integers(2, 16), message=st.floats(1, 1e10), more=st.floats(1, 1e10), bridged=st.booleans(),
    own=st.booleans(),
)  # fmt: skip
def test_a_larger_message_or_one_more_device_never_takes_less(name, devices, message, more, bridged, own):
    kernel = exchange(bridged=bridged, own=own)
    assert kernel.time_s(name, devices, message + more) >= kernel.time_s(name, devices, message)
    if name != "send":
        assert kernel.time_s(name, devices + 1, message) >= kernel.time_s(name, devices, message) * (1 - 1e-12)


@settings(max_examples=20)
@given(found=st.lists(st.tuples(sizes, sizes, sizes), min_size=1, max_size=5))
def test_arrays_give_what_scalars_give(found):
    np = library()
    first, second, third = (np.array(column) for column in zip(*found, strict=True))
    for flavour in ("16", "fp8-dynamic"):
        kernel = product(flavour)
        assert kernel.time_s(first, second, third) == pytest.approx([kernel.time_s(*sizes) for sizes in found])
    steps = decode(widest=32.0).spent(first, second, 128.0, 1.0, 128.0).time_s
    assert steps == pytest.approx([decode(widest=32.0).spent(B, S, 128.0, 1.0, 128.0).time_s for B, S, _ in found])
    prompts = prefill().spent(first, second, second, 32.0, 8.0, 192.0).time_s
    assert prompts == pytest.approx([prefill().spent(B, S, S, 32.0, 8.0, 192.0).time_s for B, S, _ in found])
    messages = exchange(own=True).time_s("all-reduce", 8, first)
    assert messages == pytest.approx([exchange(own=True).time_s("all-reduce", 8, b) for b, _, _ in found])


def test_whole_parts_are_counted_up():
    assert [up(parts) for parts in (0.1, 1.0, 1.5, 2.0)] == [1, 1, 2, 2]


def test_the_prior_of_a_chip_falls_with_its_peak_a_watt_and_with_its_maker():
    common = FOUND.products.common
    assert from_datasheet(common, CHIP, 989.4e12 / 1.42e12, "hbm") == pytest.approx((1.0, 1.0), rel=1e-3)
    dense, _ = from_datasheet(common, replace(CHIP, flops_per_s=2 * 989.4e12), 989.4e12 / 1.42e12, "cdna")
    assert dense == pytest.approx(0.67 * 2**-0.12)
    assert from_datasheet(common, CHIP, None, "hbm")[0] == 1.0


@pytest.mark.parametrize("kind", ["products", "decoding", "prefilling", "exchanging"])
def test_every_constant_has_its_rows_and_its_residuals(kind):
    found = getattr(FOUND, kind)
    assert set(found.costs) == set(found.rows)
    assert all(rows > 0 for rows in found.rows.values())
    assert {f"any, {known}" for known in ("engine named", "no engine", "chip unseen")} <= set(found.residuals)
    assert all(residual.low < 1 < residual.high for residual in found.residuals.values())
    assert all(key.count(" ") == 2 for key in found.costs)
    flavours = {key.split(" ")[1] for key in found.costs}
    assert all(f"* {flavour} *" in found.costs for flavour in flavours - {"copies"})
    assert kind != "products" or flavours == set(FLAVOURS)


def test_a_file_of_constants_that_is_not_there_is_named():
    with pytest.raises(Unknown, match="operators-2026-11-29"):
        operators("operators-2026-11-30")


def test_tiles_are_those_that_libraries_have():
    assert all(rows % 16 == 0 and columns % 64 == 0 for rows, columns in TILES)
    assert [math.log2(parts) for parts in CUTS] == [0, 1, 2, 3, 4, 5]  # of the depth, each time in halves
