"""Where a number stands: the artefact files, and the keys of what is in them."""

from __future__ import annotations

from collections.abc import Sequence

from rooflens.lab.observe import Observation, attention_cells
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.profile import Profile

PEAKS, BANDWIDTH, ATTENTION = "peak_flops.json", "bandwidth.json", "decode_attention.json"


def roofs(profile: Profile) -> list[tuple[str, str]]:
    """Path and dtype of each entry of `roofs` in peak_flops.json."""
    compute = (c for c in profile.ceilings if c.kind == "compute" and c.origin == "measured")
    return list(dict.fromkeys((c.path or "", c.dtype or "") for c in compute))


def memories(profile: Profile) -> list[Ceiling]:
    """The entries of `ceilings` in bandwidth.json."""
    return [c for c in profile.ceilings if c.kind == "memory" and c.origin == "measured"]


def roof_key(profile: Profile, path: str | None, dtype: str, field: str) -> str:
    """The key of a field of one roof in peak_flops.json."""
    index = next(i for i, (p, d) in enumerate(roofs(profile)) if d == dtype and path in (p, None))
    return f"roofs[{index}].{field}"


def memory_key(profile: Profile, id: str, field: str = "value") -> str:
    """The key of a field of one memory ceiling in bandwidth.json."""
    return f"ceilings[{[c.id for c in memories(profile)].index(id)}].{field}"


def floor_field(ceiling: Ceiling) -> str:
    """The field of a ceiling that floors and shares count on: its best sample, where samples were kept."""
    return "value" if ceiling.best is None else "best"


def launch_key(profile: Profile, level: str) -> str:
    """The key of the best launch cost of this level in bandwidth.json."""
    levels = [c.level for c in profile.ceilings if c.kind == "launch"]
    return f"launch[{levels.index(level)}].best"


def cell_key(every: Sequence[Observation], seen: Observation, field: str) -> str:
    """The key of a field of one cell in decode_attention.json."""
    return f"cells[{[o for o, _ in attention_cells(every)].index(seen)}].{field}"


def quoted(artefact: str, key: str) -> str:
    """A key as interpretation.md writes it."""
    return f"`{artefact}: {key}`"
