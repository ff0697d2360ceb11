"""Profilers: one reader a format, each from the content of a file to kernels and what ran around them."""
