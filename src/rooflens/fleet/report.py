"""One report of many machines: who is out, why, whose links, what was not measured."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence

from rooflens.fleet.gathered import NodeFile
from rooflens.fleet.linked import Links, SlowLink, accused, links_of, slow_link, usual_paths
from rooflens.peers.causes import Causes, Known
from rooflens.peers.history import Baseline
from rooflens.peers.judging import FEWEST, judge
from rooflens.peers.record import STATES, Figure, Key, Rules, Spread, Standing
from rooflens.peers.sentences import CONVENTIONS, NOTES
from rooflens.peers.wiring import blamed, ends
from rooflens.records import field, html, record, replace
from rooflens.roofline.collective import both_ways
from rooflens.units import percent

SCHEMA = "rooflens/fleet/1"
MOST_LACKS = 3  # named in a note
FEW_LACK = 0.5  # of the equals that have a figure, from which on it is missed


@record
class Kind:
    """Devices that are set beside each other."""

    key: Key
    nodes: int
    devices: int
    out: int


@record
class Silent:
    """A node without figures, of itself or of a device: it died, hung, sent garbage or refused, or so is its file."""

    node: str
    state: str
    why: str
    attempts: int | None = None


@record
class Report:
    """The answer. devices: all of them, worst first. spreads: of devices; those of pairs and operations in `links`.

    nodes: with a file, of so many `expected`. silent: nodes that gave no figures. warned: devices that are not behind
    and whose tools name a fault.
    """

    _repr_html_ = html

    healthy: bool
    nodes: int
    counts: Mapping[str, int]
    kinds: tuple[Kind, ...]
    devices: tuple[Standing, ...]
    spreads: tuple[Spread, ...]
    links: tuple[Links, ...] = ()
    slow_links: tuple[SlowLink, ...] = ()
    silent: tuple[Silent, ...] = ()
    warned: tuple[Standing, ...] = ()
    notes: tuple[str, ...] = ()
    expected: int | None = None
    baseline: str | None = None
    asked: Mapping[str, str] = field(default_factory=dict)
    rules: Rules = Rules()
    conventions: Mapping[str, str] = field(default_factory=dict)

    @property
    def out(self) -> tuple[Standing, ...]:
        """Devices that are out, worst first."""
        return tuple(one for one in self.devices if one.state == "out")


def report(
    files: Sequence[NodeFile], baseline: Baseline | None = None, rules: Rules | None = None, expected: int | None = None
) -> Report:
    """All nodes of a folder, judged. baseline: what is known from before. expected: how many nodes there should be."""
    rules = rules or Rules()
    figures = placed_figures(files)
    found = judge(figures, rules, baseline)
    keys = {of: key for one in files for of, key in one.keys.items()}
    causes = Causes(figures, _known(files), {of: key.text for of, key in keys.items()})
    devices, slow = _explained(files, found.standings, causes)
    silent = tuple(_silent(files))
    counts = Counter[str](one.state for one in devices)
    warned = tuple(
        replace(one, reasons=faults) for one in devices if one.state != "out" and (faults := causes.faults(one.of))
    )
    of_devices = [figure for figure in figures if figure.whose == "device"]
    own = {figure.id for figure in of_devices}
    doubtful = [NOTES["doubtful"]] if of_devices and not any(figure.trusted for figure in of_devices) else []
    return Report(
        healthy=not (counts["out"] or slow or silent or doubtful) and len(files) >= (expected or 0),
        nodes=len(files),
        counts=dict(counts),
        kinds=tuple(_kinds(devices, keys)),
        devices=devices,
        spreads=tuple(spread for spread in found.spreads if spread.id in own),
        links=tuple(links_of(files, figures)),
        slow_links=slow,
        silent=silent,
        warned=warned,
        notes=tuple(dict.fromkeys([*doubtful, *found.notes, *_about(files, expected), *_lacking(figures, keys),
                                   *_unknown(keys, baseline)])),
        expected=expected,
        rules=rules,
        conventions=_conventions(rules),
    )  # fmt: skip


def _silent(files: Sequence[NodeFile]) -> Iterator[Silent]:
    """Nodes of which there is nothing, or nothing of one of their devices."""
    for one in files:
        speaking = {figure.of for figure in one.figures}
        mute = [of for of in one.keys if of not in speaking]
        if one.state != "measured":
            yield Silent(one.node, one.state, one.why or "", one.attempts)
        elif mute:
            yield Silent(one.node, "incomplete", NOTES["mute"].format(of=", ".join(mute)))


def _conventions(rules: Rules) -> dict[str, str]:
    devices, share = f"{1 / rules.false_alarms:,.0f}", percent(rules.least)
    return {name: text.format(devices=devices, share=share) for name, text in CONVENTIONS.items()}


def placed_figures(files: Sequence[NodeFile]) -> tuple[Figure, ...]:
    """The figures as they are set beside each other."""
    return tuple(_placed([figure for one in files for figure in one.figures]))


def _placed(figures: Sequence[Figure]) -> Iterator[Figure]:
    """Pairs are equal to the same two devices of other nodes; where these are few, to all pairs of theirs."""
    nodes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for figure in figures:
        if figure.whose == "pair":
            nodes[figure.key, figure.id].add(figure.node)
    for figure in figures:
        if figure.whose == "pair" and len(nodes[figure.key, figure.id]) < FEWEST:
            yield replace(figure, id="link/both" if both_ways(figure.id) else "link/pair")
        else:
            yield figure


def _known(files: Sequence[NodeFile]) -> dict[str, Known]:
    return {
        of: Known(tuple(f for f in one.findings if number in f.gpus), one.distrust.get(of, ()), one.limits_w.get(of))
        for one in files
        for of, number in one.numbers.items()
    }


def _explained(
    files: Sequence[NodeFile], standings: Sequence[Standing], causes: Causes
) -> tuple[tuple[Standing, ...], tuple[SlowLink, ...]]:
    """Devices with their reasons, those of slow links among them, and the links that are slow by themselves."""
    by_node: dict[str, list[Standing]] = defaultdict(list)
    for one in standings:
        by_node[one.node].append(one)
    own: dict[str, tuple[Standing, ...]] = {}
    slow: list[SlowLink] = []
    usual = usual_paths(files)
    for file in files:
        found = blamed([one for one in by_node[file.node] if one.whose == "pair"], accused(file.findings))
        by_number = {number: of for of, number in file.numbers.items()}
        own |= {by_number.get(number, f"{file.node}/{number}"): pairs for number, pairs in found.devices.items()}
        slow += [slow_link(one, file, usual) for one in found.pairs]
        if not found.devices and not found.pairs:
            operations = [one for one in by_node[file.node] if one.whose == "node" and one.state == "out"]
            slow += [SlowLink(one.of, one.node, one.losses[0]) for one in operations[:1]]
    counts = {file.node: len(file.numbers) - 1 for file in files}
    devices = [_reasoned(one, own.get(one.of, ()), counts, causes) for one in standings if one.whose == "device"]
    return tuple(sorted(devices, key=_worst_first)), tuple(sorted(slow, key=lambda one: one.loss.share))


def _reasoned(one: Standing, pairs: Sequence[Standing], counts: Mapping[str, int], causes: Causes) -> Standing:
    """A device with what its slow pairs say of it, and why."""
    if pairs:
        losses = [replace(pair.losses[0], id=f"link/{pair.of.rpartition('/')[2]}") for pair in pairs]
        worst = min(losses, key=lambda loss: loss.share)
        least = min(worst.share, one.beside_peers or 1.0)
        weakest = worst.id if least == worst.share else one.weakest
        one = replace(one, state="out", losses=(*one.losses, worst), beside_peers=least, weakest=weakest)
    if not one.losses and one.state != "out":
        return one
    return replace(one, reasons=causes.reasons(one, (len({ends(pair.of) for pair in pairs}), counts[one.node])))


def _worst_first(one: Standing) -> tuple[int, float]:
    return STATES.index(one.state), one.worst


def _kinds(devices: Sequence[Standing], keys: Mapping[str, Key]) -> Iterator[Kind]:
    by_key: dict[str, list[Standing]] = defaultdict(list)
    for one in devices:
        by_key[one.key].append(one)
    for _, own in sorted(by_key.items(), key=lambda row: (-len(row[1]), row[0])):
        yield Kind(keys[own[0].of], len({one.node for one in own}), len(own), sum(one.state == "out" for one in own))


def _about(files: Sequence[NodeFile], expected: int | None) -> Iterator[str]:
    """Of the nodes as a whole."""
    if expected and len(files) < expected:
        yield NOTES["missing"].format(count=expected - len(files), all=expected)
    yield from (note for one in files for note in one.notes)


def _lacking(figures: Sequence[Figure], keys: Mapping[str, Key]) -> Iterator[str]:
    """Who has some figures, and not one that most of its equals have."""
    speaking = {figure.of for figure in figures}
    ids: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for figure in figures:
        if figure.whose == "device":
            ids[figure.key][figure.id].add(figure.of)
    devices: dict[str, list[str]] = defaultdict(list)
    for of, own_key in keys.items():
        devices[own_key.text].append(of)
    missing: dict[str, list[str]] = defaultdict(list)
    for key, own in ids.items():
        for id, have in own.items():
            if FEW_LACK * len(devices[key]) < len(have) < len(devices[key]):
                for of in devices[key]:
                    missing[of] += [] if of in have else [id]
    for of, lost in missing.items():
        if lost and of in speaking:
            more = f", ... ({len(lost)})" if len(lost) > MOST_LACKS else ""
            yield NOTES["lacks"].format(of=of, id=", ".join(lost[:MOST_LACKS]) + more)


def _unknown(keys: Mapping[str, Key], baseline: Baseline | None) -> Iterator[str]:
    if baseline is not None:
        for text in dict.fromkeys(key.text for key in keys.values()):
            if text not in baseline.kinds:
                yield NOTES["no_history"].format(key=text)
