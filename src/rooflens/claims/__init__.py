"""Is it true, and for what? A vendor's sentence split into compute, memory, precision and sparsity. Pure.

facts: a figure of one chip; roofs: one roof against another; speedups: one chip against another, by real operators.
"""
