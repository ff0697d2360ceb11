"""The whole lab on a machine whose ceilings are known, and on nothing but files."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from rooflens import artefacts
from rooflens.api import machine
from rooflens.cli import main
from rooflens.errors import BadFile, RooflensError
from rooflens.lab.checks import checks, in_hardware
from rooflens.lab.extension import extension
from rooflens.lab.interpretation import interpretation
from rooflens.lab.observe import observations
from rooflens.lab.pairing import Other
from rooflens.lab.run import ROOFLINE_SCHEMA, Request, Roofline, keep, lab
from rooflens.lab.staging import ARTEFACTS, Staged, profile_file, profile_place, writable
from rooflens.lab.take import contexts, take
from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.options import Options
from rooflens.records import decode, encode
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.profile import SCHEMA, Cache, Device, Profile

SHAPE = AttentionShape()


def ignore(name: str, fraction: float) -> None:
    """Progress that nobody watches."""


def measured(**truth: object) -> Profile:
    return take(FakeBackend(FakeMachine(**truth)), Options(dtypes=("fp32", "fp64", "bf16")), SHAPE)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def profile() -> Profile:
    return measured()


@pytest.fixture(scope="module")
def disturbed() -> Profile:
    return measured(cpu_share=0.5, switches_per_s=100.0)


@pytest.fixture
def no_drawing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pictures take most of the time of a lab; these are none."""
    monkeypatch.setattr("rooflens.lab.run.draw", lambda *_, **__: None)
    monkeypatch.setattr("rooflens.lab.run.render", lambda _, kind: kind.encode())


def without(profile: Profile, *ids: str, why: str = "contention: others ran") -> Profile:
    """The profile with these ceilings refused."""
    doubted = (replace(c, trusted=False, why_not=why) if c.id.startswith(ids) else c for c in profile.ceilings)
    return replace(profile, ceilings=tuple(doubted))


def content(folder: Path) -> dict[str, bytes]:
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.is_file()}


def request_to(out: Path, **more: object) -> Request:
    return Request(out, "rooflens lab", Other(machine("h100-sxm5-80gb")), **more)  # type: ignore[arg-type]


def test_every_artefact_is_written_whole_and_hashed(profile: Profile, tmp_path: Path) -> None:
    answer = lab(request_to(tmp_path), profile, ignore)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert sorted(manifest["files"]) == sorted(ARTEFACTS)
    for name, digest in manifest["files"].items():
        assert artefacts.sha256(tmp_path / name) == digest
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*ARTEFACTS, "manifest.json"])
    assert {c["name"]: c["state"] for c in answer["checks"]} == dict.fromkeys(
        (c["name"] for c in answer["checks"]), "met"
    )


@pytest.mark.usefixtures("no_drawing")
def test_evidence_names_artefact_keys_that_hold_its_values(profile: Profile, tmp_path: Path) -> None:
    for item in lab(request_to(tmp_path), profile, ignore)["evidence"]:
        found = json.loads((tmp_path / item["artefact"]).read_text(encoding="utf-8"))
        for part in item["key"].replace("[", ".").replace("]", "").split("."):
            found = found[int(part)] if part.isdigit() else found[part]
        assert found == item["value"], item["statement"]


@pytest.mark.usefixtures("no_drawing")
def test_numbers_of_the_interpretation_are_those_of_the_keys_beside_them(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), profile, ignore)
    text = (tmp_path / "interpretation.md").read_text(encoding="utf-8")

    def at(quoted: str) -> float:
        name, key = quoted.split(": ")
        found = artefacts.read_json(tmp_path / name)
        for step in re.findall(r"[a-z_]+|\d+", key):
            found = found[int(step) if step.isdigit() else step]
        return float(found)

    ridge = re.search(r"ridge point at ([\d.]+) FLOP/B \(`(.+?)` / `(.+?)`\)", text)
    slope = re.search(r"best sample of the read bandwidth, ([\d.]+) GB/s \(`(.+?)`\)", text)
    assert ridge
    assert slope
    assert float(ridge[1]) == pytest.approx(at(ridge[2]) / at(ridge[3]), rel=0.01)
    assert float(slope[1]) * 1e9 == pytest.approx(at(slope[2]), rel=1e-3)
    assert all(at(key) > 0 for key in re.findall(r"`([a-z_]+\.json: [^`]+)`", text))


def test_same_seed_gives_the_same_deterministic_evidence(profile: Profile, tmp_path: Path) -> None:
    assert deterministic(tmp_path / "a", profile) == deterministic(tmp_path / "b", measured(seed=2)) != []


@pytest.mark.usefixtures("no_drawing")
def test_a_disturbed_run_counts_what_a_clean_one_counts(profile: Profile, disturbed: Profile, tmp_path: Path) -> None:
    assert deterministic(tmp_path / "a", profile) == deterministic(tmp_path / "b", disturbed) != []
    cells = artefacts.read_json(tmp_path / "b" / "decode_attention.json")["cells"]
    assert {cell["trusted"] for cell in cells} == {False}
    assert all("flops" in cell and "time_s" in cell and "share_of_peak" not in cell for cell in cells)


@pytest.mark.usefixtures("no_drawing")
def test_trusted_cells_without_a_trusted_slope_keep_their_counts(profile: Profile, tmp_path: Path) -> None:
    slopeless = without(profile, "memory/main/read")
    assert deterministic(tmp_path / "a", profile) == deterministic(tmp_path / "b", slopeless)
    cell = artefacts.read_json(tmp_path / "b" / "decode_attention.json")["cells"][0]
    assert cell["trusted"] is False
    assert "no trusted memory slope" in cell["why_not"]


def deterministic(folder: Path, profile: Profile) -> list[object]:
    return [e for e in lab(request_to(folder), profile, ignore)["evidence"] if e["deterministic"]]


def test_every_ceiling_is_found_again_within_one_per_cent(profile: Profile) -> None:
    truth, found = FakeMachine(), profile.machine()
    for (level, access), rate in truth.memory.items():
        assert found.memory(access, level).value == pytest.approx(rate, rel=0.01), (level, access)
    for dtype, rate in truth.compute.items():
        assert found.compute(dtype).value == pytest.approx(rate, rel=0.01)


@pytest.mark.parametrize(
    ("truth", "context", "regime"),
    [
        ({}, 8192, "memory"),  # far beyond the cache, at full speed
        ({"launch_s": 20e-6}, 128, "launch"),  # 18 calls of 20 us against 2.4 MB at 100 GB/s
        ({"attention_share": 0.3}, 8192, "below-roof"),
        ({"compute": {"fp32": 10e9}, "memory": {("main", "read"): 400e9}}, 8192, "compute"),
    ],
)
def test_every_regime_is_named_right(truth: dict[str, object], context: int, regime: str) -> None:
    seen = {
        o.attention.context: o for o in observations(measured(**truth)) if o.attention and o.attention.dtype == "fp32"
    }
    assert seen[context].point.regime == regime


@pytest.mark.usefixtures("no_drawing")
def test_throttling_is_noticed_and_said(tmp_path: Path) -> None:
    throttled = measured(throttle_after_s=3.0)
    lab(request_to(tmp_path), throttled, ignore)
    assert throttled.throttle
    assert json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))["throttle"] == throttled.throttle


def test_a_disturbed_run_has_no_roof_and_says_so(disturbed: Profile, tmp_path: Path) -> None:
    answer = lab(request_to(tmp_path), disturbed, ignore)
    assert disturbed.machine().ceilings == ()
    assert "disturbed" in (tmp_path / "interpretation.md").read_text(encoding="utf-8")
    assert "met" not in {c["state"] for c in answer["checks"] if "GEMM" in c["name"] or "drawn" in c["name"]}


@pytest.mark.usefixtures("no_drawing")
def test_an_incomplete_run_never_touches_an_older_good_one(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), profile, ignore)
    before = content(tmp_path)
    folder = keep(tmp_path, replace(profile, complete=False))
    assert folder == tmp_path / "partial"
    assert content(tmp_path) == before


@pytest.mark.usefixtures("no_drawing")
def test_a_run_that_cannot_be_trusted_never_replaces_a_good_one(
    profile: Profile, disturbed: Profile, tmp_path: Path
) -> None:
    lab(request_to(tmp_path), profile, ignore)
    before = content(tmp_path)
    for worse in (
        disturbed,
        without(profile, "memory/main/read"),
        without(profile, "compute/"),
        replace(profile, contention="1 of 30 measurements was disturbed"),
        replace(profile, complete=False),
    ):
        answer = lab(request_to(tmp_path), worse, ignore)
        assert answer["folder"] == str(tmp_path / "partial")
        assert str(tmp_path / "partial") in answer["set_aside"]
        assert content(tmp_path) == before


@pytest.mark.usefixtures("no_drawing")
def test_a_good_run_replaces_a_disturbed_one_and_is_called_usable(
    profile: Profile, disturbed: Profile, tmp_path: Path
) -> None:
    for run, usable in ((disturbed, False), (profile, True)):
        assert lab(request_to(tmp_path), run, ignore)["folder"] == str(tmp_path)
        assert artefacts.read_json(tmp_path / "manifest.json")["usable"] is usable


@pytest.mark.usefixtures("no_drawing")
def test_no_file_of_an_older_run_stays_beside_new_ones(profile: Profile, disturbed: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), replace(profile, complete=False), ignore)
    (tmp_path / "mine.txt").write_text("kept", encoding="utf-8")
    lab(request_to(tmp_path), disturbed, ignore)
    names = {p.name for p in tmp_path.iterdir()}
    assert names == {*ARTEFACTS, "manifest.json", "mine.txt"} - {"roofline.png", "roofline.svg"}


@pytest.mark.usefixtures("no_drawing")
def test_ctrl_c_leaves_no_new_profile_beside_an_older_manifest(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), replace(profile, complete=False), ignore)
    before = content(tmp_path)
    assert keep(tmp_path, replace(profile, seed=7, complete=False)) == tmp_path / "partial"
    assert content(tmp_path) == before


@pytest.mark.parametrize("error", [RooflensError("the pen broke"), MemoryError(), KeyboardInterrupt()])
def test_a_failure_while_drawing_keeps_the_measurement(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise error

    monkeypatch.setattr("rooflens.lab.run.draw", fails)
    with pytest.raises(type(error)) as said:
        lab(request_to(tmp_path), profile, ignore)
    assert artefacts.profile(tmp_path) == profile
    assert not list(tmp_path.glob(".staging*"))
    if isinstance(error, RooflensError):
        assert f"kept in {tmp_path}" in str(said.value)


def test_without_matplotlib_a_sentence_says_so_and_the_measurement_is_kept(
    profile: Profile, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(RooflensError, match="no picture: matplotlib is not installed; pip install matplotlib"):
        lab(request_to(tmp_path), profile, ignore)
    assert artefacts.profile(tmp_path) == profile


@pytest.mark.usefixtures("no_drawing")
def test_a_folder_where_a_file_must_go_is_a_sentence_and_loses_nothing(profile: Profile, tmp_path: Path) -> None:
    (tmp_path / "roofline.png").mkdir()
    with pytest.raises(RooflensError, match=r"roofline\.png is a folder"):
        lab(request_to(tmp_path), profile, ignore)
    assert artefacts.profile(tmp_path) == profile


@pytest.mark.usefixtures("no_drawing")
def test_what_a_killed_lab_left_hidden_goes_with_the_next_and_what_a_living_one_writes_stays(
    profile: Profile, tmp_path: Path
) -> None:
    left = tmp_path / ".staging-left"
    left.mkdir()
    (left / "profile.json").touch()
    (tmp_path / "mine.txt").touch()
    living = Staged(tmp_path)
    lab(request_to(tmp_path), profile, ignore)
    assert {path.name for path in tmp_path.glob(".*")} == {living.folder.name}
    assert (tmp_path / "mine.txt").exists()
    living.drop()
    living.drop()
    assert not list(tmp_path.glob(".*"))


@pytest.mark.usefixtures("no_drawing")
def test_two_labs_in_one_folder_do_not_share_their_unfinished_files(profile: Profile, tmp_path: Path) -> None:
    def another(name: str, _: float) -> None:
        if name == "interpretation":
            writable(tmp_path)
            lab(request_to(tmp_path), replace(profile, seed=1), ignore)

    lab(request_to(tmp_path), profile, another)
    manifest = artefacts.read_json(tmp_path / "manifest.json")
    assert {n: artefacts.sha256(tmp_path / n) for n in ARTEFACTS} == manifest["files"]
    assert not list(tmp_path.glob(".staging*"))


@pytest.mark.usefixtures("no_drawing")
def test_a_folder_whose_name_is_no_text_holds_a_lab(profile: Profile, tmp_path: Path) -> None:
    out = tmp_path / os.fsdecode(b"x\xff")
    answer = lab(replace(request_to(out), command=f"rooflens lab --out {out}"), profile, ignore)
    assert answer["folder"].endswith("/x\\udcff")
    assert artefacts.read_json(out / "manifest.json")["command"].endswith("/x\\udcff")


def test_a_profile_on_its_own_never_replaces_a_better_one(profile: Profile, disturbed: Profile, tmp_path: Path) -> None:
    file = profile_file(tmp_path)
    assert file == tmp_path / "profile.json"
    assert not list(tmp_path.iterdir())
    artefacts.write_json(file, profile, SCHEMA)
    assert profile_place(file, replace(profile, seed=1)) == file
    for worse in (disturbed, replace(profile, complete=False)):
        assert profile_place(file, worse) == tmp_path / "profile.partial.json"


def test_a_profile_on_its_own_never_goes_into_a_lab_or_a_folder_that_cannot_take_it(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text("{}")
    for out in (tmp_path, tmp_path / "profile.json"):
        with pytest.raises(RooflensError, match="part of the lab in"):
            profile_file(out)
    with pytest.raises(RooflensError, match="cannot write"):
        profile_file(tmp_path / "manifest.json" / "p.json")


def test_a_lab_restarts_from_its_own_profile(profile: Profile, tmp_path: Path) -> None:
    first = lab(request_to(tmp_path / "a"), profile, ignore)
    again = artefacts.load(tmp_path / "a" / "profile.json", Profile, SCHEMA)
    assert again == profile
    second = lab(request_to(tmp_path / "b"), again, ignore)
    assert first["evidence"] == second["evidence"]
    for name in ("roofline.png", "roofline.svg", "interpretation.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


@pytest.mark.usefixtures("no_drawing")
def test_compared_with_a_profile_achieved_stands_beside_achieved_at_equal_s(profile: Profile, tmp_path: Path) -> None:
    faster = measured(memory={("main", "read"): 80e9, ("main", "copy"): 80e9})
    other = Other(faster.machine("faster"), faster)
    lab(replace(request_to(tmp_path), other=other), profile, ignore)
    text = (tmp_path / "interpretation.md").read_text(encoding="utf-8")
    assert "achieved against achieved" in text
    (ratio,) = re.findall(r"achieved [\d.]+ GFLOP/s, ([\d.]+) times", text)
    assert float(ratio) == pytest.approx(80 / 40, rel=0.03)


def compared(profile: Profile, other: Other) -> str:
    return interpretation(profile, observations(profile), other, "en")[0].split("\n## ")[3]


def test_the_comparison_takes_the_largest_context_that_both_have(profile: Profile) -> None:
    shorter = replace(profile, attention=tuple(a for a in profile.attention if a.context <= 512))
    assert "S = 512" in compared(profile, Other(profile.machine("there"), shorter))
    doubted = (replace(a, trusted=a.context < 256) for a in profile.attention)
    there = replace(profile, attention=tuple(doubted))
    assert "S = 128" in compared(profile, Other(profile.machine("there"), there))


def test_the_comparison_says_why_there_is_none(profile: Profile) -> None:
    only = replace(profile, attention=tuple(a for a in profile.attention if a.dtype == "fp32"))
    tpu = machine("tpu-v5e")
    assert "tpu-v5e has no known fp32 rate" in compared(only, Other(tpu))
    assert "same shape" in compared(only, Other(profile.machine("there"), replace(only, attention=())))
    assert "no known main-memory bandwidth" in compared(only, Other(Machine("x", "X", ())))
    assert "no trusted decode attention to compare" in compared(replace(only, attention=()), Other(tpu))


def products_check(profile: Profile) -> tuple[str, str]:
    check = checks(profile, observations(profile), [], 3, [])[0]
    return check.state, check.why


def test_products_are_impossible_only_for_want_of_arithmetic_or_peak(profile: Profile) -> None:
    low = tuple(replace(c, value=2 * c.value) if c.origin == "derived" else c for c in profile.ceilings)
    assert products_check(replace(profile, ceilings=low))[0] == "not met"  # 45 % of the peak
    state, why = products_check(without(profile, "compute/vector/bf16"))
    assert (state, "bf16 not trusted: contention: others ran" in why) == ("not met", True)
    plain = replace(profile, ceilings=tuple(c for c in profile.ceilings if c.dtype != "bf16"))
    assert products_check(plain)[0] == "impossible here"  # fp32 and fp64 are two
    unknown = tuple(c for c in profile.ceilings if c.id != "compute/vector/bf16/peak")
    modern = replace(profile, ceilings=unknown, device=replace(profile.device, isa=("avx512_bf16",)))
    assert products_check(modern) == (
        "impossible here",
        "fp32 90.9 %, fp64 90.9 %; the peak of bf16 is not known",
    )


def test_products_that_a_missing_library_left_out_are_not_met(profile: Profile) -> None:
    skipped = "bf16 skipped: torch is not installed; pip install 'rooflens[torch]'"
    plain = replace(profile, ceilings=tuple(c for c in profile.ceilings if c.dtype != "bf16"), skipped=(skipped,))
    modern = replace(plain, device=replace(plain.device, isa=("avx512_bf16",)))
    assert in_hardware(modern) == ["fp32", "fp64", "bf16"]
    assert products_check(modern) == ("not met", f"fp32 90.9 %, fp64 90.9 %; {skipped}")
    assert products_check(plain)[0] == "impossible here"


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_interpretation_answers_three_questions_in_every_language(profile: Profile, tmp_path: Path, lang: str) -> None:
    lab(request_to(tmp_path, lang=lang), profile, ignore)
    text = (tmp_path / "interpretation.md").read_text(encoding="utf-8")
    assert text.count("\n## ") == 3
    assert text.count("decode_attention.json: cells[") > 5


@pytest.mark.usefixtures("no_drawing")
def test_the_extension_is_kept_apart(profile: Profile, tmp_path: Path) -> None:
    mine: dict[str, object] = dict.fromkeys(("assumption", "measurement", "conclusion", "limitation"), "a sentence")
    with_it = lab(request_to(tmp_path / "a", extension=extension(mine, "mine.json")), profile, ignore)
    without = lab(request_to(tmp_path / "b"), profile, ignore)
    assert with_it.pop("student_extension") == mine
    kept = artefacts.read_json(tmp_path / "a" / "student_extension.json")
    assert encode(extension(kept, "kept.json")) == mine
    hashes = artefacts.read_json(tmp_path / "a" / "manifest.json")["files"]
    assert hashes["student_extension.json"] == artefacts.sha256(tmp_path / "a" / "student_extension.json")
    for key in with_it.keys() - {"folder"}:
        assert with_it[key] == without[key]


def test_a_faulty_extension_is_refused_with_every_fault() -> None:
    with pytest.raises(BadFile) as refused:
        extension({"assumption": "x", "mesurement": "y", "conclusion": 3}, "mine.json")
    assert "did you mean 'measurement'" in str(refused.value)
    assert "limitation: missing" in str(refused.value)


@pytest.mark.usefixtures("no_drawing")
def test_the_cost_of_the_run_is_price_times_time(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path, price_per_hour=3.6), profile, ignore)
    manifest = json.loads((tmp_path / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["cost_usd"] == pytest.approx(3.6 * profile.duration_s / 3600)


def test_contexts_double_until_the_cache_is_four_times_the_last_level() -> None:
    device = Device("a cpu", "cpu", memory_bytes=64e9, caches=(Cache("L3", 32 * 2.0**20),))
    found = contexts(device, SHAPE)
    per_token = 2 * SHAPE.layers * SHAPE.width * 4
    assert found[:4] == (128, 256, 512, 1024)
    assert found[-1] * per_token >= 4 * 32 * 2**20 > found[-2] * per_token
    assert len(contexts(device, SHAPE, quick=True)) >= 4


def test_progress_never_goes_back(profile: Profile) -> None:
    fractions: list[float] = []
    watch: Callable[[str, float], None] = lambda _, f: fractions.append(f)  # noqa: E731
    take(FakeBackend(), Options(dtypes=("fp32",)), SHAPE, watch)
    assert fractions == sorted(fractions)
    assert 0 <= fractions[0] <= fractions[-1] <= 1


@pytest.mark.parametrize(
    ("where", "damage", "said"),
    [
        ("attention", {"heads": 0}, "heads is 0"),
        ("attention", {"layers": -1}, "layers is -1"),
        ("attention", {"heads": 7}, "leaves a remainder"),
        ("attention", {"time_s": 0.0}, "time_s is 0"),
        ("attention", {"time_s": 5e-324}, "time_s is 4.94066e-324"),
        ("attention", {"overhead_s": -1.0}, "overhead_s is -1"),
        ("attention", {"samples_s": [1.0, -1.0]}, "a sample of samples_s is -1"),
        ("gemms", {"best_s": -1.0}, "best_s is -1"),
        ("gemms", {"m": 0}, "m is 0"),
        ("ceilings", {"value": 1e308}, "no machine has that"),
        ("ceilings", {"value": -1.0}, "no machine has that"),
    ],
)
def test_a_damaged_profile_is_refused_with_a_sentence(
    profile: Profile, where: str, damage: Mapping[str, object], said: str
) -> None:
    data = {"schema": SCHEMA, **encode(profile)}
    data[where][0] |= damage
    with pytest.raises(BadFile) as refused:
        decode(Profile, data, "p.json", SCHEMA)
    assert said in str(refused.value)


@pytest.mark.usefixtures("no_drawing")
def test_a_damaged_roofline_is_refused_with_a_sentence(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), profile, ignore)
    data = artefacts.read_json(tmp_path / "roofline.json")
    for intensity in (1e308, 5e-324, -1.0):
        data["points"][0]["intensity_flops_per_byte"] = intensity
        with pytest.raises(BadFile, match="no operator has that"):
            decode(Roofline, data, "r.json", ROOFLINE_SCHEMA)


def asked(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[object, str, str]:
    """Exit code, output and messages of one command line."""
    with pytest.raises(SystemExit) as left:
        main([str(a) for a in arguments])
    return left.value.code, *capsys.readouterr()


@pytest.mark.usefixtures("no_drawing")
def test_a_lab_folder_is_compared_and_figures_are_never_laid_over_a_measured_machine(
    profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lab(request_to(tmp_path / "a"), profile, ignore)
    again = ("lab", "--profile", tmp_path / "a", "--out", tmp_path / "b", "--compare")
    code, out, _ = asked(capsys, *again, tmp_path / "a")
    assert (code, "achieved against achieved" in out, "open roofline.png" in out) == (0, True, True)
    for where in (tmp_path / "a", tmp_path / "a" / "profile.json"):
        code, _, error = asked(capsys, *again, f"{where},memory=3GB/s")
        assert (code, "was measured, so memory=3GB/s cannot be laid over it" in error) == (2, True)


@pytest.mark.usefixtures("no_drawing")
def test_a_lab_without_a_picture_says_so_and_where_it_was_set_aside(
    profile: Profile, disturbed: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    artefacts.write_json(tmp_path / "p.json", disturbed, SCHEMA)
    out = tmp_path / "a"
    lab(request_to(out), profile, ignore)
    code, said, _ = asked(capsys, "lab", "--profile", tmp_path / "p.json", "--out", out)
    assert code == 0
    assert "no picture: no trusted roof" in said
    assert f"this one is in {out / 'partial'}" in said


@pytest.mark.usefixtures("no_drawing")
def test_plot_takes_a_lab_folder(profile: Profile, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lab(request_to(tmp_path), profile, ignore)
    code, said, _ = asked(capsys, "plot", tmp_path, "-o", tmp_path / "again.svg")
    assert (code, said.strip()) == (0, str(tmp_path / "again.svg"))
