"""The memory wall: growth over the years of the catalogue, and its picture."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rooflens
from rooflens.api.claims import trend
from rooflens.catalogue import Accelerator, accelerator, accelerators
from rooflens.catalogue.record import MatrixPeaks, Memory
from rooflens.errors import Unknown
from rooflens.present.canvas import HEIGHT, WIDTH, text_boxes
from rooflens.present.trend import draw
from rooflens.present.words import LANGUAGES
from rooflens.wall import KINDS, kind_of
from rooflens.wall import trend as of


def chip(id: str, year: int, peak: float, bandwidth: float, status: str = "shipping") -> Accelerator:
    return Accelerator(
        id, vendor="Acme", year=year, status=status, unit_kind="SM", matrix=MatrixPeaks(bf16=peak, fp16=0.0),
        memory=Memory(kind="HBM3", bandwidth_bytes_per_s=bandwidth),
    )  # fmt: skip


def grown(compute: float, memory: float, years: int = 6) -> list[Accelerator]:
    return [chip(f"c{n}", 2015 + n, 1e14 * compute**n, 1e12 * memory**n) for n in range(years)]


@settings(max_examples=30)
@given(st.floats(0.7, 2.5), st.floats(0.7, 2.5))
def test_a_growth_that_we_chose_is_found_again(compute: float, memory: float) -> None:
    fits = of(grown(compute, memory)).fits
    assert fits["compute"].growth_per_year == pytest.approx(compute)
    assert fits["memory"].growth_per_year == pytest.approx(memory)
    assert fits["ridge"].growth_per_year == pytest.approx(compute / memory)
    for fit in fits.values():
        assert fit.low <= fit.growth_per_year * (1 + 1e-9)
        assert fit.high >= fit.growth_per_year * (1 - 1e-9)
        assert (fit.n, fit.first_year, fit.last_year) == (6, 2015, 2020)


def test_doubling_every_year_doubles_in_a_year_and_halving_is_negative() -> None:
    fits = of(grown(2.0, 0.5)).fits
    assert fits["compute"].doubling_years == pytest.approx(1)
    assert fits["memory"].doubling_years == pytest.approx(-1)
    assert of(grown(1.0, 2.0)).fits["compute"].doubling_years is None
    assert fits["compute"].at(2018) == pytest.approx(8e14)  # 1e14 x 2^3


def test_least_squares_by_hand() -> None:
    # log10 of 1, 10, 10 at years 0, 1, 2: slope 1/2, start 1/6; residuals -1/6, 1/3, -1/6, so s^2 = (1/6) / 1 / 2
    chips = [chip("a", 2000, 1e14, 1e12), chip("b", 2001, 1e15, 1e12), chip("c", 2002, 1e15, 1e12)]
    fit = of(chips).fits["compute"]
    assert fit.growth_per_year == pytest.approx(10**0.5)
    assert fit.value_first_year == pytest.approx(10 ** (14 + 1 / 6))
    assert fit.high / fit.growth_per_year == pytest.approx(10 ** (2 * (1 / 12) ** 0.5))
    assert fit.r_squared == pytest.approx(1 - (1 / 6) / (2 / 3))


def test_what_is_announced_is_drawn_and_not_fitted() -> None:
    usual = of(grown(1.5, 1.3))
    more = of([*grown(1.5, 1.3), chip("next", 2022, 1e20, 1e12, "announced")])
    assert more.fits == usual.fits
    assert [p.id for p in more.products if not p.fitted] == ["next"]


def test_two_points_are_no_line_and_neither_is_one_year() -> None:
    assert of(grown(2.0, 2.0, years=2)).fits == {}
    assert of([chip(f"c{n}", 2020, 1e14 * n, 1e12) for n in (1, 2, 3)]).fits == {}


def test_what_cannot_be_drawn_is_named_with_its_reason() -> None:
    whole = chip("a", 2020, 1e14, 1e12)
    cases = {
        "its year is not known": replace(whole, year=None),
        "no 16-bit matrix path": replace(whole, matrix=MatrixPeaks(bf16=0.0, fp16=0.0)),
        "its 16-bit matrix peak is not known": replace(whole, matrix=MatrixPeaks()),
        "its bandwidth is not known": replace(whole, memory=Memory(kind="HBM3")),
    }
    for why, broken in cases.items():
        (out,) = of([broken]).left_out
        assert (out.id, out.why) == ("a", why)


def test_every_accelerator_has_a_year_and_one_kind() -> None:
    kinds = {a.id: kind_of(a) for a in accelerators()}
    assert all(a.year for a in accelerators())
    assert set(kinds.values()) == set(KINDS) - {"all"}
    wanted = {
        "h100-sxm5-80gb": "datacentre-gpu", "mi300a-128gb": "datacentre-gpu", "rubin-sxm-288gb": "datacentre-gpu",
        "l4": "other-gpu", "rtx-4090-24gb": "other-gpu", "tpu-v5e": "asic", "gaudi3-128gb": "asic", "epyc-9654": "cpu",
        "apple-m1": "soc", "jetson-agx-orin-64gb": "soc", "strix-halo-8060s": "soc", "gb10-dgx-spark-128gb": "soc",
    }  # fmt: skip
    assert {id: kinds[id] for id in wanted} == wanted


def test_the_wall_compute_grows_faster_than_bandwidth() -> None:
    found = trend()
    compute, memory, ridge = (found.fits[q] for q in ("compute", "memory", "ridge"))
    assert compute.n == memory.n == sum(p.fitted for p in found.products) == 33
    assert compute.low > memory.growth_per_year > 1
    # the same products in all three: logarithms subtract
    assert ridge.growth_per_year == pytest.approx(compute.growth_per_year / memory.growth_per_year)
    assert {out.id for out in found.left_out} == {"p100-sxm2-16gb", "p100-pcie-16gb"}  # vector units only
    assert found.products[0].ridge_flops_per_byte == pytest.approx(112e12 / 900e9)


def test_the_faster_16_bit_format_counts() -> None:
    (mi100,) = (p for p in trend().products if p.id == "mi100-32gb")
    assert (mi100.dtype, mi100.peak_flops_per_s) == ("fp16", accelerator("mi100-32gb").matrix.fp16)


def test_another_kind_is_refused_with_those_there_are() -> None:
    with pytest.raises(Unknown, match="did you mean 'datacentre-gpu'"):
        trend("datacenter-gpu")
    assert rooflens.trend is trend


SLOW = [pytest.param(lang, marks=pytest.mark.slow) for lang in LANGUAGES if lang != "en"]


@pytest.mark.parametrize("lang", ["en", *SLOW])
def test_no_text_of_the_picture_stands_on_another_or_outside(lang: str) -> None:
    boxes = text_boxes(draw(trend(), "The memory wall", lang))
    assert [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.hits(other)] == []
    assert [t for t, b in boxes if b.x0 < 0 or b.y0 < 0 or b.x1 > WIDTH or b.y1 > HEIGHT] == []


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_no_picture_of_any_kind_has_texts_on_each_other(kind: str) -> None:
    boxes = text_boxes(draw(trend(kind), "The memory wall"))
    assert [(a, b) for (a, one), (b, other) in combinations(boxes, 2) if one.hits(other)] == []


def test_the_panels_have_as_many_decades_and_units_on_their_axes() -> None:
    figure = draw(trend(), "The memory wall")
    spans = [axes.get_ylim()[1] / axes.get_ylim()[0] for axes in figure.axes]
    assert spans == pytest.approx([spans[0]] * 3)
    assert all(axes.get_yscale() == "log" and axes.get_xscale() == "linear" for axes in figure.axes)
    said = " ".join(text for text, _ in text_boxes(figure))
    for unit in ("FLOP/s", "byte/s", "FLOP/byte", "PFLOP/s", "TB/s"):
        assert unit in said


def test_a_picture_without_products_is_refused() -> None:
    with pytest.raises(ValueError, match="no product to draw"):
        draw(of([]), "nothing")
