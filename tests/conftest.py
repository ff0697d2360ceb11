"""What all tests share: a search without a clock, since a busy machine is no fault of the code."""

from __future__ import annotations

import json
import os
import shlex
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import settings

settings.register_profile("fast", deadline=None, max_examples=100, derandomize=True)  # red only where code changed
settings.register_profile("deep", deadline=None, max_examples=5000, derandomize=False)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "fast"))

os.environ.setdefault("RAY_AUTH_MODE", "disabled")  # else a Ray in this process asks for a token in those after it

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell sets it for what it runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


class Told(NamedTuple):
    """What one command line said."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """What it printed, as the object that it is."""
        found = json.loads(self.out)
        assert isinstance(found, dict)
        return found


@pytest.fixture(autouse=True, scope="session")
def _locks_of_these_tests(tmp_path_factory: pytest.TempPathFactory) -> None:
    """Another measurement on this computer is not waited for."""
    os.environ["ROOFLENS_LOCKS"] = str(tmp_path_factory.mktemp("locks"))


@pytest.fixture
def room(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, a home of its own, and no GPU."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    (tmp_path / "room").mkdir()
    monkeypatch.chdir(tmp_path / "room")
    return tmp_path / "room"


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str]) -> Callable[..., Told]:
    """The command line, called with its arguments."""
    from rooflens.cli import _run

    def call(*arguments: str) -> Told:
        capsys.readouterr()
        code = _run(list(arguments))
        caught = capsys.readouterr()
        return Told(code, caught.out, caught.err)

    return call


@pytest.fixture
def run(cli: Callable[..., Told]) -> Callable[[str], Told]:
    """The same, called with a line."""
    return lambda line: cli(*shlex.split(line))
