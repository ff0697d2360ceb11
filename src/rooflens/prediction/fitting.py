"""A deployment's own points: three factors on what the constants say, found from as few as two measured times.

A step is time at the reached roofs, fixed costs, and others' prompts. Each part gets a factor, with a Gaussian prior
around 1 for each by itself and for all together, so that few points move what they speak of and leave the rest; one
outlier is heard less. Factors stay positive, so nothing that was monotone is lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from rooflens.arrays import dot
from rooflens.errors import RooflensError
from rooflens.prediction.deployment import Deployment
from rooflens.prediction.served import Served
from rooflens.records import record, replace
from rooflens.roofline.points import is_finding
from rooflens.samples import median
from rooflens.units import show

SCHEMA = "rooflens/calibrated/1"
LEAST = 2
EACH_SD, COMMON_SD, NOISE = 0.5, 0.35, 0.07
HEARD = 2.5  # a residual of so many noises counts half
ROUNDS = 3
USUAL = 4.0  # points that the usual noise is worth
SMALLEST = 0.05
MOST = 100.0  # a factor or a spread beyond this is a damaged file
UNITS_OFF = 100.0  # so many times the expectation is a unit, not a speed

Three = tuple[float, float, float]


@record
class Fit:
    """The factors, and what they left over. error_before, error_after: median relative errors on these points.

    spread: how far apart the points lie beside how far points of one deployment usually do; intervals are as wide.
    """

    roofs: float
    fixed: float
    prompts: float
    points: int
    error_before: float
    error_after: float
    spread: float = 1.0

    def __post_init__(self) -> None:
        for name in ("roofs", "fixed", "prompts", "spread"):
            if not 0 < getattr(self, name) <= MOST:
                raise RooflensError(f"{name} is a factor above 0 and up to {MOST:g}, not {getattr(self, name):g}")
        if self.points < LEAST:
            raise RooflensError(f"points is the number of points behind it, at least {LEAST}, not {self.points}")


def fit(served: Served, loads: Sequence[tuple[Deployment, float]]) -> Fit:
    """Factors from deployments of one kind at several loads and their measured TPOTs, seconds.

    Raises RooflensError for fewer than two points, a time that beats its floor, or one in another unit.
    """
    if len(loads) < LEAST:
        raise RooflensError(
            f"{len(loads)} measured point{'' if len(loads) == 1 else 's'}: a fit needs at least {LEAST}"
        )
    parts = [_parts(served, deployment) for deployment, _ in loads]
    for i, ((deployment, measured_s), part) in enumerate(zip(loads, parts, strict=True), 1):
        _check(i, deployment, measured_s, sum(part))
    measured = [measured_s for _, measured_s in loads]
    roofs, fixed, prompts = factors(parts, measured)
    after = [roofs * a + fixed * b + prompts * c for a, b, c in parts]
    before = [sum(part) for part in parts]
    errors = _error(before, measured), _error(after, measured)
    return Fit(roofs, fixed, prompts, len(loads), *errors, spread(after, measured))


def factors(parts: Sequence[Three], measured: Sequence[float]) -> Three:
    """The factors on the three parts that the points speak for: Bayesian least squares on relative errors, robust.

    With the shares of the parts X, weights W and the prior C around 1: 1 + (I + C X'WX)^-1 C X'W (measured / said - 1).
    """
    rows = [[p / sum(three) for p in three] for three in parts]
    left = [m / sum(three) - 1.0 for three, m in zip(parts, measured, strict=True)]
    prior = [[(EACH_SD**2 if i == j else 0.0) + COMMON_SD**2 for j in range(3)] for i in range(3)]
    weights, found = [1.0 / NOISE**2] * len(rows), list[float]()
    for _ in range(ROUNDS):
        heard = [[weight * share for share in row] for weight, row in zip(weights, rows, strict=True)]
        spoken = [sum(row[i] * e for row, e in zip(heard, left, strict=True)) for i in range(3)]
        among = [[sum(a[i] * b[j] for a, b in zip(heard, rows, strict=True)) for j in range(3)] for i in range(3)]
        columns = list(zip(*among, strict=True))
        system = [[float(i == j) + dot(prior[i], columns[j]) for j in range(3)] for i in range(3)]
        found = [1.0 + move for move in solved(system, [dot(of, spoken) for of in prior])]
        errors = [(1.0 + e - dot(found, row)) / NOISE for e, row in zip(left, rows, strict=True)]
        weights = [1.0 / (NOISE**2 * (1.0 + (error / HEARD) ** 2)) for error in errors]
    return (max(found[0], SMALLEST), max(found[1], SMALLEST), max(found[2], SMALLEST))


def spread(said: Sequence[float], measured: Sequence[float]) -> float:
    """What the factors leave over, in units of the usual noise, which a few points shrink it to.

    sqrt((usual x 1 + sum of (error / noise)^2) / (usual + points)); an error of more than twice HEARD counts as that.
    """
    errors = [min(abs(m / s - 1.0) / NOISE, 2 * HEARD) for s, m in zip(said, measured, strict=True)]
    return math.sqrt((USUAL + dot(errors, errors)) / (USUAL + len(errors)))


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """The solution of a small linear system: Gauss, with pivots."""
    n = len(right)
    rows = [[*row, y] for row, y in zip(matrix, right, strict=True)]
    for i in range(n):
        pivot = max(range(i, n), key=lambda r: abs(rows[r][i]))
        rows[i], rows[pivot] = rows[pivot], rows[i]
        for r in range(i + 1, n):
            times = rows[r][i] / rows[i][i]
            rows[r] = [x - times * y for x, y in zip(rows[r], rows[i], strict=True)]
    found = [0.0] * n
    for i in reversed(range(n)):
        found[i] = (rows[i][n] - sum(rows[i][j] * found[j] for j in range(i + 1, n))) / rows[i][i]
    return found


def _parts(served: Served, deployment: Deployment) -> Three:
    roofs, fixed, prompts = (float(part) for part in served.parts(deployment))
    return roofs, fixed + float(served.host_s(deployment)), prompts


def _check(number: int, deployment: Deployment, measured_s: float, expected_s: float) -> None:
    """Raises RooflensError for a time that no engine gives."""
    said = f"point {number}: {show(measured_s, 's')} a token"
    if not measured_s > 0:
        raise RooflensError(f"{said}; a time must be above 0")
    if measured_s > UNITS_OFF * expected_s:
        times = f"{round(measured_s / expected_s):.6g} times what is expected"
        raise RooflensError(f"{said} is {times}; is it in ms? Then its column is tpot_ms")
    floor_s = float(deployment.floor("decode").floor_s)
    if is_finding(floor_s / measured_s):
        raise RooflensError(
            f"{said} beats the floor of {show(floor_s, 's')}: another unit, a smaller batch or context, other formats, "
            "or more devices than were named"
        )


def _error(said: Sequence[float], measured: Sequence[float]) -> float:
    return float(median([abs(a / m - 1.0) for a, m in zip(said, measured, strict=True)]))


@record
class Calibrated:
    """The file of `rooflens fit`: one deployment's own factors on dated constants. how: tp, ep, dp, pp.

    formats: those of weights, cache and arithmetic; None in files from before they were kept.
    """

    base: str
    engine: str
    model: str
    machine: str
    how: Mapping[str, int]
    fit: Fit
    formats: str | None = None


def applied(served: Served, own: Calibrated) -> Served:
    """The constants with the factors of somebody's own points."""
    names = ("roofs", "fixed", "prompts", "points", "spread")
    return replace(served, **{name: getattr(own.fit, name) for name in names})
