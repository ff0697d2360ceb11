"""PyTorch profiler traces (Kineto's Chrome JSON), of CUDA, ROCm or CPU alone, whole or cut off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rooflens.errors import BadFile
from rooflens.readers.content import Content, content
from rooflens.readers.figures import finite, shown, whole
from rooflens.readers.profiles.beside import Beside, Failed, is_worth_it
from rooflens.readers.profiles.events import CHUNK, Events
from rooflens.readers.profiles.gathered import TORCH, observed
from rooflens.readers.profiles.intake import Intake, not_collecting
from rooflens.roofline.observed import Device, Observed


def trace(opened: Content) -> Observed:
    """Kernels, what the host did, gaps. Raises BadFile when the file is no trace or holds no whole event.

    Of a large file, a second process reads a part.
    """
    if opened.path is not None and is_worth_it(opened.size, packed=opened.packed):
        try:
            with Beside() as beside:
                return _read(opened, beside)
        except Failed:
            with content(opened.path) as again:
                return _read(again, None)
    return _read(opened, None)


def _read(opened: Content, beside: Beside | None) -> Observed:
    events = Events(opened.chunks(CHUNK), opened.where, beside.take if beside else None)
    intake = Intake()
    with not_collecting():
        for batch in events.batches():
            intake.take(batch)
        read = events.read + (beside.finish(intake) if beside else 0)
    if not read and not events.facts:
        why = events.faults[0] if events.faults else "holds no events"
        raise BadFile(opened.where, [f"{why}: this is no trace of a profiler, or nothing of it is whole"])
    refused = intake.refused + intake.columns.settled()
    faults = [*opened.faults, *events.faults]
    if refused:
        faults.append(f"{refused} events say no time or name that can be used; they were left out")
    distributed = events.facts.get("distributedInfo")
    distributed = distributed if isinstance(distributed, dict) else {}
    return observed(
        intake.columns,
        opened.where,
        TORCH,
        devices=tuple(_devices(events.facts.get("deviceProperties"))),
        rank=whole(distributed.get("rank")),
        world=whole(distributed.get("world_size")),
        lost=events.lost + refused,
        faults=faults,
    )


def _devices(found: Any) -> Iterator[Device]:
    for facts in found if isinstance(found, list) else ():
        if isinstance(facts, dict):
            capability = [whole(facts.get(f"compute{part}")) for part in ("Major", "Minor")]
            name = facts.get("name")
            yield Device(
                shown(name) if isinstance(name, str) else None,
                whole(facts.get("id")),
                f"{capability[0]}.{capability[1]}" if None not in capability else None,
                whole(facts.get("numSms", facts.get("multiProcessorCount"))),
                finite(facts.get("totalGlobalMem")),
            )
