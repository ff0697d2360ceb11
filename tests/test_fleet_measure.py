"""Nodes measured together: what lands, what becomes of a node that gives nothing, and real Ray clusters that fail."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

import psutil
import pytest

from rooflens import artefacts
from rooflens.errors import BadFile, RooflensError
from rooflens.fleet import cluster as clusters
from rooflens.fleet.cluster import Joining
from rooflens.fleet.landing import Landing, plain
from rooflens.fleet.measuring import fakes, worker
from rooflens.fleet.measuring.deaths import BY_NAME, death, named
from rooflens.fleet.measuring.driver import connected
from rooflens.fleet.measuring.places import NO_WORK, Place, places
from rooflens.fleet.measuring.record import SCHEMA as GATHERED
from rooflens.fleet.measuring.record import Asking, Gathered, Outcome
from rooflens.fleet.measuring.together import arguments, judged
from rooflens.fleet.simulated import node_profile
from rooflens.present.retold import retold
from rooflens.present.words import book
from rooflens.records import decode, replace
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent
from rooflens.roofline.profile import SCHEMA

needs_ray = pytest.mark.skipif(find_spec("ray") is None, reason="needs the extra fleet: pip install 'rooflens[fleet]'")


@pytest.fixture(scope="module")
def text():
    """A node's answer, as JSON."""
    return artefacts.to_json(node_profile("node-0", devices=2), SCHEMA)


def absent(folder, node):
    return artefacts.load(folder / f"{node}.absent.json", Absent, ABSENT)


# --- what lands -----------------------------------------------------------------------------------------------------


def test_a_profile_that_landed_is_there_and_that_its_node_was_absent_is_over(tmp_path, text):
    landing = Landing(tmp_path / "nodes")
    landing.wait("node-0", "noon", 1)
    assert absent(landing.folder, "node-0") == Absent("node-0", "hung", "asked at noon; no answer has come yet", 1)
    assert not landing.landed("node-0")
    landing.land("node-0", text)
    assert landing.landed("node-0")
    assert [path.name for path in landing.folder.glob("*.json")] == ["node-0.json"]
    assert landing.file("node-0").read_text(encoding="utf-8") == text


@pytest.mark.parametrize("damaged", ["", "{", '{"schema": "rooflens/profile/1"}', "[]", "\x00"])
def test_a_file_that_is_no_profile_has_not_landed(tmp_path, damaged):
    (tmp_path / "node-0.json").write_text(damaged, encoding="utf-8")
    assert not Landing(tmp_path).landed("node-0")


def test_an_answer_that_is_no_profile_is_refused_before_anything_is_written(tmp_path, text):
    landing = Landing(tmp_path)
    for answer in (
        "",
        "Segmentation fault",
        text[: len(text) // 2],
        text.replace('"kind": "gpu"', '"kind": "toaster"'),
    ):
        with pytest.raises(BadFile):
            landing.read("node-0", answer)
    assert not list(tmp_path.glob("*.json"))


def test_a_node_that_was_asked_and_is_in_no_cluster_any_more_is_not_forgotten(tmp_path, text):
    landing = Landing(tmp_path)
    for node in ("gone", "here", "landed"):
        landing.wait(node, "noon", 1)
    landing.miss(Absent("dead", "died", "it burnt down", 2))
    landing.land("landed", text)
    (tmp_path / "strange.absent.json").write_text("{", encoding="utf-8")
    found = landing.lost({"here"})
    assert [(one.node, one.state, one.why) for one in found] == [
        ("dead", "died", "it burnt down"),
        ("gone", "died", "asked at noon; no answer has come yet, and it is not in the cluster any more"),
    ]
    assert absent(tmp_path, "gone") == found[1]


def test_one_folder_is_filled_by_one_at_a_time(tmp_path):
    filling = "another rooflens fleet measure is filling"
    with Landing(tmp_path).alone(), pytest.raises(RooflensError, match=filling), Landing(tmp_path).alone():
        pass
    with Landing(tmp_path).alone():
        pass


def test_a_place_that_takes_no_files_is_said_at_once(tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(RooflensError, match="is a file; name a folder with --out"):
        Landing(tmp_path / "file")


def test_no_name_of_a_node_leaves_the_folder():
    assert plain("../../etc/passwd") == "-..-etc-passwd"
    assert plain("ip-10-0-0-1.ec2") == "ip-10-0-0-1.ec2"
    assert plain("node 1/ñ") == "node-1-ñ"
    assert plain("...") == "node"


# --- made-up nodes --------------------------------------------------------------------------------------------------


def test_each_made_up_node_is_told_its_own_faults():
    said = "fake:node-1:clock=0.1@2+takes=5,node-2:pcie,*:takes=1"
    assert fakes.of_node(said, "node-1") == "fake:node-1:clock=0.1@2+takes=5"
    assert fakes.of_node(said, "node-2") == "fake:node-2:pcie"
    assert fakes.of_node(said, "node-3") == "fake:node-3:takes=1"
    assert fakes.of_node("fake", "node-3") == "fake:node-3"
    fake = fakes.parsed("node-1:clock=0.1@2+pcie+takes=5")
    assert (fake.node, fake.takes_s) == ("node-1", 5.0)
    assert {number: (fault.kind, fault.loss) for number, fault in fake.faults.items()} == {
        2: ("clock", 0.1),
        0: ("pcie", 0.05),
    }


@pytest.mark.parametrize("bad", ["clok", "clock=", "clock=x", "clock@", "clock=0.1.2", "clock@-1", "=3"])
def test_a_fault_that_is_none_is_named(bad):
    with pytest.raises(RooflensError, match=r"is no fault; write KIND=LOSS@DEVICE, of clock, power"):
        fakes.parsed(f"node-1:{bad}")


def test_a_made_up_node_is_measured_from_the_command_line_and_never_kept_as_here(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    told = cli("measure", "--device", "fake:node-1:clock=0.1@2", "--all-devices", "--json")
    found = json.loads(told.out)
    assert told.code == 0
    assert list(found["together"]) == [f"fake:{i}" for i in range(8)]
    roofs = {name: next(c["value"] for c in p["ceilings"] if c["id"].endswith("fp32/burst"))
             for name, p in found["together"].items()}  # fmt: skip
    assert roofs["fake:2"] == pytest.approx(0.9 * roofs["fake:1"], rel=0.05)
    assert not list(tmp_path.rglob("profile.json"))
    assert cli("measure", "--device", "fake:node-1:clok").err.startswith("rooflens: --device fake: 'clok' is no fault")
    assert "unknown device 'faker'" in cli("measure", "--device", "faker").err


# --- what a node is asked, and what its answer means ----------------------------------------------------------------


def test_a_node_is_asked_for_all_of_its_devices_where_it_has_several():
    asking = Asking(("--quick",), limit_s=60)
    assert arguments(Place("a", "1", cpus=8), asking) == ["--device", "auto", "--wait-s", "60", "--quick"]
    assert arguments(Place("a", "1", gpus=1), asking)[-1] == "--quick"
    assert arguments(Place("a", "1", gpus=8), asking)[-1] == "--all-devices"
    assert "--all-devices" not in arguments(Place("a", "1", gpus=8), replace(asking, device="rocm"))
    made_up = arguments(Place("a", "1"), replace(asking, device="fake:a:pcie"))
    assert (made_up[1], made_up[-1]) == ("fake:a:pcie", "--all-devices")


def answered(text, **more):
    return {"state": "answered", "text": text, "version": "0.1.0", "said": "the last line", **more}


def test_a_profile_lands_and_everything_else_is_a_state_with_its_reason(tmp_path, text):
    landing, place, asking = Landing(tmp_path), Place("node-0", "1", gpus=2), Asking()

    def what(answer, **more):
        found = judged(answer, replace(place, **more), landing, asking, 1)
        assert found.answered == landing.landed("node-0")
        return found.state, found.why

    newer = text.replace("rooflens/profile/1", "rooflens/profile/2")
    cpu = artefacts.read_text(Path(__file__).parents[1] / "experiments" / "cpu-example" / "profile.json")
    assert what(answered("Bus error")) == (
        "garbage", "not a whole JSON file: line 1: Expecting value; was it cut off or edited?"
    )  # fmt: skip
    assert what(answered(newer)) == (
        "refused",
        "schema: 'rooflens/profile/2' is newer than this rooflens reads ('rooflens/profile/1'); upgrade rooflens",
    )
    assert what(answered(cpu)) == (
        "refused", "Ray gives it 2 GPUs and none of them could be measured; the last it said: the last line"
    )  # fmt: skip
    assert what({"state": "hung", "why": "it sleeps", "version": ""}) == ("hung", "it sleeps")
    assert what(answered(text)) == ("measured", None)
    assert judged(answered(cpu), replace(place, gpus=0.0), landing, asking, 1).answered


def test_what_ray_says_of_a_task_is_a_state_and_a_sentence():
    assert named("OutOfMemoryError", "long").why == "Ray ended its worker because the node ran out of memory"
    assert named("RuntimeEnvSetupError", "\nno such package: x\n") == named(
        "RuntimeEnvSetupError", "no such package: x"
    )
    assert named("RuntimeEnvSetupError", "").state == "refused"
    task = named("RayTaskError(OSError)", "ray::work()\n  File x\nOSError: no space left on device\n")
    assert (task.state, task.why) == ("died", "its task ended: OSError: no space left on device")


class Rays:
    """What `ray.nodes()` gives."""

    def __init__(self, *nodes):
        self.given = nodes

    def nodes(self):
        return list(self.given)


def node(id, host="host", name=None, alive=True, **has):
    return {
        "NodeID": id, "Alive": alive, "NodeManagerHostname": host, "NodeManagerAddress": "10.0.0.1",
        "NodeName": name or "10.0.0.1", "Resources": {"memory": 1e9, **has}, "DeathReasonMessage": "it\nburnt",
    }  # fmt: skip


def test_nodes_have_the_name_they_were_given_else_that_of_their_host_and_no_two_the_same():
    found = places(Rays(
        node("11111111aa", "b", CPU=4.0), node("2", "a", CPU=8.0, GPU=8.0, neuron_cores=2.0),
        node("3", "b", "mine", CPU=1.0), node("44444444aa", "b", CPU=4.0), node("5", "c", alive=False, CPU=9.0),
        node("6", "head"),
    ))  # fmt: skip
    assert [place.name for place in found] == ["a", "b-11111111", "b-44444444", "head", "mine"]
    assert found[0] == Place("a", "2", 8.0, 8.0, {"neuron_cores": 2.0})
    assert [place.name for place in found if not place.works] == ["head"]


def test_a_node_that_left_explains_every_error():
    gone = death(Rays(node("1", alive=False)), "1", RuntimeError("whatever"))
    assert (gone.state, gone.why) == ("died", "the node left the cluster: it")
    assert (
        death(Rays(), "1", RuntimeError("whatever")).why
        == "the node left the cluster: Ray does not hear from it any more"
    )
    assert death(Rays(node("1")), "1", RuntimeError("whatever")).why == "its task ended: whatever"


# --- the process on a node ------------------------------------------------------------------------------------------


class Barrier:
    """Nobody to wait for."""

    class begin:  # noqa: N801 - as an actor's method is called
        remote = staticmethod(lambda: None)


def pretender(folder, script):
    """A Python that does as the script says instead of measuring."""
    path = folder / "python"
    path.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


def job(**more):
    return {"node": "n", "arguments": ["--device", "fake:n"], "limit_s": 60, "cpus": 1, "python": "", **more}


@pytest.mark.parametrize(
    ("script", "state", "why"),
    [
        ("echo nonsense", "answered", None),
        ("echo warm >&2; echo 'rooflens: cuda:0 cannot be measured: no driver' >&2; exit 2", "refused",
         "cuda:0 cannot be measured: no driver"),
        ("exit 2", "refused", "it said no reason"),
        ("printf ' 43 %%  memory read\\n' >&2; kill -9 $$", "died",
         "the measurement ended by signal 9 (SIGKILL); the last it said: 43 %  memory read"),
        ("echo ModuleNotFoundError >&2; exit 1", "died",
         "the measurement ended with exit code 1; the last it said: ModuleNotFoundError"),
        ("echo ' 43 %  memory read' >&2; exec sleep 600", "hung",
         "no answer within 1 s; the last it said: 43 %  memory read"),
    ],
)  # fmt: skip
def test_however_the_measurement_ends_it_is_a_state_with_its_last_words(tmp_path, script, state, why):
    found = worker._measured(pretender(tmp_path, script), job(limit_s=1 if "sleep" in script else 60), Barrier)
    assert (found["state"], found.get("why")) == (state, why)
    if state == "answered":
        assert found["text"] == "nonsense\n"


def test_a_node_without_rooflens_or_python_says_so(tmp_path):
    assert worker._version(str(tmp_path / "none")) == (
        "",
        f"{tmp_path / 'none'} cannot be started: no such file or directory",
    )
    none = pretender(tmp_path, "echo 'python: No module named rooflens' >&2; exit 1")
    assert worker._version(none) == ("", "rooflens does not start there: python: No module named rooflens")
    assert worker._version(pretender(tmp_path, "echo 'rooflens, version 0.0.9'")) == ("0.0.9", "")


def test_threads_that_ray_sets_by_itself_do_not_limit_the_measurement(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    assert "OMP_NUM_THREADS" not in worker._environment(job(cpus=8.0))
    assert worker._environment(job(cpus=4.0))["OMP_NUM_THREADS"] == "8"  # somebody's wish


@pytest.mark.slow
def test_a_measurement_ends_with_whoever_started_it_and_gives_the_lock_back(tmp_path):
    """As when the driver of a run is killed and Ray ends its workers: nobody measures on beside the next run."""
    script = textwrap.dedent("""
        from rooflens.fleet.measuring import worker
        class Barrier:
            class begin:
                remote = staticmethod(lambda: None)
        worker._measured(__import__("sys").executable, {"arguments": ["--device", "fake:orphan:takes=300"],
                         "limit_s": 300, "cpus": 1}, Barrier)
    """)
    with subprocess.Popen([sys.executable, "-c", script]) as parent:
        child = wait_for(lambda: holder(tmp_path, "orphan"))
        parent.kill()
    with suppress(psutil.NoSuchProcess):  # it may be gone already
        psutil.wait_procs([psutil.Process(child)], timeout=60)
    with alone_now("orphan"):
        pass


def holder(folder, name):
    """Who holds the lock of a made-up node."""
    lock = Path(os.environ["ROOFLENS_LOCKS"], f"rooflens-measure-{name}.lock")
    return json.loads(lock.read_text(encoding="utf-8") or "{}").get("pid") if lock.exists() else None


def alone_now(name):
    from rooflens.measure.lock import alone

    return alone(30, machine=name)


def wait_for(what, limit_s=240):
    end = time.monotonic() + limit_s
    while not (found := what()):
        assert time.monotonic() < end
        time.sleep(0.1)
    return found


# --- reaching a cluster ---------------------------------------------------------------------------------------------

MISMATCH = """RuntimeError: Version mismatch: The cluster was started with:
    Ray: 2.44.1
    Python: 3.11.7
This process on node 192.0.2.2 was started with:
    Ray: 2.60.0
    Python: 3.11.7
"""  # as Ray 2.60 said it before a cluster of 2.44


def joining(address, **more):
    return Joining(address, "walk there", **more)


def test_a_cluster_of_another_ray_is_a_sentence_with_both_versions():
    assert str(clusters.refused(joining("h:1"), MISMATCH)) == (
        "the cluster at h:1 runs Ray 2.44.1 on Python 3.11.7, and here is Ray 2.60.0 on Python 3.11.7; Ray joins only "
        "equal ones: run this from an environment as on the cluster's nodes"
    )
    assert str(clusters.refused(joining("auto"), "Could not find any running Ray instance.")) == (
        "no Ray cluster runs on this machine; start one (ray start --head), name one (--ray HOST:PORT), or walk there"
    )
    assert str(clusters.refused(joining("h:1"), "\nValueError: odd\nmore")).endswith(
        "cannot be joined: ValueError: odd"
    )


@pytest.mark.parametrize("address", ["", "here", "local", "h:", ":1", "h:x", "h:0", "h:70000", "ray://h"])
def test_an_address_that_is_none_is_refused_before_ray_is_asked(address):
    with pytest.raises(RooflensError, match=r"--ray .*: write auto, HOST:PORT"):
        clusters.knock(joining(address))
    with pytest.raises(RooflensError, match=r"ray://HOST:PORT, or local for a Ray of its own$"):
        clusters.knock(joining(address, processors=2))


def test_an_address_where_nobody_listens_is_refused_at_once():
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(RooflensError, match=rf"^no Ray cluster at 127\.0\.0\.1:{port}: connection refused; `ray start"):
        clusters.knock(joining(f"127.0.0.1:{port}"))


def test_without_ray_the_other_way_is_named(cli, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    told = cli("fleet", "measure", "--ray", "auto", "-o", str(tmp_path / "nodes"))
    assert told.code == 2
    assert told.err.startswith("rooflens: Ray is not installed; pip install 'rooflens[fleet]', or let each node run")


@needs_ray
@pytest.mark.slow
def test_a_port_that_is_no_rays_is_a_sentence_too(monkeypatch):
    monkeypatch.setattr(clusters, "PROBE_S", 8.0)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with (
            pytest.raises(RooflensError, match=r"no answer that Ray understands within 8 s"),
            connected(f"127.0.0.1:{port}", Asking()),
        ):
            pass


# --- words ----------------------------------------------------------------------------------------------------------


def test_limits_that_are_none_are_refused():
    for wrong in ({"limit_s": 0.0}, {"start_s": -1.0}, {"attempts": 0}):
        with pytest.raises(RooflensError, match="above 0 s"):
            Asking(**wrong)


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_the_answer_is_told_in_the_language_with_its_reasons(lang):
    from rooflens.cli.fleet_measure import shown

    whys = [
        "asked at noon; no answer has come yet",
        "asked at noon; no answer has come yet, and it is not in the cluster any more",
        "the node left the cluster: it burnt down",
        "no answer within 45 s, nor a word from Ray's worker there",
        "no answer within 45 s; the last it said: memory read",
        "it did not begin within 5 s: other work holds its processors or accelerators, or it does not answer",
        "Ray gives it 8 GPUs and none of them could be measured; the last it said: no driver",
        "the measurement ended by signal 9 (SIGKILL); the last it said: memory read",
        "the measurement ended with exit code 1; the last it said: memory read",
        "rooflens does not start there: no module",
        "rooflens did not say its version within 120 s",
        "/opt/python cannot be started: no such file or directory",
        "it said no reason",
        *(named(name, "x").why for name in (*BY_NAME, "Strange")),
    ]  # fmt: skip
    assert [why for why in whys if retold(why, lang) == why] == []
    outcomes = tuple(Outcome(f"node-{i}", "died", why, 1) for i, why in enumerate(whys))
    text = shown(Gathered("nodes", "now", 1.0, outcomes, 0.1, {"head": NO_WORK}), lang)
    assert retold(NO_WORK, lang) != NO_WORK
    assert NO_WORK not in text
    assert book("fleet_measure", lang).keys() == book("fleet_measure", "en").keys()


# --- real clusters --------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def there():
    """Four nodes on this computer."""
    from tests.fleet_cluster import cluster

    with cluster(4) as found:
        yield found


def ask(there, folder, *more, device="fake", code=0):
    """`rooflens fleet measure` over the cluster, to its end: what came of each node."""
    from tests.fleet_cluster import fleet

    process = fleet("--ray", there.address, "-o", str(folder), "--device", device, "--json", *more)
    out, err = process.communicate(timeout=300)
    assert process.returncode == code, err
    found = decode(Gathered, json.loads(out), "answer", GATHERED)
    return {one.node: one for one in found.nodes}, found


def edition(file):
    """What changes when a file is written again."""
    return file.stat().st_mtime_ns, file.stat().st_ino


@needs_ray
@pytest.mark.slow
def test_a_driver_that_is_killed_goes_on_from_what_landed(there, tmp_path):
    from tests.fleet_cluster import ended, fleet, measuring

    device = "fake:node-0:,*:takes=20"
    folder = tmp_path / "nodes"
    with fleet("--ray", there.address, "-o", str(folder), "--device", device) as driver:
        wait_for((folder / "node-0.json").exists)
        old = [wait_for(lambda n=n: measuring(f"node-{n}")) for n in (1, 2, 3)]
        driver.send_signal(signal.SIGKILL)
    first = edition(folder / "node-0.json")
    assert {path.name for path in folder.glob("*.absent.json")} == {f"node-{n}.absent.json" for n in (1, 2, 3)}
    found, answer = ask(there, folder, device=device)  # at once: tasks of the old driver may still run
    assert {name: one.state for name, one in found.items()} == {
        "node-0": "landed before", "node-1": "measured", "node-2": "measured", "node-3": "measured"
    }  # fmt: skip
    assert all(ended(process) for process in old)  # nobody measured on beside the new ones
    assert edition(folder / "node-0.json") == first
    assert not list(folder.glob("*.absent.json"))
    assert answer.began_within_s is not None
    assert "Ray's tasks" in next(iter(answer.left_out.values()))  # the head offers nothing


PRETENDS = """#!/bin/sh
case "$*" in
  *fake:node-1*) echo 'Segmentation fault'; exit 0 ;;
  *fake:node-2*) if mkdir {folder}/once 2>/dev/null; then kill -9 $$; fi ;;
  *fake:node-3*) echo "Error: No such option '--wait-s'." >&2; exit 2 ;;
esac
exec {python} "$@"
"""


@needs_ray
@pytest.mark.slow
def test_nonsense_a_crash_and_an_older_rooflens_are_rows_and_a_second_attempt_mends_what_it_can(there, tmp_path):
    program = tmp_path / "python"
    program.write_text(PRETENDS.format(folder=tmp_path, python=sys.executable), encoding="utf-8")
    program.chmod(0o755)
    found, _ = ask(there, tmp_path / "nodes", "--python", str(program), code=1)
    assert {name: (one.state, one.attempts) for name, one in found.items()} == {
        "node-0": ("measured", 1), "node-1": ("garbage", 2), "node-2": ("measured", 2), "node-3": ("refused", 1)
    }  # fmt: skip
    assert absent(tmp_path / "nodes", "node-3").why == "Error: No such option '--wait-s'."
    assert absent(tmp_path / "nodes", "node-1").attempts == 2
    assert sorted(path.name for path in (tmp_path / "nodes").glob("*.json")) == [
        "node-0.json", "node-1.absent.json", "node-2.json", "node-3.absent.json"
    ]  # fmt: skip
    again, _ = ask(there, tmp_path / "nodes")  # the machines mended: the same folder, what is missing
    assert [one.state for one in again.values()] == ["landed before", "measured", "landed before", "measured"]


HOLDS = """
import sys, time, ray
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy as On
(id,) = [node["NodeID"] for node in ray.nodes() if node["NodeName"] == "node-1"]
@ray.remote(num_gpus=1)
class Holder:
    def there(self): return True
holder = Holder.options(scheduling_strategy=On(id, soft=False)).remote()
ray.get(holder.there.remote())
print("held", flush=True)
sys.stdin.read()
"""


@needs_ray
@pytest.mark.slow
def test_a_node_that_others_use_does_not_hold_the_rest_up(there, tmp_path):
    with subprocess.Popen(
        [sys.executable, "-c", HOLDS, there.address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout.readline() == "held\n"
        found, _ = ask(there, tmp_path, "--nodelist", "node-0,node-1", "--start-s", "60", code=1)
        other.stdin.close()
    assert {name: one.state for name, one in found.items()} == {"node-0": "measured", "node-1": "hung"}
    assert found["node-1"].why.startswith(
        "it did not begin within 60 s: other work holds its processors or accelerators"
    )


@needs_ray
@pytest.mark.slow
def test_a_node_that_is_not_there_is_named_with_those_that_are_near(there, tmp_path):
    from tests.fleet_cluster import fleet

    process = fleet("--ray", there.address, "-o", str(tmp_path), "--device", "fake", "--nodelist", "node-9")
    _, err = process.communicate(timeout=300)
    assert process.returncode == 2
    assert "unknown node of this cluster 'node-9'; did you mean 'node-" in err


@needs_ray
@pytest.mark.slow
def test_eight_nodes_of_which_one_is_killed_one_hangs_one_is_slow_and_one_has_half_its_lanes(tmp_path):
    from benchmarks import fleet_machinery as machinery

    found = machinery.run(tmp_path)
    assert found["code"] == found["report"]["code"] == 1  # not all are well
    silent = {name: state for name, state in machinery.states(found["measured"]).items() if state != "measured"}
    assert silent == machinery.SILENT
    assert machinery.named(found["report"]) == (machinery.OUT, machinery.SILENT)
    assert list(machinery.lines(found))[-1] == "all four named, nobody else"
