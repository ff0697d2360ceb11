"""Engines while they run: what they say of themselves, as rates, ratios and verdicts."""
