"""The door to pyarrow: the columns of a sweep as Arrow arrays, and how Parquet keeps them.

Names and what depends on the load alone repeat: dictionaries. Times do not: their bytes are split by place, so that
what neighbours share (sign, exponent, first digits) compresses and the rest is stored as it is.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from mmap import ACCESS_READ, mmap
from pathlib import Path
from typing import Any

from rooflens.arrays import library
from rooflens.errors import BadFile, RooflensError
from rooflens.records import decode, encode
from rooflens.sweep.columns import BOUNDS, FIGURES, Column
from rooflens.sweep.grid import NAMED, Axes
from rooflens.sweep.record import Account

LEVEL = 1  # of zstd: higher ones take longer and save nothing of digits that are as good as random
KEY = "rooflens"
TYPES = {
    "count": "int16", "size": "int64", "position": "float64", "figure": "float64", "rounded": "float32",
    "truth": "bool_",
}  # fmt: skip


def arrow() -> Any:
    """The library. Raises RooflensError where it is not installed."""
    try:
        import pyarrow as pa
        import pyarrow.parquet
    except ImportError:
        raise RooflensError("a sweep is kept in Parquet: pip install 'rooflens[fleet]' (pyarrow)") from None
    return pa


def columns_of(axes: Axes) -> dict[str, Column]:
    """The columns of a sweep of this grid, in the order of the files."""
    return {**NAMED, **{name: FIGURES[name] for name in axes.columns}}


class Sheet:
    """The Parquet text of one shard: filled a piece at a time, then closed with what became of its points."""

    def __init__(self, axes: Axes) -> None:
        """An empty sheet of these columns."""
        self._pa = arrow()
        self._columns = columns_of(axes)
        self._words: dict[str, dict[str, int]] = {name: {} for name, one in self._columns.items() if one.kind == "name"}
        if "bound" in self._words:
            self._words["bound"] = {name: i for i, name in enumerate(BOUNDS)}
        self._parts: dict[str, list[Any]] = {name: [] for name in self._columns}
        self.rows = 0

    def add(self, found: Mapping[str, Any], shape: tuple[int, ...], kept: Any = None) -> int:
        """Rows of this shape; `kept`: which of them, where not all are. Returns how many these are."""
        np = library()
        rows = int(np.prod(shape)) if kept is None else int(kept.sum())
        for name, column in self._columns.items():
            self._parts[name].append(self._array(name, column, found[name], shape, kept, rows))
        self.rows += rows
        return rows

    def close(self, account: Account) -> bytes:
        """The whole file."""
        pa = self._pa
        out = pa.BufferOutputStream()
        table = pa.table({name: self._column(name) for name in self._columns}, schema=schema(self._columns))
        repeated = [name for name, one in self._columns.items() if one.kind in ("name", "count", "size") or one.by_load]
        split = {name: "BYTE_STREAM_SPLIT" for name, one in self._columns.items() if _split(one)}
        with pa.parquet.ParquetWriter(
            out, table.schema, compression="zstd", compression_level=LEVEL, use_dictionary=repeated,
            column_encoding=split, write_statistics=True,
        ) as writer:  # fmt: skip
            writer.write_table(table, row_group_size=1 << 20)
            writer.add_key_value_metadata({KEY: json.dumps(encode(account), ensure_ascii=False)})
        return bytes(memoryview(out.getvalue()))

    def _array(self, name: str, column: Column, value: Any, shape: tuple[int, ...], kept: Any, rows: int) -> Any:
        """One column of one piece."""
        np, pa = library(), self._pa
        if value is None:
            return pa.nulls(rows, _type(pa, column))
        if column.kind == "name" and isinstance(value, str):
            words = self._words[name]
            value = words.setdefault(value, len(words))
        kind = np.int16 if column.kind == "name" else getattr(np, TYPES[column.kind])
        each = np.broadcast_to(np.asarray(value), shape)
        flat = np.ascontiguousarray(each if kept is None else each[kept], dtype=kind).reshape(-1)
        return pa.array(flat, from_pandas=False)

    def _column(self, name: str) -> Any:
        pa, column = self._pa, self._columns[name]
        kind = pa.int16() if column.kind == "name" else _type(pa, column)
        parts = [part for part in self._parts[name] if len(part)]
        whole = pa.chunked_array(parts, type=kind).combine_chunks() if parts else pa.array([], type=kind)
        if column.kind != "name":
            return whole
        whole = whole.combine_chunks() if isinstance(whole, pa.ChunkedArray) else whole
        return pa.DictionaryArray.from_arrays(whole, pa.array(list(self._words[name]), type=pa.string()))


def schema(columns: Mapping[str, Column]) -> Any:
    """The Arrow schema of these columns."""
    pa = arrow()
    return pa.schema([(name, _type(pa, one)) for name, one in columns.items()])


def account_of(file: Path | bytes) -> Account:
    """What a shard says of its points. Raises BadFile for what is no shard."""
    held = read(file).metadata.metadata or {}
    if KEY.encode() not in held:
        raise damaged(file)
    return decode(Account, json.loads(held[KEY.encode()]), _called(file))


def read(file: Path | bytes) -> Any:
    """A shard that Arrow reads piece by piece. Raises BadFile for what is no Parquet.

    It is mapped here: of some names Arrow thinks that they are addresses, others it cannot spell.
    """
    pa = arrow()
    try:
        return pa.parquet.ParquetFile(pa.BufferReader(_mapped(file) if isinstance(file, Path) else file))
    except (OSError, ValueError, pa.ArrowException):
        raise damaged(file) from None


def _mapped(path: Path) -> Any:
    """Raises ValueError for an empty file."""
    with path.open("rb") as file:
        return arrow().py_buffer(mmap(file.fileno(), 0, access=ACCESS_READ))


def damaged(file: Path | bytes) -> BadFile:
    """That a file is no shard, or not what one was, and what to do."""
    return BadFile(_called(file), ["is no shard of a sweep, or is damaged; delete it and resume the sweep"])


def _called(file: Path | bytes) -> str:
    return str(file) if isinstance(file, Path) else "a shard"


def _split(column: Column) -> bool:
    return column.kind in ("figure", "rounded") and not column.by_load


def _type(pa: Any, column: Column) -> Any:
    if column.kind == "name":
        return pa.dictionary(pa.int16(), pa.string())
    return getattr(pa, TYPES[column.kind])()
