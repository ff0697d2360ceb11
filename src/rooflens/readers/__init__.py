"""Model files as records: headers only, nothing executed, memory and time bounded whatever a file says."""

from __future__ import annotations

from rooflens.readers.checkpoint import Checkpoint, Tensor, fitted
from rooflens.readers.files import checkpoint, is_path, model

__all__ = ["Checkpoint", "Tensor", "checkpoint", "fitted", "is_path", "model"]
