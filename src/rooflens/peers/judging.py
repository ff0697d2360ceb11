"""Who is out: each figure against those of its equals, against what is stored of its kind, and against its own past.

A figure puts a device out when it is both large and sure. Sure: luck alone would name at most `false_alarms` of all
devices, however many figures each has: every test of a node has an equal part of what its devices may spend
(Bonferroni). Large: a loss of `least` cannot be ruled out, but in one case of `missed`; so a device that lost exactly
`least`, and was a little faster than others before, is found. Against a stored baseline the plain rule holds, `least`
below it; and beside equals of whom many lie just short of that.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rooflens.peers.history import Baseline
from rooflens.peers.middle import Middle, figure_at, log_speed, middle, noise, stored
from rooflens.peers.record import NINE_OF_TEN, STATES, Against, Figure, Judged, Loss, Rules, Spread, Standing, State
from rooflens.peers.sentences import NOTES
from rooflens.peers.tails import beyond, quantile
from rooflens.records import record
from rooflens.samples import at_share, median, speed_ratio
from rooflens.units import percent

FEWEST = 3  # of two, either may be the one that is wrong
_MANY = 0.1
_TAIL_FROM = 3.0  # spreads below the median, where one of a thousand normal devices is
_TAIL_DEVICES, _TAIL_SHARE = 10, 0.01
WRONG = "wrong result"


@record
class Test:
    """One figure against one reference, as logarithms of speed. error: of the difference; freedom: of the error.

    plain: a loss that matters must show in full; what a device may have been faster before is not counted.
    """

    figure: Figure
    against: Against
    lost: float
    error: float
    freedom: float
    reference: float
    plain: bool = False


@record
class _Class:
    """Figures that are equal but for whose they are, and their middle. tail: so many lie below it, short of `least`."""

    figures: tuple[Figure, ...]
    speeds: tuple[float, ...]
    noises: tuple[float | None, ...]
    middle: Middle
    refused: int
    tail: int

    @property
    def long_tail(self) -> bool:
        """Whether more lie there than faults and luck explain: such devices differ by other laws than most do."""
        return self.tail > max(_TAIL_DEVICES, _TAIL_SHARE * len(self.figures))


def judge(figures: Sequence[Figure], rules: Rules | None = None, baseline: Baseline | None = None) -> Judged:
    """Every device, pair and node that has a figure above 0. baseline: what is known from before, if anything."""
    rules, known = rules or Rules(), baseline or Baseline()
    classes = _classes([f for f in figures if f.value > 0], rules)
    own = {of: known.own(of, key) for of, key in dict.fromkeys((f.of, f.key) for f in figures)}
    tests = [test for one in classes for test in _tests(one, known, own, rules)]
    chances = _chances(figures, tests, rules)
    spreads = tuple(_spread(one, known, chances, rules) for one in classes)
    standings = _standings(figures, tests, chances, rules)
    notes = (
        *_few(classes),
        *_majority(classes, chances, rules),
        *_moved(spreads, rules),
        *_refused(spreads),
        *_tails(classes, rules),
    )
    return Judged(standings, spreads, tuple(dict.fromkeys(notes)))


def _classes(figures: Sequence[Figure], rules: Rules) -> list[_Class]:
    by_class: dict[tuple[str, str], list[Figure]] = defaultdict(list)
    for figure in figures:
        by_class[figure.key, figure.id].append(figure)
    return [_class(tuple(found), rules) for found in by_class.values()]


def _class(figures: tuple[Figure, ...], rules: Rules) -> _Class:
    """Figures that were refused say nothing of what is usual, unless most of them were."""
    speeds, noises = tuple(log_speed(f.value, f.unit) for f in figures), tuple(map(noise, figures))
    trusted = [place for place, figure in enumerate(figures) if figure.trusted]
    speaking = trusted if 2 * len(trusted) >= len(figures) else range(len(figures))
    known = [own for place in speaking if (own := noises[place]) is not None]
    about = middle([speeds[place] for place in speaking], known, rules)
    tail = sum(_TAIL_FROM * about.spread <= about.centre - speeds[place] < rules.matters for place in speaking)
    return _Class(figures, speeds, noises, about, len(figures) - len(trusted), tail)


def _tests(one: _Class, known: Baseline, own: Mapping[str, Mapping[str, float]], rules: Rules) -> Iterator[Test]:
    """All of one class. own: what each was before, by id."""
    first, about = one.figures[0], one.middle
    references: list[tuple[Against, Middle, bool]] = []
    if about.count >= FEWEST:
        references.append(("peers", about, one.long_tail))
    if usual := known.usual(first.key, first.id):
        before = stored(log_speed(usual.median, usual.unit), usual.spread, usual.count, about, rules)
        references.append(("baseline", before, True))
    for against, reference, plain in references:
        for figure, at, noisy in zip(one.figures, one.speeds, one.noises, strict=True):
            yield Test(figure, against, reference.centre - at, reference.error(noisy), reference.freedom,
                       reference.centre, plain)  # fmt: skip
    yield from _itself(one, own, rules)


def _itself(one: _Class, own: Mapping[str, Mapping[str, float]], rules: Rules) -> Iterator[Test]:
    """Against its own past; where they are enough, beside how all of them have changed."""
    rows = [
        (figure, log_speed(was, figure.unit), at, noisy)
        for figure, at, noisy in zip(one.figures, one.speeds, one.noises, strict=True)
        if (was := own[figure.of].get(figure.id)) is not None and was > 0
    ]
    noises = [noisy for *_, noisy in rows if noisy is not None]
    changes = [at - was for _, was, at, _ in rows] if len(rows) >= FEWEST else [0.0]
    changed = middle(changes, noises, rules)
    for figure, was, at, noisy in rows:
        common = was + changed.centre
        yield Test(figure, "itself", common - at, changed.error(noisy), changed.freedom, common)


def _chances(figures: Sequence[Figure], tests: Sequence[Test], rules: Rules) -> dict[str, float]:
    """By node: the chance that each of its tests may spend."""
    devices = Counter(node for _, node in {(f.of, f.node) for f in figures if f.whose == "device"})
    counts = Counter(test.figure.node for test in tests)
    return {node: min(0.5, rules.false_alarms * max(1, devices[node]) / count) for node, count in counts.items()}


def _state(test: Test, chance: float, rules: Rules) -> State:
    matters = rules.matters
    if not test.plain:
        matters -= quantile(rules.missed, test.freedom) * test.error
    if test.lost >= quantile(chance, test.freedom) * test.error:
        return "out" if test.lost >= matters else "behind"
    return "unsure" if test.lost >= rules.matters else "ok"


def _standings(
    figures: Sequence[Figure], tests: Sequence[Test], chances: Mapping[str, float], rules: Rules
) -> tuple[Standing, ...]:
    by_owner: dict[str, list[Test]] = defaultdict(list)
    for test in tests:
        by_owner[test.figure.of].append(test)
    mine: dict[str, list[Figure]] = defaultdict(list)
    for figure in figures:
        mine[figure.of].append(figure)
    found = [_standing(own, by_owner[of], chances, rules) for of, own in mine.items()]
    return tuple(sorted(found, key=lambda one: (STATES.index(one.state), one.beside_peers or 1.0)))


def _standing(own: Sequence[Figure], tests: Sequence[Test], chances: Mapping[str, float], rules: Rules) -> Standing:
    states = [(test, _state(test, chances[test.figure.node], rules)) for test in tests]
    losses = [_loss(test, state, rules) for test, state in states if state != "ok"]
    state: State = min((state for _, state in states), key=STATES.index, default="alone")
    if any(WRONG in (figure.why_not or "") for figure in own):
        state = "out"
    (beside_peers, weakest), (beside_itself, changed) = (_score(tests, against) for against in ("peers", "itself"))
    return Standing(
        own[0].of,
        own[0].node,
        own[0].key,
        state,
        len(own),
        own[0].whose,
        beside_peers,
        weakest,
        beside_itself,
        changed,
        tuple(sorted(losses, key=lambda one: (STATES.index(one.state), one.share))),
    )


def _score(tests: Sequence[Test], against: str) -> tuple[float | None, str | None]:
    """Speed over the reference of the figure that is furthest behind it in errors, and its id."""
    mine = (test for test in tests if test.against == against)
    worst = max(mine, key=lambda test: test.lost / test.error, default=None)
    return (math.exp(-worst.lost), worst.figure.id) if worst else (None, None)


def _loss(test: Test, state: State, rules: Rules) -> Loss:
    figure, wide = test.figure, quantile(rules.missed, test.freedom) * test.error
    return Loss(
        figure.id,
        test.against,
        math.exp(-test.lost),
        math.exp(-test.lost - wide),
        math.exp(-test.lost + wide),
        beyond(test.lost / test.error, test.freedom),
        state,
        figure.value,
        figure_at(test.reference, figure.unit),
        figure.unit,
    )


def _spread(one: _Class, known: Baseline, chances: Mapping[str, float], rules: Rules) -> Spread:
    ordered = sorted(zip(one.speeds, one.figures, strict=True), key=lambda row: row[0])
    first, values = one.figures[0], sorted(figure.value for figure in one.figures)
    low, high = (at_share([figure.value for _, figure in ordered], part) for part in NINE_OF_TEN)
    usual, centre = known.usual(first.key, first.id), one.middle.centre
    seen, sure = _visible(one, chances, rules) if one.middle.count >= FEWEST else (None, None)
    return Spread(
        first.id, first.key, first.unit, len(values), values[0], low, figure_at(centre, first.unit), high, values[-1],
        one.middle.spread, ordered[0][1].of, math.exp(ordered[0][0] - centre), seen, sure,
        usual.median if usual else None,
        speed_ratio(figure_at(centre, first.unit), usual.median, first.unit) if usual else None, one.refused,
    )  # fmt: skip


def _visible(one: _Class, chances: Mapping[str, float], rules: Rules) -> tuple[float, float]:
    """The smallest loss against its equals that puts a usual device of this class out, and one that surely does."""
    error, freedom = one.middle.error(None), one.middle.freedom
    chance = median(chances[figure.node] for figure in one.figures)
    missed = quantile(rules.missed, freedom) * error
    large = rules.matters - (0.0 if one.long_tail else missed)
    seen = max(quantile(chance, freedom) * error, large)
    return -math.expm1(-seen), -math.expm1(-seen - missed)


def _few(classes: Sequence[_Class]) -> Iterator[str]:
    most: dict[str, int] = {}
    for one in classes:
        first = one.figures[0]
        if first.whose == "device":
            most[first.key] = max(most.get(first.key, 0), len(one.figures))
    for key, count in most.items():
        if count < FEWEST:
            yield NOTES["few"].format(key=key, count=count, least=FEWEST)


def _majority(classes: Sequence[_Class], chances: Mapping[str, float], rules: Rules) -> Iterator[str]:
    """Where many are faster than the median, it may be the median that is slow."""
    for one in classes:
        if one.middle.count < FEWEST:
            continue
        sure = max(rules.matters, quantile(min(chances.values()), one.middle.freedom) * one.middle.error(None))
        ahead, count = sum(at - one.middle.centre >= sure for at in one.speeds), len(one.speeds)
        if ahead >= max(2, _MANY * count):
            yield NOTES["majority"].format(id=one.figures[0].id, count=ahead, all=count, share=percent(rules.least))


def _moved(spreads: Sequence[Spread], rules: Rules) -> Iterator[str]:
    """Where today's median is not that of the baseline."""
    for spread in spreads:
        now = spread.of_baseline
        if now is None:
            continue
        if now < 1 - rules.least or now > 1 / (1 - rules.least):
            yield NOTES["below" if now < 1 else "above"].format(id=spread.id, share=percent(abs(now - 1), 2))


def _refused(spreads: Sequence[Spread]) -> Iterator[str]:
    """Where so many figures are not trusted that a reader should know: the worst ceiling of each kind."""
    by_key: dict[str, list[Spread]] = defaultdict(list)
    for spread in spreads:
        if spread.refused > _MANY * spread.count:
            by_key[spread.key].append(spread)
    for key, own in by_key.items():
        worst = max(own, key=lambda one: one.refused / one.count)
        yield NOTES["refused"].format(key=key, id=worst.id, count=worst.refused, all=worst.count, more=len(own) - 1)


def _tails(classes: Sequence[_Class], rules: Rules) -> Iterator[str]:
    for one in classes:
        if one.long_tail and one.figures[0].whose == "device":
            yield NOTES["tail"].format(
                id=one.figures[0].id, count=one.tail, all=len(one.figures), share=percent(rules.least)
            )
