"""Calibrating on one's own points: what is put in comes out, few points move little, and wrong units are said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rooflens.api.serving import fit, predict
from rooflens.errors import BadFile, RooflensError, Unknown
from rooflens.prediction.fitting import NOISE, SCHEMA, factors, solved, spread
from rooflens.records import encode

H100 = "h100-sxm5-80gb"
LOADS = [(1, 1024, 512), (4, 1024, 512), (16, 2048, 256), (64, 1024, 1024), (128, 512, 512)]
HEAD = "batch,prompt,output,tpot_ms"


def points(times):
    """What the engine would give, times a factor that differs by load."""
    found = []
    for i, (batch, prompt, output) in enumerate(LOADS):
        expected = predict(
            "llama-3.1-8b", H100, engine="vllm", batch=batch, prompt=prompt, output=output
        ).tpot_s.estimate
        found.append({"batch": batch, "prompt": prompt, "output": output, "tpot_s": expected * times(i)})
    return found


def test_a_deployment_that_is_a_third_slower_everywhere_is_learnt_from_five_points():
    own, said = fit("llama-3.1-8b", H100, points(lambda i: 1.3), engine="vllm")
    assert own.fit.error_before == pytest.approx(0.3 / 1.3, rel=0.01)
    assert own.fit.error_after < 0.05
    assert said == ()


def test_points_that_agree_with_the_constants_leave_them_as_they_are():
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 1.0), engine="vllm")
    assert (own.fit.roofs, own.fit.fixed, own.fit.prompts) == pytest.approx((1, 1, 1), abs=1e-6)


def test_one_outlier_is_heard_less_than_four_that_agree():
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 3.0 if i == 2 else 1.0), engine="vllm")
    assert own.fit.error_after < 0.15


@settings(max_examples=50, deadline=None)
@given(
    times=st.tuples(st.floats(0.7, 1.5), st.floats(0.7, 1.5), st.floats(0.7, 1.5)),
    parts=st.lists(st.tuples(*[st.floats(0.1, 10)] * 3), min_size=6, max_size=12),
)
def test_factors_bring_their_own_points_nearer(times, parts):
    measured = [sum(t * p for t, p in zip(times, three, strict=True)) for three in parts]
    found = factors(parts, measured)
    assert min(found) > 0

    def error(by):
        said = [sum(t * p for t, p in zip(by, three, strict=True)) for three in parts]
        return sum((a / m - 1) ** 2 for a, m in zip(said, measured, strict=True))

    assert error(found) <= error((1, 1, 1)) + 1e-6


@pytest.mark.parametrize("times", [0.5, 1.3, 6.0])
@pytest.mark.parametrize("points", [4, 50])
def test_points_that_agree_are_believed_however_far_they_lie(times, points):
    """One part alone, prior variance v = 0.5^2 + 0.35^2: n points leave v / (v + noise^2 / n) of the way to go."""
    v, noise = 0.5**2 + 0.35**2, NOISE**2 / points
    roofs, fixed, prompts = factors([(2.0, 0.0, 0.0)] * points, [2.0 * times] * points)
    assert roofs - 1 == pytest.approx((times - 1) * v / (v + noise), rel=2e-4)
    moved_along = 0.35**2 / v  # what nobody saw moves by what parts have in common
    assert (fixed - 1, prompts - 1) == pytest.approx([(roofs - 1) * moved_along] * 2)


def test_a_small_system_is_solved():
    assert solved([[0.0, 2.0], [4.0, 1.0]], [2.0, 9.0]) == pytest.approx([2.0, 1.0])


def test_the_door_writes_a_file_that_predict_takes(cli, tmp_path):
    rows = [f"{p['batch']},{p['prompt']},{p['output']},{1e3 * p['tpot_s']}" for p in points(lambda i: 1.2)]
    (tmp_path / "mine.csv").write_text("\n".join([HEAD, *rows]))
    asked = ["--model", "llama-3.1-8b", "--on", H100, "--engine", "vllm"]
    written = cli("fit", str(tmp_path / "mine.csv"), *asked, "-o", str(tmp_path / "own.json"))
    assert written.code == 0
    assert json.loads((tmp_path / "own.json").read_text())["schema"] == "rooflens/calibrated/1"
    load = ["--batch", "16", "--prompt", "1024", "--output", "512", "--engine", "vllm", "--json"]
    before, after = (
        json.loads(cli("predict", "llama-3.1-8b", "--on", H100, *load, *more).out)
        for more in ([], ["--calibration", str(tmp_path / "own.json")])
    )
    assert after["tpot_s"]["estimate"] == pytest.approx(1.2 * before["tpot_s"]["estimate"], rel=0.06)
    assert any("5 points of your own" in c["origin"] for c in after["constants"])
    elsewhere = cli(
        "predict", "llama-3.1-70b", "--on", H100, "--tp", "4", *load[:-1], "--calibration", str(tmp_path / "own.json")
    )
    assert "may not hold here" in elsewhere.out


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([], "needs at least 2"),
        (["1,1024,512,8"], "needs at least 2"),
        (["1,1024,512,8," + "x" * 200_000], "line 2 is no CSV: field larger than field limit"),
        (["1,1024,512,8000", "4,1024,512,9000"], "is it in ms"),
        (["1,1024,512,0.008", "4,1024,512,0.009"], "beats the floor"),
        (["1,1024,512,x", "4,1024,512,9"], "not a number"),
        (["1,1024,512,-3", "4,1024,512,9"], "above 0"),
        (["1.5,1024,512,8", "4,1024,512,9"], "batch"),
        (["1,1024", "4,1024,512,9"], "line 2: output is missing"),
        (["1,1024,512,8,5", "4,1024,512,9"], "line 2: has more values than columns"),  # 8.5 with a comma
        (["1,1024,512,inf", "4,1024,512,9"], "and finite"),
        (["1,1024,512,1e200", "4,1024,512,9"], "e+"),
    ],
)
def test_points_that_no_engine_gives_are_refused_in_a_sentence(cli, tmp_path, rows, said):
    (tmp_path / "mine.csv").write_text("\n".join([HEAD, *rows]))
    result = cli("fit", str(tmp_path / "mine.csv"), "--model", "llama-3.1-8b", "--on", H100, "--engine", "vllm")
    assert result.code == 2
    assert said in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    ("head", "said"),
    [
        (f"{HEAD},batch", "there twice: batch"),
        (f"{HEAD},tpot_s", "both say the time"),
        (HEAD.replace("batch", "Batch"), "missing: batch$"),
    ],
)
def test_columns_that_say_two_things_are_not_chosen_from(head, said):
    from rooflens.cli.fit import read_points

    with pytest.raises(BadFile, match=said):
        read_points(f"{head}\n1,1024,512,8,9\n", "mine.csv")


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_table_is_read_as_spreadsheets_and_people_write_it(tmp_path, encoding):
    from rooflens.cli.fit import measured

    file = tmp_path / "mine.csv"
    file.write_bytes("batch, prompt, output, tpot_ms\r\n4, 1024, 512, 8\r\n".encode(encoding))
    assert measured(file) == [{"batch": 4, "prompt": 1024, "output": 512, "tpot_s": 0.008}]


@pytest.mark.parametrize("text", ["", "a,b\n1,2", "batch,prompt,output\n1,2,3", f"{HEAD},tpot_s\n1,2,3,4,5", "\0\0"])
def test_a_file_of_another_kind_says_which_columns_are_missing(text):
    from rooflens.cli.fit import read_points

    with pytest.raises((BadFile, RooflensError)):
        read_points(text, "mine.csv")


def test_a_calibrated_file_of_another_engine_is_refused(cli, tmp_path):
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 1.2), engine="vllm")
    from rooflens import artefacts
    from rooflens.prediction.fitting import SCHEMA

    artefacts.write_json(tmp_path / "own.json", own, SCHEMA)
    result = cli(
        "predict", "llama-3.1-8b", "--on", H100, "--engine", "sglang", "--calibration", str(tmp_path / "own.json")
    )
    assert result.code == 2
    assert "fitted for vllm" in result.err
    damaged = tmp_path / "bad.json"
    damaged.write_text((tmp_path / "own.json").read_text()[:-30])
    assert cli("predict", "llama-3.1-8b", "--on", H100, "--engine", "vllm", "--calibration", str(damaged)).code == 2


def test_a_thousand_points_are_as_quick_to_hear_as_five():
    parts = [(1.0 + i % 7, 2.0, 0.5 + i % 3) for i in range(1000)]
    measured = [1.2 * a + 0.9 * b + 1.1 * c for a, b, c in parts]
    assert factors(parts, measured) == pytest.approx((1.2, 0.9, 1.1), rel=0.02)


def test_points_that_agree_narrow_the_interval_and_points_that_do_not_widen_it():
    assert spread([1.0] * 5, [1.0] * 5) == pytest.approx((4 / 9) ** 0.5)  # nothing left over: only what is usual
    assert spread([1.0] * 5, [1 + NOISE, 1 - NOISE] * 2 + [1 + NOISE]) == pytest.approx(1.0)
    assert spread([1.0] * 5, [1.5, 0.6, 1.0, 1.4, 0.8]) > 2
    assert spread([1.0] * 2, [1.0, 100.0]) == pytest.approx(((4 + 25) / 6) ** 0.5)  # an outlier counts as five noises


def test_the_spread_of_ones_own_points_is_the_width_of_the_interval(tmp_path):
    def width(times):
        own, _ = fit("llama-3.1-8b", H100, points(times), engine="vllm")
        file = tmp_path / "own.json"
        file.write_text(json.dumps({"schema": SCHEMA, **encode(own)}))
        found = predict("llama-3.1-8b", H100, engine="vllm", prompt=1024, output=512, calibration=str(file)).tpot_s
        return found.high / found.low

    assert width(lambda i: 1.0) < width(lambda i: 1.0 + 0.1 * (-1) ** i) < width(lambda i: 1.0 + 0.3 * (-1) ** i)


def test_an_engine_that_nobody_knows_is_named_before_anything_is_fitted():
    with pytest.raises(Unknown, match="did you mean 'vllm'"):
        fit("llama-3.1-8b", H100, [], engine="vlm")


@pytest.mark.parametrize(("name", "value"), [("roofs", -1.0), ("spread", 1e300), ("fixed", 0.0), ("points", 1)])
def test_a_calibrated_file_with_factors_that_no_fit_gives_is_refused(tmp_path, name, value):
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 1.0), engine="vllm")
    file, held = tmp_path / "own.json", encode(own)
    file.write_text(json.dumps({"schema": SCHEMA, **held, "fit": {**held["fit"], name: value}}))
    with pytest.raises(BadFile, match=name):
        predict("llama-3.1-8b", H100, engine="vllm", calibration=str(file))


def test_factors_of_other_devices_or_formats_are_said(tmp_path):
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 1.0), engine="vllm")
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"schema": SCHEMA, **encode(own)}))
    same = predict("llama-3.1-8b", H100, engine="vllm", calibration=str(file))
    other = predict("llama-3.1-8b", H100, engine="vllm", calibration=str(file), tp=2, weights="fp8")
    assert not [note for note in same.notes if "fitted on" in note]
    assert [note for note in other.notes if "formats weights bf16" in note and "tp 1" in note]


def test_factors_of_no_engine_say_how_they_are_asked_for(tmp_path):
    own, _ = fit("llama-3.1-8b", H100, points(lambda i: 1.0))
    file = tmp_path / "own.json"
    file.write_text(json.dumps({"schema": SCHEMA, **encode(own)}))
    with pytest.raises(RooflensError, match="leave --engine away"):
        predict("llama-3.1-8b", H100, engine="vllm", calibration=str(file))


def test_a_point_that_takes_no_time_is_refused():
    with pytest.raises(RooflensError, match="a time must be above 0"):
        fit("llama-3.1-8b", H100, [{"batch": 1, "prompt": 1024, "output": 512, "tpot_s": 0.0}] * 2)


def test_a_point_beyond_the_models_positions_is_refused():
    with pytest.raises(RooflensError, match="made for 131072 positions, and 200001 are asked for"):
        fit("llama-3.1-8b", H100, [{"batch": 1, "prompt": 200000, "output": 1, "tpot_s": 0.02}] * 2)


def test_a_measured_machine_is_told_to_stand_behind_on(cli):
    profile = Path(__file__).parents[1] / "experiments" / "h200" / "profile.json"
    told = cli("fit", str(profile), "--model", "llama-3.1-8b", "--on", "h200-sxm-141gb")
    assert (told.code, f"--on {profile}, without a fit" in told.err) == (2, True)
