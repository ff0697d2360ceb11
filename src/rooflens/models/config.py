"""A config.json read strictly: each key by any of its spellings, every fault at once, nothing guessed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rooflens.errors import BadFile

_SPELLINGS: dict[str, tuple[str, ...]] = {
    "width": ("hidden_size", "n_embd", "d_model", "n_embed"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "heads": ("num_attention_heads", "n_head", "n_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv"),
    "head_width": ("head_dim",),
    "ffn": ("intermediate_size", "n_inner", "ffn_dim", "ffn_hidden_size"),
    "vocab": ("vocab_size", "padded_vocab_size"),
    "context": ("max_position_embeddings", "n_positions", "n_ctx", "max_seq_len", "seq_length"),
    "dtype": ("torch_dtype", "dtype"),
}
LARGEST = 1 << 40


class Config:
    """One config.json as facts. Faults are gathered while reading; `close` raises them all as one BadFile."""

    def __init__(self, data: Mapping[str, Any], where: str) -> None:
        self.data, self.where = data, where
        self.faults: list[str] = []
        self.read: set[str] = set()

    def size(self, what: str, default: int | None = None) -> int:
        """A whole number above 0; a null or absent key takes `default`, or is a fault that names its spellings."""
        key, value = self._find(what)
        if value is None:
            if default is None:
                self.faults.append(f"{' / '.join(_SPELLINGS.get(what, (what,)))}: missing")
            return default or 1
        if isinstance(value, bool) or not isinstance(value, int):
            self.faults.append(f"{key}: expected a whole number, found {value!r:.40}")
        elif not 0 < value <= LARGEST:
            self.faults.append(f"{key}: {value} is not a size (1 to {LARGEST})")
        else:
            return value
        return 1

    def flag(self, what: str, *, default: bool) -> bool:
        """A true or false; a null or absent key takes `default`."""
        key, value = self._find(what)
        if value is None:
            return default
        if not isinstance(value, bool):
            self.faults.append(f"{key}: expected true or false, found {value!r:.40}")
            return default
        return value

    def text(self, what: str, default: str) -> str:
        """A text; a null or absent key takes `default`."""
        key, value = self._find(what)
        if value is None:
            return default
        if not isinstance(value, str):
            self.faults.append(f"{key}: expected text, found {value!r:.40}")
            return default
        return value

    def must(self, fault: str, *, holds: bool) -> None:
        """Notes `fault` unless it holds; skipped when sizes are already faulty."""
        if not holds and not self.faults:
            self.faults.append(fault)

    def close(self) -> None:
        """Raises BadFile with every fault found so far."""
        if self.faults:
            raise BadFile(self.where, self.faults)

    def _find(self, what: str) -> tuple[str, Any]:
        for key in _SPELLINGS.get(what, (what,)):
            if key in self.data:
                self.read.add(key)
                if self.data[key] is not None:
                    return key, self.data[key]
        return what, None
