"""Claims about chips, taken apart: the worked examples, and figures that public tables and pages have wrong."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflens
from rooflens.api.claims import claim
from rooflens.catalogue import accelerator, accelerators, once_said, source
from rooflens.claims.figures import figures, right
from rooflens.claims.record import Claim
from rooflens.claims.statement import Ratio, Statement, statement
from rooflens.errors import NoPath, RooflensError, Unknown
from rooflens.present.retold import retold

H100, A100 = "h100-sxm5-80gb", "a100-sxm4-80gb"


@pytest.fixture(scope="module")
def six() -> Claim:
    return claim(H100, A100, times=6)


def gains(found: Claim, formats: str) -> dict[tuple[str, float | None], float]:
    return {(c.name, c.batch): c.ratio for c in (*found.true_for, *found.false_for) if c.formats == formats}


def test_d1_six_times_splits_into_compute_memory_and_precision(six: Claim) -> None:
    assert six.ratios["compute"] == pytest.approx(3.17, rel=0.005)  # 989.4 / 312
    assert six.ratios["memory"] == pytest.approx(1.64, rel=0.005)  # 3.35 / 2.039
    assert six.ratios["precision"] == pytest.approx(6.34, rel=0.005)  # 1978.9 / 312
    assert six.ratios["sparsity"] == pytest.approx(2 * 989.4 / 312)


def test_d1_six_times_holds_only_compute_bound_with_the_precision_changed(six: Claim) -> None:
    assert (six.verdict, six.condition) == ("true only for", "compute-bound work with the precision changed")
    assert {(c.bound, c.formats) for c in six.true_for} == {("compute", "fp8 against bf16")}
    assert {c.name for c in six.true_for} == {"prefill FFN", "GEMM of 8192 cubed"}


def test_d1_decode_at_batch_one_gains_the_ratio_of_the_bandwidths(six: Claim) -> None:
    alike = gains(six, "bf16 against bf16")
    for name, batch in (("decode attention", None), ("decode FFN", 1), ("decode step", 1)):
        assert alike[name, batch] == pytest.approx(3.35 / 2.039, rel=1e-6)
    assert alike["prefill FFN", None] == pytest.approx(989.4 / 312, rel=1e-6)


def test_d1_the_batch_from_which_it_holds_is_the_first_that_does(six: Claim) -> None:
    (reach,) = six.batches
    assert (reach.formats, reach.last_batch) == ("fp8 against bf16", None)
    # bf16 on the A100 is compute-bound there: 2 B W / 312e12 against W / 3.35e12 is 6 x 0.97 at B = 271, weights alone
    assert 271 <= reach.first_batch <= 340


def test_d2_1979_in_bf16_is_the_sparse_figure() -> None:
    found = claim(H100, says="1979 TFLOP/s bf16")
    assert (found.verdict, found.right) == ("true only for", 989.4e12)
    assert [c.name for c in found.true_for] == ["bf16, 2:4 sparse"]
    assert [(c.name, c.value) for c in found.false_for] == [("bf16, dense", 989.4e12)]
    assert found.ratios == {"compute": pytest.approx(2, rel=1e-3), "sparsity": 2}


def test_d3_there_is_no_fp8_before_compute_capability_8_9() -> None:
    found = claim(A100, says="624 TFLOP/s fp8")
    assert (found.verdict, found.right, found.true_for) == ("false", 0, ())
    assert "no fp8 path: fp8 begins with compute capability 8.9, and this is 8.0" in found.why[0]
    assert found.why[1] == "624 TFLOP/s is its int8, dense"


@pytest.mark.parametrize("asked", [{"says": "tf32 is 16x fp32"}, {"second": f"{A100}:fp32", "times": 16}])
def test_d4_tf32_is_eight_times_fp32(asked: dict[str, object]) -> None:
    found = claim(A100 if "says" in asked else f"{A100}:tf32", **asked)  # type: ignore[arg-type]
    assert (found.verdict, found.right) == ("false", pytest.approx(156 / 19.5))
    assert found.ratios == {"precision": pytest.approx(8), "sparsity": pytest.approx(16)}
    assert "312 TFLOP/s (tf32, 2:4 sparse)" in found.why[1]
    assert claim(f"{A100}:tf32", f"{A100}:fp32", times=8).verdict == "true"


def test_d5_nvlink_is_printed_both_ways_and_pcie_one_way() -> None:
    found = claim(H100, says="900 GB/s nvlink")
    assert (found.verdict, found.condition, found.right) == ("true only for", "nvlink, both ways", 450e9)
    assert "one way on both, 450 GB/s of nvlink stand against 63.02 GB/s of pcie" in found.notes
    against = claim(f"{H100}:nvlink", f"{H100}:pcie", times=900 / 64)
    assert (against.verdict, against.right) == ("false", pytest.approx(450 / 63, rel=1e-3))
    assert "900 GB/s (nvlink, both ways) against 63.02 GB/s (pcie, one way)" in against.why[1]


# What is said, what is right, and a word of why it was said; None: right as it stands. In SI, dense, one direction.
SAID = [
    # a sparse figure beside dense ones
    (H100, "989 TFLOP/s tf32", 494.7e12, "tf32, 2:4 sparse"),
    ("gh200-144gb", "1979 TFLOP/s bf16", 989.4e12, "bf16, 2:4 sparse"),
    ("b100-192gb", "3500 TFLOP/s bf16", 1750e12, "bf16, 2:4 sparse"),
    (H100, "3958 TFLOP/s fp8", 1978.9e12, "fp8, 2:4 sparse"),
    # another format's figure
    (A100, "624 TFLOP/s fp8", 0, "int8, dense"),
    ("tpu-v6e", "918 TFLOP/s fp16", 0, "bf16, dense"),
    ("tpu7x-ironwood", "2307 TFLOP/s fp16", 0, "bf16, dense"),
    ("b300-sxm-288gb", "4500 TOPS int8", 153.5e12, "fp8, dense"),
    ("gb300-288gb", "5000 TOPS int8", 165e12, "fp8, dense"),
    ("tpu-v5e", "197 TOPS int8", 394e12, "bf16, dense"),
    (H100, "3958 TOPS int4", 0, "2:4 sparse"),
    ("rtx-4090-24gb", "330.3 TOPS int8", 660.6e12, "fp16 accumulation"),
    # the vector units' figure
    (H100, "133.8 TFLOP/s bf16", 989.4e12, "bf16, on the vector units"),
    ("rtx-a6000", "38.7 TFLOP/s fp16", 154.8e12, "fp16, on the vector units"),
    ("rtx-3090-24gb", "35.58 TFLOP/s fp16", 71.16e12, "fp16, on the vector units"),
    (A100, "78 TFLOP/s vector bf16", 39e12, "fp16, on the vector units"),
    # fp16 accumulation
    ("rtx-3090-24gb", "142 TFLOP/s bf16", 71.16e12, "fp16, fp16 accumulation"),
    ("rtx-4090-24gb", "330 TFLOP/s fp16", 165.2e12, "fp16, fp16 accumulation"),
    # one die of two, or both
    ("mi250x-128gb", "191.5 TFLOP/s bf16", 383e12, "bf16, one of 2 devices"),
    ("mi250x-128gb", "1.64 TB/s", 3.2768e12, "memory, one of 2 devices"),
    # a relative's figure
    ("a10g", "125 TFLOP/s bf16", 70e12, "of a10"),
    ("a10g", "31.2 TFLOP/s fp32", 35e12, "of a10"),
    ("a10g", "72 SMs", 80, "of a10"),
    ("l40s", "181.05 TFLOP/s bf16", 362.05e12, "half"),
    ("gb200-186gb", "2250 TFLOP/s bf16", 2500e12, "of b200-sxm-180gb"),
    ("b200-sxm-180gb", "80 TFLOP/s fp32", 74.5e12, "of gb200-186gb"),
    ("b200-sxm-180gb", "8 TB/s", 7.672e12, "of "),
    ("mi355x-288gb", "2300 TFLOP/s bf16", 2516.6e12, "of mi350x-288gb"),
    ("mi350x-288gb", "1307 TFLOP/s fp16", 2306.87e12, "of mi300"),
    ("rtx-4090-24gb", "312 TFLOP/s bf16", 165.2e12, "of a100"),
    ("h200-sxm-141gb", "50 MiB l2", 60 * 2**20, "of h100"),
    ("mi300a-128gb", "304 CUs", 228, "of mi300x-192gb"),
    ("mi325x-256gb", "288 GiB", 256 * 2**30, "of mi350x-288gb"),
    ("v100-sxm2-16gb", "1597 MHz", 1530e6, "of v100s-pcie-32gb"),
    (A100, "150 GB/s nvlink", 300e9, "of v100"),
    # twice or half
    ("apple-m1-max", "21.2 TFLOP/s fp16", 10.6e12, "twice"),
    ("mi100-32gb", "369.2 TOPS int8", 184.6e12, "twice"),
    ("mi250x-128gb", "766 TOPS int8", 383e12, "twice"),
    (A100, "156 TFLOP/s bf16", 312e12, "tf32, dense"),
    ("t4", "32.5 TFLOP/s fp16", 65e12, "halved once too often"),
    # both directions
    (A100, "600 GB/s nvlink", 300e9, "nvlink, both ways"),
    (H100, "128 GB/s pcie", 63.0154e9, "pcie, both ways"),
    (H100, "7200 Gb/s nvlink", 450e9, "nvlink, both ways"),
    # units
    (H100, "400 GB/s network", 50e9, "bits read as bytes"),
    (H100, "3350 GiB/s", 3.35e12, "binary prefix"),
    (H100, "3.597 TB/s", 3.35e12, "GB/s read as GiB/s"),
    (H100, "966.4 GB/s nvlink", 450e9, "GB/s read as GiB/s (nvlink, both ways"),
    ("tpu-v5e", "800 GiB/s", 819e9, "binary prefix"),
    ("trainium1", "820 GiB/s", 820e9, "binary prefix"),
    ("rtx-5090-32gb", "1792 TB/s", 1.792e12, "a prefix too large"),
    (H100, "80 GB", 80 * 2**30, "capacity, as it is printed"),
    # clocks
    ("h100-nvl-94gb", "965 TFLOP/s bf16", 835.5e12, "boost clock of 1.785 GHz"),
    (H100, "1070 TFLOP/s bf16", 989.4e12, "boost clock of 1.98 GHz"),
    (H100, "1830 MHz", 1980e6, "clock, tensor"),
    # announced and never shipped, disputed, another maker's own
    (H100, "3 TB/s", 3.35e12, "before the part shipped"),
    (H100, "3.072 TB/s", 3.35e12, "before the part shipped"),
    (H100, "2.4 TB/s", 3.35e12, "one customer"),
    ("gaudi3-128gb", "1835 TFLOP/s bf16", 1677e12, "1.75 GHz"),
    ("b300-sxm-288gb", "12.6 PFLOP/s fp4", 14e15, "12.6 to 15"),
    ("tpu-v5p", "2.46 TB/s", 2.765e12, "product page"),
    ("tpu-v3", "140 TFLOP/s bf16", 123e12, "product page"),
    ("trainium1", "420 TOPS int8", 380e12, "older edition"),
    # no figure of anybody
    (H100, "527 TOPS int4", 0, "no figure"),
    ("mi300x-192gb", "10.3 TB/s", 5.3e12, "no figure"),
    ("a10", "28 GB", 24 * 2**30, "no figure"),
    # right
    (H100, "989 TFLOP/s bf16", 989.4e12, None),
    (H100, "1979 TFLOP/s bf16 sparse", 1978.8e12, None),
    (H100, "67 TFLOP/s fp64", 66.9e12, None),
    (H100, "33.5 TFLOP/s vector fp64", 33.5e12, None),
    (H100, "3.35 TB/s", 3.35e12, None),
    (H100, "26.8 Tb/s", 3.35e12, None),
    (H100, "450 GB/s nvlink one-way", 450e9, None),
    (H100, "64 GB/s pcie", 63.0154e9, None),
    (H100, "80 GiB", 80 * 2**30, None),
    (H100, "700 W", 700, None),
    (H100, "132 SMs", 132, None),
    ("mi250x-128gb/1", "191.5 TFLOP/s bf16", 191.5e12, None),
    ("rtx-3090-24gb", "142 TFLOP/s fp16 acc16", 142.3e12, None),
    ("b200-sxm-180gb", "192 GB", 180 * 2**30, None),
    ("h20-96gb", "44 TFLOP/s fp32", 44e12, None),
]


@pytest.mark.parametrize(("id", "says", "right", "why"), SAID)
def test_a_figure_is_judged_and_explained(id: str, says: str, right: float, why: str | None) -> None:
    found = claim(id, says=says)
    assert found.right == pytest.approx(right, rel=0.005)
    assert (found.verdict == "true") == (why is None)
    if why is not None:
        assert why in "; ".join(found.why[1:])


def test_a_reading_that_the_claim_names_is_no_excuse() -> None:
    assert claim(H100, says="1979 TFLOP/s dense bf16").verdict == "false"
    assert claim(H100, says="900 GB/s nvlink each way").verdict == "false"


def test_a_figure_that_its_maker_prints_against_first_principles_says_so() -> None:
    # 78 SMs x 256 x 1.98 GHz = 39.5 TFLOP/s
    (note,) = claim("h20-96gb", says="44 TFLOP/s fp32").notes
    assert note == "the maker's 44 TFLOP/s is 11.3 % above first principles"


def test_a_speed_up_that_every_operator_reaches_is_true() -> None:
    found = claim(H100, A100, times=1.6)
    assert (found.verdict, found.condition) == ("true", None)
    assert {c.formats for c in found.false_for} == set()


def test_more_bandwidth_alone_helps_what_waits_for_memory() -> None:
    found = claim("h200-sxm-141gb", H100, times=1.4)
    assert found.condition == "memory-bound work"
    alike = next(r for r in found.batches if r.formats == "bf16 against bf16")
    assert alike.first_batch == 1
    assert 200 < alike.last_batch < 295  # the ridge of the H200 is at 989.4 / 4.8 = 206, that of the H100 at 295


def test_what_no_operator_reaches_is_false_and_formats_do_not_save_it() -> None:
    found = claim("b200-sxm-180gb", H100, times=30)
    assert (found.verdict, found.true_for, found.batches) == ("false", (), ())
    assert found.ratios["precision"] == pytest.approx(9000 / 989.4, rel=0.01)


def test_a_measured_machine_or_a_persons_own_figures_can_be_compared_too() -> None:
    found = claim("measured:h200-sxm-141gb", f"{A100},memory=2.0TB/s", times=2)
    assert "assumed of a100-sxm4-80gb: memory 2.0TB/s" in found.notes
    # a quarter of a million FLOPs a byte do not change what a decode step waits for
    assert found.verdict in ("true", "true only for")


def test_machines_of_other_16_bit_formats_are_compared_in_what_each_has() -> None:
    assert "fp16 against bf16" in claim("v100-sxm2-16gb", "tpu-v3", times=1).why[0]
    with pytest.raises(NoPath, match="compare one format, as tpu-v1:int8"):
        claim("tpu-v1", A100, times=1)


def test_a_model_without_attention_or_without_a_dense_ffn_is_tried_on_what_it_has() -> None:
    names = {c.name for c in claim(H100, A100, times=2, model="mixtral-8x7b").true_for}
    assert "prefill FFN" in names
    every = claim(H100, A100, times=2, model="mamba2-codestral-7b")
    assert not [c for c in (*every.true_for, *every.false_for) if "attention" in c.name or "FFN" in c.name]


HALF = [
    ({"first": H100}, "say what is claimed"),
    ({"first": H100, "times": 2}, "--times compares two"),
    ({"first": H100, "second": A100, "times": 2, "says": "80 GB"}, "say what is claimed"),
    ({"first": H100, "second": A100, "says": "80 GB"}, "second would change nothing"),
    ({"first": H100, "says": "80 GB", "model": "llama-2-7b"}, "model would change nothing"),
    ({"first": f"{H100}:bf16", "second": A100, "times": 2}, "name a roof of both"),
    ({"first": f"{H100}:bf16", "second": f"{A100}:memory", "times": 2}, "their ratio says nothing"),
    ({"first": f"{H100}:bf61", "second": f"{A100}:bf16", "times": 2}, "did you mean 'bf16'"),
    ({"first": f"{H100}:bf16", "second": f"{A100}:fp8", "times": 2}, "has no fp8 path"),
    ({"first": "h100-sxm5", "says": "80 GB"}, "h100-sxm5-64gb; say which"),
    ({"first": "h10O-sxm5-80gb", "second": A100, "times": 2}, "did you mean 'h100-sxm5-80gb'"),
    ({"first": H100, "says": "fast"}, "says no figure"),
    ({"first": H100, "says": "1979"}, "has no unit"),
    ({"first": H100, "says": "1979 TFLOP/s"}, "of which format"),
    ({"first": H100, "says": "1979 TFLOP/s bf61"}, "did you mean 'bf16'"),
    ({"first": H100, "says": "900 GB/s nvlnk"}, "did you mean 'nvlink'"),
    ({"first": H100, "says": "900 gb/s"}, "did you mean"),
    ({"first": H100, "says": "900 parsecs"}, "no unit of a chip's figure"),
    ({"first": H100, "says": "0 GB"}, "above 0"),
    ({"first": H100, "says": "-5 GB"}, "negative"),
    ({"first": H100, "says": "1 TFLOP/s bf16 sparse dense"}, "says both"),
    ({"first": H100, "says": "1 TFLOP/s bf16 fp8"}, "says both"),
    ({"first": H100, "says": "1 TB/s bf16"}, "'bf16' is not a figure in B/s"),
    ({"first": H100, "says": "3.3 TB/s dense"}, "'dense' is not a figure in B/s"),
    ({"first": H100, "says": "tf32 is 0x fp32"}, "above 0"),
    ({"first": H100, "says": "tf32 is 2x fp23"}, "unknown roof 'fp23'"),
    ({"first": "apple-m1", "says": "10 TFLOP/s bf16"}, "not in the catalogue"),
    ({"first": "rtx-4090-24gb", "says": "100 GB/s nvlink"}, "not in the catalogue"),
]


@pytest.mark.parametrize(("asked", "sentence"), HALF)
def test_half_a_question_is_one_sentence(asked: dict[str, object], sentence: str) -> None:
    with pytest.raises(RooflensError) as caught:
        claim(**asked)  # type: ignore[arg-type]
    assert sentence in str(caught.value)


def test_statements_are_read_in_the_usual_spellings() -> None:
    assert statement("1,979 TFLOPS of sparse BF16") == Statement(
        "1,979 TFLOPS of sparse BF16", 1979e12, "FLOP/s", "bf16", "2:4 sparse"
    )
    assert statement("7200 Gb/s NVLink").value == 900e9  # type: ignore[union-attr]
    assert statement("TF32 is 16 times fp32") == Ratio("TF32", 16, "fp32")


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(accelerators()), st.floats(0.98, 1.02))
def test_what_a_sheet_says_of_a_chip_is_true_of_it(chip, off: float) -> None:
    for figure in figures(chip):
        if figure == right(chip, figure.roof) and figure.unit == "FLOP/s":
            way = "vector" if "vector" in figure.way else ""
            assert claim(chip.id, says=f"{figure.value * off / 1e12:.6f} TFLOP/s {way} {figure.roof}").verdict == "true"


@settings(max_examples=30, deadline=None)
@given(st.floats(0.1, 20))
def test_a_ratio_is_right_or_wrong_on_both_sides(times: float) -> None:
    found = claim(f"{H100}:bf16", f"{A100}:bf16", times=times)
    assert (found.verdict == "true") == (abs(times - 989.4 / 312) <= 0.03 * 989.4 / 312)


def test_what_was_once_said_names_a_chip_a_roof_and_a_source() -> None:
    every = [said for chip in accelerators() for said in once_said(chip.id)]
    assert len(every) == 9
    for said in every:
        assert source(said.source).what
        assert right(accelerator(said.id), said.roof).value != pytest.approx(said.value, rel=0.03)


def test_the_public_name_is_the_same_function() -> None:
    assert rooflens.claim is claim
    with pytest.raises(Unknown):
        rooflens.claim("nonsuch", says="80 GB")


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_every_sentence_of_a_claim_is_told_in_every_language(lang: str) -> None:
    asked = [{"first": id, "says": says} for id, says, *_ in SAID]
    asked += [{"first": f"{H100}:nvlink", "second": f"{H100}:pcie", "times": n} for n in (14, 20)]
    asked += [{"first": H100, "second": f"{A100},memory=2TB/s", "times": n} for n in (1.9, 6)]
    asked += [{"first": "h200-sxm-141gb", "second": H100, "times": 1.4}]
    known = {said.why for chip in accelerators() for said in once_said(chip.id)}  # the catalogue's words stay
    for one in asked:
        found = claim(**one)
        for sentence in (*found.why, *found.notes, *([found.condition] if found.condition else [])):
            assert sentence in known or retold(sentence, lang) != sentence, sentence
