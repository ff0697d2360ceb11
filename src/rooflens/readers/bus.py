"""How the tests of NCCL count collectives: what the message is, and the bytes over a link for each byte of it."""

from __future__ import annotations

import re

from rooflens.operators.collectives import bus_share
from rooflens.operators.rows import Collective

_NAMES = (
    ("all_reduce", re.compile(r"all_?reduce|cross_device_reduce", re.IGNORECASE)),
    ("reduce_scatter", re.compile(r"reduce_?scatter", re.IGNORECASE)),
    ("all_gather", re.compile(r"all_?gather", re.IGNORECASE)),
    ("all_to_all", re.compile(r"all_?to_?all", re.IGNORECASE)),
    ("broadcast", re.compile(r"broadcast", re.IGNORECASE)),
    ("send_recv", re.compile(r"send_?recv|\bsend\b|\brecv\b", re.IGNORECASE)),
    ("reduce", re.compile(r"reduce", re.IGNORECASE)),
    ("gather", re.compile(r"gather", re.IGNORECASE)),
    ("scatter", re.compile(r"scatter", re.IGNORECASE)),
)
_COUNTED: dict[str, Collective] = {
    "all_reduce": "all-reduce", "all_gather": "all-gather", "gather": "all-gather", "reduce_scatter": "reduce-scatter",
    "scatter": "reduce-scatter", "all_to_all": "all-to-all",
}  # fmt: skip


def operation(name: str) -> str:
    """The collective that a name of a kernel, a program or an operator means; "collective" where it does not say."""
    return next((operation for operation, pattern in _NAMES if pattern.search(name)), "collective")


def bus_factor(operation: str, ranks: int | None) -> float | None:
    """Bus bytes for each byte of the message: all-reduce 2 (n-1)/n; gathers, scatters, all-to-all (n-1)/n; others 1.

    None when that depends on the number of ranks and nobody says it.
    """
    if operation in ("broadcast", "reduce", "send_recv"):
        return 1.0
    name = _COUNTED.get(operation)
    return None if name is None or ranks is None or ranks < 1 else bus_share(name, ranks)
