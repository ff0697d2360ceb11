"""Two profiles compared from their samples."""

from __future__ import annotations

import random
from dataclasses import replace
from statistics import median

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.compare import compare
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import AttentionPoint, Device, Profile
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


def test_a_note_names_a_dozen_of_many_and_no_change_to_what_is_not_known() -> None:
    old = profile(100)
    many = tuple(replace(old.ceilings[0], id=f"memory/L{n}/read") for n in range(30))
    new = replace(old, ceilings=(*old.ceilings, *many), device=replace(old.device, threads=2, driver="580"))
    found = compare(old, new)
    assert found.notes[-1].endswith(" memory/L10/read, memory/L11/read, ... (30)")
    assert not any("None" in note for note in found.notes)


def test_what_only_one_has_makes_the_verdict_ambiguous_at_best() -> None:
    old = profile(100)
    more = replace(old.ceilings[0], id="memory/L3/read", level="L3")
    found = compare(old, replace(old, ceilings=(*old.ceilings, more)))
    assert [c.outcome for c in found.changes] == ["same", "only in new"]
    assert found.verdict == "ambiguous"
    assert "only in new, so not judged: memory/L3/read" in found.notes
    slower = replace(profile(50, seed=2), ceilings=(*profile(50, seed=2).ceilings, more))
    assert compare(old, slower).verdict == "slower"


@pytest.mark.parametrize(("times", "outcome"), [(1.0, "same"), (0.5, "faster"), (2.0, "slower")])
def test_attention_is_compared_by_its_seconds(times: float, outcome: str) -> None:
    def with_cell(seconds: float) -> Profile:
        cell = AttentionPoint("fp32", 1024, 6, 384, 6, seconds, seconds, 9, 18, 0.0, samples_s=(seconds,) * 9)
        return replace(profile(100), attention=(cell,))

    found = compare(with_cell(1e-3), with_cell(1e-3 * times))
    assert (found.changes[-1].id, found.changes[-1].outcome) == ("attention/fp32/1024", outcome)
    assert found.changes[-1].ratio == pytest.approx(1 / times)
    assert found.verdict == outcome


def test_median_interval_of_twenty_samples_is_the_sixth_to_the_fifteenth() -> None:
    # binomial(20, 1/2): P(X <= 5) = 0.0207, P(X <= 6) = 0.0577
    assert median_interval(range(1, 21)) == (6, 15)


@given(st.lists(st.floats(1, 100), min_size=1, max_size=60))
def test_the_interval_holds_the_median(samples: list[float]) -> None:
    low, high = median_interval(samples)
    assert low <= median(samples) <= high
