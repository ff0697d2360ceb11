"""GGUF: metadata and tensor list at the start of a llama.cpp model file, versions 2 and 3, whole or split.

Source: the GGUF specification in ggml's docs; type ids and block sizes from ggml.h.
"""

from __future__ import annotations

import re
import struct
from pathlib import Path
from typing import Any, BinaryIO

from rooflens.dtypes import DTYPES
from rooflens.errors import BadFile
from rooflens.readers.checkpoint import Checkpoint, Tensor
from rooflens.readers.opened import opened
from rooflens.records import record, replace

LARGEST_HEADER_BYTES = 256 << 20
MOST_TENSORS, MOST_KEYS, MOST_STRINGS, MOST_SPLITS = 200_000, 2_000, 4_000_000, 512
LONGEST_NAME, LONGEST_TEXT, LONGEST_LIST = 1024, 1 << 16, 1024
LARGEST_DIMENSION, MOST_DIMENSIONS = 1 << 48, 8
# Ids of tensor types: our name and how many values make a block.
TYPES: dict[int, tuple[str, int]] = {
    0: ("fp32", 1), 1: ("fp16", 1), 28: ("fp64", 1), 30: ("bf16", 1),
    2: ("q4_0", 32), 3: ("q4_1", 32), 6: ("q5_0", 32), 7: ("q5_1", 32), 8: ("q8_0", 32), 9: ("q8_1", 32),
    10: ("q2_k", 256), 11: ("q3_k", 256), 12: ("q4_k", 256), 13: ("q5_k", 256), 14: ("q6_k", 256), 15: ("q8_k", 256),
    16: ("iq2_xxs", 256), 17: ("iq2_xs", 256), 18: ("iq3_xxs", 256), 19: ("iq1_s", 256), 20: ("iq4_nl", 32),
    21: ("iq3_s", 256), 22: ("iq2_s", 256), 23: ("iq4_xs", 256), 29: ("iq1_m", 256), 34: ("tq1_0", 256),
    35: ("tq2_0", 256), 39: ("mxfp4", 32), 40: ("nvfp4", 64),
}  # fmt: skip
_TABLES = {24: ("int8", 8), 25: ("int16", 16), 26: ("int32", 32), 27: ("int64", 64)}  # whole numbers, never packed
_SCALARS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_SPLIT = re.compile(r"-(\d{5})-of-(\d{5})\.gguf$")


@record
class Gguf:
    """A file's metadata, as far as it describes the model, and its tensors. Long lists are kept as their length."""

    metadata: dict[str, Any]
    checkpoint: Checkpoint


def read(path: Path) -> Gguf:
    """A model's metadata and tensors, over all files of a split one. Raises BadFile in one sentence."""
    first = one_file(path)
    count = first.metadata.get("split.count", 1)
    if type(count) is not int or not 0 < count <= MOST_SPLITS:
        raise BadFile(str(path), [f"split.count: {count!r:.40} is not from 1 to {MOST_SPLITS}"])
    if count == 1:
        return first
    match = _SPLIT.search(path.name)
    if not match or int(match[2]) != count:
        raise BadFile(
            str(path), [f"one of {count} files that is not named -00001-of-{count:05}.gguf, so which are they?"]
        )
    stem = path.name[: match.start()]
    files = [one_file(path.with_name(f"{stem}-{i:05}-of-{count:05}.gguf")) for i in range(1, count + 1)]
    tensors = tuple(tensor for file in files for tensor in file.checkpoint.tensors)
    return Gguf(files[0].metadata, Checkpoint(str(path), tensors))


def split_number(path: Path) -> int:
    """Which of a split model's files this is, by its name; 1 for a whole one."""
    match = _SPLIT.search(path.name)
    return int(match[1]) if match else 1


def one_file(path: Path) -> Gguf:
    """The metadata and tensors of one file. Raises BadFile in one sentence when it is not whole or not sane."""
    with opened(path) as (file, size):
        header = _Header(file, min(size, LARGEST_HEADER_BYTES), str(path))
        tensor_count, key_count = header.start()
        metadata = dict(header.pair() for _ in range(header.count(key_count, MOST_KEYS, "keys")))
        listed = [header.tensor() for _ in range(header.count(tensor_count, MOST_TENSORS, "tensors"))]
        alignment = metadata.get("general.alignment", 32)
        if type(alignment) is not int or not 0 < alignment <= 1 << 20:
            raise header.fault(f"general.alignment: {alignment!r:.40} is not a size")
        data = -(-header.at // alignment) * alignment
        header.check_layout(listed, data, size)
    tensors = tuple(replace(tensor, begins=data + offset) for tensor, offset in listed)
    return Gguf(metadata, Checkpoint(str(path), tensors))


class _Header:
    """Reads forward through a header and never past its end, its limit, or the counts that make sense."""

    def __init__(self, file: BinaryIO, limit: int, path: str) -> None:
        self.file, self.limit, self.path = file, limit, path
        self.at = self.strings = 0

    def fault(self, what: str) -> BadFile:
        """What is wrong with this file, to be raised."""
        return BadFile(self.path, [what])

    def start(self) -> tuple[int, int]:
        """Counts of tensors and of keys, after magic and version."""
        magic, version = self.take(4), self.number("I")
        if magic != b"GGUF":
            raise self.fault("is not a GGUF file: it does not begin with GGUF")
        if version not in (2, 3):
            why = "big-endian" if version & 0xFFFF == 0 else f"version {version}"
            raise self.fault(f"is {why} GGUF; little-endian versions 2 and 3 are read")
        return self.number("Q"), self.number("Q")

    def take(self, size: int) -> bytes:
        """The next bytes."""
        self.advance(size)
        found = self.file.read(size)
        if len(found) != size:
            raise self.fault("ends within its header; download it again")
        return found

    def advance(self, size: int) -> None:
        """Counts bytes that are read or left unread."""
        self.at += size
        if self.at > self.limit:
            raise self.fault(f"its header does not end within {self.limit} bytes: it is cut off, or not a model")

    def skip(self, size: int) -> None:
        """Leaves bytes unread."""
        self.advance(size)
        self.file.seek(size, 1)

    def number(self, code: str) -> Any:
        """The next number, in the struct module's code."""
        return struct.unpack("<" + code, self.take(struct.calcsize("<" + code)))[0]

    def count(self, found: int, most: int, what: str) -> int:
        """A count that makes sense."""
        if found > most:
            raise self.fault(f"says that it holds {found} {what}; up to {most} are read")
        return found

    def text(self, longest: int) -> str | None:
        """The next string; None, left unread, when it is longer than that."""
        length = self.number("Q")
        if length > longest:
            self.skip(length)
            return None
        return self.take(length).decode("utf-8", "replace")

    def name(self) -> str:
        """A key or a tensor's name."""
        found = self.text(LONGEST_NAME)
        if found is None:
            raise self.fault(f"has a name longer than {LONGEST_NAME} bytes")
        return found

    def pair(self) -> tuple[str, Any]:
        """One key with its value."""
        return self.name(), self.value(self.number("I"))

    def value(self, kind: int) -> Any:
        """A value of this kind; a long text is None and a long list its length."""
        if kind in _SCALARS:
            return self.number(_SCALARS[kind])
        if kind == _STRING:
            return self.text(LONGEST_TEXT)
        if kind == _ARRAY:
            return self.array(self.number("I"), self.number("Q"))
        raise self.fault(f"has a value of kind {kind}, which is not known")

    def array(self, kind: int, count: int) -> Any:
        """A list of numbers when it is short, else how long it is."""
        if kind == _STRING:
            self.strings = self.count(self.strings + count, MOST_STRINGS, "strings")
            for _ in range(count):
                self.skip(self.number("Q"))
            return count
        if kind not in _SCALARS:
            raise self.fault(f"has a list of values of kind {kind}, which is not read")
        code = _SCALARS[kind]
        if count > LONGEST_LIST:
            self.skip(count * struct.calcsize("<" + code))
            return count
        return list(struct.unpack(f"<{count}{code}", self.take(count * struct.calcsize("<" + code))))

    def tensor(self) -> tuple[Tensor, int]:
        """One tensor and where its bytes begin."""
        name = self.name()
        dimensions = self.count(self.number("I"), MOST_DIMENSIONS, f"dimensions of {name!r:.80}")
        shape = [self.number("Q") for _ in range(dimensions)]
        if not all(0 < size <= LARGEST_DIMENSION for size in shape):
            raise self.fault(f"{name!r:.80}: {shape} are not sizes")
        kind, offset = self.number("I"), self.number("Q")
        if kind not in TYPES and kind not in _TABLES:
            raise self.fault(f"{name!r:.80}: tensor type {kind} is not known")
        dtype, block = TYPES.get(kind) or (_TABLES[kind][0], 1)
        bits = DTYPES[dtype].bits if kind in TYPES else _TABLES[kind][1]
        if (shape or [1])[0] % block:
            raise self.fault(f"{name!r:.80}: rows of {shape[0]} values are not whole blocks of {block}")
        tensor = Tensor(name, dtype, tuple(reversed(shape)), 0)
        return replace(tensor, bytes=int(tensor.values * bits) // 8), offset

    def check_layout(self, listed: list[tuple[Tensor, int]], data_at: int, size: int) -> None:
        """Raises BadFile when tensors overlap or the file ends before they do."""
        end = 0
        for tensor, offset in sorted(listed, key=lambda one: one[1]):
            if offset < end:
                raise self.fault(f"{tensor.name!r:.80} overlaps the tensor before it")
            end = offset + tensor.bytes
        if data_at + end > size:
            raise self.fault(f"ends early: it has {size} bytes, its tensors need {data_at + end}; download it again")
