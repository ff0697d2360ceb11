"""What an exporter is told: which engines, whose model and roofs, how often, and where it listens."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from urllib.parse import urlsplit

from rooflens.errors import BadFile, RooflensError
from rooflens.live.fetch import target as asked_for
from rooflens.readers.plain_yaml import plain_yaml
from rooflens.records import decode, quantity, record

MOST_TARGETS = 2000
LONGEST_NAME = 128
TIMEOUT_S = (0.05, 60.0)
SAYS_TIMEOUT = "from 0.05 s to 1 min"
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
    tp: int | None = None
    ep: int | None = None
    dp: int | None = None
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
    faults += [] if faults else [f"targets: two are called {name!r}; give them names" for name in _twice(found.targets)]
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
    limits = (
        ("interval_s", found.interval_s, 0.1, 3600, "from 0.1 s to 1 h"),
        ("timeout_s", found.timeout_s, *TIMEOUT_S, SAYS_TIMEOUT),
        ("most_bytes", found.most_bytes, 1e3, 1e9, "from 1 kB to 1 GB"),
    )
    faults = [f"{name}: {value:g}; {says}" for name, value, low, high, says in limits if not low <= value <= high]
    if not 1 <= len(found.targets) <= MOST_TARGETS:
        faults.append(f"targets: {len(found.targets)} of them; from 1 to {MOST_TARGETS} can be watched")
    try:
        address(found.listen)
    except ValueError as error:
        faults.append(f"listen: {error}")
    return faults


def _of_target(i: int, target: Target) -> list[str]:
    """What is wrong with a target. What may be a secret in a wrong place is not repeated."""
    faults = [
        f"{name}: {said}"
        for name in ("url", "dcgm")
        if (value := getattr(target, name)) is not None and (said := _address_fault(value))
    ]
    if target.token_env is not None and not re.fullmatch(r"[A-Za-z_]\w{0,127}", target.token_env, re.ASCII):
        faults.append("token_env: is no name of a variable; the token itself does not stand here")
    if target.token_env is not None and target.token_file is not None:
        faults.append("token_env and token_file: one of them")
    if target.timeout_s is not None and not TIMEOUT_S[0] <= target.timeout_s <= TIMEOUT_S[1]:
        faults.append(f"timeout_s: {target.timeout_s:g}; {SAYS_TIMEOUT}")
    if target.name is not None and not (0 < len(target.name) <= LONGEST_NAME and target.name.isprintable()):
        faults.append(f"name: from 1 to {LONGEST_NAME} letters that can be printed")
    if target.gpus and target.dcgm is None:
        faults.append("gpus: are those of the page that dcgm names; name one")
    return [f"targets[{i}].{fault}" for fault in faults]


def _address_fault(url: str) -> str | None:
    try:
        parts = urlsplit(url)
        if parts.username is not None or parts.password is not None:
            return "no password in an address; name its place with token_env or token_file"
        asked_for(url)
    except (ValueError, RooflensError):
        return "write http://HOST:PORT/metrics or https://..."
    return None


def _twice(targets: tuple[Target, ...]) -> list[str]:
    return [name for name, count in sorted(Counter(target.label for target in targets).items()) if count > 1]
