"""Which parts of a model a list of module names means: what a quantised file says that it left wide.

A pattern is a name (`lm_head`, `model.layers.0.self_attn`: that module and all inside it, wherever it stands), one with
wildcards (`*self_attn*`), or a simple regular expression (`re:.*mlp.(gate|up)_proj$`), which is turned into wildcards
and never run: a file's expression could take forever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from fnmatch import translate
from itertools import product

from rooflens.errors import RooflensError
from rooflens.operators.rows import Part

MOST_WILDCARDS = 200
MOST_LAYERS = 128
LONGEST = 300
_MLP = ("gate_proj", "up_proj", "down_proj")
# For each part the modules it is made of, under the usual names and under other ones.
MODULES: dict[Part, tuple[tuple[str, ...], ...]] = {
    "project": (
        tuple(f"self_attn.{m}_proj" for m in "qkvo"),
        tuple(f"self_attn.{m}" for m in ("q_a_proj", "q_b_proj", "kv_a_proj_with_mqa", "kv_b_proj", "o_proj")),
        ("attn.c_attn", "attn.c_proj"),
        ("self_attention.query_key_value", "self_attention.dense"),
    ),
    "linear": (tuple(f"mlp.{m}" for m in _MLP), tuple(f"feed_forward.{m}" for m in _MLP), ("mlp.c_fc", "mlp.c_proj")),
    "expert": (
        tuple(f"mlp.experts.0.{m}" for m in _MLP),
        ("mlp.experts.gate_up_proj", "mlp.experts.down_proj"),
        tuple(f"block_sparse_moe.experts.0.{m}" for m in ("w1", "w2", "w3")),
        tuple(f"feed_forward.experts.{m}" for m in _MLP),
    ),
    "shared": tuple(tuple(f"{s}.{m}" for m in _MLP) for s in ("mlp.shared_experts", "mlp.shared_expert")),
    "ssm": (
        ("linear_attn.in_proj_qkvz", "linear_attn.out_proj"),
        ("mixer.in_proj", "mixer.out_proj"),
        ("mamba.in_proj", "mamba.out_proj"),
    ),
    "router": (("mlp.gate",), ("mlp.router",), ("block_sparse_moe.gate",)),
}
_NESTED = re.compile(r"^(model\.language_model|language_model\.model|language_model)\.")
_PIECE = re.compile(r"\((?:\?:)?([\w.|\\-]+)\)|(\.\*\??|\.\+|\[\^\.\]\+|\\d\+|\[0-9\]\+)|\\([.\w-])|([\w-]+)|([.^$])")


def shares(patterns: Iterable[str], layers: int, where: str) -> tuple[dict[Part, float], tuple[str, ...]]:
    """The share of each part's modules, over all layers, that the patterns mean; and warnings on patterns not read.

    Raises RooflensError for more than MOST_WILDCARDS patterns with wildcards.
    """
    names, globs, unread = _sorted(patterns, where)
    if not names and not globs.pattern:
        return {}, unread
    prefixes = [f"model.layers.{i}." for i in range(min(layers, MOST_LAYERS))]

    def share(modules: Sequence[str]) -> float:
        return sum(_meant(p + m, names, globs) for p in prefixes for m in modules) / (len(prefixes) * len(modules))

    found: dict[Part, float] = {part: max(map(share, spellings)) for part, spellings in MODULES.items()}
    found["head"] = float(_meant("lm_head", names, globs))
    return {part: of for part, of in found.items() if of}, unread


def _meant(name: str, names: frozenset[str], globs: re.Pattern[str]) -> bool:
    parts = name.split(".")
    runs = (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
    return any(run in names for run in runs) or bool(globs.pattern and globs.match(name))


def _sorted(patterns: Iterable[str], where: str) -> tuple[frozenset[str], re.Pattern[str], tuple[str, ...]]:
    """Plain names, wildcards, and warnings on the patterns that are neither."""
    names, globs, unread = set[str](), dict[str, None](), []
    for pattern in patterns:
        read = _globs(pattern.removeprefix("re:")) if pattern.startswith("re:") else [_NESTED.sub("model.", pattern)]
        if not read or len(pattern) > LONGEST:
            unread.append(f"the list of modules left wide has {pattern:.80}, which is not read")
            continue
        for one in read:
            if set(one) & set("*?"):
                globs |= dict.fromkeys((one, f"{one}.*"))
            else:
                names.add(one)
    if len(globs) > 2 * MOST_WILDCARDS:
        raise RooflensError(
            f"{where}: lists {len(globs) // 2} patterns with wildcards; up to {MOST_WILDCARDS} are read"
        )
    return frozenset(names), re.compile("|".join(map(translate, globs))), tuple(unread)


def _globs(expression: str) -> list[str]:
    """Wildcards that mean what a simple regular expression does, matched from the start; none for any other one."""
    choices: list[list[str]] = []
    at = 0
    while at < len(expression):
        piece = _PIECE.match(expression, at)
        if piece is None or at > LONGEST:
            return []
        group, many, literal, word, mark = piece.groups()
        one = "*" if many else literal or word or {".": "?", "^": "", "$": ""}.get(mark or "", "")
        choices.append(group.replace("\\", "").split("|") if group else [one])
        at = piece.end()
    if len(choices) > 64 or _count(choices) > 64:
        return []
    ends = "" if expression.endswith("$") else "*"
    return ["".join(parts) + ends for parts in product(*choices)]


def _count(choices: Sequence[Sequence[str]]) -> int:
    total = 1
    for options in choices:
        total *= len(options)
    return total
