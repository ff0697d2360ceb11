"""The measured rows and what is made of them: columns price as numbers do, nothing that is scored was fitted."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.accuracy import heldout, residuals, rows, silicon, steps
from benchmarks.accuracy.fit_served import differences, held_out
from benchmarks.accuracy.priors import NAMES, PRIORS, constants
from benchmarks.accuracy.table import Table
from rooflens.catalogue import accelerators
from rooflens.catalogue.calibrations import served
from rooflens.errors import RooflensError
from rooflens.prediction.served import Served
from rooflens.records import replace

ROOT = Path(__file__).parents[1]
EVERY = rows.served()
PRICED = rows.priced()
RAW = {
    "id": "a", "backend": "trtllm", "backend_version": "1.0", "model_path": "openai/gpt-oss-120b", "system": "h100_sxm",
    "precision": "fp4", "mode": "agg", "isl": "1024", "osl": "1024", "gemm_quant_mode": "nvfp4",
    "moe_quant_mode": "nvfp4", "batch_size": "8", "tp_size": "16", "pp_size": "1", "attention_dp_size": "1",
    "moe_tp_size": "4", "moe_ep_size": "4", "silicon_ttft_ms": "100.0", "silicon_tpot_ms": "10.0",
}  # fmt: skip


def test_rows_are_in_seconds_on_chips_that_we_know_or_say_why_they_are_left_out():
    known = {chip.id for chip in accelerators()}
    for row in EVERY:
        assert row.left_out or (row.chip in known and row.time_s > 0 and row.batch >= row.dp)
    for row in PRICED:
        assert 1e-5 < row.time_s < (2000 if row.what in ("latency", "ttft", "prefill") else 1)
    assert len(EVERY) == 2610
    assert len(list(rows.read("operators"))) == 4103


def test_what_is_scored_and_not_fitted_says_so():
    unfitted = [row for row in PRICED if not row.fitted]
    assert len(unfitted) == 120  # sixty points, a first token and a token each
    assert all(row.left_out.startswith(rows.UNFITTED) for row in unfitted)


def sampled(step):
    """Some rows of every kind as columns, and constants."""
    chosen = [row for row in PRICED[::step] if row.what in ("tpot", "ttft")]
    return chosen, Table(chosen), held_out()[heldout.ALL]


def test_columns_say_what_the_product_says_one_by_one():
    chosen, table, found = sampled(61)
    c, said = constants(found), table.predicted(found)
    for row, time_s, i in zip(chosen, said, table.index, strict=True):
        estimate, load = Served(c, row.engine), table.deployments[i]
        if row.what == "tpot":
            assert time_s == pytest.approx(float(estimate.tpot_s(load)), rel=1e-9)
        elif load.batch <= row.dp:  # alone: nobody else's prompt is met
            assert time_s == pytest.approx(float(estimate.first_s(load)), rel=1e-9)


def test_a_constant_that_moves_moves_only_what_reads_it_and_all_of_that():
    _, table, found = sampled(499)
    c = constants(found)
    kept = table.sums(c, table.costs(c))
    for name in NAMES:
        moved = constants({**found, name: found[name] * 0.99})
        own = table.costs(moved)
        quick = table.times(moved, own, table.sums(moved, own, kept, name))
        whole = table.times(moved, own, table.sums(moved, own))
        assert all(quick[kind] == pytest.approx(whole[kind], rel=1e-12) for kind in whole), name


def test_every_constant_has_a_prior_and_every_prior_a_constant():
    found = constants({name: value for name, (value, _) in PRIORS.items()})
    assert set(found.engines) == set(served().engines)
    assert found.memory.keys() == served().memory.keys()


def test_no_deployment_is_in_two_folds_and_each_chip_is_left_out_once():
    parts = dict(heldout.parts(PRICED))
    for i in range(heldout.FOLDS):
        out, kept = set(), set()
        for row, heard in zip(PRICED, parts[f"fold {i}"], strict=True):
            (kept if heard else out).add(row.group)
        assert not out & kept
    assert set(parts) == set(held_out())


def test_an_unseen_chips_error_adds_to_that_of_rows_as_variances_do():
    normal = np.quantile(np.random.default_rng(1).normal(0, 0.3, 200_000), np.linspace(0.001, 0.999, 999))
    low, high = residuals.tenths(normal, 0.4)
    assert high == pytest.approx(1.2816 * 0.5, rel=0.02)  # sqrt(0.3^2 + 0.4^2)
    assert low == pytest.approx(-1.2816 * 0.5, rel=0.02)


def test_devices_that_were_counted_once_more_for_each_expert_group_are_read_once():
    row = silicon.point(RAW).row
    assert (row.tp, row.dp, row.ep, row.batch, row.weights, row.time_s) == (4, 1, 4, 8, "mxfp4", 0.01)
    assert row.correction == silicon.CORRECTION
    plain = silicon.point({**RAW, "id": "b_tp4_epnone_1", "tp_size": "4", "moe_tp_size": "2", "moe_ep_size": "2"}).row
    assert (plain.tp, plain.correction) == (4, "")


def test_a_decode_worker_without_its_batch_has_no_price():
    raw = {**RAW, "decode_batch_size": "", "mode": "disagg"}
    assert silicon.point(raw).why_not == "the batch of a decode worker is not said"


def test_a_point_that_was_fitted_is_not_scored_under_its_own_name_nor_under_another():
    times = {"a": "10.0", "b": "10.0", "c": "11.0"}
    own, twin, other = (silicon.point({**RAW, "id": name, "silicon_tpot_ms": ms}) for name, ms in times.items())
    fitted = [own.row, replace(own.row, what="ttft", time_s=0.1)]
    assert silicon.unseen([own, twin, other], fitted) == [other]
    silicon.check([other], fitted)
    for seen in (own, twin):
        with pytest.raises(RooflensError, match="1 points that are scored were fitted"):
            silicon.check([seen], fitted)


def test_a_file_that_is_not_what_the_rows_give_is_said_key_by_key():
    assert not list(differences({"a": 1.0, "b": {"c": 2.0}}, {"a": 1.05, "b": {"c": 2.0}}))
    assert list(differences({"a": 1.0}, {"a": 1.5, "b": 1})) == [
        "a: 1.0 is shipped, 1.5 is found",
        "b: None is shipped, 1 is found",
    ]


def test_the_small_models_whose_eager_prefill_the_host_binds_are_named():
    by = steps.profiled()
    every = list(steps.pick(steps.steps(), "prefill", "cudnn"))
    bound = {(one.model, one.dtype, one.tokens) for one in every if steps.host_bound(one, by)}
    assert ("llama-3.2-1b", "fp8", 512.0) in bound
    assert all(tokens < 8192 for *_, tokens in bound)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("scipy") is None, reason="fitting needs scipy: the bench extra")
def test_the_shipped_constants_are_what_the_rows_give():
    told = subprocess.run(
        [sys.executable, "-m", "benchmarks.accuracy.fit_served", "--check", "all"],
        cwd=ROOT, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert told.returncode == 0, told.stdout + told.stderr
