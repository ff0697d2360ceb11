"""The columns of a sweep: what each holds, and what of a prediction it repeats; those of its axes stand in its grid."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from rooflens.records import record

ColumnKind = Literal["name", "count", "size", "position", "figure", "rounded", "truth"]
"""name: text from a dictionary. count: up to 32,767. size: whole, 64 bit. position: a double, halves occur.
figure: a double with the digits of `predict`. rounded: the same as a float of 32 bit. truth: true or false."""


@record
class Column:
    """One column. of: the option of `predict` that asks for it, or where `predict --json` has it.

    by_load: it depends on the load alone, so that it repeats from batch to batch.
    """

    kind: ColumnKind
    of: str
    about: str
    by_load: bool = False


FIGURES: Mapping[str, Column] = {
    "tpot_floor_s": Column("figure", "tpot_s.floor", "no software beats it"),
    "tpot_estimate_s": Column("figure", "tpot_s.estimate", "to be expected; null where nothing was calibrated"),
    "tpot_low_s": Column("rounded", "tpot_s.low", "four of five lie between this"),
    "tpot_high_s": Column("rounded", "tpot_s.high", "and this"),
    "ttft_floor_s": Column("figure", "ttft_s.floor", "of one prompt alone", by_load=True),
    "ttft_estimate_s": Column("figure", "ttft_s.estimate", "of one prompt alone", by_load=True),
    "ttft_low_s": Column("figure", "ttft_s.low", "four of five lie between this", by_load=True),
    "ttft_high_s": Column("figure", "ttft_s.high", "and this", by_load=True),
    "tokens_per_s": Column("figure", "tokens_per_s", "of all sequences, as expected, else at the floor"),
    "usd_per_million_tokens": Column("figure", "usd_per_million_tokens", "null where no price is known"),
    "needed_bytes": Column("figure", "memory.needed_bytes", "of the fullest device"),
    "fits": Column("truth", "memory.fits", "whether it has so much; null where its memory is not known"),
    "batch_memory_allows": Column("size", "batch_memory_allows", "sequences that fit at this context", by_load=True),
    "bound": Column("name", "bound", "what binds the largest share of the decode step's floor"),
}  # fmt: skip
BOUNDS = ("compute", "memory", "link", "none")
