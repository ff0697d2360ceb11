"""Which kind each layer is, in every way that configs write it: lists, strings, periods, intervals, first and last.

A layer is two halves: a mixer (attention, recurrent, both, none) and a feed-forward (dense, experts, none).
"""

from __future__ import annotations

from rooflens.models.config import Config
from rooflens.models.family import Family

FULL, LOCAL, CHUNKED, RECURRENT, BOTH, NONE = "full", "local", "chunked", "recurrent", "both", "none"
FOLLOWS = "follows"  # attends to what an earlier layer's indexer selected
DENSE, EXPERTS = "dense", "experts"

_LETTERS = {"G": FULL, "L": LOCAL, "C": CHUNKED, "R": RECURRENT, "B": BOTH}
_MIXERS = {
    FULL: ("full_attention", "attention", "global", "global_attention", "full", "indexed_attention", "G", "*"),
    CHUNKED: ("chunked_attention",),
    LOCAL: ("sliding_attention", "local", "local_attention", "sliding_window", "L", "swa"),
    RECURRENT: ("linear_attention", "mamba", "mamba2", "recurrent", "conv", "linear", "M", "short_conv", "R"),
    BOTH: ("hybrid", "H"),
    NONE: ("moe", "mlp", "E", "-", "none", "no_op"),
}  # fmt: skip
_NAMES = {name: kind for kind, names in _MIXERS.items() for name in names}
_PERIODS = ("full_attention_interval", "sliding_window_pattern", "global_attn_every_n_layers", "layer_group_size")
_ALSO = (
    "attn_layer_period", "attn_layer_offset", "max_window_layers", "no_rope_layers",
    "prefix_dense_sliding_window_pattern",
)  # fmt: skip
_REACH = {LOCAL: "window", CHUNKED: "chunk"}
_PLACES = ("attn_layer_indices", "full_attn_idxs", "attn_layer_idxs")
_STEPS = ("decoder_sparse_step", "interleave_moe_layer_step", "moe_layer_interval")
_FFNS = {"dense": DENSE, "mlp": DENSE, "-": DENSE, "sparse": EXPERTS, "moe": EXPERTS, "E": EXPERTS}


def mixers(config: Config, family: Family, layers: int) -> tuple[str, ...]:
    """The mixer of each layer: the config's own list, else its period, else the pattern of its class."""
    if family.mixer == "selected mla":
        config.moot("kinds")
        chosen = config.items("indexer_types") or ["full"] * layers
        config.must(f"indexer_types: {len(chosen)} entries for {layers} layers", holds=len(chosen) == layers)
        return tuple(FULL if kind == "full" else FOLLOWS for kind in chosen)
    listed = config.items("kinds")
    if listed is not None:
        config.moot(*_PERIODS, *_PLACES, *_ALSO, *_REACH.values())
        return _local(config, family, _listed(config, listed, layers))
    for found in (_at_positions(config, layers), _periodic(config, family, layers)):
        if found:
            return _local(config, family, found)
    pattern = [_LETTERS[letter] for letter in family.pattern]
    return _local(config, family, tuple(pattern[i % len(pattern)] for i in range(layers)))


def feed_forwards(config: Config, layers: int) -> tuple[str, ...]:
    """The feed-forward of each layer of a model with experts: all experts unless the config says which are dense."""
    listed = config.items("ffn_kinds")
    if listed is not None:
        config.moot("dense_first", *_STEPS, "expert_layer_offset", "moe_layer_freq", "mlp_only_layers")
        config.must(f"mlp_layer_types: {len(listed)} entries for {layers} layers", holds=len(listed) == layers)
        config.must("mlp_layer_types: expected dense or sparse", holds=all(str(kind) in _FFNS for kind in listed))
        return tuple(_FFNS.get(str(kind), EXPERTS) for kind in listed)
    sparse = _sparse(config, layers)
    return tuple(EXPERTS if i in sparse else DENSE for i in range(layers))


def single(config: Config, layers: int) -> tuple[tuple[str, str], ...]:
    """Layers that are one half each, written as a list or a string: a mixer without a feed-forward, or the reverse."""
    listed = config.items("kinds") or []
    found = _listed(config, listed, layers)
    return tuple((mixer, _FFNS.get(str(kind), NONE)) for mixer, kind in zip(found, listed, strict=False))


def reach(config: Config, kind: str) -> float | None:
    """Positions that a layer of this kind reaches back; None for all, or where the window never binds."""
    most = config.count(_REACH[kind]) if kind in _REACH else 0
    return float(most) if most and not 0 < config.count("context") <= most else None


def _local(config: Config, family: Family, kinds: tuple[str, ...]) -> tuple[str, ...]:
    """The same, with local layers whose window is not there, or switched off, attending to all."""
    own = {*kinds, *(_LETTERS.get(letter) for letter in family.pattern)}
    if LOCAL in own and not config.flag("use_sliding_window", default=True):
        config.moot("window", "max_window_layers")
        return tuple(FULL if kind == LOCAL else kind for kind in kinds)
    binds = {kind: reach(config, kind) is not None for kind in _REACH if kind in own}
    return tuple(kind if binds.get(kind, True) else FULL for kind in kinds)


def _listed(config: Config, listed: list[object], layers: int) -> tuple[str, ...]:
    names = [_NAMES.get(str(entry)) for entry in _numbered(config, listed)]
    unknown = sorted({repr(entry)[:30] for entry, name in zip(listed, names, strict=True) if name is None})
    config.must(f"layer kinds {', '.join(unknown)} are not known", holds=not unknown)
    config.must(f"{len(listed)} layer kinds for {layers} layers", holds=len(listed) == layers)
    return tuple(name or FULL for name in names) if len(names) == layers else (FULL,) * layers


def _numbered(config: Config, listed: list[object]) -> list[object]:
    """Lists of 0 and 1: 1 is attention in attn_type_list, and a local layer in hybrid_layer_pattern."""
    if not all(type(entry) is int for entry in listed):
        return listed
    one, zero = ("L", "G") if "hybrid_layer_pattern" in config.data else ("attention", "linear_attention")
    return [one if entry else zero for entry in listed]


def _at_positions(config: Config, layers: int) -> tuple[str, ...] | None:
    """Attention named by layer number, the rest being what the class puts between."""
    for key in _PLACES:
        at = config.positions(key, layers)
        if at is not None:
            return tuple(FULL if i in at else RECURRENT for i in range(layers))
    positioned = config.items("no_rope_layers")
    if positioned and config.has("chunk"):
        config.must(f"no_rope_layers: {len(positioned)} entries for {layers} layers", holds=len(positioned) == layers)
        return tuple(CHUNKED if rotary else FULL for rotary in positioned)
    return None


def _periodic(config: Config, family: Family, layers: int) -> tuple[str, ...] | None:
    other = RECURRENT if family.recurrent else LOCAL
    pattern = config.items("sliding_window_pattern")
    if pattern:
        return tuple(_NAMES.get(str(pattern[i % len(pattern)]), FULL) for i in range(layers))
    for key in _PERIODS:
        every = config.setting(key)
        if every:
            return tuple(FULL if i % every == every - 1 else other for i in range(layers))
    period = config.setting("attn_layer_period")
    if period:
        return tuple(FULL if i % period == config.setting("attn_layer_offset") else other for i in range(layers))
    follows = "max_window_layers" in config.defaults or "use_sliding_window" in config.data
    if config.has("max_window_layers") and follows:
        first = config.setting("max_window_layers")
        return tuple(LOCAL if i >= first else FULL for i in range(layers))
    return None


def _sparse(config: Config, layers: int) -> frozenset[int]:
    """The layers with experts, from whatever keys say so."""
    listed = config.items("moe_layer_freq")
    if listed is not None:
        config.must(f"moe_layer_freq: {len(listed)} entries for {layers} layers", holds=len(listed) == layers)
        return frozenset(i for i, has in enumerate(listed) if has)
    named = config.positions("moe_layers", layers)
    if named is not None:
        config.moot(*_STEPS)
        return named
    first, (step, offset) = config.setting("dense_first"), _every(config)
    last = config.setting("moe_layer_end_index", layers) if config.data.get("moe_layer_end_index") != -1 else layers
    dense = config.positions("mlp_only_layers", layers) or frozenset()
    return frozenset(i for i in range(first, min(last + 1, layers)) if i % step == offset and i not in dense)


def _every(config: Config) -> tuple[int, int]:
    """Experts in every n-th layer, and in which: the first of n in some classes, the last in others."""
    for key in _STEPS:
        step = config.setting(key)
        if step:
            return step, step - 1
    return config.setting("expert_layer_period", config.setting("moe_layer_freq", 1)) or 1, config.setting(
        "expert_layer_offset"
    )
