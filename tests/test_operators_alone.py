"""One operator written as text: what it costs on sizes that one can reckon with, and which sizes it may have."""

from __future__ import annotations

import pytest

from rooflens.dtypes import dtype
from rooflens.errors import RooflensError, Unknown
from rooflens.operators.alone import FORMS, alone, every, is_alone, usage
from rooflens.operators.cost import Cost, Precision

FP16 = Precision(dtype("fp8"), dtype("int4"), dtype("fp16"))  # weights of a byte, a cache of half, activations of two
SCORES = 2 * 4 * 5  # sequences, heads, head width


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("gemm:M=3,K=10,N=100", Cost({"fp16": 6000}, weight_bytes=1000, activation_bytes=2 * (30 + 300), launches=1)),
        ("elementwise:n=50", Cost(vector_flops=50, activation_bytes=200, launches=1)),
        ("elementwise:n=50,flops=3", Cost(vector_flops=150, activation_bytes=200, launches=1)),
        ("softmax:n=50", Cost(vector_flops=5 * 50, activation_bytes=200, launches=1)),
        ("norm:n=50", Cost(vector_flops=8 * 50, activation_bytes=200, launches=1)),
        ("norm:n=50,flops=7", Cost(vector_flops=7 * 50, activation_bytes=200, launches=1)),
        ("rmsnorm:n=50", Cost(vector_flops=4 * 50, activation_bytes=200, launches=1)),
        ("layernorm:n=50", Cost(vector_flops=8 * 50, activation_bytes=200, launches=1)),
        ("op:flops=1e12,bytes=2e9", Cost({"fp16": 1e12}, activation_bytes=2e9, launches=1)),
        ("op:flops=0,bytes=2e9", Cost(activation_bytes=2e9, launches=1)),
        ("params=8e9,weight_bytes=5e9", Cost({"fp16": 16e9}, weight_bytes=5e9, launches=1)),
        ("params:params=8e9,weight_bytes=5e9,table_bytes=1e9", Cost({"fp16": 16e9}, weight_bytes=4e9, launches=1)),
        ("send:bytes=100", Cost(link_bytes=100, link_steps=1, launches=1)),
        ("all-reduce:bytes=100,devices=4", Cost(link_bytes=150, link_steps=6, launches=1)),  # by the ring
        ("all-gather:bytes=100,devices=4", Cost(link_bytes=75, link_steps=3, launches=1)),
        ("reduce-scatter:bytes=100,devices=2", Cost(link_bytes=50, link_steps=1, launches=1)),
        ("all-to-all:bytes=100,devices=4", Cost(link_bytes=75, link_steps=1, launches=1)),  # all at once
        (  # one new token over ten positions: 2 x 10 scores a head and as much for the values; K and V of two heads
            "attention:B=2,H=4,K=2,W=5,S=10",
            Cost({"fp16": 2 * 2 * SCORES * 10}, 5 * 2 * 4 * 10, kv_bytes=2 * 2 * 10 * 2 * 5 / 2,
                 activation_bytes=2 * 2 * SCORES, launches=1),
        ),
        (  # five of ten positions are new: 6 + 7 + 8 + 9 + 10 scores a head
            "attention:B=2,T=5,H=4,K=2,W=5,S=10",
            Cost({"fp16": 2 * 2 * SCORES * 40}, 5 * 2 * 4 * 40, kv_bytes=2 * 2 * 10 * 2 * 5 / 2,
                 activation_bytes=2 * 2 * 5 * SCORES, launches=1),
        ),
        (  # without a mask each of ten sees all ten
            "attention:T=10,H=4,K=4,W=5,S=10,causal=0",
            Cost({"fp16": 2 * 2 * 4 * 5 * 100}, 5 * 4 * 100, kv_bytes=2 * 10 * 4 * 5 / 2,
                 activation_bytes=2 * 2 * 10 * 4 * 5, launches=1),
        ),
    ],
)  # fmt: skip
def test_an_operator_alone_costs_what_its_sizes_say(text, wanted):
    assert alone(text).cost(FP16) == wanted


def test_the_looked_up_part_of_a_file_is_kept_beside_what_is_streamed():
    found = alone("params=8e9,weight_bytes=5e9,table_bytes=1e9")
    assert (found.weight_bytes, found.table_bytes, found.devices) == (4e9, 1e9, 1)
    assert alone("params=8e9,weight_bytes=5e9").table_bytes == 0
    assert alone("send:bytes=100").devices == 2
    one = alone("gemm:M=3,K=10,N=100")  # what nobody counted
    assert (one.flops, one.weight_bytes, one.activation_bytes, one.table_bytes, one.message_bytes) == (0,) * 5


@pytest.mark.parametrize(
    "text",
    ["op:flops=1e30,bytes=0", "op:flops=0,bytes=1", "params=1e30,weight_bytes=1e30", "all-reduce:bytes=1,devices=2",
     "attention:H=1,K=1,W=1,S=1,T=1", "elementwise:n=1,flops=1"],
)  # fmt: skip
def test_sizes_at_their_bounds_are_taken(text):
    assert alone(text).cost(FP16).launches == 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("op:flops=1.1e30,bytes=0", r"flops=1.1e30 is not an amount up to 1e\+30"),
        ("op:flops=0,bytes=0", "neither flops nor bytes, so it does nothing; give one of them"),
        ("op:flops=-1,bytes=0", "flops=-1 is not an amount"),
        ("op:flops=nan,bytes=0", "flops=nan is not an amount"),
        ("params=0,weight_bytes=1", "params=0 is not an amount"),
        ("params=1,weight_bytes=0", "weight_bytes=0 is not an amount"),
        ("params=8e9,weight_bytes=1e9,table_bytes=1e9", "must be smaller"),
        ("gemm:M=0,K=1,N=1", "M must be at least 1, not 0"),
        ("gemm:M=1.5,K=1,N=1", "M must be a whole number, not 1.5"),
        ("gemm:M=x,K=1,N=1", "M='x' is not a number"),
        ("gemm:M=1,K=1,N=1,M=2", "M is given twice"),
        ("gemm:M=1", "K, N missing; write gemm:M=...,K=...,N=..."),
        ("gemm", "gemm needs its sizes: write gemm:M=...,K=...,N=..."),
        ("attention:H=5,K=2,W=1,S=1", "5 query heads are not a multiple of 2 key-value heads"),
        ("attention:H=1,K=1,W=1,S=1,T=2", "S counts the new tokens too"),
        ("attention:H=1,K=1,W=1,S=1,causal=2", "causal is 1 .half of the scores. or 0 .all of them., not 2"),
        ("attention:H=1,K=1,W=1,S=1,causal=-1", "causal must be at least 0, not -1"),
        ("all-reduce:bytes=100,devices=1", "all-reduce needs two devices or more and a message above 0 bytes"),
        ("all-reduce:bytes=0,devices=2", "all-reduce needs two devices or more and a message above 0 bytes"),
    ],
)
def test_sizes_beyond_their_bounds_are_a_sentence(text, said):
    with pytest.raises(RooflensError, match=said):
        alone(text)


def test_a_name_or_a_key_that_nobody_knows_is_said():
    with pytest.raises(Unknown, match="did you mean 'gemm'"):
        alone("gemn:M=1,K=1,N=1")
    with pytest.raises(Unknown, match="did you mean 'flops'"):
        alone("op:flop=1,bytes=1")


def test_every_operator_says_how_it_is_written_and_what_is_taken_where_nothing_is_said():
    assert usage("attention") == "attention:H=...,W=...,S=...,K=...,[B=1],[T=1],[causal=1]"
    assert usage("norm") == "norm:n=...,[flops=8]"
    assert usage("send") == "send:bytes=...,[devices=2]"
    assert usage("params") == "params=...,weight_bytes=...,[table_bytes=0]"
    assert every().split("; ") == [usage(name) for name in FORMS]


@pytest.mark.parametrize("text", ["gemm", "softmax:", "gemm:M=1", "gemn:M=1", "params=8e9", "weight_bytes=5e9", "op:x"])
def test_what_is_written_with_sizes_is_an_operator_known_or_not(text):
    assert is_alone(text)


@pytest.mark.parametrize("text", ["llama-3.1-8b", "llama-3.1-8b:q4_k_m", "gemn", "x=1", "dir/file=1.json", "a:b"])
def test_what_has_none_is_a_model(text):
    assert not is_alone(text)
