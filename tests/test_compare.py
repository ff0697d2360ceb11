"""Two profiles compared from their samples."""

from __future__ import annotations

import random
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.compare import compare
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Device, Profile
from rooflens.samples import median_interval


def profile(rate: float, spread: float = 0.01, n: int = 20, seed: int = 1, **more: object) -> Profile:
    draw = random.Random(seed)
    samples = tuple(rate * (1 + spread * (draw.random() - 0.5)) for _ in range(n))
    ceiling = Ceiling("memory/main/read", "memory", median(samples), "measured", level="main", samples=samples, **more)  # type: ignore[arg-type]
    return Profile(Device("a machine", "cpu"), (ceiling,), 0, "2026-01-01", 1.0)


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [(100.0, 101.0, "same"), (100.0, 110.0, "faster"), (100.0, 90.0, "slower")],
)
def test_outcomes_follow_the_medians_when_samples_are_tight(old: float, new: float, outcome: str) -> None:
    assert compare(profile(old), profile(new, seed=2)).verdict == outcome


def test_wide_samples_are_ambiguous() -> None:
    assert compare(profile(100, spread=0.8), profile(106, spread=0.8, seed=2)).verdict == "ambiguous"


def test_an_untrusted_ceiling_is_never_called_slower() -> None:
    new = profile(50, trusted=False, why_not="another process took the cores")
    change = compare(profile(100), new).changes[0]
    assert change.outcome == "ambiguous"
    assert "another process" in (change.why or "")


def test_more_seconds_of_launch_are_slower() -> None:
    def launch(seconds: float) -> Profile:
        ceiling = Ceiling("launch/device", "launch", seconds, "measured", level="device", samples=(seconds,) * 10)
        return Profile(Device("a machine", "cpu"), (ceiling,), 0, "2026-01-01", 1.0)

    assert compare(launch(1e-6), launch(2e-6)).verdict == "slower"


def test_a_ceiling_of_one_profile_only_is_said() -> None:
    empty = Profile(Device("a machine", "cpu"), (), 0, "2026-01-01", 1.0)
    assert compare(profile(1), empty).changes[0].outcome == "only in old"


def test_median_interval_of_twenty_samples_is_the_sixth_to_the_fifteenth() -> None:
    # binomial(20, 1/2): P(X <= 5) = 0.0207, P(X <= 6) = 0.0577
    assert median_interval(range(1, 21)) == (6, 15)


@given(st.lists(st.floats(1, 100), min_size=1, max_size=60))
def test_the_interval_holds_the_median(samples: list[float]) -> None:
    low, high = median_interval(samples)
    assert low <= median(samples) <= high
