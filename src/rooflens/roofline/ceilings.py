"""A machine as a set of ceilings: one rate a resource, each with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Literal

from rooflens.errors import NoPath
from rooflens.records import field, html, record, replace

Kind = Literal["compute", "memory", "link", "launch", "power"]
Origin = Literal["spec", "measured", "derived", "assumed"]
Mode = Literal["burst", "sustained"]
UNITS: dict[str, str] = {"compute": "FLOP/s", "memory": "B/s", "link": "B/s", "launch": "s", "power": "W"}


@record
class Ceiling:
    """One rate that nothing on this machine exceeds.

    value: FLOP/s for compute, byte/s for memory and link, seconds for launch, watts for power.
    compute: `dtype` and `path` ("matrix" for tensor or matrix units, "vector" for CUDA cores and SIMD lanes).
    memory:  `level` ("main", "L2", "L1" ...) and `access` ("read", "write", "copy", "triad"; None: any).
    link:    `level` names it ("nvlink", "pcie", "network"); value is one direction. `access` where it was measured: a
             copy ("0-1"), a collective's bus rate ("all-reduce"), or that of one protocol of it ("all-reduce/short").
    launch:  `level` "device" (fixed cost a kernel), "host" (cost a launch, a clock of its own) or "link:nvlink" (what
             a step of a collective waits on that link beside its bytes).
    devices: how many were measured together, for a protocol of a collective; None where it is of one, or not said.
    0 means that the path does not exist; a ceiling that is not known is not in the list.
    best: the best of `samples` (both in `unit`) where it was measured; `value` is then their median.
    """

    id: str
    kind: Kind
    value: float
    origin: Origin
    unit: str = ""
    dtype: str | None = None
    path: str | None = None
    level: str | None = None
    access: str | None = None
    mode: Mode | None = None
    working_set_bytes: float | None = None
    clock_hz: float | None = None
    power_w: float | None = None
    throttle: str | None = None
    trusted: bool = True
    why_not: str | None = None
    samples: tuple[float, ...] = ()
    best: float | None = None
    source: str | None = None
    note: str | None = None
    devices: int | None = None

    def __post_init__(self) -> None:
        if not self.unit:
            object.__setattr__(self, "unit", UNITS[self.kind])

    @property
    def floor_value(self) -> float:
        """What a floor may count on: the best sample, or the value where none was kept."""
        return self.value if self.best is None else self.best

    @property
    def fitted(self) -> bool:
        """Whether it is one protocol's of a collective: fitted over its sizes, and no roof."""
        return "/" in (self.access or "")


@record
class Machine:
    """A set of ceilings with a name: a datasheet, a measured profile or a person's own, behind one interface.

    family: what kind of chip, for constants that are of one: "hbm", "gddr", "cdna", "apple", or else its maker's name.
    sparse_multipliers: what 2:4 sparsity multiplies the dense matrix peak of each math by, where it is known.
    power_w: its limit. units: SMs, CUs or cores, at clock_hz. cache_bytes: the last level that all of them share.
    given: what a person named it by, where its name alone would not find it again: a file, or figures of their own.
    """

    _repr_html_ = html

    name: str
    title: str
    ceilings: tuple[Ceiling, ...]
    memory_bytes: float | None = None
    peak_basis: str = "dense"
    sources: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    price_usd_per_hour: float | None = None
    sparse_multipliers: Mapping[str, float] = field(default_factory=dict)
    compute_capability: str | None = None
    link: str | None = None
    family: str = ""
    power_w: float | None = None
    units: int | None = None
    clock_hz: float | None = None
    cache_bytes: float | None = None
    assumed: Mapping[str, str] = field(default_factory=dict)
    given: str | None = None

    @property
    def on(self) -> str:
        """What --on finds it by, for a next step that works as it is typed."""
        return self.given or self.name

    @property
    def measured(self) -> bool:
        """Whether any of its ceilings was measured."""
        return any(c.origin == "measured" for c in self.ceilings)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What a person put in the place of its own figures, as every answer repeats it."""
        return tuple(f"assumed of {self.name}: {name} {text}" for name, text in self.assumed.items())

    def find(self, kind: Kind, **wanted: str | None) -> list[Ceiling]:
        """The trusted ceilings of this kind whose given fields match, fastest first."""
        asked = (kind, *wanted.items())
        if asked not in self._found:
            given = {name: value for name, value in wanted.items() if value is not None}
            fitting = [c for c in self.ceilings if c.kind == kind and c.trusted and _matches(c, given)]
            self._found[asked] = sorted(fitting, key=lambda c: -c.floor_value)
        return [*self._found[asked]]

    @cached_property
    def _found(self) -> dict[tuple[object, ...], list[Ceiling]]:
        """What `find` has found: every kernel asks for the same few."""
        return {}

    def compute(self, dtype: str, path: str | None = None) -> Ceiling:
        """The compute roof of `dtype` (the faster path unless one is named). Raises NoPath, saying which kind of no."""
        return self._only(
            self.find("compute", dtype=dtype, path=path),
            f"{dtype} arithmetic",
            f"{path}.{dtype}" if path else dtype,
            path,
        )

    def memory(self, access: str = "read", level: str = "main") -> Ceiling:
        """The slope for this access of this level; a datasheet gives one figure for every access. Raises NoPath."""
        fitting = [c for c in self.find("memory", level=level) if c.access in (access, None)]
        return self._only(fitting, f"{access} bandwidth of {level} memory", "memory")

    def the_link(self, level: str | None = None) -> Ceiling:
        """The link roof in one direction, the machine's own scale-up link unless one is named. Raises NoPath."""
        wanted = level or self.link
        found = self.find("link", level=wanted) if wanted else []
        return self._only([c for c in found if not c.fitted], f"{wanted or 'scale-up'} link", wanted or "nvlink")

    def using(self, level: str) -> Machine:
        """The same machine, saying so where the rate of this link is assumed. Raises NoPath when it has none."""
        roof = self.the_link(level)
        assumed = {level: roof.note or "assumed"} if roof.origin == "assumed" else {}
        return replace(self, assumed={**assumed, **self.assumed})

    def linked(self, level: str) -> Machine:
        """The same machine with its collectives on this link. Raises NoPath when it has none of that name."""
        return replace(self.using(level), link=level)

    def latency_s(self, level: str | None = None) -> float | None:
        """Seconds that a step of a collective waits on this link beside its bytes; None when nobody measured it."""
        found = self.find("launch", level=f"link:{level or self.link}")
        return min((c.floor_value for c in found), default=None)

    def launch_s(self, level: str = "device") -> float:
        """Seconds a kernel costs apart from its work; 0 on a machine whose launch cost nobody measured (a floor)."""
        found = self.find("launch", level=level)
        return min((c.floor_value for c in found), default=0.0)

    def has(self, dtype: str) -> bool | None:
        """Whether this machine computes in `dtype`: True, False (no such path) or None (not known)."""
        found = self.find("compute", dtype=dtype)
        return None if not found else found[0].value > 0

    def _only(self, found: list[Ceiling], what: str, key: str, path: str | None = None) -> Ceiling:
        """The first of them. key: what a person gives the rate by."""
        if not found:
            raise NoPath(f"{self.name}: the rate of {what} is not known; give it as --on {self.on},{key}=RATE")
        if found[0].value <= 0:
            raise NoPath(f"{self.name} has no {what}" + (f" on its {path} units" if path else ""))
        return found[0]


def _matches(ceiling: Ceiling, given: Mapping[str, str]) -> bool:
    return all(getattr(ceiling, name) == value for name, value in given.items())
