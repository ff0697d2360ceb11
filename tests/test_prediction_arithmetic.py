"""Batch-1 arithmetic: six numbers from parameters and bytes, and what a measured rate says of them."""

from __future__ import annotations

import pytest

from rooflens import api
from rooflens.diagnose import verdict
from rooflens.dtypes import dtype
from rooflens.errors import RooflensError
from rooflens.operators.alone import alone
from rooflens.prediction.arithmetic import arithmetic
from rooflens.roofline.math import resolve
from rooflens.workload import precision


def six(text, on="h100-sxm5-80gb", rate=None):
    machine = api.machine(on)
    stored, _ = resolve(precision(dtype("bf16")), machine)
    return arithmetic(text, alone(text), stored, machine, rate)


def test_the_golden_six_numbers():
    """8e9 parameters in 4.6e9 bytes: 3.35e12 / 4.6e9, 2 x 8 / 4.6, 989.4e12 / 3.35e12 over it, 3.478 x 3.35e12."""
    found = six("params=8e9,weight_bytes=4.6e9", rate=480)
    assert found.tokens_per_s_ceiling == pytest.approx(728.3, abs=0.05)
    assert found.intensity_flops_per_byte == pytest.approx(3.478, abs=5e-4)
    assert found.below_ridge_times == pytest.approx(84.9, abs=0.05)
    assert found.attainable_flops_per_s == pytest.approx(11.65e12, abs=5e9)
    assert found.share_of_peak == pytest.approx(0.0118, abs=5e-5)
    assert found.mbu == pytest.approx(0.659, abs=5e-4)
    assert found.bound == "memory"


def test_a_file_with_a_table_that_is_only_looked_up_has_two_ceilings_named():
    found = six("params=8e9,weight_bytes=4.92e9,table_bytes=0.296e9")
    assert found.tokens_per_s_whole_file == pytest.approx(681, abs=0.5)
    assert found.tokens_per_s_ceiling == pytest.approx(725, abs=0.6)
    assert six("params=70e9,weight_bytes=40e9").tokens_per_s_ceiling == pytest.approx(83.8, abs=0.06)


def test_a_table_is_a_part_of_the_file():
    with pytest.raises(RooflensError, match="must be smaller"):
        alone("params=8e9,weight_bytes=1e9,table_bytes=1e9")


def test_at_an_mbu_of_0_6_no_kernel_work_gives_twice():
    found = six("params=8e9,weight_bytes=4.6e9", rate=480)
    said = verdict(1 / found.tokens_per_s_ceiling, 1 / 480, found.bound, found.mbu)
    assert said.remedy == "batch, precision or hardware"
    assert said.most_from_software == pytest.approx(728.26 / 480, rel=1e-3)
    assert "no kernel work gives 2x" in " ".join(said.sentences)


def test_below_it_software_is_named_with_its_share():
    said = verdict(1.0, 4.0, "memory", 0.25)
    assert said.remedy == "software"
    assert "75 %" in " ".join(said.sentences)  # 1 - 1/4


def test_what_beats_its_floor_is_a_finding_about_what_was_measured():
    found = six("params=8e9,weight_bytes=4.6e9", rate=7283)
    assert found.verdict.remedy == "what was measured"
    assert "10 times faster than the memory floor" in found.verdict.sentences[0]  # 7283 / 728.3
    assert verdict(1.0, 0.9996, "memory", 1.0004).remedy == "batch, precision or hardware"  # rounding
    assert "1.001 times faster" in verdict(1.0, 0.999, "memory", 1.001).sentences[0]


def test_a_link_bound_step_is_judged_by_its_own_floor():
    near, far = verdict(1.0, 1.25, "link", 0.8), verdict(1.0, 4.0, "link", 0.25)
    assert "a faster link" in near.sentences[1]
    assert far.remedy == "software"


def test_a_compute_bound_step_is_judged_by_its_mfu():
    found = six("params=8e9,weight_bytes=1e6", rate=1e4)  # 2 x 8e9 x 1e4 FLOP/s of 989.4e12
    assert found.verdict.sentences[0].startswith("MFU 16.2 %")
