"""States, files and machines that nobody hopes for: each is answered, or refused in a sentence, and never half."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rooflens import artefacts
from rooflens.api.serving import predict
from rooflens.cli.page import opened
from rooflens.errors import RooflensError
from rooflens.present.words import book, say
from rooflens.server import memory, uploads
from rooflens.server.app import app
from rooflens.server.run import moved
from rooflens.server.state import MOST_CONFIG, state

H100 = "h100-sxm5-80gb"
LLAMA = {"machines": [H100], "model": "llama-3.1-8b"}
HOME = "http://127.0.0.1"
SHIPPED = artefacts.PROFILES / "h200-sxm-141gb.json"


@pytest.fixture(scope="module")
def page():
    with TestClient(app(state(LLAMA)), base_url=HOME, raise_server_exceptions=False) as client:
        yield client


def ask(page, kind="state", **changed):
    return page.post(f"/api/{kind}", json={**LLAMA, **changed})


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_a_rate_of_nothing_is_refused_as_on_the_command_line(page, lang) -> None:
    reply = ask(page, measured_tokens_per_s=0.0, lang=lang)
    assert reply.status_code == 422
    assert reply.json()["error"] == book("refused", lang)["refused.measured_rate"].format(found="0")


def test_a_model_without_experts_is_told_of_the_skew_too(page) -> None:
    assert "skew" in ask(page, routing_skew=0.5).json()["error"]


def test_a_config_that_no_state_can_hold_is_refused_when_it_is_dropped(tmp_path) -> None:
    path = tmp_path / "large.json"
    path.write_text(json.dumps({"model_type": "llama", "more": "x" * MOST_CONFIG}))
    with pytest.raises(RooflensError, match=f"read up to {MOST_CONFIG} bytes"):
        uploads.read(path, uploads.Asked(H100))


def test_an_empty_file_is_said_to_be_empty_once(tmp_path) -> None:
    (tmp_path / "none.txt").touch()
    with pytest.raises(RooflensError) as said:
        uploads.read(tmp_path / "none.txt", uploads.Asked(H100))
    assert str(said.value).count("is empty") == 1


def test_a_point_says_its_share_of_the_step(page) -> None:
    found = ask(page, batch=16).json()
    for spot in found["plot"]["spots"]:
        assert dict(spot["row"])[say("page.step_share", "en")] == found["operators"]["rows"][spot["at"]]["time"]


@pytest.mark.parametrize("changed", [{}, {"model": "llama-3.1-405b"}, {"context": 131072}, {"weights": "fp8"}])
def test_batching_says_where_memory_ends_before_it_stops_being_free(page, changed) -> None:
    found = ask(page, "batching", **changed).json()
    room = ask(page, **changed).json()["predict"]["batch_memory_allows"]
    free = found["free"] or found["batches"][-1]
    assert found["room"] == room
    said = say("page.free_room", "en", batch=room)
    assert (said in found["text"]) == (said in found["short"]) == (room < free)


def fewer(tmp_path, keeps) -> str:
    """The measured H200 with some of its ceilings."""
    whole = json.loads(SHIPPED.read_text())
    whole["ceilings"] = [ceiling for ceiling in whole["ceilings"] if keeps(ceiling)]
    path = tmp_path / "few.json"
    path.write_text(json.dumps(whole))
    return str(path)


@pytest.mark.parametrize("kind", ["compute", "memory", "launch", "link"])
@pytest.mark.parametrize("changed", [{}, {"tp": 2}, {"phase": "prefill"}, {"engine": "eager"}], ids=str)
def test_a_machine_of_few_ceilings_is_answered_or_refused(tmp_path, kind, changed) -> None:
    path = fewer(tmp_path, lambda ceiling: ceiling["kind"] != kind)
    first, given = opened({"model": "llama-3.1-8b", "machines": (path,), "lang": "es"})
    with TestClient(app(first, given), base_url=HOME, raise_server_exceptions=False) as page:
        for asked in ("state", "batching", "ceilings"):
            reply = page.post(f"/api/{asked}", json={**LLAMA, "machines": ["few.json"], **changed})
            assert reply.status_code in (200, 422), reply.text
            assert reply.status_code == 200 or reply.json()["error"]


def test_a_measured_machine_whose_launches_are_not_known_has_floors(tmp_path) -> None:
    """What its kernels cost beside their work is not known, so no step is expected of it, and that is said."""
    found = predict("llama-3.1-8b", fewer(tmp_path, lambda ceiling: ceiling["kind"] != "launch"))
    assert found.tpot_s.floor > 0
    assert found.tpot_s.estimate is None
    assert any("no launch of kernels" in note for note in found.notes)


def test_given_files_are_answered_as_they_were_at_the_start(tmp_path) -> None:
    """Processes read them at different times: a file that changes, or goes, must not give two answers."""
    lab = tmp_path / "lab"
    lab.mkdir()
    for path in (tmp_path / "mine.json", lab / "profile.json"):
        path.write_bytes(SHIPPED.read_bytes())
    paths = (str(tmp_path / "mine.json"), f"{lab},memory=2TB/s")
    first, given = opened({"model": "llama-3.1-8b", "machines": paths, "lang": "en"})
    with memory.as_they_are(given) as copies:
        (tmp_path / "mine.json").write_text("{}")
        (lab / "profile.json").unlink()
        now = moved(first, given, copies)
        assert all(path.startswith("/dev/shm/rooflens-") for path in copies.values())
        with TestClient(app(now, copies), base_url=HOME, raise_server_exceptions=False) as page:
            start = page.get("/start").json()["first"]
            assert start["machines"] == ["mine.json", "lab,memory=2TB/s"]
            reply = page.post("/api/state", json=start)
            assert reply.status_code == 200
            assert "/dev/shm" not in reply.text
            assert "--on mine.json" in reply.json()["commands"]["predict"]
    assert not any(Path(path).exists() for path in copies.values())


def test_files_that_cannot_be_copied_stay_where_they_are(tmp_path, monkeypatch) -> None:
    given = {"gone.json": str(tmp_path / "gone.json")}
    with memory.as_they_are(given) as copies:
        assert copies == given
    monkeypatch.setattr(memory, "SHARED", tmp_path / "nothing")
    with memory.as_they_are({"mine.json": str(SHIPPED)}) as copies:
        assert copies == {"mine.json": str(SHIPPED)}


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_what_is_not_modelled_and_what_an_estimate_rests_on_are_told_in_the_language(page, lang) -> None:
    found = ask(page, model="deepseek-v3", machines=["h200-sxm-141gb"], tp=8, lang=lang).json()
    assert found["predict"]["not_modelled"]
    opening = say("predict.not_modelled", lang, text="")
    assert sum(note.startswith(opening) for note in found["notes"]) == len(found["predict"]["not_modelled"])
    names = [name for name, *_ in found["predicted"]["constants"]]
    assert say("predict.constant.memory reach, cache", lang) in names
    assert len(names) == len(found["predict"]["constants"])
    assert {say("frame.origin.spec", lang)} <= {origin for *_, origin in found["predicted"]["constants"]}


def test_a_claim_of_two_roofs_is_told_in_the_language(page) -> None:
    asked = {"first": f"{H100}:fp8", "second": "a100-sxm4-80gb:bf16", "times": 6.0, "lang": "es"}
    found = page.post("/api/claim", json=asked).json()
    assert "fp8, denso frente a bf16, denso" in {row[0] for row in found["table"]["rows"]}


@pytest.mark.slow
@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGINT])
def test_a_server_that_is_ended_leaves_no_copies(tmp_path, end) -> None:
    name = f"mine-{tmp_path.parent.name}-{tmp_path.name}.json"
    (tmp_path / name).write_bytes(SHIPPED.read_bytes())
    command = [sys.executable, "-m", "rooflens", "serve", "--on", name, "--port", "0", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as served:
        said = "".join(iter(served.stdout.readline, "}\n")) + "}"
        with urllib.request.urlopen(f"{json.loads(said)['url']}start", timeout=60) as reply:
            assert json.load(reply)["given"] == [name]
        assert len(list(memory.SHARED.glob(f"rooflens-*/0/{name}"))) == 1
        served.send_signal(end)
        served.wait(60)
        assert served.stderr.read() == ""
    assert list(memory.SHARED.glob(f"rooflens-*/0/{name}")) == []
