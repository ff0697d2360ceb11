"""Whatever became of a file on its way, the verbs that read it answer or say a sentence."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from hypothesis import settings

from tests.damage import READ, damaged
from tests.rooms import needed
from tests.surroundings import ran

SEEDS = max(settings.default.max_examples // 10, 1)


def prepared(name: str) -> bytes:
    """The file, whole, and those beside it."""
    for line in READ[name][1]:
        needed(" ".join(line.split()[:2]))
        needed(line.split()[0])
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    READ[name][0]()
    return Path(name).read_bytes()


@pytest.mark.parametrize("name", READ)
def test_a_damaged_file_is_read_or_refused_in_a_sentence(room: Path, name: str) -> None:
    whole = prepared(name)
    for seed in range(SEEDS):
        Path(name).write_bytes(damaged(whole, seed))
        line = READ[name][1][seed % len(READ[name][1])]
        said = ran(shlex.split(line))
        assert said.code in (0, 1, 2), (seed, line, said)
        assert "Traceback" not in said.err
        assert said.code != 2 or "rooflens: " in said.err, (seed, line, said)


@pytest.mark.parametrize("name", READ)
def test_the_same_file_undamaged_is_read(room: Path, name: str) -> None:
    prepared(name)
    for line in READ[name][1]:
        said = ran(shlex.split(line))
        assert said.code in (0, 1), (line, said)
