"""What each JSON artefact of the lab holds, made from a profile and its observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rooflens.lab.keys import memories, roofs
from rooflens.lab.observe import Observation, attention_cells
from rooflens.measure.gemm import suspects
from rooflens.records import encode
from rooflens.roofline.across import Across
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.place import BELOW_ROOF_SHARE
from rooflens.roofline.points import Point
from rooflens.roofline.profile import AttentionPoint, Gate, Profile


def device_query(profile: Profile) -> dict[str, Any]:
    """What the machine is, and what limits trust in it."""
    return {
        "schema": "rooflens/device/1",
        "title": profile.device.title,
        "device": encode(profile.device),
        "versions": dict(profile.versions),
        **({"all_devices": [_of_all(a) for a in profile.across]} if profile.across else {}),
    }


def _of_all(across: Across) -> dict[str, Any]:
    slowest = across.slowest
    return {**encode(across), "median": across.median, "slowest": slowest, "of_median": across.share(slowest)}


def peak_flops(profile: Profile) -> dict[str, Any]:
    """The GEMM roofs: burst, sustained, best sample and share of the datasheet peak, for each dtype."""
    return {
        "schema": "rooflens/peak_flops/1",
        "title": profile.device.title,
        "conventions": {
            "burst": "median of the first ten products after a rest",
            "sustained": "until rate and clock settle",
            "data": "random normal",
            "peaks": "dense",
        },
        "roofs": [_roof(profile, path, dtype) for path, dtype in roofs(profile)],
        "products": encode(profile.gemms),
        "skipped": list(profile.skipped),
    }


def bandwidth(profile: Profile) -> dict[str, Any]:
    """Every memory ceiling with its working set, trusted or not."""
    return {
        "schema": "rooflens/bandwidth/1",
        "title": profile.device.title,
        "conventions": {"bytes": "read + written by the program; write-allocate traffic is not counted"},
        "ceilings": [encode(c) for c in memories(profile)],
        "launch": [encode(c) for c in profile.ceilings if c.kind == "launch"],
    }


def decode_attention(profile: Profile, seen: Sequence[Observation]) -> dict[str, Any]:
    """Single-token attention against a pre-filled cache, cell by cell.

    A cell that no trusted roof places keeps its counts and times, and has no attainable rate and no shares.
    """
    cells = attention_cells(seen)
    first = cells[0][1] if cells else None
    return {
        "schema": "rooflens/decode_attention/1",
        "title": profile.device.title,
        "model": {
            "layers": first.layers if first else None,
            "width": first.width if first else None,
            "heads": first.heads if first else None,
            "weights": profile.checkpoint or f"seeded ({profile.seed})",
        },
        "conventions": {
            "timed": "scores, softmax, values, over all layers; q = x Wq and the cache write are not timed",
            "flops": "tensor contractions: 4 S D a layer; the softmax is vector work, in `vector_flops`",
            "bytes": "K and V read once, and q and the output (activations)",
            "memory": "caches take turns, so that each is read from main memory and not from a cache of the machine",
        },
        "cells": [_cell(o, cell) for o, cell in cells],
        "skipped": [s for s in profile.skipped if "attention" in s],
    }


def _cell(seen: Observation, cell: AttentionPoint) -> dict[str, Any]:
    return {
        **encode(cell),
        "trusted": seen.trusted,
        **({"why_not": seen.why_not} if seen.why_not else {}),
        "flops": float(seen.cost.total_flops),
        "vector_flops": float(seen.cost.vector_flops),
        "kv_bytes": float(seen.cost.kv_bytes),
        "bytes": float(seen.cost.bytes),
        "intensity_flops_per_byte": seen.intensity_flops_per_byte,
        "kv_intensity_flops_per_byte": float(seen.cost.total_flops) / float(seen.cost.kv_bytes),
        "achieved_flops_per_s": float(seen.cost.total_flops) / cell.time_s,
        "achieved_bytes_per_s": seen.achieved_bytes_per_s,
        **(_under_the_roof(seen.placed) if seen.placed else {}),
    }


def _under_the_roof(point: Point) -> dict[str, Any]:
    return {
        "attainable_flops_per_s": point.attainable_flops_per_s,
        "share_of_attainable": point.share_of_attainable,
        "share_of_peak": point.share_of_peak,
        "bound": point.bound,
        "regime": point.regime,
    }


def _roof(profile: Profile, path: str, dtype: str) -> dict[str, Any]:
    found = {c.mode or c.id: c for c in profile.ceilings if (c.path, c.dtype, c.kind) == (path, dtype, "compute")}
    burst, peak = found.get("burst"), share_of(profile, path, dtype)
    low = peak is not None and peak[1] < BELOW_ROOF_SHARE and burst is not None
    gate = next((g for g in profile.gates if burst and g.id == burst.id), Gate(""))
    return {
        "dtype": dtype,
        "path": path,
        **{mode: encode(c) for mode, c in found.items() if c.origin == "measured"},
        **({"datasheet": encode(peak[0]), "share_of_datasheet": peak[1]} if peak else {}),
        "suspects": suspects(gate, profile.device) if low else [],
    }


def share_of(profile: Profile, path: str, dtype: str) -> tuple[Ceiling, float] | None:
    """The peak that clock and instruction set (or a datasheet) give on this path, and the share the burst reached."""
    mine = profile.machine().find("compute", dtype=dtype, path=path, mode="burst")
    peaks = [c for c in profile.ceilings if (c.kind, c.dtype, c.path) == ("compute", dtype, path)]
    known = [c for c in peaks if c.origin != "measured" and c.value > 0]
    return (known[0], mine[0].value / known[0].value) if known and mine else None
