r"""One launch of each memory-bound kernel, for a profiler that counts: bytes moved against bytes the model says.

    ncu --clock-control none --csv --page raw --metrics dram__bytes_read.sum,dram__bytes_write.sum,\
smsp__sass_thread_inst_executed_op_ffma_pred_on.sum,sm__inst_executed_pipe_tensor.sum,gpu__time_duration.sum \
        --kernel-name regex:'decode_attention|gemv|stream_read' python benchmarks/h200_counters.py > counters.csv

Printed on standard error, in the order of the launches: what each must move at least.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.cuda import CudaBackend

CELLS = (
    ("fp16", AttentionShape(1, 4096, 32), 65536),
    ("fp16", AttentionShape(1, 4096, 32, 8, 16), 16384),
    ("int8", AttentionShape(1, 4096, 32), 65536),
    ("fp32", AttentionShape(1, 4096, 32), 16384),
)
SIZE = {"fp16": 2, "int8": 1, "fp32": 4}


def main() -> None:
    """The launches, one after another."""
    gpu = CudaBackend(0)
    if gpu.why_not():
        sys.exit(gpu.why_not())
    for dtype, shape, context in CELLS:
        fused = next(k for k in gpu.attention(dtype, context, shape, 0) if k.unit == "fused")
        moved = 2 * shape.batch * shape.kv_heads * shape.head_width * context * SIZE[dtype]
        launch(gpu, f"decode attention {dtype} {shape.heads}/{shape.kv_heads} heads, S={context}", fused, moved)
    read = gpu.stream("read", "main", 2**31, 0)[-1]
    launch(gpu, "read", read, 2**31)
    gpu.close()


def launch(gpu: CudaBackend, name: str, kernel: object, moved: float) -> None:
    """One run, and the bytes it must move."""
    with kernel.setting():
        kernel.run()
        gpu.sync()
    sys.stderr.write(f"{name}: {moved:.0f} bytes\n")


if __name__ == "__main__":
    main()
