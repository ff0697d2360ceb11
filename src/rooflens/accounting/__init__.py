"""Where the time of a run went: kernels under the roofs, gaps between them, what moved between two runs."""
