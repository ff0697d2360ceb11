"""Practice: every answer by hand from the sentence alone, every planted mistake found, every command the same."""

from __future__ import annotations

import io
import json
import re

import pytest

from rooflens.errors import RooflensError
from rooflens.practice.every import PROBLEMS, TOPICS, draw, problem, several
from rooflens.practice.judging import PLAIN, judge, mistakes, read, written
from rooflens.practice.record import TOLERANCE, Judged, Question
from rooflens.present.words import LANGUAGES, book
from rooflens.units import parse

SEEDS = range(8)
BYTES = {"bf16": 2, "fp32": 4, "fp64": 8, "fp8": 1, "int8": 1, "int4": 0.5}
LEFT_ENGLISH = re.compile(r"\b(the|of|and|not|is|are|was|were|with|from|that|which|by|how|many)\b")


class Says:
    """What a question says, read as a person reads it: numbers, and amounts with their units."""

    def __init__(self, question: Question) -> None:
        self.words = question.drawn.says

    def __getattr__(self, name: str) -> float:
        return float(self.words[name].replace(",", ""))

    def amount(self, name: str, unit: str) -> float:
        return parse(self.words[name], unit)

    @property
    def roof(self) -> float:
        return self.amount("peak", "FLOP/s")

    @property
    def slope(self) -> float:
        return self.amount("bandwidth", "B/s")

    @property
    def size(self) -> float:
        return BYTES[self.words["dtype"]]


def gemm(m: float, k: float, n: float) -> float:
    return 2 * m * k * n / (2 * (m * k + k * n + m * n))  # three operands of 2 bytes, each once


def touched(s: Says) -> float:
    return s.experts * (1 - (1 - s.active / s.experts) ** s.batch)


def kv(s: Says, heads: float) -> float:
    return 2 * 2 * s.layers * heads * s.width * s.context * s.batch  # K and V, 2 bytes


BY_HAND = {
    "double": lambda s: 1 / (2 * s.size),
    "axpy": lambda s: 2 / (3 * s.size),
    "square": lambda s: s.n / 3,
    "gemm": lambda s: gemm(s.m, s.k, s.n),
    "gemv": lambda s: 2 * s.k * s.n / (s.k * s.n * s.bits / 8 + 2 * (s.k + s.n)),
    "norm": lambda s: s.flops / 4,
    "attention": lambda s: s.heads / s.kv_heads,
    "phase": lambda s: gemm(s.batch if s.words["phase"] == "decode" else s.prompt, s.k, s.n),
    "flops": lambda s: 2 * s.m * s.k * s.n,
    "ridge": lambda s: s.roof / s.slope,
    "attainable": lambda s: min(s.roof, s.amount("flops", "FLOP") / s.amount("bytes", "B") * s.slope),
    "time": lambda s: max(2 * s.m * s.k * s.n / s.roof, 2 * (s.m * s.k + s.k * s.n + s.m * s.n) / s.slope),
    "peak": lambda s: s.units * s.amount("clock", "Hz") * 2 * s.rate,
    "kv-mha": lambda s: kv(s, s.heads),
    "kv-gqa": lambda s: kv(s, s.kv_heads),
    "kv-mla": lambda s: 2 * s.layers * (s.latent + s.rope) * s.context * s.batch,
    "streamed": lambda s: 2 * (s.params - s.vocabulary * s.width),
    "bits": lambda s: s.params * s.bits / 8,
    "experts": touched,
    "expert-bytes": lambda s: touched(s) * s.inner * s.width * 2,
    "ceiling": lambda s: s.slope / s.amount("size", "B"),
    "step": lambda s: (s.amount("weights", "B") + s.batch * s.context * s.amount("kv", "B")) / s.slope,
    "ridge-batch": lambda s: s.roof / s.slope * s.bits / 8 / 2,
    "mbu": lambda s: s.amount("rate", "tok/s") * s.amount("size", "B") / s.slope,
    "mfu": lambda s: 2 * s.m * s.k * s.n / s.amount("time", "s") / s.roof,
    "quantise": lambda s: (s.amount("old", "B") + s.amount("kv", "B")) / (s.amount("new", "B") + s.amount("kv", "B")),
    "all-reduce": lambda s: 2 * (s.devices - 1) / s.devices * s.amount("message", "B"),
    "tp": lambda s: 2 * (s.tp - 1) / s.tp * s.batch * s.width * 2,
    "link": lambda s: 2 * (s.devices - 1) / s.devices * s.amount("message", "B") / (s.amount("both", "B/s") / 2),
    "network": lambda s: s.amount("size", "B") / s.amount("rate", "B/s"),
    "bubble": lambda s: (s.stages - 1) / (s.parts + s.stages - 1),
    "speed-up": lambda s: s.amount("first_bandwidth", "B/s") / s.amount("second_bandwidth", "B/s"),
    "sparse": lambda s: s.amount("printed", "FLOP/s") / 2,
    "directions": lambda s: s.amount("both", "B/s") / 2,
}

GIB = 2**30 / 1e9
PLANTED = {  # what a person gets who makes the mistake, by hand
    ("double", "one_way"): lambda s: 1 / s.size,
    ("axpy", "result_forgotten"): lambda s: 2 / (2 * s.size),
    ("axpy", "half_the_flops"): lambda s: 1 / (3 * s.size),
    ("square", "result_forgotten"): lambda s: s.n / 2,
    ("square", "elements"): lambda s: 2 * s.n / 3,
    ("gemm", "half_the_flops"): lambda s: gemm(s.m, s.k, s.n) / 2,
    ("attention", "keys_only"): lambda s: 2 * s.heads / s.kv_heads,
    ("phase", "other_phase"): lambda s: gemm(s.prompt if s.words["phase"] == "decode" else s.batch, s.k, s.n),
    ("ridge", "sparse"): lambda s: 2 * s.roof / s.slope,
    ("ridge", "inverted"): lambda s: s.slope / s.roof,
    ("ridge", "tib"): lambda s: s.roof / (s.slope / 1e12 * 2**40),
    ("time", "added"): lambda s: 2 * s.m * s.k * s.n / s.roof
    + 2 * (s.m * s.k + s.k * s.n + s.m * s.n) / s.slope,
    ("peak", "half_the_flops"): lambda s: s.units * s.amount("clock", "Hz") * s.rate,
    ("kv-mha", "keys_only"): lambda s: kv(s, s.heads) / 2,
    ("kv-mha", "gib_as_gb"): lambda s: kv(s, s.heads) / GIB,  # 2 GiB answered as "2 GB"; amounts of MB are told too
    ("kv-gqa", "query_heads"): lambda s: kv(s, s.heads),
    ("kv-gqa", "eight_large"): lambda s: 8 * kv(s, s.kv_heads),  # bits
    ("kv-mla", "latent_twice"): lambda s: 4 * s.layers * (s.latent + s.rope) * s.context * s.batch,
    ("kv-mla", "rope_forgotten"): lambda s: 2 * s.layers * s.latent * s.context * s.batch,
    ("streamed", "table_too"): lambda s: 2 * s.params,
    ("bits", "eight_large"): lambda s: s.params * s.bits,
    ("bits", "gb_as_gib"): lambda s: s.params * s.bits / 8 * GIB,
    ("experts", "all_apart"): lambda s: min(s.experts, s.active * s.batch),
    ("experts", "active_only"): lambda s: s.active,
    ("ceiling", "gb_gib"): lambda s: s.slope
    / s.amount("size", "B") * (GIB if "GiB" in s.words["size"] else 1 / GIB),
    ("ceiling", "from_compute"): lambda s: s.roof / (2 * s.params),
    ("step", "cache_once"): lambda s: (s.amount("weights", "B") + s.context * s.amount("kv", "B")) / s.slope,
    ("step", "weights_alone"): lambda s: s.amount("weights", "B") / s.slope,
    ("ridge-batch", "half_the_flops"): lambda s: s.roof / s.slope * s.bits / 8,
    ("mbu", "mfu_instead"): lambda s: s.amount("rate", "tok/s") * 2 * s.params / s.roof,
    ("mfu", "sparse"): lambda s: s.m * s.k * s.n / s.amount("time", "s") / s.roof,
    ("mfu", "percent"): lambda s: 100 * 2 * s.m * s.k * s.n / s.amount("time", "s") / s.roof,
    ("all-reduce", "one_half"): lambda s: (s.devices - 1) / s.devices * s.amount("message", "B"),
    ("tp", "both_halves"): lambda s: 2 * 2 * (s.tp - 1) / s.tp * s.batch * s.width * 2,
    ("link", "both_ways"): lambda s: 2 * (s.devices - 1) / s.devices
    * s.amount("message", "B") / s.amount("both", "B/s"),
    ("network", "eight_small"): lambda s: s.amount("size", "B") / s.amount("rate", "B/s") / 8,
    ("bubble", "over_work"): lambda s: (s.stages - 1) / s.parts,
    ("speed-up", "compute_ratio"): lambda s: s.amount("first_peak", "FLOP/s") / s.amount("second_peak", "FLOP/s"),
    ("sparse", "as_printed"): lambda s: s.amount("printed", "FLOP/s"),
    ("directions", "as_printed"): lambda s: s.amount("both", "B/s"),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)


def answered(question: Question, value: float) -> Judged:
    unit = question.problem.unit
    return judge(question, f"{value!r}" if unit in PLAIN else f"{value!r} {unit}")


def test_every_problem_is_worked_out_by_hand_here():
    assert list(BY_HAND) == list(PROBLEMS)


@pytest.mark.parametrize("id", PROBLEMS)
def test_the_sentence_alone_is_enough_for_the_right_answer(id):
    for seed in SEEDS:
        question = draw(problem(id), seed)
        by_hand = BY_HAND[id](Says(question))
        assert question.drawn.answer == pytest.approx(by_hand, rel=TOLERANCE / 2), (id, seed)
        assert answered(question, by_hand).right


@pytest.mark.parametrize("id", PROBLEMS)
def test_numbers_vary_with_the_seed_and_equal_seeds_give_equal_questions(id):
    drawings = [draw(problem(id), seed) for seed in range(40)]
    assert len({tuple(one.drawn.says.items()) for one in drawings}) > 3
    assert [draw(problem(id), one.seed) for one in drawings[:3]] == drawings[:3]


@pytest.mark.parametrize(("id", "name"), PLANTED)
def test_a_planted_mistake_is_named(id, name):
    found = 0
    for seed in range(20):
        question = draw(problem(id), seed)
        wrong = PLANTED[id, name](Says(question))
        if name in mistakes(question) and abs(wrong / question.drawn.answer - 1) > 2 * TOLERANCE:
            if name.startswith(("gib_", "gb_as")) and not 1e9 <= question.drawn.answer < 1e12:
                continue  # this hand reckons in GB
            judged = answered(question, wrong)
            found += name in judged.missed
            assert not judged.right
            assert judged.missed, (id, name, seed)
    assert found > 1


@pytest.mark.parametrize("id", PROBLEMS)
def test_every_mistake_that_is_looked_for_is_found_by_its_number(id):
    for seed in range(20):
        question = draw(problem(id), seed)
        for name, value in mistakes(question).items():
            judged = answered(question, value)
            assert (judged.right, name in judged.missed) == (False, True), (id, seed, name)


def test_every_mistake_has_its_phrase_and_every_phrase_its_mistake():
    names = {name for one in PROBLEMS.values() for seed in range(24) for name in mistakes(draw(one, seed))}
    assert {f"practice.missed.{name}" for name in names} == {k for k in book("practice", "en") if ".missed." in k}


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in (1, 2, 3))])
@pytest.mark.parametrize("id", PROBLEMS)
def test_the_command_of_the_explanation_prints_the_same_number(run, id, seed):
    question = draw(problem(id), seed)
    drawn = question.drawn
    code, out, err = run(drawn.command.removeprefix("rooflens ") + (" --json" if drawn.key else ""))
    assert code in (0, 1), err  # a claim that is not true as it was said
    if not drawn.key:
        assert f"X={drawn.answer:g}" in out
        return
    assert at(json.loads(out), drawn.key) == pytest.approx(drawn.answer, rel=1e-9 if id != "peak" else 1e-3)


def at(data, key):
    """The value at `operators[0].link_bytes` or `levers[int4 weights].gain_floor`."""
    for index, name in re.findall(r"\[([^\]]+)\]|([^.\[\]]+)", key):
        if index:
            data = data[int(index)] if index.isdigit() else next(one for one in data if one["name"] == index)
        else:
            data = data[name]
    return data


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("12.5 FLOP/byte", "FLOP/B", 12.5),
        ("2 GiB", "B", 2**31),
        ("400 Gb/s", "B/s", 50e9),
        ("65 %", "ratio", 0.65),
        ("0.65", "ratio", 0.65),
        ("4x", "times", 4),
        ("4 times", "times", 4),
        ("1,024", "count", 1024),
        ("222 experts", "count", 222),
    ],
)
def test_an_answer_is_read_with_its_unit(text, unit, value):
    assert read(text, unit) == value


@pytest.mark.parametrize(
    ("text", "unit", "sentence"),
    [
        ("12.5", "FLOP/B", "has no unit"),
        ("12.5 GB", "FLOP/B", "not a unit of FLOP/B"),
        ("200 GFLOP/s", "FLOP", "'200 GFLOP/s' is a rate, in FLOP/s; what is asked for is an amount, in FLOP"),
        ("450 GB", "B/s", "'450 GB' is an amount, in B; what is asked for is a rate, in B/s"),
        ("2 gb", "B", "did you mean 'GB'"),
        ("-1 s", "s", "negative"),
        ("many", "count", "not a plain number; write it like '222'"),
        ("5 %", "count", "not a share of a hundred"),
        ("1e999", "times", "not a finite number"),
        ("-3", "ratio", "at least 0"),
    ],
)
def test_what_is_no_answer_is_a_sentence(text, unit, sentence):
    with pytest.raises(RooflensError, match=re.escape(sentence)):
        read(text, unit)


def test_an_answer_may_be_two_per_cent_off_and_no_more():
    question = draw(problem("ridge"), 7)
    right = question.drawn.answer
    assert [answered(question, right * f).right for f in (0.9801, 1.0199, 0.979, 1.021)] == [True, True, False, False]


def test_two_mistakes_at_once_are_told_as_two(run):
    code, out, _ = run("practice --problem kv-gqa --seed 2 --answer '4 GB'")  # 8 GiB: K alone, and GiB for GB
    assert (code, "these two give together: " in out, "GB is written" in out) == (1, True, True)
    found = json.loads(run("practice --problem kv-gqa --seed 2 --answer '4 GB' --json")[1])
    assert found["mistakes_together"]
    assert {one["name"] for one in found["mistakes"]} & {"keys_only", "elements"}
    assert "gib_as_gb" in {one["name"] for one in found["mistakes"]}


def test_a_number_that_no_mistake_gives_is_told_by_its_size(run):
    code, out, _ = run("practice --problem ridge --seed 7 --answer '1257 FLOP/B'")
    assert (code, "3 times the right one" in out) == (1, True)  # the right one is 419


def test_bytes_are_shown_in_both_countings():
    assert (written(2**31, "B"), written(0.659, "ratio"), written(4.0, "times")) == ("2.147 GB = 2 GiB", "65.9 %", "4x")


def test_several_are_different_and_of_the_topic():
    ids = [one.problem.id for one in several(3, 6, "models")]
    assert len(set(ids)) == 6
    assert {PROBLEMS[id].topic for id in ids} == {"models"}
    assert [one.problem.id for one in several(3, 6, "models")] == ids != [q.problem.id for q in several(4, 6, "models")]


def test_a_script_asks_and_answers_with_exit_codes(run):
    right = written(draw(problem("kv-gqa"), 7).drawn.answer, "B").partition(" = ")[0]
    assert run(f"practice --problem kv-gqa --seed 7 --answer '{right}'")[0] == 0
    code, out, _ = run("practice --problem kv-gqa --seed 7 --answer '1 kB'")
    assert (code, "not right: 1 kB" in out) == (1, True)
    code, _, err = run("practice --problem kv-gqa --seed 7 --answer '1'")
    assert (code, "has no unit" in err) == (2, True)


def test_json_asks_without_the_answer_and_judges_with_it(run):
    asked = json.loads(run("practice --problem ridge --seed 7 --json")[1])
    assert asked["seed"] == 7
    assert not {"answer", "formula", "command"} & set(asked["problems"][0])
    question = draw(problem("ridge"), 7)
    code, out, _ = run(f"practice --problem ridge --seed 7 --answer '{question.drawn.missed['sparse']} FLOP/B' --json")
    judged = json.loads(out)
    assert (code, judged["right"], judged["answer"]) == (1, False, question.drawn.answer)
    found = {one["name"]: one["sentence"] for one in judged["mistakes"]}
    assert found.keys() == {"sparse", "elements"}  # of a 2-byte format both are twice the right number: both are said
    assert found["sparse"].startswith("the sparse peak was used")


def test_json_and_explanations_of_several_at_once(run):
    found = json.loads(run("practice --topic chips --seed 2 --json --explain")[1])["problems"]
    assert {one["id"] for one in found} == {id for id, one in PROBLEMS.items() if one.topic == "chips"}
    assert all(one["answer"] > 0 and one["command"].startswith("rooflens ") for one in found)
    code, out, _ = run("practice --topic chips --count 2 --seed 2 --explain")
    assert (code, out.count("the same number: rooflens")) == (0, 2)


def test_the_list_names_every_problem(run):
    code, out, _ = run("practice --list")
    assert code == 0
    assert all(f"\n{id} " in out for id in PROBLEMS)
    listed = json.loads(run("practice --list --topic claims --json")[1])["problems"]
    assert [one["id"] for one in listed] == [id for id, one in PROBLEMS.items() if one.topic == "claims"]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("practice --problem rigde", "did you mean 'ridge'"),
        ("practice --topic chip --seed 1", "unknown topic 'chip'"),
        ("practice --list --topic chip", "unknown topic 'chip'"),
        ("practice --answer '3 B'", "name its --problem ID and the --seed"),
        ("practice --problem ridge --answer '3 FLOP/B'", "name its --problem ID and the --seed"),
        ("practice --problem ridge --topic chips", "--problem names one problem"),
        ("practice --count 99", "has 34 problems, not 99"),
        ("practice --count 0", "--count"),
        ("practice --seed -1", "--seed"),
    ],
)
def test_a_wrong_question_is_one_sentence(run, line, sentence):
    code, out, err = run(line)
    assert (code, out, sentence in err) == (2, "", True), err


class Typed(io.StringIO):
    """Somebody at a terminal, who may press Ctrl-C in the middle."""

    def isatty(self) -> bool:
        return True

    def readline(self, *_: object) -> str:
        line = super().readline()
        if "^C" in line:
            raise KeyboardInterrupt
        return line


def sits_down(run, monkeypatch, text, *, terminal=False, line="practice --problem ridge --seed 7"):
    monkeypatch.setattr("sys.stdin", (Typed if terminal else io.StringIO)(text))
    return run(line)


def test_a_pipe_answers_line_by_line_and_ends_with_the_score(run, monkeypatch):
    questions = several(5, 3, "chips")
    right = [f"{one.drawn.answer!r} {one.problem.unit}" for one in questions]
    line = "practice --topic chips --count 3 --seed 5"
    code, out, _ = sits_down(run, monkeypatch, "\n".join(right) + "\n", line=line)
    assert (code, out.splitlines()[-1]) == (0, "3 of 3 right")
    code, out, _ = sits_down(run, monkeypatch, f"{right[0]}\nnonsense\n", line=line)
    assert (code, out.splitlines()[-1]) == (1, "1 of 2 right, 1 not answered")
    assert "not read: 'nonsense'" in out


def test_the_end_of_the_input_and_an_interrupt_end_politely(run, monkeypatch):
    for terminal, text in ((False, ""), (True, ""), (True, "^C\n")):
        code, out, err = sits_down(run, monkeypatch, text, terminal=terminal)
        assert (code, out.splitlines()[-1], err) == (0, "0 of 0 right, 1 not answered", "")


def test_on_a_terminal_what_is_no_answer_is_asked_for_again(run, monkeypatch):
    code, out, _ = sits_down(run, monkeypatch, "419\n419 FLOP/byte\n", terminal=True)
    assert (code, out.splitlines()[-1], out.count("> ")) == (0, "1 of 1 right", 2)


def test_an_empty_line_shows_the_answer_and_counts_as_none(run, monkeypatch):
    code, out, _ = sits_down(run, monkeypatch, "\n")
    assert (code, "it is 419 FLOP/B" in out, out.splitlines()[-1]) == (0, True, "0 of 0 right, 1 not answered")


def test_a_seed_that_nobody_gave_is_told(run, monkeypatch):
    _, out, _ = sits_down(run, monkeypatch, "\n", line="practice --problem gemm")
    seed = re.search(r"seed (\d+)", out)
    assert seed
    assert sits_down(run, monkeypatch, "\n", line=f"practice --problem gemm --seed {seed[1]}")[1] == out


def test_json_is_the_same_in_every_language_and_words_are_not(run):
    line = "practice --problem mfu --seed 3 --answer '10 %' --lang {}"
    assert len({run(line.format(lang) + " --json")[1] for lang in LANGUAGES}) == 1
    assert len({run(line.format(lang))[1] for lang in LANGUAGES}) == len(LANGUAGES)


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_no_phrase_is_left_in_english(lang):
    assert [k for k, text in book("practice", lang).items() if LEFT_ENGLISH.search(text)] == []


def test_every_topic_and_problem_has_its_phrases():
    phrases = book("practice", "en")
    assert {k for k in phrases if ".topic." in k} == {f"practice.topic.{topic}" for topic in TOPICS}
    for kind in ("ask", "why", "about"):
        assert {k for k in phrases if f".{kind}." in k} == {f"practice.{kind}.{id}" for id in PROBLEMS}
