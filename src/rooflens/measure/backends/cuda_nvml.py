"""What the NVIDIA driver says of a card: its state while it works, and what limits trust in it."""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from rooflens.measure.backend import State
from rooflens.measure.backends.host import of_this_run
from rooflens.records import record
from rooflens.samples import median

POLL_S = 0.02
MEGA = 1e6
REASONS = {
    0x2: "application clocks",
    0x4: "power cap",
    0x8: "hardware slowdown",
    0x10: "sync boost",
    0x20: "thermal limit (software)",
    0x40: "thermal limit (hardware)",
    0x80: "power brake",
}


@record
class Sample:
    """One look at the card."""

    clock_hz: float | None
    power_w: float | None
    temperature_c: float | None
    reasons: int = 0

    def held(self) -> tuple[str, ...]:
        """What holds the clock down, in words."""
        return tuple(said for bit, said in REASONS.items() if self.reasons & bit)


class Nvml:
    """The driver's management library for one card; every answer is None where it has none."""

    def __init__(self, bus_id: str) -> None:
        self.why_not = ""
        self._nvml: Any = None
        self._handle: Any = None
        try:
            import pynvml

            pynvml.nvmlInit()
            self._handle = pynvml.nvmlDeviceGetHandleByPciBusId(bus_id)
            self._nvml = pynvml
        except ImportError:
            self.why_not = "nvidia-ml-py is not installed, so clocks, power and throttling are not known"
        except Exception as error:  # noqa: BLE001  (NVML raises classes of its own making)
            self.why_not = f"the driver's management library does not answer ({error})"

    def ask(self, function: str, *more: Any) -> Any:
        """nvml{function}(card, ...), or None."""
        if self._nvml is None:
            return None
        try:
            return getattr(self._nvml, f"nvml{function}")(self._handle, *more)
        except Exception:  # noqa: BLE001  (not supported, not permitted, not in this version)
            return None

    def constant(self, name: str) -> Any:
        """A constant of the library, None where it is too old for it."""
        return getattr(self._nvml, f"NVML_{name}", None)

    def general(self, function: str, *more: Any) -> Any:
        """nvml{function}(...) of the system, or None."""
        try:
            return getattr(self._nvml, f"nvml{function}")(*more)
        except Exception:  # noqa: BLE001  (as above)
            return None

    def look(self) -> Sample:
        """Clock, power, temperature and what holds the clock down."""
        clock = self.ask("DeviceGetClockInfo", self.constant("CLOCK_SM"))
        milliwatts = self.field("FI_DEV_POWER_INSTANT") or self.ask("DeviceGetPowerUsage")
        reasons = self.ask("DeviceGetCurrentClocksThrottleReasons") or 0
        return Sample(
            clock and clock * MEGA,
            milliwatts and milliwatts / 1e3,
            self.ask("DeviceGetTemperature", self.constant("TEMPERATURE_GPU")),
            reasons,
        )

    def field(self, name: str) -> float | None:
        """A field of the card that the driver keeps as an unsigned number."""
        which = self.constant(name)
        answer = self.ask("DeviceGetFieldValues", [which]) if which else None
        return float(answer[0].value.uiVal) if answer and not answer[0].nvmlReturn else None

    def linked(self, bus_id: str) -> bool:
        """Whether the driver says that NVLink joins this card to the one at this place."""
        other, index = self.general("DeviceGetHandleByPciBusId", bus_id), self.constant("P2P_CAPS_INDEX_NVLINK")
        if other is None or index is None:
            return False
        return bool(self.ask("DeviceGetP2PStatus", other, index) == self.constant("P2P_STATUS_OK"))

    def others(self) -> tuple[str, ...]:
        """A sentence for each process on the card that is none of this run's.

        In a container the numbers may not be ours to compare.
        """
        found = self.ask("DeviceGetComputeRunningProcesses") or []
        others = [p for p in found if not of_this_run(p.pid)]
        foreign = others if len(others) < len(found) else others[1:]  # else one of them is us under another number
        return tuple(f"process {p.pid} is on the card too" for p in foreign)


class Watch:
    """Looks at the card every few milliseconds from a thread of its own; `state` says how it was since last asked."""

    def __init__(self, look: Callable[[], Sample]) -> None:
        self._look = look
        self._seen: list[Sample] = []
        self._ended, self._looks = threading.Event(), threading.Event()
        self._looks.set()
        self._thread = threading.Thread(target=self._watch, daemon=True, name="rooflens-watch")
        self._thread.start()

    def state(self) -> State:
        """Medians of the later half of what was seen since the last call, and every reason seen in it."""
        seen, self._seen = self._seen, []
        return summary(seen or [self._look()])

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Looks away, so that launching from this process is not disturbed."""
        self._looks.clear()
        try:
            yield
        finally:
            self._looks.set()

    def close(self) -> None:
        """Stop looking."""
        self._ended.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._ended.wait(POLL_S):
            if self._looks.is_set():
                self._seen.append(self._look())


def summary(seen: list[Sample]) -> State:
    """The later half of samples as one state: it speaks for a card that has settled."""
    late = seen[len(seen) // 2 :]
    reasons = 0
    for sample in late:
        reasons |= sample.reasons
    return State(
        clock_hz=_median(s.clock_hz for s in late),
        power_w=_median(s.power_w for s in late),
        temperature_c=_median(s.temperature_c for s in late),
        throttle=tuple(said for bit, said in REASONS.items() if reasons & bit),
    )


def _median(values: Iterator[float | None]) -> float | None:
    known = [v for v in values if v is not None]
    return float(median(known)) if known else None


def topology() -> str:
    """`nvidia-smi topo -m` as it prints; empty where there is none."""
    try:
        done = subprocess.run(["nvidia-smi", "topo", "-m"], capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout
