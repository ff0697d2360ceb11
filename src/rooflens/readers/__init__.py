"""Files as records: models by their headers, and what profilers and benchmarks said. Nothing in a file is executed.

Memory and time are bounded whatever a file says.
"""

from __future__ import annotations

from rooflens.readers.checkpoint import Checkpoint, Tensor, fitted
from rooflens.readers.files import checkpoint, is_path, model
from rooflens.readers.nodes import node
from rooflens.readers.observing import observed

__all__ = ["Checkpoint", "Tensor", "checkpoint", "fitted", "is_path", "model", "node", "observed"]
