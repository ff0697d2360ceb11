from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.dtypes import _SPELLINGS, DTYPES, SIXTEEN_BIT, dtype
from rooflens.errors import RooflensError, Unknown

# A GGUF block: how many values it holds, and the bytes of its members (ggml-common.h): scales and minima in half or
# float, then packed low bits, high bits, signs and sub-block scales.
BLOCKS = {
    "q4_0": (32, [2, 32 * 4 // 8]),
    "q4_1": (32, [2, 2, 32 * 4 // 8]),
    "q5_0": (32, [2, 4, 32 * 4 // 8]),
    "q5_1": (32, [2, 2, 4, 32 * 4 // 8]),
    "q8_0": (32, [2, 32]),
    "q8_1": (32, [2, 2, 32]),
    "q2_k": (256, [2, 2, 256 // 16, 256 * 2 // 8]),
    "q3_k": (256, [2, 12, 256 // 8, 256 * 2 // 8]),
    "q4_k": (256, [2, 2, 12, 256 * 4 // 8]),
    "q5_k": (256, [2, 2, 12, 256 // 8, 256 * 4 // 8]),
    "q6_k": (256, [2, 256 // 16, 256 * 4 // 8, 256 * 2 // 8]),
    "q8_k": (256, [4, 256, 2 * 256 // 16]),
    "iq1_s": (256, [2, 256 // 8, 2 * 256 // 32]),
    "iq1_m": (256, [256 // 8, 256 // 16, 256 // 32]),
    "iq2_xxs": (256, [2, 2 * 256 // 8]),
    "iq2_xs": (256, [2, 2 * 256 // 8, 256 // 32]),
    "iq2_s": (256, [2, 256 // 4, 256 // 32, 256 // 32]),
    "iq3_xxs": (256, [2, 3 * 256 // 8]),
    "iq3_s": (256, [2, 256 // 4, 256 // 32, 256 // 8, 256 // 64]),
    "iq4_nl": (32, [2, 32 * 4 // 8]),
    "iq4_xs": (256, [2, 2, 256 // 64, 256 * 4 // 8]),
    "tq1_0": (256, [2, (256 - 4 * 256 // 64) // 5, 256 // 64]),  # five trits a byte
    "tq2_0": (256, [2, 256 * 2 // 8]),
}


@pytest.mark.parametrize("name", BLOCKS)
def test_a_gguf_weight_costs_its_share_of_the_block(name):
    values, members = BLOCKS[name]
    assert dtype(name).bits == 8 * sum(members) / values


def test_every_gguf_type_is_recomputed_here():
    assert {n for n, d in DTYPES.items() if n.startswith(("q", "iq", "tq")) and not d.parts} == set(BLOCKS)


@pytest.mark.parametrize(
    ("name", "bits"),
    [
        ("mxfp8", 8 + 8 / 32),  # one 8-bit scale for 32 values
        ("mxfp6", 6 + 8 / 32),
        ("mxfp4", 4 + 8 / 32),
        ("nvfp4", 4 + 8 / 16),  # one fp8 scale for 16 values
        ("bf16", 16),
        ("tf32", 32),  # stored as fp32
        ("int4", 4),
    ],
)
def test_scales_are_counted(name, bits):
    assert dtype(name).bits == bits
    assert dtype(name).bytes == bits / 8


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("torch.bfloat16", "bf16"),
        ("BF16", "bf16"),
        (" float16 ", "fp16"),
        ("half", "fp16"),
        ("F8_E4M3", "fp8_e4m3"),
        ("torch.float8_e5m2", "fp8_e5m2"),
        ("Q4_K", "q4_k"),
        ("I8", "int8"),
        ("double", "fp64"),
    ],
)
def test_usual_spellings_are_understood(spelling, name):
    assert dtype(spelling) is DTYPES[name]


def test_every_spelling_leads_somewhere_and_hides_no_format():
    assert set(_SPELLINGS.values()) <= set(DTYPES)
    assert not set(_SPELLINGS) & set(DTYPES)
    assert set(SIXTEEN_BIT) <= set(DTYPES)


@pytest.mark.parametrize("text", ["4.6 bits", "4.6bits", "4.60 bit", "4.6 bpw"])
def test_a_mixture_is_given_by_its_bits_and_computed_in_sixteen(text):
    assert (dtype(text).name, dtype(text).bits, dtype(text).math) == ("4.6 bits", 4.6, "fp16")


@pytest.mark.parametrize(
    "text", ["0 bits", "-4 bits", "64.1 bits", "1.2.3 bits", "-- bits", "nan bits", "inf bits", "4"]
)
def test_bits_that_cannot_be_are_refused(text):
    with pytest.raises(RooflensError) as caught:
        dtype(text)
    assert text in str(caught.value)


def test_a_wrong_name_brings_its_neighbours():
    with pytest.raises(Unknown) as caught:
        dtype("bf61")
    assert "did you mean 'bf16'" in str(caught.value)
    with pytest.raises(Unknown, match="q4_k"):
        dtype("q4_k_x")


@given(st.text(max_size=16) | st.from_regex(r"[-+.\d]{1,6} ?(bits?|bpw)", fullmatch=True))
def test_any_text_is_a_format_or_a_sentence(text):
    try:
        found = dtype(text)
    except RooflensError as error:
        assert str(error).strip()
    else:
        assert 0 < found.bits <= 64


@pytest.mark.parametrize("name", [n for n, d in DTYPES.items() if d.parts])
def test_a_mixture_names_types_and_lies_between_them(name):
    mixed = dtype(name)
    assert [part for part, _ in mixed.parts] == ["embed", "head"]
    least, most = (dtype(t).bits for _, t in mixed.parts)
    assert least <= mixed.bits <= most == dtype("q6_k").bits
