"""Who asks for arithmetic that a machine lacks is told what it has; it can be asked for, and on the page too."""

from __future__ import annotations

import re

import pytest

from rooflens import api, catalogue, workload
from rooflens.dtypes import dtype
from rooflens.errors import NoPath
from rooflens.roofline.math import resolve
from rooflens.server.panels import MATHS
from rooflens.server.state import measured

MACHINES = [*(chip.id for chip in catalogue.accelerators()), *measured()]
STORED = workload.precision(dtype("bf16"))


def told(machine, math):
    """The formats that a refusal offers; none where the machine has this one, or none that helps."""
    try:
        resolve(STORED, machine, math)
    except NoPath as why:
        offered = re.search(r"it has (.*): choose one with --math", str(why))
        return offered[1].split(", ") if offered else []
    return []


@pytest.mark.parametrize("name", MACHINES)
def test_what_is_offered_instead_is_answered(name) -> None:
    machine = api.machine(name)
    for math in (None, "bf16", "fp8", "fp4"):
        for offered in told(machine, math):
            resolve(STORED, machine, offered)


@pytest.mark.parametrize("math", [None, "bf16", "int8", "fp16"])
def test_a_machine_of_eight_bits_alone_offers_none(math) -> None:
    with pytest.raises(NoPath, match="it has int8 alone, and activations need 16 bits or more: name another machine"):
        resolve(STORED, api.machine("tpu-v1"), math)


def test_a_t4_offers_what_is_as_wide_as_activations() -> None:
    with pytest.raises(NoPath, match="no bf16 arithmetic; it has fp16, fp16_acc16, fp32, fp64: choose one"):
        resolve(STORED, api.machine("t4"), "int8")


def test_the_page_offers_every_arithmetic_that_a_known_machine_has() -> None:
    had = {c.dtype for name in MACHINES for c in api.machine(name).find("compute") if c.value > 0}
    assert had <= set(MATHS)


def test_block_scaled_fp8_on_a_geforce_blackwell_is_allowed_the_rate_that_was_reached() -> None:
    roof = api.machine("rtx-5090-32gb").compute("fp8")
    assert roof.value == pytest.approx(419e12, rel=0.01)  # what its maker says of sums in 32 bits
    assert roof.floor_value > 774e12  # what cuBLASLt reached
    assert api.machine("rtx-4090-24gb").compute("fp8").best is None  # an older one has no such products


def test_an_assumed_peak_is_of_the_arithmetic_that_a_format_is_computed_in() -> None:
    assert api.machine("h100-sxm5-80gb,fp8_e4m3=1.5PFLOP/s").compute("fp8").value == 1.5e15
    assert api.machine("rtx-4090-24gb,fp16_acc16=300TFLOP/s").compute("fp16_acc16").value == 3e14
