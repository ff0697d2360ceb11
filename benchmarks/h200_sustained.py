"""Is the settled rate settled? Twice as the lab measures it, and once for ten seconds without a pause, last third.

    python benchmarks/h200_sustained.py [dtype]

Wanted: two runs agree within 2 %, and lie within 3 % of the last third of the long run.
"""

from __future__ import annotations

import sys
from statistics import median

from rooflens.measure.backends.cuda import CudaBackend
from rooflens.measure.budget import Budget
from rooflens.measure.gemm import measure_gemm
from rooflens.measure.loop import settle
from rooflens.measure.options import gpu
from rooflens.measure.shapes import best_shapes
from rooflens.units import percent, show

LONG_S = 10.0


def main() -> None:
    """Prints the three rates and how far they lie apart."""
    dtype = sys.argv[1] if len(sys.argv) > 1 else "bf16"
    backend, options = CudaBackend(0), gpu()
    budget = Budget(backend.clock)
    rates = []
    for _ in range(2):
        roofs = measure_gemm(backend, dtype, options, budget).ceilings
        settled = next(c for c in roofs if c.mode == "sustained")
        rates.append(settled.value)
        print(f"{show(settled.value, settled.unit)}: {settled.note}; {settled.source}")
    best = best_shapes(backend, dtype, options, budget).lasting
    print(f"long run: {best.shape}, {best.kernel.unit}")
    run = settle(backend, best.kernel, LONG_S, LONG_S, budget)
    third = run.samples_s[-max(1, len(run.samples_s) // 3) :]
    long = best.flops / median(third)
    said, apart = " and ".join(show(rate, "FLOP/s") for rate in rates), percent(abs(rates[0] / rates[1] - 1))
    off = ", ".join(percent(abs(rate / long - 1)) for rate in rates)
    print(f"{dtype} sustained {said}: {apart} apart")
    print(f"last third of {LONG_S:g} s: {show(long, 'FLOP/s')}; off by {off}")
    backend.close()


if __name__ == "__main__":
    main()
