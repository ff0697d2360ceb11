"""Collectives inside one host as a library and an engine do them: latency, meetings, and the bytes of an algorithm."""

from __future__ import annotations

from rooflens.arrays import Number, minimum
from rooflens.catalogue.kernels import ExchangeCommon, ExchangeCosts
from rooflens.operators.collectives import Group, ways
from rooflens.operators.rows import Collective
from rooflens.records import record
from rooflens.roofline.ceilings import Machine
from rooflens.roofline.links import PCIE


@record
class Exchange:
    """Collectives over links of this rate in one direction.

    bridged: devices that share the bridges of a host, where there is no link of their own. own: whether the engine has
    all-reduce kernels of its own beside the library's.
    """

    link_bytes_per_s: float
    costs: ExchangeCosts
    common: ExchangeCommon
    bridged: bool = False
    own: bool = False

    def time_s(self, name: Collective, devices: int, message_bytes: Number) -> Number:
        """By the protocol that is fastest for this message."""
        return minimum(self.by_protocol_s(name, devices, message_bytes).values())

    def by_protocol_s(self, name: Collective, devices: int, message_bytes: Number) -> dict[str, Number]:
        """Seconds of this message among so many, two or more, by each protocol."""
        common, beyond = self.common, devices - 2.0
        sent = {way.algorithm: way.link_bytes * message_bytes for way in ways(name, Group(devices))}
        bridges = self.bridged * common.bridge_s * beyond
        rate = self.costs.link * self.link_bytes_per_s * (left(devices, common) if self.bridged else 1.0)
        start = self.costs.ring_s + bridges + common.hop_s * beyond
        if name == "send":
            return {"copy": start + sent["one-shot"] / rate}
        found = {
            "low-latency ring": start + sent["ring"] / (rate * common.quick),
            "ring": start + common.bulk_s * (devices / 2.0) ** 0.5 + sent["ring"] / rate,
        }
        if self.own and name == "all-reduce":
            found["one-shot"] = self.costs.own_s + bridges + sent["one-shot"] / rate
            found["two-shot"] = self.costs.own_s + bridges + common.two_shot_s + sent["two-shot"] / rate
        return found


def bridged(there: Machine | None) -> bool:
    """Whether devices talk over the bridges of their host, having no link of their own."""
    return there is not None and there.link == PCIE


def left(devices: float, common: ExchangeCommon) -> float:
    """The share of a link's rate that is left of bridges which so many devices share: (2 / devices) ^ shared."""
    return float((2.0 / devices) ** common.shared)
