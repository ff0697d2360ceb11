"""The memory ladder."""

from __future__ import annotations

import pytest

from rooflens.catalogue import accelerator, accelerator_from_toml, accelerators, ladder, one_device

GPU = ["registers", "shared memory", "L2", "main memory", "scale-up link", "PCIe", "network"]


def rung(id, name):
    return next(r for r in ladder(accelerator(id)) if r.name == name)


def test_the_rungs_of_a_gpu_in_order():
    assert [r.name for r in ladder(accelerator("h100-sxm5-80gb"))] == GPU


def test_a_last_level_cache_stands_between_l2_and_memory_where_there_is_one():
    names = [r.name for r in ladder(accelerator("mi300x-192gb"))]
    assert names == [*GPU[:3], "last-level cache", *GPU[3:]]
    assert rung("mi300x-192gb", "last-level cache").capacity_bytes == 256 * 2**20


def test_a_cpu_has_no_shared_memory_rung():
    for known in accelerators():
        if known.form_factor == "CPU socket":
            assert "shared memory" not in [r.name for r in ladder(known)]


def test_shared_memory_of_nvidia_is_derived_and_shows_how():
    shared = rung("h100-sxm5-80gb", "shared memory")
    assert shared.bandwidth_bytes_per_s == 128 * 132 * 1.98e9  # B a clock and SM x SMs x clock
    assert shared.capacity_bytes == 132 * 228 * 1024
    assert shared.origin == "derived"
    assert "132 SMs x 1980 MHz" in shared.note
    amd = rung("mi300x-192gb", "shared memory")
    assert (amd.bandwidth_bytes_per_s, amd.origin) == (None, None)  # no rule of thumb for what we have no rule for
    assert rung("b100-192gb", "shared memory").capacity_bytes is None  # its SM count is not known


@pytest.mark.parametrize("known", accelerators(), ids=lambda a: a.id)
def test_registers_and_caches_have_no_bandwidth_before_somebody_measures_it(known):
    for r in ladder(known):
        if r.name in ("registers", "L2", "last-level cache"):
            assert r.bandwidth_bytes_per_s is None
            assert "not known until measured" in r.note
        assert (r.bandwidth_bytes_per_s is None) == (r.origin is None)


def test_costs_are_ratios_to_the_rung_above_and_absent_when_either_is_not_known():
    assert rung("h100-sxm5-80gb", "PCIe").cost_of_a_byte == pytest.approx(450 / 63.0154)
    assert rung("h100-sxm5-80gb", "scale-up link").cost_of_a_byte == pytest.approx(3350 / 450)
    assert rung("h100-sxm5-80gb", "main memory").cost_of_a_byte is None  # the L2 above is not known
    assert rung("rtx-4090-24gb", "PCIe").cost_of_a_byte is None  # it has no scale-up link
    assert rung("h100-sxm5-80gb", "registers").cost_of_a_byte is None


def test_the_network_is_assumed_and_says_so():
    network = rung("t4", "network")
    assert (network.bandwidth_bytes_per_s, network.origin) == (400e9 / 8, "assumed")
    assert "assumed: one 400 Gb/s port" in network.note


def test_a_link_that_is_not_stated_is_not_known():
    link = rung("rtx-4090-24gb", "scale-up link")
    assert link.bandwidth_bytes_per_s is None
    assert link.note.startswith("none stated")


def test_a_persons_own_machine_is_assumed_on_every_rung_and_0_is_no_path():
    own = accelerator_from_toml(
        '[accelerator]\nid = "mine"\nmemory = { bandwidth_bytes_per_s = "2 TB/s" }\n'
        "scale_up = { bytes_per_s_per_direction = 0 }",
        "mine.toml",
    )
    by_name = {r.name: r for r in ladder(own)}
    assert by_name["main memory"].origin == "assumed"
    assert "no such path" in by_name["scale-up link"].note
    assert by_name["scale-up link"].cost_of_a_byte is None
    assert by_name["PCIe"].cost_of_a_byte is None


def test_one_die_has_half_the_ladder():
    package = accelerator("mi250x-128gb")
    whole, half = ladder(package), ladder(one_device(package))
    for a, b in zip(whole, half, strict=True):
        if a.capacity_bytes is not None:
            assert b.capacity_bytes == a.capacity_bytes / 2


def test_asking_for_a_rung_first_does_not_put_the_module_in_the_place_of_the_function():
    import subprocess
    import sys

    line = "from rooflens import catalogue as c; c.Rung; print(len(c.ladder(c.accelerator('h100-sxm5-80gb'))))"
    done = subprocess.run([sys.executable, "-c", line], capture_output=True, text=True, check=False)
    assert int(done.stdout) > 3, done.stderr
