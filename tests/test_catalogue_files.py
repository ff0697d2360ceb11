"""The catalogue's files, and a person's own."""

from __future__ import annotations

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from rooflens.catalogue import accelerator, accelerator_from_toml, accelerators, derived_peaks, store
from rooflens.errors import BadFile
from rooflens.records import decode, encode

FILES = sorted((store.DATA / "accelerators").glob("*.toml"))
OWN = """
[accelerator]
id = "acme-one"
unit_count = 10
matrix = { bf16 = "400 TFLOP/s", fp8 = 0 }
memory = { capacity_bytes = "64 GB", bandwidth_bytes_per_s = "2.0 TB/s" }
"""


def refused(text):
    with pytest.raises(BadFile) as caught:
        accelerator_from_toml(text, "acme.toml")
    return str(caught.value)


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.stem)
def test_reading_one_table_gives_what_reading_the_whole_file_gives(path):
    text = path.read_text(encoding="utf-8")
    tables = tomllib.loads(text)["accelerator"]
    assert [decode(store.Accelerator, t, path.name) for t in tables] == [accelerator(t["id"]) for t in tables]
    assert [store.plain(table) for table in text.split(store._HEADER)[1:]] == tables


def test_every_table_of_every_file_is_found():
    assert sum(p.read_text(encoding="utf-8").count("[[accelerator]]") for p in FILES) == len(accelerators())


def test_a_record_survives_being_written_and_read():
    for known in accelerators():
        assert decode(store.Accelerator, encode(known), known.id) == known


def test_the_files_say_nothing_of_how_they_came_to_be():
    for path in store.DATA.rglob("*.*"):
        text = path.read_text(encoding="utf-8")
        assert not [word for word in ("file id", "this repository", "seen here") if word in text], path.name


def test_an_own_machine_needs_an_id_only_and_what_it_says_is_assumed():
    own = accelerator_from_toml(OWN, "acme.toml")
    assert (own.id, own.name, own.origin, own.peak_origin) == ("acme-one", "acme-one", "assumed", "assumed")
    assert own.peaks == {"matrix": {"bf16": 400e12, "fp8": 0}, "vector": {}}
    assert (own.memory.capacity_bytes, own.memory.bandwidth_bytes_per_s) == (64e9, 2e12)
    assert own.scale_up.bytes_per_s_per_direction is None
    sourced = accelerator_from_toml(OWN + 'sources = ["Acme One datasheet, page 3"]', "acme.toml")
    assert sourced.origin == "spec"


def test_an_own_machine_may_be_written_as_in_the_catalogue():
    assert accelerator_from_toml(OWN.replace("[accelerator]", "[[accelerator]]"), "a") == accelerator_from_toml(
        OWN, "a"
    )


def test_every_fault_is_listed_at_once_with_its_path_and_the_nearest_key():
    said = refused(
        """
        [accelerator]
        nmae = "Acme"
        matrix = { bf61 = "400 TFLOP/s", fp8 = "800 TB/s" }
        memory = { bandwidth_bytes_per_s = nan, bus_bits = 1.5 }
        confidence = "D"
        """
    )
    assert "acme.toml: accelerator[0].id: missing" in said
    assert "unknown key 'nmae', did you mean 'name'?" in said
    assert "accelerator[0].matrix.bf61: unknown key 'bf61', did you mean 'bf16'?" in said
    assert "accelerator[0].matrix.fp8: '800 TB/s'" in said
    assert "accelerator[0].memory.bandwidth_bytes_per_s: nan is not a finite number" in said
    assert "accelerator[0].memory.bus_bits: expected a whole number" in said
    assert "accelerator[0].confidence: 'D'" in said
    assert len(said.splitlines()) == 7


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id = ", "not TOML"),
        ("", "expected one .accelerator. table, found 0"),
        (OWN + OWN.replace("[accelerator]", "[accelerator2]"), "unknown key 'accelerator2'"),
        ("[[accelerator]]\nid = 'a'\n[[accelerator]]\nid = 'b'", "found 2"),
        ("accelerator = 3", "expected a list"),
        ("[accelerator]\nid = ''", "must be one word"),
        ("[accelerator]\nid = 'two words'", "must be one word"),
        ("[accelerator]\nid = 'a,memory=1'", "must be one word"),
        ("[accelerator]\nid = 'a'\ndevices = 0", "devices: must be at least 1"),
        ("[accelerator]\nid = 'a'\nmatrix.bf16 = '-1 TFLOP/s'", "matrix.bf16: '-1 TFLOP/s' is negative"),
        ("[accelerator]\nid = 'a'\nunit_count = -1", "unit_count: -1 is below 0"),
        ("[accelerator]\nid = 'a'\nsparse_multipliers = { bf61 = 2 }", "'bf61' is not a matrix dtype"),
        ("[accelerator]\nid = 'a'\ntdp_w = true", "expected a number, found True"),
        ("[accelerator]\nid = 'a'\nmemory.capacity_bytes = '64'", "has no unit"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text, sentence):
    assert re.search(sentence, refused(text))


def test_the_chip_in_the_guide_is_one_that_can_be_read():
    guide = (Path(__file__).parents[1] / "docs" / "accelerators.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"```toml\n(.*?)```", guide, re.DOTALL)
    acme = accelerator_from_toml(textwrap.dedent(example), "docs/accelerators.md")
    assert acme.peaks["matrix"] == {"bf16": 400e12, "fp8": 0}
    assert acme.memory.capacity_bytes == 64 * 2**30


def test_an_architecture_that_no_table_knows_derives_nothing():
    for key in ("arch", "isa"):
        text = f"[accelerator]\nid = 'a'\n{key} = 'new'\nunit_count = 4\nbase_clock_hz = '1 GHz'"
        assert not any(derived_peaks(accelerator_from_toml(text, "own.toml")).values())


def test_the_same_id_in_two_files_is_refused(monkeypatch, tmp_path):
    (tmp_path / "accelerators").mkdir()
    for name in ("a.toml", "b.toml"):
        (tmp_path / "accelerators" / name).write_text('[[accelerator]]\nid = "x"\nname = "X"\n', encoding="utf-8")
    monkeypatch.setattr(store, "DATA", tmp_path)
    with pytest.raises(BadFile, match=r"the id 'x' is also in a\.toml"):
        store._tables.__wrapped__()
