"""A folder of a fleet becomes one report: planted faults are found and named, bad files are rows."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from rooflens import artefacts
from rooflens.api.fleets import fleet
from rooflens.errors import BadFile, RooflensError
from rooflens.fleet.baseline import save, stored
from rooflens.fleet.faults import KINDS, Fault, FaultKind
from rooflens.fleet.gathered import gathered, key_of, measured, node_file
from rooflens.fleet.planted import node_names, plant
from rooflens.fleet.report import Report, report
from rooflens.fleet.simulated import node_profile
from rooflens.peers.evidence import EVIDENCE
from rooflens.records import decode, encode, replace
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.collective import CopyPoint
from rooflens.roofline.node import Node
from rooflens.roofline.profile import SCHEMA, Profile

ONE_EACH: dict[FaultKind, int] = dict.fromkeys(KINDS, 1)


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Mapping[str, Fault]]:
    """Eight nodes of four devices, one fault of each kind."""
    folder = tmp_path_factory.mktemp("fleet")
    return folder, plant(folder, 8, 4, ONE_EACH, loss=0.08, seed=1).faults


def simulated(
    names: list[str], devices: int, faults: Mapping[str, dict[int, Fault]] | None = None, seed: int = 0, run: int = 0,
    change: Callable[[Profile], Profile] = lambda profile: profile,
) -> Report:  # fmt: skip
    """A report of nodes that were never files."""
    plan = faults or {}
    return report([
        measured(name, change(node_profile(name, seed, plan.get(name), devices=devices, run=run))) for name in names
    ])  # fmt: skip


def test_every_planted_fault_is_found_and_named_and_nobody_else(planted) -> None:
    folder, truth = planted
    found = fleet(folder)
    assert {one.of: one.reasons[0].cause for one in found.out} == {of: fault.kind for of, fault in truth.items()}
    assert not found.healthy
    assert found.counts == {"out": len(KINDS), "ok": 8 * 4 - len(KINDS)}
    assert all(reason.source == "tools" for one in found.out for reason in one.reasons[:1])


@pytest.mark.parametrize("fault", [k for k in KINDS if EVIDENCE[k].words or EVIDENCE[k].alone])
def test_figures_alone_point_to_the_cause_where_no_tool_speaks(fault: FaultKind) -> None:
    names = node_names(8)

    def silent(profile: Profile) -> Profile:
        return replace(profile, node=None)

    found = simulated(names, 4, {"node003": {2: Fault(fault, 0.08)}}, change=silent)
    assert [one.of for one in found.out] == ["node003/fake:2"]
    causes = [reason.cause for reason in found.out[0].reasons]
    assert causes[0] == fault
    assert all(reason.source == "figures" for reason in found.out[0].reasons)


def test_heat_is_told_by_what_the_driver_said_of_the_clock() -> None:
    found = simulated(node_names(8), 4, {"node003": {2: Fault("heat", 0.08)}}, change=lambda p: replace(p, node=None))
    assert found.out[0].reasons[0].cause == "heat"
    assert "thermal limit" in found.out[0].reasons[0].what


def test_half_of_the_lanes_is_said_by_the_figures_too() -> None:
    found = simulated(node_names(8), 2, {"node003": {1: Fault("pcie")}}, change=lambda p: replace(p, node=None))
    assert "as with half of the lanes" in found.out[0].reasons[0].what


def crossed(profile: Profile, between: str, rate: float) -> Profile:
    """The same with one pair at another rate, both ways."""

    def slower(c: Ceiling) -> Ceiling:
        a, b = between.split("-")
        if c.id.rpartition("/")[2] not in (between, f"{b}-{a}", f"{a}+{b}"):
            return c
        return replace(c, value=rate, samples=(rate,) * 10, best=rate)

    return replace(profile, ceilings=tuple(map(slower, profile.ceilings)))


def test_copies_by_size_stand_for_a_pair_that_has_no_roof() -> None:
    profile = node_profile("n", 0, devices=2)
    roofs = tuple(c for c in profile.ceilings if not c.id.startswith("link/nvlink"))
    copies = tuple(
        CopyPoint("0-1", size, size / rate, size / rate, "nvlink") for size, rate in ((1e6, 1e10), (1e9, 3e11))
    )
    found = measured("n", replace(profile, ceilings=roofs, copies=copies)).figures
    assert [(f.of, f.value, f.level) for f in found if f.whose == "pair"] == [("n/0-1", pytest.approx(3e11), "nvlink")]


@pytest.mark.parametrize("nodes", [1, 6])
def test_a_pair_that_is_wired_wrongly_is_named_and_its_devices_are_not(nodes: int) -> None:
    names = node_names(nodes)
    files = [measured(name, node_profile(name, 0, devices=4)) for name in names]
    files[0] = measured(names[0], crossed(node_profile(names[0], 0, devices=4), "1-3", 55e9))
    found = report(files)
    assert found.out == ()
    assert {one.of for one in found.slow_links} == {f"node000/{way}" for way in ("1-3", "3-1", "1+3")}
    assert not found.healthy
    assert found.slow_links[0].promised == 18 * 25e9  # NVLinks x B/s of one
    assert "of the pairs of its devices only this one is behind" in found.slow_links[0].reasons[0].what


def test_a_pair_whose_path_is_another_says_so() -> None:
    names = node_names(5)
    odd = crossed(node_profile(names[0], 0, devices=4), "1-3", 20e9)
    assert odd.node
    links = tuple(replace(x, kind="SYS", count=None) if (x.a, x.b) == (1, 3) else x for x in odd.node.links)
    odd = replace(odd, node=replace(odd.node, links=links))
    rest = [measured(n, node_profile(n, 0, devices=4)) for n in names[1:]]
    found = report([measured(names[0], odd), *rest])
    what = found.slow_links[0].reasons[0].what
    assert what == "its path is SYS and that of most others in this place is NVLink x18"


def test_links_are_set_beside_what_is_promised(planted) -> None:
    whole = next(one for one in fleet(planted[0]).links if one.path == "NVLink x18")
    assert whole.promised == 450e9  # 18 x 25 GB/s
    assert whole.of_promise == pytest.approx(390 / 450, rel=0.01)
    bus = next(one for one in fleet(planted[0]).links if one.path == "all-reduce x4")
    assert (bus.pairs, bus.promised) == (8, 450e9)
    assert bus.median == pytest.approx(350e9, rel=0.05)  # by the slowest pair, both ways at once


def test_two_devices_of_one_node_are_too_few_and_a_baseline_tells(tmp_path: Path) -> None:
    names = node_names(8)
    sound = [measured(n, node_profile(n, 0, devices=2)) for n in names]
    save(tmp_path / "b.json", sound)
    bad = [measured(names[0], node_profile(names[0], 0, {1: Fault("memory", 0.2)}, devices=2, run=1))]
    assert report(bad).out == ()
    assert any("are too few to tell" in note for note in report(bad).notes)
    assert [one.of for one in report(bad, stored(tmp_path / "b.json")).out] == ["node000/fake:1"]


def test_a_baseline_keeps_each_devices_past(tmp_path: Path) -> None:
    names, file = node_names(6), tmp_path / "baseline.json"
    for run in range(3):
        save(file, [measured(n, node_profile(n, 0, devices=2, run=run)) for n in names])
    known = stored(file)
    assert len(known.devices["node000/fake:0"].runs) == 3
    again = [measured(n, node_profile(n, 0, devices=2, run=4)) for n in names]
    found = report(again, known)
    assert found.out == ()
    assert all(one.beside_itself == pytest.approx(1, abs=0.02) for one in found.devices)
    assert all(spread.of_baseline == pytest.approx(1, abs=0.01) for spread in found.spreads)


def test_mixed_devices_are_compared_with_their_own_kind() -> None:
    names = node_names(10)

    def other(profile: Profile) -> Profile:
        def half(one: Profile) -> Profile:
            ceilings = tuple(
                replace(c, value=c.value / 2, samples=tuple(s / 2 for s in c.samples)) for c in one.ceilings
            )
            return replace(one, device=replace(one.device, name="Other GPU"), ceilings=ceilings)

        return replace(half(profile), together={name: half(one) for name, one in profile.together.items()})

    files = [measured(n, (other if i % 2 else (lambda p: p))(node_profile(n, 0, devices=2))) for i, n in
             enumerate(names)]  # fmt: skip
    found = report(files)
    assert found.out == ()
    assert [(one.key.sku, one.devices, one.nodes) for one in found.kinds] == [
        ("Other GPU", 10, 5), ("Simulated GPU", 10, 5),
    ]  # fmt: skip


BAD: dict[str, str] = {
    "empty": "",
    "half": '{"schema": "rooflens/profile/1", "device": {"name": "x"',
    "garbage": "\x00\x01",
    "list": "[1, 2]",
    "older": json.dumps({"schema": "rooflens/lab/1"}),
    "newer": json.dumps({"schema": "rooflens/profile/2", "devices": []}),
    "lies": json.dumps({"schema": SCHEMA, "device": {"name": "x", "kind": "tpu"}, "ceilings": 3}),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_a_row_with_its_sentence_and_never_the_end(name: str, tmp_path: Path) -> None:
    for node in node_names(3):
        artefacts.write_json(tmp_path / f"{node}.json", node_profile(node, devices=1), SCHEMA)
    (tmp_path / f"{name}.json").write_text(BAD[name])
    found = fleet(tmp_path)
    assert [one.node for one in found.silent] == [name]
    assert found.silent[0].state == ("newer" if name == "newer" else "unreadable")
    assert len(found.silent[0].why) > 20
    assert not found.healthy
    assert len(found.devices) == 3


def test_a_node_that_did_not_answer_is_a_row_and_a_profile_takes_its_place(tmp_path: Path) -> None:
    artefacts.write_json(tmp_path / "a.json", node_profile("a", devices=1), SCHEMA)
    artefacts.write_json(tmp_path / "a.absent.json", Absent("a", "hung", "no answer in 60 s", 2), ABSENT)
    artefacts.write_json(tmp_path / "b.absent.json", Absent("b", "died", "its process ended", 3), ABSENT)
    found = fleet(tmp_path)
    assert [(one.node, one.state, one.attempts) for one in found.silent] == [("b", "died", 3)]
    assert found.nodes == 2


def test_one_measurement_under_several_names_counts_once_and_is_said(tmp_path: Path) -> None:
    for node in node_names(3):
        artefacts.write_json(tmp_path / f"{node}.json", node_profile(node, devices=2), SCHEMA)
    own = artefacts.load(tmp_path / "node001.json", Profile, SCHEMA)
    artefacts.write_json(tmp_path / "other.json", own, SCHEMA)
    artefacts.write_json(tmp_path / "a-part.json", own.together["fake:1"], SCHEMA)
    (tmp_path / "shipped.json").write_text(json.dumps(json.loads((tmp_path / "node002.json").read_text()), indent=4))
    found = fleet(tmp_path)
    assert found.nodes == 3
    assert [one.of for one in sorted(found.devices, key=lambda one: one.of)] == [
        f"{node}/fake:{i}" for node in node_names(3) for i in range(2)
    ]  # fmt: skip
    said = "{} counts once: {} holds the same measurement, to the last digit"
    assert [note for note in found.notes if "counts once" in note] == [
        said.format("node001", "other"), said.format("node001", "a-part"), said.format("node002", "shipped"),
    ]  # fmt: skip


def test_another_run_of_the_same_device_is_no_copy(tmp_path: Path) -> None:
    for run in range(3):
        artefacts.write_json(tmp_path / f"run{run}.json", node_profile("a", devices=1, run=run), SCHEMA)
    assert fleet(tmp_path).nodes == 3


def test_another_method_is_no_comparison() -> None:
    odd = replace(node_profile("a", devices=1), method=0)
    assert measured("a", odd).state == "other method"
    assert "measured by method 0" in (measured("a", odd).why or "")


def test_a_folder_without_nodes_is_an_error_that_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(RooflensError, match="holds no file of a node; write them with rooflens measure -o"):
        gathered(tmp_path)
    with pytest.raises(RooflensError, match="is not there; name the folder"):
        gathered(tmp_path / "none")


def test_plans_baselines_and_reports_in_the_folder_are_no_nodes(planted, tmp_path: Path) -> None:
    assert node_file(planted[0] / "truth.json") is None
    save(tmp_path / "b.json", gathered(planted[0]))
    assert node_file(tmp_path / "b.json") is None


def test_a_baseline_that_is_none_is_an_error(planted, tmp_path: Path) -> None:
    (tmp_path / "b.json").write_text("{}")
    with pytest.raises(BadFile, match="schema"):
        fleet(planted[0], baseline=tmp_path / "b.json")


def test_a_ceiling_in_a_strange_unit_is_refused() -> None:
    profile = node_profile("n", devices=1)
    odd = replace(profile.ceilings[0], unit="furlongs")
    with pytest.raises(BadFile, match="is in 'furlongs', and a launch ceiling is in s"):
        measured("n", replace(profile, ceilings=(odd,)))


def test_a_device_without_a_figure_that_its_equals_have_is_noted() -> None:
    names = node_names(6)
    files = [measured(n, node_profile(n, 0, devices=1)) for n in names]
    files[2] = replace(files[2], figures=tuple(f for f in files[2].figures if f.id != "memory/main/read"))
    assert "node002: no figure of memory/main/read, which its equals have" in report(files).notes


@pytest.mark.parametrize("dumb", [("fake:1",), ("fake:0", "fake:1")])
def test_a_device_without_any_figure_is_a_no(dumb: tuple[str, ...]) -> None:
    """Its node has a file, so that nothing but this says that a device of it could not be measured."""
    files = [measured(n, node_profile(n, 0, devices=2)) for n in node_names(4)]
    lost = {f"node002/{name}" for name in dumb}
    files[2] = replace(files[2], figures=tuple(f for f in files[2].figures if f.of not in lost))
    found = report(files)
    assert not found.healthy
    assert [(one.node, one.state) for one in found.silent] == [("node002", "incomplete")]
    assert found.silent[0].why == f"nothing was measured of {', '.join(sorted(lost))}; measure this node again"
    assert not any("which its equals have" in note for note in found.notes)


def test_where_no_figure_can_be_trusted_nobody_is_cleared() -> None:
    def doubted(profile: Profile) -> Profile:
        ceilings = tuple(replace(c, trusted=False, why_not="others ran") for c in profile.ceilings)
        together = {name: doubted(own) for name, own in profile.together.items()}
        return replace(profile, ceilings=ceilings, together=together)

    found = simulated(node_names(4), 2, change=doubted)
    assert not found.healthy
    assert not found.out
    assert found.notes[0].startswith("not one figure of all is trusted")
    assert simulated(node_names(4), 2).healthy


def test_one_clock_that_is_wrong_does_not_date_a_run(tmp_path: Path) -> None:
    files = [measured(n, node_profile(n, 0, devices=1)) for n in node_names(5)]
    files[3] = replace(files[3], started="2099-01-01T00:00:00+00:00")
    kept = save(tmp_path / "b.json", files)
    assert {run.at for past in kept.devices.values() for run in past.runs} == {"2026-01-01T00:00:00+00:00"}


def test_tools_that_name_a_fault_are_heard_where_no_figure_is_behind() -> None:
    def failing(profile: Profile) -> Profile:
        assert profile.node
        assert profile.node.gpus
        gpu = profile.node.gpus[0]
        sick = replace(gpu, errors=replace(gpu.errors, uncorrected_volatile=7))
        return replace(profile, node=replace(profile.node, gpus=(sick,)))

    files = [measured(n, (failing if n == "node001" else (lambda p: p))(node_profile(n, 0, devices=1)))
             for n in node_names(5)]  # fmt: skip
    found = report(files)
    assert [one.of for one in found.warned] == ["node001"]
    assert found.warned[0].reasons[0].cause == "memory"
    assert found.healthy  # it is the doctor's business


def test_a_group_goes_at_the_pace_of_its_slowest(planted) -> None:
    """Decode at batch 1 streams the weights: memory 8 % slower is 8 % of the tokens, and PCIe takes no part."""
    found = fleet(planted[0], model="llama-3.1-8b", tp=4)
    left = {one.reasons[0].cause: one.price.share for one in found.out if one.price}
    assert left["memory"] == pytest.approx(0.92, abs=0.02)
    assert left["pcie"] == pytest.approx(1, abs=0.005)  # its spread in memory is no more than 0.6 %
    assert all(share <= 1 for share in left.values())
    assert found.asked == {"model": "llama-3.1-8b", "tp": "4"}


def test_a_report_reads_back_from_its_json(planted) -> None:
    found = fleet(planted[0])
    assert decode(Report, encode(found), "report") == found


def test_a_key_is_what_devices_must_share() -> None:
    quick, long = (node_profile("a", devices=1, quick=quick) for quick in (True, False))
    assert key_of(quick).text == "Simulated GPU, driver 1.0, simulated 1.0, --quick"
    assert key_of(long).text == "Simulated GPU, driver 1.0, simulated 1.0"
    assert key_of(replace(long, device=replace(long.device, driver=None))).text == "Simulated GPU, simulated 1.0"


def test_an_absent_node_has_a_name() -> None:
    with pytest.raises(ValueError, match="has a name"):
        Absent("", "died", "x")


def test_a_profile_without_tools_has_no_paths() -> None:
    found = measured("n", replace(node_profile("n", devices=2), node=Node()))
    assert (found.paths, found.findings) == ({}, ())
