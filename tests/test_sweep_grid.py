"""The file of a grid: what it may say, every fault of it, and how it is cut into shards."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rooflens.api.sweeping import read_grid
from rooflens.errors import BadFile, RooflensError, Unknown
from rooflens.readers.plain_yaml import plain_yaml
from rooflens.sweep.columns import FIGURES
from rooflens.sweep.grid import Axes, grid
from rooflens.sweep.question import Wanted
from rooflens.sweep.shards import case, loads, pieces, points_of, shards
from rooflens.sweep.sizes import sizes

SMALL = {"models": "llama-3.1-8b", "machines": ["h100-sxm5-80gb"]}


def read(**said: object) -> Axes:
    return grid({**SMALL, **said}, "grid", lambda axis, name: None)


@pytest.mark.parametrize(
    ("text", "values"),
    [("16", [16]), ("1,16", [1, 16]), ("1:512", [2**i for i in range(10)]), ("1:9:4", [1, 5, 9]), ("3:20", [3, 6, 12])],
)
def test_sizes_are_spelled_as_on_the_command_line(text, values):
    assert sizes(text) == values
    assert list(read(batch=text).batch) == values


def test_yaml_and_json_say_the_same(tmp_path: Path):
    text = (
        "models: [llama-3.1-8b]\nmachines: h100-sxm5-80gb, h200-sxm-141gb\ntp: 1:8\nbatch: [1:32, 48]\ncontext: 1:4:1\n"
    )
    (tmp_path / "g.yaml").write_text(text)
    said = {
        "models": ["llama-3.1-8b"], "machines": ["h100-sxm5-80gb", "h200-sxm-141gb"], "tp": "1:8",
        "batch": ["1:32", 48], "context": [1, 2, 3, 4],
    }  # fmt: skip
    (tmp_path / "g.json").write_text(json.dumps(said))
    found = read_grid(tmp_path / "g.yaml")
    assert found == read_grid(tmp_path / "g.json")
    assert found.batch == (1, 2, 4, 8, 16, 32, 48)  # in YAML 1.1, 1:32 would be 92
    assert found.points == 2 * 4 * 7 * 4


def test_numbers_with_colons_are_text_in_our_yaml(tmp_path: Path):
    (tmp_path / "a.yaml").write_text("a: 1:32\nb: 12\nc: 1.5\nd: 1:30.5\ne: -3\n")
    assert plain_yaml(tmp_path / "a.yaml") == {"a": "1:32", "b": 12, "c": 1.5, "d": "1:30.5", "e": -3}


def test_overrides_of_a_machine_keep_their_commas():
    found = read(machines="h100-sxm5-80gb,memory=2.0TB/s,bf16=300TFLOP/s, l40s")
    assert found.names["machines"] == ("h100-sxm5-80gb,memory=2.0TB/s,bf16=300TFLOP/s", "l40s")


def test_every_fault_of_a_file_is_listed_with_its_path_and_what_was_meant(tmp_path: Path):
    path = tmp_path / "g.yaml"
    path.write_text(
        "models: [llama-3.1-8, gemma-2-9b]\nmachines: [h100-sxm5-80g]\nweights: fq8\nbatch: [1, 0, 8:4]\nbatches: 1\n"
        "tp: 1:x\ncontext: 512\noutput: 5\nengine: vlm\nkeep: fit\ncolumns: [tpot_s, fits]\nmemory_fraction: 1.5\n"
        "microbatches: 0\nruntime_bytes: 1 GiBs\nshard_points: 0\n"
    )
    with pytest.raises(BadFile) as caught:
        read_grid(path)
    faults = caught.value.faults
    wanted = [
        "models[0]: unknown model 'llama-3.1-8'; did you mean 'llama-3.1-8b'", "machines[0]: unknown accelerator",
        "weights: unknown", "batch[1]: must be at least 1, not 0", "batch[2]: '8:4': write FIRST:LAST",
        "batches: unknown key 'batches', did you mean 'batch'?", "tp: 'x': expected a whole number",
            "context: a context is one decode step's",
        "engine: unknown engine 'vlm'; did you mean 'vllm'", "keep: 'fit' is not allowed; did you mean 'fits'?",
        "columns: unknown column 'tpot_s', did you mean", "memory_fraction: lies above 0", "microbatches: must be at",
        "runtime_bytes:", "shard_points: from 1 to",
    ]  # fmt: skip
    for said in wanted:
        assert any(fault.startswith(said) for fault in faults), (said, faults)
    assert len(faults) == len(wanted)


@pytest.mark.parametrize("said", [{"models": []}, {"batch": []}, {"columns": []}, {"models": 3}, {"tp": 1 << 20}])
def test_what_is_empty_or_of_another_kind_is_a_fault(said):
    with pytest.raises(BadFile, match=next(iter(said))):
        read(**said)


def test_no_grid_at_all_is_a_fault(tmp_path: Path):
    for text in ("", "[]", "3", "a: b"):
        (tmp_path / "g.yaml").write_text(text)
        with pytest.raises(BadFile):
            read_grid(tmp_path / "g.yaml")


def test_a_grid_beyond_all_measure_is_refused():
    with pytest.raises(BadFile, match="points"):
        read(batch="1:1000000:1", context="1:1000000:1", prompt="1:1000000:1")


def test_loads_that_no_memory_holds_are_refused_before_they_are_made():
    """All loads of a case are priced at once: a million of them, and not 10^6 x 10^6."""
    with pytest.raises(BadFile, match=r"1,000,000,000,000 combinations of prompt, output and context; 1,048,576 are"):
        read(prompt="1:1000000:1", output="1:1000000:1")
    assert read(prompt="1:1048576:1").of_loads == 1 << 20


@given(
    batch=st.integers(1, 40), contexts=st.integers(1, 30), tp=st.integers(1, 4), machines=st.integers(1, 3),
    shard=st.integers(1, 700),
)  # fmt: skip
def test_shards_hold_every_point_once_and_in_order(batch, contexts, tp, machines, shard):
    axes = read(
        machines=[str(i) for i in range(machines)], tp=f"1:{tp}:1", batch=f"1:{batch}:1", context=f"1:{contexts}:1",
        shard_points=shard,
    )  # fmt: skip
    rows = [(p.case, b) for k in range(shards(axes)) for p in pieces(axes, k) for b in range(p.first, p.last)]
    assert rows == [(c, b) for c in range(machines * tp) for b in range(batch)]
    assert sum(points_of(axes, k) for k in range(shards(axes))) == axes.points == machines * tp * batch * contexts
    assert shards(axes) == math.ceil(machines * tp * batch / max(1, shard // contexts))


def test_cases_are_every_combination():
    axes = read(models=["a", "b"], kv=["own", "fp8"], tp=[1, 2], dp=[1, 4])
    found = [case(axes, i) for i in range(axes.cases)]
    assert len({tuple(one.items()) for one in found}) == axes.cases == 16
    first = {"models": "a", "kv": "own", "tp": 1, "dp": 1}
    last = {"models": "b", "kv": "fp8", "tp": 2, "dp": 4}
    assert (found[0], found[-1]) == ({**found[0], **first}, {**found[-1], **last})


def test_loads_are_every_prompt_with_every_output():
    assert [(one.prompt, one.output) for one in loads(read(prompt="1,2", output="3,4"))] == [
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
    ]
    assert [one.context for one in loads(read())] == [None]


def test_columns_are_those_of_the_file_in_our_order():
    assert read(columns="fits, tpot_floor_s").columns == ("tpot_floor_s", "fits")
    assert read().columns == tuple(FIGURES)


def test_a_question_names_columns_that_there_are():
    with pytest.raises(Unknown, match="did you mean 'machine'"):
        Wanted(by=("machin",))
    with pytest.raises(RooflensError, match="Pareto"):
        Wanted(pareto=True, best="latency")
    assert Wanted(tpot_s=0.05, use="high").limits == {"tpot_high_s": 0.05}
