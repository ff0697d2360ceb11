"""Problems about several devices: what collectives send, how long links take, what a pipeline waits."""

from __future__ import annotations

from rooflens.practice.record import Drawn, Pick, Problem
from rooflens.practice.worked import WITH_NVLINK, cost, deployment, letters, machine, point, sources
from rooflens.units import percent, show

ON = "h100-sxm5-80gb"
REDUCED = "out all-reduce"


def _all_reduce(pick: Pick) -> Drawn:
    devices, mbytes = pick.one(2, 4, 8, 16), pick.one(1, 8, 16, 64, 256)
    text = f"all-reduce:bytes={mbytes}e6,devices={devices}"
    right, message = float(cost(text, ON)[0].link_bytes), mbytes * 1e6
    return Drawn(
        {"devices": f"{devices}", "message": show(message, "B")},
        right,
        f"2 (n - 1) / n x {show(message, 'B')} = 2 x {devices - 1}/{devices} x {show(message, 'B')}"
        f" = {show(right, 'B')}",
        {
            "one_half": right / 2, "message_once": message, "message_twice": 2 * message,
            "everyone": (devices - 1) * message,
        },
        f"rooflens place {text} --on {ON}",
        "operators[0].link_bytes",
    )  # fmt: skip


def _tp(pick: Pick) -> Drawn:
    model, tp, batch = pick.one("llama-3.1-70b", "llama-2-70b", "qwen2.5-72b"), pick.one(2, 4, 8), pick.one(1, 16, 64)
    served, x = deployment(model, ON, batch=batch, tp=tp), letters(model)
    reduced = next(one for one in served.operators("decode") if one.name == REDUCED)
    right = float(reduced.cost.link_bytes)
    message = 2 * batch * x["D"]
    return Drawn(
        {"model": model, "tp": f"{tp}", "batch": f"{batch}", "width": f"{x['D']:g}", "layers": f"{x['L']:g}"},
        right,
        f"2 (n - 1) / n x B {batch} x D {x['D']:g} x 2 B = {show(right, 'B')}",
        {
            "one_half": right / 2, "message_once": message, "message_twice": 2 * message, "elements": right / 2,
            "shard_only": right / tp, "both_halves": 2 * right, "whole_step": 2 * x["L"] * right,
        },
        f"rooflens place {model} --on {ON} --tp {tp} --batch {batch}",
        f"operators[{REDUCED}].link_bytes",
    )  # fmt: skip


def _link(pick: Pick) -> Drawn:
    on, devices, mbytes = pick.one(*WITH_NVLINK), pick.one(2, 4, 8), pick.one(32, 64, 256, 1000)
    text = f"all-reduce:bytes={mbytes}e6,devices={devices}"
    right, rate, message = point(text, on).time_s, machine(on).the_link().floor_value, mbytes * 1e6
    sent = float(cost(text, on)[0].link_bytes)
    return Drawn(
        {
            "machine": machine(on).title, "devices": f"{devices}", "message": show(message, "B"),
            "both": show(2 * rate, "B/s"),
        },
        right,
        f"2 x {devices - 1}/{devices} x {show(message, 'B')} / {show(rate, 'B/s')} = {show(right, 's')}",
        {
            "both_ways": right / 2, "one_half": right / 2, "message_once": message / rate, "eight_large": 8 * right,
            "through_memory": sent / machine(on).memory("read").floor_value,
        },
        f"rooflens place {text} --on {on}",
        "total.floor_s",
        sources=sources(on),
    )  # fmt: skip


def _network(pick: Pick) -> Drawn:
    gbits, gbytes = pick.one(100, 200, 400, 800), pick.one(1, 4, 16, 140)
    on, text = f"{ON},nvlink={gbits}Gb/s", f"send:bytes={gbytes}e9,devices=2"
    right = point(text, on).time_s
    return Drawn(
        {"rate": f"{gbits} Gb/s", "size": show(gbytes * 1e9, "B")},
        right,
        f"{gbytes} GB x 8 / {gbits} Gb/s = {show(right, 's')}",
        {"eight_small": right / 8, "both_ways": right / 2, "gb_gib": right * 2**30 / 1e9, "eight_large": right * 8},
        f"rooflens place {text} --on {on}",
        "total.floor_s",
    )


def _bubble(pick: Pick) -> Drawn:
    stages, parts = pick.one(2, 4, 8), pick.one(2, 4, 8, 16)
    served = deployment("llama-3.1-70b", ON, batch=64, pp=stages, microbatches=parts)
    through = served.floor("decode").pipeline
    right = float(through.bubble)
    return Drawn(
        {"stages": f"{stages}", "parts": f"{parts}"},
        right,
        f"(p - 1) / (m + p - 1) = {stages - 1} / {parts + stages - 1} = {percent(right)}",
        {
            "over_work": (stages - 1) / parts, "without_filling": 1 - 1 / stages, "what_works": 1 - right,
        },
        f"rooflens place llama-3.1-70b --on {ON} --batch 64 --pp {stages} --microbatches {parts}",
        "total.bubble",
    )  # fmt: skip


PROBLEMS = (
    Problem("all-reduce", "devices", "B", _all_reduce),
    Problem("tp", "devices", "B", _tp),
    Problem("link", "devices", "s", _link),
    Problem("network", "devices", "s", _network),
    Problem("bubble", "devices", "ratio", _bubble),
)
