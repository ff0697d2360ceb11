"""Factors of one's own points, in closed form: an engine whose parts are told, constants that stand in the text."""

from __future__ import annotations

import pytest

from rooflens.api import Question, machine
from rooflens.api.deployed import Load, deployment
from rooflens.catalogue.calibrations import served
from rooflens.errors import RooflensError
from rooflens.prediction.fitting import Calibrated, Fit, applied, factors, fit, solved, spread
from rooflens.prediction.served import Served
from rooflens.records import replace

OWN, COMMON, NOISE = 0.5**2, 0.35**2, 0.07  # variances of a factor by itself and with all others, and of a point


class Told(Served):
    """An engine whose step is 20 ms at the roofs, 3 ms of fixed costs and 6 ms of prompts a sequence."""

    def parts(self, deployment, priced=None):
        return 0.02 * deployment.batch, 0.002 * deployment.batch, 0.006 * deployment.batch

    def host_s(self, deployment):
        return 0.001 * deployment.batch


ENGINE = Told(served(), "vllm")
MADE = deployment(Question("llama-3.2-1b"), Load(prompt=1000, output=500), machine("h100-sxm5-80gb"))
FLOOR_S = float(MADE.floor("decode").floor_s)


def points(*times):
    return [(replace(MADE, batch=float(i)), times_i * 0.029 * i) for i, times_i in enumerate(times, 1)]


def moved(errors):
    """Of one part alone: the mean of what points say, in three rounds, each heard by how near it lay before."""
    v, weights, found = OWN + COMMON, [1 / NOISE**2] * len(errors), 0.0
    for _ in range(3):
        heard = sum(weights)
        found = v * sum(w * e for w, e in zip(weights, errors, strict=True)) / (1 + v * heard)
        weights = [1 / NOISE**2 / (1 + ((e - found) / NOISE / 2.5) ** 2) for e in errors]
    return found


@pytest.mark.parametrize("errors", [(0.1, 0.1), (0.0, 0.5), (0.1, 0.2, 0.9), (-0.3, -0.1, -0.2, 2.0)])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_points_of_one_part_alone_move_it_by_their_robust_mean_and_the_others_by_what_they_share(part, errors):
    parts = [tuple(3.0 if i == part else 0.0 for i in range(3))] * len(errors)
    found = factors(parts, [3.0 * (1 + e) for e in errors])
    shared = COMMON / (OWN + COMMON)
    wanted = [1 + moved(errors) * (1 if i == part else shared) for i in range(3)]
    assert found == pytest.approx(wanted, rel=1e-9)


def test_two_parts_seen_apart_move_apart():
    """A point of each: C X'WX is (own + common, common; common, own + common) over the noise."""
    found = factors([(1.0, 0.0, 0.0), (0.0, 2.0, 0.0)], [1.07, 2 * 0.93])
    alike = factors([(1.0, 0.0, 0.0), (0.0, 2.0, 0.0)], [1.07, 2 * 1.07])
    assert found[0] - 1 == pytest.approx(1 - found[1], rel=1e-9)  # equal and opposite: nothing in common
    assert found[2] == pytest.approx(1.0, abs=1e-12)
    assert found[0] - 1 < 0.07 * OWN / (OWN + NOISE**2) * 1.001
    assert alike[0] == pytest.approx(alike[1], rel=1e-9)
    assert alike[2] - 1 == pytest.approx((alike[0] - 1) * 2 * COMMON / (OWN + 2 * COMMON), rel=1e-9)


@pytest.mark.parametrize("part", [0, 1, 2])
def test_no_factor_is_under_a_twentieth(part):
    parts = [tuple(1.0 if i == part else 0.0 for i in range(3))] * 9
    assert factors(parts, [1e-6] * 9)[part] == 0.05


def test_a_system_is_solved_whatever_row_its_pivot_is_in():
    assert solved([[2.0]], [6.0]) == [3.0]
    three = [[0.0, 1.0, 2.0], [1.0, 0.0, 3.0], [4.0, -3.0, 8.0]]
    right = [1.0 * 2 + 2.0 * 3, 1.0 + 3.0 * 3, 4.0 - 3.0 * 2 + 8.0 * 3]
    assert solved(three, right) == pytest.approx([1.0, 2.0, 3.0], rel=1e-12)
    tiny = [[1e-20, 1.0], [1.0, 1.0]]
    assert solved(tiny, [1.0, 2.0]) == pytest.approx([1.0, 1.0], rel=1e-12)  # lost without the larger pivot


def test_a_fit_says_how_far_its_points_lay_before_and_after():
    found = fit(ENGINE, points(1.25, 1.25, 1.25))
    assert found.error_before == pytest.approx(1 - 1 / 1.25, rel=1e-9)
    said = 0.02 * found.roofs + 0.003 * found.fixed + 0.006 * found.prompts
    assert found.error_after == pytest.approx(1 - said / (1.25 * 0.029), rel=1e-9)
    left = (1.25 * 0.029 / said - 1) / NOISE
    assert found.spread == pytest.approx(((4 + 3 * left**2) / 7) ** 0.5, rel=1e-9)
    wanted = factors([(0.02, 0.003, 0.006)] * 3, [1.25 * 0.029] * 3)
    assert (found.roofs, found.fixed, found.prompts) == pytest.approx(wanted, rel=1e-9)
    assert found.points == 3


def test_a_spread_is_of_few_points_mostly_the_usual_one():
    """Four points of the usual noise beside one's own; an error counts as no more than five noises."""
    assert spread([1.0], [1.0]) == pytest.approx((4 / 5) ** 0.5, rel=1e-12)
    assert spread([2.0] * 2, [2 * 1.14, 2 * 0.86]) == pytest.approx(((4 + 2 * 4) / 6) ** 0.5, rel=1e-9)
    assert spread([1.0], [1.35]) == pytest.approx(spread([1.0], [9.0]), rel=1e-9)
    assert spread([1.0], [1.34]) < spread([1.0], [1.35])


def test_a_time_may_be_a_hundred_times_what_is_expected_and_no_more():
    (one, _), (two, _) = points(1.0, 1.0)
    assert fit(ENGINE, [(one, 100.0 * sum((0.02, 0.003, 0.006))), (two, 0.058)]).points == 2
    with pytest.raises(RooflensError, match=r"point 2: .* is 100 times what is expected; is it in ms"):
        fit(ENGINE, [(one, 0.029), (two, 0.058 * 100.01)])


def test_a_time_may_be_its_floor_and_nothing_less():
    assert fit(ENGINE, [(MADE, FLOOR_S), (MADE, 0.029)]).points == 2
    with pytest.raises(RooflensError, match=r"point 1: .* beats the floor of "):
        fit(ENGINE, [(MADE, FLOOR_S * 0.999), (MADE, 0.029)])


@pytest.mark.parametrize(("count", "said"), [(0, "0 measured points: "), (1, "1 measured point: ")])
def test_a_fit_needs_two_points(count, said):
    with pytest.raises(RooflensError, match=f"^{said}a fit needs at least 2"):
        fit(ENGINE, points(1.0, 1.0)[:count])
    assert fit(ENGINE, points(1.0, 1.0)).points == 2


@pytest.mark.parametrize("name", ["roofs", "fixed", "prompts", "spread"])
def test_a_factor_lies_above_nothing_and_up_to_a_hundred(name):
    usual = {"roofs": 1.0, "fixed": 1.0, "prompts": 1.0, "points": 2, "error_before": 0.1, "error_after": 0.05}
    assert getattr(Fit(**{**usual, name: 100.0}), name) == 100.0
    assert Fit(**usual).spread == 1.0
    for value in (0.0, -1.0, 100.5):
        with pytest.raises(RooflensError, match=f"^{name} is a factor above 0 and up to 100, not "):
            Fit(**{**usual, name: value})
    with pytest.raises(RooflensError, match="at least 2, not 1"):
        Fit(**{**usual, "points": 1})


def test_what_was_fitted_is_put_on_the_constants():
    own = Calibrated("b", "vllm", "m", "c", {}, Fit(2.0, 3.0, 5.0, 7, 0.1, 0.05, 1.5))
    found = applied(ENGINE, own)
    assert (found.roofs, found.fixed, found.prompts, found.points, found.spread) == (2.0, 3.0, 5.0, 7, 1.5)
    assert found.engine == "vllm"
