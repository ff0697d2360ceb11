"""How many processors this process may use."""

from __future__ import annotations

import os


def allowed() -> list[int]:
    """The logical processors that the system lets this process run on; all of them where it does not say."""
    affinity = getattr(os, "sched_getaffinity", None)  # Linux alone
    return sorted(affinity(0)) if affinity else list(range(os.cpu_count() or 1))


def processors() -> int:
    """So many of them: what work that shares nothing is spread over."""
    return len(allowed())
