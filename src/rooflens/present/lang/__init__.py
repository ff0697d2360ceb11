"""The phrase books: one a verb, each with the same keys and placeholders in English, Spanish and Vietnamese.

`en`, `es` and `vi` hold what figures, points and tables say; every other module is one book with all its languages,
for whoever adds a phrase to see them side by side. Field terms stay as practitioners say them in every language:
roofline, GEMM, TTFT, MFU, batch, prefill, decode, kernel, FLOP. So do identifiers, units and names of dtypes.
"""
