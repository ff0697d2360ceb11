"""Constants fitted on measured rows: dated files, each with the rows it came from and what was left over.

A fitted number is no fact about a chip: it lives here, apart from the catalogue's rows, and says how many rows it rests
on and how far held-out ones lay from it.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from rooflens.catalogue.store import DATA
from rooflens.errors import BadFile, Unknown
from rooflens.records import decode, record

FOLDER = DATA / "calibrations"
SCHEMA = "rooflens/calibration/1"
SERVED = "served-2026-11-29"
STACK = "stack-2026-11-29"


@record
class EngineCosts:
    """What one engine adds. *_kernel: times the common cost of a kernel, in a decode graph, a mixed or a prefill pass.

    host_s: a step; sequence_s: a step and sequence; others: share of other requests' prompts that delays a writer.
    first_s: fixed part of the first token; first_passes: passes that a prompt waits through, its own included;
    first_met: share of other requests that it meets.
    """

    decode_kernel: float = 1.0
    mixed_kernel: float = 1.0
    prefill_kernel: float = 1.0
    host_s: float = 0.0
    sequence_s: float = 0.0
    others: float = 1.0
    first_s: float = 0.0
    first_passes: float = 1.0
    first_met: float = 0.0


@record
class Residuals:
    """Measured over estimated of rows that were held out: four of five lie between low and high.

    Of estimates with factors of one's own points: to the power of the spread of those points (prediction.fitting).
    """

    low: float
    high: float
    rows: int


@record
class ServedConstants:
    """What engines reach of a datasheet's roofs, and what a step costs beside them. Shares unless a unit says more.

    memory: by kind of stored weight ("16", "8", "4", "int4" computed in 16 bit, "gguf"); cache; expert_memory,
    expert_compute: of routed experts, over those of plain products; family_memory, family_compute: of a kind of chip,
    over NVIDIA's with HBM; activations: times they are moved in a decode step; copy: of the memory roof, for them.
    compute: by math bits; link. collective_s: latency of one. kernel_s, mixed_s, prefill_s: a kernel in a decode graph,
    a mixed pass, a prefill pass; in kernels: rider (a norm, a rotary ... riding), experts and experts_prefill (routing,
    sorting, combining), fused_experts (their share where a 4-bit kernel fuses them), latent, scan, narrowing (of
    activations, a product). spread_first_s: the first token where replicas share experts. most: no more of the memory
    roof. chips: seen, by the stacks that ran on them (prediction.intervals). chip_sd: of the logarithm of what a chip
    is off when it is left out.
    """

    date: str
    source: str
    rows: Mapping[str, int]
    chips: Mapping[str, tuple[str, ...]]
    memory: Mapping[str, float]
    cache: float
    expert_memory: float
    expert_compute: float
    family_memory: Mapping[str, float]
    family_compute: Mapping[str, float]
    activations: float
    copy: float
    compute: Mapping[str, float]
    link: float
    collective_s: float
    kernel_s: float
    mixed_s: float
    prefill_s: float
    rider: float
    experts: float
    experts_prefill: float
    fused_experts: float
    latent: float
    scan: float
    narrowing: float
    spread_first_s: float
    most: float
    engines: Mapping[str, EngineCosts]
    residuals: Mapping[str, Residuals]
    chip_sd: float = 0.0


@cache
def served(name: str = SERVED) -> ServedConstants:
    """The constants of served decode and first tokens, from the file of this name. Raises Unknown."""
    return decode(ServedConstants, dated(name), f"{name}.json", SCHEMA)


@record
class StackConstants:
    """What a plain stack adds to a machine's own figures.

    small_times: a small kernel between products, which waits for the one before to drain and fills the machine again,
    over one in a chain of its like (ceiling launch/kernel). kernel_s: what a small library kernel takes in a graph on
    one H200 (experiments/h200), which stands for GPUs whose launch cost nobody measured. decode, prefill: measured over
    estimated.
    """

    date: str
    source: str
    small_times: float
    kernel_s: float
    decode: Residuals
    prefill: Residuals


@cache
def stack(name: str = STACK) -> StackConstants:
    """The constants of plain stacks. Raises Unknown."""
    return decode(StackConstants, dated(name), f"{name}.json", SCHEMA)


def dated(name: str) -> object:
    """What the calibration file of this name holds. Raises Unknown."""
    known = sorted(path.stem for path in FOLDER.glob("*.json"))
    if name not in known:
        raise Unknown("calibration", name, known)
    path: Path = FOLDER / f"{name}.json"
    return _json(path.read_text(encoding="utf-8"), path.name)


def _json(text: str, where: str) -> object:
    import json

    try:
        found: object = json.loads(text)
    except ValueError as error:
        raise BadFile(where, [f"not JSON: {error}"]) from None
    return found
