from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from functools import cached_property

import pytest

from rooflens.errors import RooflensError
from rooflens.frozen import quantity, record


@record
class Chip:
    """A chip."""

    id: str
    memory_bytes: float = quantity("B", default=1.0)
    peaks: dict[str, float] = dataclasses.field(default_factory=dict)
    cores: int | None = None

    @cached_property
    def doubled(self) -> float:
        """Worked out once."""
        return 2 * self.memory_bytes


@record
class Pair:
    """Two sizes that fit."""

    large: int
    small: int = 1

    def __post_init__(self) -> None:
        if self.large < self.small:
            raise RooflensError("the wrong way round")

    def __repr__(self) -> str:
        return f"{self.small} in {self.large}"


@record
class Triple(Pair):
    """A record that adds a field to another."""

    third: int = 3


def test_fields_are_given_by_place_or_by_name_or_take_their_defaults():
    assert Chip("a", 2.0, {"bf16": 3.0}, 4) == Chip(cores=4, peaks={"bf16": 3.0}, memory_bytes=2.0, id="a")
    assert Chip("a") == Chip("a", 1.0, {}, None)
    assert Chip("a").peaks is not Chip("a").peaks


@pytest.mark.parametrize("make", [Chip, lambda: Chip("a", speed=3), lambda: Chip("a", id="b"), lambda: Chip(*"abcde")])
def test_missing_unknown_and_doubled_fields_are_type_errors_that_name_the_class(make):
    with pytest.raises(TypeError, match=r"Chip\.__init__"):
        make()


def test_a_record_does_not_change():
    chip = Chip("a")
    for change in (lambda: setattr(chip, "id", "b"), lambda: setattr(chip, "other", 1), lambda: delattr(chip, "id")):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert chip.doubled == 2.0
    assert chip == Chip("a")  # what was worked out is no part of it


def test_records_are_equal_when_their_kind_and_their_fields_are():
    assert Pair(2) == Pair(2, 1) != Pair(3)
    assert hash(Pair(2)) == hash(Pair(2, 1))
    assert Triple(2) != Pair(2)
    assert repr(Chip("a")) == "Chip(id='a', memory_bytes=1.0, peaks={}, cores=None)"


def test_a_class_keeps_what_it_defines_itself_and_checks_what_it_is_given():
    assert repr(Pair(2)) == "1 in 2"
    assert Triple(5, third=7).third == 7
    with pytest.raises(RooflensError, match="wrong way"):
        Triple(1, 2)


def test_a_record_survives_copies_pickles_and_replace():
    chip = Chip("a", 2.0, cores=3)
    assert pickle.loads(pickle.dumps(chip)) == copy.deepcopy(chip) == copy.copy(chip) == chip
    assert dataclasses.replace(chip, id="b") == Chip("b", 2.0, cores=3)
    assert [f.name for f in dataclasses.fields(Chip)] == ["id", "memory_bytes", "peaks", "cores"]


def test_a_class_writes_its_init_when_its_first_record_is_made():
    @record
    class Late:
        """A record that nobody has made yet."""

        size: int = 1

    assert not inspect.isfunction(vars(Late)["__init__"])
    assert Late() == Late(1)
    assert inspect.isfunction(vars(Late)["__init__"])
    assert str(inspect.signature(Chip)).startswith("(id, memory_bytes=1.0, peaks=")
