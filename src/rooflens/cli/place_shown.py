"""What `place` shows on the screen: an answer in words, in the language that is asked for."""

from __future__ import annotations

from rooflens.api import Answer
from rooflens.cli.printing import headed
from rooflens.operators.collectives import Collective
from rooflens.operators.rows import Row
from rooflens.present.retold import retold
from rooflens.present.words import known, say, word
from rooflens.roofline.ceilings import Ceiling
from rooflens.roofline.placement import Measured, Placement, Total
from rooflens.roofline.price import NETWORK
from rooflens.units import percent, show

ASSUMED = "assumed "
UNSAID = "operator"
SHARING = ("tp", "ep", "dp", "pp")
DULL = ("tokens", *SHARING, "microbatches")  # not said where they are 1


def shown(answered: Answer, lang: str, *, explain: bool) -> str:
    """The whole answer: the step, its operators, its totals, what a clock said, what must be known."""
    placed = answered.placement
    parts = [_head(placed, lang), _operators(placed, lang), _totals(placed, lang)]
    parts += [_measured(placed.measured, placed, lang)] if placed.measured else []
    said = [say("frame.note", lang, text=retold(note, lang)) for note in placed.notes]
    said += [_assumed(key, text, lang) for key, text in placed.conventions.items() if key.startswith(ASSUMED)]
    parts += ["\n".join(said)] if said else []
    return "\n\n".join([*parts, _explained(answered, lang) if explain else _foot(placed, lang)])


def title(placed: Placement, lang: str) -> str:
    """ "llama-2-7b on A100 SXM4 80GB"."""
    return say("place.title", lang, model=placed.model, machine=placed.machine)


def pictured(placed: Placement, lang: str) -> str:
    """The same over a picture, which shows one of the devices that share it: "..., tp 8"."""
    shared = [(key, placed.step.get(key, 1)) for key in SHARING]
    return ", ".join(
        [title(placed, lang), *(f"{known(f'place.step.{key}', key, lang)} {n:g}" for key, n in shared if n != 1)]
    )


def _head(placed: Placement, lang: str) -> str:
    step = {key: v for key, v in placed.step.items() if key != UNSAID and not (key in DULL and v == 1)}
    said = [f"{known(f'place.step.{k}', k, lang)} {v:g}" if isinstance(v, float) else str(v) for k, v in step.items()]
    return title(placed, lang) + (f": {', '.join(said)}" if said else "")


def _foot(placed: Placement, lang: str) -> str:
    precision, basis = (retold(placed.conventions[key], lang) for key in ("precision", "peaks"))
    return say("place.foot", lang, precision=precision, basis=basis)


def _assumed(key: str, text: str, lang: str) -> str:
    return say("place.assumed", lang, name=key.removeprefix(ASSUMED), text=retold(text, lang))


def _operators(placed: Placement, lang: str) -> str:
    rows = [
        [
            o.name if o.count == 1 else f"{o.name} x {o.count}",
            show(sum(o.flops.values()) if not isinstance(o.flops, (int, float)) else o.flops or o.vector_flops, "FLOP"),
            show(o.weight_bytes + o.kv_bytes + o.activation_bytes, "B"),
            f"{o.intensity_flops_per_byte:.4g}" if o.intensity_flops_per_byte is not None else "-",
            word("bound", o.bound, lang),
            show(o.attainable_flops_per_s, "FLOP/s") if o.attainable_flops_per_s else "-",
            f"{percent(o.share_of_peak)} {o.math}" if o.share_of_peak else "-",
            show(o.floor_s, "s"),
        ]
        for o in placed.operators
    ]
    heads = ["operator", "flops", "bytes", "intensity", "bound", "attainable", "of_peak", "floor"]
    return headed("place", heads, rows, lang)


def _totals(placed: Placement, lang: str) -> str:
    peak = f"{placed.math} {show(placed.peak_flops_per_s, 'FLOP/s')}"
    ridge, bandwidth = f"{placed.ridge_flops_per_byte:.4g} FLOP/B", show(placed.bandwidth_bytes_per_s, "B/s")
    lines = [_total("place.all", placed.total, lang)]
    lines += [_total("place.step_floor", placed.step_floor, lang)] if placed.step_floor else []
    return "\n".join([*lines, say("place.ridge", lang, ridge=ridge, peak=peak, bandwidth=bandwidth)])


def _total(name: str, total: Total, lang: str) -> str:
    work = [show(total.flops, "FLOP"), show(total.bytes, "B")]
    if total.intensity_flops_per_byte is not None:
        work.append(f"{total.intensity_flops_per_byte:.4g} FLOP/B")
    waits = say("place.launch", lang, time=show(total.launch_s, "s")) if total.launch_s else ""
    if total.latency_s is not None:
        waits += say("place.latency", lang, time=show(total.latency_s, "s"))
    return say(
        "place.total", lang, name=say(name, lang), floor=show(total.floor_s, "s"), waits=waits, work=", ".join(work),
        bound=known(f"bound.{total.bound}", total.bound, lang),
        bubble=say("place.bubble", lang, share=percent(total.bubble)) if total.bubble is not None else "",
    )  # fmt: skip


def _measured(found: Measured, placed: Placement, lang: str) -> str:
    regime = word("bound", found.regime, lang)
    time, times = show(found.time_s, "s"), f"{found.times_floor:.3g}"
    lines = [
        say("place.measured", lang, time=time, times=times, regime=regime),
        say("place.shares", lang, math=placed.math, mfu=percent(found.mfu), mbu=percent(found.mbu)),
    ]
    return "\n".join([*lines, *(say("place.finding", lang, text=retold(said, lang)) for said in found.findings)])


def _explained(answered: Answer, lang: str) -> str:
    lines = [say("place.rows", lang)]
    for operator in answered.operators:
        lines += [f"  {operator.name} / {r.name}: {r.spec}   [{_row(r, lang)}]" for r in operator.rows]
        lines += [f"    {_collective(operator.collective, lang)}"] if operator.collective else []
    lines += [say("place.letters", lang, letters=_letters(answered)), say("place.law", lang)]
    lines += [say("place.ceilings", lang), *(f"  {_ceiling(c, lang)}" for c in _used(answered))]
    for key, text in answered.placement.conventions.items():
        lines.append(_assumed(key, text, lang) if key.startswith(ASSUMED) else f"{key}: {retold(text, lang)}")
    return "\n".join(lines)


def _row(row: Row, lang: str) -> str:
    return say("place.row", lang, home=row.home, flops=f"{row.flops_per_point:g}")


def _letters(answered: Answer) -> str:
    letters = next((o.letters for o in answered.operators if o.letters and len(o.letters) > 3), None)
    letters = letters or next((o.letters for o in answered.operators if o.letters), {})
    return ", ".join(f"{k}={float(v):g}" for k, v in letters.items())


def _collective(talk: Collective, lang: str) -> str:
    way, group = talk.least, talk.group
    over = say("place.devices", lang, count=group.ranks)
    sent = say("place.sent", lang, bytes=f"{way.link_bytes:.4g}", steps=f"{way.link_steps:g}")
    if group.nodes > 1:
        over += say("place.nodes", lang, count=group.nodes)
        sent += say("place.between", lang, bytes=f"{way.network_bytes:.4g}", steps=f"{way.network_steps:g}")
    return say("place.collective", lang, name=talk.name, over=over, algorithm=way.algorithm, sent=sent)


def _used(answered: Answer) -> list[Ceiling]:
    there = answered.machine
    maths = dict.fromkeys(o.math for o in answered.placement.operators)
    crossing = there.find("link", level=NETWORK) if NETWORK in levels([answered]) - {there.link} else []
    return [*(there.compute(m) for m in maths), there.memory("read"), *there.find("link", level=there.link), *crossing]


def _ceiling(ceiling: Ceiling, lang: str) -> str:
    origin = word("origin", ceiling.origin, lang)
    value = show(ceiling.floor_value, ceiling.unit)
    if ceiling.best is not None:
        value = say("place.best", lang, value=value, median=show(ceiling.value, ceiling.unit))
    said = f"{ceiling.id} {value} ({origin})"
    return say("place.source", lang, ceiling=said, source=ceiling.source) if ceiling.source else said


def levels(answers: list[Answer]) -> set[str | None]:
    """The links over which something is sent."""
    costs = [o.cost for a in answers for o in a.operators]
    inside = {answers[0].machine.link} if any(cost.link_bytes for cost in costs) else set()
    return inside | ({NETWORK} if any(cost.network_bytes for cost in costs) else set())
