"""Quantisation methods: what each keeps of a matrix, read from its own keys.

A matrix of R outputs and C inputs takes R x C values, a scale (and a zero point) for every block of it, and what its
method puts beside: see rooflens.dtypes.Layout. Nothing is averaged, so that the bytes are those of the files; not
counted are 0.1 kB of JSON that bitsandbytes puts beside each matrix, and smoothing scales of W8A8.
Sources: the file formats of AutoGPTQ, AutoAWQ, bitsandbytes, compressed-tensors, TensorRT Model Optimizer, MLX.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rooflens.dtypes import DTYPES, Dtype, Layout
from rooflens.models.config import LARGEST, Config
from rooflens.operators.rows import Part
from rooflens.records import field, record, replace

WIDE_PARTS: tuple[Part, ...] = ("head", "embed", "router", "norm", "conv")  # stay wide where weights are narrow
LISTED: tuple[Part, ...] = ("embed", "router", "norm", "conv")  # of formats that name the head when they leave it wide
BUT_EXPERTS: tuple[Part, ...] = (*WIDE_PARTS, "linear", "project", "shared", "ssm")
WEIGHT_ONLY = "fp16"  # the math of a weight-only format: the activations' 16 bit, whichever that is
CACHES = (("k", 1), ("v", 1), ("qkv", 2))  # matrices that make what is cached, and how many scales of it stand beside


@record
class Stored:
    """What is stored. parts: those that differ from `weights`; None is the model's own 16-bit format.

    file_bytes: of the tensors in the files that were read, exactly.
    """

    weights: Dtype
    parts: Mapping[Part, Dtype | None] = field(default_factory=lambda: dict.fromkeys(WIDE_PARTS))
    kv: Dtype | None = None
    warnings: tuple[str, ...] = ()
    file_bytes: float | None = None


def laid(name: str, math: str, layout: Layout) -> Dtype:
    """A format whose files have this layout."""
    return Dtype(name, layout.mean_bits, math, layout=layout)


def _per_tensor(scalars: int, module_bits: tuple[tuple[str, float], ...] = ()) -> Dtype:
    """fp8 with so many fp32 scalars beside each matrix."""
    return laid("fp8 per tensor", "fp8", Layout(8, matrix_bits=32 * scalars, module_bits=module_bits))


def _per_channel(name: str, bits: int, math: str, **beside: Any) -> Dtype:
    """A scale of 32 bits for each output."""
    return laid(f"{name} per channel", math, Layout(bits, 32, **beside))


def _group(config: Config, default: int | None) -> int:
    """Values of a row that share a scale; 0, all of them: -1, or null or nothing where there is no default."""
    said = config.data.get("group_size")
    return 0 if said == -1 or (said is None and default is None) else config.size("group_size", default)


def _grouped(name: str, config: Config, *, shared_bits: float, default: int | None = 128, **beside: Any) -> Dtype:
    """Whole numbers, with `shared_bits` for each group of them."""
    bits, group = config.size("bits", 4), _group(config, default)
    how = f"g{group}" if group else "per channel"
    return laid(f"{name} int{bits} {how}", WEIGHT_ONLY, Layout(bits, shared_bits, 1, group, **beside))


def _gptq(config: Config) -> Stored:
    """A 16-bit scale and a zero point a group, the latter also where it is always the same; a group for each input.

    AutoGPTQ, which writes model_file_base_name, also adds a bias of zeros to every matrix.
    """
    zeros = 16 if "model_file_base_name" in config.data else 0
    found = Stored(
        _grouped("gptq", config, shared_bits=16 + config.size("bits", 4), column_bits=32, row_bits=float(zeros))
    )
    return replace(found, parts=dict.fromkeys(LISTED)) if config.flag("lm_head", default=False) else found


def _auto_round(config: Config) -> Stored:
    """As GPTQ, without the group of each input."""
    return Stored(_grouped("auto-round", config, shared_bits=16 + config.size("bits", 4)))


def _awq(config: Config) -> Stored:
    zero_bits = config.size("bits", 4) if config.flag("zero_point", default=True) else 0
    return Stored(_grouped("awq", config, shared_bits=16 + zero_bits))


def _mlx(config: Config) -> Stored:
    """A 16-bit scale and offset a group, or 8-bit scales; embedding and head are quantised too."""
    return Stored(mlx_format(config), dict.fromkeys(("norm", "conv")))


def mlx_format(config: Config) -> Dtype:
    """What MLX keeps of one module."""
    mode = config.text("mode", "affine")
    known = ("affine", "mxfp4", "mxfp8", "nvfp4")
    config.must(f"mode {mode!r} is not modelled; modelled are: {', '.join(known)}", holds=mode in known)
    if mode == "affine":
        return _grouped("mlx", config, shared_bits=32, default=None)
    group = _group(config, 16 if mode == "nvfp4" else 32)
    return laid(f"mlx {mode}", WEIGHT_ONLY, Layout(config.size("bits", 8 if mode == "mxfp8" else 4), 8, 1, group))


def _bitsandbytes(config: Config) -> Stored:
    """4 bit: an fp32 maximum for 64 values, or (double) an 8-bit one and an fp32 for 256 of these; tables of values.

    8 bit: an fp32 for each output, and a byte that names the order of values.
    """
    if config.flag("load_in_8bit", default=False):
        return Stored(_per_channel("bitsandbytes int8", 8, "int8", matrix_bits=8.0))
    layout = Layout(4, 32, 1, 64, flat=True, matrix_bits=16 * 32)
    if config.flag("bnb_4bit_use_double_quant", default=False):
        layout = replace(layout, shared_bits=8, again=256, again_bits=32, matrix_bits=(16 + 256) * 32)
    return Stored(laid(f"bitsandbytes {config.text('bnb_4bit_quant_type', 'fp4')}", WEIGHT_ONLY, layout))


def _fp8(config: Config) -> Stored:
    """An fp32 scale for a block (also where scale_fmt says that it is a power of two), or one for a whole matrix."""
    if config.data.get("weight_block_size") is None:
        return Stored(_per_tensor(2 if config.text("activation_scheme", "dynamic") == "static" else 1))
    rows, columns = _block(config, "weight_block_size")
    return Stored(laid(f"fp8 {rows}x{columns}", "fp8", Layout(8, 32, rows, columns)))


def _fbgemm(_: Config) -> Stored:
    """An fp32 scale for each output, and the bound of the input's."""
    return Stored(_per_channel("fp8", 8, "fp8", matrix_bits=32.0))


def _mxfp4(_: Config) -> Stored:
    """Experts only, and weights only: their activations are 16 bit."""
    return Stored(laid("mxfp4", WEIGHT_ONLY, Layout(4, 8, 1, 32)), dict.fromkeys(BUT_EXPERTS))


def _modelopt(config: Config) -> Stored:
    """fp32 scalars: of the weights, of the input, and of keys and values where the cache is narrow too."""
    algorithm, group, kv = config.text("quant_algo", "").upper(), _group(config, 128), _kv(config)
    cached = tuple((module, 32.0 * many) for module, many in CACHES) if kv else ()
    nvfp4 = Layout(4, 8, 1, 16, matrix_bits=64, module_bits=cached)
    awq = Layout(4, 16, 1, group, column_bits=16)
    formats = {
        "FP8": _per_tensor(2, cached),
        "FP8_PER_CHANNEL_PER_TOKEN": _per_channel("fp8", 8, "fp8", module_bits=cached),
        "MXFP8": laid("mxfp8", "fp8", Layout(8, 8, 1, 32, module_bits=cached)),
        "NVFP4": laid("nvfp4", "fp4", nvfp4),
        "NVFP4_AWQ": laid("nvfp4", "fp4", replace(nvfp4, column_bits=16)),
        "W4A16_AWQ": laid(f"int4 g{group}", WEIGHT_ONLY, awq),
        "W4A8_AWQ": laid(f"int4 g{group}", "fp8", awq),
        "W8A8_SQ_PER_CHANNEL": _per_channel("int8", 8, "int8"),
    }
    good = algorithm in formats
    config.must(f"quant_algo {algorithm!r} is not modelled; modelled are: {', '.join(formats)}", holds=good)
    return Stored(formats.get(algorithm, DTYPES["fp8"]), dict.fromkeys(LISTED), kv)


def _compressed(config: Config) -> Stored:
    """One format for all: several would need to be told apart by module."""
    groups = config.data.get("config_groups")
    found = [_one_group(config, group) for group in groups.values()] if isinstance(groups, Mapping) else []
    config.must("config_groups: expected an object of groups", holds=bool(found))
    config.must("config_groups: several formats in one model are not modelled", holds=len(set(found)) <= 1)
    return Stored(found[0] if found else DTYPES["fp8"], dict.fromkeys(LISTED), _kv(config))


def _one_group(config: Config, group: Any) -> Dtype:
    """The weights of a group; computed in the format of its activations, in 16 bit when these are not quantised."""
    facts, activations = _inner(config, group, "weights"), _inner(config, group, "input_activations")
    if facts is None:
        config.must("config_groups: a group without weights is not modelled", holds=False)
        return DTYPES["fp8"]
    said = group.get("format") or config.data.get("format")
    packed = said == "pack-quantized"
    config.must(f"format {said!r:.40} is not modelled", holds=said != "marlin-24")
    math = _format(activations) if activations else WEIGHT_ONLY
    cached = tuple((module, 16.0 * many) for module, many in CACHES) if config.data.get("kv_cache_scheme") else ()
    layout = replace(_scales(facts, activations, packed=packed), module_bits=cached)
    how = f"g{layout.columns}" if facts.data.get("group_size") else f"per {facts.text('strategy', 'tensor')}"
    found = laid(f"{_format(facts)} {how}", math, layout)
    config.faults += facts.faults + (activations.faults if activations else [])
    return found


def _scales(facts: Config, inputs: Config | None, *, packed: bool) -> Layout:
    """What shares a scale and a zero point, and the bits of these; inputs keep a scale where it does not move.

    Packed whole numbers keep the shape of the matrix, two int64, and the group of each input where these are sorted.
    """
    strategy, bits = facts.text("strategy", "tensor"), facts.size("num_bits", 8)
    known = ("tensor", "channel", "group", "tensor_group", "block")
    facts.must(f"strategy {strategy!r} is not modelled; modelled are: {', '.join(known)}", holds=strategy in known)
    shared = 8.0 if strategy == "tensor_group" or "uint8" in facts.text("scale_dtype", "") else 16
    if not facts.flag("symmetric", default=True):
        shared += bits if packed else 8
    sorted_inputs = packed and facts.text("actorder", "") in ("group", "dynamic")
    still = inputs is not None and inputs.data.get("dynamic") is False
    matrix = 128.0 * packed + 16 * still
    if strategy == "tensor_group":  # one more scale for the whole matrix, and one for its input, both fp32
        matrix = 32.0 if inputs is None else 64.0
    rows, columns = (0, 0) if strategy == "tensor" else (1, 0)
    if strategy == "block":
        rows, columns = _block(facts, "block_structure")
    elif strategy != "tensor":
        columns = _group(facts, None)
    return Layout(bits, shared, rows, columns, matrix_bits=matrix, column_bits=32.0 * sorted_inputs)


def _format(facts: Config) -> str:
    bits, kind = facts.size("num_bits", 8), facts.text("type", "int")
    facts.must(f"type {kind!r} is not modelled; modelled are: int, float", holds=kind in ("int", "float"))
    return f"{'fp' if kind == 'float' else 'int'}{bits}"


def _kv(config: Config) -> Dtype | None:
    """The cache's format where the file says one; None: the activations'."""
    algorithm, scheme = config.data.get("kv_cache_quant_algo"), _inner(config, config.data, "kv_cache_scheme")
    name = str(algorithm).lower() if algorithm else _format(scheme) if scheme else "none"
    config.must(f"a KV cache in {name!r} is not modelled", holds=name in ("none", *DTYPES))
    return DTYPES.get(name)


def _inner(config: Config, data: Any, key: str) -> Config | None:
    found = data.get(key) if isinstance(data, Mapping) else None
    return Config(found, f"{config.where}: {key}") if isinstance(found, Mapping) else None


def _block(config: Config, key: str) -> tuple[int, int]:
    said = config.data.get(key)
    if isinstance(said, list) and len(said) == 2 and all(type(n) is int and 0 < n <= LARGEST for n in said):
        return said[0], said[1]
    config.must(f"{key}: expected two sizes above 0, found {said!r:.40}", holds=False)
    return 1, 1


METHODS: dict[str, Callable[[Config], Stored]] = {
    "gptq": _gptq,
    "awq": _awq,
    "auto-round": _auto_round,
    "bitsandbytes": _bitsandbytes,
    "compressed-tensors": _compressed,
    "fbgemm_fp8": _fbgemm,
    "fp8": _fp8,
    "mlx": _mlx,
    "modelopt": _modelopt,
    "modelopt_fp4": _modelopt,
    "mxfp4": _mxfp4,
}
