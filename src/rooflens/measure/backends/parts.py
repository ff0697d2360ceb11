"""What members of a group hold and what each must have after a collective: small whole numbers, exact in 16 bits.

Device r of n holds value(r, i) = (i + r) mod 8. Parts are whole multiples of eight long, so that eight numbers tell a
whole part: of a sum that of all devices, else that of the device it came from.
"""

from __future__ import annotations

from rooflens.roofline.collective import Operation

PERIOD = 8


def value(rank: int, place: int) -> int:
    """What device `rank` holds at a place."""
    return (place + rank) % PERIOD


def patterns(operation: Operation, devices: int) -> list[list[int]]:
    """Eight numbers for each part of what a device must have, in order; every device must have the same."""
    if operation in ("all-reduce", "reduce-scatter"):
        return [[sum(value(rank, place) for rank in range(devices)) for place in range(PERIOD)]]
    return [[value(rank, place) for place in range(PERIOD)] for rank in range(devices)]


def result_bytes(operation: Operation, size_bytes: int, devices: int) -> int:
    """How much of it a device has afterwards."""
    return size_bytes // devices if operation == "reduce-scatter" else size_bytes
