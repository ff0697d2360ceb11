"""What operators need, on round letters: two sequences of three tokens, a width of ten, a byte of its own each format.

Weights take half a byte a value, the cache one, activations two, a head four and recurrent states eight.
"""

from __future__ import annotations

import pytest

from rooflens import models, workload
from rooflens.dtypes import Dtype, Layout, dtype
from rooflens.errors import RooflensError, Unknown
from rooflens.models import Choices
from rooflens.operators import letters as registry
from rooflens.operators.collectives import ALONE, Collective, Group, Way, bus_share, dispatch, ways
from rooflens.operators.cost import Cost, Precision, cost_of, kernels, stored_bytes, total
from rooflens.operators.experts import experts_touched, popularity, ranks_touched
from rooflens.operators.letters import LETTERS, shard
from rooflens.operators.rows import Row
from rooflens.operators.standard import attention, bias, linear, link, norm, vector, wide_norm
from rooflens.operators.unknowns import Polynomial, terms
from rooflens.records import replace

SIZES = {"B": 2.0, "T": 3.0, "S": 50.0, "P": 40.0, "D": 10.0, "F": 100.0, "V": 1000.0, "H": 20.0, "K": 4.0, "G": 5.0,
         "W": 8.0, "A": 2.0, "X": 6.0, "Fe": 20.0}  # fmt: skip
STORED = Precision(dtype("int4"), dtype("fp8"), dtype("bf16"), {"head": dtype("fp32")}, {}, dtype("fp64"))
FORMATS = replace(STORED, math={"": "fp8", "head": "tf32"})


@pytest.mark.parametrize(
    ("row", "wanted"),
    [
        (  # a product: two a point, its weights of half a byte, input and output of two
            Row("up", "B T D, D F -> B T F"),
            Cost({"fp8": 2 * 2 * 3 * 10 * 100}, weight_bytes=1000 / 2, activation_bytes=2 * (60 + 600), launches=1),
        ),
        (  # six experts are touched and two compute for a token; gate and up are one
            Row("experts", "B T D, [X] D 2 Fe -> B T A 2 Fe", part="expert"),
            Cost(
                {"fp8": 2 * 2 * 3 * 10 * 2 * 2 * 20}, weight_bytes=6 * 10 * 2 * 20 / 2,
                activation_bytes=2 * (60 + 2 * 3 * 2 * 2 * 20), launches=1,
            ),
        ),
        (
            Row("head", "B T D, D V -> B T V", "tied", "head", "xw"),
            Cost({"tf32": 2 * 6 * 10 * 1000}, weight_bytes=4 * 10_000, activation_bytes=2 * 60, launches=1),
        ),
        (  # fifty positions are read, forty attended to
            Row("scores", "B T K G W, B [S] K W -> B T K G P", "kv", "attend", "xw"),
            Cost(
                {"fp8": 2 * 2 * 3 * 4 * 5 * 8 * 40}, kv_bytes=2 * 50 * 4 * 8, activation_bytes=2 * 2 * 3 * 4 * 5 * 8,
                launches=1,
            ),
        ),
        (  # what the row before has read already
            Row("values", "B T K G P, B [S] K W -> B T K G W", "kv", "attend", "y", rides=True),
            Cost({"fp8": 2 * 2 * 3 * 4 * 5 * 8 * 40}, activation_bytes=2 * 2 * 3 * 4 * 5 * 8),
        ),
        (Row("state", "B T, B H W -> B T", "state", "ssm", "w", 0.0, rides=True), Cost(kv_bytes=2 * 8 * 2 * 20 * 8)),
        (Row("taps", "B T, B H W -> B T", "state", "conv", "w", 0.0, rides=True), Cost(kv_bytes=2 * 2 * 2 * 20 * 8)),
        (  # a look-up moves the rows that it looks up, as they are stored, and counts no arithmetic
            Row("embedding", "B T, V D -> B T D", "table", "embed", "wy", 0.0),
            Cost(activation_bytes=60 * (0.5 + 2), launches=1),
        ),
        (Row("written", "B T, V D -> B T D", "table", "embed", "y", 0.0), Cost(activation_bytes=60 * 2, launches=1)),
        (
            Row("add", "B T D, B T D -> B T D", "act", "elementwise", "xwy", 1.0),
            Cost(vector_flops=60, activation_bytes=3 * 2 * 60, launches=1),
        ),
        (Row("gelu", "N -> N", "none", "norm", "xy", 4.0), Cost(vector_flops=28, activation_bytes=28, launches=1)),
        (bias("bias", "F"), Cost(vector_flops=600, weight_bytes=50)),
        (norm("norm"), Cost(vector_flops=4 * 60, weight_bytes=5)),
        (norm("norm", layer_norm=True), Cost(vector_flops=8 * 60, weight_bytes=5)),
        (norm("of each head", "H W"), Cost(vector_flops=4 * 6 * 160, weight_bytes=4)),  # one weight for all heads
        (wide_norm("of all heads", "H W"), Cost(vector_flops=4 * 6 * 160, weight_bytes=80)),
        (vector("gating", "B T F -> B T F", 5.0), Cost(vector_flops=3000)),
        (link("down all-reduce", "all-reduce"), Cost(launches=1)),
    ],
)  # fmt: skip
def test_a_row_needs_its_arithmetic_and_its_bytes_where_they_live(row, wanted):
    assert cost_of(row, {**SIZES, "N": 7.0}, FORMATS) == wanted


def test_a_message_is_sent_as_its_algorithm_says_and_nothing_goes_where_it_does_not():
    row, message = link("down all-reduce", "all-reduce"), 2 * 60
    both = cost_of(row, SIZES, FORMATS, Way("both", 1.5, 14.0, 0.5, 2.0))
    assert both == Cost(link_bytes=1.5 * message, link_steps=14, network_bytes=message / 2, network_steps=2, launches=1)
    assert cost_of(row, SIZES, FORMATS, Way("near", 1.5, 14.0)) == Cost(link_bytes=180, link_steps=14, launches=1)
    far = cost_of(row, SIZES, FORMATS, Way("far", network_bytes=0.5, network_steps=2.0))
    assert far == Cost(network_bytes=60, network_steps=2, launches=1)


def test_a_second_operand_that_is_not_there_has_no_elements_and_a_part_that_is_not_named_the_weights_format():
    assert Row("softmax", "B T P -> B T P", "none", touches="xy").sizes(SIZES) == (240, 0, 240)
    assert (STORED.stored("linear").name, STORED.stored("head").name) == ("int4", "fp32")


@pytest.mark.parametrize("spec", ["B+ T -> B T", "b T -> T", "B T", "B -T -> B"])
def test_a_spec_is_letters_and_numbers(spec):
    with pytest.raises(RooflensError, match=r"is not a letter or a number of a row|write 'input, operand -> output'"):
        Row("odd", spec, "none")


def test_what_contracts_nothing_is_kept_with_its_last_letter_along_a_row():
    """A norm over all heads: a matrix of twenty rows of eight."""
    (whole,), (short,) = wide_norm("of all heads", "H W").matrices, norm("norm").matrices
    assert (whole.sizes(SIZES), short.sizes(SIZES)) == ((20, 8), (1, 10))


def test_a_part_is_computed_in_its_own_arithmetic_else_in_that_of_all_else_in_that_of_activations():
    assert [STORED.math_of(part) for part in ("linear", "head")] == ["bf16", "bf16"]
    assert [FORMATS.math_of(part) for part in ("linear", "head")] == ["fp8", "tf32"]
    assert replace(STORED, math={"head": "fp8"}).math_of("linear") == "bf16"


def test_a_kernel_is_a_row_and_those_that_ride_with_it_also_where_none_is_before():
    first, second, rider = linear("a", "B D, D F -> B F"), linear("b", "B F, F D -> B D"), norm("n")
    assert kernels([first, rider, rider, second]) == [(first, rider, rider), (second,)]
    assert kernels([rider, rider, first]) == [(rider, rider), (first,)]
    assert kernels([]) == []


QUARTER = Dtype("quarter", 4.5, "fp16", layout=Layout(4, shared_bits=16, columns=32, module_bits=(("k", 800.0),)))


def matrix_bytes(rows, columns, blocks=1):
    """Four bits a value and sixteen for every 32 of a row."""
    return (4 * rows * columns + 16 * rows * blocks) / 8


@pytest.mark.parametrize(
    ("row", "bytes"),
    [
        (linear("up", "B T D, D F -> B T F", stored="up"), matrix_bytes(100, 10)),
        (linear("down", "B T F, F D -> B T D", stored="down"), matrix_bytes(10, 100, blocks=4)),
        (  # three matrices, one of which has 800 bits beside it
            linear("qkv", "B T D, D H+2K W -> B T H+2K W", stored="q: H W, D; k: K W, D; v: K W, D"),
            matrix_bytes(160, 10) + 2 * matrix_bytes(32, 10) + 100,
        ),
        (linear("keys", "B T D, D K W -> B T K W", stored="kv: K W + K W, D"), matrix_bytes(64, 10) / 2),
    ],
)  # fmt: skip
def test_a_quantised_matrix_takes_what_its_file_keeps_of_it_and_a_part_of_it_its_share(row, bytes):
    precision = replace(FORMATS, weights=QUARTER)
    assert stored_bytes(row, SIZES, precision) == pytest.approx({"quarter": bytes})
    assert cost_of(row, SIZES, precision).weight_bytes == pytest.approx(bytes)


def test_a_matrix_that_stays_apart_in_some_layers_has_so_much_of_its_bytes_in_their_format():
    precision, row = replace(FORMATS, weights=QUARTER), linear("up", "B T D, D F -> B T F", stored="up")
    mixed = replace(row, apart=(((None, 0.25), (dtype("fp8"), 0.5)),))
    wanted = {"bf16": 0.25 * 2000, "fp8": 0.5 * 1000, "quarter": 0.25 * matrix_bytes(100, 10)}
    assert stored_bytes(mixed, SIZES, precision) == pytest.approx(wanted)
    assert stored_bytes(replace(row, apart=(((None, 1.0),),)), SIZES, precision) == {"bf16": 2000}
    assert stored_bytes(row, SIZES, FORMATS) == {"int4": 500}


@pytest.mark.parametrize(("form", "launches", "moved"), [("flash", 1, 0), ("fused-softmax", 2, 2), ("unfused", 3, 4)])
def test_scores_of_attention_move_as_often_as_its_form_says(form, launches, moved):
    """2 x 3 x 20 heads x 40 scores; queries in and values out are 2 x 3 x 160 each, in two bytes all."""
    found = total(cost_of(row, SIZES, FORMATS) for row in attention(form))
    assert found.launches == launches == len(kernels(attention(form)))
    assert found.activation_bytes == 2 * (2 * 960 + moved * 4800)
    assert found.vector_flops == 5 * 4800
    assert found.flops == {"fp8": 2 * 2 * 4800 * 8}
    assert found.kv_bytes == 2 * (2 * 50 * 4 * 8)


@pytest.mark.parametrize("name", models.known())
def test_vector_work_starts_no_kernel_of_its_own_but_scans_and_look_ups(name):
    for choices in (Choices(), Choices(scan="chunks", mla="expanded", fused=False)):
        firsts = (group[0] for block in models.named(name, choices).blocks for group in kernels(block.rows))
        assert {row.name for row in firsts if not row.contracts} <= {"scan", "embedding"}


def vector_flops(name):
    """Of one token after 99 others."""
    found = workload.operators(models.named(name), workload.decode(1, 100), workload.precision(dtype("bf16")))
    return total(operator.cost * operator.count for operator in found).vector_flops


def test_vector_work_of_a_layer_is_its_norms_rotations_softmax_gates_biases_and_residuals():
    """RMS norm 4 a value, layer norm 8, rotation 3, softmax 5, gated activation 5, plain one 4, bias and residual 1."""
    llama = 2 * 4 * 4096 + 3 * 64 * 128 + 5 * 32 * 100 + 5 * 11008 + 2 * 4096
    assert vector_flops("llama-2-7b") == 32 * llama + 4 * 4096
    biases = 3 * 768 + 768 + 3072 + 768
    gpt = 2 * (8 + 1) * 768 + biases + 5 * 12 * 100 + 4 * 3072 + 2 * 768
    assert vector_flops("gpt2") == 12 * gpt + (8 + 1) * 768 + 768  # with the positions that are added


def test_devices_share_letters_as_these_are_registered():
    """Two devices a layer, four replicas of them, experts over four devices: of 24 each one has so many."""
    found = shard(dict.fromkeys(LETTERS, 24.0), tp=2, ep=4, dp=4)
    halved = {"F", "H", "K", "V", "Fs", "Hs", "Gs"}
    wanted = {name: 12.0 if name in halved else 24.0 for name in LETTERS}
    assert found == {**wanted, "X": 24 / 4, "Fe": 24 / (2 * 4 / 4), "A": 24 / (4 / 4), "G": 12 / 12}
    together = shard({"X": 24.0, "Fe": 24.0, "A": 24.0}, tp=2, ep=1, dp=4)  # each replica holds all experts
    assert together == {"X": 24, "Fe": 12, "A": 24}
    assert shard({"X": 24.0, "Fe": 24.0, "A": 24.0}, tp=2, ep=2) == {"X": 12, "Fe": 24, "A": 12}
    assert shard({"A": 24.0, "H": 24.0}, tp=2, ep=8, dp=4) == {"A": 24 / (8 / 4), "H": 12}
    assert shard(SIZES) == SIZES


def test_a_device_keeps_one_head_or_expert_however_many_devices_there_are():
    found = shard(dict.fromkeys(LETTERS, 4.0), tp=8, ep=8, dp=1)
    assert {name for name, size in found.items() if size == 1} == {"K", "X", "Gs"}
    assert {name for name, size in found.items() if size == 0.5} == {"F", "H", "V", "Fs", "Hs", "A", "G"}


def test_a_letter_without_a_size_or_that_nobody_registered_is_said():
    with pytest.raises(RooflensError, match=r"letter D .width of the residual stream. has no size here"):
        registry.value({}, "D")
    with pytest.raises(Unknown, match="letter"):
        shard({"Q": 1.0})


@pytest.mark.parametrize(
    ("name", "group", "wanted"),
    [
        ("all-reduce", Group(6), [("ring", 10 / 6, 10), ("tree", 2, 6), ("one-shot", 5, 1), ("two-shot", 10 / 6, 2)]),
        ("all-gather", Group(6), [("ring", 5 / 6, 5), ("tree", 5 / 6, 3), ("one-shot", 5 / 6, 1)]),
        ("all-to-all", Group(6), [("one-shot", 5 / 6, 1), ("ring", 5 / 6, 5), ("tree", 3 / 2, 3)]),
        ("send", Group(2), [("one-shot", 1, 1)]),
        ("send", Group(2, 2), [("one-shot", 0, 0, 1, 1)]),
        ("all-gather", Group(3, 3), [("ring", 0, 0, 2 / 3, 2), ("tree", 0, 0, 2 / 3, 2), ("one-shot", 0, 0, 2 / 3, 1)]),
        ("all-to-all", Group(6, 3), [("one-shot", 1 / 6, 1, 2 / 3, 1), ("ring", 1 / 6, 1, 2 / 3, 4)]),
        ("all-to-all", Group(3, 3), [("one-shot", 0, 0, 2 / 3, 1), ("ring", 0, 0, 2 / 3, 2)]),
        (  # a third of the message leaves each of three devices of a node
            "all-reduce", Group(6, 2),
            [
                (f"{near} inside, {far} between nodes", 4 / 3, waits, sent / 3, steps)
                for near, waits in (("ring", 4), ("two-shot", 2))
                for far, sent, steps in (("ring", 1, 2), ("tree", 2, 2), ("one-shot", 1, 1), ("two-shot", 1, 2))
            ],
        ),
        (
            "reduce-scatter", Group(6, 2),
            [
                (f"{near} inside, {far} between nodes", 2 / 3, waits, 1 / 2 / 3, 1)
                for near, waits in (("ring", 2), ("tree", 2), ("one-shot", 1))
                for far in ("ring", "tree", "one-shot")
            ],
        ),
    ],
)  # fmt: skip
def test_a_collective_sends_its_shares_and_waits_its_steps_by_each_algorithm(name, group, wanted):
    found = [(way.algorithm, way.link_bytes, way.link_steps, way.network_bytes, way.network_steps)
             for way in ways(name, group)]  # fmt: skip
    assert [one[0] for one in found] == [one[0] for one in wanted]
    for mine, theirs in zip(found, wanted, strict=True):
        assert mine[1:] == pytest.approx((*theirs[1:], 0.0, 0.0)[:4])


def test_a_group_stands_alone_unless_it_is_said_and_shares_its_nodes_evenly():
    assert Group() == Group(1, 1)
    assert (Group(8, 2).inside, Group(8).inside) == (4, 8)
    assert Way("shared", 2.0, 3.0, 4.0, 5.0).shared(4) == Way("shared", 0.5, 3.0, 1.0, 5.0)
    assert [ways(name, Group()) for name in ("all-reduce", "send", "all-to-all")] == [(ALONE,)] * 3


def test_the_least_way_spares_the_network_before_the_link_and_is_the_first_of_equals():
    far, near, other = Way("far", 1.0, 1.0, 2.0, 1.0), Way("near", 9.0, 9.0, 1.0, 9.0), Way("other", 9.0, 1.0, 1.0, 1.0)
    assert Collective("all-reduce", Group(4, 2), (far, near, other)).least is near
    assert Collective("all-reduce", Group(4), (Way("tree", 2.0), Way("ring", 1.5))).least.algorithm == "ring"


def test_a_bus_rate_counts_the_bytes_of_a_ring():
    names = ("all-reduce", "all-gather", "reduce-scatter", "all-to-all")
    assert [bus_share(name, 4) for name in names] == [1.5, 0.75, 0.75, 0.75]
    assert bus_share("all-reduce", 1) == 0


def test_a_token_meets_its_experts_on_other_devices_by_chance():
    assert [ranks_touched(2.0, active) for active in (1.0, 2.0)] == [0.5, 0.75]  # 1 - (1/2)^A of the other one
    assert ranks_touched(1.0, 2.0) == 0
    assert dispatch(Group(4), 1.0) == (Way("one-shot", 0.75, 1.0), Way("ring", 0.75, 3.0))
    assert dispatch(Group(4, 2), 1.0) == (Way("one-shot", 0.25, 1.0, 0.5, 1.0), Way("ring", 0.25, 1.0, 0.5, 2.0))
    assert dispatch(Group(2, 2), 1.0) == (Way("one-shot", 0.0, 0.0, 0.5, 1.0), Way("ring", 0.0, 0.0, 0.5, 1.0))


def test_experts_are_touched_by_chance_and_the_popular_ones_surely():
    """Three experts by 1, 1/4, 1/9, two a token: the first always, the others share one visit as 9 to 4."""
    assert popularity(3, 2.0, 2.0) == pytest.approx((1, 9 / 13, 4 / 13))
    assert experts_touched(3.0, 2.0, 2.0, 2.0) == pytest.approx(3 - (4 / 13) ** 2 - (9 / 13) ** 2)
    assert popularity(2, 1.0, 1.0) == pytest.approx((2 / 3, 1 / 3))
    assert experts_touched(2.0, 1.0, 2.0, 1.0) == pytest.approx(2 - (2 / 3) ** 2 - (1 / 3) ** 2)
    assert popularity(2, 2.0, 1.0) == (1, 1)
    assert (experts_touched(8.0, 2.0, 1.0), experts_touched(8.0, 2.0, 2.0)) == (2, 8 * (1 - 9 / 16))


def test_unknowns_are_added_and_multiplied_as_numbers_are_and_what_cancels_is_gone():
    x, y = Polynomial.of((0, "B")), Polynomial.of((1, "B"))
    assert ((x + 1.0) * (x + -1.0)).terms == {((0, "B"), (0, "B")): 1.0, (): -1.0}
    assert (2.0 * x + y * 3.0 + x).terms == {((0, "B"),): 3.0, ((1, "B"),): 3.0}
    assert (x * y / 4.0).terms == (y * x * 0.25).terms == {((0, "B"), (1, "B")): 0.25}
    assert (terms(0), terms(2), (x * 0.0).terms) == ({}, {(): 2.0}, {})
    with pytest.raises(TypeError, match="a str has no place"):
        terms("B")
    with pytest.raises(TypeError, match="neither zero nor not"):
        bool(x)
