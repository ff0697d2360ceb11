"""One file of a profiler or a benchmark, of any kind that is known, as a record."""

from __future__ import annotations

from pathlib import Path

from rooflens.readers.content import content
from rooflens.records import replace
from rooflens.roofline.observed import Observed


def observed(path: Path) -> Observed:
    """All that this file says, recognised by its content; gzipped or not.

    Of a file that is cut off or damaged, what is whole, with a warning. Raises RooflensError in one sentence when
    nothing is, or when no reader knows it.
    """
    from rooflens.readers import recognise
    from rooflens.readers.profiles.kernel_names import said

    with content(path) as opened:
        found = recognise.reader(opened)(opened)
        faults = [fault for fault in opened.faults if fault not in found.warnings]
    named = tuple(replace(kernel, family=said(kernel.name).family) for kernel in found.kernels)
    return replace(found, kernels=named, warnings=(*faults, *found.warnings))
