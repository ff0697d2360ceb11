"""The whole lab on a machine whose ceilings are known, and on nothing but files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rooflens import artefacts
from rooflens.api import machine
from rooflens.errors import BadFile
from rooflens.lab.extension import extension
from rooflens.lab.interpretation import Other
from rooflens.lab.observe import observations
from rooflens.lab.run import ARTEFACTS, Request, keep, lab
from rooflens.lab.take import contexts, take
from rooflens.measure.backend import AttentionShape
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.options import Options
from rooflens.roofline.profile import SCHEMA, Cache, Device, Profile

SHAPE = AttentionShape()


def ignore(name: str, fraction: float) -> None:
    """Progress that nobody watches."""


def measured(**truth: object) -> Profile:
    return take(FakeBackend(FakeMachine(**truth)), Options(dtypes=("fp32", "fp64", "bf16")), SHAPE)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def profile() -> Profile:
    return measured()


def request_to(out: Path, **more: object) -> Request:
    return Request(out, "rooflens lab", Other(machine("h100-sxm5-80gb")), **more)  # type: ignore[arg-type]


def test_every_artefact_is_written_whole_and_hashed(profile: Profile, tmp_path: Path) -> None:
    answer = lab(request_to(tmp_path), profile, ignore)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert sorted(manifest["files"]) == sorted(ARTEFACTS)
    for name, digest in manifest["files"].items():
        assert artefacts.sha256(tmp_path / name) == digest
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted([*ARTEFACTS, "manifest.json"])
    assert {c["name"]: c["state"] for c in answer["checks"]} == dict.fromkeys(
        (c["name"] for c in answer["checks"]), "met"
    )


def test_evidence_names_artefact_keys_that_hold_its_values(profile: Profile, tmp_path: Path) -> None:
    for item in lab(request_to(tmp_path), profile, ignore)["evidence"]:
        found = json.loads((tmp_path / item["artefact"]).read_text())
        for part in item["key"].replace("[", ".").replace("]", "").split("."):
            found = found[int(part)] if part.isdigit() else found[part]
        assert found == item["value"], item["statement"]


def test_same_seed_gives_the_same_deterministic_evidence(tmp_path: Path) -> None:
    def deterministic(folder: str, **truth: object) -> list[object]:
        answer = lab(request_to(tmp_path / folder), measured(**truth), ignore)
        return [e for e in answer["evidence"] if e["deterministic"]]

    assert deterministic("a", seed=1) == deterministic("b", seed=2) != []


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


def test_throttling_is_noticed_and_said(tmp_path: Path) -> None:
    throttled = measured(throttle_after_s=3.0)
    lab(request_to(tmp_path), throttled, ignore)
    assert throttled.throttle
    assert json.loads((tmp_path / "manifest.json").read_text())["throttle"] == throttled.throttle


def test_a_disturbed_run_has_no_roof_and_says_so(tmp_path: Path) -> None:
    disturbed = measured(cpu_share=0.5, switches_per_s=100.0)
    answer = lab(request_to(tmp_path), disturbed, ignore)
    assert disturbed.machine().ceilings == ()
    assert "disturbed" in (tmp_path / "interpretation.md").read_text()
    assert "met" not in {c["state"] for c in answer["checks"] if "GEMM" in c["name"] or "drawn" in c["name"]}


def test_an_incomplete_run_never_touches_an_older_good_one(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path), profile, ignore)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    folder = keep(tmp_path, replace(profile, complete=False))
    assert folder == tmp_path / "partial"
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_a_lab_restarts_from_its_own_profile(profile: Profile, tmp_path: Path) -> None:
    first = lab(request_to(tmp_path / "a"), profile, ignore)
    again = artefacts.load(tmp_path / "a" / "profile.json", Profile, SCHEMA)
    assert again == profile
    second = lab(request_to(tmp_path / "b"), again, ignore)
    assert first["evidence"] == second["evidence"]
    for name in ("roofline.png", "roofline.svg", "interpretation.md"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_compared_with_a_profile_achieved_stands_beside_achieved_at_equal_s(profile: Profile, tmp_path: Path) -> None:
    faster = measured(memory={("main", "read"): 80e9, ("main", "copy"): 80e9})
    other = Other(faster.machine("faster"), faster)
    lab(replace(request_to(tmp_path), other=other), profile, ignore)
    text = (tmp_path / "interpretation.md").read_text()
    assert "achieved against achieved" in text
    (ratio,) = re.findall(r"achieved [\d.]+ GFLOP/s, ([\d.]+) times", text)
    assert float(ratio) == pytest.approx(80 / 40, rel=0.03)


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_interpretation_answers_three_questions_in_every_language(profile: Profile, tmp_path: Path, lang: str) -> None:
    lab(request_to(tmp_path, lang=lang), profile, ignore)
    text = (tmp_path / "interpretation.md").read_text()
    assert text.count("\n## ") == 3
    assert text.count("decode_attention.json: cells[") > 5


def test_the_extension_is_kept_apart(profile: Profile, tmp_path: Path) -> None:
    mine: dict[str, object] = dict.fromkeys(("assumption", "measurement", "conclusion", "limitation"), "a sentence")
    with_it = lab(request_to(tmp_path / "a", extension=extension(mine, "mine.json")), profile, ignore)
    without = lab(request_to(tmp_path / "b"), profile, ignore)
    assert with_it.pop("student_extension") == mine
    for key in with_it.keys() - {"folder"}:
        assert with_it[key] == without[key]


def test_a_faulty_extension_is_refused_with_every_fault() -> None:
    with pytest.raises(BadFile) as refused:
        extension({"assumption": "x", "mesurement": "y", "conclusion": 3}, "mine.json")
    assert "did you mean 'measurement'" in str(refused.value)
    assert "limitation: missing" in str(refused.value)


def test_the_cost_of_the_run_is_price_times_time(profile: Profile, tmp_path: Path) -> None:
    lab(request_to(tmp_path, price_per_hour=3.6), profile, ignore)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
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
