"""Deployments in closed form: what a step is, from which batch on compute binds, and where a floor's time goes.

Layers of one product, 1,024 x 4,096, on a memory of 2^40 bytes a second, so that ratios have no rounding.
"""

from __future__ import annotations

import pytest

from rooflens.dtypes import dtype
from rooflens.models import Block, Model
from rooflens.models.model import Choices
from rooflens.operators.cost import Cost, Precision
from rooflens.operators.rows import Row
from rooflens.operators.standard import attention, linear, link, norm, vector
from rooflens.parallel import Pipeline
from rooflens.prediction import deployment as module
from rooflens.prediction.deployment import Deployment, batch_at_ridge, bound, ridge_of, sharing, with_batch
from rooflens.prediction.edges import edge, nearly_free
from rooflens.prediction.intervals import own_class, residual_class, stack_of
from rooflens.prediction.where import where
from rooflens.records import replace
from rooflens.roofline.ceilings import Ceiling, Machine
from rooflens.roofline.price import Priced, StepPrice, price_step
from rooflens.workload import Operator

BYTES_PER_S = float(1 << 40)
LETTERS = {"L": 2.0, "D": 1024.0, "F": 4096.0, "H": 4.0, "K": 2.0, "G": 2.0, "W": 128.0, "V": 4096.0}
UP = linear("up", "B T D, D F -> B T F")
FFN = Block("ffn", 3, (UP, norm("norm")))
HEAD = Block("head", 1, (linear("lm_head", "B Y D, D V -> B Y V", "head"),))
MIXER = Block("mixer", 2, attention())
BF16 = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"))


def chip(ratio=16.0):
    """With so many FLOPs a byte."""
    return Machine(
        "chip", "Chip", link="nvlink",
        ceilings=(
            Ceiling("compute/bf16", "compute", ratio * BYTES_PER_S, "spec", dtype="bf16", path="matrix"),
            Ceiling("memory/main", "memory", BYTES_PER_S, "spec", level="main"),
            Ceiling("link/nvlink", "link", 1e11, "spec", level="nvlink"),
        ),
    )  # fmt: skip


def of(*blocks, ratio=16.0, precision=BF16, letters=None, **load):
    model = Model("toy", "toy", {**LETTERS, **(letters or {})}, blocks, "bf16", {}, Choices(links=True))
    return Deployment(model, precision, chip(ratio), **load)


ONE = Block("ffn", 2, (UP,))


def test_a_deployment_that_says_no_more_is_one_sequence_on_one_device():
    found = of(ONE)
    assert (found.batch, found.prompt, found.output, found.context) == (1.0, 2048.0, 0.0, None)
    assert (found.tokens, found.acceptance, found.devices, found.attended) == (1.0, 1.0, 1, 2048.0)
    assert replace(found, how={"tp": 2, "pp": 3, "dp": 5}).devices == 30
    assert [replace(found, how={name: 3}).devices for name in ("tp", "pp", "dp", "ep")] == [3, 3, 3, 1]


def test_a_decode_step_attends_to_the_mean_of_the_output_or_to_what_is_said():
    assert of(ONE, prompt=1000.0, output=500.0).attended == 1250.0
    assert of(ONE, prompt=1000.0, output=500.0, context=7.0).attended == 7.0
    step = of(ONE, batch=8.0, prompt=1000.0, tokens=3.0, how={"pp": 2, "microbatches": 4}).step("decode")
    assert (step.batch, step.context, step.tokens, step.pp, step.microbatches) == (8.0, 1000.0, 3.0, 2, 4)
    first = of(ONE, batch=8.0, prompt=1000.0, how={"pp": 2, "microbatches": 4}).step("prefill")
    assert (first.batch, first.tokens, first.context, first.microbatches) == (1.0, 1000.0, 1000.0, 1)


def test_tokens_a_second_are_those_that_are_kept():
    """Of three of which two are drafts, each kept in half of the cases: 1 + 1/2 + 1/4."""
    load = of(ONE, batch=8.0, tokens=3.0, acceptance=0.5)
    assert load.tokens_per_s(0.25) == pytest.approx(8 * 1.75 / 0.25, rel=1e-12)
    assert load.tokens_per_s(load.tokens_per_s(0.25)) == pytest.approx(0.25, rel=1e-12)


def test_what_no_batch_changes_is_made_once_for_all_of_them():
    made = []

    def make():
        made.append(1)
        return len(made)

    one = of(ONE)
    other = with_batch(one, 7)
    assert (other.batch, type(other.batch)) == (7.0, float)
    assert [one.once("x", make, of_the_batch=False), other.once("x", make, of_the_batch=False)] == [1, 1]
    assert [one.once("x", make, of_the_batch=True), other.once("x", make, of_the_batch=True)] == [2, 3]
    assert other.once("x", make, of_the_batch=True) == 3
    assert sharing(of(ONE), other).once("x", make, of_the_batch=False) == 1
    assert one.floor("prefill") is other.floor("prefill")
    assert one.floor("decode").floor_s == pytest.approx(2 * 2 * 1024 * 4096 / BYTES_PER_S, rel=1e-12)
    eight = with_batch(of(ONE, ratio=1.0), 8)
    assert eight.floor("decode").floor_s == pytest.approx(8 * 2 * 2 * 1024 * 4096 / BYTES_PER_S, rel=1e-12)


@pytest.mark.parametrize("ratio", [*range(2, 120), 1000, 1023])
def test_products_of_two_byte_weights_are_bound_by_compute_from_their_ridge_point_on(ratio):
    """2 FLOPs a sequence for 2 bytes: the smallest batch that is at least peak over bandwidth."""
    assert batch_at_ridge(of(ONE, ratio=float(ratio))) == ratio
    assert batch_at_ridge(of(ONE, ratio=ratio + 0.25)) == ratio + 1
    assert ridge_of(of(ONE, ratio=float(ratio))) == ratio


def test_a_ridge_batch_lies_between_one_and_a_million():
    assert [batch_at_ridge(of(ONE, ratio=ratio)) for ratio in (1.0, 0.5)] == [1, 1]
    assert [batch_at_ridge(of(ONE, ratio=float(ratio))) for ratio in (1 << 20, (1 << 20) + 1)] == [1 << 20, None]


def test_every_product_with_weights_counts_as_often_as_it_runs_and_attention_does_not():
    """Three layers of two bytes and a head of one, as large: 8 FLOPs a sequence for 7 bytes, 14 where one needs 16."""
    mixed = replace(BF16, stored_parts={"head": dtype("int8")}, math={"": "bf16"})
    assert batch_at_ridge(of(replace(ONE, count=3), HEAD, MIXER, precision=mixed)) == 14
    tied = Block("head", 1, (linear("lm_head", "B Y D, D V -> B Y V", "head", "tied"),))
    assert batch_at_ridge(of(replace(ONE, count=3), tied, MIXER, precision=mixed)) == 14


def test_what_rides_in_a_product_is_read_with_it():
    """1,024 weights of a norm beside 1,024 x 4,096: a little more than sixteen sequences, so seventeen."""
    assert batch_at_ridge(of(FFN)) == 17


@pytest.mark.parametrize("ratio", [16.0, 16.25, 1000.0, 1000.25])
def test_the_ridge_batch_of_a_dense_model_is_guessed_and_made_sure_of_once(ratio, monkeypatch):
    """Priced are one sequence, the guess and one fewer; and nothing again for another batch of the same."""
    priced = []
    monkeypatch.setattr(module, "price_step", lambda *what, **how: priced.append(1) or price_step(*what, **how))
    load = of(ONE, ratio=ratio)
    found = batch_at_ridge(load)
    assert len(priced) == 3
    assert batch_at_ridge(with_batch(load, 7)) == found
    assert len(priced) == 3


def test_experts_are_bound_later_since_a_larger_batch_reads_more_of_them():
    """Two of eight: B tokens are 2 B products, and 8 (1 - 0.75^B) experts are read."""
    rows = (linear("experts", "B T A D, [X] D Fe -> B T A Fe", "expert"),)
    found = of(Block("ffn", 2, rows), letters={"E": 8.0, "A": 2.0, "Fe": 4096.0})
    wanted = next(b for b in range(1, 1000) if 2 * b / 16 >= 8 * (1 - 0.75**b))
    assert batch_at_ridge(found) == wanted == 64


def test_floors_of_many_loads_leave_activations_on_chip_unless_they_are_asked_for():
    """(1,024 + 4,096) x 2 bytes a sequence beside the weights."""
    load = of(ONE, batch=8.0)
    weights_s = 2 * 2 * 1024 * 4096 / BYTES_PER_S
    assert bound(load).floor_s(load.step("decode")) == pytest.approx(weights_s, rel=1e-12)
    moved_s = 2 * 8 * 2 * (1024 + 4096) / BYTES_PER_S
    found = bound(load, activations=True).floor_s(load.step("decode"))
    assert found == pytest.approx(weights_s + moved_s, rel=1e-12)


def kernel(times_s, *rows, count=1, **moved):
    """A kernel of these rows with its price."""
    cost = Cost(**moved)
    made = Priced("one", count, cost, times_s, max(times_s.values(), default=0.0), 0.0, ())
    return Operator("one", count, cost, rows), made


EXPERT = linear("expert", "B D, [X] D Fe -> B Fe", "expert")
ROUTER = linear("router", "B D, D E -> B E", "router")


@pytest.mark.parametrize(
    ("times_s", "rows", "moved", "shares"),
    [
        ({"memory": 2.0, "vector": 1.0}, (UP,), {"weight_bytes": 3.0, "kv_bytes": 1.0}, {"weights": 1.5, "kv": 0.5}),
        ({"memory": 2.0}, (UP,), {"weight_bytes": 3.0}, {"weights": 2.0}),
        ({"memory": 2.0}, attention(), {"kv_bytes": 3.0}, {"kv": 2.0}),
        ({"memory": 1.0, "compute:bf16": 2.0}, (norm("norm"), UP), {"weight_bytes": 3.0}, {"linear": 2.0}),
        ({"compute:bf16": 2.0}, attention(), {}, {"attention": 2.0}),
        ({"compute:bf16": 2.0}, (linear("lm_head", "B D, D V -> B V", "head"),), {}, {"head": 2.0}),
        ({"compute:bf16": 2.0}, (EXPERT,), {}, {"experts": 2.0}),
        ({"compute:bf16": 2.0}, (ROUTER, UP), {}, {"experts": 2.0}),
        ({"compute:bf16": 2.0}, (UP, vector("router", "B D -> B D", 1.0)), {}, {"linear": 2.0}),
        ({"vector": 2.0}, (vector("gate", "B D -> B D", 1.0),), {}, {"vector": 2.0}),
        ({"link": 2.0}, (link("all-reduce", "all-reduce"),), {}, {"collectives": 2.0}),
        ({"link": 1.0, "network": 2.0}, (link("all-reduce", "all-reduce"),), {}, {"collectives": 2.0}),
        ({}, (UP,), {}, {}),
    ],
)  # fmt: skip
def test_a_kernels_time_is_of_what_binds_it(times_s, rows, moved, shares):
    operator, priced = kernel(times_s, *rows, **moved)
    whole = max(times_s.values(), default=0.0)
    found = where(StepPrice((priced,), priced.cost, 0.0, whole, whole, 0.0), [operator])
    assert found == pytest.approx(shares, rel=1e-12)


def test_kernels_are_counted_and_stretched_to_the_floor_of_a_pipeline():
    """Three products of 2 s, a collective of 1 s, reading of 4 s: of a floor of 22 s, twice one way through."""
    (product, first), (talk, second) = kernel({"compute:bf16": 2.0}, UP, count=3), kernel({"link": 1.0}, UP)
    reading, third = kernel({"memory": 4.0}, UP, weight_bytes=6.0, kv_bytes=2.0)
    price = StepPrice((first, second, third), Cost(), 0.0, 22.0, 22.0, 0.0, Pipeline(2, 0.5, 3.0))
    wanted = {"linear": 12.0, "collectives": 2.0, "weights": 6.0, "kv": 2.0}
    assert where(price, [product, talk, reading]) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("last", range(2, 40))
def test_an_edge_is_the_last_that_holds_from_either_side(last):
    assert edge(100, 1, lambda n: n <= last) == last
    assert edge(1, 100, lambda n: n >= last) == last
    asked = []
    edge(last + 1, last, lambda n: bool(asked.append(n)))
    assert asked == []  # next to each other: nothing to ask


def test_batching_is_nearly_free_while_nine_tenths_of_the_rate_grow():
    assert nearly_free([1, 2, 4, 8], [10.0, 20.0, 36.0, 71.0]) == 2  # 36 is nine tenths of 40, 71 less than of 80
    assert nearly_free([2, 4], [10.0, 17.0]) == 0
    assert nearly_free([1, 2], [10.0, 20.0]) is None  # free to the end, and nobody asked on


@pytest.mark.parametrize(
    ("engine", "stack"),
    [
        ("vllm", "served"), ("generic", "served"), ("vllm-2024", "2024"), ("vllm-rocm-2024", "2024"),
        ("deepspeed", "2024"), ("llama.cpp", "llama.cpp"),
    ],
)  # fmt: skip
def test_an_engine_is_of_a_family_of_stacks(engine, stack):
    assert stack_of(engine) == stack


@pytest.mark.parametrize(
    ("engine", "letters", "what", "names"),
    [
        ("vllm", {}, "tpot", ["dense, vllm", "dense"]),
        ("vllm", {"E": 8.0}, "tpot", ["experts, vllm", "experts"]),
        ("vllm", {"E": 8.0, "R": 512.0}, "tpot", ["experts, latent, vllm", "experts, vllm", "experts"]),
        ("generic", {"E": 8.0}, "tpot", ["engine not named, experts"]),
        ("vllm-2024", {"R": 512.0}, "tpot", ["2024"]), ("llama.cpp", {}, "tpot", ["llama.cpp"]),
        ("llama.cpp", {}, "ttft", ["ttft unloaded"]), ("vllm", {}, "ttft", ["ttft unloaded"]),
    ],
)  # fmt: skip
def test_the_most_special_class_that_a_file_has_speaks(engine, letters, what, names):
    model = of(ONE, letters=letters).model
    for known, end in ((True, ""), (False, ", chip unseen")):
        ended = [f"{name}{end}" for name in names]
        found = [residual_class(engine, model, what, ended[i:], known=known) for i in range(len(ended))]
        assert found == ended
    assert own_class(model) == ("own points, experts" if "E" in letters else "own points, dense")


def test_a_row_that_is_no_product_is_none_of_the_products_with_weights():
    """A norm on its own reads weights and multiplies nothing by them on matrix units."""
    alone = Block("norm", 2, (Row("norm", "B T D, D -> B T D", "weight", "norm", "w", 4.0),))
    assert batch_at_ridge(of(ONE, alone, ratio=50.0)) == 50
