"""Which matrices of a model a list of module names means: what a quantised file says that it keeps in another way.

A pattern is a name (`lm_head`, `model.layers.0.self_attn`: that module and all inside it, wherever it stands), one with
wildcards (`*self_attn*`), or a simple regular expression (`re:.*mlp.(gate|up)_proj$`), which is turned into wildcards
and never run: a file's expression could take forever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import translate
from itertools import product

from rooflens.errors import RooflensError
from rooflens.operators.rows import Part
from rooflens.records import record

MOST_NAMES, MOST_WILDCARDS, MOST_STARS, MOST_NOTES = 100_000, 200, 8, 5
MOST_LOOKED_AT = 128  # layers of a block
LONGEST = 300
# What files call the matrices of a part (Row.stored), and where these stand inside a layer.
LEAVES: dict[str, tuple[str, ...]] = {
    "q": ("q_proj",), "k": ("k_proj",), "v": ("v_proj",), "o": ("o_proj", "out_proj", "c_proj", "dense", "wo"),
    "qkv": ("qkv_proj", "query_key_value", "c_attn", "W_pack", "wqkv", "Wqkv"), "q_a": ("q_a_proj",),
    "q_b": ("q_b_proj",), "kv_a": ("kv_a_proj_with_mqa",), "kv_b": ("kv_b_proj",), "wq_b": ("indexer.wq_b",),
    "wk": ("indexer.wk",), "gate": ("gate_proj", "w1"), "up": ("up_proj", "w3", "c_fc", "fc1", "dense_h_to_4h"),
    "gate_up": ("gate_up_proj", "dense_h_to_4h"), "down": ("down_proj", "w2", "c_proj", "fc2", "dense_4h_to_h"),
    "in": ("in_proj",), "out": ("out_proj",), "x": ("x_proj",), "dt": ("dt_proj",), "qkvz": ("in_proj_qkvz",),
    "ba": ("in_proj_ba",), "a": ("in_proj_a",), "b": ("in_proj_b",), "z": ("in_proj_z",),
}  # fmt: skip
PARENTS: dict[Part, tuple[str, ...]] = {
    "project": ("self_attn.", "attn.", "attention.", "self_attention."),
    "linear": ("mlp.", "feed_forward.", ""),
    "expert": ("mlp.experts.0.", "mlp.experts.", "block_sparse_moe.experts.0.", "feed_forward.experts."),
    "shared": ("mlp.shared_experts.", "mlp.shared_expert.", "feed_forward.shared_expert.", "shared_mlp."),
    "ssm": ("linear_attn.", "mixer.", "mamba.", "conv."),
    "router": ("mlp.gate", "mlp.router", "block_sparse_moe.gate", "feed_forward.router"),
}
_DELTA = {"qkv": ("in_proj_qkv",)}  # of a recurrent layer, what attention calls otherwise
_LAYERS = re.compile(
    r"^((model\.)?(language_model|decoder|encoder)\.(model\.)?|transformer\.|gpt_neox\.|backbone\.)(layers|h|blocks)\."
)
_NESTED = re.compile(r"^(model\.language_model|language_model\.model|language_model|transformer|backbone)\.")
_NUMERALS = re.compile(r"experts[.?]0|w\d|fc\d|4h")
_NUMBERED = re.compile(r"\d|(layers|h|blocks)[.?]\?")
_PIECE = re.compile(r"\((?:\?:)?([\w.|\\-]+)\)|(\.\*\??|\.\+|\[\^\.\]\+|\\d\+|\[0-9\]\+)|\\([.\w-])|([\w-]+)|([.^$])")


@record
class Meant:
    """What a list means: plain names; wildcards that hold in every layer or in none; those that name layers."""

    names: frozenset[str]
    anywhere: re.Pattern[str]
    somewhere: re.Pattern[str]

    def layers(self, part: Part, module: str, layers: Sequence[int]) -> frozenset[int]:
        """Those of these layers in which this matrix is meant."""
        called = _called(part, module)
        if not called or not (self.names or self.anywhere.pattern or self.somewhere.pattern):
            return frozenset()
        if self.anywhere.pattern and any(self.anywhere.match(f"model.layers.0.{name}") for name in called):
            return frozenset(layers)
        return frozenset(i for i in layers if any(self.name(f"model.layers.{i}.{name}") for name in called))

    def name(self, name: str) -> bool:
        """Whether a module of this whole name is meant."""
        parts = name.split(".")
        runs = (".".join(parts[i:j]) for i in range(len(parts)) for j in range(i + 1, len(parts) + 1))
        wild = (self.anywhere, self.somewhere)
        return any(run in self.names for run in runs) or any(p.match(name) for p in wild if p.pattern)


def meant(patterns: Iterable[str], where: str) -> tuple[Meant, tuple[str, ...]]:
    """What these patterns mean, and warnings on those that are not read.

    Raises RooflensError for more than MOST_NAMES names or MOST_WILDCARDS patterns with wildcards.
    """
    names, globs, unread, patterns = set[str](), dict[str, None](), list[str](), tuple(patterns)
    if len(patterns) > MOST_NAMES:
        raise RooflensError(f"{where}: lists {len(patterns)} modules; up to {MOST_NAMES} are read")
    for pattern in patterns:
        read = _read(pattern)
        if not read:
            unread.append(pattern)
        for one in read:
            if set(one) & set("*?"):
                globs |= dict.fromkeys((one, f"{one}.*"))
            else:
                names.add(one)
    if len(globs) > 2 * MOST_WILDCARDS:
        raise RooflensError(
            f"{where}: lists {len(globs) // 2} patterns with wildcards; up to {MOST_WILDCARDS} are read"
        )
    named = [glob for glob in globs if _NUMBERED.search(_NUMERALS.sub("", glob))]
    free = _any(glob for glob in globs if glob not in named)
    return Meant(frozenset(names), free, _any(named)), tuple(_unread(unread))


def _unread(patterns: Sequence[str]) -> Iterator[str]:
    for pattern in patterns[:MOST_NOTES]:
        yield f"the list of modules left wide has {pattern:.80}, which is not read"
    if len(patterns) > MOST_NOTES:
        yield f"the list of modules left wide has {len(patterns) - MOST_NOTES} more patterns that are not read"


def _read(pattern: str) -> list[str]:
    """A pattern as names and wildcards; none for one that is too long or not simple."""
    if len(pattern) > LONGEST:
        return []
    read = _globs(pattern.removeprefix("re:")) if pattern.startswith("re:") else [_usual(pattern)]
    return [] if any(one.count("*") > MOST_STARS for one in read) else read


def _called(part: Part, module: str) -> tuple[str, ...]:
    """The names that a matrix may have inside a layer; one that files call in no usual way stands for its part."""
    parents = PARENTS.get(part, ())
    if part == "router":
        return parents
    leaves = (_DELTA if part == "ssm" else {}).get(module) or LEAVES.get(module, ("_",))
    return tuple(f"{parent}{leaf}" for parent in parents for leaf in leaves)


def _usual(pattern: str) -> str:
    """The name with its layers where most models have them."""
    return _NESTED.sub("model.", _LAYERS.sub("model.layers.", pattern))


def _any(globs: Iterable[str]) -> re.Pattern[str]:
    return re.compile("|".join(map(translate, globs)))


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
