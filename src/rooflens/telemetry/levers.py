"""The lever of now: what would help an engine in the state it is in."""

from __future__ import annotations

import math

from rooflens.errors import RooflensError
from rooflens.levers.advice import PAYS, advise
from rooflens.levers.changes import Means
from rooflens.prediction.memory import Reserve
from rooflens.telemetry.placing import Subject, loaded
from rooflens.telemetry.record import Rates, Roof

FULL = 0.9  # of the KV pool: no room for one more request
ACCEPTED = 0.7  # of drafts, when nobody says another
IDLE = "nothing runs: more requests"
NO_ROOM = "requests wait and the KV pool is full: a narrower cache, more memory, or another replica"
NO_PLACE = "requests wait while the KV pool has room: let more run at once, or another replica"
FAR = (
    "most of a step is not its floor: launches, host, prompts between tokens, kernels below the roof; look with a "
    "profiler"
)
NONE = "nothing that is known here gives over 5 %"  # PAYS


def lever(rates: Rates, roof: Roof, of: Subject, kept: Reserve) -> str | None:
    """What pays most now, a sentence; None where nobody can tell."""
    if roof.state == "idle":
        return IDLE
    if roof.state == "queueing" and rates.kv_usage is not None:
        return NO_ROOM if rates.kv_usage >= FULL else NO_PLACE
    if roof.regime in ("below-roof", "launch"):
        return FAR
    return None if roof.regime is None or not rates.batch else _change(rates, of, kept)


def _change(rates: Rates, of: Subject, kept: Reserve) -> str | None:
    """The best of all levers but a larger batch, which needs requests that are not there, and other machines."""
    batch, prompt, output = loaded(rates)
    now = of.prices.load(float(round(batch)), prompt, output)
    means = Means(max(1, math.floor(batch)), (), ACCEPTED)
    try:
        found = advise(now, kept, means, "throughput", of.prices.estimator)
    except RooflensError:
        return None
    best = next((one for one in found.levers if one.why_not is None and one.fits is not False), None)
    gain = None if best is None else best.gain
    return NONE if best is None or gain is None or gain < PAYS else f"{best.name}: {gain:.3g} times the tokens/s"
