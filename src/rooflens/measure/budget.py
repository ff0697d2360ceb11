"""How much time there is: a deadline on the backend's own clock."""

from __future__ import annotations

import math
from collections.abc import Callable


class Budget:
    """`seconds` from now on `clock`; None is no limit. `scale` shortens every planned limit to fit."""

    def __init__(self, clock: Callable[[], float], seconds: float | None = None, scale: float = 1.0) -> None:
        self._clock = clock
        self._start = clock()
        self.seconds = seconds
        self.scale = scale

    def spent(self) -> float:
        """Seconds since the start."""
        return self._clock() - self._start

    def left(self) -> float:
        """Seconds until the end, infinite without one."""
        return math.inf if self.seconds is None else self.seconds - self.spent()

    def over(self) -> bool:
        """Whether nothing is left."""
        return self.left() <= 0

    def limit(self, planned_s: float) -> float:
        """How long something planned for `planned_s` may take: scaled, and never beyond the end."""
        return max(0.0, min(planned_s * self.scale, self.left()))
