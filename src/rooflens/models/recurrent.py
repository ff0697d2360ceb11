"""Layers that keep a state instead of a cache: Mamba, delta nets, linear attention, short convolutions.

All are: project in, mix a few neighbours (a short convolution), update a state of heads x keys x values, project out.
Step by step, every token updates the state on the vector unit. In chunks, the tokens of a chunk attend to each other
and to the state as matrix products. FLOPs a point of the state: decay, outer product, sum and read-out, 6; a delta
rule also reads before it writes, 8. Not counted: the small triangular solve of a delta rule inside a chunk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rooflens.models.config import Config
from rooflens.models.family import Family, Plan
from rooflens.models.model import Choices
from rooflens.models.spellings import SPELLINGS
from rooflens.operators.rows import Row
from rooflens.operators.standard import GATED_FLOPS, bias, linear, norm, vector, wide_norm

FACTS = (
    "state_heads", "state_width", "state_size", "state_groups", "taps", "scan_chunk", "expand", "dt_rank",
    "mamba_conv_bias", "mamba_proj_bias", "use_conv_bias", "mamba_d_ssm",
)  # fmt: skip
SCAN_FLOPS = 6.0
DELTA_FLOPS = 8.0
VALUES, KEYS = "Hs Ws", "Gs Ns"


def rows(plan: Plan, *, normed: bool = True) -> tuple[Row, ...]:
    """The mixer half of a recurrent layer. normed: False where the half beside it has the norm."""
    first, *others = _MIXERS[plan.family.recurrent](plan)
    return (first, *(plan.norm("mixer norm") if normed else ()), *others, *plan.after("out"))


def letters(config: Config, family: Family) -> dict[str, float]:
    """Heads, widths and taps of the state."""
    sizes = _SIZES[family.recurrent](config)
    taps = config.size("taps", 4) if family.recurrent != "lightning" else 0
    kept = taps - 1 if family.recurrent in ("delta net", "delta attention", "rg-lru") else taps
    chunk = config.setting("scan_chunk", 64)
    sizes |= {"J": taps, "Jc": kept, "Pc": (chunk + 1) / 2} if taps else {"Pc": (chunk + 1) / 2}
    return {name: float(size) for name, size in sizes.items() if size}


def _scan(choices: Choices, flops: float, keys: str = "Hs Ns") -> tuple[Row, ...]:
    """The state read and written once; the tokens one after the other, or in chunks."""
    state = Row("state", "B T, B Hs Ws Ns -> B T", "state", "ssm", "w", 0.0, rides=True)
    if choices.scan == "steps":
        return (Row("scan", "B T Hs Ws Ns -> B T Hs Ws", "none", "elementwise", "", flops), state)
    return (
        Row("scan in chunks", f"B T {keys} -> B T Pc", "none", "attend", ""),
        Row("mix in chunk", "B T Hs Pc -> B T Hs Ws", "none", "attend", "", rides=True),
        Row("write state", "B T Hs Ns -> B T Hs Ws", "none", "attend", "", rides=True),
        Row("read state", "B T Hs Ns -> B T Hs Ws", "none", "attend", "", rides=True),
        state,
    )


def _conv(config: Config, *widths: str, has_bias: bool = False, act: bool = True) -> Iterator[Row]:
    """A convolution over a few positions for each channel, and the positions it remembers."""
    taps = config.size("taps", 4)
    for width in widths:
        flops = 2.0 * taps + (4.0 if act else 0.0)
        yield Row("conv", f"B T {width}, [J] {width} -> B T {width}", "weight", "conv", "w", flops, rides=True)
        yield Row("conv state", f"B T, B Jc {width} -> B T", "state", "conv", "w", 0.0, rides=True)
        if has_bias:
            yield bias("conv bias", width)


def _projections(*widths: str, stored: Sequence[str] = ()) -> Iterator[Row]:
    """One product in, written as several rows where the pieces are split differently over devices.

    stored: what a file keeps each piece in, where that is not one matrix for all.
    """
    one = (f"in: {' + '.join(widths)}, D",) * len(widths)
    for i, (width, of) in enumerate(zip(widths, stored or one, strict=True)):
        spec, touches = f"B T D, D {width} -> B T {width}", "wy" if i else "xwy"
        yield Row("in", spec, "weight", "ssm", touches, rides=i > 0, stored=of)


def _each(*modules: str, outputs: str) -> str:
    """Several matrices with as many outputs each."""
    return "; ".join(f"{module}: {outputs}, D" for module in modules)


def _out(width: str = VALUES) -> Row:
    return linear("out", f"B T {width}, {width} D -> B T D", "ssm", stored="out")


def _mamba2(plan: Plan) -> Iterator[Row]:
    has_bias = plan.config.flag("mamba_proj_bias") or plan.config.flag("use_bias")
    pieces = ("2 Hs Ws", "2 Gs Ns", "Hs")  # gate and input; keys and queries; time steps
    yield from _projections(*pieces)
    yield from (bias("in bias", piece) for piece in pieces if has_bias)
    yield from _conv(plan.config, VALUES, f"2 {KEYS}", has_bias=_conv_bias(plan.config))
    yield Row("time step, decay, skip", "B T Hs, 3 Hs -> B T Hs", "weight", "norm", "w", 4.0, rides=True)
    yield from _scan(plan.choices, SCAN_FLOPS, KEYS)
    if plan.said(plan.family.recurrent_form) == "norm":
        yield wide_norm("gated norm", VALUES)
    yield _out()
    if has_bias:
        yield bias("out bias", "D")


def _mamba1(plan: Plan) -> Iterator[Row]:
    has_bias = plan.config.flag("mamba_proj_bias") or plan.config.flag("use_bias")
    yield from _projections("2 Hs")
    yield from [bias("in bias", "2 Hs")] if has_bias else []
    yield from _conv(plan.config, "Hs", has_bias=_conv_bias(plan.config))
    yield linear("x", "B T Hs, Hs Rd+2Ns -> B T Rd+2Ns", "ssm", stored="x")
    if plan.family.recurrent_form == "inner norms":
        yield norm("inner norms", "Rd+2Ns")
    yield linear("time step", "B T Rd, Rd Hs -> B T Hs", "ssm", stored="dt")
    yield bias("time step bias", "Hs")
    yield Row("decay", "B T Hs, Hs Ns -> B T Hs", "weight", "norm", "w", 1.0, rides=True)
    yield bias("skip", "Hs")
    yield from _scan(plan.choices, SCAN_FLOPS)
    yield vector("gating", "B T Hs -> B T Hs", GATED_FLOPS)
    yield _out("Hs")
    if has_bias:
        yield bias("out bias", "D")


def _delta_net(plan: Plan) -> Iterator[Row]:
    """Queries and keys, values, gate, and a decay and a strength for each head; packed in several ways."""
    several = (_each("q", "k", outputs=KEYS), "v", "z", _each("a", "b", outputs="Hs"))
    if plan.packs("in_qkv"):
        several = (f"qkv: 2 {KEYS} + {VALUES}, D",) * 2 + several[2:]
    if plan.packs("in_qkvz"):
        several = (*(f"qkvz: 2 {KEYS} + 2 {VALUES}, D",) * 3, "ba")
    yield from _projections(f"2 {KEYS}", VALUES, VALUES, "2 Hs", stored=several)
    yield from _conv(plan.config, f"2 {KEYS}", VALUES)
    yield Row("decay", "B T Hs, 2 Hs -> B T Hs", "weight", "norm", "w", 4.0, rides=True)
    yield from _scan(plan.choices, DELTA_FLOPS)
    yield norm("gated norm", VALUES)
    yield _out()


def _delta_attention(plan: Plan) -> Iterator[Row]:
    """Kimi delta attention: a decay for each key of each head, through a narrow gate or a full one."""
    narrow = plan.family.recurrent_form != "wide gates"
    first = ("2 Hs Ns", VALUES, "Hs", *(("2 Rd",) if narrow else ("Hs Ns", VALUES)))
    gates = (_each("f_a", "g_a", outputs="Rd"),) if narrow else ("f", "g")
    yield from _projections(*first, stored=(_each("q", "k", outputs="Hs Ns"), "v", "b", *gates))
    if narrow:
        yield linear("decay gate", "B T Rd, Rd Hs Ns -> B T Hs Ns", "ssm", stored="f_b")
        yield linear("output gate", f"B T Rd, Rd {VALUES} -> B T {VALUES}", "ssm", stored="g_b")
    yield Row("decay", "B T Hs, Hs -> B T Hs", "weight", "norm", "w", 1.0, rides=True)
    yield bias("decay bias", "Hs Ns")
    yield from _conv(plan.config, "2 Hs Ns", VALUES)
    yield from _scan(plan.choices, DELTA_FLOPS)
    yield norm("gated norm", VALUES)
    yield _out()


def _lightning(plan: Plan) -> Iterator[Row]:
    yield from _projections("3 Hs Ws", VALUES, stored=("qkv", "gate"))
    yield from _scan(plan.choices, SCAN_FLOPS)
    yield wide_norm("gated norm", VALUES)
    yield _out()


def _short_conv(plan: Plan) -> Iterator[Row]:
    has_bias = plan.config.flag("conv_bias")
    yield from _projections("3 Hs")
    yield from [bias("in bias", "3 Hs")] if has_bias else []
    yield from _conv(plan.config, "Hs", has_bias=has_bias, act=False)
    yield vector("gating", "B T Hs -> B T Hs", 2.0)
    yield _out("Hs")
    if has_bias:
        yield bias("out bias", "D")


def _rg_lru(plan: Plan) -> Iterator[Row]:
    """Two branches, a convolution, and a gated recurrence with block-diagonal gates (Hs blocks of Ws)."""
    yield from _projections("2 Hs Ws", stored=(_each("linear_x", "linear_y", outputs="Hs Ws"),))
    yield bias("in bias", "2 Hs Ws")
    yield from _conv(plan.config, VALUES, has_bias=True, act=False)
    yield linear("gates", "B T Hs Ws, 2 Hs Ws 1Ws -> B T 2 Hs 1Ws", "ssm")
    yield bias("gates bias", "2 Hs Ws")
    yield bias("decay", VALUES)
    yield Row("scan", "B T Hs Ws -> B T Hs Ws", "none", "elementwise", "", SCAN_FLOPS)
    yield Row("state", "B T, B Hs Ws -> B T", "state", "ssm", "w", 0.0, rides=True)
    yield _out()
    yield bias("out bias", "D")


def _conv_bias(config: Config) -> bool:
    return config.flag("mamba_conv_bias", default=config.flag("use_conv_bias", default=True))


def _mamba2_sizes(config: Config) -> dict[str, float]:
    config.moot("expand", "dt_rank")
    heads = config.size("state_heads")
    width = _head_width(config, heads)
    inner = config.size("mamba_d_ssm", heads * width)
    config.must(f"{heads} state heads of {width} do not make the inner width {inner}", holds=heads * width == inner)
    groups = config.size("state_groups", 1)
    config.must(f"{heads} state heads are not a multiple of {groups} groups", holds=heads % groups == 0)
    return {"Hs": heads, "Ws": width, "Ns": config.size("state_size"), "Gs": groups}


def _head_width(config: Config, heads: int) -> int:
    if _is_auto(config, "state_width"):
        return config.size("expand", 2) * config.size("width") // heads
    return config.size("state_width")


def _is_auto(config: Config, what: str) -> bool:
    """Whether the file leaves a size to be worked out from the others."""
    key = next((key for key in SPELLINGS[what] if config.data.get(key) == "auto"), "")
    config.read.add(key)
    return bool(key)


def _mamba1_sizes(config: Config) -> dict[str, float]:
    width = config.size("width")
    inner = config.size("mamba_inner", config.size("expand", 2) * width)
    usual = -(-width // 16)
    rank = usual if _is_auto(config, "dt_rank") else config.size("dt_rank", usual)
    return {"Hs": inner, "Ws": 1, "Ns": config.size("state_size"), "Rd": rank}


def _delta_sizes(config: Config) -> dict[str, float]:
    heads, groups = config.size("state_heads"), config.size("state_groups", config.size("state_heads"))
    config.must(f"{heads} value heads are not a multiple of {groups} key heads", holds=heads % groups == 0)
    width = config.size("state_width")
    return {"Hs": heads, "Ws": width, "Gs": groups, "Ns": config.size("state_size", width)}


def _delta_attention_sizes(config: Config) -> dict[str, float]:
    width = config.size("state_width")
    return {"Hs": config.size("state_heads"), "Ws": width, "Ns": width, "Rd": width}


def _lightning_sizes(config: Config) -> dict[str, float]:
    heads = config.size("heads")
    width = config.size("head_width", config.size("width") // heads)
    return {"Hs": heads, "Ws": width, "Ns": width}


def _channels(config: Config) -> dict[str, float]:
    return {"Hs": config.size("width")}


def _rg_lru_sizes(config: Config) -> dict[str, float]:
    width, heads = config.size("lru_width", config.size("width")), config.size("heads")
    config.must(f"lru_width {width} is not a multiple of {heads} heads", holds=width % heads == 0)
    return {"Hs": heads, "Ws": width // heads}


_MIXERS: dict[str, Callable[[Plan], Iterator[Row]]] = {
    "mamba-1": _mamba1, "mamba-2": _mamba2, "delta net": _delta_net, "delta attention": _delta_attention,
    "lightning": _lightning, "short conv": _short_conv, "rg-lru": _rg_lru,
}  # fmt: skip
_SIZES: dict[str, Callable[[Config], dict[str, float]]] = {
    "mamba-1": _mamba1_sizes, "mamba-2": _mamba2_sizes, "delta net": _delta_sizes,
    "delta attention": _delta_attention_sizes, "lightning": _lightning_sizes, "short conv": _channels,
    "rg-lru": _rg_lru_sizes,
}  # fmt: skip
