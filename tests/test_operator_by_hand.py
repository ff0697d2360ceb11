"""One operator alone: which kernel it is, whose constants speak, and what binds it, on a chip one can reckon with.

The chip has 1 TFLOP/s, 1 TB/s, ten units at 1 GHz and a link of 100 GB/s; constants are round, and no cache helps.
"""

from __future__ import annotations

import pytest

from rooflens.catalogue.calibrations import Residuals
from rooflens.catalogue.kernels import (
    CacheSlope,
    DecodeCommon,
    DecodeCosts,
    Decoding,
    ExchangeCommon,
    ExchangeCosts,
    Exchanging,
    KernelConstants,
    PrefillCommon,
    PrefillCosts,
    Prefilling,
    ProductCommon,
    ProductCosts,
    Products,
)  # fmt: skip
from rooflens.dtypes import dtype
from rooflens.operators.alone import alone
from rooflens.operators.cost import Cost, Precision
from rooflens.prediction.attending import Decode, Prefill
from rooflens.prediction.fitted import chosen
from rooflens.prediction.kernel_of import Known, bridged, flavour_of
from rooflens.prediction.kernels import Chip
from rooflens.prediction.operator import OperatorPrediction, floors_s, predict_operator
from rooflens.prediction.products import FLAVOURS, Product, Tiling, from_datasheet
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine

SLOPE = CacheSlope(share=0.5, steep=8.0, gain=4.0)
COMMON = ProductCommon(
    overlap=1.0, cache=SLOPE, split_cycles=2000.0, power_s=1e-3, feed=0.0, feed_exponent=1.0, busy=0.5,
    narrowing_rows=2.0, by_density=-0.5, by_rate=2.0, family_compute={},
)  # fmt: skip
PRODUCT = ProductCosts(fixed_cycles=1000.0, compute=0.5, memory=0.8, fill=64.0, sustained=1.0)
DECODE = DecodeCosts(fixed_cycles=3000.0, memory=0.8, compute=0.5, wave_cycles=100.0, combine_cycles=700.0)
DECODING = DecodeCommon(overlap=1.0, cache=SLOPE, busy=0.5, chunk=256.0, rows=16.0)
PREFILL = PrefillCosts(
    fixed_cycles=5000.0, memory=0.8, compute=0.5, block_cycles=300.0, scores_per_cycle=10.0, unusual=0.6
)
PREFILLING = PrefillCommon(overlap=1.0, cache=SLOPE, rows=64.0, columns=32.0)
EXCHANGING = ExchangeCommon(quick=0.5, bulk_s=8e-6, two_shot_s=3e-6, hop_s=1e-6, bridge_s=2e-6, shared=0.5)
EXCHANGE = ExchangeCosts(own_s=4e-6, ring_s=10e-6, link=0.8)
SPREADS = {
    "any, engine named": Residuals(0.9, 1.1, 1), "any, no engine": Residuals(0.8, 1.25, 1),
    "any, chip unseen": Residuals(0.5, 2.0, 1), "int8, no engine": Residuals(0.75, 1.5, 1),
}  # fmt: skip


def rows(costs):
    return {key: 10 + i for i, key in enumerate(costs)}


PRODUCTS = {
    "seen 16 vllm": replace(PRODUCT, compute=0.25), "seen 16 *": PRODUCT,
    "seen int8 *": replace(PRODUCT, narrowing=0.25),
    "9.0 16 *": replace(PRODUCT, compute=0.75), "* 16 *": replace(PRODUCT, compute=0.125),
}  # fmt: skip
FOUND = KernelConstants(
    "2026-11-30", "by hand", ("seen",),
    Products(COMMON, PRODUCTS, rows(PRODUCTS), SPREADS),
    Decoding(DECODING, {"seen 16 *": DECODE}, {"seen 16 *": 5}, SPREADS),
    Prefilling(PREFILLING, {"seen 16/16 *": PREFILL}, {"seen 16/16 *": 6}, SPREADS),
    Exchanging(EXCHANGING, {f"seen {way} *": EXCHANGE for way in ("links", "bridges", "copies")},
               {f"seen {way} *": 7 for way in ("links", "bridges", "copies")}, SPREADS),
    {"cached": 1e6},
)  # fmt: skip
POWER_W = 1e12 / (4 * 1.42e12)  # four times the usual peak a watt
SEEN = Machine(
    "seen", "Seen", link="nvlink", family="hbm", units=10, clock_hz=1e9, compute_capability="9.0", power_w=POWER_W,
    ceilings=(
        *(Ceiling(f"compute/{of}", "compute", 1e12, "spec", dtype=of, path="matrix") for of in ("bf16", "int8", "fp8")),
        Ceiling("memory/main", "memory", 1e12, "spec", level="main"),
        *(Ceiling(f"link/{name}", "link", 1e11, "spec", level=name) for name in ("nvlink", "pcie")),
    ),
)  # fmt: skip
CHIP = Chip(1e12, 1e12, 10.0, 1e9, None)
BF16 = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"))


def of(text, machine=SEEN, precision=BF16, form="flash", **known):
    return predict_operator(text, alone(text, form), precision, machine, Known(FOUND, machine, **known))


def stored(weights="bf16", kv="bf16", math=None):
    return Precision(dtype(weights), dtype(kv), dtype("bf16"), math={"": math} if math else {})


def test_a_product_is_the_kernel_of_its_sizes():
    found = of("gemm:M=128,K=1000,N=640")
    product = Product(CHIP, FLAVOURS["16"], PRODUCT, COMMON)
    by = product.tiling(128.0, 640.0, 1000.0)
    spent = product.spent(128.0, 640.0, 1000.0, by)
    assert found.time_s.estimate == pytest.approx(spent.time_s, rel=1e-12)
    assert found.time_s.floor == pytest.approx(2 * 128 * 640 * 1000 / 1e12, rel=1e-12)
    parts = {"launch": spent.fixed_s, "compute": spent.compute_s, "memory": spent.memory_s}
    joined = {"joining": spent.beside_s} if by.cuts > 1 else {}
    assert found.where_time_goes == pytest.approx({**parts, **joined}, rel=1e-12)
    assert (found.tiles["rows"], found.tiles["columns"], found.tiles["cuts"]) == (by.rows, by.columns, by.cuts)
    assert found.tile_efficiency == product.efficiency(128.0, 640.0, 1000.0, by)
    assert (found.time_s.low, found.time_s.high) == pytest.approx(
        (max(found.time_s.floor, 0.8 * spent.time_s), 1.25 * spent.time_s), rel=1e-12
    )
    assert (found.flavour, found.protocol, found.engine, found.time_s.floor_resident) == ("16", None, None, None)
    assert found.flops == 2 * 128 * 640 * 1000
    assert found.bytes == 2 * (128 * 1000 + 1000 * 640 + 128 * 640)
    assert found.mfu == pytest.approx(found.flops / spent.time_s / 1e12, rel=1e-12)
    assert found.mbu == pytest.approx(found.bytes / spent.time_s / 1e12, rel=1e-12)


def test_what_narrows_activations_and_joins_parts_are_said_apart():
    found = of("gemm:M=16,K=65536,N=64", precision=stored("int8", math="int8"))
    product = Product(CHIP, FLAVOURS["int8"], PRODUCTS["seen int8 *"], COMMON)
    narrowing_s = product.narrowing_s(16.0, 65536.0)
    assert found.where_time_goes["narrowing"] == pytest.approx(narrowing_s, rel=1e-12)
    assert "joining" not in found.where_time_goes  # int8 kernels do not cut K
    assert sum(found.where_time_goes.values()) == pytest.approx(found.time_s.estimate, rel=1e-9)
    cut = of("gemm:M=16,K=65536,N=64")
    assert cut.tiles["cuts"] > 1
    assert "narrowing" not in cut.where_time_goes
    assert sum(cut.where_time_goes.values()) == pytest.approx(cut.time_s.estimate, rel=1e-9)


@pytest.mark.parametrize(
    ("name", "capability", "engine", "share", "origin", "spread"),
    [
        ("seen", "9.0", None, 0.5, "fitted on 11 rows", (0.8, 1.25)),
        ("seen", "9.0", "vllm", 0.25, "fitted on 10 rows", (0.9, 1.1)),
        ("seen", "9.0", "trtllm", 0.5, "fitted on 11 rows", (0.8, 1.25)),
        ("new", "9.0", "vllm", 0.75, "prior, from 13 rows of others", (0.5, 2.0)),
        ("new", "8.0", None, 0.125, "prior, from 14 rows of others", (0.5, 2.0)),
    ],
)  # fmt: skip
def test_the_nearest_constants_speak_and_say_whose_they_are(name, capability, engine, share, origin, spread):
    machine = replace(SEEN, name=name, compute_capability=capability)
    found = of("gemm:M=4096,K=4096,N=4096", machine, engine=engine)
    dense, _ = from_datasheet(COMMON, CHIP, POWER_W, "hbm") if name == "new" else (1.0, 1.0)
    said = {constant.name: (constant.value, constant.origin) for constant in found.constants[1:]}
    assert said["compute"] == (pytest.approx(share * dense, rel=1e-12), f"{origin}, 2026-11-30")
    assert "narrowing" not in said  # of which there is none
    assert (found.time_s.low / found.time_s.estimate, found.time_s.high / found.time_s.estimate) == pytest.approx(
        spread
    )
    assert any("constants are those of other chips" in note for note in found.notes) == (name == "new")
    own = engine == "vllm" and name == "seen"
    assert any("constants are those of no engine" in note for note in found.notes) == (engine is not None and not own)


def test_a_chip_that_nobody_measured_fills_its_tiles_as_its_datasheet_says():
    machine = replace(SEEN, name="new")
    dense, fill = from_datasheet(COMMON, CHIP, POWER_W, "hbm")
    said = {constant.name: constant.value for constant in of("gemm:M=64,K=64,N=64", machine).constants}
    assert dense != 1 != fill
    assert said["fill"] == pytest.approx(64.0 * fill, rel=1e-12)
    seen = {constant.name: constant.value for constant in of("gemm:M=64,K=64,N=64").constants}
    assert (seen["fill"], seen["compute"]) == (64.0, 0.5)


def test_a_flavours_own_residuals_go_before_those_of_any():
    kind = FOUND.products
    assert chosen(kind, SEEN, "int8", None).residuals == Residuals(0.75, 1.5, 1)
    assert chosen(kind, SEEN, "16", None).residuals == Residuals(0.8, 1.25, 1)
    assert chosen(kind, SEEN, "fp4", None) is None


def test_attention_is_a_kernel_of_a_step_or_of_a_prompt():
    """Eight query heads over two of the cache."""
    step = of("attention:B=3,H=8,K=2,W=128,S=1000")
    spent = Decode(CHIP, 2.0, DECODE, DECODING).spent(3.0, 1000.0, 8.0, 2.0, 128.0)
    assert step.time_s.estimate == pytest.approx(spent.time_s, rel=1e-12)
    assert (step.flavour, step.tile_efficiency, step.tiles) == ("16", 4 / 16, None)
    for causal in (1, 0):
        prompt = of(f"attention:B=3,T=500,H=8,K=2,W=128,S=500,causal={causal}")
        prefill = Prefill(CHIP, 2.0, PREFILL, PREFILLING)
        spent = prefill.spent(3.0, 500.0, 500.0, 8.0, 2.0, 128.0, causal=bool(causal))
        assert prompt.time_s.estimate == pytest.approx(spent.time_s, rel=1e-12)
        assert prompt.tile_efficiency == prefill.efficiency(500.0, 500.0, causal=bool(causal))
        unlike = any("causal ones without a prefix" in note for note in prompt.notes)
        assert unlike == (not causal)
    assert any("without a prefix" in note for note in of("attention:T=400,H=8,K=2,W=128,S=500").notes)
    assert not any("without a prefix" in note for note in step.notes)


@pytest.mark.parametrize(
    ("text", "precision", "form", "flavour"),
    [
        ("attention:H=8,K=2,W=128,S=500", stored(), "flash", "16"),
        ("attention:H=8,K=2,W=128,S=500", stored(kv="fp8"), "flash", "8"),
        ("attention:H=8,K=2,W=128,S=500", stored(kv="fp8", math="fp8"), "flash", None),
        ("attention:H=8,K=2,W=128,S=500", stored(kv="int4"), "flash", None),
        ("attention:H=8,K=2,W=128,S=500", stored(math="fp32"), "flash", None),
        ("attention:H=8,K=2,W=128,S=500", stored(), "unfused", None),
        ("attention:H=8,K=2,W=128,S=500", stored(), "fused-softmax", None),
        ("attention:T=2,H=8,K=2,W=128,S=500", stored(), "flash", "16/16"),
        ("attention:T=500,H=8,K=2,W=128,S=500", stored(kv="fp8"), "flash", "16/8"),
        ("attention:T=500,H=8,K=2,W=128,S=500", stored(kv="int4"), "flash", None),
        ("attention:T=500,H=8,K=2,W=128,S=500", stored(math="fp32"), "flash", None),
        ("gemm:M=1,K=64,N=64", stored("fp32", math="fp32"), "flash", "32"),
        ("gemm:M=1,K=64,N=64", stored("int8", math="int8"), "flash", "int8"),
        ("gemm:M=1,K=64,N=64", stored("nvfp4", math="fp4"), "flash", "fp4"),
        ("gemm:M=1,K=64,N=64", stored("int8", math="bf16"), "flash", "8-weights"),
        ("gemm:M=1,K=64,N=64", stored("int4", math="bf16"), "flash", "4-weights"),
        ("gemm:M=1,K=64,N=64", stored("q4_k", math="bf16"), "flash", None),
        ("attention:T=500,H=8,K=2,W=128,S=500", stored(kv="fp8", math="fp8"), "flash", "8/8"),
        ("elementwise:n=4096", stored(), "flash", None),
    ],
)  # fmt: skip
def test_formats_name_the_kernel(text, precision, form, flavour):
    assert flavour_of(alone(text, form), precision, Known(FOUND, SEEN)) == flavour


@pytest.mark.parametrize(
    ("engine", "scales", "flavour", "said"),
    [
        (None, None, "fp8-dynamic", True), ("vllm", None, "fp8-dynamic", True), ("trtllm", None, "fp8-static", True),
        ("trtllm", "block", "fp8-block", False), (None, "static", "fp8-static", False),
    ],
)  # fmt: skip
def test_scales_of_fp8_products_are_said_where_nobody_chose_them(engine, scales, flavour, said):
    costs = {f"seen {flavour} *": PRODUCT}
    found = replace(FOUND, products=replace(FOUND.products, costs=costs, rows=rows(costs)))
    text = "gemm:M=64,K=64,N=64"
    known = Known(found, SEEN, engine, scales)
    answer = predict_operator(text, alone(text), stored("fp8", math="fp8"), SEEN, known, ("first",))
    assert answer.flavour == flavour
    assert any("--flavour says otherwise" in note for note in answer.notes) == said
    assert answer.notes[0] == "first"


@pytest.mark.parametrize(("link", "way"), [("nvlink", "links"), ("pcie", "bridges")])
def test_a_collective_is_its_bytes_over_the_link_and_its_waiting(link, way):
    """All-reduce of 1 MB among eight in one shot of the engine's own kernels or around the library's ring."""
    machine = replace(SEEN, link=link)
    found = of("all-reduce:bytes=1e6,devices=8", machine)
    sent_s = 1.75e6 / 1e11
    rate = 0.8e11 * ((2 / 8) ** 0.5 if link == "pcie" else 1)
    start_s = 10e-6 + 6e-6 + (6 * 2e-6 if link == "pcie" else 0)
    wanted = min(start_s + 1.75e6 / (0.5 * rate), start_s + 8e-6 * 2 + 1.75e6 / rate)
    assert found.flavour == way
    assert found.time_s.estimate == pytest.approx(wanted, rel=1e-12)
    assert found.where_time_goes == pytest.approx({"link": sent_s, "waiting": wanted - sent_s}, rel=1e-12)
    assert (found.tile_efficiency, found.tiles, found.mfu, found.mbu) == (None, None, None, None)
    own = of("all-reduce:bytes=1e6,devices=8", machine, engine="vllm")
    assert own.time_s.estimate < found.time_s.estimate
    assert own.protocol in ("one-shot", "two-shot")
    assert bridged(machine) == (link == "pcie")
    assert not bridged(None)
    assert of("send:bytes=1e9,devices=2", machine).flavour == "copies"


def test_what_takes_over_half_of_the_time_to_start_is_bound_by_its_launch():
    assert of("all-reduce:bytes=1e5,devices=2").bound == "launch"
    assert of("all-reduce:bytes=1e9,devices=2").bound == "link"
    assert of("attention:H=8,K=2,W=128,S=1").bound == "launch"
    assert of("gemm:M=4096,K=4096,N=4096").bound == "compute"
    slow = Ceiling("memory/main", "memory", 1e10, "spec", level="main")
    machine = replace(SEEN, ceilings=tuple(slow if c.kind == "memory" else c for c in SEEN.ceilings))
    assert of("gemm:M=1,K=16384,N=16384", machine).bound == "memory"


def test_floors_with_a_cache_leave_what_it_cannot_hold():
    """1 GB of which a cache holds a quarter, all, or more than all."""
    cost = Cost({"bf16": 1e8}, weight_bytes=6e8, activation_bytes=4e8)
    for cache, left in ((0.0, 1.0), (2.5e8, 0.75), (1e9, 0.1), (1e12, 0.1)):  # then its arithmetic binds
        assert floors_s(cost, SEEN, cache) == pytest.approx((1e-3, 1e-3 * left), rel=1e-12)
    assert floors_s(cost, SEEN) == floors_s(cost, SEEN, 0.0)
    assert floors_s(Cost({"bf16": 1e8}), SEEN, 1.0) == pytest.approx((1e-4, 1e-4), rel=1e-12)


def test_an_estimate_is_no_quicker_than_its_floor_unless_its_data_may_be_in_the_cache():
    """A cache that holds twice what moves: the resident floor, of nothing but arithmetic, is the least."""
    text, sized = "gemm:M=1,K=16384,N=16384", 4 * 16384**2
    quick = replace(PRODUCT, fixed_cycles=0.0, compute=9.0, memory=9.0, fill=0.0)
    costs = {"seen 16 *": quick}
    found = replace(FOUND, products=replace(FOUND.products, costs=costs, rows=rows(costs)))
    slow = Ceiling("memory/main", "memory", 1e10, "spec", level="main")
    machine = replace(SEEN, ceilings=tuple(slow if c.kind == "memory" else c for c in SEEN.ceilings))
    apart, inside = (
        predict_operator(text, alone(text), BF16, there, Known(found, there)).time_s
        for there in (machine, replace(machine, cache_bytes=float(sized)))
    )
    assert (apart.estimate, apart.low) == (apart.floor, apart.floor)
    assert inside.floor == apart.floor
    assert inside.floor_resident < inside.estimate < inside.floor
    assert inside.low >= inside.floor_resident


def test_an_operator_says_what_its_figures_are_of():
    product, talk = of("gemm:M=64,K=64,N=64").conventions, of("all-reduce:bytes=1e5,devices=2").conventions
    assert set(product) == {
        "precision", "peaks", "flops", "floor", "estimate", "where_time_goes", "not_counted",
    }  # fmt: skip
    assert set(talk) == {"peaks", "flops", "floor", "estimate", "message", "not_counted"}
    assumed = replace(SEEN, assumed={"memory": "2TB/s"})
    assert any("assumed" in name for name in of("gemm:M=64,K=64,N=64", assumed).conventions)


def test_data_that_fits_the_last_cache_to_the_last_byte_may_be_found_there():
    text = "gemm:M=128,K=1000,N=640"
    moved = 2 * (128 * 1000 + 1000 * 640 + 128 * 640)
    for size, fits in ((moved, True), (moved - 1, False)):
        found = of(text, replace(SEEN, cache_bytes=float(size)))
        assert (found.time_s.floor_resident is not None) == fits
        assert any("fit the last cache" in note for note in found.notes) == fits
    assert found.time_s.floor_resident is None
    resident = of("gemm:M=1,K=16384,N=16384", replace(SEEN, cache_bytes=1e9)).time_s
    assert resident.floor_resident == pytest.approx(2 * 16384**2 / 1e12, rel=1e-12)  # its arithmetic alone
    assert resident.low >= resident.floor_resident


def test_a_cache_that_no_datasheet_says_is_what_measured_rows_show():
    text = "gemm:M=64,K=64,N=64"
    shown = of(text, replace(SEEN, name="cached"))
    assert any("of Seen is not known: measured rows show 1 MB" in note for note in shown.notes)
    nothing = of(text)
    assert any("nothing is expected to stay in it" in note for note in nothing.notes)
    assert not any("last cache of Seen is not known" in note for note in of(text, replace(SEEN, cache_bytes=1e6)).notes)


@pytest.mark.parametrize(
    ("machine", "said"),
    [
        (replace(SEEN, units=None), "floors only: the units or the clock of Seen are not known"),
        (replace(SEEN, clock_hz=None), "floors only: the units or the clock of Seen are not known"),
        (replace(SEEN, family="tpu"), "floors only: no kernel was measured on this kind of chip (Seen)"),
    ],
)
def test_a_chip_that_says_too_little_has_its_floor_alone(machine, said):
    found = of("gemm:M=1,K=16384,N=16384", machine)
    assert found.notes[0].startswith(said)
    assert (found.time_s.estimate, found.flavour, found.tiles, found.bound) == (None, None, None, "memory")
    assert found.where_time_goes == pytest.approx(
        {"compute:bf16": 2 * 16384**2 / 1e12, "memory": 2 * (16384**2 + 2 * 16384) / 1e12}, rel=1e-12
    )
    assert found.mbu == pytest.approx(1.0, rel=1e-12)
    assert len(found.constants) == 1
    assert found.constants[0].value == 1e12


def test_an_operator_prediction_that_says_no_more_has_no_estimate():
    plain = OperatorPrediction("o", "m", {}, 1.0, 1.0, of("gemm:M=1,K=64,N=64").time_s, "memory", {})
    assert (plain.constants, plain.notes, plain.flavour, plain.mfu, plain.mbu) == ((), (), None, None, None)
    assert Tiling(64.0, 64.0).cuts == 1
