"""One measurement at a time on a machine: who holds the lock, who waits, who is refused, and what death releases."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rooflens.errors import RooflensError
from rooflens.lab.asked import asked
from rooflens.measure import lock as locks
from rooflens.measure.lock import Holder, alone
from rooflens.measure.node import Heard
from rooflens.readers.nodes.topo import PEERS_ALONE
from rooflens.roofline.merged import merged

HOLD = """
import sys, time
from rooflens.measure.lock import alone
with alone(0, machine=sys.argv[1] if len(sys.argv) > 1 else ""):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture(autouse=True)
def locks_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFLENS_LOCKS", str(tmp_path))
    return tmp_path


@pytest.fixture
def holder():
    """A process that holds the lock, and one for each further call."""
    started = []

    def hold(*named):
        process = subprocess.Popen([sys.executable, "-c", HOLD, *named], stdout=subprocess.PIPE, text=True)
        started.append(process)
        assert process.stdout.readline() == "held\n"
        return process

    yield hold
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


def test_nobody_is_waited_for_on_an_idle_machine_one_after_another():
    for _ in range(2):
        with alone(0) as before:
            assert before is None


def test_who_measures_is_named_and_the_other_refused(holder):
    process = holder()
    with (
        pytest.raises(RooflensError, match=rf"^process {process.pid} \(-c, since 20.*\) is measuring this machine"),
        alone(0),
    ):
        pass


def test_whoever_waits_is_told_once_and_has_its_turn_when_the_other_ends_however_it_ends(holder):
    process, told = holder(), []

    def waiting(who):
        told.append(who)
        os.kill(process.pid, signal.SIGKILL)  # no time to give anything back

    with alone(60, waiting) as before:
        assert before == told[0]
    assert [who.pid for who in told] == [process.pid]


def test_two_threads_of_one_process_do_not_measure_at_once():
    with alone(0), pytest.raises(RooflensError, match=f"process {os.getpid()} "), alone(0.2):
        pass


def test_a_made_up_machine_is_no_other_made_up_one(holder):
    holder("node-1")
    with alone(0, machine="node-2"), alone(0):
        pass
    with pytest.raises(RooflensError, match="is measuring"), alone(0, machine="node-1"):
        pass


def test_a_lock_that_says_nothing_or_nonsense_is_somebody(tmp_path):
    assert str(Holder()) == "another process"
    assert str(Holder(7, "rooflens lab", "today")) == "process 7 (rooflens lab, since today)"
    with alone(0):
        for said in (b"", b"\xff{", b"[7]", b'{"pid": "x"}', b"null"):
            (tmp_path / "rooflens-measure.lock").write_bytes(said)
            with pytest.raises(RooflensError, match=r"^another process is measuring"), alone(0):
                pass


def test_a_lock_file_that_was_swept_away_keeps_nobody_out_and_lets_no_two_in(tmp_path):
    lock = tmp_path / "rooflens-measure.lock"
    with alone(0):
        lock.unlink()
        with alone(0), pytest.raises(RooflensError, match="is measuring"), alone(0):
            pass


def test_any_user_may_take_the_lock_after_another(tmp_path):
    old = os.umask(0o077)
    try:
        with alone(0):
            assert (tmp_path / "rooflens-measure.lock").stat().st_mode & 0o777 == 0o666
    finally:
        os.umask(old)


def test_no_link_is_followed_and_a_named_folder_that_cannot_hold_it_is_said(tmp_path, monkeypatch):
    elsewhere = tmp_path / "precious"
    elsewhere.write_text("keep", encoding="utf-8")
    (tmp_path / "rooflens-measure.lock").symlink_to(elsewhere)
    with pytest.raises(RooflensError, match=r"ROOFLENS_LOCKS=.*no lock can be kept there"), alone(0):
        pass
    assert elsewhere.read_text(encoding="utf-8") == "keep"
    monkeypatch.delenv("ROOFLENS_LOCKS")
    monkeypatch.setattr(locks, "COMMON", (str(tmp_path), str(tmp_path / "next")))  # the first of them is spoilt
    (tmp_path / "next").mkdir()
    with alone(0):
        assert json.loads((tmp_path / "next" / "rooflens-measure.lock").read_bytes())["pid"] == os.getpid()


def test_where_no_folder_takes_a_lock_measuring_goes_on(tmp_path, monkeypatch):
    monkeypatch.delenv("ROOFLENS_LOCKS")
    monkeypatch.setattr(locks, "COMMON", (str(tmp_path / "none"),))
    monkeypatch.setattr(locks.tempfile, "gettempdir", lambda: str(tmp_path / "none"))
    with alone(0) as before:
        assert before is None


MEASURE = """
import sys, time
from pathlib import Path
from rooflens import artefacts
from rooflens.cli import main, measure
def slowly(*_):
    with Path(sys.argv[1]).open("a") as log:
        print("begin", file=log, flush=True)
        time.sleep(1)
        print("end", file=log)
    return artefacts.profile(Path(sys.argv[2]))
measure.profile_of, measure.remember = slowly, lambda _: None
main(["measure", *sys.argv[3:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("file", ["node.json", ""])
def test_tasks_of_one_node_started_at_once_measure_it_once_into_one_file(tmp_path, file):
    """As srun starts several tasks of a node with one -o FOLDER/$HOSTNAME.json; without a file each measures."""
    profile = Path(__file__).parents[1] / "experiments" / "cpu-example" / "profile.json"
    named = ["-o", str(tmp_path / file)] if file else []
    command = [sys.executable, "-c", MEASURE, str(tmp_path / "log"), str(profile), *named, "--json"]
    tasks = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(3)]
    told = [task.communicate(timeout=60) for task in tasks]
    assert [task.returncode for task in tasks] == [0, 0, 0]
    assert len({out for out, _ in told}) == 1  # all answer with the profile
    log = (tmp_path / "log").read_text(encoding="utf-8").split()
    count = 1 if file else 3
    assert log == ["begin", "end"] * count  # never two at once
    assert sum("nothing is measured again" in err for _, err in told) == 3 - count
    assert not file or json.loads((tmp_path / file).read_text(encoding="utf-8"))["schema"] == "rooflens/profile/1"


def test_what_is_asked_anyway_is_no_advice(monkeypatch):
    """topo -p2p read alone says: add topo -m. Here that is another answer of the same node."""
    matrix = "\tGPU0\tGPU1\nGPU0\t X \t{0}\nGPU1\t{0}\t X \n"
    texts = {"nvidia-smi topo -m": matrix.format("NV18"), "nvidia-smi topo -p2p r": matrix.format("OK")}
    heard = tuple(Heard(command, text) for command, text in texts.items())
    monkeypatch.setattr("rooflens.lab.asked.ask", lambda: heard)
    told = asked()
    assert merged(told.nodes).warnings == ()
    assert merged(told.nodes).link(0, 1).peers == "OK"
    monkeypatch.setattr("rooflens.lab.asked.ask", lambda: heard[1:])
    assert merged(asked().nodes).warnings == (PEERS_ALONE,)
