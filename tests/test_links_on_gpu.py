"""On real NVIDIA cards of one host: every copy and every collective right, and nobody waits for ever."""

from __future__ import annotations

import functools
import time

import pytest

from rooflens.cli.linking import linked
from rooflens.measure.backends.cuda import CudaBackend, device_count
from rooflens.measure.backends.cuda_nccl import NcclMember
from rooflens.measure.backends.torch_group import TorchMember
from rooflens.measure.collectives import Hung
from rooflens.measure.crew import Crew
from rooflens.measure.links import measure_copies
from rooflens.measure.options import gpu
from rooflens.records import replace
from rooflens.roofline.collective import OPERATIONS
from rooflens.roofline.exchanges import fits
from rooflens.roofline.profile import Profile

pytestmark = pytest.mark.gpu
QUICK = gpu(quick=True)


@pytest.fixture(scope="module")
def cards():
    if device_count() < 2:
        pytest.skip("two GPUs are joined")
    return device_count()


MEMBERS = {"CuPy": NcclMember, "torch": functools.partial(TorchMember, kind="cuda")}


@pytest.fixture(scope="module", params=MEMBERS)
def crew(cards, request):
    if request.param == "torch":
        pytest.importorskip("torch")
    made = Crew(MEMBERS[request.param], cards, "GPUs")
    yield made
    made.close()


@pytest.mark.parametrize("launcher", ["eager", "graph"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_collectives_are_right_at_every_size_and_by_every_launcher(crew, operation, launcher):
    for size in (256, 1024, 48 * 1024, 2**20, 3 * 2**20, 2**26):
        whole = size - size % (32 * crew.devices)
        if launcher not in crew.joined.launchers:
            pytest.skip("torch's collectives are called one by one")
        assert crew.tell(operation, whole, launcher, 3) == 0.0
        assert crew.elapsed_s() > 0


def test_copies_of_every_pair_are_right_and_behind_none(cards):
    found = measure_copies(CudaBackend, range(cards), QUICK)
    assert len({p.pair for p in found.points}) == 3 * cards * (cards - 1) // 2
    assert all(p.trusted for p in found.points), {p.why_not for p in found.points}
    assert found.skipped == ()


class Late(NcclMember):
    """A card whose process never comes to the meeting."""

    def join(self, ticket):
        if self._rank:
            time.sleep(600)
        return super().join(ticket)


def test_a_card_that_never_comes_is_not_waited_for(cards):
    with pytest.raises(Hung, match="gave no answer within 15 s"):
        Crew(Late, 2, "GPUs", join_s=15)


def test_links_of_this_machine_join_a_profile_and_predictions_find_them():
    backend = CudaBackend()
    bare = Profile(backend.device(), (), 0, "", 0.0, versions=backend.versions())
    backend.close()
    said = []
    whole = linked(bare, replace(QUICK, budget_s=60.0), lambda name, _: said.append(name))
    if device_count() < 2:
        assert whole.skipped == ("links between devices skipped: there is 1 device here, and two or more are joined",)
        return
    machine = whole.machine()
    assert machine.the_link().value > 1e9
    assert 1e-7 < machine.latency_s() < 1e-3
    for one in fits(whole.collectives):
        if one.launcher == "graph":
            assert one.typical_error < 0.1
    assert all(p.trusted for p in whole.collectives)
