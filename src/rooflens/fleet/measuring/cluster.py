"""A Ray cluster, reached: its nodes by name, or a sentence why not."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, redirect_stdout, suppress
from pathlib import Path
from typing import Any

from rooflens.errors import RooflensError
from rooflens.fleet.measuring.record import Asking
from rooflens.records import field, record

PROBE_S = 60.0
KNOCK_S = 5.0
WITHOUT_RAY = "or let each node run rooflens measure -o FOLDER/$HOSTNAME.json (docs/fleet-measure.md)"
ACCELERATORS = ("TPU", "HPU", "NPU", "neuron_cores", "RBLN")  # beside GPU, as Ray counts them
PROBE = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
except BaseException as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(3)
"""
CLIENT = "ray://"
NO_WORK = "it offers neither processors nor accelerators to Ray's tasks"


@record
class Place:
    """A node as Ray sees it. taken: what else of it a measurement takes whole, by Ray's names."""

    name: str
    id: str
    cpus: float = 0.0
    gpus: float = 0.0
    taken: Mapping[str, float] = field(default_factory=dict)

    @property
    def works(self) -> bool:
        """Whether it takes work at all: the head of many a cluster does not."""
        return bool(self.cpus or self.gpus or self.taken)


@contextmanager
def connected(address: str, asking: Asking) -> Iterator[Any]:
    """Ray, joined to the cluster. Raises RooflensError, saying what to do, where it is missing or cannot be.

    Meanwhile nothing reaches standard output: Ray prints there what nodes log as they die, between our own lines.
    """
    ray = _imported()
    _knock(address)
    _probe(address)
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        try:
            ray.init(address=address, log_to_driver=False, logging_level="ERROR", runtime_env=_environment(asking))
        except Exception as error:  # noqa: BLE001 - Ray raises of every kind, and each is a sentence
            raise refused(address, f"{type(error).__name__}: {error}") from None
        try:
            yield ray
        finally:
            ray.shutdown()


def places(ray: Any) -> tuple[Place, ...]:
    """All nodes that are alive, by name: that of Ray where one was given, else of the host, made unlike where equal."""
    alive = [node for node in ray.nodes() if node["Alive"]]
    names = [_name(node) for node in alive]
    count = Counter(names)
    unlike = (name if count[name] == 1 else f"{name}-{n['NodeID'][:8]}" for name, n in zip(names, alive, strict=True))
    found = [_place(name, node) for name, node in zip(unlike, alive, strict=True)]
    return tuple(sorted(found, key=lambda place: place.name))


def _name(node: Mapping[str, Any]) -> str:
    given = str(node.get("NodeName") or "")
    return given if given and given != node["NodeManagerAddress"] else str(node["NodeManagerHostname"])


def _place(name: str, node: Mapping[str, Any]) -> Place:
    has = node["Resources"]
    others = {kind: has[kind] for kind in ACCELERATORS if has.get(kind)}
    return Place(name, node["NodeID"], has.get("CPU", 0.0), has.get("GPU", 0.0), others)


def _imported() -> Any:
    try:
        import ray
    except ImportError as error:
        why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"does not load ({error})"
        raise RooflensError(f"Ray {why}; pip install 'rooflens[fleet]', {WITHOUT_RAY}") from None
    return ray


def _environment(asking: Asking) -> dict[str, Any]:
    """What Ray brings to the nodes: our own code as it is here, and packages where some are named."""
    import rooflens

    found: dict[str, Any] = {}
    if asking.ships:
        home = str(Path(rooflens.__file__).parent)
        found |= {"py_modules": [home], "excludes": ["**/__pycache__/**", "*.pyc"]}
    return found | ({"pip": list(asking.pip)} if asking.pip else {})


def _knock(address: str) -> None:
    """Whether anybody listens there. Ray itself would try for minutes. Raises RooflensError when nobody does."""
    if address == "auto":
        return
    host, colon, port = address.removeprefix(CLIENT).rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        raise RooflensError(
            f"--ray {address}: write auto, HOST:PORT as `ray start --head` printed it, or ray://HOST:PORT"
        )
    try:
        with closing(socket.create_connection((host, int(port)), KNOCK_S)):
            return
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
        raise RooflensError(
            f"no Ray cluster at {address}: {why}; `ray start --head` prints the address, `ray status` asks it"
        ) from None


def _probe(address: str) -> None:
    """Raises RooflensError where it cannot be joined."""
    if said := why_not(address):
        raise refused(address, said)


def why_not(address: str) -> str:
    """What Ray says of joining it, "" where it can be joined.

    Asked of a process that joins and leaves, since whoever joins something that is no Ray never returns.
    """
    try:
        done = subprocess.run(
            [sys.executable, "-c", PROBE, address], capture_output=True, text=True, timeout=PROBE_S, check=False,
            stdin=subprocess.DEVNULL, errors="replace",
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"it gave no answer that Ray understands within {PROBE_S:g} s"
    return (done.stdout.strip() or f"joining it ended with exit code {done.returncode}") if done.returncode else ""


def refused(address: str, said: str) -> RooflensError:
    """Why a cluster could not be joined, as a sentence."""
    versions = re.findall(r"Ray: (\S+)\s+Python: (\S+)", said)
    if "ersion mismatch" in said and len(versions) == 2:
        (its_ray, its_python), (our_ray, our_python) = versions
        return RooflensError(
            f"the cluster at {address} runs Ray {its_ray} on Python {its_python}, and here is Ray {our_ray} on Python "
            f"{our_python}; Ray joins only equal ones: run this from an environment as on the cluster's nodes"
        )
    if "find any running Ray instance" in said:
        return RooflensError(
            "no Ray cluster runs on this machine; start one (ray start --head), or name one (--ray HOST:PORT), "
            f"{WITHOUT_RAY}"
        )
    with suppress(StopIteration):
        said = next(line.strip() for line in said.splitlines() if line.strip())
    return RooflensError(f"the Ray cluster at {address} cannot be joined: {said[:300]}")
