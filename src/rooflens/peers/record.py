"""What is set beside what, and what came of it: figures in, standings out."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from rooflens.peers.evidence import EVIDENCE
from rooflens.records import record

Against = Literal["peers", "baseline", "itself"]
Whose = Literal["device", "pair", "node"]
State = Literal["out", "unsure", "behind", "ok", "alone"]
STATES: tuple[State, ...] = ("out", "unsure", "behind", "ok", "alone")  # worst first
NINE_OF_TEN = (0.05, 0.95)  # lie between these two shares of a class
if TYPE_CHECKING:
    Cause = str
else:
    Cause = Literal[tuple(EVIDENCE)]  # as files hold it


@record
class Key:
    """What devices must share to be compared: what they are, what drives them, what computes, how long they were run.

    quick: a short look gives other rates of caches and of settled clocks than a long one.
    """

    sku: str
    driver: str = ""
    library: str = ""
    quick: bool = False

    @property
    def text(self) -> str:
        """In one line, what is not known left out."""
        driver = f"driver {self.driver}" if self.driver else ""
        return ", ".join(filter(None, [self.sku, driver, self.library, "--quick" if self.quick else ""]))


@record
class Figure:
    """One measured figure of a device, of a pair ("0-1") or of a whole node. Fewer seconds are better, higher rates.

    id: what is equal under the same name. of: who, as NODE/DEVICE. samples: those that the value is the median of.
    key: the text of its Key. level: of a pair, the link between the two.
    """

    id: str
    of: str
    node: str
    key: str
    value: float
    unit: str
    whose: Whose = "device"
    samples: tuple[float, ...] = ()
    trusted: bool = True
    why_not: str | None = None
    clock_hz: float | None = None
    power_w: float | None = None
    throttle: str | None = None
    level: str | None = None


@record
class Spread:
    """One ceiling over equal devices. Values in `unit`; p5 and p95 by speed, so that p5 is slow also in seconds.

    spread: of a device about the median, robust (1 is 100 %), moderated by what is usual where devices are few.
    slowest_share: its speed over the median. seen: the smallest loss that is named here; sure: the one that is missed
    once in a thousand. baseline: the stored median, of_baseline: today's over it, in speed. refused: not trusted.
    """

    id: str
    key: str
    unit: str
    count: int
    min: float
    p5: float
    median: float
    p95: float
    max: float
    spread: float
    slowest: str
    slowest_share: float
    seen: float | None = None
    sure: float | None = None
    baseline: float | None = None
    of_baseline: float | None = None
    refused: int = 0


@record
class Loss:
    """A figure that is behind. share: speed over what it is set against; low, high: its interval, 99.9 % to each side.

    chance: of so large a loss without any reason, by luck alone. state: whether it alone puts a device out.
    """

    id: str
    against: Against
    share: float
    low: float
    high: float
    chance: float
    state: State
    value: float
    reference: float
    unit: str


@record
class Reason:
    """Why a device is behind. source: its own tools say so, or only the figures look like it. what: one sentence."""

    cause: Cause
    source: Literal["tools", "figures"]
    what: str
    next: str | None = None


@record
class Price:
    """A deployment on the median device, and with this device in the group: a group goes at the pace of its slowest."""

    tokens_per_s: float
    tokens_per_s_of_peers: float
    bound: str

    @property
    def share(self) -> float:
        """What is left: 0.9 is a tenth lost."""
        return self.tokens_per_s / self.tokens_per_s_of_peers


@record
class Standing:
    """One device (or pair, or whole node), judged.

    beside_peers, beside_itself: the two scores, speed over the median of its equals and over its own past, each of the
    figure that is furthest behind by what can be told from chance (weakest, changed most). losses: worst first.
    """

    of: str
    node: str
    key: str
    state: State
    figures: int
    whose: Whose = "device"
    beside_peers: float | None = None
    weakest: str | None = None
    beside_itself: float | None = None
    changed: str | None = None
    losses: tuple[Loss, ...] = ()
    reasons: tuple[Reason, ...] = ()
    price: Price | None = None

    @property
    def worst(self) -> float:
        """The lowest share that puts it out, or that it has beside its equals."""
        out = [loss.share for loss in self.losses if loss.state == "out"]
        return min(out) if out else self.beside_peers or 1.0


@record
class Rules:
    """When somebody is named, as every report repeats it. All are chances or shares.

    least: the loss that matters. false_alarms: devices named without a reason, at most. missed: devices with a loss of
    `least` that are not named, at most where the spread allows it. usual: how much equal devices differ, where too few
    are there to tell; weight: how many devices' worth that is.
    """

    least: float = 0.05
    false_alarms: float = 1e-3
    missed: float = 1e-3
    usual: float = 0.006
    weight: float = 8.0

    @property
    def matters(self) -> float:
        """The loss of `least` as a logarithm of speed."""
        return -math.log1p(-self.least)


@record
class Judged:
    """All of them, the worst first. notes: sentences about a group, as that most of it may be slow."""

    standings: tuple[Standing, ...]
    spreads: tuple[Spread, ...]
    notes: tuple[str, ...] = ()
