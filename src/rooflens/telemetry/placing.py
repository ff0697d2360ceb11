"""From rates to a place under the roofs: MBU and MFU, overall and while busy, floor, estimate, gap, regime now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rooflens.prediction.deployment import Deployment
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.place import mbu, mfu, regime, work_of
from rooflens.roofline.placement import conventions
from rooflens.roofline.points import is_finding
from rooflens.telemetry.demands import Demands, demands
from rooflens.telemetry.pricing import Prices, Timed
from rooflens.telemetry.rates import BY_FINISHED, states
from rooflens.telemetry.record import Rates, Roof, State
from rooflens.units import percent

A_SECOND = 1.0  # what rates are of
NO_BUSY = "the engine does not tell how long it computed; mbu_decoding is of its decode steps"
NO_TPOT = "no token came behind a first one"
NO_LOAD = "the engine tells no batch: no floor for it"
ESTIMATED = 0.9, 1.1  # the engine's own bytes over ours: outside, it is said why that may be
OWN_BYTES = (
    "the engine's own estimate of bytes read is {times} times what is counted here: some charge the weights to every "
    "token, some take another format for what is stored; else another model, format or number of devices is served"
)
FULLER = "suspect another model, format, machine or number of devices than was said"


@record
class Subject:
    """What is served where, ready to be priced. other: the same chip's datasheet, or its measured profile."""

    prices: Prices
    other: Machine | None = None
    notes: tuple[str, ...] = ()

    @property
    def served(self) -> Deployment:
        """The deployment."""
        return self.prices.served


def placed(rates: Rates, of: Subject) -> Roof:
    """Where these rates stand. Raises NoPath for work that the machine cannot do."""
    served = of.served
    needs = demands(rates, of.prices)
    shares = _shares(needs, served.machine, "")
    shares |= (
        {} if of.other is None else _shares(needs, of.other, "_of_measured" if of.other.measured else "_of_datasheet")
    )
    busy = {
        f"{name}_busy": shares[name] / rates.busy_share
        for name in ("mbu", "mfu")
        if name in shares and rates.busy_share
    }
    timed, floor = _times(rates, of.prices)
    found: dict[str, Any] = {**shares, **busy, **timed, **_decoding(rates, needs, served.machine)}
    found |= _regime(rates, found, floor)
    bytes_per_s = needs.bytes_per_s
    if rates.estimated_read_bytes_per_s and bytes_per_s:
        found["estimated_over_ours"] = rates.estimated_read_bytes_per_s / bytes_per_s
    return Roof(
        served.machine.title,
        served.model.name,
        served.machine.measured,
        served.devices,
        state(rates),
        _conventions(served),
        weight_bytes_per_s=needs.weight_bytes_per_s,
        kv_bytes_per_s=needs.kv_bytes_per_s,
        flops_per_s=None if needs.work_per_s is None else float(needs.work_per_s.total_flops),
        step_weight_bytes=needs.weight_bytes,
        step_kv_bytes=needs.kv_bytes,
        findings=tuple(_findings(found)),
        missing=dict(_missing(rates, needs, found)),
        notes=(*of.notes, *served.notes, *needs.notes, *_estimated(found)),
        **found,
    )


def state(rates: Rates) -> State | None:
    """idle: nothing runs and nothing was computed; queueing: requests wait at both ends; else busy; None: not known."""
    if rates.running or any(states(rates)) or rates.generation_tokens_per_s:
        return "queueing" if rates.queueing else "busy"
    return None if rates.running is None and rates.generation_tokens_per_s is None else "idle"


def _shares(needs: Demands, machine: Machine, end: str) -> dict[str, Any]:
    """MBU and MFU of one set of roofs, with the roofs themselves for the first."""
    found: dict[str, Any] = {}
    if needs.bytes_per_s is not None:
        found[f"mbu{end}"] = mbu(needs.bytes_per_s, machine, A_SECOND)
        found |= {} if end else {"read_roof_bytes_per_s": machine.memory("read").floor_value}
    if needs.work_per_s is not None:
        found[f"mfu{end}"] = mfu(needs.work_per_s, machine, A_SECOND)
        math, flops, path = work_of(needs.work_per_s)
        if flops and not end:
            found |= {"compute_roof_flops_per_s": machine.compute(math, path).floor_value, "peak_math": math}
    return found


def loaded(rates: Rates) -> tuple[float, float, float]:
    """The mean step's sequences, and the prompt and output of the requests that are served now."""
    batch = max(float(rates.replicas), rates.batch or 1.0)
    if rates.prompt_tokens and rates.output_tokens and rates.context_from == BY_FINISHED:
        return batch, max(1.0, rates.prompt_tokens), rates.output_tokens
    return batch, max(1.0, rates.context_tokens or 1.0), 0.0


def _times(rates: Rates, prices: Prices) -> tuple[dict[str, float], Timed | None]:
    """Floor and expectation of a token at this load, and how far measured ones are from the floor."""
    if not rates.batch or rates.context_tokens is None:
        return {}, None
    step, each = prices.times(*loaded(rates)), rates.tokens_a_step or 1.0
    said = {name: getattr(step, name) for name in ("floor_s", "estimate_s", "low_s", "high_s")}
    found = {f"tpot_{name}": seconds / each for name, seconds in said.items() if seconds is not None}
    if rates.tpot_s:
        found["tpot_over_floor"] = rates.tpot_s / found["tpot_floor_s"]
    return found, step


def _decoding(rates: Rates, needs: Demands, machine: Machine) -> dict[str, float]:
    """MBU of the decode steps alone: their bytes over the time between two steps of a sequence."""
    step_s = rates.decode_step_s
    if not step_s or needs.weight_bytes is None or needs.kv_bytes is None:
        return {}
    moved = needs.weight_bytes + needs.kv_bytes
    return {"mbu_decoding": mbu(moved, machine, step_s)}


def _regime(rates: Rates, found: Mapping[str, Any], floor: Timed | None) -> dict[str, str]:
    """What binds now: the roof that is used most, or below-roof and launch where neither is near."""
    steps = (rates.steps_per_s or 0.0) / rates.replicas
    busy = _busy_share(rates)
    if not steps or busy is None or "mbu" not in found:
        return {}
    shares = {"memory": found["mbu"], "compute": found.get("mfu", 0.0)}
    bound = max(shares, key=lambda kind: shares[kind])
    floor_s = shares[bound] / steps
    if floor is not None and floor.bound == "link":
        bound, floor_s = "link", max(floor_s, floor.floor_s)
    launch_s = 0.0 if floor is None else floor.launch_s
    return {"bound": bound, "regime": regime(bound, floor_s, launch_s, busy / steps)}


def _busy_share(rates: Rates) -> float | None:
    """Of the time: by the engine, else by its steps' own time, else all where sequences ran."""
    if rates.busy_share is not None:
        return rates.busy_share
    if rates.decode_step_s and rates.steps_per_s:
        return min(1.0, rates.decode_step_s * rates.steps_per_s / rates.replicas)
    return 1.0 if rates.running else None


def _findings(found: Mapping[str, Any]) -> Iterator[str]:
    for name in ("mbu", "mfu", "mbu_busy", "mfu_busy", "mbu_decoding"):
        if is_finding(found.get(name, 0.0)):
            yield f"{name} is {percent(found[name])}, over the roof: {FULLER}"
    beaten = 1 / found.get("tpot_over_floor", 1.0)
    if is_finding(beaten):
        yield f"tokens come {beaten:.4g} times faster than their floor, which nothing beats: {FULLER}"


def _estimated(found: Mapping[str, Any]) -> Iterator[str]:
    low, high = ESTIMATED
    if not low <= found.get("estimated_over_ours", 1.0) <= high:
        yield OWN_BYTES.format(times=f"{found['estimated_over_ours']:.3g}")


def _missing(rates: Rates, needs: Demands, found: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield from needs.missing
    if rates.interval_s is not None:
        if rates.busy_share is None:
            yield "mbu_busy", NO_BUSY
        if rates.tpot_s is None:
            yield "tpot_over_floor", NO_TPOT
        if "tpot_floor_s" not in found:
            yield "tpot_floor_s", NO_LOAD


def _conventions(served: Deployment) -> dict[str, str]:
    said = conventions(served.machine, served.precision, str(served.how.get("mask", "causal")))
    return {name: said[name] for name in ("precision", "peaks", "mask")}
