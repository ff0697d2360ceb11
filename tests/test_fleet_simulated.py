"""Made-up nodes: the same for a seed, and each fault slows what it should."""

from __future__ import annotations

import pytest

from rooflens import artefacts
from rooflens.errors import RooflensError
from rooflens.fleet.faults import KINDS, Fault, FaultKind, chosen
from rooflens.fleet.planted import node_names, wanted
from rooflens.fleet.simulated import Weather, kind, node_profile
from rooflens.peers.evidence import EVIDENCE, part


def test_a_made_up_node_is_the_same_for_a_seed_and_other_noise_in_another_run() -> None:
    one, same, later, other = (
        node_profile("n", seed, devices=1, run=run) for seed, run in ((1, 0), (1, 0), (1, 1), (2, 0))
    )
    assert one == same
    values = [[c.value for c in p.ceilings if c.samples] for p in (one, later, other)]
    assert values[0] != values[1] != values[2]
    assert all(a == pytest.approx(b, rel=0.02) for a, b in zip(values[0], values[1], strict=True))


@pytest.mark.parametrize("fault", KINDS)
def test_a_fault_slows_what_it_should(fault: FaultKind) -> None:
    quiet = Weather(0.0, 0.0, 0.0)
    sound, bad = (node_profile("n", 0, plan, devices=2, weather=quiet) for plan in ({}, {0: Fault(fault, 0.1)}))
    slower = {
        c.id for c, was in zip(bad.ceilings, sound.ceilings, strict=True)
        if c.samples and abs(c.value / was.value - 1) > 0.02
    }  # fmt: skip
    assert slower
    assert {part(id) for id in slower} <= EVIDENCE[fault].slows  # a kind of fault is named as the cause that it plants
    assert kind(None).ceilings[0].trusted


def test_a_made_up_gpu_multiplies_where_a_real_one_does() -> None:
    """16 and 8 bit on its tensor cores, fp32 on vector units: the ids of the profile of an H200."""
    profiles = (node_profile("n", devices=1), artefacts.shipped("h200-sxm-141gb"))
    made, real = ({c.id for c in one.ceilings if c.id.startswith("compute/")} for one in profiles)
    assert {"compute/matrix/bf16/burst", "compute/matrix/fp8/sustained", "compute/vector/fp32/burst"} <= made & real
    assert not {id for id in made if id.endswith(("/burst", "/sustained"))} - real


def test_a_plan_gives_each_fault_another_device() -> None:
    plan = chosen(node_names(4), 2, {"clock": 3, "pcie": 5}, 0.05, seed=3)
    assert sum(len(own) for own in plan.values()) == 8
    with pytest.raises(RooflensError, match="9 faults do not fit in 8 devices"):
        chosen(node_names(4), 2, {"clock": 9}, 0.05, seed=3)


@pytest.mark.parametrize(
    ("text", "counts"),
    [("2%", 2), ("7", 7), ("clock=1,pcie=2", 3), ("0", 0)],
)
def test_faults_are_asked_for_by_share_by_count_or_by_kind(text: str, counts: int) -> None:
    assert sum(wanted(text, 8, 100).values()) == counts


@pytest.mark.parametrize("text", ["lots", "-1", "200%", "1.5", "clok=1", "clock=x", "nan"])
def test_a_strange_wish_for_faults_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(RooflensError):
        wanted(text, 8, 100)
    with pytest.raises(RooflensError, match="a node of one device has no nvlink"):
        wanted("nvlink=1", 1, 100)
