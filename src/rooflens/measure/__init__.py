"""Measured ceilings: one timing loop over dumb backends, a gate against disturbed figures, a profile as the result."""
