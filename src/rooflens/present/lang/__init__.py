"""The message catalogues: one module a language, the same keys and placeholders in each.

Field terms stay as practitioners say them in every language: roofline, TTFT, batch, prefill, decode, kernel, FLOP.
"""
