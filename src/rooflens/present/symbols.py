"""Names of kernels as a person reads them: without what C++ puts around them."""

from __future__ import annotations

import re

_AROUND = re.compile(
    r"^(?:void|static)\s+|\b(?:at::native|at::cuda|at|aten|cutlass|cub|thrust|std)::"
    r"|(?:\(anonymous namespace\)|<unnamed>)::"
)

ROOM = 44


def plain(name: str) -> str:
    """One printable line: no return type, no namespaces of libraries."""
    return _AROUND.sub("", " ".join("".join(c if c.isprintable() else " " for c in name).split()))


def short(name: str) -> str:
    """The name of a kernel as a table has room for it. JSON keeps it whole."""
    found = plain(name)
    return found if len(found) <= ROOM else found[: ROOM - 1] + "…"
