"""What deploy/ holds is what Prometheus and Grafana read, names metrics that there are, and alerts when it should."""

from __future__ import annotations

import json
import re
import shutil
import socket
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from rooflens.api.exporting import exporter
from rooflens.live.config import Export, Target, address, config
from rooflens.live.exporter import BUILD, OWN
from rooflens.live.telling import OF_TARGETS
from tests.fake_engine import Engine, serving

DEPLOY = Path(__file__).resolve().parents[1] / "deploy"
RULES = yaml.safe_load((DEPLOY / "rooflens.rules.yml").read_text(encoding="utf-8"))
DASHBOARD = json.loads((DEPLOY / "grafana" / "rooflens.json").read_text(encoding="utf-8"))
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text(encoding="utf-8"))
TOLD = {family.name: family for family in (BUILD, *OWN, *OF_TARGETS)}
MADE_BY_PROMETHEUS = {"up", "ALERTS"}
BY_HAND = {"job", "instance", "alertname", "alertstate", "severity"}
WORD = re.compile(r"[a-zA-Z_:][\w:]*")


def rules():
    return [rule for group in RULES["groups"] for rule in group["rules"]]


RECORDED = {rule["record"] for rule in rules() if "record" in rule}


def expressions():
    """Every expression of rules and dashboard, by where it stands."""
    for rule in rules():
        yield rule.get("record") or rule["alert"], rule["expr"]
    for panel in DASHBOARD["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"]
    for variable in DASHBOARD["templating"]["list"]:
        if variable["type"] == "query":
            yield variable["name"], variable["query"]["query"]
    for annotation in DASHBOARD["annotations"]["list"]:
        yield annotation["name"], annotation["expr"]


def metrics(expression):
    """The names of metrics in an expression: words that are ours, outside quotation marks."""
    plain = re.sub(r'"[^"]*"', '""', expression)
    return {word for word in WORD.findall(plain) if "rooflens_" in word}


@pytest.mark.parametrize("path", sorted(DEPLOY.rglob("*.y*ml")), ids=lambda p: p.relative_to(DEPLOY).as_posix())
def test_every_file_is_yaml(path):
    assert isinstance(yaml.safe_load(path.read_text(encoding="utf-8")), dict)


def test_rules_and_dashboard_name_metrics_that_there_are():
    for where, expression in expressions():
        for name in metrics(expression):
            assert name in TOLD or name in RECORDED, (where, name)


def test_labels_of_a_selector_are_labels_of_its_metric():
    for where, expression in expressions():
        for name, inside in re.findall(r"([a-zA-Z_:][\w:]*)\{([^}]*)\}", expression):
            if name in TOLD:
                said = set(re.findall(r"(\w+)\s*[=!]~?\"|(\w+)\s*=~", inside))
                found = {one for pair in said for one in pair if one}
                assert found <= {*TOLD[name].labels, *BY_HAND}, (where, name)


def test_unit_tests_of_rules_feed_metrics_that_there_are():
    tests = yaml.safe_load((DEPLOY / "rooflens.rules.test.yml").read_text(encoding="utf-8"))
    for test in tests["tests"]:
        for series in test["input_series"]:
            name, _, inside = series["series"].partition("{")
            labels = set(re.findall(r"(\w+)=", inside))
            assert name in MADE_BY_PROMETHEUS or labels <= set(TOLD[name].labels), series


def test_every_alert_is_tested_and_says_the_next_step():
    tested = (DEPLOY / "rooflens.rules.test.yml").read_text(encoding="utf-8")
    for rule in rules():
        if "alert" in rule:
            assert rule["alert"] in tested
            assert rule["labels"]["severity"] in {"info", "warning", "critical"}
            assert {"summary", "next_step"} == rule["annotations"].keys()


def test_panels_stand_beside_one_another_and_ask_the_chosen_prometheus():
    taken, ids = set(), set()
    for panel in DASHBOARD["panels"]:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert not cells & taken, panel["title"]
        assert max(x for x, _ in cells) < 24
        taken |= cells
        ids.add(panel["id"])
        if panel["type"] != "row":
            assert panel["description"]
            assert panel["datasource"]["uid"] == "${datasource}"
            assert len({target["refId"] for target in panel["targets"]}) == len(panel["targets"])
    assert len(ids) == len(DASHBOARD["panels"])
    assert DASHBOARD["templating"]["list"][0]["type"] == "datasource"


def test_nothing_listens_beyond_this_computer_and_nothing_secret_is_written():
    text = (DEPLOY / "compose.yaml").read_text(encoding="utf-8")
    assert "0.0.0.0" not in text
    assert "--web.listen-address=127.0.0.1:9090" in COMPOSE["services"]["prometheus"]["command"]
    assert COMPOSE["services"]["grafana"]["environment"]["GF_SERVER_HTTP_ADDR"] == "127.0.0.1"
    for name, service in COMPOSE["services"].items():
        assert service["read_only"], name
        assert service["cap_drop"] == ["ALL"]
        assert not [key for key in service.get("environment", {}) if re.search("PASSWORD|SECRET|TOKEN", key)]
        for volume in service["volumes"]:
            assert volume.endswith(":ro") or volume.partition(":")[0] in COMPOSE["volumes"]
    mounted = [v.split(":")[0] for s in COMPOSE["services"].values() for v in s["volumes"] if v.startswith("./")]
    assert all((DEPLOY / path).exists() for path in mounted)


def test_the_example_configuration_is_one_and_prometheus_finds_it():
    found = config(DEPLOY / "rooflens.yaml")
    exporter(found)
    assert address(found.listen)[0] == "127.0.0.1"
    (job,) = yaml.safe_load((DEPLOY / "prometheus.yml").read_text(encoding="utf-8"))["scrape_configs"]
    assert job["static_configs"][0]["targets"] == [found.listen]


def test_what_is_commented_out_of_the_example_may_be_said_too(tmp_path):
    lines = (DEPLOY / "rooflens.yaml").read_text(encoding="utf-8").splitlines()
    said = [re.sub(r"^(\s*)# (?=- |  |\w+: )", r"\1", line) for line in lines if not re.match(r"\s*# [A-Z]", line)]
    path = tmp_path / "all.yaml"
    path.write_text("\n".join(said), encoding="utf-8")
    first, second = config(path).targets
    assert (first.tp, first.gpus, first.dcgm) == (2, (0, 1), "http://127.0.0.1:9400/metrics")
    assert second.token_file == "/run/secrets/rooflens-token"


# --- with Prometheus itself -------------------------------------------------------------------------------------------

needs_promtool = pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool is not installed")
needs_prometheus = pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus is not installed")


@pytest.mark.slow
@needs_promtool
@pytest.mark.parametrize(
    "asked",
    [
        ("check", "config", "prometheus.yml"),
        ("check", "rules", "rooflens.rules.yml"),
        ("test", "rules", "rooflens.rules.test.yml"),
    ],
    ids=" ".join,
)
def test_promtool_finds_nothing_wrong(asked):
    done = subprocess.run(["promtool", *asked], cwd=DEPLOY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@needs_promtool
def test_promtool_finds_nothing_wrong_with_the_page():
    engine = Engine()
    with serving(engine) as url:
        made = exporter(Export((Target(url, "a", model="llama-3.1-8b", on="h100-sxm5-80gb"),)))
        for _ in range(2):
            engine.serve(3)
            made.once()
    done = subprocess.run(
        ["promtool", "check", "metrics"], input=made.page(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def ask(port, path, **query):
    url = f"http://127.0.0.1:{port}/api/v1/{path}?{urllib.parse.urlencode(query)}"
    with urllib.request.urlopen(url, timeout=10) as answer:
        return json.load(answer)["data"]


@contextmanager
def prometheus(room, where):
    """A Prometheus of its own over the files of deploy/, in seconds instead of minutes; its port."""
    port = free_port()
    for name in ("prometheus.yml", "rooflens.rules.yml"):
        text = (DEPLOY / name).read_text(encoding="utf-8")
        text = (
            text.replace("127.0.0.1:9494", where)
            .replace("15s", "1s")
            .replace("scrape_timeout: 10s", "scrape_timeout: 1s")
        )
        (room / name).write_text(re.sub(r"for: \d+m", "for: 1s", text), encoding="utf-8")
    command = [
        "prometheus", f"--config.file={room / 'prometheus.yml'}", f"--storage.tsdb.path={room / 'data'}",
        f"--web.listen-address=127.0.0.1:{port}", "--log.level=warn",
    ]  # fmt: skip
    with (room / "log").open("w") as log, subprocess.Popen(command, stdout=log, stderr=log) as process:
        try:
            yield port
        finally:
            process.terminate()


def until(found, room, seconds=60):
    """What it finds, once it finds something; the limit is only there so that a failure ends."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            if answer := found():
                return answer
        except OSError:
            pass
        time.sleep(0.2)
    raise AssertionError((room / "log").read_text())


@contextmanager
def the_verb(path):
    """`rooflens export` as it is run; where it answers."""
    command = [sys.executable, "-m", "rooflens", "export", "--config", str(path), "--lang", "en"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process.stderr.readline().partition("http://")[2].partition("/")[0]
        finally:
            process.terminate()


@pytest.mark.slow
@needs_prometheus
def test_a_real_prometheus_scrapes_records_and_alerts(tmp_path):
    engine = Engine()
    with serving(engine) as url:
        path = tmp_path / "rooflens.yaml"
        path.write_text(
            "interval_s: 0.5 s\ntimeout_s: 0.4 s\nlisten: 127.0.0.1:0\ntargets:\n"
            f"  - {{url: '{url}', name: well, model: llama-3.1-8b, on: h100-sxm5-80gb}}\n"
            f"  - {{url: 'http://127.0.0.1:{free_port()}', name: dead}}\n"
        )
        with the_verb(path) as where, prometheus(tmp_path, where) as port:

            def value(expression):
                engine.serve(1)  # it goes on working while it is watched
                found = ask(port, "query", query=expression)["result"]
                return [(one["metric"].get("target"), float(one["value"][1])) for one in found]

            mbu = until(lambda: value('rooflens_mbu_ratio{of="datasheet",over="wall"} > 0'), tmp_path)
            assert [target for target, _ in mbu] == ["well"]
            assert until(lambda: value("target:rooflens_roof_ratio:max > 0"), tmp_path)[0][0] == "well"
            (floor,) = until(lambda: value("target:rooflens_floor_share_ratio"), tmp_path)
            assert 0 < floor[1] < 1  # 20 ms a token: far from what this machine can do
            until(lambda: value('ALERTS{alertname="RooflensBlind",alertstate="firing"}'), tmp_path)
            alerts = ask(port, "alerts")["alerts"]
            (blind,) = [one for one in alerts if one["labels"]["alertname"] == "RooflensBlind"]
            assert blind["labels"]["target"] == "dead"
            assert "/status" in blind["annotations"]["next_step"]
            (told,) = ask(port, "metadata", metric="rooflens_mbu_ratio")["rooflens_mbu_ratio"]
            assert told["help"] == TOLD["rooflens_mbu_ratio"].help
            assert ask(port, "targets")["activeTargets"][0]["health"] == "up"
