"""What the page says of a prediction: figures with names, two bars, and what batching brings."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from rooflens.errors import RooflensError
from rooflens.prediction.bound import bind
from rooflens.prediction.deployment import Deployment, bound, with_batch
from rooflens.prediction.edges import nearly_free
from rooflens.prediction.memory import Memory
from rooflens.prediction.predicting import Estimator
from rooflens.prediction.record import Constant, Prediction, Times
from rooflens.prediction.served import Served
from rooflens.present.retold import retold
from rooflens.present.words import known, say
from rooflens.records import replace
from rooflens.server import asking, memory
from rooflens.server.state import BATCHES, State
from rooflens.units import percent, show

RATIOS = ("mfu_of_measured", "mbu_of_measured", "mfu_of_datasheet", "mbu_of_datasheet")
PARTS = ("weights", "kv", "activations", "runtime")
FIELDS = {"weights": "weight_bytes", "kv": "kv_bytes", "activations": "activation_bytes", "runtime": "runtime_bytes"}


def panel(found: Prediction, lang: str) -> dict[str, Any]:
    """Figures as pairs, where the time goes, memory against capacity, and the constants it rests on."""
    return {
        "title": say("predict.title", lang, model=found.model, machine=_machines(found)),
        "precision": retold(found.conventions["precision"], lang),
        "figures": [[say(f"page.{name}", lang), text] for name, text in _figures(found, lang).items()],
        "times": {name: _times(getattr(found, f"{name}_s"), lang) for name in ("tpot", "ttft")},
        "where": _where(found, lang),
        "memory": None if found.memory is None else _memory(found.memory, lang),
        "constants": [_constant(constant, lang) for constant in found.constants],
    }


def _constant(of: Constant, lang: str) -> list[str]:
    """A name, a value and where it comes from, as `predict` says them."""
    origin = known(f"frame.origin.{of.origin}", retold(of.origin, lang), lang)
    return [known(f"predict.constant.{of.name}", of.name, lang), f"{of.value:.6g}", origin]


def _machines(found: Prediction) -> str:
    return found.machine if found.devices == 1 else f"{found.devices} × {found.machine}"


def _figures(found: Prediction, lang: str) -> dict[str, str]:
    """The figures that are known, as text."""
    ridge = say("predict.never", lang) if found.batch_at_ridge is None else f"{found.batch_at_ridge}"
    allows = say("frame.unknown", lang) if found.batch_memory_allows is None else f"{found.batch_memory_allows}"
    said = {
        "user": f"{found.tokens_per_s_per_user:.4g}",
        "all": f"{found.tokens_per_s:.5g}",
        "device": f"{found.tokens_per_s_per_device:.5g}",
        "most": f"{found.tokens_per_s_ceiling:.5g}",
        "usd": None if found.usd_per_million_tokens is None else f"{found.usd_per_million_tokens:.3g} USD",
        "joules": None if found.joules_per_token is None else show(found.joules_per_token, "J", 3),
        **{name: _share(getattr(found, name)) for name in RATIOS},
        "at_ridge": ridge,
        "allows": allows,
        "bubble": None if found.bubble is None else percent(found.bubble),
    }  # fmt: skip
    return {name: text for name, text in said.items() if text is not None}


def _share(value: float | None) -> str | None:
    return None if value is None else percent(value)


def _times(times: Times, lang: str) -> dict[str, str]:
    """Floor, estimate and interval as text; without an estimate that is said."""
    if times.estimate is None or times.low is None or times.high is None:
        return {"floor": show(times.floor, "s"), "estimate": say("predict.no_estimate", lang), "interval": ""}
    low, high = show(times.low, "s", 3), show(times.high, "s", 3)
    between = say("page.interval", lang, low=low, high=high)
    return {"floor": show(times.floor, "s"), "estimate": show(times.estimate, "s", 3), "interval": between}


def _where(found: Prediction, lang: str) -> list[dict[str, Any]]:
    whole = sum(found.where_time_goes.values())
    shares = sorted(found.where_time_goes.items(), key=lambda item: -item[1])
    return [
        {
            "name": known(f"predict.where.{name}", name, lang),
            "share": value / whole,
            "text": f"{show(value, 's', 3)} ({percent(value / whole)})",
        }
        for name, value in shares
    ]


def _memory(held: Memory, lang: str) -> dict[str, Any]:
    """Parts of a device's memory as shares of its capacity, which may sum to over 1: then it does not fit."""
    sizes = {part: getattr(held, FIELDS[part]) for part in PARTS}
    parts = [
        {"name": say(f"page.{part}", lang), "share": size / held.capacity_bytes, "text": show(size, "B")}
        for part, size in sizes.items()
        if size
    ]
    said = say("page.fits" if held.fits else "page.too_large", lang)
    outside = say("frame.unknown", lang) if held.runtime_bytes is None else show(held.runtime_bytes, "B")
    shown = {"usable": show(held.usable_bytes, "B"), "capacity": show(held.capacity_bytes, "B"), "runtime": outside}
    text = say("page.memory_said", lang, fits=said, tokens=held.kv_tokens, **shown)
    return {"parts": parts, "usable": held.usable_bytes / held.capacity_bytes, "fits": held.fits, "text": text}


def batching(asked: State) -> dict[str, Any]:
    """Tokens/s over the batch, at the floor and expected, up to where batching is nearly free, and what memory allows.

    room: left out where the memory of the machine is not known.
    """
    floor, expected, room = _curve(replace(asked, batch=1, lang="en", phase="decode", machines=asked.machines[:1]))
    at = nearly_free(BATCHES, expected or floor)
    free = None if at is None else BATCHES[at]
    text, short = _free(free, room, asked.lang)
    found = {"batches": list(BATCHES), "floor": floor, "expected": expected, "free": free, "text": text, "short": short}
    return found if room is None else {**found, "room": room}


def _free(free: int | None, room: int | None, lang: str) -> tuple[str, str]:
    """Up to where batching is nearly free, in full and in short. What is nearly free may yet have no room: said too."""
    most = BATCHES[-1]
    if free is None:
        said = say("page.free_beyond", lang, batch=most), say("page.free_short", lang, batch=f"{most}+")
    else:
        said = say("page.free", lang, batch=free), say("page.free_short", lang, batch=free)
    if room is None or room >= (free or most):
        return said
    limit = say("page.free_room", lang, batch=room)
    return f"{said[0]}; {limit}", f"{said[1]}; {limit}"


@lru_cache(256)
def _curve(asked: State) -> tuple[list[float], list[float], int | None]:
    """Tokens/s of all sequences at each batch, at the floor and as expected, and the batch that memory allows.

    Expected where an engine's constants say it; None: the memory of the machine is not known.
    """
    with memory.model(asked.model, asked.config) as model:
        now, _, expects = asking.served(model, asked)
        room = asking.predict(model, asked).batch_memory_allows
    folded, every = bound(now), [with_batch(now, b) for b in BATCHES]
    floor = [float(one.tokens_per_s(folded.floor_s(one.step("decode")))) for one in every]
    expected = [float(one.tokens_per_s(s)) for one, s in zip(every, _expected(expects, now), strict=False)]
    return floor, expected, room


def _expected(expects: Estimator | None, now: Deployment) -> list[float]:
    """Seconds of a decode step at each batch; none where nothing is calibrated for it."""
    try:
        if isinstance(expects, Served):
            served = bind(expects, now)
            return [float(served.tpot_s(float(b), now.prompt, now.output, now.context)) for b in BATCHES]
        each = [] if expects is None else [expects.expect(replace(now, batch=float(b)), "decode") for b in BATCHES]
    except RooflensError:
        return []
    return [one.time_s for one in each]
