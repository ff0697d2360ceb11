"""Constants of single kernels, fitted on measured ones: what each of them means.

A key names whom it is of: "CHIP FLAVOUR ENGINE". CHIP is an id of the catalogue, else a compute capability, else "*"
for any other chip; FLAVOUR the formats of the kernel; ENGINE "*" where none is named. Fixed costs are in cycles of the
chip's clock, so that one constant serves chips of several clocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from rooflens.catalogue.calibrations import Residuals, dated
from rooflens.records import decode, field, record

SCHEMA = "rooflens/kernel-calibration/1"
OPERATORS = "operators-2026-11-29"


@record
class CacheSlope:
    """What the last cache gives a kernel that is repeated. gain: its bandwidth over the memory's.

    The share of the traffic that it serves falls from 1 to 0 as the working set passes `share` of its size, the faster
    the larger `steep` is.
    """

    share: float
    steep: float
    gain: float


@record
class ProductCosts:
    """Products (GEMM). Shares unless said otherwise.

    fixed_cycles: launch, prologue and tail, with the kernel that narrows activations where there is one. compute: of
    the peak, on short kernels, for an average tile; sustained: what the power cap leaves of that on long ones. memory:
    of the bandwidth. fill: elements of K that filling and draining a tile's pipeline takes. narrowing: of the bandwidth
    in the kernel that narrows activations; None: the activations of these rows came narrow.
    """

    fixed_cycles: float
    compute: float
    memory: float
    fill: float
    sustained: float
    narrowing: float | None = None


@record
class ProductCommon:
    """The same for all products. overlap: exponent of compute and memory, 1 a sum, endless the larger of the two.

    split_cycles: the second pass where K is cut. power_s: time at the peak after which the power cap sets in. feed,
    feed_exponent: operands that a tile of few rows or columns fetches again, by what a unit takes a second. busy: share
    of the units that fills the memory bus. narrowing_rows: rows a unit that fill it when activations are narrowed.

    Of chips that were not fitted: compute falls with the peak a watt to the power of by_density, and is family_compute
    of that on a kind of chip; fill grows with the peak a unit to the power of by_rate.
    """

    overlap: float
    cache: CacheSlope
    split_cycles: float
    power_s: float
    feed: float
    feed_exponent: float
    busy: float
    narrowing_rows: float
    by_density: float
    by_rate: float
    family_compute: Mapping[str, float]


@record
class DecodeCosts:
    """Attention of one new token a sequence. fixed_cycles: launch, append, softmax, tail. memory, compute: shares.

    compute: of the matrix peak, with groups of query heads padded. wave_cycles: every further wave of blocks.
    combine_cycles: the pass that joins parts of a context. widest: query heads that one reading of the cache serves;
    None: all of a group.
    """

    fixed_cycles: float
    memory: float
    compute: float
    wave_cycles: float
    combine_cycles: float
    widest: float | None = None


@record
class DecodeCommon:
    """The same for all. chunk: positions that one block takes. rows: those of a matrix instruction, which groups fill.

    overlap, cache, busy: as in products.
    """

    overlap: float
    cache: CacheSlope
    busy: float
    chunk: float
    rows: float


@record
class PrefillCosts:
    """Attention of a prompt. fixed_cycles: launches. memory: share of the bandwidth for Q, K, V, O and the append.

    compute: share of the peak of the two products; unusual: of that, for head widths that are not 64, 128 or 256.
    block_cycles: start and end of a block of query rows. scores_per_cycle: softmax of a unit that no product hides.
    """

    fixed_cycles: float
    memory: float
    compute: float
    block_cycles: float
    scores_per_cycle: float
    unusual: float


@record
class PrefillCommon:
    """The same for all. rows, columns: query rows of a block, and positions that it takes at once."""

    overlap: float
    cache: CacheSlope
    rows: float
    columns: float


@record
class ExchangeCosts:
    """Collectives. own_s: fixed cost of the engine's own kernels; ring_s: of the library, for two; link: share."""

    own_s: float
    ring_s: float
    link: float


@record
class ExchangeCommon:
    """The same for all. quick: rate of the protocol of low latency over the bulk one's; bulk_s: what that starts with.

    two_shot_s: the second meeting of the engine's own kernels. hop_s, bridge_s: each device beyond two, in the library,
    and through the bridges of a host; there the rate falls as (2 / devices) to the power of shared.
    """

    quick: float
    bulk_s: float
    two_shot_s: float
    hop_s: float
    bridge_s: float
    shared: float


@record
class Products:
    """Products as fitted. rows: measured ones behind each key of costs; residuals: by flavour and what was known."""

    common: ProductCommon
    costs: Mapping[str, ProductCosts]
    rows: Mapping[str, int]
    residuals: Mapping[str, Residuals]


@record
class Decoding:
    """Decode attention as fitted."""

    common: DecodeCommon
    costs: Mapping[str, DecodeCosts]
    rows: Mapping[str, int]
    residuals: Mapping[str, Residuals]


@record
class Prefilling:
    """Prefill attention as fitted."""

    common: PrefillCommon
    costs: Mapping[str, PrefillCosts]
    rows: Mapping[str, int]
    residuals: Mapping[str, Residuals]


@record
class Exchanging:
    """Collectives inside one host as fitted."""

    common: ExchangeCommon
    costs: Mapping[str, ExchangeCosts]
    rows: Mapping[str, int]
    residuals: Mapping[str, Residuals]


@record
class KernelConstants:
    """One dated file. chips: those that rows came from.

    cache_bytes: of chips whose catalogue row says no last cache, the size that their rows of decode attention show.
    """

    date: str
    source: str
    chips: tuple[str, ...]
    products: Products
    decoding: Decoding
    prefilling: Prefilling
    exchanging: Exchanging
    cache_bytes: Mapping[str, float] = field(default_factory=dict)


@cache
def operators(name: str = OPERATORS) -> KernelConstants:
    """The constants of single kernels, from the file of this name. Raises Unknown."""
    return decode(KernelConstants, dated(name), f"{name}.json", SCHEMA)
