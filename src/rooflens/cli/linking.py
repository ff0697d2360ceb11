"""`--links`: which devices are joined here, and by what their collectives go."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from rooflens.errors import told
from rooflens.measure.backend import Backend
from rooflens.measure.crew import Crew, Make
from rooflens.records import replace
from rooflens.roofline.profile import Profile

LINKS_PART = 0.35  # of the time, where links are measured after the rest
MOST_PROCESSES = 8  # of a processor, each on a core of its own


def linked(profile: Profile, options: Any, progress: Callable[[str, float], None]) -> Profile:
    """The profile of one device with the links between all of its kind on this machine."""
    from rooflens.lab.linked import with_links

    mine = replace(options, budget_s=options.budget_s and LINKS_PART * options.budget_s)
    try:
        count, make, member, what = _devices(profile)
        return with_links(profile, make, lambda n: Crew(member, n, what), range(count), mine, progress)
    except Exception as error:  # noqa: BLE001  (whatever a driver raises here must not cost what was measured before)
        return replace(profile, skipped=(*profile.skipped, f"links skipped: {told(error)}"))


def _devices(profile: Profile) -> tuple[int, Callable[[int], Backend], Make, str]:
    """How many, a backend from a number, a member of a group from its rank, and what they are called."""
    from rooflens.measure.backends.cpu import CpuBackend
    from rooflens.measure.backends.cuda import CudaBackend, device_count
    from rooflens.measure.backends.cuda_nccl import NcclMember
    from rooflens.measure.backends.torch_gpu import TorchBackend, devices, torch_kind
    from rooflens.measure.backends.torch_group import TorchMember

    if profile.device.kind == "cpu":
        return min(MOST_PROCESSES, max(2, profile.device.threads)), lambda _: CpuBackend(), TorchMember, "processes"
    if any(name.startswith("cupy") for name in profile.versions):
        return device_count(), CudaBackend, NcclMember, "GPUs"
    kind = torch_kind() or "cuda"
    return devices(kind), partial(TorchBackend, kind), partial(TorchMember, kind=kind), "GPUs"
