"""Grids of points: what is asked of each, how they are cut into shards, and their figures. Pure: no files, no clock."""
