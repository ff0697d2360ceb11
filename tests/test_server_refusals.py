"""What the page refuses: in the language, as a sentence of what a person can do there, in time, and without a path."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
from functools import partial
from string import Formatter

import pytest
import uvicorn
from starlette.testclient import TestClient

from rooflens.errors import RooflensError, Unknown
from rooflens.present.lang.refused import SAID
from rooflens.present.refused import refused
from rooflens.present.words import book
from rooflens.server import app as application
from rooflens.server import hiding, wire
from rooflens.server.app import app
from rooflens.server.guard import LOOPBACK, POLICY
from rooflens.server.kept import BESIDE, Kept
from rooflens.server.refusals import Refusal
from rooflens.server.run import address
from rooflens.server.state import State, state
from rooflens.server.workers import RETRY_S, Processes

H100 = "h100-sxm5-80gb"
LLAMA = {"machines": [H100], "model": "llama-3.1-8b"}
HOME = "http://127.0.0.1"
JSON = {"content-type": "application/json"}
OTHERS = ("es", "vi")


@pytest.fixture(scope="module")
def page():
    names = LOOPBACK | {"box.lan"}
    with TestClient(app(state(LLAMA), names=names), base_url=HOME, raise_server_exceptions=False) as client:
        yield client


def ask(page, changed=None, **headers):
    return page.post("/api/state", content=json.dumps({**LLAMA, **(changed or {})}), headers={**JSON, **headers})


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8077", 200), ("10.20.30.40", 200), ("[::1]:8077", 200), ("LocalHost:1", 200), ("box.lan", 200),
        ("box.lan.:80", 200), ("evil.example", 421), ("127.0.0.1.evil.example", 421), ("box.lan.evil.example", 421),
        ("127.0.0.1@evil.example", 421), ("evil.example@127.0.0.1", 421), ("127.0.0.1/x", 421), ("a:b:c", 421),
        ("", 421), ("127.0.0.1:99999", 421),
    ],
)  # fmt: skip
def test_only_numbers_and_names_that_were_given_are_answered(page, host, status) -> None:
    """A foreign name that was made to mean this address (DNS rebinding) is a name that nobody gave."""
    reply = page.get("/start", headers={"host": host})
    assert reply.status_code == status
    assert status == 200 or "--name" in reply.json()["error"]


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("http://127.0.0.1", 200), ("http://127.0.0.1:80", 200), ("https://127.0.0.1", 403), ("ftp://127.0.0.1", 403),
        ("https://127.0.0.1:80", 403), ("http://127.0.0.1:8080", 403), ("http://localhost", 403), ("null", 403),
        ("127.0.0.1", 403),
    ],
)  # fmt: skip
def test_an_origin_is_scheme_host_and_port(page, origin, status) -> None:
    assert ask(page, origin=origin).status_code == status


@pytest.mark.parametrize("kind", ["Application/JSON", "application/json ; charset=utf-8", "APPLICATION/JSON"])
def test_media_types_have_no_case(page, kind) -> None:
    assert ask(page, **{"content-type": kind}).status_code == 200


def test_what_is_not_there_and_what_is_asked_otherwise_are_sentences(page) -> None:
    nowhere, static = page.get("/nowhere"), page.get("/static/x.js")
    assert nowhere.status_code == static.status_code == 404
    assert nowhere.json() == static.json() == {"error": "there is nothing at this address; the page itself is at /"}
    got, deleted = page.get("/api/state"), page.delete("/start", headers=JSON)
    assert got.status_code == deleted.status_code == 405
    assert got.headers["allow"] == "POST"
    assert got.json()["error"] == "this address answers POST alone; the page asks it so"
    spanish = page.get("/nowhere", headers={"accept-language": "es-MX,es;q=0.9,en;q=0.8"}).json()["error"]
    assert spanish == book("refused", "es")["refused.absent"]


def test_no_path_of_this_machine_is_in_an_error(page, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    hiding._places.cache_clear()
    for lang in ("en", "es", "vi"):
        said = ask(page, {"machines": ["here"], "lang": lang}).json()["error"]
        assert str(tmp_path) not in said
        assert "/" not in said
    assert hiding.placeless(f"cannot read {tmp_path}/labs/a/profile.json: no") == "cannot read profile.json: no"
    assert hiding.placeless("unknown accelerator '/etc/passwd'") == "unknown accelerator '/etc/passwd'"
    hiding._places.cache_clear()


def test_given_files_are_named_by_the_end_of_their_paths() -> None:
    paths = ["/a/b/profile.json", "/a/c/profile.json", "/labs/h200-sxm-141gb", "runs/mine.toml", "/x/here"]
    assert hiding.given(paths) == {
        "profile.json": "/a/b/profile.json", "c/profile.json": "/a/c/profile.json",
        "labs/h200-sxm-141gb": "/labs/h200-sxm-141gb", "mine.toml": "runs/mine.toml", "x/here": "/x/here",
    }  # fmt: skip
    said = b'{"a":"/a/b/profile.json,memory=1TB/s","b":"/a/b"}'
    assert hiding.named(said, hiding.given(paths)) == b'{"a":"profile.json,memory=1TB/s","b":"/a/b"}'


# what a person can ask that cannot be answered, what the sentence holds that no language changes
IMPOSSIBLE = [
    ({"batch": 0}, "1048576"), ({"batch": 1.5}, "1.5"), ({"bach": 1}, "'batch'"), ({"machines": []}, "4"),
    ({"machines": [H100, H100]}, H100), ({"machines": ["h100-sxm5-80gbb"]}, H100), ({"model": "llama-3.1-9b"}, "8b"),
    ({"machines": ["zzz"]}, "'zzz'"), ({"engine": "vlm"}, "'vllm'"), ({"weights": "bf17"}, "bf16"),
    ({"phase": "both"}, "'decode', 'prefill'"), ({"context": 1 << 20}, "131072"), ({"ep": 2}, "EP"),
    ({"config": "x" * 70_000}, "65536"), ({"model": "x", "config": '{"a"'}, "x.json"), ({"pp": 64}, "pp 64"),
    ({"machines": ["a100-sxm4-80gb"], "math": "fp8"}, "bf16, fp16"), ({"tp": 5}, "tp 5"), ({"machines": "x"}, "'x'"),
    ({"machines": ["tpu-v1"]}, "int8"), ({"machines": ["here"]}, "rooflens lab"), ({"batch": None}, "batch"),
    ({"machines": [f"{H100},memory"]}, "memory=2.0TB/s"), ({"machines": [f"{H100},memory=2"]}, "2.0 TB/s"),
    ({"prompt": 5}, "prompt"), ({"prompt": 5, "output": 5, "phase": "prefill"}, "decode"), ({"tokens": 65}, "64"),
    ({"acceptance": 1.5, "tokens": 2}, "1.5"), ({"acceptance": 0.5}, "token"), ({"gpus_per_node": 3, "tp": 8}, "tp 8"),
    ({"memory_fraction": 0.0}, "0"), ({"tokens": 2, "phase": "prefill"}, "decode"), ({"link": "x"}, "nvlink"),
    ({"machines": [f"{H100},memory=1e400TB/s"]}, "1e400TB/s"), ({"machines": [f"{H100},memory=-1TB/s"]}, "-1TB/s"),
    ({"machines": [f"{H100},memory=1e-300TB/s"]}, "1e+30"),
    ({"model": "x", "config": "{}"}, "config.json"), ({"model": "x", "config": '{"model_type": "qqq"}'}, "'qqq'"),
]  # fmt: skip


@pytest.mark.parametrize(("changed", "held"), IMPOSSIBLE, ids=str)
def test_errors_are_told_in_the_language_and_of_the_page(page, tmp_path, monkeypatch, changed, held) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    said = {lang: ask(page, {**changed, "lang": lang}) for lang in ("en", *OTHERS)}
    assert {reply.status_code for reply in said.values()} == {422}
    errors = {lang: reply.json()["error"] for lang, reply in said.items()}
    assert len(set(errors.values())) == 3, errors
    assert all(held in error for error in errors.values()), errors
    assert not any("--" in error or "=RATE" in error or "rooflens models" in error for error in errors.values())


ENGLISH = {key: text for key, text in book("refused", "en").items() if not key.startswith("refused.word.")}


def filled(template: str) -> str:
    names = {name for _, name, *_ in Formatter().parse(template) if name}
    return template.format(**{name: "or" if name == "kind" else f"1{name}" for name in names})


@pytest.mark.parametrize("key", ENGLISH)
def test_every_refusal_is_found_by_its_own_template(key) -> None:
    asked = filled(SAID.get(key, ENGLISH[key]))
    for lang in ("en", *OTHERS):
        words = book("refused", lang)
        assert refused(asked, lang) == filled(words[key]).replace(" or ", words["refused.word.or"]) or key
    holes = {name for _, name, *_ in Formatter().parse(SAID.get(key, ENGLISH[key])) if name}
    for lang in ("en", *OTHERS):
        assert {name for _, name, *_ in Formatter().parse(book("refused", lang)[key]) if name} <= holes


def test_a_sentence_that_is_in_no_book_stays_and_lines_are_told_one_by_one() -> None:
    assert refused("nobody ever said this", "vi") == "nobody ever said this"
    assert refused("state: batch: missing\nstate: model: missing", "es") == "batch: falta\nmodel: falta"
    assert refused(str(Unknown("engine", "vlm", ["vllm", "slm"])), "es").startswith("motor desconocido: 'vlm'; ¿quis")


@pytest.mark.parametrize(("kind", "path"), [("state", "/api/state"), ("file", "/api/file?lang=es&name=x")])
def test_a_body_that_does_not_come_is_not_waited_for(monkeypatch, kind, path) -> None:
    monkeypatch.setattr(application, "BODY_S", 0.05)
    monkeypatch.setattr(application, "FILE_S", 0.05)
    sent = []

    async def receive():
        await asyncio.sleep(3600)

    async def send(message):
        sent.append(message)

    body = "application/json" if kind == "state" else "application/octet-stream"
    where, _, query = path.partition("?")
    scope = {
        "type": "http", "method": "POST", "path": where, "raw_path": where.encode(), "query_string": query.encode(),
        "headers": [(b"host", b"127.0.0.1"), (b"content-type", body.encode())], "scheme": "http",
        "http_version": "1.1", "root_path": "", "server": ("127.0.0.1", 80), "client": ("127.0.0.1", 1),
    }  # fmt: skip
    asyncio.run(app(state(LLAMA))(scope, receive, send))
    assert sent[0]["status"] == 408
    assert ("not waited for" if kind == "state" else "no se esperó") in json.loads(sent[1]["body"])["error"]


END = b"</svg>"


@contextlib.contextmanager
def listening(**more):
    """A page on a free port, in a thread."""
    made = address("127.0.0.1", 0)
    config = uvicorn.Config(app(state(LLAMA), **more), http=wire.Connection, ws="none", log_level="critical")
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [made]})
    thread.start()
    try:
        yield made.getsockname()[1]
    finally:
        server.should_exit = True
        thread.join(20)


def said(port, *pieces):
    """What a connection answers until it ends; each piece is sent when the one before it was answered whole."""
    with socket.create_connection(("127.0.0.1", port), 20) as made:
        found = b""
        for at, piece in enumerate(pieces):
            while found.count(END) < at:
                found += made.recv(1 << 16)
            made.sendall(piece)
        with contextlib.suppress(ConnectionError):
            while piece := made.recv(1 << 16):
                found += piece
    return found


@pytest.mark.parametrize("pieces", [(), (b"G",), (b"GET / HTTP/1.1\r\nhost: 127.0.0.1\r\nx-slow: ",)])
def test_a_connection_that_dawdles_is_told_so_and_ended(monkeypatch, pieces) -> None:
    monkeypatch.setattr(wire, "HEADERS_S", 0.1)
    with listening() as port:
        found = said(port, *pieces)
    assert found.startswith(b"HTTP/1.1 408 ")
    assert POLICY.encode() in found
    assert "not waited for" in json.loads(found.partition(b"\r\n\r\n")[2])["error"]


def test_a_connection_is_kept_for_another_question_and_what_is_no_http_is_a_sentence(monkeypatch) -> None:
    monkeypatch.setattr(wire, "HEADERS_S", 0.3)
    asked = b"GET /static/icon.svg HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n"
    with listening() as port:
        both = said(port, asked, asked, b"GET ")
        none = said(port, b"\x16\x03\x01 hello\r\n\r\n")
    assert both.count(b"HTTP/1.1 200 ") == 2
    assert b"HTTP/1.1 408 " in both
    assert none.startswith(b"HTTP/1.1 400 ")
    assert b"no request of HTTP" in none


class Crowd:
    """Who answers nobody, as there are too many."""

    idle = False

    async def ask(self, kind, asked):
        raise Refusal("others are waiting for answers that take seconds; ask again in a moment", 503, RETRY_S)

    async def close(self):
        pass

    async def open(self):
        pass


def test_who_comes_when_too_many_wait_is_told_when_to_ask_again() -> None:
    with TestClient(app(state(LLAMA), slow=Crowd), base_url=HOME) as page:
        reply = page.post("/api/levers", json={**LLAMA, "lang": "vi"})
        assert reply.status_code == 503
        assert reply.headers["retry-after"] == str(RETRY_S)
        assert reply.json()["error"] == book("refused", "vi")["refused.busy"]
        assert ask(page).status_code == 200


def test_processes_answer_as_a_thread_does_and_one_that_is_killed_has_a_successor() -> None:
    asked = state(LLAMA)

    async def several():
        who = Processes(1, 30.0)
        try:
            first, again = await asyncio.gather(who.ask("state", asked), who.ask("state", asked))
            with pytest.raises(RooflensError, match="has no fp8 arithmetic"):
                await who.ask("state", state({**LLAMA, "machines": ["a100-sxm4-80gb"], "math": "fp8"}))
            for child in who._all:
                child.kill()
            with pytest.raises(Refusal) as ended:
                await who.ask("state", asked)
            who.seconds = 1e-4
            with pytest.raises(Refusal, match="was not answered within"):
                await who.ask("levers", asked)
            who.seconds = 30.0
            return first, again, ended.value.status, await who.ask("state", asked), who.idle
        finally:
            await who.close()

    first, again, ended, after, idle = asyncio.run(several())
    assert first == again == after
    assert (ended, idle) == (500, True)
    with TestClient(app(asked), base_url=HOME) as page:
        assert ask(page).content == first


def test_too_many_questions_are_refused_at_once() -> None:
    async def many():
        who = Processes(1, 30.0, waiting=1)
        try:
            tasks = [asyncio.create_task(who.ask("state", state(LLAMA))) for _ in range(5)]
            return await asyncio.gather(*tasks, return_exceptions=True)
        finally:
            await who.close()

    found = asyncio.run(many())
    assert [type(one) for one in found] == [bytes, bytes, Refusal, Refusal, Refusal]


def test_what_is_kept_is_bounded_by_its_bytes() -> None:
    kept, asked = Kept[bytes](3 * (BESIDE + 10)), partial(State, machines=(H100,), model="llama-3.1-8b")
    for batch in (1, 2, 3):
        kept.put("state", asked(batch=batch), b"0123456789", 10)
    assert kept.get("state", asked(batch=1)) == b"0123456789"
    kept.put("state", asked(batch=4), b"0123456789", 10)
    assert [batch for batch in (1, 2, 3, 4) if kept.get("state", asked(batch=batch))] == [1, 3, 4]
    kept.put("state", asked(batch=4), b"0", 1)
    assert kept.bytes == 3 * BESIDE + 21
    kept.put("state", asked(batch=5), b"", 100_000)
    assert kept.bytes == 0
