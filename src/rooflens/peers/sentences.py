"""Every sentence about a fleet, in English, as all data is."""

from __future__ import annotations

SEEN: dict[str, str] = {
    "clock": "ran at {clock} where its equals ran at {all}",
    "warm": "once warm it ran at {clock} where its equals ran at {all}: power or heat",
    "limit": "its power limit is {limit} where that of its equals is {all}",
    "settled": "only settled rates are behind, fresh ones are not: power or heat, and no tool says which",
    "memory": "only memory is behind: errors that were corrected, replaced rows or the memory clock",
    "pcie": "only PCIe is behind",
    "half": "PCIe runs at {share} of its equals, as with half of the lanes",
    "quarter": "PCIe runs at {share} of its equals, as with a quarter of the lanes",
    "link": "only links to other devices are behind: {count} of its {all} pairs",
    "fresh": "compute is behind and memory is not, as with a low clock, which nobody says",
    "cache": "only caches or launches are behind, and nobody says why",
    "unknown": "nothing that was asked says why",
    "wrong": "a result was wrong, so its rates are worth nothing: {why}",
}
NOTES: dict[str, str] = {
    "few": "{key}: {count} are too few to tell by its equals which is slow, {least} are enough",
    "majority": "{id}: {count} of {all} are at least {share} faster than the median, so most may be slow; a baseline "
    "tells",
    "tail": "{id}: {count} of {all} lie far below the median and less than {share}, a long slow tail: only larger "
    "losses are named",
    "below": "{id}: today's median is {share} below the baseline: most of them are slow, or all have changed",
    "above": "{id}: today's median is {share} above the baseline: it was made of slow ones, or all have changed",
    "refused": "{key}: of {id} {count} of {all} figures are not trusted, and so of {more} more ceilings",
    "simulated": "simulated: nothing of this was measured",
    "budget": "{node}: time ran out before all was measured",
    "twice": "{node} counts once: {other} holds the same measurement, to the last digit",
    "missing": "{count} of {all} nodes have no file",
    "lacks": "{of}: no figure of {id}, which its equals have",
    "mute": "nothing was measured of {of}; measure this node again",
    "doubtful": "not one figure of all is trusted, so nobody is cleared; measure again while nothing else runs",
    "no_history": "{key}: not in the baseline; --save-baseline puts it there",
    "no_price": "{of}: what it costs is not known: {why}",
    "usual": "{key}: nobody is out, so nothing costs tokens: a group of the usual devices gives {rate} tokens/s",
    "wider": "a group of {count} is wider than any node here ({most}): its links are taken to be those "
    "inside of a node",
    "wiring": "its path is {kind} and that of most others in this place is {usual}",
    "alone": "of the pairs of its devices only this one is behind: its cable, its port or its place in the topology",
}
CONVENTIONS: dict[str, str] = {
    "score": "a score is speed over the median of its equals, or over its own past: of the figure that is furthest "
    "behind by what can be told from chance",
    "equals": "equals are devices of one name, driver and library, in one folder, measured for as long",
    "out": "out is who is behind by more than luck explains (one device of {devices} by mistake), and by {share}, or "
    "by so much that this cannot be ruled out",
    "spread": "a spread is robust, of devices about the median; that of few is drawn towards what is usual",
    "promised": "what is promised: the links that the node's tools show x the stated rate of one",
}
