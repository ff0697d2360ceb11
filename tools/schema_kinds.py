"""Every schema that rooflens writes or reads: which record holds it, what writes it, and a command that prints one.

A list and nothing else: as long as there are schemas.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Kind(NamedTuple):
    """One schema. record: module:Class of the whole; keys: those that no record holds, each with type and meaning.

    also: keys inside of one of these; instead: other records that the whole may be. example: a command or a file.
    """

    what: str
    record: str = ""
    keys: Mapping[str, tuple[str, str]] | None = None
    also: Mapping[str, Mapping[str, tuple[str, str]]] | None = None
    instead: Mapping[str, str] | None = None
    example: str = ""


ON = "--on h100-sxm5-80gb"
TRACES = "experiments/h200_trace"
PROFILE, CEILING = "rooflens.roofline.profile:Profile", "rooflens.roofline.ceilings:Ceiling"
PLACEMENT, PREDICTION = "rooflens.roofline.placement:Placement", "rooflens.prediction.record:Prediction"
KINDS: dict[str, Kind] = {
    "profile": Kind("What was measured on one machine. Written by `rooflens measure` and `rooflens lab`.", PROFILE),
    "absent": Kind(
        "A node that was asked to measure itself and gave no profile. Written by `rooflens fleet measure`.",
        "rooflens.roofline.absent:Absent",
    ),
    "device": Kind(
        "`device_query.json` of a lab: what the machine is, and what limits trust in it.",
        keys={
            "title": ("text", ""),
            "device": ("rooflens.roofline.profile:Device", "the device as the system shows it"),
            "versions": ("object of text", ""),
            "all_devices": ("list of rooflens.roofline.across:Across", "all devices of the machine at the same time"),
        },
        example="experiments/cpu-example/device_query.json",
    ),
    "peak_flops": Kind(
        "`peak_flops.json` of a lab: the roof of products in every format.",
        keys={
            "title": ("text", ""),
            "conventions": ("object of text", ""),
            "roofs": ("list of objects", "each format on each path: keys below"),
            "products": ("list of rooflens.roofline.profile:GemmPoint", "the products that were timed"),
            "skipped": ("list of text", ""),
        },
        also={
            "roofs": {
                "dtype": ("text", ""),
                "path": ("text", "matrix or vector units"),
                "burst": (CEILING, "before a power limit acts"),
                "sustained": (CEILING, "after rate and clock have settled"),
                "datasheet": (CEILING, "what clock and instruction set, or a datasheet, give"),
                "share_of_datasheet": ("number", "burst over that"),
                "suspects": ("list of text", "what may be wrong where the share is under a half"),
            }
        },
        example="experiments/cpu-example/peak_flops.json",
    ),
    "bandwidth": Kind(
        "`bandwidth.json` of a lab: every memory ceiling with its working set, and fixed costs.",
        keys={
            "title": ("text", ""),
            "conventions": ("object of text", ""),
            "ceilings": (f"list of {CEILING}", "memories, trusted or not"),
            "launch": (f"list of {CEILING}", "what starting a kernel costs"),
        },
        example="experiments/cpu-example/bandwidth.json",
    ),
    "decode_attention": Kind(
        "`decode_attention.json` of a lab: one token's attention against a filled cache, cell by cell.",
        keys={
            "title": ("text", ""),
            "model": ("object", "layers, width and heads of the MiniGPT, and where its weights are from"),
            "conventions": ("object of text", ""),
            "cells": ("list of rooflens.roofline.profile:AttentionPoint", "with the keys below beside its own"),
            "skipped": ("list of text", ""),
        },
        also={
            "cells": {
                "flops": ("number", "tensor contractions: 4 S D a layer"),
                "vector_flops": ("number", "the softmax"),
                "kv_bytes": ("number", "keys and values, read once"),
                "bytes": ("number", "those and the activations"),
                "intensity_flops_per_byte": ("number", "over all bytes"),
                "kv_intensity_flops_per_byte": ("number", "over those of the cache"),
                "achieved_flops_per_s": ("number", "by the clock"),
                "achieved_bytes_per_s": ("number", "by the clock"),
                "attainable_flops_per_s": ("number", "under the measured roofs; absent without a trusted one"),
                "share_of_attainable": ("number", "achieved over attainable"),
                "share_of_peak": ("number", "achieved over the compute roof"),
                "bound": ("text", ""),
                "regime": ("text", ""),
            }
        },
        example="experiments/cpu-example/decode_attention.json",
    ),
    "roofline": Kind(
        "`roofline.json` of a lab: all that the picture is drawn from; `rooflens plot` draws it again.",
        "rooflens.lab.run:Roofline",
        example="experiments/cpu-example/roofline.json",
    ),
    "manifest": Kind(
        "`manifest.json` of a lab: how the run can be repeated and checked.",
        keys={
            "command": ("text", ""),
            "seed": ("whole number", ""),
            "started": ("text", ""),
            "duration_s": ("number", "of measuring"),
            "durations_s": ("object of numbers", "by stage"),
            "complete": ("true or false", ""),
            "usable": ("true or false", ""),
            "versions": ("object of text", ""),
            "machine": ("text", ""),
            "contention": ("text", "what others disturbed, or `none noticed`"),
            "throttle": ("text", "what held the clock back, or `none noticed`"),
            "files": ("object of text", "every artefact with its SHA-256"),
            "checks": ("list of rooflens.lab.checks:Check", ""),
            "price_usd_per_hour": ("number", "as given"),
            "cost_usd": ("number", "price x duration / 3600"),
        },
        example="experiments/cpu-example/manifest.json",
    ),
    "lab": Kind(
        "The answer of `rooflens lab --json`: statements with their evidence, what may be claimed and what not.",
        keys={
            "kind": ("text", "`lab`"),
            "lang": ("text", ""),
            "seed": ("whole number", ""),
            "machine": ("text", ""),
            "folder": ("text", "where the artefacts are"),
            "complete": ("true or false", ""),
            "usable": ("true or false", ""),
            "set_aside": ("text", "why the run is not where it was asked to be"),
            "conventions": ("object of text", ""),
            "evidence": ("list of rooflens.lab.evidence:Evidence", "every number the interpretation stands on"),
            "assumptions": ("list of text", "what was taken for granted"),
            "limitations": ("list of text", "what it does not show"),
            "risks": ("list of text", "what may mislead"),
            "claims": ("object", "`allowed`: what may be said of this run; `overstated`: what may not"),
            "gains": ("list of objects", "on a GPU: speed-ups, predicted beside measured"),
            "negative_test": ("object", "a statement that must be false, and what the run says of it"),
            "checks": ("list of rooflens.lab.checks:Check", ""),
            "student_extension": ("rooflens.lab.extension:Extension", "as given with --extension"),
        },
        example="rooflens lab --profile profile.json -o my-lab --json",
    ),
    "extension": Kind(
        "Your own addition to a lab (`--extension FILE`), kept apart from what was measured.",
        "rooflens.lab.extension:Extension",
    ),
    "plot": Kind(
        "The answer of `rooflens plot --json`.",
        keys={"conventions": ("object of text", ""), "written": ("text", "the picture")},
        example="rooflens plot profile.json -o r.svg --json",
    ),
    "machines": Kind(
        "The answer of `rooflens machines --json`: the catalogue in brief.",
        keys={"conventions": ("object of text", ""), "machines": ("list of objects", "keys below")},
        also={
            "machines": {
                "id": ("text", "its name in `--on`"),
                "name": ("text", ""),
                "vendor": ("text", "the maker"),
                "year": ("whole number", "of its introduction"),
                "confidence": ("A, B or C", "how well its figures are founded"),
                "memory_bytes": ("number", "capacity"),
                "bandwidth_bytes_per_s": ("number", "of main memory"),
                "peaks_flops_per_s": ("object", "by path and format; 0: no such path"),
                "peaks": ("text", "`dense`"),
            }
        },
        example="rooflens machines --json",
    ),
    "machine": Kind(
        "One accelerator whole: `rooflens machines ID --json`. A table of accelerators/*.toml has its keys.",
        "rooflens.catalogue.record:Accelerator",
        keys={
            "conventions": ("object of text", ""),
            "peaks": ("text", "`dense`"),
            "ridge_flops_per_byte": ("object of numbers", "by path and format"),
            "ladder": ("list of rooflens.catalogue:Rung", "memories and links from registers outwards"),
            "source_texts": ("object of text", "what each source key stands for"),
        },
        example="rooflens machines h100-sxm5-80gb --json",
    ),
    "models": Kind(
        "The answer of `rooflens models --json`.",
        keys={
            "conventions": ("object of text", ""),
            "models": ("list of rooflens.models.facts:ModelFacts", "every model of the catalogue"),
        },
        example="rooflens models --json",
    ),
    "model": Kind(
        "The answer of `rooflens models X --json`.",
        "rooflens.models.facts:ModelFacts",
        keys={"conventions": ("object of text", "")},
        example="rooflens models llama-3.1-8b --json",
    ),
    "place": Kind(
        "The answer of `rooflens place --json`: where each operator of a step lands. Of several steps it is a list.",
        PLACEMENT,
        keys={"steps": ("list of objects as above", "where several were asked for, in their place")},
        example=f"rooflens place llama-3.1-8b {ON} --measured-s 8ms --json",
    ),
    "prediction": Kind(
        "The answer of `rooflens predict --json`; of `params=...` and of one operator with the keys further below.",
        PREDICTION,
        keys={"loads": ("list of objects as above", "where several were asked for, in their place")},
        instead={
            "Of params=...,weight_bytes=...": "rooflens.prediction.arithmetic:Arithmetic",
            "Of one operator": "rooflens.prediction.operator:OperatorPrediction",
        },
        example=f"rooflens predict llama-3.1-8b {ON} --engine vllm --measured-tokens-per-s 90 --json",
    ),
    "ceilings": Kind(
        "The answer of `rooflens ceilings --json`: what nobody beats at batch 1.",
        "rooflens.batch_one:Ceilings",
        keys={"conventions": ("object of text", "")},
        example=f"rooflens ceilings llama-3.1-8b {ON} --json",
    ),
    "claim": Kind(
        "The answer of `rooflens claim --json`.",
        "rooflens.claims.record:Claim",
        keys={"conventions": ("object of text", "")},
        example="rooflens claim h100-sxm5-80gb a100-sxm4-80gb --times 6 --json",
    ),
    "advise": Kind(
        "The answer of `rooflens advise --json`: every lever, tried alone.",
        "rooflens.levers.advice:Advice",
        example=f"rooflens advise llama-3.1-8b {ON} --json",
    ),
    "plan": Kind(
        "The answer of `rooflens plan --json`.",
        "rooflens.prediction.planning:Plan",
        example=f"rooflens plan llama-3.1-8b --ttft 1s --tpot 50ms --users 8 {ON} --json",
    ),
    "calibrated": Kind(
        "The file of `rooflens fit -o own.json`, read by `rooflens predict --calibration`.",
        "rooflens.prediction.fitting:Calibrated",
    ),
    "calibration": Kind(
        "Dated constants that ship with rooflens, of engines and of plain stacks: `catalogue/data/calibrations/`.",
        "rooflens.catalogue.calibrations:ServedConstants",
        instead={"Of a plain stack": "rooflens.catalogue.calibrations:StackConstants"},
    ),
    "kernel-calibration": Kind(
        "Dated constants of single kernels: products, attention, collectives.",
        "rooflens.catalogue.kernels:KernelConstants",
    ),
    "kernels": Kind(
        "The answer of `rooflens kernels --json`: every kernel under its roof, and where the time went.",
        "rooflens.accounting.record:Account",
        example=f"rooflens kernels {TRACES}/graph.json.gz --json",
    ),
    "kernels-compare": Kind(
        "The answer of `rooflens kernels compare --json`.",
        "rooflens.accounting.comparing:Comparison",
        example=f"rooflens kernels compare {TRACES}/eager.json.gz {TRACES}/graph.json.gz --json",
    ),
    "bench": Kind(
        "The answer of `rooflens bench --json`.",
        "rooflens.accounting.bench_record:Benches",
        example="rooflens bench tests/data/llama_bench_made_up.json --json",
    ),
    "diff": Kind(
        "The answer of `rooflens diff --json`.",
        "rooflens.compare:Comparison",
        keys={"conventions": ("object of text", "")},
        example="rooflens diff profile.json profile.json --json",
    ),
    "trend": Kind(
        "The answer of `rooflens trend --json`.",
        "rooflens.wall:Trend",
        keys={"conventions": ("object of text", "")},
        example="rooflens trend --json",
    ),
    "doctor": Kind(
        "The answer of `rooflens doctor --json`.",
        "rooflens.health.record:Diagnosis",
    ),
    "watch": Kind(
        "The answer of `rooflens watch --json`: every model of every target, read once.",
        "rooflens.telemetry.watch:Watch",
        example="rooflens watch run.jsonl --once --json",
    ),
    "scrape": Kind(
        "A line of a recording (`rooflens watch --record run.jsonl`).",
        "rooflens.live.recording:Page",
    ),
    "export": Kind(
        "The answer of `rooflens export --json`.",
        keys={
            "configuration": ("rooflens.live.config:Export", "as it was read"),
            "conventions": ("object of text", ""),
            "url": ("text", "where it answers; absent with --check"),
        },
        example="rooflens export --config rooflens.yaml --check --json",
    ),
    "page": Kind(
        "The answer of `rooflens serve --json` and `rooflens page --json`. What page and server exchange is their own.",
        keys={
            "url": ("text", "of `serve`: where it answers"),
            "file": ("text", "of `page`: what was written"),
            "bytes": ("number", "of `page`: how large it is"),
            "state": ("rooflens.server.state:State", "what is shown first"),
        },
        example=f"rooflens page llama-3.1-8b {ON} -o report.html --json",
    ),
    "practice": Kind(
        "The answer of `rooflens practice --json`: problems, or with `--answer` one problem and its verdict.",
        keys={
            "conventions": ("object of text", ""),
            "seed": ("whole number", "equal id and seed give equal numbers"),
            "problems": ("list of objects", "each with the keys below, from `id` on"),
            "id": ("text", "name of the problem"),
            "topic": ("text", "what it is about"),
            "question": ("text", "the question, in English"),
            "unit": ("text", "of the answer; `ratio`, `times` or `count` where it has none"),
            "tolerance": ("number", "an answer within this is right"),
            "about": ("text", "with --list: a few words on it"),
            "answer": ("number", "with --explain: the right answer, in `unit`"),
            "formula": ("text", "with --explain: the formula with this drawing's numbers"),
            "why": ("text", "with --explain: why it is so"),
            "command": ("text", "with --explain: prints the same number"),
            "key": ("text", "with --explain: where in that command's JSON"),
            "rows": ("list of text", "with --explain: what was counted"),
            "sources": ("list of objects", "with --explain: `machine` and `text` of where its figures come from"),
            "given": ("text", "with --answer: the answer as it was given"),
            "given_value": ("number", "with --answer: the same in `unit`"),
            "right": ("true or false", "with --answer: whether it is"),
            "mistakes": ("list of objects", "with --answer: `name` and `sentence` of what gives this number"),
            "mistakes_together": ("true or false", "with --answer: only both of them at once give it"),
        },
        example="rooflens practice --problem mbu --seed 2 --answer 41% --json",
    ),
    "sweep": Kind(
        "What may not change between a sweep and its resumption: kept in the folder of a sweep.",
        "rooflens.sweep.record:Identity",
    ),
    "sweep-manifest": Kind(
        "The answer of `rooflens sweep --json`, and the file that says a sweep is done.",
        "rooflens.sweep.record:Manifest",
    ),
    "sweep-forecast": Kind(
        "The answer of `rooflens sweep --dry-run --json`.",
        "rooflens.fleet.sweeping.run:Forecast",
        keys={"wall_s": ("number", "how long it would take")},
    ),
    "sweep-query": Kind(
        "The answer of `rooflens sweep query --json`.",
        "rooflens.sweep.question:Found",
        keys={"conventions": ("object of text", "")},
    ),
    "fleet": Kind("The answer of `rooflens fleet report --json`.", "rooflens.fleet.report:Report"),
    "fleet-measure": Kind("The answer of `rooflens fleet measure --json`.", "rooflens.fleet.measuring.record:Gathered"),
    "fleet-baseline": Kind("What devices gave before, kept beside reports.", "rooflens.peers.history:Baseline"),
    "fleet-truth": Kind(
        "`truth.json` of `rooflens fleet simulate`: who has which fault.", "rooflens.fleet.planted:Truth"
    ),
    "version": Kind(
        "The answer of `rooflens --version --json`: what a report of a fault should say.",
        keys={
            "version": ("text", "of rooflens"),
            "python": ("text", "its version"),
            "implementation": ("text", "of Python"),
            "platform": ("text", "the system"),
            "git_commit": ("text", "in a checkout"),
            "packages": ("object of text", "those that matter here and are installed, with versions"),
            "schemas": ("object of whole numbers", "the newest number of each kind of artefact"),
        },
    ),
    "completion": Kind(
        "The answer of `rooflens completion --json`.",
        keys={"shells": ("list of objects", "`shell`, the `file` and `line` of its start-up, and the `script`")},
        example="rooflens completion bash --json",
    ),
}
