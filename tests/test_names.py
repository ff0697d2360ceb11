"""One number has one name in JSON, in a sweep's columns and in Prometheus."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import rooflens
from rooflens.live.families import FAMILIES
from rooflens.records import encode, fields
from rooflens.sweep.columns import FIGURES
from rooflens.sweep.grid import NAMED
from rooflens.telemetry.record import Rates, Roof, Spread

PAGE = Path(__file__).resolve().parents[1] / "docs" / "glossary.md"
BY_LABEL = {  # several numbers of JSON are one metric, told apart by its labels
    "rooflens_mbu_ratio": ("mbu", "mbu_busy", "mbu_decoding", "mbu_of_datasheet", "mbu_of_measured"),
    "rooflens_mfu_ratio": ("mfu", "mfu_busy", "mfu_of_datasheet", "mfu_of_measured"),
    "rooflens_model_bytes_per_second": ("weight_bytes_per_s", "kv_bytes_per_s"),
    "rooflens_model_flops_per_second": ("flops_per_s",),
    "rooflens_tpot_estimate_seconds": ("tpot_estimate_s", "tpot_low_s", "tpot_high_s"),
    "rooflens_roofs_info": ("machine", "model"),
}
EVERY = {**NAMED, **FIGURES}
UNITS = ("", "_ratio", "_seconds", "_requests", "_sequences")


def spoken(name):
    """A name of JSON as Prometheus has it: base units in full, ratios called so."""
    name = re.sub(r"_per_s$", "_per_second", name)
    name = re.sub(r"_s$", "_seconds", name)
    return "rooflens_" + re.sub(r"_share$", "_ratio", name)


NAMES = {one.name for kind in (Rates, Roof) for one in fields(kind)}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.name)
def test_a_metric_is_named_as_its_number_is_in_json(family):
    if family.name in BY_LABEL:
        assert set(BY_LABEL[family.name]) <= NAMES
    else:
        assert family.name in {spoken(name) + unit for name in NAMES for unit in UNITS}


def table():
    """The rows of the glossary's table of names, each cell as the names in it."""
    part = PAGE.read_text(encoding="utf-8").partition("## One number, one name")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in part.splitlines() if line.startswith("|")][2:]
    return [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows]


def reached(found, path):
    for key in path.split("."):
        found = found[key]
    return found


def test_every_name_of_the_glossarys_table_is_one():
    answer = encode(rooflens.predict("llama-3.1-8b", on="h200-sxm-141gb", engine="vllm"))
    metrics = {family.name for family in FAMILIES}
    spreads = {f"{one.name}.mean_s" for one in fields(Rates) if one.name in ("tpot", "ttft")}
    assert "mean_s" in {one.name for one in fields(Spread)}
    rows = table()
    assert len(rows) > 10
    for _, predicted, swept, watched, scraped in rows:
        assert all(reached(answer, name) for name in predicted)
        assert set(swept) <= set(EVERY)
        assert set(watched) <= NAMES | spreads
        assert {re.sub(r"\{.*", "", name) for name in scraped} - {""} <= metrics


def test_a_column_of_a_sweep_has_the_words_of_its_number_in_json():
    for name, column in FIGURES.items():
        if column.kind in ("figure", "rounded") and "." in column.of:
            of, part = column.of.split(".")
            assert name in (part, f"{of.removesuffix('_s')}_{part}_s")
