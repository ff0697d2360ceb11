"""What an engine's rates demand of one device: bytes and FLOPs a second, priced by the model's own rows.

bytes/s = steps/s x weight bytes of a step + sequences' steps/s x bytes of the cache that one reads. FLOPs/s = prompts/s
x FLOPs of a prompt behind what a cache held of it + decoded tokens/s x FLOPs of one. A replica has its share of both.
"""

from __future__ import annotations

from collections.abc import Iterator

from rooflens.operators.cost import Cost
from rooflens.records import field, record, replace
from rooflens.telemetry.pricing import Prices
from rooflens.telemetry.record import ESTIMATES, Rates

NO_STEPS = "the engine tells no steps and no running sequences"
NO_CONTEXT = "nobody tells how many cached tokens a step reads: the weights alone are counted, the least there is"
NO_PROMPT = "nobody tells how long prompts are: each is priced as one of {tokens:.0f} tokens"
NO_TOKENS = "the engine does not tell both rates of tokens, of computed prompts and of generated ones"


@record
class Demands:
    """Of one device. weight_bytes, kv_bytes: of the mean step; the others a second. missing: what is not known."""

    weight_bytes: float | None = None
    kv_bytes: float | None = None
    weight_bytes_per_s: float | None = None
    kv_bytes_per_s: float | None = None
    work_per_s: Cost | None = None
    missing: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def bytes_per_s(self) -> float | None:
        """Weights and cache; None where the weights are not known, weights alone where the cache is not."""
        return None if self.weight_bytes_per_s is None else self.weight_bytes_per_s + (self.kv_bytes_per_s or 0.0)


def demands(rates: Rates, prices: Prices) -> Demands:
    """What these rates demand of a device that holds its share of a replica."""
    weights, a_step = _weights(rates, prices)
    cache, each = _cache(rates, prices)
    work, notes = _work(rates, prices)
    held = None if each is None or rates.batch is None else each * rates.batch / rates.replicas
    said = (("mbu", NO_STEPS, weights), ("kv_bytes_per_s", NO_CONTEXT, cache), ("mfu", NO_TOKENS, work))
    missing = tuple((name, why) for name, why, value in said if value is None)
    return Demands(a_step, held, weights, cache, work, missing, tuple(notes))


def spread_over(rates: Rates, replicas: int) -> Rates:
    """The same rates, when so many replicas add up to what one engine seems to tell."""
    if rates.replicas > 1 or replicas <= 1:
        return rates
    own = {name: getattr(rates, name) for name in ESTIMATES}
    shared = {name: value / replicas for name, value in own.items() if value is not None}
    batch = None if rates.batch is None else rates.batch * replicas
    return replace(rates, replicas=replicas, batch=batch, **shared)


def _weights(rates: Rates, prices: Prices) -> tuple[float | None, float | None]:
    """Bytes of weights a second, and of the mean step: of a mixture, the experts that its tokens touch."""
    if rates.steps_per_s is None:
        return None, None
    steps = rates.steps_per_s / rates.replicas
    if steps <= 0:
        return 0.0, None
    context = rates.context_tokens or 1.0
    passes = _passes(rates, prices, steps)
    total = sum(share * float(prices.decode(tokens, context).weight_bytes) for share, tokens in passes)
    return steps * total, total


def _passes(rates: Rates, prices: Prices, steps: float) -> Iterator[tuple[float, float]]:
    """Kinds of steps, each with its share and its tokens: those that take prompts in, and those that do not."""
    least = float(rates.replicas)
    batch = max(least, rates.batch or 0.0)
    mixing = min((rates.prompts_per_s or 0.0) / rates.replicas, steps)
    if not prices.experts:
        yield 1.0, least
    elif not mixing or rates.computed_prompt_tokens_per_s is None:
        yield 1.0, batch
    else:
        yield mixing / steps, batch + rates.computed_prompt_tokens_per_s / mixing
        yield 1.0 - mixing / steps, batch


def _cache(rates: Rates, prices: Prices) -> tuple[float | None, float | None]:
    """Bytes of the cache read a second, and by one sequence's step."""
    passed = rates.sequence_steps_per_s
    if passed is not None and passed <= 0:
        return 0.0, None
    if passed is None or rates.context_tokens is None:
        return None, None
    each = float(prices.decode(float(rates.replicas), rates.context_tokens).kv_bytes)
    return passed / rates.replicas * each, each


def _work(rates: Rates, prices: Prices) -> tuple[Cost | None, list[str]]:
    """FLOPs a second, by math; tokens found in a cache cost none."""
    computed, decoded = rates.computed_prompt_tokens_per_s, rates.decode_tokens_per_s
    if computed is None or decoded is None:
        return None, []
    made, notes = Cost(), []
    if decoded > 0:
        one = prices.decode(float(rates.replicas), rates.context_tokens or 1.0)
        made = made + one * (decoded / rates.replicas)
    if computed > 0:
        whole, said = _prompt(rates)
        notes += [said] if said else []
        fresh = max(1.0, whole * computed / max(rates.prompt_tokens_per_s or computed, computed))
        made = made + prices.prompt(fresh, whole) * (computed / fresh / rates.replicas)
    return made, notes


def _prompt(rates: Rates) -> tuple[float, str]:
    """The mean prompt, as long as those of requests that ended, or as first tokens divide what came in."""
    if rates.prompt_tokens:
        return max(1.0, rates.prompt_tokens), ""
    if rates.prompts_per_s and rates.prompt_tokens_per_s:
        return max(1.0, rates.prompt_tokens_per_s / rates.prompts_per_s), ""
    guessed = max(1.0, rates.context_tokens or 1.0)
    return guessed, NO_PROMPT.format(tokens=guessed)
