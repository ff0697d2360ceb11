from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from functools import cached_property

import pytest

from rooflens.errors import RooflensError
from rooflens.frozen import field, fields, is_record, quantity, record, replace


@record
class Chip:
    """A chip."""

    id: str
    memory_bytes: float = quantity("B", default=1.0)
    peaks: dict[str, float] = field(default_factory=dict)
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


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (Chip, "Chip: missing a required argument: 'id'"),
        (lambda: Chip("a", speed=3), "Chip: got an unexpected keyword argument 'speed'"),
        (lambda: Chip(speed=3), "Chip: missing a required argument: 'id'"),
        (lambda: Chip("a", id="b"), "Chip: multiple values for argument 'id'"),
        (lambda: Chip(*"abcde"), "Chip: too many positional arguments"),
        (lambda: Chip(*"abcde", id="f"), "Chip: multiple values for argument 'id'"),
    ],
)
def test_missing_unknown_and_doubled_fields_are_type_errors_that_name_the_class(make, said):
    with pytest.raises(TypeError) as caught:
        make()
    assert str(caught.value) == said


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


def test_a_record_survives_copies_and_pickles():
    chip = Chip("a", 2.0, cores=3)
    assert pickle.loads(pickle.dumps(chip)) == copy.deepcopy(chip) == copy.copy(chip) == chip


def test_replace_makes_another_record_and_checks_it_again():
    chip = Chip("a", 2.0, cores=3)
    assert replace(chip, id="b", cores=None) == Chip("b", 2.0)
    with pytest.raises(TypeError, match="unexpected keyword argument 'speed'"):
        replace(chip, speed=1)
    with pytest.raises(RooflensError, match="wrong way"):
        replace(Pair(3, 2), large=1)


def test_a_record_is_a_dataclass_to_those_who_ask():
    chip = Chip("a", 2.0, cores=3)
    assert dataclasses.is_dataclass(Chip)
    assert dataclasses.replace(chip, id="b") == replace(chip, id="b")
    assert dataclasses.asdict(chip) == {"id": "a", "memory_bytes": 2.0, "peaks": {}, "cores": 3}
    assert [f.name for f in dataclasses.fields(chip)] == [f.name for f in fields(chip)]
    assert dataclasses.fields(Triple)[1].default == 1
    match Triple(5):
        case Triple(large, small, third):
            assert (large, small, third) == (5, 1, 3)


def test_help_shows_the_fields():
    assert str(inspect.signature(Chip)).startswith("(id: 'str', memory_bytes: 'float' = 1.0, peaks:")


def test_only_records_are_records():
    assert is_record(Chip)
    assert is_record(Chip("a"))
    assert not is_record({})


def test_a_field_of_dataclasses_will_do():
    @record
    class Mixed:
        """A record whose fields were written for a dataclass."""

        needed: int
        named: str = dataclasses.field(default="x")
        listed: list[int] = dataclasses.field(default_factory=list)

    assert Mixed(1) == Mixed(1, "x", [])
    assert [f.name for f in fields(Mixed) if f.required] == ["needed"]


def test_a_default_that_all_records_would_share_is_refused():
    with pytest.raises(TypeError, match=r"Shared.sizes: .* default_factory"):

        @record
        class Shared:
            """A record with a list for all."""

            sizes: list[int] = []  # noqa: RUF012


def test_what_dataclasses_asks_for_is_made_once_and_by_the_class_that_was_asked():
    assert Pair.__dataclass_fields__ is Pair.__dataclass_fields__
    assert [*Triple.__dataclass_fields__] == ["large", "small", "third"]
    assert dataclasses.fields(Chip)[1].metadata == {"unit": "B"}
