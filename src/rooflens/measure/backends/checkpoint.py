"""Query weights of a MiniGPT from a .safetensors file: disk to host, as float32, ready for the device.

Taken, of every layer: a torch Linear `...layers.N...q_proj.weight` [D out, D in] (also wq, query), or a fused Conv1D
`...h.N...c_attn.weight` [D in, 3 D out], whose first D columns are the queries.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rooflens.errors import BadFile
from rooflens.measure.backend import AttentionShape
from rooflens.readers.safetensors import one_file

_QUERY = re.compile(r"(?:.*\.)?(?:layers|h|blocks)\.(\d+)\.(?:.*\.)?(q_proj|wq|query|c_attn)\.weight")
_KINDS = {"fp32": "<f4", "fp16": "<f2", "fp64": "<f8"}


def query_weights(file: str, shape: AttentionShape) -> Any:
    """[layers, D, D] as float32, to be used as x @ weights[layer].

    Raises BadFile, with every fault, when the file lacks a layer, or a tensor has another width or a packed dtype.
    """
    import numpy as np

    found = {int(m[1]): (m[2], t) for t in one_file(Path(file)).tensors if (m := _QUERY.fullmatch(t.name))}
    wanted = {"c_attn": (shape.width, 3 * shape.width)}
    faults = []
    for layer in range(shape.layers):
        if layer not in found:
            faults.append(f"layer {layer} has no query weights (q_proj, wq, query or c_attn)")
            continue
        kind, tensor = found[layer]
        if tensor.shape != wanted.get(kind, (shape.width, shape.width)):
            faults.append(f"{tensor.name} is {list(tensor.shape)}, which does not fit --width {shape.width}")
        elif tensor.dtype not in (*_KINDS, "bf16"):
            faults.append(f"{tensor.name} is {tensor.dtype}; fp64, fp32, fp16 or bf16 weights are loaded")
    if faults:
        raise BadFile(file, faults)
    layers = [_matrix(file, *found[layer], shape.width) for layer in range(shape.layers)]
    return np.stack(layers)


def _matrix(file: str, kind: str, tensor: Any, width: int) -> Any:
    """One layer as [D in, D out] float32."""
    import numpy as np

    with Path(file).open("rb") as opened:
        opened.seek(tensor.begins)
        content = opened.read(tensor.bytes)
    if tensor.dtype == "bf16":  # the upper half of a float32
        values = (np.frombuffer(content, "<u2").astype(np.uint32) << 16).view(np.float32)
    else:
        values = np.frombuffer(content, _KINDS[tensor.dtype]).astype(np.float32)
    matrix = values.reshape(tensor.shape)
    return matrix[:, :width] if kind == "c_attn" else matrix.T
