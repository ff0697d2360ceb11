"""docs/gallery.md: every picture has its command, every command its picture, and none is large."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from rooflens.api.live import Judge, watched
from rooflens.errors import RooflensError
from rooflens.present.boxes import Box
from rooflens.present.canvas import HEIGHT, WIDTH, text_boxes

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "tools"))

import dashboard  # noqa: E402
import gallery  # noqa: E402


def test_the_folder_holds_what_the_commands_make_and_nothing_else():
    assert {path.name for path in gallery.PICTURES.iterdir()} == {f"{name}.png" for name in gallery.COMMANDS}


@pytest.mark.parametrize("name", gallery.COMMANDS)
def test_a_picture_is_small_and_stands_on_the_page_under_its_command(name):
    picture = gallery.PICTURES / f"{name}.png"
    assert picture.stat().st_size < gallery.MOST_BYTES
    assert f"$ {gallery.COMMANDS[name]}\n```\n\n![" in PAGE
    assert f"](pictures/gallery/{name}.png)" in PAGE


@pytest.mark.parametrize("picture", sorted(gallery.PICTURES.parent.glob("page*.png")), ids=lambda path: path.stem)
def test_a_picture_of_the_page_is_small_and_shown(picture):
    assert picture.stat().st_size < gallery.MOST_BYTES
    assert f"](pictures/{picture.name})" in PAGE


@pytest.mark.slow
@pytest.mark.parametrize("name", ["wall", "live"])  # by a verb, by a tool
def test_a_command_makes_its_picture_anew(name, tmp_path):
    made = gallery.make(name, tmp_path).read_bytes()
    assert made[16:24] == (1920).to_bytes(4, "big") + (1080).to_bytes(4, "big")


def test_a_command_that_fails_says_why(monkeypatch, tmp_path):
    monkeypatch.setitem(gallery.COMMANDS, "none", "rooflens trend --kind nothing --plot none.png")
    with pytest.raises(SystemExit, match="nothing"):
        gallery.make("none", tmp_path)
    monkeypatch.setitem(gallery.COMMANDS, "none", "python tools/dashboard.py no.jsonl --model m --on h -o none.png")
    with pytest.raises(SystemExit, match=r"^error: unknown accelerator 'h'"):
        gallery.make("none", tmp_path)
    with pytest.raises(ValueError, match="no picture none"):
        gallery.shown("none", "nothing")


def test_every_picture_is_told_in_words():
    assert all(len(words) > 30 for words in re.findall(r"!\[([^\]]*)\]", PAGE))


# --- panels of the dashboard over a real run: 6 good pages, 37, 8, 107, 261 and 8 s apart; dead before the fifth ------

DATA = ROOT / "tests" / "data" / "metrics"
CPU = str(ROOT / "experiments" / "cpu-example" / "profile.json")
MIXED, STEADY, ALL, DEAD, AGAIN = range(5)


@pytest.fixture(scope="module")
def seen():
    return list(watched(DATA / "real_vllm.jsonl.gz", Judge(str(DATA / "smol.json"), CPU, math="fp32")))


@pytest.fixture(scope="module")
def series(seen):
    return {panel["title"]: dashboard.bars(panel, seen) for panel in dashboard.panels()}


def test_bars_cover_the_time_between_good_pages_once(seen, series):
    good = [one.at_s - seen[0].at_s for one in seen if not one.failed]
    for name in ("127.0.0.1:8811", "floor 127.0.0.1:8811"):
        several = series["Time per output token: floor, expected, measured"][name]
        assert [end for _, end, _ in several] == pytest.approx(good[1:])
        assert [begin for begin, *_ in several] == pytest.approx([before for before, _ in pairwise(good)])


def test_a_panel_tells_requests_before_pieces_of_streams_and_nothing_where_nothing_was_seen(series):
    measured = [v for *_, v in series["Time per output token: floor, expected, measured"]["127.0.0.1:8811"]]
    assert measured[ALL] == pytest.approx(0.390, abs=5e-4)  # of requests; 0.387 between pieces
    assert measured[STEADY] == pytest.approx(8 / 25.0, rel=0.01)  # 8 sequences, 25 tokens/s, no prompts
    starts = {round(begin) for begin, *_ in series["Time to first token"]["127.0.0.1:8811 p50"]}
    assert starts == {0, 45, 152}  # in the two intervals of 8 s no request had its first token


def test_no_bar_lies_above_a_roof_nor_below_the_floor(series):
    tpot = series["Time per output token: floor, expected, measured"]
    pairs = zip(tpot["floor 127.0.0.1:8811"], tpot["127.0.0.1:8811"], strict=True)
    assert all(floor < measured for (*_, floor), (*_, measured) in pairs)
    assert all(0 < v < 1 for title in ("MBU", "MFU") for several in series[title].values() for *_, v in several)


def test_a_dead_engine_is_no_spike_and_steady_decoding_has_one_mbu(series):
    overall, decoding = ([v for *_, v in several] for several in series["MBU"].values())
    assert min(overall) == overall[DEAD]
    for at in (STEADY, AGAIN):  # no prompts: decode steps are all of the time
        assert overall[at] == pytest.approx(decoding[at], rel=0.03)
    assert overall[MIXED] < decoding[MIXED] / 3  # prompts took most of the time


def test_texts_of_the_panels_lie_inside_and_apart(seen):
    boxes = text_boxes(dashboard.draw(seen))
    assert {"no answer", "restart seen", "100 %", "100 ms", "7 min"} <= {text for text, _ in boxes}
    for i, (text, box) in enumerate(boxes):
        assert box.within(Box(0, 0, WIDTH, HEIGHT)), text
        assert not [other for other, there in boxes[:i] if box.hits(there)], text


def test_a_recording_without_roofs_is_no_picture(seen):
    with pytest.raises(RooflensError, match="rates under a roof"):
        dashboard.draw(seen[:1])
