"""The streaming kernels: what each moves, and how much of it a bandwidth counts."""

from __future__ import annotations

from rooflens.records import record


@record
class Stream:
    """One access mix. bytes = (reads + writes) / arrays x working set, each array passed once.

    Not counted: the line that an ordinary store reads before it writes (write-allocate).
    """

    access: str
    reads: int
    writes: int
    formula: str

    @property
    def arrays(self) -> int:
        """How many arrays one pass touches."""
        return self.reads + self.writes


STREAMS = {
    s.access: s
    for s in (
        Stream("read", 1, 0, "s = s + a[i]"),
        Stream("write", 0, 1, "a[i] = s"),
        Stream("copy", 1, 1, "a[i] = b[i]"),
        Stream("triad", 2, 1, "a[i] = b[i] + s c[i]"),
    )
}


def gemm_flops(m: int, n: int, k: int) -> float:
    """A multiplication and an addition for each of M N K terms: 2 M N K."""
    return 2.0 * m * n * k
