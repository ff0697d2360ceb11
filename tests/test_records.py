from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.errors import BadFile, RooflensError
from rooflens.records import checked, decode, encode, field, fields, quantity, record


@record
class Link:
    name: str
    bytes_per_s: float = quantity("B/s")


@record
class Chip:
    id: str
    memory_bytes: float = quantity("B")
    peaks: dict[str, float] = quantity("FLOP/s", default_factory=dict)
    kind: Literal["gpu", "cpu"] = "gpu"
    units: int = 1
    sparse: bool = False
    price_usd: float | None = None
    links: tuple[Link, ...] = ()
    size: tuple[int, int] | None = None
    either: int | str | None = None
    part: Link | Literal["none"] = "none"
    notes: Mapping[str, list[str]] = field(default_factory=dict)
    anything: Any = None


GOOD = {"id": "acme-one", "memory_bytes": 80e9}


def faults_of(data, cls=Chip, schema=None):
    with pytest.raises(BadFile) as caught:
        decode(cls, data, "acme.toml", schema)
    assert all(line.startswith("acme.toml: ") for line in str(caught.value).splitlines())
    return list(caught.value.faults)


def test_a_file_may_write_quantities_as_text_or_as_plain_si_numbers():
    chip = decode(
        Chip,
        {
            "id": "acme-one",
            "memory_bytes": "80 GB",
            "peaks": {"bf16": "400 TFLOP/s", "fp32": 5e13},
            "links": [{"name": "nvlink", "bytes_per_s": "450 GB/s"}],
        },
        "acme.toml",
    )
    assert chip == Chip("acme-one", 80e9, {"bf16": 400e12, "fp32": 5e13}, links=(Link("nvlink", 450e9),))


def test_all_faults_of_a_file_come_at_once_with_path_and_near_match():
    faults = faults_of(
        {
            "memory_bytes": "80 gb",
            "peaks": {"bf16": "fast"},
            "knid": "gpu",
            "units": 1.5,
            "sparse": 1,
            "links": [{"name": "a", "bytes_per_s": 1}, {"nmae": 7, "bytes_per_s": None}],
            "size": [1, 2, 3],
            "notes": {"a": "text"},
        }
    )
    assert faults == [
        "knid: unknown key 'knid', did you mean 'kind'?",
        "id: missing",
        "memory_bytes: '80 gb': 'gb' is not a unit of B; did you mean 'GB'?",
        "peaks.bf16: 'fast' is not a number with a unit; write it like '989 TFLOP/s'",
        "units: expected a whole number, found 1.5",
        "sparse: expected true or false, found 1",
        "links[1].nmae: unknown key 'nmae', did you mean 'name'?",
        "links[1].name: missing",
        "links[1].bytes_per_s: expected a number, found None",
        "size: expected 2 entries, found 3",
        "notes.a: expected a list, found 'text'",
    ]


@pytest.mark.parametrize(
    ("more", "fault"),
    [
        ({"kind": "gpo"}, "kind: 'gpo' is not allowed; did you mean 'gpu'?"),
        ({"kind": "toaster"}, "kind: 'toaster' is not allowed; expected one of 'gpu', 'cpu'"),
        ({"kind": 16**6000}, "kind: a very long number is not allowed"),
        ({"kind": "x" * 1_000_000}, "kind: 'xxx"),
        ({"x" * 1_000_000: 1}, "unknown key 'xxx"),
        ({"kind": ["gpu"]}, "kind: ['gpu'] is not allowed"),
        ({"id": None}, "id: expected text, found None"),
        ({"units": True}, "units: expected a whole number, found True"),
        ({"memory_bytes": True}, "memory_bytes: expected a number, found True"),
        ({"memory_bytes": -1}, "memory_bytes: -1 is negative"),
        ({"memory_bytes": "-1 GB"}, "memory_bytes: '-1 GB' is negative"),
        ({"memory_bytes": math.nan}, "memory_bytes: nan is not a finite number"),
        ({"memory_bytes": 10**400}, "is not a finite number"),
        ({"memory_bytes": 16**6000}, "a very long number is not a finite number"),
        ({"price_usd": "3 USD"}, "price_usd: expected a number, found '3 USD'"),
        ({"links": {}}, "links: expected a list, found {}"),
        ({"links": [3]}, "links[0]: expected an object, found 3"),
        ({"peaks": []}, "peaks: expected an object, found []"),
        ({"either": 1.5}, "either: expected a whole number or text, found 1.5"),
        ({"part": "nine"}, "part: expected an object or 'none', found 'nine'"),
        ({"part": {"name": "x"}}, "part.bytes_per_s: missing"),  # an object is judged as the record it may be
        ({"id": ["x" * 1000] * 1000}, "id: expected text, found ['xxx"),
    ],
)
def test_an_ill_typed_value_is_named_with_its_path(more, fault):
    (found,) = faults_of(GOOD | more)
    assert fault in found
    assert len(found) < 160


@pytest.mark.parametrize("data", [None, [], "text", 3])
def test_a_file_that_is_no_object_is_one_fault(data):
    (found,) = faults_of(data)
    assert found.startswith("file: expected an object, found ")
    assert faults_of(data, schema="rooflens/chip/1") == [found]


def test_a_whole_number_will_do_for_a_number_but_true_will_not():
    chip = decode(Chip, GOOD | {"price_usd": 3}, "x")
    assert type(chip.price_usd) is float
    assert "expected a number" in faults_of(GOOD | {"price_usd": True})[0]


@record
class Version:
    number: Literal[1, 2]


def test_true_is_not_the_literal_one():
    assert decode(Version, {"number": 1}, "x") == Version(1)
    for wrong in (True, 1.0):
        assert "is not allowed" in faults_of({"number": wrong}, Version)[0]


@record
class Ratio:
    value: float

    def __post_init__(self):
        if not 0 <= self.value <= 1:
            raise ValueError(f"a ratio lies between 0 and 1, not {self.value:g}")


def test_what_a_record_says_about_itself_is_a_fault_of_the_file():
    assert faults_of({"value": 2}, Ratio) == ["file: a ratio lies between 0 and 1, not 2"]


# --- schema -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("schema", ["rooflens/chip/1", "rooflens/chip/2"])
def test_this_schema_and_older_ones_are_read(schema):
    assert decode(Chip, GOOD | {"schema": schema}, "x", "rooflens/chip/2") == Chip("acme-one", 80e9)


def test_a_newer_schema_is_refused_and_its_unknown_keys_are_not_blamed():
    (fault,) = faults_of({"schema": "rooflens/chip/3", "strange": 1}, schema="rooflens/chip/2")
    assert "newer than this rooflens reads ('rooflens/chip/2'); upgrade rooflens" in fault


@pytest.mark.parametrize(
    "found",
    ["rooflens/lab/1", "rooflens/chip", "rooflens/chip/", "rooflens/chip/x", "rooflens/chip/-1", "rooflens/chip/\u00b2",
     "rooflens/chip/" + "9" * 5000, "", None, 7, ["rooflens/chip/1"]],
)  # fmt: skip
def test_another_schema_is_refused_by_name(found):
    (fault,) = faults_of(GOOD | {"schema": found}, schema="rooflens/chip/1")
    assert fault.startswith("schema: expected 'rooflens/chip/1', found ")


def test_a_missing_schema_is_refused():
    assert faults_of(GOOD, schema="rooflens/chip/1") == [
        "schema: expected 'rooflens/chip/1', found none; name such a file"
    ]


# --- encode -----------------------------------------------------------------------------------------------------------


def test_what_is_not_known_is_left_out_and_zero_is_kept():
    assert encode(Chip("a", 0.0, {"fp8": 0.0})) == {
        "id": "a", "memory_bytes": 0.0, "peaks": {"fp8": 0.0}, "kind": "gpu", "units": 1, "sparse": False,
        "links": [], "part": "none", "notes": {},
    }  # fmt: skip
    assert encode({"a": None, "b": [None, 0]}) == {"b": [None, 0]}


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, np.float64("nan"), np.array([1.0, np.inf])])
def test_a_number_that_is_not_finite_never_enters_an_artefact(value):
    with pytest.raises(RooflensError, match="not a finite number"):
        encode({"a": [value]})


@pytest.mark.parametrize("value", ["\ud800", ["a", "\udfffb"], {"\ud800": 1}])
def test_half_a_character_never_enters_an_artefact(value):
    with pytest.raises(RooflensError, match="not Unicode"):
        encode({"a": value})


def test_a_record_made_in_python_is_checked_like_one_in_a_file():
    checked(Chip("a", np.float64(1), {}, units=np.int64(3)))
    with pytest.raises(RooflensError, match=r"id: expected text, found 5; memory_bytes: inf .*kind: 'gpuu'.*'gpu'"):
        checked(Chip(5, math.inf, {}, kind="gpuu"))


def test_arrays_and_their_numbers_become_plain_json():
    made = encode({"a": np.arange(3), "b": np.int64(7), "c": np.bool_(1), "d": np.float64(0.5), "e": np.eye(1)})
    assert json.loads(json.dumps(made)) == {"a": [0, 1, 2], "b": 7, "c": True, "d": 0.5, "e": [[1.0]]}


# --- laws -------------------------------------------------------------------------------------------------------------

TEXT = st.text(max_size=8)
NUMBERS = st.floats(0, 1e30)
LINKS = st.builds(Link, TEXT, NUMBERS)
CHIPS = st.builds(
    Chip,
    id=TEXT,
    memory_bytes=NUMBERS,
    peaks=st.dictionaries(TEXT, NUMBERS, max_size=3),
    kind=st.sampled_from(["gpu", "cpu"]),
    units=st.integers(),
    sparse=st.booleans(),
    price_usd=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    links=st.lists(LINKS, max_size=3).map(tuple),
    size=st.none() | st.tuples(st.integers(), st.integers()),
    either=st.none() | st.integers() | TEXT,
    part=st.just("none") | LINKS,
    notes=st.dictionaries(TEXT, st.lists(TEXT, max_size=2), max_size=2),
    anything=st.none() | st.integers() | TEXT,
)


@given(CHIPS)
def test_a_record_survives_the_way_through_json(chip):
    assert decode(Chip, json.loads(json.dumps(encode(chip))), "x") == chip


@given(CHIPS, st.integers(1, 9))
def test_a_record_survives_with_any_schema_it_knows(chip, number):
    data = encode(chip) | {"schema": f"rooflens/chip/{number}"}
    assert decode(Chip, data, "x", "rooflens/chip/9") == chip


KEYS = st.sampled_from([*(f.name for f in fields(Chip)), "name", "bytes_per_s", "schema"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT | st.sampled_from(["80 GB", "1 TB/s", "gpu"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT | KEYS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON | st.dictionaries(KEYS, JSON, max_size=10), st.sampled_from([None, "rooflens/chip/1"]))
def test_any_json_is_a_record_or_a_bad_file(data, schema):
    try:
        chip = decode(Chip, data, "any", schema)
    except BadFile as error:
        assert error.faults
        assert all(fault.strip() for fault in error.faults)
    else:
        assert isinstance(chip, Chip)


@given(CHIPS, st.sampled_from(sorted(f.name for f in fields(Chip))), JSON)
def test_one_spoilt_key_is_blamed_and_no_other(chip, key, junk):
    try:
        decode(Chip, encode(chip) | {key: junk}, "any")
    except BadFile as error:
        assert all(fault.startswith(key) for fault in error.faults)
