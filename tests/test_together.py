"""Several devices at once and the links between them, on made-up cards."""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from test_cuda import GPU

from rooflens import artefacts
from rooflens.cli import main
from rooflens.cli.measure import _shown
from rooflens.lab.across_table import across_table
from rooflens.lab.sections import device_query
from rooflens.measure import together
from rooflens.measure.backends import cuda
from rooflens.measure.backends.fake import FakeBackend, FakeMachine
from rooflens.measure.links import PEER_WAYS, peer_name
from rooflens.measure.options import gpu
from rooflens.measure.run import measure
from rooflens.measure.together import across, measure_together, other_pairs, with_all
from rooflens.present.retold import retold
from rooflens.records import decode, encode, replace
from rooflens.roofline.across import Across
from rooflens.roofline.profile import SCHEMA, Profile

PROFILES = sorted((Path(__file__).parents[1] / "experiments").glob("*/profile.json"))
QUICK = replace(gpu(quick=True), dtypes=("bf16",))
PAIR = {**GPU, "peers": {1: 400e9}}


class Absent(FakeBackend):
    """A card that cannot be used."""

    def why_not(self):
        return "the card has fallen off the bus"


def card(number, slow=(), absent=()):
    """Card `number`; a slow one reads its memory and multiplies a tenth slower."""
    scale = 0.9 if number in slow else 1.0
    truth = {**PAIR, "memory": {k: scale * v for k, v in GPU["memory"].items()}, "noise": 0.0}
    return (Absent if number in absent else FakeBackend)(FakeMachine(**truth))


@pytest.fixture(scope="module")
def profile():
    return measure(card(0), QUICK)


def test_copies_to_another_device_are_link_ceilings_in_each_direction_and_both(profile):
    found = {c.id: c for c in profile.ceilings if c.kind == "link" and c.level == "nvlink"}
    assert set(found) == {"link/nvlink/0-1", "link/nvlink/1-0", "link/nvlink/0+1"}
    assert found["link/nvlink/0-1"].value == pytest.approx(400e9, rel=0.01)
    assert found["link/nvlink/0+1"].value == pytest.approx(0.9 * 400e9, rel=0.01)  # one direction's rate
    assert "one direction's rate" in found["link/nvlink/0+1"].note
    assert profile.machine().the_link().value == pytest.approx(400e9, rel=0.01)  # before PCIe


def test_a_single_device_has_no_such_stage():
    alone = measure(FakeBackend(FakeMachine(**GPU)), QUICK)
    assert not any(c.level == "nvlink" for c in alone.ceilings)
    assert not any("nvlink" in s for s in alone.skipped)


def test_a_pair_has_one_name_whoever_measures_it():
    to, back, both = PEER_WAYS
    assert (peer_name((0, 1), to), peer_name((0, 1), back), peer_name((0, 1), both)) == ("0-1", "1-0", "0+1")
    assert (peer_name((1, 0), to), peer_name((1, 0), both)) == ("1-0", "0+1")


def test_behind_is_under_95_per_cent_of_the_median() -> None:
    rates = {"a": 100.0, "b": 100.0, "c": 95.0}
    assert not Across("memory/main/read", "B/s", rates).behind
    assert Across("memory/main/read", "B/s", {**rates, "c": 94.9}).behind


def test_the_slowest_is_seen_against_the_median():
    rates = Across("memory/main/read", "B/s", {"cuda:0": 4.5e12, "cuda:1": 4.0e12, "cuda:2": 4.6e12})
    assert (rates.slowest, rates.median, rates.behind) == ("cuda:1", 4.5e12, True)
    assert rates.share("cuda:1") == pytest.approx(4.0 / 4.5)
    costs = Across("launch/host", "s", {"cuda:0": 4.0e-6, "cuda:1": 4.1e-6})
    assert costs.slowest == "cuda:1"  # fewer seconds are better
    assert not costs.behind


@pytest.mark.parametrize("values", [{}, {"cuda:0": 4.5e12, "cuda:1": 0.0}])
def test_devices_are_compared_by_figures_above_0(values):
    with pytest.raises(ValueError, match="memory/main/read: every device needs a figure above 0"):
        Across("memory/main/read", "B/s", values)


def test_untrusted_and_lonely_figures_are_not_compared(profile):
    worse = replace(profile, ceilings=tuple(replace(c, trusted=c.kind != "memory") for c in profile.ceilings))
    ids = {a.id for a in across({"a": profile, "b": worse})}
    assert "launch/device" in ids
    assert "memory/main/read" not in ids


def test_a_profile_with_all_devices_survives_its_file_and_names_the_slowest(profile):
    joined = with_all(profile, {"cuda:0": profile, "cuda:1": measure(card(1, slow=(1,)), QUICK)}, ["cuda:2 failed"], [])
    assert decode(Profile, {"schema": SCHEMA, **encode(joined)}, "p.json", SCHEMA) == joined
    assert any("cuda:1 is the slowest of 2 in memory/main/read" in note for note in joined.notes)
    assert "cuda:2 failed" in joined.skipped
    assert set(joined.together) == {"cuda:0", "cuda:1"}
    for a in joined.across:  # what is compared is what each device's own profile holds
        assert {name: p.ceiling(a.id).value for name, p in joined.together.items()} == a.values


@pytest.mark.parametrize("path", PROFILES, ids=lambda p: p.parent.name)
def test_files_from_before_nodes_were_asked_still_load(path):
    old = artefacts.read_json(path)
    for key in ("together", "node", "collectives", "across"):
        old.pop(key, None)
    found = decode(Profile, old, str(path), SCHEMA)
    assert (found.together, found.node, found.collectives) == ({}, None, ())


def distrusted(profile, why):
    """The profile as measured beside somebody else."""
    found = (replace(c, trusted=c.origin != "measured", why_not=why) for c in profile.ceilings)
    return replace(profile, ceilings=tuple(found))


def test_what_cannot_be_compared_is_said_with_its_reasons(profile):
    why = "process 7 is on the card too"
    disturbed = distrusted(profile, why)
    count = sum(c.origin == "measured" for c in profile.ceilings)
    joined = with_all(profile, {"cuda:0": disturbed, "cuda:1": profile}, ["cuda:2 failed"], [])
    assert joined.across == ()
    assert joined.skipped[-3:] == (
        "cuda:2 failed",
        "nothing can be compared across devices: no ceiling has a trusted figure of two of them",
        f"cuda:0: {count} of {count} figures taken beside the others are not trusted, most of them: {why}",
    )
    assert not any("beside the others" in s for s in with_all(profile, {"a": profile, "b": profile}, [], []).skipped)


def test_the_screen_of_measure_names_the_slowest_and_the_median_or_why_not(profile):
    joined = with_all(profile, {"cuda:0": profile, "cuda:1": measure(card(1, slow=(1,)), QUICK)}, [], [])
    (line,) = (x.split() for x in _shown(joined, "en").splitlines() if x.startswith("memory/main/read") and "cuda" in x)
    assert line[1::2] == ["cuda:1", "TB/s", "TB/s", "%"]
    # 0.9 x 4.5 TB/s; of two devices the median is the mean, 0.95 x 4.5; 0.9 / 0.95; launches take the last 0.1 %
    assert [float(x) for x in line[2::2]] == pytest.approx([4.05, 4.275, 94.7], rel=1e-3)
    assert "all devices" not in _shown(profile, "en")
    alone = with_all(profile, {"cuda:0": profile}, ["cuda:1 was not measured beside the others: it is gone"], [])
    assert "skipped: nothing can be compared across devices" in _shown(alone, "en")
    assert "no se midió junto a los demás" in _shown(alone, "es")


def test_pairs_that_a_device_is_not_part_of_are_measured_by_others():
    class Third(FakeBackend):
        def __init__(self, number):
            super().__init__(FakeMachine(**{**GPU, "peers": {n: 400e9 for n in range(3) if n != number}}))
            self.number = number

        def peers(self):
            return [(self.number, n) for n in range(3) if n != self.number]

    found = [c.id for c in other_pairs(Third, 0, range(3), QUICK)]
    assert found == ["link/nvlink/1-2", "link/nvlink/2-1", "link/nvlink/1+2"]


class Hanging(FakeBackend):
    """A card whose driver never answers again once its memory is read."""

    def stream(self, access, level, working_set_bytes, seed):
        time.sleep(3600)


def patient(number):
    """In the process of a device: the others wait a second for it."""
    together.STEP_S = 1.0
    return hanging(number)


def hanging(number):
    return (Hanging if number == 1 else FakeBackend)(FakeMachine(**PAIR))


@pytest.mark.slow
def test_a_device_that_hangs_is_given_up_and_does_not_cost_the_others(monkeypatch):
    monkeypatch.setattr("rooflens.measure.together.ENDED_S", 1.0)
    profiles, failed = measure_together(patient, {0: "cuda:0", 1: "cuda:1", 2: "cuda:2"}, QUICK, silent_s=5)
    assert list(profiles) == ["cuda:0", "cuda:2"]
    assert failed == ("cuda:1 was not measured beside the others: it hangs, nothing came for 5 s after memory read",)
    assert retold(failed[0], "es") == (
        "cuda:1 no se midió junto a los demás: está colgado, no llegó nada en 5 s después de memory read"
    )


@pytest.mark.slow
def test_the_processes_of_devices_end_with_the_one_that_holds_the_lock(tmp_path):
    """A parent that is killed cannot end its children: they notice by themselves."""
    script = (
        "from test_together import hanging, QUICK; from rooflens.measure.together import *\n"
        "if __name__ == '__main__':\n"
        "    measure_together(hanging, {0: 'a', 1: 'b'}, QUICK, lambda n, f: print(n, flush=True))"
    )
    (tmp_path / "parent.py").write_text(script, encoding="utf-8")
    path = {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}
    command = [sys.executable, str(tmp_path / "parent.py")]
    with subprocess.Popen(command, env=path, stdout=subprocess.PIPE, text=True, start_new_session=True) as parent:
        while "memory read" not in parent.stdout.readline():
            pass
        parent.kill()
        parent.stdout.read()  # ends when the last of the children, which inherit it, has ended


@pytest.mark.slow
def test_all_devices_are_measured_at_once_each_in_its_own_process():
    stages = []
    make = functools.partial(card, slow=(1,), absent=(2,))
    names = {n: f"cuda:{n}" for n in range(3)}
    profiles, failed = measure_together(make, names, QUICK, lambda name, _: stages.append(name))
    assert list(profiles) == ["cuda:0", "cuda:1"]
    assert failed == ("cuda:2 was not measured beside the others: the card has fallen off the bus",)
    (read,) = (a for a in across(profiles) if a.id == "memory/main/read")
    assert read.slowest == "cuda:1"
    assert any("memory read" in stage for stage in stages)
    assert not any(c.level == "nvlink" for p in profiles.values() for c in p.ceilings)  # links are measured alone


def asked(capsys, *arguments):
    """Exit code, output and messages of one command line."""
    with pytest.raises(SystemExit) as left:
        main(list(arguments))
    return left.value.code, *capsys.readouterr()


@pytest.mark.parametrize(("device", "said"), [("cpu", "compares NVIDIA GPUs"), ("gpu", "unknown")])
def test_all_devices_of_another_kind_are_refused_with_a_sentence(capsys, device, said):
    code, _, error = asked(capsys, "measure", "--all-devices", "--device", device)
    assert (code, said in error) == (2, True)


@pytest.mark.parametrize("count", [0, 1])
def test_all_devices_of_one_is_that_one_alone_and_says_so(monkeypatch, capsys, count):
    monkeypatch.setattr(cuda, "device_count", lambda: count)
    monkeypatch.setattr("rooflens.cli.measuring._backend", lambda _: card(0))
    monkeypatch.setattr("rooflens.cli.measure.remember", lambda _: None)
    code, out, _ = asked(capsys, "measure", "--all-devices", "--quick", "--dtypes", "bf16", "--json")
    found = json.loads(out)
    assert code == 0
    assert f"all devices at once skipped: CUDA sees {count} here, and two or more are compared" in found["skipped"]
    assert not found["together"]
    assert not found["across"]


def test_somebody_else_on_the_card_is_said_before_anything_is_measured(monkeypatch, capsys):
    class Shared(FakeBackend):
        name = "cuda"

        def __init__(self, _):
            super().__init__(FakeMachine(**GPU))

        def usage(self):
            return replace(super().usage(), others=("process 7 is on the card too",))

    monkeypatch.setattr(cuda, "CudaBackend", Shared)
    monkeypatch.setattr("rooflens.cli.measure.remember", lambda _: None)
    code, out, error = asked(capsys, "measure", "--device", "cuda:0", "--quick", "--dtypes", "bf16", "--json")
    assert code == 0
    assert error.startswith("process 7 is on the card too: what is measured beside it is not trusted; end it, or")
    assert "process 7 is on the card too" in json.loads(out)["contention"]


def test_all_devices_then_one_of_them_alone_and_the_links_between_the_others(monkeypatch, capsys):
    started = {}

    def at_once(make, names, options, progress):
        started.update(names=names, budget_s=options.budget_s)
        return {name: measure(card(number, slow=(1,)), QUICK) for number, name in names.items()}, ("cuda:2 failed",)

    class Card(FakeBackend):
        name = "cuda"

        def __init__(self, number):
            super().__init__(FakeMachine(**{**GPU, "noise": 0.0, "peers": {n: 400e9 for n in range(3) if n != number}}))
            self.number = number

        def peers(self):
            return [(self.number, n) for n in range(3) if n != self.number]

    monkeypatch.setattr(cuda, "device_count", lambda: 3)
    monkeypatch.setattr(cuda, "CudaBackend", Card)
    monkeypatch.setattr("rooflens.measure.together.measure_together", at_once)
    monkeypatch.setattr("rooflens.cli.measure.remember", lambda _: None)
    command = (
        "measure",
        "--all-devices",
        "--device",
        "cuda:0",
        "--quick",
        "--dtypes",
        "bf16",
        "--budget-s",
        "100",
        "--json",
    )
    code, out, _ = asked(capsys, *command)
    found = json.loads(out)
    assert code == 0
    assert started["names"] == {0: "cuda:0", 1: "cuda:1", 2: "cuda:2"}
    assert started["budget_s"] == pytest.approx(35)
    ids = {c["id"] for c in found["ceilings"]}
    assert {"link/nvlink/0-1", "link/nvlink/2-0", "link/nvlink/1+2"} <= ids  # every pair
    assert any(a["id"] == "memory/main/read" and a["values"]["cuda:1"] < 4.2e12 for a in found["across"])
    assert list(found["together"]) == ["cuda:0", "cuda:1", "cuda:2"]
    assert found["node"]["host"]  # by this computer's own tools
    assert "cuda:2 failed" in found["skipped"]


@pytest.mark.parametrize("lang", ["en", "es", "vi"])
def test_the_interpretation_and_the_device_query_name_the_slowest(profile, lang):
    joined = with_all(profile, {"cuda:0": profile, "cuda:1": measure(card(1, slow=(1,)), QUICK)}, [], [])
    rows = [line for line in across_table(joined, lang).splitlines() if line.startswith("| memory/main/read")]
    assert [row.split(" | ")[1] for row in rows] == ["cuda:1"]
    (read,) = (a for a in device_query(joined)["all_devices"] if a["id"] == "memory/main/read")
    assert (read["slowest"], read["of_median"] < 1) == ("cuda:1", True)
    assert "all_devices" not in device_query(profile)
