"""Speed-ups on a made-up GPU: promised by two prices, found by the clock, and explained where they differ."""

from __future__ import annotations

from dataclasses import replace

import pytest
from test_cuda import GPU

from rooflens.cli import main
from rooflens.lab.gain_table import gain_table, told
from rooflens.lab.gains import gains, reason
from rooflens.lab.interpretation import interpretation
from rooflens.lab.observe import NAIVE, attention_kernels, observations
from rooflens.lab.pairing import Other
from rooflens.lab.take import take
from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.options import gpu
from rooflens.roofline.price import price_step, started_s

HONEST = {**GPU, "launch_s": 1e-6, "noise": 0.0}


def measured(**truth):
    return take(FakeBackend(FakeMachine(**{**HONEST, **truth})), gpu(), AttentionShape())


@pytest.fixture(scope="module")
def profile():
    return measured()


@pytest.fixture(scope="module")
def seen(profile):
    return observations(profile)


def test_every_change_is_predicted_at_a_small_and_at_a_large_cell(profile, seen):
    found = [(g.change, g.work) for g in gains(profile, seen)]
    assert found == [
        ("fused", 1), ("fused", 1), ("fp16", 1), ("fp16", 1), ("int8", 1), ("int8", 1),
        ("batch", 16), ("batch", 16), ("batch", 64), ("batch", 64), ("blocked", 1),
        ("batch", 16), ("batch", 64), ("batch", 16), ("batch", 64),  # two products of a feed-forward
    ]  # fmt: skip


def test_on_a_machine_that_keeps_to_its_prices_every_prediction_holds(profile, seen):
    for gain in gains(profile, seen):
        if gain.change != "blocked":  # the made-up naive prefill does not move its scores
            assert abs(gain.error) < 0.05, (gain.change, gain.before.seen.name)
            assert reason(gain, seen, profile.device) is None


def test_a_prediction_is_the_ratio_of_two_prices(profile, seen):
    gain = gains(profile, seen)[0]
    machine = profile.machine()
    ends = [
        (gain.before, 7 * 6, True),
        (gain.after, 6, False),
    ]  # calls a layer x layers; only naive is started by Python
    prices = [
        started_s(price_step(attention_kernels(end.seen.attention), machine), machine, calls, hosted=hosted)
        for end, calls, hosted in ends
    ]
    assert gain.predicted == prices[0] / prices[1]
    assert prices[0] == pytest.approx(42 * 4e-6, rel=0.01)  # the host binds: 42 launches of 4 us
    floor_s = 2 * 128 * 6 * 384 * 2 / 4.5e12  # K and V of 128 tokens in 6 layers
    assert prices[1] == pytest.approx(floor_s + 6 * 1e-6, rel=0.02)


def test_naive_attention_writes_and_reads_its_scores(seen):
    cells = {o.attention.implementation: o.attention for o in seen if o.attention and o.attention.context == 4096}
    naive, fused = (sum(k.cost.bytes for k in attention_kernels(cells[way])) for way in (NAIVE, "fused"))
    assert naive > fused


def changed(profile, times, **which):
    """The profile with the cells of these fields so many times slower."""

    def fits(cell):
        return all(getattr(cell, name) == value for name, value in which.items())

    cells = (
        replace(c, time_s=times * c.time_s, best_s=times * c.best_s, samples_s=()) if fits(c) else c
        for c in profile.attention
    )
    return replace(profile, attention=tuple(cells))


def why(profile, change, last=True):
    seen = observations(profile)
    gain = [g for g in gains(profile, seen) if g.change == change and g.before.seen.attention][-1 if last else 0]
    return gain, reason(gain, seen, profile.device)


def test_code_that_is_slow_everywhere_is_called_code(profile):
    gain, found = why(changed(profile, 5.0, implementation="naive"), "fused")
    assert found.why == "code"
    assert found.end is gain.before
    assert gain.error < 0  # it brought more than promised


def test_code_that_is_slow_only_here_is_called_too_small(profile):
    _, found = why(changed(profile, 1.5, kv_dtype="int8", context=16384, batch=16), "int8")
    assert found is None  # the largest pair is at batch 64
    _, found = why(changed(profile, 1.5, kv_dtype="int8", context=16384, batch=64), "int8")
    assert found.why == "size"
    assert (found.best.attention.batch, found.best.attention.context) != (64, 16384)


def test_a_cell_that_is_mostly_launch_is_called_launch_bound(profile):
    slow = changed(profile, 3.0, implementation="naive", context=128)
    slow = replace(slow, attention=tuple(replace(c, overhead_s=0.9 * c.time_s) for c in slow.attention))
    gain, found = why(slow, "fused", last=False)
    assert (found.why, found.end) == ("launch", gain.before)


def test_faster_than_its_price_is_resident_where_it_fits_and_a_finding_where_not(profile):
    _, found = why(changed(profile, 0.5, kv_dtype="int8", context=128), "int8", last=False)
    assert found.why == "resident"
    _, found = why(changed(profile, 0.5, kv_dtype="int8", context=16384, batch=64), "int8")
    assert found.why == "above"


def test_the_same_rows_are_told_as_data(profile, seen):
    rows = told(profile, seen)
    assert len(rows) == len(gains(profile, seen))
    for row in rows:
        assert row["error"] == pytest.approx(row["predicted"] / row["measured"] - 1)
        assert ("why" in row) == (abs(row["error"]) > 0.1)


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_the_table_has_a_row_a_speed_up_and_a_reason_where_one_is_off(profile, lang):
    slow = changed(profile, 1.5, implementation="fused, graph", dtype="fp32")
    lines = gain_table(slow, observations(slow), lang).splitlines()
    rows = [line for line in lines if line.startswith("| ")][2:]
    assert len(rows) == 15
    assert {row.count("|") for row in rows} == {8}
    assert any(" % | " in row and "fp32" in row for row in rows)


def test_a_gpu_is_interpreted_by_the_cells_that_are_drawn(profile, seen):
    text, answered = interpretation(profile, seen, Other(profile.machine("there"), profile), "en")
    assert answered == 3
    assert "## 4. Speed-ups" in text
    assert "fp16 attention (Llama-2-7B layer, batch 16, fused, graph)" in text
    assert "a step (MiniGPT, batch 1, naive)" in text


def test_what_keeps_a_machine_from_its_bandwidth_is_said_in_seconds(profile):
    slow = changed(profile, 2.0)
    text, _ = interpretation(slow, observations(slow), Other(profile.machine("there"), profile), "en")
    assert "That one is Fake GPU: of its" in text
    assert "is overhead" in text


def asked(capsys, *arguments):
    """Exit code, output and messages of one command line."""
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    return left.value.code, *capsys.readouterr()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "If this GPU is rented by the hour, end the instance"),
        (("--price-per-hour", "3.5"), "at $3.50 an hour this run has"),
    ],
)
def test_the_last_line_on_a_gpu_reminds_to_end_a_rented_instance(monkeypatch, capsys, tmp_path, profile, options, said):
    monkeypatch.setattr("rooflens.lab.run.draw", lambda *_, **__: None)
    monkeypatch.setattr("rooflens.lab.run.render", lambda _, kind: kind.encode())
    monkeypatch.setattr("rooflens.cli.lab.profile_of", lambda *_: profile)
    monkeypatch.setattr("rooflens.cli.lab.remember", lambda _: None)
    code, out, _ = asked(capsys, "lab", "--out", tmp_path, "--device", "cuda:0", *options)
    assert code == 0
    assert said in out.splitlines()[-1]
    assert "fp16 S=1024 (naive)" in out
    assert "more cells in decode_attention.json" in out
    if options:
        assert "cost $0.0" in out.splitlines()[-1]
        _, out, error = asked(capsys, "lab", "--out", tmp_path, "--json", *options)
        assert said in error.splitlines()[-1]
        assert out.rstrip().endswith("}")
        assert "rented" not in asked(capsys, "lab", "--profile", tmp_path, "--out", tmp_path / "b", *options)[1]
