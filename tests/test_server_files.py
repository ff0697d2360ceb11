"""Files that the page is given: who else reads them, and what of them is left in memory."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
from metric_pages import vllm
from node_files import full, matrix
from observed_files import TRACE
from starlette.testclient import TestClient

from rooflens import artefacts
from rooflens.cli.page import opened
from rooflens.errors import RooflensError
from rooflens.present.refused import refused
from rooflens.server import apart, memory, uploads
from rooflens.server.app import app
from rooflens.server.run import moved

DATA = Path(__file__).parent / "data"
HOME = "http://127.0.0.1"
SHIPPED = artefacts.PROFILES / "h200-sxm-141gb.json"
TABLE = "| model | test | t/s |\n| --- | --- | --- |\n| llama 8B | tg128 | 150.00 |\n"


@pytest.mark.parametrize(("line", "end"), [("bench", ": rooflens bench FILE"), ("", "")])
def test_what_takes_too_long_names_the_verb_that_reads_it_or_none(tmp_path, monkeypatch, line, end) -> None:
    """A child that knows so much, and then says nothing more."""
    script = tmp_path / "child"
    script.write_text(f"#!/bin/sh\necho {line}\nexec sleep 60\n")
    script.chmod(0o755)
    monkeypatch.setattr(apart.sys, "executable", str(script))
    with pytest.raises(RooflensError) as stopped:
        asyncio.run(apart.file("x", b"x", {}, seconds=5.0))
    assert str(stopped.value) == f"{apart.TOO_LONG.format(seconds=5.0)}{end}"
    assert all(refused(str(stopped.value), lang) != str(stopped.value) for lang in ("es", "vi"))


@pytest.mark.parametrize(
    ("name", "content", "verb"),
    [
        ("trace.json.gz", TRACE.read_bytes(), "kernels"),
        ("ncu.csv.gz", (DATA / "h200_ncu_roofline.csv.gz").read_bytes(), "kernels"),
        ("bench.md", TABLE.encode(), "bench"),
        ("llama.json", (DATA / "llama_bench_made_up.json").read_bytes(), "bench"),
        ("topo.txt", matrix(full(4, "NV12")).encode(), "doctor"),
        ("metrics.txt", vllm().encode(), None),
        ("profile.json", b'{"schema": "rooflens/profile/1"}', None),
        ("none.txt", b"", None),
        ("strange.bin", bytes(range(256)), None),
        ("strange.txt", b"nothing that anybody knows", None),
    ],
)
def test_the_verb_that_reads_a_file_is_known_by_its_beginning(tmp_path, name, content, verb) -> None:
    (tmp_path / name).write_bytes(content)
    assert uploads.verb(tmp_path / name) == verb


@pytest.mark.parametrize("content", ['[{"avg_ts": 1, "n_prompt"', "[" * 100_000, '{"a": [1, 2'])
def test_json_that_is_cut_off_or_too_deep_is_told_in_the_language_and_of_one_kind(tmp_path, content) -> None:
    (tmp_path / "cut.json").write_text(content)
    with pytest.raises(RooflensError) as said:
        uploads.read(tmp_path / "cut.json", uploads.Asked())
    told = {lang: refused(str(said.value).replace(f"{tmp_path}/", ""), lang) for lang in ("en", "es", "vi")}
    assert len(set(told.values())) == 3
    assert all(text.startswith("cut.json: ") and "text of a node" not in text for text in told.values())


def test_a_folder_whose_owner_is_gone_is_swept_and_no_other(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "SHARED", tmp_path)
    left, foreign, elsewhere = (tmp_path / name for name in (f"{memory.OURS}left", "rooflens-other", "kept"))
    for home in (left, foreign, elsewhere):
        home.mkdir()
        (home / "profile.json").touch()
    link = tmp_path / f"{memory.OURS}link"
    link.symlink_to(elsewhere)
    with memory.folder() as held:
        memory.sweep()
        assert set(tmp_path.iterdir()) == {held, foreign, elsewhere, link}
    assert (elsewhere / "profile.json").exists()
    assert not held.exists()


@pytest.mark.slow
def test_what_a_killed_server_leaves_is_gone_when_the_next_one_answers(tmp_path) -> None:
    name = f"mine-{tmp_path.parent.name}-{tmp_path.name}.json"
    (tmp_path / name).write_bytes(SHIPPED.read_bytes())
    copies = f"{memory.OURS}*/0/{name}"
    with serving(tmp_path, "--on", name) as (killed, _):
        assert len(list(memory.SHARED.glob(copies))) == 1
        killed.kill()
        killed.wait(60)
    assert len(list(memory.SHARED.glob(copies))) == 1
    with serving(tmp_path) as (_, _):
        assert list(memory.SHARED.glob(copies)) == []


@contextmanager
def serving(home, *more):
    """A server of its own, whose home is this folder, once it answers: its process and its address."""
    command = [sys.executable, "-m", "rooflens", "serve", *more, "--port", "0", "--json"]
    nobody = {**os.environ, "HOME": str(home), "XDG_DATA_HOME": ""}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=home, env=nobody) as served:
        try:
            url = json.loads("".join(iter(served.stdout.readline, "}\n")) + "}")["url"]
            with urllib.request.urlopen(f"{url}start", timeout=60):
                yield served, url
        finally:
            served.terminate()
            served.wait(60)


def test_the_run_kept_of_this_machine_is_answered_as_it_was_at_the_start(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    asked = {"model": "llama-3.1-8b", "machines": ("here",), "lang": "en"}
    with pytest.raises(RooflensError, match="no trusted run is kept in"):
        opened(dict(asked))
    artefacts.here().parent.mkdir(parents=True)
    artefacts.here().write_bytes(SHIPPED.read_bytes())
    first, given = opened(dict(asked))
    with memory.as_they_are(given) as copies:
        artefacts.here().write_text("{}")
        with TestClient(app(moved(first, given, copies), copies), base_url=HOME) as page:
            start = page.get("/start").json()
            assert (start["given"], start["first"]["machines"]) == (["here"], ["here"])
            found = page.post("/api/state", json=start["first"])
            assert found.json()["predict"]["machine"] == "NVIDIA H200"
            assert "--on here" in found.json()["commands"]["predict"]
            assert str(tmp_path) not in found.text
            assert "/dev/shm" not in found.text
            own = page.post("/api/state", json={**start["first"], "machines": ["here,memory=2TB/s"]}).json()
            assert "--on here,memory=2TB/s" in own["commands"]["predict"]
