"""docs/gallery.md: every picture has its command, every command its picture, and none is large."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PAGE = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "tools"))

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
def test_a_command_makes_its_picture_anew(tmp_path):
    made = gallery.make("wall", tmp_path).read_bytes()
    assert made[16:24] == (1920).to_bytes(4, "big") + (1080).to_bytes(4, "big")


def test_a_command_that_fails_says_why(monkeypatch, tmp_path):
    monkeypatch.setitem(gallery.COMMANDS, "none", "rooflens trend --kind nothing --plot none.png")
    with pytest.raises(SystemExit, match="nothing"):
        gallery.make("none", tmp_path)
    with pytest.raises(ValueError, match="no picture none"):
        gallery.shown("none", "nothing")


def test_every_picture_is_told_in_words():
    assert all(len(words) > 30 for words in re.findall(r"!\[([^\]]*)\]", PAGE))
