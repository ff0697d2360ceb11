"""Sweeps: shards of a grid priced by processes or by Ray, landed as Parquet, resumed, and asked."""
