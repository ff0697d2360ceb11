"""The doctor says what is wrong with a node, with the figure, the cost and the next step; and nothing that is not."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from node_files import (
    DMIDECODE,
    DMON,
    DMON_MIG,
    H200,
    LOADED,
    LSCPU,
    full,
    halves,
    log,
    matrix,
    ports,
    query,
    read,
    rocm,
    table,
    xml,
)  # fmt: skip

import rooflens
from rooflens.cli import _run
from rooflens.errors import AnswerIsNo, RooflensError
from rooflens.health.record import Diagnosis, Finding
from rooflens.health.sentences import COST, NEXT, SEVERITY, WHAT, finding, numbers
from rooflens.measure import node as asked
from rooflens.present.retold import retold

H100, A100, R3090, R4090 = "h100-sxm5-80gb", "a100-sxm4-80gb", "rtx-3090-24gb", "rtx-4090-24gb"
MIXED = ["X PHB NV4 NODE", "PHB X NODE NV4", "NV4 NODE X PHB", "NODE NV4 PHB X"]


@pytest.fixture
def doctor(tmp_path: Path):
    def call(*texts: str, **asked: Any) -> Diagnosis:
        paths = [tmp_path / f"{place}.txt" for place, _ in enumerate(texts)]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return rooflens.doctor(*paths, **asked)

    return call


def rules(found: Diagnosis, *severities: str) -> set[str]:
    return {one.rule for one in found.findings if not severities or one.severity in severities}


def the(found: Diagnosis, rule: str) -> Finding:
    return next(one for one in found.findings if one.rule == rule)


# --- how devices are linked -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("devices", "cell", "on", "tp", "rate"),
    [
        (8, "NV12", A100, 8, 12 * 25e9),  # behind switches a pair shows all 12 links of a device
        (8, "NV12", A100, 2, 12 * 25e9),
        (4, "NV4", A100, 2, 4 * 25e9),  # in a mesh a pair has 4 of the 12: 100 GB/s, not 300
        (4, "NV4", A100, 4, 12 * 25e9),
        (4, "NV6", H100, 2, 6 * 25e9),
        (4, "NV6", H100, 4, 18 * 25e9),
        (8, "NV18", H100, 8, 18 * 25e9),
        (8, "NV8", "h800-sxm5-80gb", 8, 8 * 25e9),
        (2, "NV4", R3090, 2, 4 * 14.0625e9),
        (4, "NV18", "gb200-186gb", 4, 18 * 50e9),
    ],
)
def test_a_group_has_the_rate_of_the_links_inside_of_it(
    doctor, devices: int, cell: str, on: str, tp: int, rate: float
) -> None:
    found = doctor(matrix(full(devices, cell)), on=on, tp=tp)
    assert (found.routes[0].kind, found.routes[0].bytes_per_s) == ("NVLink", rate)
    assert found.healthy
    assert "nvlink" in rules(found, "ok")


def test_an_export_variant_without_a_known_chip_has_its_links_counted_and_no_rate(doctor) -> None:
    (route,) = doctor(matrix(full(8, "NV8"))).routes
    assert (route.links, route.bytes_per_s) == (8, None)


def test_missing_links_are_a_fault_with_what_they_cost(doctor) -> None:
    rows = full(8, "NV18")
    rows[3] = rows[3].replace("NV18", "NV12")
    rows = [row if place == 3 else " ".join("NV12" if at == 3 else cell for at, cell in enumerate(row.split()))
            for place, row in enumerate(rows)]  # fmt: skip
    rows[3] = " ".join("X" if at == 3 else "NV12" for at in range(8))
    found = doctor(matrix(rows), on=H100)
    fault = the(found, "nvlink_fewer")
    assert (fault.gpus, fault.figures["links"], found.healthy) == ((3,), (12,), False)
    assert "1.5 times" in (fault.cost or "")  # 18 / 12
    every = the(doctor(matrix(full(8, "NV8")), on=A100), "nvlink_fewer")
    assert every.gpus == tuple(range(8))
    assert "another variant" in every.what


def test_a_device_that_lost_all_of_its_links_is_a_fault(doctor) -> None:
    rows = [" ".join("X" if a == b else "SYS" if 3 in (a, b) else "NV18" for b in range(8)) for a in range(8)]
    found = doctor(matrix(rows), on=H100)
    lost = the(found, "nvlink_lost")
    assert (lost.gpus, lost.figures["links"], lost.severity, found.healthy) == ((3,), (0,), "fault", False)
    assert lost.what == "GPU 3: no NVLink is up, and other devices of this node have 18"
    assert "7.14 times" in (lost.cost or "")  # 450 GB/s over 63 GB/s
    bare = doctor(matrix(rows))  # nobody says which chip
    assert (the(bare, "nvlink_lost").severity, bare.healthy) == ("warning", True)
    pair = [" ".join("X" if a == b else "SYS" if 2 in (a, b) else "NV4" for b in range(3)) for a in range(3)]
    assert "nvlink_lost" not in rules(doctor(matrix(pair))) | rules(doctor(matrix(pair), on=R3090))  # a bridge and one


def test_two_devices_of_a_mesh_alone_are_no_fault(doctor) -> None:
    found = doctor(matrix(full(2, "NV6")), on=H100)  # 18 / 6: there may be two more
    assert (found.healthy, rules(found)) == (True, {"nvlink_part"})


def test_no_nvlink_where_the_chip_has_it_is_a_fault_or_the_view(doctor) -> None:
    bare = matrix(full(8, "SYS"), ["0-55 0 N/A"] * 4 + ["56-111 1 N/A"] * 4)
    named = doctor(bare, on=H100)
    assert not named.healthy
    assert "7.14 times" in (the(named, "nvlink_none").cost or "")  # 450 GB/s over 63 GB/s
    assert rules(doctor(bare), "warning") == {"all_sys"}  # also when nobody says which chip
    view = doctor("$ nvidia-smi topo -mp\n" + bare, on=H100)
    assert (view.healthy, "hidden" in rules(view)) == (True, True)
    apart = matrix(halves(8, "PHB", "SYS"), ["0-31 0"] * 4 + ["32-63 1"] * 4, columns=("CPU Affinity", "NUMA Affinity"))
    assert rules(doctor(apart, on=R4090)) == {"pcie_only"}


def test_a_pair_of_cards_without_its_bridge_is_a_note(doctor) -> None:
    found = doctor(matrix(full(2, "PHB")), on=R3090)
    assert (found.healthy, rules(found)) == (True, {"no_bridge", "pcie_only"})
    assert "nvlink_stranger" in rules(doctor(matrix(full(2, "NV4")), on="rtx-5090-32gb"), "warning")


def test_the_group_that_an_engine_takes_is_set_against_the_best(doctor) -> None:
    found = doctor(matrix(MIXED), on=R3090, tp=2, model="llama-3.1-8b")
    detour = the(found, "detour")
    assert detour.next == "start the engine with CUDA_VISIBLE_DEVICES=0,2"
    sheet, mine, best = found.costs
    assert (mine.route.kind, mine.route.gpus, best.route.gpus) == ("PHB", (0, 1), (0, 2))
    assert mine.times == pytest.approx(56.25e9 / 31.5077e9)  # 4 x 14.0625 GB/s over PCIe 4 x16
    assert best.allreduce_s == sheet.allreduce_s
    assert sheet.allreduce_s == pytest.approx(2 * 32 * 4096 * 2 / 56.25e9)  # 2 a layer, 2 (n-1)/n x D x 2 bytes, n = 2
    assert "islands" in rules(found, "note")


def test_a_way_round_over_nvlink_is_nvlink(doctor) -> None:
    cube = ["X NV1 NV1 NV2", "NV1 X NV2 SYS", "NV1 NV2 X SYS", "NV2 SYS SYS X"]
    ring = ["X NV2 SYS NV1", "NV2 X NV1 SYS", "SYS NV1 X NV2", "NV1 SYS NV2 X"]
    assert doctor(matrix(ring), on="v100-sxm2-32gb").routes[0].links == 3
    assert doctor(matrix(cube), on="v100-sxm2-32gb").routes[0].kind == "SYS"  # device 3 is a dead end


def test_crossing_processors_is_said_with_what_fits_on_one(doctor) -> None:
    rows = halves(8, "PHB", "SYS")
    assert "at most 4 devices" in (the(doctor(matrix(rows), on=R4090, tp=8), "sockets").next or "")
    assert "sockets" not in rules(doctor(matrix(rows), on=R4090, tp=4))


def test_peers_that_may_not_is_a_warning(doctor) -> None:
    found = doctor(matrix(full(2, "PHB")), " \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n", on=R4090)
    assert "peers_off" in rules(found, "warning")


def test_cards_are_near_or_far(doctor) -> None:
    found = doctor(matrix(["X NV4 PIX", "NV4 X SYS", "PIX SYS X"], cards=["NIC0"]))
    assert (the(found, "nic_near").gpus, the(found, "nic_far").gpus) == ((0,), (1,))


def test_amd_links_are_judged_by_hops(doctor) -> None:
    mesh = doctor(rocm(lambda *_: "XGMI", lambda *_: 1, 8), on="mi300x-192gb")
    assert (rules(mesh), mesh.routes[0].bytes_per_s) == ({"xgmi"}, 448e9)
    assert "hops" in rules(doctor(rocm(lambda *_: "PCIE", lambda *_: 3, 4)))


def test_ports_are_up_down_or_uneven(doctor) -> None:
    good = doctor(ports(*["25 GB/s"] * 12, gpus=8))
    assert "12 NVLinks are active, a signal of 300 GB/s" in the(good, "ports").what
    down = the(doctor(ports(*["25 GB/s"] * 11, "<inactive>")), "port_down")
    assert (down.severity, down.cost) == ("fault", "all-reduces take 1.09 times as long")  # 12 / 11
    assert the(doctor(ports("<inactive>", "<inactive>")), "ports_down").severity == "fault"
    assert the(doctor(ports("<inactive>", name="NVIDIA GeForce RTX 3090")), "ports_down").severity == "warning"
    assert "port_slow" in rules(doctor(ports("25 GB/s", "12.5 GB/s")), "warning")


def test_a_virtual_machine_hides_paths(doctor) -> None:
    assert "vm" in rules(doctor(matrix(full(2, "PHB")), LSCPU), "note")
    assert "vm" not in rules(doctor(matrix(full(2, "PHB"))))


# --- one device -------------------------------------------------------------------------------------------------------


def test_a_healthy_device_is_quiet(doctor) -> None:
    assert rules(doctor(query())) == {"quiet"}
    assert rules(doctor(query(LOADED))) == {"busy", "quiet"}


@pytest.mark.parametrize(
    ("changes", "rule", "severity"),
    [
        ({"pcie.link.gen.current": "1"}, "pcie_idle", "note"),  # the link sleeps with the device
        (LOADED | {"pcie.link.gen.current": "1"}, "pcie_slow", "fault"),
        ({"pcie.link.gen.current": "1", "utilization.gpu [%]": "[N/A]", "memory.used [MiB]": "9 MiB",
          "clocks_event_reasons.active": "[N/A]"}, "pcie_unsure", "note"),
        (LOADED | {"pcie.link.width.current": "8"}, "pcie_narrow", "fault"),
        ({"pcie.link.width.current": "8"}, "pcie_narrow_idle", "warning"),
        ({"pcie.link.gen.current": "4", "pcie.link.gen.max": "4"}, "pcie_slot", "note"),
        ({"power.limit [W]": "500.00 W"}, "power_low", "warning"),
        (LOADED | {"clocks_event_reasons.active": "0x0000000000000004"}, "power_held", "note"),
        (LOADED | {"clocks_event_reasons.active": "0x0000000000000040"}, "hot", "fault"),
        (LOADED | {"clocks_event_reasons.active": "0x0000000000000080"}, "brake", "fault"),
        (LOADED | {"clocks_event_reasons.active": "0x0000000000000008"}, "slowed", "fault"),
        (LOADED | {"clocks.current.sm [MHz]": "1200 MHz"}, "clock_low", "note"),
        (LOADED | {"clocks.current.memory [MHz]": "2500 MHz"}, "memory_clock", "note"),
        ({"utilization.gpu [%]": "100 %", "clocks_event_reasons.active": "0x0"}, "stale", "note"),
        ({"utilization.gpu [%]": "[N/A]"}, "no_busy", "note"),
        ({"mig.mode.current": "Enabled"}, "mig", "note"),
        ({"ecc.mode.current": "Disabled"}, "ecc_off", "note"),
        ({"fabric.state": "In Progress"}, "fabric", "fault"),
        ({"power.draw [W]": "[Unknown Error]"}, "lost", "fault"),
        ({"pstate": "[GPU requires reset]"}, "lost", "fault"),
        ({"name": "Some Dummy GPU"}, "chip_unknown", "note"),
    ],
)  # fmt: skip
def test_what_a_query_shows_is_judged(doctor, changes: dict[str, str], rule: str, severity: str) -> None:
    found = doctor(query(changes))
    assert the(found, rule).severity == severity
    assert found.healthy == (severity != "fault")


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({"errors": 3}, "ecc_now"),
        ({"pending": "Yes"}, "repair"),
        ({"heat": "Active"}, "hot"),
        ({"recovery": "Reset"}, "recovery"),
    ],
)
def test_what_the_log_shows_is_a_fault(doctor, changes: dict[str, Any], rule: str) -> None:
    assert rule in rules(doctor(log(**changes)), "fault")


def test_what_held_a_device_back_earlier_is_a_warning(doctor) -> None:
    assert "hw_thermal has held the clocks back for 90 s" in the(doctor(log(heat_us=90_000_000)), "was_slowed").what
    assert "was_slowed" not in rules(doctor(log(heat_us=1000)))
    held = the(doctor(log(application=1200)), "app_clocks")
    assert (held.cost, held.next) == ("the compute roof is at 60.6 % of its peak", "nvidia-smi -rac")  # 1200 / 1980


def test_a_card_with_fewer_lanes_than_its_slot_is_not_narrow(doctor) -> None:
    card = LOADED | {"name": "NVIDIA GeForce RTX 5060 Ti", "memory.total [MiB]": "16311 MiB"}
    whole = doctor(query(card | {"pcie.link.width.current": "8", "pcie.link.width.max": "16"}))
    assert whole.healthy  # the chip has 8 lanes
    half = doctor(query(card | {"pcie.link.width.current": "4", "pcie.link.width.max": "16"}))
    assert the(half, "pcie_narrow").figures["max_width"] == (8,)


def test_memory_errors_of_a_life_and_rows_are_told_apart(doctor) -> None:
    found = doctor(xml(H200))
    assert {"ecc_ever", "replaced"} <= rules(found, "warning")
    assert "ecc_fixed" in rules(found, "note")
    assert found.healthy


def test_slices_have_the_sms_that_the_file_says_not_a_seventh(doctor) -> None:
    rows = ["0    7   0   0  |    15MiB /  9984MiB    | 16      0 |"]
    found = doctor(table(("NVIDIA H100 PCIe", "0MiB", "81559MiB", "N/A"), mig=rows))
    assert the(found, "slice").cost == "the compute roof is at 14 % of the chip's"  # 16 of 114 SMs
    assert "mig_empty" in rules(doctor(table(("NVIDIA H100 PCIe", "0MiB", "81559MiB", "N/A"), mig=[])), "warning")


def test_who_is_in_the_way_is_named_without_its_folder(doctor) -> None:
    assert "2 processes hold 2.506 GiB (serve, train)" in the(doctor(log()), "processes").what
    alone = table(("NVIDIA H100 80GB HBM3", "19818MiB", "81559MiB", "0%"))
    assert "hidden_process" in rules(doctor(alone))


def test_utilisation_is_explained_and_is_no_efficiency(doctor) -> None:
    assert "busy, not efficient" in the(doctor(query(LOADED)), "busy").what


def test_samples_of_a_monitor_are_judged_together(doctor) -> None:
    found = doctor(DMON)
    assert "2 of 2 busy samples" in the(found, "samples_held").what
    assert (found.healthy, found.samples) == (True, 3)
    hot = DMON.replace("   1410    100      0", "   1410    100      1")
    assert "samples_hot" in rules(doctor(hot), "fault")
    assert rules(doctor(DMON_MIG)) == {"no_busy"}


def test_none_observed_is_a_fault_and_another_answer_than_not_looking(
    doctor, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert rules(doctor("<nvidia_smi_log></nvidia_smi_log>"), "fault") == {"none"}
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(RooflensError, match="no device was looked for"):
        rooflens.doctor()


def test_the_host_is_judged(doctor) -> None:
    found = doctor(LSCPU + DMIDECODE)
    assert "4400 MT/s and rated 5600 MT/s" in the(found, "memory_speed").what
    assert "70.4 GB/s" in the(found, "memory_roof").what  # 2 x 4400 MT/s x 8 B, not the 80 bits that ECC makes
    assert {"memory_slots", "cpu_hidden", "cpu_cache"} <= rules(found, "note")


# --- this node, costs, the door ---------------------------------------------------------------------------------------


def test_the_tools_of_this_node_are_asked_within_a_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def program(name: str, body: str) -> None:
        (tmp_path / name).write_text(f"#!/bin/sh\n{body}\n")
        (tmp_path / name).chmod(0o755)

    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    (tmp_path / "topo.txt").write_text(matrix(full(2, "NV18")))
    (tmp_path / "log.xml").write_text(xml(H200, 2))
    program("nvidia-smi", f'case "$1 $2" in "-q -x") cat {tmp_path}/log.xml;; "topo -m") cat {tmp_path}/topo.txt;;'
                          ' *) echo "no such thing" >&2; exit 3;; esac')  # fmt: skip
    found = rooflens.doctor()
    assert ([gpu.name for gpu in found.node.gpus or ()], found.routes[0].bytes_per_s) == (["NVIDIA H200"] * 2, 450e9)
    assert "nvidia-smi nvlink -s: no such thing" in found.warnings
    program("nvidia-smi", "echo 'NVIDIA-SMI has failed'; exit 9")
    with pytest.raises(AnswerIsNo, match="NVIDIA-SMI has failed"):
        rooflens.doctor()
    program("slow", "exec sleep 20")
    assert asked._asked(("slow",), 0.2).why == "no answer within 0.2 s"


def test_a_tool_that_hangs_in_its_driver_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    class Hung:
        """A process that no signal ends, as nvidia-smi is when a device fell off the bus."""

        pid, stdout, stderr, returncode = 2**22 + 1, None, None, None

        def __init__(self, *_: object, **__: object) -> None: ...

        def communicate(self, timeout: float) -> tuple[bytes, bytes]:
            raise subprocess.TimeoutExpired("tool", timeout)

        def wait(self, timeout: float) -> int:
            raise subprocess.TimeoutExpired("tool", timeout)

        def poll(self) -> None: ...

    monkeypatch.setattr(asked.subprocess, "Popen", Hung)
    assert asked._asked(("tool",), 0.2).why == "no answer within 0.2 s"


def test_latency_stands_beside_the_bytes_where_it_is_known(doctor) -> None:
    found = doctor(matrix(full(2, "NV18")), on=f"{H100},nvlink_latency=5us", tp=2, model="llama-3.1-8b")
    assert found.costs[1].latency_s == pytest.approx(2 * 32 * 5e-6)  # one step of a one-shot all-reduce, 2 a layer
    assert doctor(matrix(full(2, "NV18")), on=H100, tp=2, model="llama-3.1-8b").costs[1].latency_s is None


@pytest.mark.parametrize(
    ("texts", "asked", "said"),
    [
        ([matrix(full(2, "NV4"))], {"tp": 2}, "which chip this is"),
        ([ports("25 GB/s")], {"tp": 2}, "fewer devices"),
        ([ports("25 GB/s", gpus=2)], {"tp": 2}, "how the devices are linked"),
    ],
)
def test_a_cost_that_is_not_known_says_why(doctor, texts: list[str], asked: dict[str, Any], said: str) -> None:
    found = doctor(*texts, model="llama-3.1-8b", **asked)
    assert (found.costs, said in (found.no_cost or "")) == ((), True)


@pytest.mark.parametrize(
    ("asked", "said"),
    [({"model": "llama-3.1-8b"}, "--tp 2 or more"), ({"weights": "fp8"}, "--model"), ({"tp": 0}, "at least 1")],
)
def test_a_wrong_question_is_a_sentence(doctor, asked: dict[str, Any], said: str) -> None:
    with pytest.raises(RooflensError, match=said):
        doctor(query(), **asked)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def call(line: str, **texts: str) -> tuple[int, str, str]:
        for name, text in texts.items():
            (tmp_path / name).write_text(text)
        words = [str(tmp_path / word) if word in texts else word for word in line.split()]
        code = _run(["doctor", *words])
        out, err = capsys.readouterr()
        return code, out, err

    return call


def test_the_verb_exits_1_on_a_fault_and_0_without(run) -> None:
    assert run("a", a=query())[0] == 0
    code, out, err = run("a", a=query(LOADED | {"pcie.link.width.current": "8"}))
    assert (code, "fault     GPU 0: PCIe runs 8 of 16 lanes" in out, "faults: 1" in err) == (1, True, True)
    assert run("--topo a", a=query())[::2] == (2, run("--topo a", a=query())[2])
    assert "holds nvidia-smi --query-gpu; name it without --topo" in run("--topo a", a=query())[2]
    assert run("--topo a --smi b --dmon c --nvlink d", a=matrix(full(2, "NV12")), b=query({}, {}), c=DMON,
               d=ports("25 GB/s", gpus=2, name="NVIDIA H100 80GB HBM3"))[0] == 1  # fmt: skip


def test_json_has_its_schema_and_no_null(run) -> None:
    code, out, _ = run("a b --json --model llama-3.1-8b --tp 2", a=xml(H200, 2), b=matrix(full(2, "NV18")))
    found = json.loads(out)
    assert (code, found["schema"], found["healthy"]) == (0, "rooflens/doctor/1", True)
    assert [cost["by"] for cost in found["costs"]] == ["datasheet", "found"]
    assert "null" not in out
    assert "samples" not in found["node"] or found["node"]["samples"] == []


TEXTS = {
    "a": log(heat="Active", cap="Active", errors=2, width=8, limit="500.00"),
    "b": matrix(MIXED),
    "c": DMON,
    "d": LSCPU,
}


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_every_word_is_in_the_language_and_figures_stay(run, lang: str) -> None:
    line = "a b c d --on rtx-3090-24gb --tp 2 --model llama-3.1-8b --lang "
    english, told = run(line + "en", **TEXTS)[1], run(line + lang, **TEXTS)[1]
    figures = [sorted(re.findall(r"\d+\.\d+", text)) for text in (english, told)]
    assert figures[0] == figures[1]
    plain = re.sub(r"CUDA_VISIBLE_DEVICES\S*|systemctl \S+ \S+|nvidia-smi\S*( -?\w+)*|seen: .*", "", told)
    assert re.findall(r"\b(the|of|and|is|are|with|which|takes|every|nothing)\b", plain) == []
    assert run(f"a b --json --lang {lang}", **TEXTS)[1] == run("a b --json", **TEXTS)[1]


@pytest.mark.parametrize("lang", ["es", "vi"])
@pytest.mark.parametrize("rule", WHAT)
def test_every_rule_is_told_in_every_language(rule: str, lang: str) -> None:
    names = set(re.findall(r"\{(\w+)\}", WHAT[rule] + COST.get(rule, "") + NEXT.get(rule, ""))) - {"gpus"}
    made = finding(rule, [0, 1, 2, 5], None, **dict.fromkeys(names, "7"))
    for text in (made.what, made.cost, made.next):
        told = retold(text, lang) if text else ""
        assert not text or told != text or re.fullmatch(r"nvidia-smi \S+", text)


@pytest.mark.parametrize("lang", ["es", "vi"])
def test_what_readers_doubt_is_told(lang: str) -> None:
    damaged = (
        matrix(full(4, "NV4")).rsplit("\t", 2)[0], "\n".join(matrix(full(4, "NV4")).splitlines()[:3]),
        matrix(["X NV4", "SYS X"]), matrix(["NV4 X", "X NV4"]), matrix(full(2, "NV4")) + "\n" + matrix(full(2, "SYS")),
        " \tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n", xml(H200)[:-20], log()[:1500], query({}, {}) + "1, 2\n",
        query().splitlines()[0], DMON + "0 7\n", table(("NVIDIA A...", "0MiB", "9MiB", "0%"), processes=None),
        ports("25 GB/s", "?") + "GPU 1: X (UUID: y) all links are inActive\n",
        "available: 1 nodes (0)\nnode 0 size: 0 MB\n",
        rocm(lambda *_: "?", lambda *_: 1, 2), rocm(lambda *_: "XGMI", lambda *_: 1, 3)[:700],
    )  # fmt: skip
    said = {warning for text in damaged for warning in read(text).warnings}
    assert len(said) > 15
    assert [warning for warning in said if retold(warning, lang) == warning] == []


def test_rules_are_of_one_table() -> None:
    graded = [rule for rules in SEVERITY.values() for rule in rules]
    assert set(graded) | set(COST) | set(NEXT) <= set(WHAT)
    assert len(graded) == len(set(graded))
    assert numbers([0, 1, 2, 3, 6]) == "0-3, 6"
