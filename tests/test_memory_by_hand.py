"""Memory of a device in closed form: a model of few rows, whose bytes one can add up on paper.

Two layers of attention and feed-forward, of 19.4 million parameters in 16 bit: 38.8 MB. A token's cache takes
2 x 2 layers x 2 heads x 100 x 2 bytes = 1,600; a sequence's logits 500 x 4. A pass of 1,000 tokens holds two outputs in
a row of the feed-forward, 4,000 and 1,000 wide, and three times 1,000 beside them: 16 MB.
"""

from __future__ import annotations

import numpy as np
import pytest

from rooflens import workload
from rooflens.catalogue.engines import Engine
from rooflens.dtypes import dtype
from rooflens.models import Block, Model
from rooflens.models.model import Choices
from rooflens.operators.cost import Precision
from rooflens.operators.rows import Row
from rooflens.operators.standard import attention, linear, link, vector
from rooflens.prediction.memory import Memory, Reserve, filled, memory, on_device, reserve
from rooflens.records import replace

LETTERS = {"L": 2.0, "D": 1000.0, "F": 4000.0, "H": 4.0, "K": 2.0, "G": 2.0, "W": 100.0, "V": 500.0}
TABLE = Row("embedding", "B T, V D -> B T D", "table", "embed", "wy", 0.0)
HEAD = linear("lm_head", "B Y D, D V -> B Y V", "head")
QKV, OUT = linear("qkv", "B T D, D H+2K W -> B T H+2K W"), linear("out", "B T H W, H W D -> B T D")
UP, DOWN = linear("up", "B T D, D F -> B T F"), linear("down", "B T F, F D -> B T D")
MIXER, FFN = Block("mixer", 2, (QKV, *attention(), OUT)), Block("ffn", 2, (UP, DOWN))
TOY = Model(
    "toy", "toy", LETTERS, (Block("embedding", 1, (TABLE,)), MIXER, FFN, Block("head", 1, (HEAD,))), "bf16", {},
    Choices(links=True),
)  # fmt: skip
BF16 = Precision(dtype("bf16"), dtype("bf16"), dtype("bf16"))
KEPT = Reserve(batched_tokens=1000)
WEIGHTS, PASS, TOKEN, LOGITS = 38.8e6, 16e6, 1600, 2000
EACH = 1000 * TOKEN + LOGITS  # a sequence of 1,000 positions


def of(batch=10, context=1000, capacity=1e12, kept=KEPT, model=TOY, precision=BF16, **how):
    return memory(model, precision, workload.decode(batch, context, **how), capacity, kept)


def layers(*blocks, **letters):
    """The model with other layers between its ends."""
    return replace(TOY, blocks=(TOY.blocks[0], *blocks, TOY.blocks[-1]), letters={**LETTERS, **letters})


def test_what_a_device_holds_adds_up():
    found = of()
    assert found.weight_bytes == WEIGHTS
    assert found.kv_bytes == 10 * 1000 * TOKEN
    assert found.activation_bytes == PASS + 10 * LOGITS
    assert found.needed_bytes == WEIGHTS + PASS + 10 * EACH
    assert (found.capacity_bytes, found.usable_bytes, found.runtime_bytes) == (1e12, 1e12, None)
    assert (found.fits, found.short_bytes) == (True, 0.0)
    eight_bit = of(precision=replace(BF16, weights=dtype("int8"), kv=dtype("fp8")))
    assert (eight_bit.weight_bytes, eight_bit.kv_bytes) == (WEIGHTS / 2, 10 * 1000 * TOKEN / 2)
    assert eight_bit.activation_bytes == found.activation_bytes


def test_what_fits_to_the_last_byte_fits_and_one_less_does_not():
    full = WEIGHTS + PASS + 10 * EACH
    exact, short = of(capacity=full), of(capacity=full - 1)
    assert (exact.fits, exact.max_sequences, exact.short_bytes) == (True, 10, 0.0)
    assert (short.fits, short.max_sequences, short.short_bytes) == (False, 9, 1.0)
    assert [of(capacity=WEIGHTS + PASS + EACH - less).max_sequences for less in (0, 1)] == [1, 0]
    alone = WEIGHTS + PASS + LOGITS
    assert of(capacity=alone + 5000 * TOKEN).max_context == 5000
    assert of(capacity=alone + 5000 * TOKEN - 1).max_context == 4999
    assert of(capacity=alone + 5000 * TOKEN).kv_tokens == 5000
    assert of(capacity=alone + 5001 * TOKEN - 1).kv_tokens == 5000
    assert of(capacity=alone).kv_tokens == of(capacity=1e6).kv_tokens == 0


def test_loads_at_once_are_as_full_as_each_alone():
    full = WEIGHTS + PASS + 10 * EACH
    contexts = np.array([1000.0, 100.0, 100_000.0, 1000.0])
    for capacity in (full, full - 1, 1e6):
        step = workload.decode(np.array([10.0, 3.0, 1.0, 40.0]), contexts)
        found = filled(TOY, BF16, step, capacity, KEPT)
        each = [of(batch, context, capacity) for batch, context in zip((10, 3, 1, 40), contexts, strict=True)]
        assert found.needed_bytes.tolist() == [one.needed_bytes for one in each]
        assert found.fits.tolist() == [one.fits for one in each]
        assert found.max_sequences.tolist() == [one.max_sequences for one in each]


def test_replicas_share_the_sequences_and_hold_as_many_times_more():
    """Ten sequences over three replicas: the fullest has four."""
    capacity = WEIGHTS + PASS + 10 * EACH
    found = of(10, 1000, capacity, dp=3)
    assert (found.kv_bytes, found.activation_bytes) == (4 * 1000 * TOKEN, PASS + 4 * LOGITS)
    assert (found.max_sequences, found.max_context) == (30, of(10, 1000, capacity).max_context)
    assert found.kv_tokens == 3 * of(1, 1000, capacity).kv_tokens
    many = filled(TOY, BF16, workload.decode(np.array([10.0, 30.0, 31.0]), np.full(3, 1000.0), dp=3), capacity, KEPT)
    assert many.fits.tolist() == [True, True, False]
    assert many.max_sequences.tolist() == [30, 30, 30]


def test_a_cache_is_kept_in_whole_pages():
    paged = replace(KEPT, block_tokens=16)
    assert of(kept=paged).kv_bytes == 10 * 1008 * TOKEN
    assert of(context=1008, kept=paged).kv_bytes == 10 * 1008 * TOKEN
    alone = WEIGHTS + PASS + LOGITS
    assert of(capacity=alone + 5000 * TOKEN, kept=paged).kv_tokens == 4992  # 312 pages of 16


def test_a_fraction_of_all_is_what_the_engine_has_for_everything():
    kept = replace(KEPT, memory_fraction=0.5, runtime_bytes=3e6, graph_bytes=2e6)
    full = WEIGHTS + PASS + 10 * EACH + 5e6
    exact, short = of(capacity=2 * full, kept=kept), of(capacity=2 * full - 2, kept=kept)
    assert (exact.usable_bytes, exact.needed_bytes, exact.runtime_bytes) == (full, full, 5e6)
    assert (exact.fits, short.fits) == (True, False)
    assert of(kept=replace(kept, graph_bytes=None)).runtime_bytes == 3e6
    assert of(kept=replace(kept, runtime_bytes=None)).runtime_bytes == 2e6


def test_a_static_fraction_is_for_weights_and_cache_alone():
    kept = replace(KEPT, memory_fraction=0.5, fraction_of="static", runtime_bytes=3e6)
    full = WEIGHTS + 10 * 1000 * TOKEN
    found = of(capacity=2 * full, kept=kept)
    assert (found.usable_bytes, found.needed_bytes, found.fits, found.max_sequences) == (full, full, True, 10)


def test_a_fraction_of_what_is_free_is_for_the_cache():
    """What is used, and half of the rest: of 2 x 10 sequences' bytes the ten fit beside their own logits or do not."""
    kept = replace(KEPT, memory_fraction=0.5, fraction_of="free", runtime_bytes=3e6)
    used = WEIGHTS + PASS + LOGITS + 3e6
    cached = 10 * 1000 * TOKEN + 9 * LOGITS  # the first one's logits are used
    found = of(capacity=used + 2 * cached, kept=kept)
    assert (found.usable_bytes, found.fits, found.max_sequences) == (used + cached, True, 10)
    assert of(capacity=1e6, kept=kept).usable_bytes == used  # what there is not, nobody halves


STATE = Row("state", "B T, B Hs Ws Ns -> B T", "state", "ssm", "w", 0.0, rides=True)
TAPS = Row("conv state", "B T, B Jc D -> B T", "state", "conv", "w", 0.0, rides=True)


def test_a_state_is_a_sequences_whatever_its_context():
    """8 x 10 x 10 values in fp32 and 3 x 1,000 in 16 bit, in each of two layers: 18,400 bytes; no cache beside it."""
    model = layers(Block("mixer", 2, (QKV, STATE, TAPS)), FFN, Hs=8.0, Ws=10.0, Ns=10.0, Jc=3.0)
    short, long = (of(context=context, model=model) for context in (1, 100_000))
    assert short.kv_bytes == long.kv_bytes == 10 * 2 * (8 * 10 * 10 * 4 + 3 * 1000 * 2)
    both = layers(MIXER, Block("mixer", 2, (QKV, STATE)), FFN, Hs=8.0, Ws=10.0, Ns=10.0)
    state = 2 * 8 * 10 * 10 * 4
    assert of(model=both).kv_bytes == 10 * (1000 * TOKEN + state)
    fixed = of(batch=1, model=both).needed_bytes - 1000 * TOKEN - state
    found = of(model=both, capacity=fixed + 7 * (1000 * TOKEN + state))
    assert found.kv_tokens == 7000  # of sequences at the step's context, their states with them


def test_a_window_bounds_the_cache_and_its_tokens_are_counted_at_the_context():
    """Of two layers one keeps every position and one 100: 1,000 positions take 1,000 x 800 + 100 x 800 bytes."""
    model = layers(replace(MIXER, count=1), replace(MIXER, count=1, window=100.0), FFN)
    found = of(batch=1, model=model)
    assert found.kv_bytes == 1000 * 800 + 100 * 800
    capacity = found.needed_bytes - found.kv_bytes + 7 * found.kv_bytes
    assert of(batch=1, model=model, capacity=capacity).kv_tokens == 7000
    assert of(batch=1, context=100, model=model, capacity=capacity).kv_tokens == 7 * 880_000 // 1600
    assert of(batch=1, context=50, model=model).kv_bytes == 50 * TOKEN


def test_a_model_without_a_cache_has_no_tokens_of_it_and_as_many_sequences_as_logits_fit():
    found = of(model=layers(FFN), capacity=1e9)
    assert (found.kv_bytes, found.kv_tokens) == (0.0, 0)
    assert found.max_sequences == (1e9 - found.weight_bytes - PASS) // LOGITS


def test_more_than_anybody_serves_is_not_counted():
    endless = of(capacity=1e30)
    assert (endless.max_sequences, endless.max_context) == (2**24 - 1, 2**40 - 1)
    many = filled(TOY, BF16, workload.decode(np.array([1.0, 2.0]), np.array([1000.0, 1.0])), 1e30, KEPT)
    assert many.max_sequences.tolist() == [2**24 - 1] * 2


@pytest.mark.parametrize(
    ("rows", "widest"),
    [
        ((UP, DOWN), 5000), ((UP,), 4000), ((DOWN, UP), 5000), ((UP, UP, DOWN), 8000),
        ((UP, vector("activation", "B T F -> B T F", 4.0), DOWN), 8000),  # a product's, and what becomes of it
        ((UP, link("all-reduce", "all-reduce", "B T F"), DOWN), 5000),
        ((UP, TABLE, DOWN), 5000),  # looked up, not made
        ((QKV, *attention(), OUT), 1400), ((QKV, *attention("unfused"), OUT), 4004),  # scores, written and again
        ((QKV, OUT), 1800), ((replace(UP, touches="xw"), DOWN), 1000),
        ((vector("scores", "B T K Si -> B T K Si", 1.0), OUT), 1000), ((replace(UP, touches="xw"),), 0),
        ((vector("scores", "B T K Si+W -> B T K Si+W", 1.0), OUT), 1000),
    ],
)  # fmt: skip
def test_a_pass_holds_its_widest_two_outputs_in_a_row_and_three_streams(rows, widest):
    """A prompt of 1,000 tokens; scores of 4 heads over 500.5 positions stay on chip unless they are written."""
    found = of(model=layers(Block("mixer", 2, rows)))
    assert found.activation_bytes == 1000 * (widest + 3000) * 2 + 10 * LOGITS


def test_a_pass_of_shared_layers_holds_its_share_of_the_outputs():
    assert of(batch=4, tp=2).activation_bytes == 1000 * (2000 + 1000 + 3000) * 2 + 4 * LOGITS
    assert of(batch=4, kept=replace(KEPT, batched_tokens=500)).activation_bytes == PASS / 2 + 4 * LOGITS


def test_a_stage_holds_its_layers_rounded_up_and_the_larger_end():
    stage = on_device(TOY, workload.decode(1, 1, pp=2))
    assert [(block.kind, block.count) for block in stage.blocks] == [("embedding", 1), ("mixer", 1), ("ffn", 1)]
    five = replace(TOY, blocks=(TOY.blocks[0], replace(MIXER, count=5), TOY.blocks[-1]), letters={**LETTERS, "L": 5.0})
    assert on_device(five, workload.decode(1, 1, pp=2)).blocks[1].count == 3
    wide = replace(HEAD, spec="B Y D, D 2V -> B Y 2V")
    heavy = replace(TOY, blocks=(*TOY.blocks[:-1], Block("head", 1, (wide,))))
    assert [block.kind for block in on_device(heavy, workload.decode(1, 1, pp=2)).blocks] == ["mixer", "ffn", "head"]
    assert [block.kind for block in on_device(heavy, workload.decode(1, 1)).blocks] == [b.kind for b in TOY.blocks]


def test_experts_are_spread_whole():
    """Eight experts of 1,000 x 100, up and down alike."""
    rows = (linear("experts", "B T A D, [X] D Fe -> B T A Fe", "expert"),)
    model = layers(Block("ffn", 2, rows), E=8.0, A=2.0, Fe=100.0)
    ends = 2 * 500 * 1000
    for how, experts in (({}, 8), ({"dp": 2, "ep": 2}, 4), ({"dp": 4, "ep": 4}, 2)):
        found = on_device(model, workload.decode(4, 1, **how))
        assert found.stored_bytes(BF16) == {"bf16": 2 * (2 * experts * 1000 * 100 + ends)}


def of_sizes(**changed):
    sizes = {
        "weight_bytes": 20e9, "kv_bytes": 20e9, "activation_bytes": 1e9, "runtime_bytes": None, "capacity_bytes": 40e9,
        "usable_bytes": 36e9, "needed_bytes": 41e9, "fits": False, "max_sequences": 1, "kv_tokens": 1, "max_context": 1,
    }  # fmt: skip
    return Memory(**{**sizes, **changed})


def test_what_is_short_is_what_is_needed_beyond_what_is_usable():
    assert of_sizes().short_bytes == 5e9
    assert of_sizes(usable_bytes=41e9).short_bytes == of_sizes(usable_bytes=50e9).short_bytes == 0.0


def test_what_does_not_fit_says_each_part_and_whether_paper_would_hold_it():
    kept = replace(KEPT, memory_fraction=0.5, runtime_bytes=3e6, graph_bytes=2e6)
    both = WEIGHTS + 10 * 1000 * TOKEN
    first, paper = of(capacity=both, kept=kept).notes
    assert first == (
        "does not fit: weights 38.8 MB + KV 16 MB + activations 16.02 MB + runtime 5 MB = 75.82 MB, "
        "and 27.4 MB are usable, short by 48.42 MB"
    )
    assert paper == "weights and KV alone would fit in the device's 54.8 MB, on paper"
    assert len(of(capacity=both - 1, kept=kept).notes) == 1
    assert of(capacity=1e12, kept=kept).notes == ()


def test_a_cache_is_compared_with_the_weights_only_where_it_is_larger():
    kept = replace(KEPT, runtime_bytes=0.0, graph_bytes=0.0)
    context = WEIGHTS / TOKEN  # 24,250 positions weigh as much
    assert of(1, context, kept=kept).notes == ()
    assert of(2, context, kept=kept).notes == ("the KV cache of 2 sequences is 2 times the weights",)


def test_what_is_not_known_is_said_and_not_counted():
    driver, graphs = "what driver and libraries take is not known", "what CUDA graphs reserve is not known"
    said = {
        (runtime, graph): [note.split(" and not counted")[0] for note in of(
            kept=replace(KEPT, runtime_bytes=runtime, graph_bytes=graph)).notes]
        for runtime in (None, 0.0) for graph in (None, 0.0)
    }  # fmt: skip
    assert said == {(None, None): [driver, graphs], (None, 0.0): [driver], (0.0, None): [graphs], (0.0, 0.0): []}


def test_an_engine_sets_aside_its_defaults_unless_a_person_says_otherwise():
    plain = reserve(None)
    assert (plain.memory_fraction, plain.fraction_of, plain.block_tokens) == (1.0, "all", 1)
    assert (plain.batched_tokens, plain.runtime_bytes, plain.graph_bytes, plain.outside_bytes) == (8192, None, None, 0)
    own = Engine("own", 0.9, "free", 16, 2048, runtime_bytes=1e9)
    assert reserve(own) == Reserve(0.9, "free", 16, 2048, 1e9, None)
    given = reserve(own, memory_fraction=1.0, block_tokens=None, graph_bytes=2e9)
    assert given == Reserve(1.0, "free", 16, 2048, 1e9, 2e9)
    assert given.outside_bytes == 3e9
