"""safetensors: the JSON header at the start of each file, and the index that says which file holds which tensor."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rooflens import artefacts
from rooflens.errors import BadFile
from rooflens.readers.checkpoint import Checkpoint, Tensor
from rooflens.readers.opened import opened

LARGEST_HEADER_BYTES = 16 << 20
LARGEST_INDEX_BYTES = 32 << 20
MOST_SHARDS = 1024
MOST_DIMENSIONS = 16
LARGEST_DIMENSION = 1 << 48
# The format's own words: our name (or the word itself, where it holds other things than weights) and bits.
DTYPES: dict[str, tuple[str, int]] = {
    "F64": ("fp64", 64), "F32": ("fp32", 32), "F16": ("fp16", 16), "BF16": ("bf16", 16),
    "F8_E4M3": ("fp8_e4m3", 8), "F8_E5M2": ("fp8_e5m2", 8), "F8_E8M0": ("f8_e8m0", 8),
    "F4": ("fp4", 4), "F6_E2M3": ("f6_e2m3", 6), "F6_E3M2": ("f6_e3m2", 6),
    "BOOL": ("bool", 8), "I8": ("i8", 8), "U8": ("u8", 8), "I16": ("i16", 16), "U16": ("u16", 16),
    "I32": ("i32", 32), "U32": ("u32", 32), "I64": ("i64", 64), "U64": ("u64", 64), "C64": ("c64", 64),
}  # fmt: skip


def one_file(path: Path) -> Checkpoint:
    """The tensors of one file. Raises BadFile unless they fill it without gaps, as the format demands."""
    with opened(path) as (file, size):
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length > size - 8:
            lfs = "; it is a Git LFS pointer" if start.startswith(b"version") else ""
            raise BadFile(
                str(path), [f"its header does not end within the file ({size} bytes){lfs}: download it again"]
            )
        if length > LARGEST_HEADER_BYTES:
            raise BadFile(str(path), [f"its header says {length} bytes; up to {LARGEST_HEADER_BYTES} are read"])
        header = artefacts.parse_json(file.read(length), str(path))
    if not isinstance(header, dict):
        raise BadFile(str(path), ["its header is not an object"])
    data = 8 + length
    placed = [_tensor(name, facts, str(path), data) for name, facts in header.items() if name != "__metadata__"]
    _check_layout([span for _, span in placed], size - data, str(path))
    return Checkpoint(str(path), tuple(tensor for tensor, _ in placed))


def indexed(path: Path) -> Checkpoint:
    """The tensors that an index lists; only their total when none of its files is there.

    Raises BadFile when a file is missing, or does not hold what the index says.
    """
    index = artefacts.read_json(path, LARGEST_INDEX_BYTES)
    where = index.get("weight_map") if isinstance(index, dict) else None
    if not isinstance(where, dict) or not all(isinstance(name, str) for name in where.values()):
        raise BadFile(str(path), ["weight_map: expected an object that names a file for each tensor"])
    files = sorted(set(where.values()))
    if len(files) > MOST_SHARDS:
        raise BadFile(str(path), [f"it lists {len(files)} files; up to {MOST_SHARDS} are read"])
    outside = [name for name in files if Path(name).name != name or not name.endswith(".safetensors")]
    if outside:
        raise BadFile(str(path), [f"{outside[0]!r:.80} is not a .safetensors file beside the index"])
    missing = [name for name in files if not (path.parent / name).exists()]
    if len(missing) == len(files):
        return Checkpoint(str(path), (), _stated(index, str(path)))
    if missing:
        raise BadFile(str(path), [f"{len(missing)} of its {len(files)} files are missing, the first is {missing[0]}"])
    return Checkpoint(str(path), _listed(where, {name: one_file(path.parent / name) for name in files}, str(path)))


def _listed(where: Mapping[str, str], files: Mapping[str, Checkpoint], path: str) -> tuple[Tensor, ...]:
    held = {(tensor.name, name): tensor for name, file in files.items() for tensor in file.tensors}
    absent = [name for name, file in where.items() if (name, file) not in held]
    if absent:
        raise BadFile(path, [f"{absent[0]!r:.80} is not in {where[absent[0]]}, where the index says it is"])
    return tuple(held[name, file] for name, file in where.items())


def _stated(index: Mapping[str, Any], path: str) -> int:
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    if isinstance(total, float) and total.is_integer():
        total = int(total)
    if type(total) is not int or not 0 < total < LARGEST_DIMENSION * 8:
        raise BadFile(path, ["its files are not here, and metadata.total_size does not say what they hold"])
    return total


def _tensor(name: str, facts: Any, path: str, data: int) -> tuple[Tensor, tuple[int, int]]:
    """A tensor and where its bytes begin and end, counted from `data`, where the values of the file begin."""
    facts = facts if isinstance(facts, dict) else {}
    kind, shape, span = DTYPES.get(str(facts.get("dtype"))), facts.get("shape"), facts.get("data_offsets")
    if kind is None:
        raise BadFile(path, [f"{name!r:.80}: dtype {facts.get('dtype')!r:.40} is not known"])
    if not _sizes(shape, MOST_DIMENSIONS) or not _sizes(span, 2) or len(span) != 2:
        raise BadFile(path, [f"{name!r:.80}: shape or data_offsets are not lists of sizes"])
    tensor = Tensor(name, kind[0], tuple(shape), span[1] - span[0], data + span[0])
    if 8 * tensor.bytes != tensor.values * kind[1]:
        raise BadFile(path, [f"{name!r:.80}: its shape and dtype do not need the {tensor.bytes} bytes it has"])
    return tensor, (span[0], span[1])


def _sizes(found: Any, most: int) -> bool:
    good = isinstance(found, list) and len(found) <= most
    return good and all(type(n) is int and 0 <= n <= LARGEST_DIMENSION for n in found)


def _check_layout(spans: list[tuple[int, int]], data_bytes: int, path: str) -> None:
    at = 0
    for begin, end in sorted(spans):
        if begin != at:
            raise BadFile(path, [f"tensors overlap or leave a gap at byte {min(begin, at)} of the data"])
        at = end
    if at != data_bytes:
        why = "ends early" if at > data_bytes else "holds more than its tensors"
        raise BadFile(path, [f"it {why}: {data_bytes} bytes of data, {at} in the header; download it again"])
