"""What does not fit into memory is a sentence, and the rest goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rooflens.measure.backend import Cannot


@contextmanager
def fits(what: str) -> Iterator[None]:
    """Turns running out of memory into Cannot, so that `what` alone is skipped; every other error passes through."""
    try:
        yield
    except Exception as error:
        if isinstance(error, Cannot) or not out_of_memory(error):
            raise
        said = (str(error).strip().splitlines() or ["no size given"])[0]
        raise Cannot(f"{what} skipped: out of memory ({said})") from None


def out_of_memory(error: Exception) -> bool:
    """Whether memory ran out, in the words of Python, CuPy, CUDA's libraries or torch."""
    said = str(error).lower()
    return (
        isinstance(error, MemoryError)
        or "out of memory" in said
        or "memoryallocation" in said
        or "alloc_failed" in said
    )
