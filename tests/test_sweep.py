"""Sweeps: points with the digits of predict, every one accounted for, the same bytes however they are made."""

from __future__ import annotations

import json
import pickle
import random
import shlex
import sys
from functools import cache
from pathlib import Path

import pytest

from rooflens import api, artefacts
from rooflens.api import sweeping
from rooflens.api.serving import predict
from rooflens.cli import _run
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.folder import begun
from rooflens.fleet.sweeping.run import identity_of
from rooflens.fleet.sweeping.shard import Work, shard
from rooflens.records import encode
from rooflens.sweep.columns import FIGURES
from rooflens.sweep.question import Wanted
from tests.sweep_grids import SMALL, digest, swept, table, written

pa = pytest.importorskip("pyarrow", reason="pip install 'rooflens[fleet]'")
pq = pytest.importorskip("pyarrow.parquet")
np = pytest.importorskip("numpy")

PREDICTED = 24  # random points that are predicted one by one
GRIDS = {
    "contexts": {
        "models": ["llama-3.1-8b", "mixtral-8x7b"], "machines": ["h100-sxm5-80gb", "l40s", "mi300x"],
        "engine": ["own", "vllm"], "weights": ["own", "int4"], "kv": ["own", "fp8"], "tp": "1:3:1", "pp": [1, 2],
        "batch": "1:64", "context": [1, 512, 4096, 20000],
    },
    "prompts": {
        "models": ["deepseek-v3", "llama-3.1-8b"], "machines": ["h200-sxm-141gb", "measured:h200-sxm-141gb"],
        "engine": ["sglang", "own"], "tp": 8, "ep": [1, 8], "dp": [1, 2], "batch": [1, 7, 300], "prompt": "128:4096",
        "output": [1, 100, 3000], "memory_fraction": 0.9, "runtime_bytes": "1GiB",
    },
    "both": {
        "models": "llama-3.1-8b", "machines": "a100-sxm4-80gb,memory=2.0TB/s", "batch": "1:64:9", "prompt": [512, 2048],
        "context": [1024, 4096], "gpus_per_node": 4, "tp": [2, 8], "attention": "unfused",
    },
}  # fmt: skip


def at(said: object, path: str) -> object:
    for key in path.split("."):
        said = said.get(key) if isinstance(said, dict) else None
    return said


def asked(row: dict[str, object], said: dict[str, object]) -> dict[str, object]:
    """A row of a sweep as keywords of predict."""
    own = {name: row[name] for name in ("weights", "kv") if said.get(name, "own") != "own" and row[name] in said[name]}
    how = {name: row[name] for name in ("tp", "pp", "ep", "dp", "batch")}
    engine = {} if row["engine"] == "own" else {"engine": row["engine"]}
    load = {name: row[name] for name in ("prompt", "output", "context") if name in said}
    fixed = {name: said[name] for name in ("gpus_per_node", "attention", "memory_fraction") if name in said}
    aside = {"runtime_bytes": float(1 << 30)} if "runtime_bytes" in said else {}
    return {**own, **how, **engine, **load, **fixed, **aside}


@pytest.mark.slow
@pytest.mark.parametrize("name", GRIDS)
def test_points_have_the_figures_of_predict_to_the_last_digit(tmp_path: Path, name: str):
    said, found = GRIDS[name], table(swept(tmp_path, GRIDS[name]))
    assert found.num_rows > PREDICTED
    for i in random.Random(name).sample(range(found.num_rows), PREDICTED):
        row = found.slice(i, 1).to_pylist()[0]
        alone = encode(predict(row["model"], row["machine"], **asked(row, said)))
        for column, of in FIGURES.items():
            wanted = at(alone, of.of)
            wanted = wanted if of.kind != "rounded" or wanted is None else float(np.float32(wanted))
            assert row[column] == wanted, (column, row)
        assert row["context"] == alone["step"]["context"]


def test_every_point_is_a_row_or_is_counted_with_its_reason(tmp_path: Path):
    said = {
        **SMALL, "weights": ["own", "fp8"], "machines": ["h100-sxm5-80gb", "a100-sxm4-80gb"], "math": ["own", "fp8"],
        "ep": [1, 2], "context": "4096:65536",
    }  # fmt: skip
    folder = swept(tmp_path, said)
    manifest = json.loads((folder / "manifest.json").read_text())
    account, rows = manifest["account"], table(folder).num_rows
    assert manifest["points"] == account["points"] == 2 * 2 * 2 * 2 * 2 * 2 * 40 * 5
    assert account["priced"] == rows
    assert rows + sum(one["points"] for one in account["refused"]) == account["points"]
    reasons = " | ".join(one["reason"] for one in account["refused"])
    for part in ("tp 3 does not share out", "has no experts", "has no fp8", "8192 positions"):
        assert part in reasons
    assert all(one["points"] > 0 for one in account["refused"])
    assert len({one["reason"] for one in account["refused"]}) == len(account["refused"])


def test_what_does_not_fit_is_a_row_or_is_counted(tmp_path: Path):
    said = {**SMALL, "models": "llama-3.1-70b", "weights": ["own", "int4"], "tp": [1, 2], "context": 8192}
    whole = table(swept(tmp_path, said))
    kept = swept(tmp_path, {**said, "keep": "fits"}, "kept")
    fitting = whole.filter(whole["fits"])
    assert 0 < fitting.num_rows < whole.num_rows
    assert table(kept).to_pylist() == fitting.to_pylist()
    account = json.loads((kept / "manifest.json").read_text())["account"]
    assert account["refused"] == [{"reason": "does not fit", "points": whole.num_rows - fitting.num_rows}]


def test_columns_can_be_chosen(tmp_path: Path):
    few = table(swept(tmp_path, {**SMALL, "columns": ["tpot_floor_s", "bound"]}, "few"))
    all_of = table(swept(tmp_path, SMALL))
    assert few.column_names[-2:] == ["tpot_floor_s", "bound"]
    assert few.to_pylist() == all_of.select(few.column_names).to_pylist()


def test_without_a_price_an_estimate_or_a_memory_a_column_is_null_and_never_zero(tmp_path: Path):
    found = table(swept(tmp_path, {**SMALL, "machines": "epyc-9654", "engine": "own", "tp": 1}))
    row = found.slice(0, 1).to_pylist()[0]
    assert row["tokens_per_s"] == 1 / row["tpot_floor_s"] > 0
    absent = ("tpot_estimate_s", "ttft_high_s", "usd_per_million_tokens", "needed_bytes", "fits", "batch_memory_allows")
    assert [row[name] for name in absent] == [None] * len(absent)


def test_a_worker_needs_no_file_of_the_driver(tmp_path: Path):
    """What travels holds models, machines and measured profiles: nodes of a cluster have none of these files."""
    config, machine, profile = (tmp_path / name for name in ("config.json", "own.toml", "profile.json"))
    config.write_text(json.dumps(dict(api.model("llama-3.1-8b").config)))
    machine.write_text(
        '[accelerator]\nid = "own"\nunit_count = 10\nmatrix = { bf16 = "400 TFLOP/s" }\n'
        'memory = { capacity_bytes = "64 GB", bandwidth_bytes_per_s = "2.0 TB/s" }\n'
    )
    profile.write_bytes((artefacts.PROFILES / "h200-sxm-141gb.json").read_bytes())
    said = {"models": str(config), "machines": [str(machine), str(profile)], "batch": "1:8", "context": 2048}
    axes = sweeping.read_grid(written(tmp_path, said))
    work = Work(axes, sweeping.ingredients(axes))
    before, sent = shard(work, 0), pickle.dumps(work)
    for file in (config, machine, profile):
        file.unlink()
    assert shard(pickle.loads(sent), 0) == before
    rows = pa.parquet.read_table(pa.BufferReader(before)).to_pylist()
    assert [row["tpot_estimate_s"] is None for row in rows] == [True] * 4 + [False] * 4  # own.toml: floors only


def test_a_sweep_goes_on_where_it_was_left_with_the_same_bytes(tmp_path: Path):
    whole, left = swept(tmp_path, SMALL), swept(tmp_path, SMALL, "left")
    before = digest(whole)
    parts = sorted((left / "points").iterdir())
    for part in random.Random(1).sample(parts, 5):
        part.unlink()
    (left / "manifest.json").unlink()
    (left / "points" / ".000001.parquet.abc").write_bytes(b"cut off")
    told: list[tuple[int, int, float]] = []
    swept(tmp_path, SMALL, "left", told=lambda *said: told.append(said))
    assert digest(left) == before
    assert len(told) == 1 + 5
    assert told[0][0] > 0
    assert told[-1][:2] == (2 * 2 * 2 * 40 * 6,) * 2
    assert swept(tmp_path, SMALL, "left") == left  # nothing is missing: nothing is done
    assert digest(left) == before


@pytest.mark.parametrize("name", ["\udcff", "é", "s3:", "file:x", "a b"])
def test_a_folder_may_be_called_what_arrow_cannot_spell_or_takes_for_an_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
):
    monkeypatch.chdir(tmp_path)
    folder = swept(Path(), SMALL, name)
    assert sweeping.query(folder, Wanted(top=1)).points[0]["batch"] >= 1
    (folder / "points" / "000000.parquet").write_bytes(b"")
    with pytest.raises(RooflensError, match="is no shard of a sweep, or is damaged; delete it and resume"):
        sweeping.query(folder, Wanted())


def test_what_a_worker_was_writing_when_it_was_killed_is_taken_away(tmp_path: Path):
    axes = sweeping.read_grid(written(tmp_path, SMALL))
    with begun(tmp_path / "points", identity_of(Work(axes, sweeping.ingredients(axes)), {})) as folder:
        folder.land(0, b"whole")
        (folder.path / "points" / ".000001.parquet.abc").write_bytes(b"cut off")
    assert [part.name for part in (tmp_path / "points" / "points").iterdir()] == ["000000.parquet"]


def test_a_folder_whose_grid_lost_what_is_fixed_is_of_another_one(tmp_path: Path):
    file = swept(tmp_path, SMALL) / "sweep.json"
    said = json.loads(file.read_text())
    file.write_text(json.dumps({**said, "axes": {**said["axes"], "fixed": None}}))
    with pytest.raises(RooflensError, match="made from another grid"):
        swept(tmp_path, SMALL)


def test_a_folder_of_another_grid_version_or_machine_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = swept(tmp_path, SMALL)
    with pytest.raises(RooflensError, match=r"made from another grid \(batch differs\); name a new folder"):
        swept(tmp_path, {**SMALL, "batch": 1})
    with pytest.raises(RooflensError, match="another grid"):
        swept(tmp_path, {**SMALL, "columns": "fits"})
    with monkeypatch.context() as patch:
        patch.setattr("rooflens.fleet.sweeping.run.__version__", "9.9")
        with pytest.raises(RooflensError, match=r"was begun by rooflens 0.*, and 9\.9 may"):
            swept(tmp_path, SMALL)
    begun = json.loads((folder / "sweep.json").read_text())
    begun["digests"]["machine a100-sxm4-80gb"] = "another"
    (folder / "sweep.json").write_text(json.dumps(begun))
    with pytest.raises(RooflensError, match="begun before machine a100-sxm4-80gb changed"):
        swept(tmp_path, SMALL)


def test_a_folder_that_holds_something_else_is_left_alone(tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").write_text("x")
    with pytest.raises(RooflensError, match=r"holds thesis\.tex, which is no sweep's; name a new folder"):
        swept(tmp_path, SMALL, "mine")
    with pytest.raises(RooflensError, match="it is a file; a sweep is a folder"):
        swept(tmp_path, SMALL, "mine/thesis.tex")
    with pytest.raises(RooflensError, match="cannot write"):
        sweeping.sweep(written(tmp_path, SMALL), Path("/proc/nowhere/points"), workers=1)
    assert [one.name for one in (tmp_path / "mine").iterdir()] == ["thesis.tex"]


def test_two_sweeps_do_not_meet_in_a_folder(tmp_path: Path):
    fcntl = pytest.importorskip("fcntl")
    folder = swept(tmp_path, SMALL)
    with (folder / ".lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        with pytest.raises(RooflensError, match="another process is sweeping into"):
            swept(tmp_path, SMALL)


def test_a_damaged_shard_is_named(tmp_path: Path):
    folder = swept(tmp_path, SMALL)
    (folder / "points" / "000001.parquet").write_bytes(b"nothing")
    for call in (lambda: swept(tmp_path, SMALL), lambda: sweeping.query(folder, Wanted())):
        with pytest.raises(RooflensError, match=r"000001\.parquet: is no shard of a sweep, or is damaged; delete it"):
            call()


@pytest.mark.parametrize("how", ["null", "another name"])
def test_a_shard_without_what_every_point_has_is_damaged(tmp_path: Path, how: str):
    folder = swept(tmp_path, SMALL)
    for part in (folder / "points").iterdir():
        there = pq.read_table(part)
        at = there.column_names.index("dp")
        name, column = ("dp", pa.nulls(len(there), pa.int32())) if how == "null" else ("dq", there.column(at))
        pq.write_table(there.set_column(at, name, column), part)
    with pytest.raises(RooflensError, match=r"\d{6}\.parquet: is no shard of a sweep, or is damaged; delete it"):
        sweeping.query(folder, Wanted())


def test_a_forecast_counts_without_keeping(tmp_path: Path):
    found = sweeping.forecast(written(tmp_path, SMALL), workers=4)
    whole = swept(tmp_path, SMALL)
    manifest = json.loads((whole / "manifest.json").read_text())
    assert (found.points, found.shards) == (manifest["points"], manifest["shards"])
    assert 0.5 < found.parquet_bytes / manifest["parquet_bytes"] < 2
    assert found.wall_s == found.processor_s / 4 > 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["grid.json", "points"]


# --- questions --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def points(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return swept(tmp_path_factory.mktemp("asked"), {**SMALL, "tp": [1, 2], "kv": ["own", "fp8"]})


@cache
def every(points: Path) -> list[dict[str, object]]:
    return [row for row in table(points).to_pylist() if row["fits"]]


def rows(points: Path, **more: object) -> list[dict[str, object]]:
    return [row for row in every(points) if all(row[name] == value for name, value in more.items())]


def cost(row: dict[str, object]) -> object:
    return row["usd_per_million_tokens"]


def test_the_cheapest_within_times_is_the_cheapest_of_all_rows_within(points: Path):
    within = [row for row in rows(points) if row["tpot_estimate_s"] <= 0.02 and row["ttft_estimate_s"] <= 0.2]
    found = sweeping.query(points, Wanted(tpot_s=0.02, ttft_s=0.2, top=7))
    assert found.matching == len(within)
    assert [cost(row) for row in found.points] == sorted(cost(row) for row in within)[:7]
    assert all(dict(row) in within for row in found.points)


@pytest.mark.parametrize(
    ("best", "column", "sign"),
    [("latency", "tpot_estimate_s", 1), ("throughput", "tokens_per_s", -1), ("cost", "usd_per_million_tokens", 1)],
)
def test_the_best_of_each_group_is_the_best_of_its_rows(points: Path, best, column, sign):
    found = sweeping.query(points, Wanted(best=best, by=("model", "machine", "kv"), top=100))
    assert len(found.points) == 8
    for row in found.points:
        group = rows(points, model=row["model"], machine=row["machine"], kv=row["kv"])
        assert sign * row[column] == min(sign * one[column] for one in group)
    values = [sign * row[column] for row in found.points]
    assert values == sorted(values)


@pytest.mark.parametrize("by", [(), ("model",)])
def test_nothing_beats_a_point_of_the_front_in_both_and_something_every_other(points: Path, by):
    found = sweeping.query(points, Wanted(pareto=True, by=by, top=10_000))
    front = [(row["model"] if by else "", row["tpot_estimate_s"], cost(row)) for row in found.points]
    others = [(row["model"] if by else "", row["tpot_estimate_s"], cost(row)) for row in rows(points)]

    def beaten(one, by_these):
        return any(m == one[0] and t <= one[1] and c <= one[2] and (t, c) != one[1:] for m, t, c in by_these)

    assert found.on_front == len(front)
    few = sweeping.query(points, Wanted(pareto=True, by=by, top=3))
    assert few.points[0] == found.points[0]
    assert few.points[-1] == found.points[-1]
    assert (len(few.points), few.on_front) == (3, len(front))
    assert not any(beaten(one, others) for one in front)
    assert all(beaten(one, front) or one in front for one in others)


def test_memory_says_the_batch_of_every_case_and_context(points: Path):
    found = sweeping.query(points, Wanted(best="memory", where={"context": (2048.0,)}, top=100))
    assert len(found.points) == 2 * 2 * 2 * 2
    for row in found.points:
        alone = predict(row["model"], row["machine"], **asked(row, {"kv": ["fp8"], "context": 0}))
        assert row["batch_memory_allows"] == alone.batch_memory_allows


def test_conditions_choose_rows_by_any_column(points: Path):
    where = {
        "model": ("gemma-2-9b",),
        "batch": (1.0, 3.0),
        "bound": ("memory", "none"),
        "machine": ("a100-sxm4-80gb", "x"),
    }
    found = sweeping.query(points, Wanted(where=where, top=1000))
    wanted = [row for row in rows(points, model="gemma-2-9b", machine="a100-sxm4-80gb") if row["batch"] in (1, 3)]
    assert found.matching == len(found.points) == len(wanted) == 2 * 2 * 2 * 5  # all memory-bound at so few
    assert {(row["model"], row["machine"]) for row in found.points} == {("gemma-2-9b", "a100-sxm4-80gb")}


def test_a_column_that_was_not_kept_is_named(tmp_path: Path):
    folder = swept(tmp_path, {**SMALL, "columns": "tpot_floor_s"})
    with pytest.raises(RooflensError, match="keeps no column usd_per_million_tokens; sweep into a new folder"):
        sweeping.query(folder, Wanted(fits=False))
    assert len(sweeping.query(folder, Wanted(best="latency", use="floor", fits=False)).points) == 10


def test_a_folder_without_a_sweep_is_said(tmp_path: Path):
    with pytest.raises(RooflensError, match="holds no sweep; make one with rooflens sweep"):
        sweeping.query(tmp_path, Wanted())


# --- the verb ---------------------------------------------------------------------------------------------------------


def told(capsys: pytest.CaptureFixture[str], line: str) -> tuple[int, str, str]:
    capsys.readouterr()
    code = _run(shlex.split(line))
    caught = capsys.readouterr()
    return code, caught.out, caught.err


def test_the_verb_sweeps_tells_and_answers(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    grid, out = written(tmp_path, SMALL), tmp_path / "points"
    code, text, progress = told(capsys, f"sweep {grid} -o {out} --workers 1")
    assert code == 0
    assert "1,920 points: 880 priced, 1,040 refused" in text
    assert "tp 3 does not share out" in text
    assert "100 %  1,920 of 1,920 points" in progress
    for lang in ("es", "vi"):  # its reasons too, to the last word
        _, text, _ = told(capsys, f"sweep {grid} -o {out} --workers 1 --lang {lang}")
        assert "tp 3 " in text
        assert " the " not in text
    code, text, _ = told(capsys, f"sweep {grid} -o {out} --workers 1 --json")
    assert (code, json.loads(text)["account"]["priced"]) == (0, 880)
    code, text, _ = told(capsys, f"sweep query {out} --tpot 50ms --by machine --json")
    found = json.loads(text)
    assert (code, found["schema"], len(found["points"])) == (0, "rooflens/sweep-query/1", 2)
    for lang, word in (("en", "points meet this"), ("es", "puntos lo cumplen"), ("vi", "điểm đạt yêu cầu")):
        code, text, _ = told(capsys, f"sweep query {out} --where batch=8 --lang {lang}")
        assert code == 0
        assert word in text
    code, text, error = told(capsys, f"sweep query {out} --tpot 1us")
    more = "--best throughput (without a price), --use floor (without an estimate), "
    more += "--any-memory (what does not fit, or may not)"
    assert (code, error.strip()) == (1, f"rooflens: no point in {out} meets this; more come with {more}")
    code, text, error = told(capsys, f"sweep query {out} --best memory --where batch=99999")
    assert (code, error.strip()) == (1, f"rooflens: no point in {out} meets this")


def test_a_dry_run_says_what_it_would_be(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, text, _ = told(capsys, f"sweep {written(tmp_path, SMALL)} --dry-run --workers 2")
    assert code == 0
    assert "1,920 points, shards: 7" in text
    assert "on 2 processors" in text
    assert "are refused" in text


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("sweep {grid}", "say where the points go: -o DIR"),
        ("sweep {grid} -o {out} --ray-env {grid}", "--ray-env is of a Ray cluster"),
        ("sweep {grid} -o {out} --shard-limit-s 9", "--shard-limit-s is of a Ray cluster"),
        ("sweep nowhere.yaml -o {out}", "cannot read nowhere.yaml"),
        ("sweep query {out} --where model", "write COLUMN=VALUE"),
        ("sweep query {out} --where tp=two", "tp is a number"),
        ("sweep query {out} --where batch=nan", "batch is a number"),
        ("sweep query {out} --where batch=1,inf", "batch is a number"),
        ("sweep query {out} --where tp=1 --where tp=2", "tp is there twice; write its values with commas"),
        ("sweep query {out} --tpot 50", "write the unit too"),
        ("sweep query {out} --by modell", "did you mean 'model'"),
    ],
)
def test_wrong_use_is_a_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], line: str, said: str):
    code, _, error = told(capsys, line.format(grid=written(tmp_path, SMALL), out=tmp_path / "out"))
    assert code == 2
    assert said in error


def test_without_ray_the_other_way_is_named(tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    code, _, error = told(capsys, f"sweep {written(tmp_path, SMALL)} -o {tmp_path}/out --ray auto")
    assert code == 2
    assert "rooflens: Ray is not installed; pip install 'rooflens[fleet]', or leave --ray out" in error


def test_a_grid_of_which_nothing_is_possible_says_no(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    code, _, error = told(capsys, f"sweep {written(tmp_path, {**SMALL, 'tp': 3})} -o {tmp_path}/out --workers 1")
    assert (code, "no point of this grid is possible" in error) == (1, True)
