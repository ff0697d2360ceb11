"""Names of kernels as a person reads them: without what C++ puts around them."""

from __future__ import annotations

import re

_AROUND = re.compile(
    r"^(?:void|static)\s+|\b(?:at::native|at::cuda|at|aten|cutlass|cub|thrust|std)::"
    r"|(?:\(anonymous namespace\)|<unnamed>)::"
)


def plain(name: str) -> str:
    """One printable line: no return type, no namespaces of libraries."""
    return _AROUND.sub("", " ".join("".join(c if c.isprintable() else " " for c in name).split()))
