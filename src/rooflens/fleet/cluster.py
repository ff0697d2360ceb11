"""The one door to Ray: joining a cluster that is there, or one of our own, or a sentence why not."""

from __future__ import annotations

import re
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rooflens.errors import RooflensError
from rooflens.records import field, record

PROBE_S = 60.0
KNOCK_S = 10.0
LOCAL = "local"
AUTO, CLIENT = "auto", "ray://"
LONGEST = 300  # characters of what Ray says
QUIET = {"log_to_driver": False, "logging_level": "ERROR"}
PROBE = """
import sys, ray
try:
    ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
except BaseException as error:
    print(f"{type(error).__name__}: {error}")
    sys.exit(3)
"""


@record
class Joining:
    """How a verb joins Ray.

    otherwise: how the same is done without Ray, to stand behind "or". brings: a runtime environment of Ray's; asked:
    what somebody wishes of it, over that, by the option `asked_by`. processors: of a Ray of its own, which `local`
    starts; a Ray that this process has joined before is then used and stays. None: a cluster of others, and no other.
    """

    address: str
    otherwise: str
    brings: Mapping[str, Any] = field(default_factory=dict)
    asked: Mapping[str, Any] = field(default_factory=dict)
    asked_by: str = ""
    processors: int | None = None


@contextmanager
def joined(how: Joining) -> Iterator[Any]:
    """Ray, joined. Raises RooflensError, saying what to do, where it is missing or cannot be."""
    ray = imported(how.otherwise)
    if how.processors is not None and ray.is_initialized():
        yield ray
        return
    _join(ray, how)
    try:
        yield ray
    finally:
        ray.shutdown()


def ours() -> dict[str, Any]:
    """Of a runtime environment: our own code as it is here, brought to the nodes."""
    import rooflens

    return {"py_modules": [str(Path(rooflens.__file__).parent)], "excludes": ["**/__pycache__/**", "*.pyc"]}


def imported(otherwise: str) -> Any:
    """Ray itself. Raises RooflensError where it is not installed or does not load."""
    try:
        import ray
    except ImportError as error:
        why = "is not installed" if isinstance(error, ModuleNotFoundError) else f"does not load ({error})"
        raise RooflensError(f"Ray {why}; pip install 'rooflens[fleet]', or {otherwise}") from None
    return ray


def _join(ray: Any, how: Joining) -> None:
    """Raises RooflensError for every way in which it does not work."""
    own: dict[str, Any] = {}
    if how.processors is not None and how.address == LOCAL:
        own = {"num_cpus": how.processors, "include_dashboard": False}
    else:
        knock(how)
        if said := why_not(how.address):
            raise refused(how, said)
    try:
        ray.init(address=how.address, runtime_env={**how.brings, **how.asked}, **own, **QUIET)
    except Exception as error:  # noqa: BLE001 - Ray raises of every kind, and each is a sentence
        if how.asked and isinstance(error, (TypeError, ValueError)):
            raise RooflensError(f"{how.asked_by}: Ray does not take it: {first_line(str(error))}") from None
        raise refused(how, f"{type(error).__name__}: {error}") from None


def knock(how: Joining) -> None:
    """Whether anybody listens there. Ray itself would try for minutes. Raises RooflensError when nobody does."""
    if how.address == AUTO:
        return
    host, _, port = how.address.removeprefix(CLIENT).rpartition(":")
    if not host or not port.isdigit() or not 0 < int(port) < 1 << 16:
        end = "" if how.processors is None else f", or {LOCAL} for a Ray of its own"
        raise RooflensError(
            f"--ray {how.address}: write auto, HOST:PORT as `ray start --head` printed it, or ray://HOST:PORT{end}"
        )
    try:
        with closing(socket.create_connection((host.strip("[]"), int(port)), KNOCK_S)):
            return
    except OSError as error:
        why = "no answer" if isinstance(error, TimeoutError) else (error.strerror or str(error)).lower()
        raise RooflensError(
            f"no Ray cluster at {how.address}: {why}; `ray start --head` prints the address, `ray status` asks it"
        ) from None


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


def refused(how: Joining, said: str) -> RooflensError:
    """Why a cluster could not be joined, as a sentence."""
    versions = re.findall(r"Ray: (\S+)\s+Python: (\S+)", said)
    if "ersion mismatch" in said and len(versions) == 2:
        (its_ray, its_python), (our_ray, our_python) = versions
        return RooflensError(
            f"the cluster at {how.address} runs Ray {its_ray} on Python {its_python}, and here is Ray {our_ray} on "
            f"Python {our_python}; Ray joins only equal ones: run this from an environment as on the cluster's nodes"
        )
    if "find any running Ray instance" in said:
        return RooflensError(
            "no Ray cluster runs on this machine; start one (ray start --head), name one (--ray HOST:PORT), or "
            f"{how.otherwise}"
        )
    return RooflensError(f"the Ray cluster at {how.address} cannot be joined: {first_line(said)}")


def here() -> str:
    """The node that this runs on, of whom Ray runs."""
    import ray

    found: str = ray.get_runtime_context().get_node_id()
    return found


def on_node(id: str) -> Any:
    """Ray's word for: there and nowhere else."""
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    return NodeAffinitySchedulingStrategy(id, soft=False)


def first_line(text: str) -> str:
    """The first line that says anything, without what stands around it: Ray may say pages."""
    return next((line.strip() for line in text.splitlines() if line.strip()), "no reason is given")[:LONGEST]


def last_line(text: str) -> str:
    """The last line, where Python says what was wrong."""
    return first_line("\n".join(reversed(text.splitlines())))
