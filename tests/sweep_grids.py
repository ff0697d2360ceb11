"""Grids that sweeps are tried on, and what becomes of them on disk."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from rooflens.api import sweeping

SMALL = {
    "models": ["llama-3.1-8b", "gemma-2-9b"], "machines": ["h100-sxm5-80gb", "a100-sxm4-80gb"], "engine": "vllm",
    "tp": [1, 3],
    "batch": "1:40:1", "context": "512:16384", "shard_points": 300,
}  # fmt: skip
LARGER = {**SMALL, "batch": "1:250:1", "context": "512:16384:200", "shard_points": 4000}


def written(folder: Path, said: dict[str, object]) -> Path:
    path = folder / "grid.json"
    path.write_text(json.dumps(said))
    return path


def swept(folder: Path, said: dict[str, object], name: str = "points", **how: object) -> Path:
    sweeping.sweep(written(folder, said), folder / name, workers=1, **how)
    return folder / name


def table(folder: Path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    return pa.concat_tables(pq.read_table(part) for part in sorted((folder / "points").iterdir()))


def digest(folder: Path) -> str:
    parts = sorted((folder / "points").iterdir())
    files = [*parts, folder / "manifest.json", folder / "sweep.json"]
    return hashlib.sha256(b"".join(file.name.encode() + file.read_bytes() for file in files)).hexdigest()
