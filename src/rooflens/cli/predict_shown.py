"""What `predict` shows on the screen."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from rooflens.cli.printing import headed
from rooflens.prediction.arithmetic import Arithmetic
from rooflens.prediction.predicting import NO_ESTIMATE
from rooflens.prediction.record import Constant, Prediction, Times
from rooflens.present.retold import retold
from rooflens.present.words import known, say, word
from rooflens.units import percent, show

if TYPE_CHECKING:
    from rooflens.prediction.operator import OperatorTimes

DULL = ("tp", "ep", "dp", "pp", "microbatches", "tokens")
HEADS = ("batch", "context", "tpot_floor", "tpot_expected", "per_user", "rate", "bound", "fits")


def shown(found: Prediction, lang: str) -> str:
    """One load: times, rates, where the time goes, memory, the verdict, notes."""
    parts = [_head(found, lang), "\n".join(_times(found, lang)), "\n".join(_rates(found, lang))]
    parts += ["\n".join(_where(found, lang)), "\n".join(_limits(found, lang))]
    parts += ["\n".join(retold(s, lang) for s in found.verdict.sentences)] if found.verdict else []
    parts += ["\n".join(rests_on(found.constants, lang))]
    notes = [*found.notes, *(say("predict.not_modelled", lang, text=text) for text in found.not_modelled)]
    parts += ["\n".join(say("frame.note", lang, text=retold(note, lang)) for note in notes)] if notes else []
    return "\n\n".join(parts)


def shown_arithmetic(found: Arithmetic, lang: str) -> str:
    """The numbers of a batch-1 step without an architecture."""
    values = {
        "model": found.model, "machine": found.machine, "ceiling": f"{found.tokens_per_s_ceiling:.1f}",
        "intensity": f"{found.intensity_flops_per_byte:.3f}", "times": f"{found.below_ridge_times:.1f}",
        "ridge": f"{found.ridge_flops_per_byte:.4g}", "attainable": show(found.attainable_flops_per_s, "FLOP/s"),
        "share": percent(found.share_of_peak), "math": found.math,
    }  # fmt: skip
    lines = [say(f"predict.arithmetic.{name}", lang, **values) for name in ("ceiling", "ridge", "attainable")]
    if found.tokens_per_s_whole_file is not None:
        lines.append(say("predict.arithmetic.file", lang, rate=f"{found.tokens_per_s_whole_file:.1f}"))
    if found.mbu is not None and found.verdict is not None:
        lines.append(say("predict.measured", lang, rate=f"{found.measured_tokens_per_s:g}", mbu=percent(found.mbu)))
        lines += [retold(sentence, lang) for sentence in found.verdict.sentences]
    return "\n".join([say("predict.title", lang, model=found.model, machine=found.machine), *lines])


def table_of(found: list[Prediction], lang: str) -> str:
    """Several loads, a line each."""
    rows = [
        [
            f"{p.step['batch']:g}",
            f"{p.step['context']:g}",
            show(p.tpot_s.floor, "s"),
            interval(p.tpot_s, lang),
            f"{p.tokens_per_s_per_user:.4g}",
            f"{p.tokens_per_s:.5g}",
            word("bound", p.bound, lang),
            say(f"predict.fits.{_fits(p)}", lang),
        ]
        for p in found
    ]
    told = f"{_title(found[0], lang)}\n\n{headed('predict', HEADS, rows, lang)}"
    floors = any(p.tpot_s.estimate is None for p in found)
    return told + (f"\n\n{say('frame.note', lang, text=retold(NO_ESTIMATE, lang))}" if floors else "")


def _fits(found: Prediction) -> str:
    return "unknown" if found.memory is None else "yes" if found.memory.fits else "no"


def _title(found: Prediction, lang: str) -> str:
    on = found.machine if found.devices == 1 else f"{found.devices} x {found.machine}"
    return say("predict.title", lang, model=found.model, machine=on)


def _head(found: Prediction, lang: str) -> str:
    step = {k: v for k, v in found.step.items() if not (k in DULL and v == 1) and v not in (0.0, "causal")}
    said = [f"{known(f'predict.step.{k}', k, lang)} {v:g}" if not isinstance(v, str) else v for k, v in step.items()]
    return f"{_title(found, lang)}: {', '.join(said)}\n{retold(found.conventions['precision'], lang)}"


def _times(found: Prediction, lang: str) -> Iterator[str]:
    for name in ("tpot", "ttft"):
        times: Times = getattr(found, f"{name}_s")
        yield say(f"predict.{name}", lang, floor=show(times.floor, "s"), expected=interval(times, lang))


def interval(times: Times | OperatorTimes, lang: str) -> str:
    """The estimate and its interval, or that there is none."""
    if times.estimate is None or times.low is None or times.high is None:
        return say("predict.no_estimate", lang)
    low, high = show(times.low, "s", 3), show(times.high, "s", 3)
    return say("predict.interval", lang, estimate=show(times.estimate, "s", 3), low=low, high=high)


def _rates(found: Prediction, lang: str) -> Iterator[str]:
    floor = "" if found.tpot_s.estimate is not None else "_floor"
    yield say(
        f"predict.rates{floor}", lang, user=f"{found.tokens_per_s_per_user:.4g}", all=f"{found.tokens_per_s:.5g}",
        device=f"{found.tokens_per_s_per_device:.5g}", ceiling=f"{found.tokens_per_s_ceiling:.5g}",
    )  # fmt: skip
    if found.usd_per_million_tokens is not None:
        yield say(f"predict.cost{floor}", lang, usd=f"{found.usd_per_million_tokens:.3g}")
    if found.joules_per_token is not None:
        yield say("predict.energy", lang, joules=show(found.joules_per_token, "J", 3))


def _where(found: Prediction, lang: str) -> Iterator[str]:
    whole = sum(found.where_time_goes.values())
    shares = sorted(found.where_time_goes.items(), key=lambda item: -item[1])
    said = [f"{known(f'predict.where.{k}', k, lang)} {show(v, 's', 3)} ({percent(v / whole)})" for k, v in shares]
    yield say("predict.where", lang, bound=word("bound", found.bound, lang), parts=", ".join(said))
    if found.bubble is not None:
        yield say("predict.bubble", lang, share=percent(found.bubble))
    for roof in ("measured", "datasheet"):
        mfu, mbu = getattr(found, f"mfu_of_{roof}"), getattr(found, f"mbu_of_{roof}")
        if mfu is not None and mbu is not None:
            yield say(f"predict.of_{roof}", lang, mfu=percent(mfu), mbu=percent(mbu))
    if found.measured_tokens_per_s is not None and found.mbu is not None:
        yield say("predict.measured", lang, rate=f"{found.measured_tokens_per_s:g}", mbu=percent(found.mbu))


def _limits(found: Prediction, lang: str) -> Iterator[str]:
    never = say("predict.never", lang)
    ridge = never if found.batch_at_ridge is None else f"{found.batch_at_ridge}"
    allows = say("frame.unknown", lang) if found.batch_memory_allows is None else f"{found.batch_memory_allows}"
    yield say("predict.batches", lang, ridge=ridge, allows=allows)
    held = found.memory
    if held is not None:
        parts = {
            "weights": held.weight_bytes, "kv": held.kv_bytes, "activations": held.activation_bytes,
            "usable": held.usable_bytes, "capacity": held.capacity_bytes,
        }  # fmt: skip
        shown = {k: show(v, "B") for k, v in parts.items()}
        outside = say("frame.unknown", lang) if held.runtime_bytes is None else show(held.runtime_bytes, "B")
        yield say("predict.memory", lang, tokens=held.kv_tokens, runtime=outside, **shown)


def rests_on(constants: Iterable[Constant], lang: str) -> Iterator[str]:
    """Every constant with its origin."""
    yield say("predict.constants", lang)
    for constant in constants:
        origin = known(f"frame.origin.{constant.origin}", retold(constant.origin, lang), lang)
        name = known(f"predict.constant.{constant.name}", constant.name, lang)
        yield f"  {name} {constant.value:.6g} ({origin})"
