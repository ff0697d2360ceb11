"""Files are written whole or not at all, and read with every fault named."""

from __future__ import annotations

import errno
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens import artefacts
from rooflens.errors import BadFile, RooflensError
from rooflens.roofline.profile import SCHEMA, Profile


def test_a_full_disk_leaves_the_older_file_and_no_debris(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "a.json"
    artefacts.write_bytes(file, b"older")

    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(RooflensError, match="no space left on device"):
        artefacts.write_bytes(file, b"newer")
    assert file.read_bytes() == b"older"
    assert list(tmp_path.iterdir()) == [file]


def test_what_is_no_file_is_written_into_and_stays_what_it_is(tmp_path: Path) -> None:
    pipe = tmp_path / "a.json"
    os.mkfifo(pipe)
    end = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        artefacts.write_bytes(pipe, b"into the pipe")
        assert os.read(end, 100) == b"into the pipe"
    finally:
        os.close(end)
    assert pipe.is_fifo()


def test_a_folder_that_cannot_be_written_is_a_sentence() -> None:
    with pytest.raises(RooflensError, match=r"cannot write /proc/x/a\.json"):
        artefacts.write_bytes(Path("/proc/x/a.json"), b"")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_a_file_with_a_byte_order_mark_is_read_by_it(tmp_path: Path, encoding: str) -> None:
    file = tmp_path / "a.json"
    file.write_bytes('{"name": "é"}'.encode(encoding))
    assert artefacts.read_json(file) == {"name": "é"}


@given(st.binary(max_size=200))
def test_any_bytes_are_a_profile_or_a_sentence(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    file = tmp_path_factory.mktemp("any") / "p.json"
    file.write_bytes(content)
    with pytest.raises(RooflensError) as refused:
        artefacts.load(file, Profile, SCHEMA)
    assert str(file) in str(refused.value)


@pytest.mark.parametrize("text", ["", "{", '{"a": 1', '{"a": NaN}', "[" * 200_000, "1" * 5000])
def test_text_that_is_no_profile_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(BadFile):
        artefacts.load(tmp_path / "p.json", Profile, SCHEMA)


def test_a_file_beyond_the_limit_is_not_read(tmp_path: Path) -> None:
    file = tmp_path / "huge.json"
    with file.open("wb") as made:
        made.truncate(artefacts.LARGEST_BYTES + 1)  # sparse: it takes no room
    with pytest.raises(RooflensError, match="are read up to"):
        artefacts.read_json(file)


@pytest.mark.slow
@pytest.mark.parametrize("older", [False, True])
def test_ctrl_c_in_mid_run_keeps_what_is_whole(tmp_path: Path, older: bool) -> None:
    out = tmp_path / "lab"
    if older:
        out.mkdir()
        (out / "manifest.json").write_text('{"complete": true}')
    line = [sys.executable, "-m", "rooflens", "lab", "--quick", "--out", str(out)]
    process = subprocess.Popen(
        line, stderr=subprocess.PIPE, text=True, env={**os.environ, "HOME": str(tmp_path)}, start_new_session=True
    )
    assert process.stderr is not None
    said: list[str] = []
    for text in process.stderr:  # until the third stage has begun, so two are complete
        said.append(text)
        if text.startswith(" ") and "products" in text:
            break
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    rest = process.communicate(timeout=60)[1]
    assert process.returncode == 2
    assert "Traceback" not in "".join(said) + rest
    assert "stopped" in rest
    kept = out / ("partial/profile.json" if older else "profile.json")
    assert artefacts.load(kept, Profile, SCHEMA).ceilings
    if older:
        assert (out / "manifest.json").read_text() == '{"complete": true}'


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 50_000 + "1" + "}" * 50_000, "nested too deeply"),
        ('{"a": 1, "b": 2, "a": 3}', "the key 'a' is there twice"),
        ("{" + ",".join(f'"{i}": 1' for i in range(50_000)) + ', "49999": 2}', "the key '49999' is there twice"),
        ('{"a": NaN}', "NaN is not a number of JSON"),
        ('{"a": -Infinity}', "-Infinity is not a number of JSON"),
        ('{"a": ' + "9" * 5000 + "}", "value has 5000 digits; was it cut off"),
        ('{"a": 1', "line 1: Expecting ',' delimiter"),
        ("", "line 1: Expecting value"),
    ],
)
def test_a_text_that_is_no_json_is_one_sentence(text: str, said: str) -> None:
    with pytest.raises(BadFile) as told:
        artefacts.parse_json(text, "a.json")
    assert said in str(told.value)
    assert "\n" not in str(told.value)
    assert "set_int_max" not in str(told.value)
