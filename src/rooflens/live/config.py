"""What an exporter is told: which engines, whose model and roofs, how often, and where it listens."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import urlsplit

from rooflens.errors import BadFile
from rooflens.readers.plain_yaml import plain_yaml
from rooflens.records import decode, quantity, record

MOST_TARGETS = 2000
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@record
class Target:
    """One engine. Secrets are named, never written here: token_env is a variable, token_file a file that holds it.

    name: the label of its series. model, weights, kv, tp, ep, dp: as on the command line, where the engine does not say
    it itself. on: whose roofs. dcgm: a DCGM exporter of the same GPUs, for the cross-check; gpus: their numbers there.
    """

    url: str
    name: str | None = None
    model: str | None = None
    on: str | None = None
    weights: str | None = None
    kv: str | None = None
    tp: int = 1
    ep: int = 1
    dp: int = 1
    token_env: str | None = None
    token_file: str | None = None
    ca_file: str | None = None
    timeout_s: float | None = quantity("s", default=None)
    dcgm: str | None = None
    gpus: tuple[int, ...] = ()

    @property
    def label(self) -> str:
        """What its series are called by: its name, else host and port of its address."""
        return self.name or urlsplit(self.url).netloc.rpartition("@")[2]


@record
class Export:
    """The whole configuration. Times take units: `interval_s: 5 s`."""

    targets: tuple[Target, ...]
    interval_s: float = quantity("s", default=15.0)
    timeout_s: float = quantity("s", default=5.0)
    listen: str = "127.0.0.1:9494"
    most_bytes: float = quantity("B", default=8e6)


def config(path: Path) -> Export:
    """The configuration in this file, checked. Raises BadFile with every fault."""
    found = decode(Export, plain_yaml(path), str(path))
    faults = [*_faults(found), *(fault for i, target in enumerate(found.targets) for fault in _of_target(i, target))]
    labels = [target.label for target in found.targets]
    faults += [f"targets: two are called {label!r}; give them names" for label in _twice(labels)]
    if faults:
        raise BadFile(str(path), faults)
    return found


def address(listen: str) -> tuple[str, int]:
    """Host and port of `127.0.0.1:9494` or `[::1]:9494`. Raises ValueError for anything else."""
    found = re.fullmatch(r"(?:\[([0-9a-fA-F:]+)\]|([^:\[\]]+)):(\d{1,5})", listen)
    if not found or not 0 <= int(found[3]) < 1 << 16:
        raise ValueError(f"{listen!r} is no address; write HOST:PORT, as 127.0.0.1:9494")
    return found[1] or found[2], int(found[3])


def _faults(found: Export) -> list[str]:
    faults = []
    if not 1 <= len(found.targets) <= MOST_TARGETS:
        faults.append(f"targets: {len(found.targets)} of them; from 1 to {MOST_TARGETS} can be watched")
    if not 0.1 <= found.interval_s <= 3600:
        faults.append(f"interval_s: {found.interval_s:g} s; from 0.1 s to 1 h")
    if not 0.05 <= found.timeout_s <= 60:
        faults.append(f"timeout_s: {found.timeout_s:g} s; from 0.05 s to 60 s")
    if not 1e3 <= found.most_bytes <= 1e9:
        faults.append(f"most_bytes: {found.most_bytes:g} B; from 1 kB to 1 GB")
    try:
        address(found.listen)
    except ValueError as error:
        faults.append(f"listen: {error}")
    return faults


def _of_target(i: int, target: Target) -> list[str]:
    where, faults = f"targets[{i}]", []
    for name in ("url", "dcgm"):
        value = getattr(target, name)
        if value is not None and (said := _address_fault(value)):
            faults.append(f"{where}.{name}: {said}")
    if target.token_env and target.token_file:
        faults.append(f"{where}: token_env and token_file; one of them")
    return faults


def _address_fault(url: str) -> str | None:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        return "write http://HOST:PORT/metrics or https://..."
    if parts.username or parts.password:
        return "no password in an address; name its place with token_env or token_file"
    return None


def _twice(names: list[str]) -> list[str]:
    return sorted({name for name in names if names.count(name) > 1})
