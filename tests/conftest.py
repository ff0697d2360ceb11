"""What all tests share: a search without a clock, since a busy machine is no fault of the code."""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("fast", deadline=None, max_examples=100)
settings.register_profile("deep", deadline=None, max_examples=5000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))
