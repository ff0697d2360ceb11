"""What is run, whatever runs it: what each kernel moves and counts, which entries are checked, how data stays cold."""

from __future__ import annotations

import math

from rooflens.records import record

DECODE_ROWS = 256  # up to so many rows a product is a decode step's: its weights stream
MOST_KV_BYTES = 8e9  # of a cell of attention: a larger one is skipped
CHECKED_ROWS, CHECKED_COLUMNS = 16, 64


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


def cold_copies(cold_bytes: float, size_bytes: float, most: int) -> int:
    """How many copies of so many bytes take turns, so that each has left the caches when its turn comes."""
    return max(1, min(most, math.ceil(cold_bytes / size_bytes)))


def spread(size: int, most: int) -> list[int]:
    """At most `most` of the places 0 to size - 1, evenly spread, the first and the last among them."""
    count = min(size, most)
    return [round(i * (size - 1) / max(1, count - 1)) for i in range(count)]


def checked(rows: int, columns: int) -> tuple[list[int], list[int]]:
    """Rows and columns of a product that are set against float64."""
    return spread(rows, CHECKED_ROWS), spread(columns, CHECKED_COLUMNS)
