"""No answer is written over the file that it was asked of, and no two parts of one under one name."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.damage import READ


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("config.json", "place config.json --on l4 -o config.json"),
        ("config.json", "ceilings config.json --on l4 -o link.json"),
        ("profile.json", "predict llama-3.1-8b --on profile.json,memory=2TB/s -o ./profile.json"),
        ("profile.json", "ceilings llama-3.1-8b --on l4,profile.json -o profile.json"),
        ("config.json", "ceilings config.json:q4_k_m --on l4 -o config.json"),
        ("trace.json", "kernels trace.json --on l4 -o trace.json"),
        ("served.json", "bench served.json --on l4 -o served.json"),
        ("served.json", "fit served.json --model llama-3.1-8b --on l4 -o served.json"),
    ],
)
def test_the_file_that_was_asked_about_stays(room: Path, run, name: str, line: str) -> None:
    READ[name][0]()
    Path("link.json").symlink_to(name)
    before = Path(name).read_bytes()
    said = run(line)
    assert (said.code, said.out) == (2, "")
    assert "is a file that was asked about; name another" in said.err
    assert Path(name).read_bytes() == before


@pytest.mark.parametrize(
    ("file", "line"),
    [
        ("lab/profile.json", "predict llama-3.1-8b --on lab -o lab/profile.json"),
        ("nodes/n.json", "fleet report nodes -o nodes/n.json"),
        ("nodes/n.json", "fleet report nodes --save-baseline nodes/n.json"),
        ("model/config.json", "place model --on l4 -o model/config.json"),
        ("token", "watch http://localhost:1 --token-file token --record token"),
    ],
)
def test_what_is_read_in_a_folder_stays_too(room: Path, run, file: str, line: str) -> None:
    there = Path(file)
    there.parent.mkdir(exist_ok=True)
    READ["config.json" if there.name == "config.json" else "profile.json"][0]()
    Path(there.name if there.name == "config.json" else "profile.json").rename(there)
    before = there.read_bytes()
    said = run(line)
    assert (said.code, said.out) == (2, "")
    assert f"{file} is a file that was asked about; name another" in said.err
    assert there.read_bytes() == before


def test_a_baseline_is_renewed_in_its_place(room: Path, run) -> None:
    READ["profile.json"][0]()
    Path("nodes").mkdir()
    Path("profile.json").rename("nodes/n.json")
    assert run("fleet report nodes --save-baseline base.json").code in (0, 1)
    assert run("fleet report nodes --baseline base.json --save-baseline base.json").code in (0, 1)
    assert "both name base.json" in run("fleet report nodes -o base.json --save-baseline base.json").err


def test_two_files_of_an_answer_have_two_names(room: Path, run) -> None:
    curves = "predict llama-3.1-8b --on l4 --batch 1,2"
    assert "--plot and --csv both name x.png" in run(f"{curves} --plot x.png --csv ./x.png").err
    assert "--out and --csv both name x.json" in run(f"{curves} --out x.json --csv x.json").err
    assert not list(room.iterdir())


def test_an_older_answer_is_written_over_and_a_folder_takes_what_is_beside(room: Path, run) -> None:
    READ["profile.json"][0]()
    for out in ("answer.json", "answer.json", "."):
        assert run(f"place llama-3.1-8b --on profile.json -o {out}").code == 0
    assert {path.name for path in room.glob("*.json")} >= {"profile.json", "answer.json", "place.json"}
