"""The exporter: what its configuration may say, engines of every kind over HTTP, the page it tells, its secrets."""

from __future__ import annotations

import http.client
import json
import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import ExitStack, contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.parser import text_string_to_metric_families

from rooflens.api.exporting import exporter
from rooflens.errors import BadFile, RooflensError
from rooflens.live import telling
from rooflens.live.config import Export, Target, address, config
from rooflens.live.exporter import BUILD, OWN
from rooflens.live.families import LONGEST_LABEL, agreement, disagreement, label
from rooflens.live.serving import MOST_AT_ONCE, server, status
from rooflens.readers.metrics.exposition import parse
from rooflens.records import replace
from rooflens.roofline.scraped import Gpu
from rooflens.telemetry.record import Rates, Reading, Roof
from tests.fake_engine import Engine, serving
from tests.metric_pages import page, vllm

H100, LLAMA = "h100-sxm5-80gb", "llama-3.1-8b"
LEAST = "targets:\n  - url: http://127.0.0.1:8000/metrics\n"
SECRET = "s3cret-w0rd"


def written(tmp_path, text):
    path = tmp_path / "rooflens.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def told(text):
    """Samples by name, as prometheus_client reads them."""
    found = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            found.setdefault(sample.name, []).append((sample.labels, sample.value))
    return found


def of(samples, name, target, **labels):
    """The values of a metric of one target."""
    wanted = {"target": target, **labels}
    return [value for known, value in samples.get(name, []) if wanted.items() <= known.items()]


def targets(*several, **more):
    """An exporter that is asked by hand."""
    made = tuple(Target(url, name, **more) for name, url in several)
    return exporter(Export(made, interval_s=60.0, timeout_s=10.0, most_bytes=100_000.0))


# --- the configuration ------------------------------------------------------------------------------------------------


def test_the_least_configuration_names_one_target_and_listens_on_loopback(tmp_path):
    found = config(written(tmp_path, LEAST))
    assert (found.listen, found.interval_s, found.timeout_s) == ("127.0.0.1:9494", 15.0, 5.0)
    assert found.targets[0].label == "127.0.0.1:8000"
    assert found.targets[0].tp is None  # unknown: what the engine tells is taken


def test_on_is_text_and_times_take_units(tmp_path):
    text = "interval_s: 5 s\ntargets:\n  - {url: 'http://a:1', on: h100-sxm5-80gb, model: llama-3.1-8b, name: off}\n"
    found = config(written(tmp_path, text))
    assert found.interval_s == 5
    assert (found.targets[0].on, found.targets[0].name) == (H100, "off")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "is empty"),
        ("targets: []\n", "from 1 to 2000"),
        ("- a\n", "object"),
        ("a: [\n", "line"),
        ("target: []\n", "did you mean 'targets'"),
        (LEAST + "interval_s: 5 parsecs\n", "interval_s"),
        (LEAST + "interval_s: 1 ms\n", "from 0.1 s"),
        (LEAST + "timeout_s: 1000\n", "from 0.05 s"),
        (LEAST + "most_bytes: 1\n", "from 1 kB"),
        (LEAST + "listen: 9494\n", "listen"),
        (LEAST + "listen: 'a:b:1'\n", "HOST:PORT"),
        (LEAST + "listen: '127.0.0.1:99999'\n", "HOST:PORT"),
        (LEAST + "    modle: llama-3.1-8b\n", "did you mean 'model'"),
        (LEAST + "    tp: two\n", "tp"),
        (LEAST + "    timeout_s: 2 min\n", "targets[0].timeout_s"),
        (LEAST + "    token_env: A\n    token_file: b\n", "one of them"),
        (LEAST + "    token_env: ''\n", "no name of a variable"),
        (LEAST + "    gpus: [0]\n", "dcgm"),
        (LEAST + "    name: ''\n", "letters that can be printed"),
        (LEAST + "    dcgm: file:///etc/passwd\n", "targets[0].dcgm: write http://"),
        ("targets:\n  - url: ftp://a/metrics\n", "write http://"),
        ("targets:\n  - url: 'http://[::1'\n", "write http://"),
        ("targets:\n  - url: 'http://a:99999/'\n", "write http://"),
        ("targets:\n  - url: http://me@a:1/\n", "no password in an address"),
        (LEAST + "  - url: http://127.0.0.1:8000/other\n", "two are called '127.0.0.1:8000'"),
        (LEAST + "targets: []\n", "targets is there twice"),
        ("a: &a [1]\n" + LEAST, "anchors"),
        ("a: *b\n" + LEAST, "anchors"),
        ("a: !!python/object/apply:os.system ['true']\n", "python"),
        ("a: " + "[" * 30 + "]" * 30 + "\n", "nested too deeply"),
    ],
)  # fmt: skip
def test_what_a_configuration_may_not_say_is_a_sentence(tmp_path, text, says):
    with pytest.raises(BadFile) as caught:
        config(written(tmp_path, text))
    assert says in str(caught.value)


def test_all_faults_of_a_configuration_are_told_at_once(tmp_path):
    with pytest.raises(BadFile) as caught:
        config(written(tmp_path, LEAST + "    timeout_s: 0\n  - url: gopher://a\nlisten: nowhere\ninterval_s: 0\n"))
    said = str(caught.value)
    assert all(name in said for name in ("targets[0].timeout_s", "targets[1].url", "listen", "interval_s"))


def test_a_password_or_token_in_the_wrong_place_is_not_repeated(tmp_path):
    for text in (f"targets:\n  - url: http://me:{SECRET}@a:1/\n", LEAST + f"    token_env: {SECRET}\n"):
        with pytest.raises(BadFile) as caught:
            config(written(tmp_path, text))
        assert SECRET not in str(caught.value)


def test_a_huge_configuration_is_refused_unread(tmp_path):
    with pytest.raises(BadFile, match="a configuration is smaller"):
        config(written(tmp_path, "# " + "x" * (1 << 20)))


def test_addresses_of_both_kinds_are_read():
    assert address("127.0.0.1:1") == ("127.0.0.1", 1)
    assert address("[::1]:9494") == ("::1", 9494)
    with pytest.raises(ValueError, match="HOST:PORT"):
        address("::1:9494")


@pytest.mark.parametrize(
    ("target", "says"),
    [
        (Target("http://a", "x", model="llama-3.1-8bb", on=H100), "target x: .*did you mean"),
        (Target("http://a", "x", model=LLAMA, on="h10"), "target x: "),
        (Target("http://a", "x", token_env="NOT_THERE_AT_ALL"), "target x: .*NOT_THERE_AT_ALL holds no token"),
        (Target("http://a", "x", token_file="/not/there"), "target x: "),
    ],
)
def test_what_cannot_be_used_is_said_with_the_targets_name_before_anything_is_asked(target, says):
    with pytest.raises(RooflensError, match=says):
        exporter(Export((target,)))


# --- engines of every kind --------------------------------------------------------------------------------------------


def test_rates_and_roofs_of_an_engine_are_told_in_base_units():
    engine = Engine()
    with serving(engine) as url:
        made = targets(("a", url), model=LLAMA, on=H100)
        made.once()
        engine.serve(20)
        made.once()
        samples = told(made.page())
    state = made.states()[0]
    rates, roof = state.known.models[0].rates, state.known.models[0].roof
    assert of(samples, "rooflens_up", "a") == [1]
    assert of(samples, "rooflens_generation_tokens_per_second", "a") == [rates.generation_tokens_per_s]
    assert of(samples, "rooflens_mbu_ratio", "a", of="datasheet", over="wall") == [roof.mbu]
    assert of(samples, "rooflens_tpot_seconds", "a", stat="mean") == [rates.itl.mean_s] or rates.tpot is None
    assert of(samples, "rooflens_itl_seconds", "a", stat="mean") == [pytest.approx(0.02)]
    assert of(samples, "rooflens_tpot_floor_seconds", "a") == [roof.tpot_floor_s]
    assert of(samples, "rooflens_state", "a", state="busy") == [1]
    ((labels, _),) = samples["rooflens_roofs_info"]
    assert labels["counted_as"] == LLAMA
    assert labels["engine"] == "vllm"


def test_what_is_not_known_has_no_series():
    engine = Engine()
    with serving(engine) as url:
        made = targets(("a", url))
        made.once()
        samples = told(made.page())
    assert of(samples, "rooflens_running_requests", "a") == [4]
    for name in ("rooflens_generation_tokens_per_second", "rooflens_mbu_ratio", "rooflens_tpot_floor_seconds"):
        assert of(samples, name, "a") == []  # one scrape, and no machine: nothing, never 0


def test_a_restart_is_counted_and_gives_no_spike():
    engine = Engine()
    with serving(engine) as url:
        made = targets(("a", url))
        engine.serve(5000)
        made.once()
        engine.restart()
        engine.serve(1)
        made.once()
        samples = told(made.page())
    assert of(samples, "rooflens_engine_restarts_total", "a") == [1]
    (rate,) = of(samples, "rooflens_generation_tokens_per_second", "a")
    assert 0 <= rate * made.states()[0].known.models[0].rates.interval_s <= 4 * 51 + 1  # what one round generates


@pytest.mark.parametrize(
    ("behaviour", "says"),
    [
        ("broken", "answers 500"), ("elsewhere", "another host"), ("huge", "over 100000 bytes"), ("empty", "is empty"),
        ("dripping", "within 3 s"), ("cut", "broke off"), ("nonsense", "HTTP"),
    ],
)  # fmt: skip
def test_a_target_that_fails_is_blind_with_a_reason_and_its_last_figures_end(behaviour, says, monkeypatch):
    engine = Engine()
    with serving(engine) as url:
        made = targets(("a", url), timeout_s=3.0)
        made.once()
        engine.behaviour = behaviour
        made.once()
    assert says in made.states()[0].failed
    samples = told(made.page())
    assert of(samples, "rooflens_up", "a") == [0]
    assert of(samples, "rooflens_running_requests", "a") == [4]  # fresh for three intervals
    now = time.monotonic()
    monkeypatch.setattr("rooflens.live.exporter.time.monotonic", lambda: now + 1000)
    samples = told(made.page())
    assert of(samples, "rooflens_running_requests", "a") == []
    assert of(samples, "rooflens_up", "a") == [0]


def test_a_hostile_page_says_nothing_and_breaks_no_line():
    engine = Engine()
    engine.behaviour = "hostile"
    with serving(engine) as url:
        made = targets(("a", url))
        made.once()
        made.once()
        text = made.page()
    assert "\x1b" not in text
    told(text)


@contextmanager
def running(export):
    """An exporter as it runs, and where it answers."""
    made = exporter(export)
    serves = server("127.0.0.1:0", made)
    thread = threading.Thread(target=serves.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    made.start()
    try:
        yield made, f"127.0.0.1:{serves.server_address[1]}"
    finally:
        made.stop()
        serves.shutdown()
        thread.join()
        serves.server_close()


def asked(where, path="/metrics", method="GET"):
    connection = http.client.HTTPConnection(where, timeout=10)
    try:
        connection.request(method, path)
        answer = connection.getresponse()
        return answer.status, answer.read().decode(), answer.getheader("Content-Type")
    finally:
        connection.close()


def until(true, seconds=20):
    """Waits for something that happens soon; the limit is only there so that a failure ends."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_bad_targets_never_hold_up_good_ones(monkeypatch):
    monkeypatch.setattr("rooflens.live.exporter.STALE", 1000)  # a computer that is busy elsewhere is no news here
    good, kinds = [Engine() for _ in range(3)], ("dripping", "silent", "huge", "hostile", "elsewhere", "broken")
    with ExitStack() as stack, socket.socket() as nobody:
        nobody.bind(("127.0.0.1", 0))
        named = [(f"good-{i}", stack.enter_context(serving(engine))) for i, engine in enumerate(good)]
        for kind in kinds:
            engine = Engine()
            engine.behaviour = kind
            named.append((kind, stack.enter_context(serving(engine))))
        named.append(("dead", f"http://127.0.0.1:{nobody.getsockname()[1]}"))
        made = Export(tuple(Target(url, name) for name, url in named), interval_s=0.3, timeout_s=2.0, most_bytes=1e5)
        made, where = stack.enter_context(running(made))
        for _ in range(3):
            for engine in good:
                engine.serve(1)
            asked_before = [state.asked for state in made.states()[:3]]
            until(lambda was=asked_before: all(s.asked > n for s, n in zip(made.states()[:3], was, strict=True)))
        code, text, kind = asked(where)
        states = {state.name: state for state in made.states()}
    samples = told(text)
    assert (code, kind) == (200, telling.CONTENT_TYPE)
    for i in range(3):
        assert of(samples, "rooflens_up", f"good-{i}") == [1]
        assert len(of(samples, "rooflens_generation_tokens_per_second", f"good-{i}")) == 1
    for kind in (*kinds, "dead"):
        assert of(samples, "rooflens_up", kind) == [0]
    assert states["silent"].asked < states["good-0"].asked  # it waits for its own time limit, alone


def test_the_exporter_only_answers_what_it_has_and_changes_nothing():
    with serving(Engine()) as url, running(Export((Target(url, "a"),), interval_s=0.2)) as (made, where):
        until(lambda: made.states()[0].known)
        assert asked(where, "/healthz")[:2] == (200, "ok\n")
        assert asked(where, "/nothing")[0] == 404
        assert asked(where, "/../../etc/passwd")[0] == 404
        for method in ("POST", "PUT", "DELETE", "PATCH"):
            assert asked(where, "/metrics", method)[0] in (405, 501)
        (one,) = json.loads(asked(where, "/status")[1])["targets"]
    assert (one["target"], one["up"], one["engine"]) == ("a", True, "vllm")


def test_who_connects_and_says_nothing_keeps_nobody_from_asking():
    with serving(Engine()) as url, running(Export((Target(url, "a"),), interval_s=0.2)) as (_, where), ExitStack() as s:
        host, _, port = where.partition(":")
        for _ in range(MOST_AT_ONCE // 2):
            s.enter_context(socket.create_connection((host, int(port))))
        assert asked(where)[0] == 200


def test_no_token_is_ever_told(tmp_path, monkeypatch, capfd):
    monkeypatch.setattr("rooflens.live.exporter.STALE", 1000)
    engine = Engine()
    engine.token = SECRET
    (tmp_path / "token").write_text(SECRET)
    monkeypatch.setenv("MY_TOKEN", SECRET)
    with serving(engine) as url, serving(Engine()) as devices:
        several = (
            Target(url, "env", token_env="MY_TOKEN", dcgm=devices),
            Target(f"{url}/metrics?key={SECRET}", "query", token_file=str(tmp_path / "token")),
            Target(url, "none"),
        )
        with running(Export(several, interval_s=0.2)) as (made, where):
            until(lambda: all(state.asked > 1 for state in made.states()))
            pages = [asked(where, path)[1] for path in ("/metrics", "/status", "/healthz", f"/{SECRET}")]
            samples = told(pages[0])
    assert of(samples, "rooflens_up", "env") == [1]
    assert of(samples, "rooflens_up", "none") == [0]
    said = capfd.readouterr()
    assert SECRET not in "".join(pages) + said.out + said.err + repr(made.states()) + repr(several[0])


class Heard(Engine):
    """A page of devices that keeps what it is asked with."""

    def __init__(self):
        super().__init__()
        self.text = page("dcgm.prom")

    @property
    def page(self):
        return self.text


def test_the_token_of_an_engine_is_not_shown_to_the_exporter_of_its_devices(monkeypatch):
    heard = []
    monkeypatch.setenv("MY_TOKEN", SECRET)
    monkeypatch.setattr(
        "rooflens.live.following.fetch", lambda url, access: heard.append((url, access.headers())) or vllm(running=1)
    )
    made = exporter(Export((Target("http://a/metrics", "a", token_env="MY_TOKEN", dcgm="http://b/metrics"),)))
    made.once()
    by = dict(heard)
    assert by["http://a/metrics"] == {"Authorization": f"Bearer {SECRET}"}
    assert by["http://b/metrics"] == {}


# --- devices beside engines -------------------------------------------------------------------------------------------


def test_devices_are_told_and_those_of_others_are_not():
    engine, devices = Engine(), Heard()
    devices.text += page("dcgm.prom").replace('gpu="0"', 'gpu="1"')
    with serving(engine) as url, serving(devices) as dcgm:
        made = targets(("a", url), model=LLAMA, on=H100, dcgm=dcgm, gpus=(1,))
        made.once()
        engine.serve(10)
        made.once()
        samples = told(made.page())
    assert of(samples, "rooflens_devices_up", "a") == [1]
    ((labels, active),) = samples["rooflens_gpu_dram_active_ratio"]
    assert (labels["gpu"], active) == ("a-node/1", 0.093)
    assert of(samples, "rooflens_gpu_throttled_seconds_total", "a", reason="power") == [3.0]
    assert of(samples, "rooflens_gpu_clock_hertz", "a") == [1.41e9]
    state = made.states()[0]
    roof = state.known.models[0].roof
    moved = 0.093 * roof.read_roof_bytes_per_s
    expected = (roof.weight_bytes_per_s + roof.kv_bytes_per_s) / moved
    assert of(samples, "rooflens_model_over_dram_bytes_ratio", "a") == [pytest.approx(expected)]


def test_a_page_of_devices_that_fails_is_said_and_leaves_the_engine_up():
    with serving(Engine()) as url, serving(Heard()) as dcgm:
        made = targets(("a", url), dcgm=dcgm + "/nothing")
        made.once()
        others = targets(("a", url), dcgm=dcgm, gpus=(5,))
        others.once()
    samples = told(made.page())
    assert (of(samples, "rooflens_up", "a"), of(samples, "rooflens_devices_up", "a")) == ([1], [0])
    assert "404" in status(made.states()[0])["devices_failed"]
    assert "none of the GPUs 5" in status(others.states()[0])["devices_failed"]


def reading(weight, kv=0.0, roof=1e12):
    placed = Roof("m", "l", False, 1, "busy", {}, weight_bytes_per_s=weight, kv_bytes_per_s=kv,
                  read_roof_bytes_per_s=roof)  # fmt: skip
    return Reading("a", Rates("vllm", None, 0.0), placed)


def test_agreement_is_bytes_of_the_model_over_bytes_that_moved():
    gpus = (Gpu("0", dram_active=0.5), Gpu("1", dram_active=0.3), Gpu("2"))
    assert agreement(reading(2e11, 1e11), gpus) == pytest.approx(3e11 / (0.4 * 1e12))
    assert agreement(reading(2e11), (Gpu("0"),)) is None
    assert agreement(reading(None), gpus) is None
    assert agreement(Reading("a", Rates("vllm", None, 0.0)), gpus) is None
    assert agreement(reading(2e11), (Gpu("0", dram_active=0.0),)) is None


def test_disagreement_is_a_sentence_that_says_which_way():
    half = (Gpu("0", dram_active=0.5),)
    assert disagreement(reading(5e11), half) is None
    assert "something else moves data" in disagreement(reading(1e11), half)
    assert "other GPUs than the engine's" in disagreement(reading(1e12), half)


def test_a_disagreement_stands_in_status():
    engine, devices = Engine(), Heard()
    with serving(engine) as url, serving(devices) as dcgm:
        made = targets(("a", url), model=LLAMA, on=H100, dcgm=dcgm)
        made.once()
        engine.serve(1)
        devices.text = devices.text.replace("0.093", "0.9999")
        time.sleep(0.05)
        made.once()
    state = made.states()[0]
    ratio = agreement(state.known.models[0], state.known.gpus)
    assert ("disagrees" in status(state)) == (not 0.67 <= ratio <= 1.5)


# --- the page ---------------------------------------------------------------------------------------------------------


def everything():
    return (BUILD, *OWN, *telling.OF_TARGETS)


def test_every_family_has_its_definition_and_a_name_with_its_unit():
    names = [family.name for family in everything()]
    assert len(set(names)) == len(names)
    for family in everything():
        assert family.help.endswith(".")
        assert family.name.startswith("rooflens_")
        assert not set(family.name.split("_")) & {"ms", "percent", "gb", "mb", "tflops", "us"}
    text = exporter(Export((Target("http://a", "a"),))).page()
    assert {f.name for f in text_string_to_metric_families(text)} >= {n.removesuffix("_total") for n in names}


def test_every_sample_of_a_page_belongs_to_a_family_with_help_and_no_series_is_there_twice():
    engine, devices = Engine(), Heard()
    with serving(engine) as url, serving(devices) as dcgm:
        made = targets(("a", url), ("b", url), model=LLAMA, on=H100, dcgm=dcgm)
        for _ in range(2):
            engine.serve(3)
            made.once()
    text = made.page()
    helps = {line.split()[2] for line in text.splitlines() if line.startswith("# HELP")}
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(set(series)) == len(series)
    assert {one.partition("{")[0] for one in series} <= helps
    for family in text_string_to_metric_families(text):
        assert family.documentation
        if family.name.endswith("_ratio"):
            assert all(sample.value >= 0 for sample in family.samples)


@given(st.text(max_size=300))
def test_label_values_are_printable_bounded_and_read_back_as_they_are(text):
    shown = label(text)
    assert len(shown) <= LONGEST_LABEL
    assert shown.isprintable()
    line = "".join(telling.own(OWN[0], [((text,), (replace(STATE, failed=None), True))]))
    (family,) = text_string_to_metric_families(line)
    assert family.samples[0].labels == {"target": shown}


STATE = exporter(Export((Target("http://a", "a"),))).states()[0]


@given(st.floats())
def test_figures_are_read_back_exactly(value):
    back = float(telling.figure(value))
    assert back == value or (math.isnan(back) and math.isnan(value))


def test_models_that_labels_do_not_tell_apart_are_told_once():
    engine = Heard()
    long = "x" * 200
    engine.text = vllm(model=long + "a", running=1) + vllm(model=long + "b", running=2)
    with serving(engine) as url:
        made = targets(("a", url))
        made.once()
        samples = told(made.page())
    assert of(samples, "rooflens_running_requests", "a") == [1]


def test_figures_beyond_all_bounds_keep_nobody_from_reading_of_others():
    engine = Heard()
    engine.text = vllm(usage=1.0, blocks="1e300", block="1e300", running=1)
    with serving(engine) as url, serving(Engine()) as other:
        made = targets(("wild", url), ("b", other))
        made.once()
    told(made.page())
    assert "not a finite number" in status(made.states()[0]).get("failed", "not a finite number")
    assert status(made.states()[1])["up"]


LINES = st.sampled_from(
    [
        'vllm:a_total{engine="0"} 1', 'vllm:a_total{engine="0"} 2', 'vllm:b{engine="1"} 3', 'other{x="y"} 4',
        'other {x="y"} 5', 'other{x="y"} x', "plain 6", "other 7", "# HELP other{ a", "# EOF", "", "   ",
        ' vllm:b{e="2"} 8', 'vllm:b{engine="3"} 9 1700000000', 'vllm:b{engine="4"} 1_0', 'vllm:b{engine="5"} 1 # {} 2',
        '{"vllm:b",x="1"} 10', 'vllm:b{x="} "} 11', "vllm:b{} 12", "vllm:b{broken 13",
    ]
)  # fmt: skip


@given(st.lists(LINES, max_size=30))
def test_reading_only_what_is_wanted_is_reading_all_and_leaving_the_rest_out(lines):
    text, wanted = "\n".join(lines), {"vllm:a_total", "vllm:b", "plain"}
    everything, some = parse(text), parse(text, wanted)
    assert {name: by for name, by in everything.series.items() if name in wanted and by} == {
        name: by for name, by in some.series.items() if by
    }


def test_memory_is_that_of_one_page_however_many_came(monkeypatch):
    counts = iter(range(1, 10_000))
    monkeypatch.setattr(
        "rooflens.live.following.fetch",
        lambda url, access: vllm(generated=next(counts), running=2) if url.endswith("metrics") else "{}",
    )
    made = exporter(Export((Target("http://a/metrics", "a"),)))
    for _ in range(50):
        made.once()
    first = len(made.page())
    for _ in range(500):
        made.once()
    assert len(made.page()) < first + 100
    assert made.states()[0].asked == 550


# --- the verb ---------------------------------------------------------------------------------------------------------


def test_check_reads_and_ends(cli, tmp_path):
    path = written(tmp_path, LEAST)
    said = cli("export", "--config", str(path), "--check")
    assert (said.code, said.out) == (0, "")
    assert "1 target" in said.err
    found = json.loads(cli("export", "--config", str(path), "--check", "--json").out)
    assert found["schema"] == "rooflens/export/1"
    assert found["configuration"]["targets"] == [{"url": "http://127.0.0.1:8000/metrics", "gpus": []}]
    path.write_text(LEAST + "    modle: x\n")
    said = cli("export", "--config", str(path), "--check")
    assert said.code == 2
    assert "did you mean 'model'" in said.err
    said = cli("export", "--config", str(written(tmp_path, LEAST)), "--listen", "here")
    assert said.code == 2
    assert "HOST:PORT" in said.err


def test_a_port_that_is_taken_is_a_sentence(cli, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        where = f"127.0.0.1:{taken.getsockname()[1]}"
        said = cli("export", "--config", str(written(tmp_path, LEAST)), "--listen", where)
    assert said.code == 2
    assert f"cannot listen on {where}" in said.err


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_the_verb_serves_until_it_is_interrupted_and_ends_cleanly(tmp_path, sent):
    with serving(Engine()) as url:
        path = written(tmp_path, f"interval_s: 0.2\nlisten: 127.0.0.1:0\ntargets:\n  - {{url: '{url}', name: a}}\n")
        command = [sys.executable, "-m", "rooflens", "export", "--config", str(path), "--lang", "en"]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"}) as run:
            where = run.stderr.readline().partition("http://")[2].partition("/")[0]
            until(lambda: of(told(asked(where)[1]), "rooflens_up", "a") == [1])
            run.send_signal(sent)
            rest = run.stderr.read()
    assert run.returncode == 0
    assert rest == "ended\n"
