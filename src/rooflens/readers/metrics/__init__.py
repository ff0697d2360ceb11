"""Readers of what engines and exporters tell of themselves over HTTP: text in, records out."""
