"""What was measured, on figures that one can reckon with: whose figures are believed, and which no machine has."""

from __future__ import annotations

import pytest

from rooflens.records import replace
from rooflens.roofline.absent import Absent
from rooflens.roofline.across import Across
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import (
    AttentionPoint,
    Cache,
    Device,
    GemmPoint,
    Profile,
    check_rates,
)


def roof(id, kind="compute", value=1.0, **more):
    return Ceiling(id, kind, value, more.pop("origin", "measured"), **more)


def test_a_device_is_behind_under_95_per_cent_of_the_median_of_all():
    rates = Across("read", "B/s", {"0": 100.0, "1": 100.0, "2": 94.0})
    assert (rates.median, rates.slowest, rates.share("2"), rates.behind) == (100, "2", 0.94, True)
    assert not replace(rates, values={"0": 100.0, "1": 100.0, "2": 95.0}).behind
    seconds = Across("launch", "s", {"0": 1.0, "1": 1.0, "2": 1.25})
    assert (seconds.slowest, seconds.share("2"), seconds.behind) == ("2", 0.8, True)
    for wrong in ({}, {"0": 0.0, "1": 1.0}, {"0": -1.0}):
        with pytest.raises(ValueError, match="every device needs a figure above 0"):
            Across("read", "B/s", wrong)


def test_an_absent_node_has_a_name_and_was_asked():
    assert Absent("n1", "died", "it did").attempts == 1
    for node, attempts in (("", 1), ("n1", 0)):
        with pytest.raises(ValueError, match="was asked at least once"):
            Absent(node, "died", "it did", attempts)


def gemm(**more):
    return GemmPoint(**{"name": "g", "dtype": "bf16", "m": 1, "n": 1, "k": 1, "time_s": 1.0, "best_s": 1.0, **more})


def cell(**more):
    sizes = {"context": 1, "layers": 1, "width": 8, "heads": 4, "time_s": 1.0, "best_s": 1.0, "count": 1, "calls": 1,
             "relative_error": 0.0}  # fmt: skip
    return AttentionPoint(**{"dtype": "bf16", **sizes, **more})


@pytest.mark.parametrize(
    "made",
    [
        lambda: gemm(m=2**40, time_s=1e9, best_s=1e-12, samples_s=(1e-12, 1e9)),
        lambda: cell(context=2**40, overhead_s=0.0), lambda: cell(overhead_s=1e9),
        lambda: cell(kv_heads=2), lambda: cell(heads=8, kv_heads=1),
        lambda: check_rates([roof("a", value=1e-12), roof("b", value=1e30), roof("none", value=0.0)]),
    ],
)  # fmt: skip
def test_figures_at_their_bounds_are_measured(made):
    made()


def test_a_measurement_is_of_one_token_of_one_sequence_and_is_believed_unless_it_says_otherwise():
    assert (cell().batch, cell().tokens, cell().trusted, gemm().trusted) == (1, 1, True, True)
    assert (Device("Acme", "gpu").threads, Cache("L2", 1.0).instances, Cache("L2", 1.0).addressed) == (1, 1, False)


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (lambda: gemm(m=0), "m is 0; it must be 1 or more"),
        (lambda: gemm(k=2**40 + 1), "k is 1.1e"),
        (lambda: gemm(time_s=0.0), "time_s is 0; a measured time is at least a picosecond"),
        (lambda: gemm(best_s=5e-13), "best_s is 5e-13"),
        (lambda: gemm(time_s=1.1e9), "time_s is 1.1e"),
        (lambda: gemm(samples_s=(1.0, 0.0)), "a sample of samples_s is 0"),
        (lambda: cell(batch=0), "batch is 0"),
        (lambda: cell(tokens=0), "tokens is 0"),
        (lambda: cell(count=0), "count is 0"),
        (lambda: cell(kv_heads=0), "kv_heads is 0"),
        (lambda: cell(width=9), "a width of 9 in 4 heads .4 kv_heads. leaves a remainder"),
        (lambda: cell(kv_heads=3), "a width of 8 in 4 heads .3 kv_heads. leaves a remainder"),
        (lambda: cell(overhead_s=-1e-9), "overhead_s is -1e-09; it must be 0 or more"),
        (lambda: cell(overhead_s=1.1e9), "overhead_s is 1.1e"),
        (lambda: check_rates([roof("a", value=5e-13)]), "the ceiling a is 5e-13 FLOP/s; no machine has that"),
        (lambda: check_rates([roof("a", value=1.1e30)]), "the ceiling a is 1.1e"),
        (lambda: check_rates([roof("a", value=-1.0)]), "the ceiling a is -1"),
    ],
)
def test_figures_beyond_their_bounds_are_a_damaged_file(made, said):
    with pytest.raises(ValueError, match=said):
        made()


def profile(*ceilings, gates=(), **more):
    return Profile(Device("Acme", "gpu"), ceilings, 1, "2026-01-01", 9.0, gates=gates, **more)


def test_the_machine_of_a_profile_has_what_was_measured_and_is_believed():
    kept, guess, bad = roof("a", dtype="bf16"), roof("peak", origin="derived", dtype="bf16"), roof("b", trusted=False)
    found = profile(kept, guess, bad, notes=("mind",))
    assert found.machine().ceilings == (kept,)
    assert found.refused() == (bad,)
    assert (found.ceiling("b"), found.ceiling("c")) == (bad, None)
    assert found.machine().notes[1:] == ("mind",)
    assert (found.complete, found.quick, found.method) == (True, False, 1)


def test_what_was_refused_and_what_was_derived_are_no_roofs_of_its_machine():
    told = profile(
        roof("refused", value=9.0, dtype="bf16", path="matrix", trusted=False, why_not="others ran"),
        roof("peak", value=10.0, dtype="bf16", origin="derived"), roof("kept", value=8.0, dtype="bf16"),
    )  # fmt: skip
    assert [c.id for c in told.machine().ceilings] == ["kept"]
    assert [c.id for c in told.refused()] == ["refused"]


def test_collectives_take_the_link_of_the_most_devices_else_the_nearest():
    def link(level, devices=None):
        return roof(f"{level}{devices}", "link", level=level, devices=devices)

    assert profile(link("pcie"), link("peer"), link("nvlink")).machine().link == "nvlink"
    assert profile(link("pcie"), link("peer")).machine().link == "peer"
    assert profile(link("nvlink", 2), link("peer", 4), link("nvlink")).machine().link == "peer"
    assert profile(roof("a")).machine().link is None


def test_a_device_is_called_by_its_maker_and_a_processor_with_its_cores():
    assert Device("Acme", "gpu").title == "Acme"
    assert [Device("Acme", "cpu", threads=n).title for n in (1, 2)] == ["Acme (1 core)", "Acme (2 cores)"]


def test_the_largest_cache_is_of_all_its_instances_and_feeds_itself_unless_programs_do():
    caches = (Cache("L1", 10.0, 8), Cache("L2", 50.0), Cache("shared", 30.0, 4, addressed=True))
    device = Device("Acme", "gpu", caches=caches)
    assert (device.largest_cache_bytes, device.largest_fed_cache_bytes) == (120, 80)
    assert (Device("Acme", "gpu").largest_cache_bytes, Device("Acme", "gpu").largest_fed_cache_bytes) == (None, None)
