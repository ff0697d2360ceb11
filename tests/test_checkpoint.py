"""Query weights of the MiniGPT from a small real safetensors file."""

from __future__ import annotations

import json
import struct
from pathlib import Path

import numpy as np
import pytest

from rooflens.errors import BadFile
from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.checkpoint import query_weights
from rooflens.measure.backends.cpu_attention import random_data

SHAPE = AttentionShape(layers=2, width=8, heads=2)


def write(path: Path, tensors: dict[str, np.ndarray], kind: str = "F32") -> str:
    header, data = {}, b""
    for name, array in tensors.items():
        content = array.tobytes()
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": [len(data), len(data) + len(content)]}
        data += content
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return str(path)


def linear(seed: int = 0) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(seed)
    return {f"model.layers.{i}.self_attn.q_proj.weight": rng.standard_normal((8, 8), dtype=np.float32) for i in (0, 1)}


def test_a_linear_layer_is_transposed(tmp_path: Path) -> None:
    made = linear()
    found = query_weights(write(tmp_path / "m.safetensors", made), SHAPE)
    assert np.array_equal(found[1], made["model.layers.1.self_attn.q_proj.weight"].T)  # y = x @ W.T


def test_a_fused_conv1d_gives_its_first_columns(tmp_path: Path) -> None:
    made = {f"h.{i}.attn.c_attn.weight": np.arange(8 * 24, dtype=np.float32).reshape(8, 24) for i in (0, 1)}
    found = query_weights(write(tmp_path / "m.safetensors", made), SHAPE)
    assert np.array_equal(found[0], made["h.0.attn.c_attn.weight"][:, :8])


def test_bf16_is_the_upper_half_of_a_float32(tmp_path: Path) -> None:
    made = {name: (a.view(np.uint32) >> 16).astype(np.uint16) for name, a in linear().items()}
    found = query_weights(write(tmp_path / "m.safetensors", made, "BF16"), SHAPE)
    exact = np.stack([a.T for a in linear().values()])
    assert np.allclose(found, exact, rtol=2**-7)


def test_the_queries_come_from_the_file(tmp_path: Path) -> None:
    file = write(tmp_path / "m.safetensors", linear())
    with_file = AttentionShape(layers=2, width=8, heads=2, checkpoint=file)
    assert not np.array_equal(random_data(with_file, 4, 0, 1e3).q, random_data(SHAPE, 4, 0, 1e3).q)
    assert np.array_equal(random_data(with_file, 4, 0, 1e3).q, random_data(with_file, 4, 0, 1e3).q)


def test_every_fault_of_a_file_that_does_not_fit_is_named(tmp_path: Path) -> None:
    made = {"layers.0.wq.weight": np.zeros((4, 4), np.float32)}
    with pytest.raises(BadFile) as refused:
        query_weights(write(tmp_path / "m.safetensors", made), SHAPE)
    assert "does not fit --width 8" in str(refused.value)
    assert "layer 1 has no query weights" in str(refused.value)
