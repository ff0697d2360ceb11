"""Benchmarks: one reader a format, each from the text of a file to points."""
