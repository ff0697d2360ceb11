"""`rooflens fleet report` and `simulate` at the door: text, JSON, exit codes, languages, the picture."""

from __future__ import annotations

import json
import re
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from rooflens import artefacts
from rooflens.api.fleets import judged_fleet
from rooflens.cli.fleet import PARTS
from rooflens.fleet.planted import plant
from rooflens.present.canvas import text_boxes
from rooflens.present.fleet import MOST_NAMED, MOST_ROWS, draw, shown
from rooflens.present.retold import retold
from rooflens.roofline.absent import SCHEMA as ABSENT
from rooflens.roofline.absent import Absent

LANGUAGES = ("en", "es", "vi")


@pytest.fixture(scope="module")
def sick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sick")
    plant(folder, 6, 2, {"pcie": 1, "memory": 1, "nvlink": 1}, loss=0.08, seed=3)
    artefacts.write_json(folder / "gone.absent.json", Absent("gone", "died", "its process ended", 2), ABSENT)
    (folder / "half.json").write_text('{"schema": "rooflens/pro')
    return folder


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound")
    plant(folder, 6, 2, {}, seed=3)
    return folder


@pytest.mark.parametrize("part", ["report", "simulate"])
def test_each_part_helps_and_ends_with_an_example(part: str, run) -> None:
    code, out, _ = run(f"fleet {part} --help")
    assert code == 0
    assert out.strip().splitlines()[-1].strip().startswith(f"Example:  rooflens fleet {part}")
    assert "--json" in out
    assert "--lang [en|es|vi]" in out


def test_the_group_lists_its_parts_and_knows_no_other(run) -> None:
    code, out, _ = run("fleet --help")
    assert code == 0
    assert all(part in out for part in PARTS)
    code, _, err = run("fleet raport")
    assert code == 2
    assert "no such verb 'raport'; did you mean 'report'?" in err


def test_a_sick_fleet_exits_1_and_says_who_and_why(sick: Path, run) -> None:
    code, out, err = run(f"fleet report {sick} --model llama-3.1-8b --tp 2")
    assert code == 1
    assert "out: devices 3, links 0; nodes without figures: 2" in err
    for said in (
        "nodes: 8; devices: 12; out 3, ok 9", "PCIe runs 8 of 16 lanes under load", "uncorrectable memory errors",
        "1 of 18 NVLinks are inactive", "next: reseat the card", "tokens/s", "no figures of gone: it died: its process",
        "no figures of half: its file cannot be read", "simulated: nothing of this was measured",
    ):  # fmt: skip
        assert said in out


def test_a_sound_fleet_exits_0(sound: Path, run) -> None:
    code, out, _ = run(f"fleet report {sound}")
    assert code == 0
    assert out.splitlines()[-1] == "nobody is out"


def test_a_sound_fleet_says_what_a_usual_group_gives_and_where_it_is_wider_than_a_node(sound: Path, run) -> None:
    code, out, _ = run(f"fleet report {sound} --model llama-3.1-8b --tp 2")
    assert code == 0
    assert "nobody is out, so nothing costs tokens: a group of the usual devices gives" in out
    assert "is wider than any node" not in out
    wide = run(f"fleet report {sound} --model llama-3.1-70b --tp 64")[1]
    assert "note: a group of 64 is wider than any node here (" in wide


def test_nodes_that_were_expected_and_have_no_file_are_a_no(sound: Path, run) -> None:
    assert run(f"fleet report {sound} --expect 6")[0] == 0
    code, out, err = run(f"fleet report {sound} --expect 8")
    assert code == 1
    assert "2 of 8 nodes have no file" in out
    assert "nodes without figures: 2" in err
    assert run(f"fleet report {sound} --expect 8 --fail-below answered=0.7")[0] == 0
    assert run(f"fleet report {sound} --expect 8 --fail-below answered=0.8")[0] == 1


def test_json_is_one_object_of_its_schema_and_the_file_is_the_same(sick: Path, tmp_path: Path, run) -> None:
    code, out, _ = run(f"fleet report {sick} --json -o {tmp_path}")
    found = json.loads(out)
    assert code == 1
    assert found["schema"] == "rooflens/fleet/1"
    assert found == json.loads((tmp_path / "fleet.json").read_text())
    assert {"conventions", "devices", "spreads", "links", "silent", "rules", "kinds"} <= found.keys()
    assert found["rules"]["least"] == 0.05


@pytest.mark.parametrize(
    ("limits", "code"),
    [("peers=0.4", 0), ("peers=0.6", 1), ("answered=0.7", 0), ("answered=0.8", 1), ("ok=0.7 peers=0.4", 0),
     ("ok=0.9", 1), ("itself=0.9", 0)],
)  # fmt: skip
def test_limits_decide_the_exit_code_where_they_are_given(sick: Path, run, limits: str, code: int) -> None:
    asked = " ".join(f"--fail-below {limit}" for limit in limits.split())
    found, _, err = run(f"fleet report {sick} {asked}")
    assert found == code
    assert ("below the limit" in err) == bool(code)


def test_a_baseline_is_made_and_used(sick: Path, sound: Path, tmp_path: Path, run) -> None:
    file = tmp_path / "baseline.json"
    code, _, err = run(f"fleet report {sound} --save-baseline {file}")
    assert code == 0
    assert f"this run is in {file}" in err
    _, out, _ = run(f"fleet report {sick} --baseline {file} --all")
    assert "of baseline" in out
    assert "of its own past" in out
    assert "of the baseline" in out


@pytest.mark.parametrize(
    "damage",
    [{"medians": {}}, {"medians": {"x": 0.0}}, {"medians": {"x": -1.0}}, {"medians": {"x": 1e308}}, {"spread": 1e200},
     {"spread": -1}, {"count": 0}],
)  # fmt: skip
def test_a_damaged_baseline_is_a_sentence_that_names_the_ceiling(sound: Path, tmp_path: Path, run, damage) -> None:
    file = tmp_path / "baseline.json"
    run(f"fleet report {sound} --save-baseline {file}")
    found = json.loads(file.read_text())
    ceilings = next(iter(found["kinds"].values()))["ceilings"]
    name = next(iter(ceilings))
    ceilings[name] |= damage
    file.write_text(json.dumps(found))
    code, out, err = run(f"fleet report {sound} --baseline {file}")
    assert (code, out) == (2, "")
    assert f"ceilings.{name}: " in err


@pytest.mark.parametrize("lang", LANGUAGES[1:])
def test_words_follow_the_language_and_figures_do_not(sick: Path, run, lang: str) -> None:
    texts = {one: run(f"fleet report {sick} --model llama-3.1-8b --tp 2 --lang {one}")[1] for one in ("en", lang)}

    def figures(text: str) -> list[str]:
        return sorted(re.findall(r"\d+\.\d+", text))

    assert figures(texts["en"]) == figures(texts[lang])
    for left in (" its equals", "against", "why:", "next:", "cost:", "nodes:", "behind", "median  ", " of the "):
        assert left not in texts[lang]


def test_wrong_use_is_a_sentence_and_exit_2(sound: Path, tmp_path: Path, run) -> None:
    for line, said in (
        (f"report {sound} --plot x.gif", "must end in .png or .svg"),
        (f"report {sound} --tp 4", "name the model with --model"),
        (f"report {tmp_path}", "holds no file of a node"),
        (f"report {sound} --fail-below best=1", "unknown ratio 'best'"),
        (f"report {sound} --least nan", "not a finite number"),
        (f"report {sound} --model llama-3.1-70b --tp 7", "tp 7 does not share out the 64 query heads"),
        (f"report {sound} --model gemm:M=1,K=2,N=3", "no architecture"),
        (f"simulate --faults clok=1 -o {tmp_path / 'x'}", "did you mean 'clock'"),
        (f"report {sound} --save-baseline {sound / 'truth.json'}", "schema"),
        (f"report {sound} --baseline {tmp_path / 'none.json'}", "cannot read"),
    ):
        code, _, err = run(f"fleet {line}")
        assert (code, said in err) == (2, True), (line, err)


def test_simulate_writes_nodes_and_the_truth(tmp_path: Path, run) -> None:
    code, out, _ = run(f"fleet simulate --nodes 3 --devices 2 --faults 1 --json -o {tmp_path}")
    assert code == 0
    assert json.loads(out) == json.loads((tmp_path / "truth.json").read_text())
    assert sorted(path.name for path in tmp_path.glob("node*.json")) == ["node000.json", "node001.json", "node002.json"]


def test_simulate_leaves_other_files_alone(tmp_path: Path, run) -> None:
    """A node that was measured, or one of another made-up fleet, is neither overwritten nor mixed in."""
    (tmp_path / "node001.json").write_text("{}")
    code, _, err = run(f"fleet simulate --nodes 3 --devices 1 -o {tmp_path}")
    assert (code, "holds node001.json, which is of another fleet; name a new folder" in err) == (2, True), err
    made = tmp_path / "made"
    assert run(f"fleet simulate --nodes 3 --devices 1 -o {made}")[0] == 0
    assert run(f"fleet simulate --nodes 3 --devices 1 --run 1 -o {made}")[0] == 0  # the same nodes anew
    code, _, err = run(f"fleet simulate --nodes 2 --devices 1 -o {made}")
    assert (code, "holds node002.json" in err) == (2, True), err


def test_why_a_node_is_silent_is_told_in_the_language(sound: Path, tmp_path: Path, run) -> None:
    for path in sound.glob("node*.json"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    absent = Absent("node-x", "hung", "no answer within 45 s, nor a word from Ray's worker there")
    artefacts.write_json(tmp_path / "node-x.absent.json", absent, ABSENT)
    code, out, _ = run(f"fleet report {tmp_path} --lang es")
    assert code == 1
    assert retold(absent.why, "es") != absent.why
    assert retold(absent.why, "es") in out


@pytest.mark.parametrize("lang", LANGUAGES)
def test_the_picture_has_its_texts_inside_and_apart(sick: Path, lang: str) -> None:
    found, files = judged_fleet(sick)
    sheet = shown(
        found.devices, found.spreads, [f for one in files for f in one.figures], nodes=found.nodes,
        silent=len(found.silent), kinds=[kind.key.text for kind in found.kinds], least=0.05,
    )  # fmt: skip
    assert len(sheet.rows) <= MOST_ROWS
    assert [one.of for one in sheet.out] == [one.of for one in found.out]
    assert len(sheet.out) <= MOST_NAMED
    figure = draw(sheet, lang)
    boxes = text_boxes(figure)
    width, height = figure.get_size_inches() * figure.dpi
    assert all(box.x0 >= 0 and box.x1 <= width and box.y0 >= 0 and box.y1 <= height for _, box in boxes)
    over = [(a, b) for i, (a, one) in enumerate(boxes) for b, other in boxes[i + 1 :] if one.grown(-2).hits(other)]
    assert over == []


def test_a_picture_is_written_as_png_and_svg(sick: Path, tmp_path: Path, run) -> None:
    assert run(f"fleet report {sick} --plot {tmp_path}/a.png")[0] == 1
    assert (tmp_path / "a.png").read_bytes()[:4] == b"\x89PNG"
    run(f"fleet report {sick} --plot {tmp_path}/a.svg")
    assert ET.parse(tmp_path / "a.svg").getroot().tag.endswith("svg")
