"""One shard: priced piece by piece into a Parquet file. The same work and number give the same bytes, wherever."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

from rooflens.arrays import library
from rooflens.errors import RooflensError
from rooflens.fleet.sweeping.parquet import Sheet
from rooflens.models.lengths import usual_tokens
from rooflens.records import record, replace
from rooflens.sweep.grid import AXES, OWN, Axes
from rooflens.sweep.pricing import NOT_FITTING, Asked, figures, names, refusals
from rooflens.sweep.record import Account, Refused
from rooflens.sweep.shards import Case, Lengths, Piece, case, loads, pieces


@record
class Work:
    """A whole sweep, as a worker takes it. asked: a case ready to be priced; it travels between processes.

    asked raises RooflensError for a case that is not possible.
    """

    axes: Axes
    asked: Callable[[Case], Asked]

    @cached_property
    def loads(self) -> tuple[Lengths, ...]:
        """Every prompt, output and context."""
        return loads(self.axes)


def shard(work: Work, index: int) -> bytes:
    """The Parquet file of this shard, what became of its points in its metadata."""
    sheet, account = Sheet(work.axes), Account(0, 0)
    ready: tuple[int, Asked | RooflensError] = (-1, RooflensError())
    for piece in pieces(work.axes, index):
        if ready[0] != piece.case:
            ready = (piece.case, _asked(work, piece.case))
        account += _priced(work, piece, ready[1], sheet)
    return sheet.close(account)


def _asked(work: Work, index: int) -> Asked | RooflensError:
    try:
        return work.asked(case(work.axes, index))
    except RooflensError as why:
        return why


def _priced(work: Work, piece: Piece, asked: Asked | RooflensError, sheet: Sheet) -> Account:
    """The points of a piece: rows of the sheet, or reasons."""
    batches, several = work.axes.batch[piece.first : piece.last], work.loads
    points = len(batches) * len(several)
    if isinstance(asked, RooflensError):
        return Account(points, 0, (Refused(str(asked), points),))
    why = refusals(asked.deployment.model, several)
    able = [load for load, reason in zip(several, why, strict=True) if not reason]
    refused = [Refused(reason, len(batches) * why.count(reason)) for reason in dict.fromkeys(why) if reason]
    rows = 0
    if able:
        try:
            rows, crowded = _rows(work, case(work.axes, piece.case), asked, batches, able, sheet)
        except RooflensError as reason:
            return Account(points, 0, (*refused, Refused(str(reason), len(batches) * len(able))))
        refused += [Refused(NOT_FITTING, crowded)] if crowded else []
    return Account(points, rows, tuple(refused))


def _rows(
    work: Work, of: Case, asked: Asked, batches: tuple[int, ...], able: list[Lengths], sheet: Sheet
) -> tuple[int, int]:
    """Rows written, and points left out because they do not fit."""
    np = library()
    deployment = _loaded(asked, batches, able)
    wanted = dict.fromkeys((*work.axes.columns, *(["fits"] if work.axes.keep == "fits" else [])))
    found = figures(replace(asked, deployment=deployment), list(wanted))
    found |= _named(of, asked, deployment)
    shape = (len(batches), len(able))
    kept = None
    if work.axes.keep == "fits" and found["fits"] is not None:
        kept = np.broadcast_to(found["fits"], shape)
        kept = None if kept.all() else kept
    rows = sheet.add(found, shape, kept)
    return rows, shape[0] * shape[1] - rows


def _loaded(asked: Asked, batches: tuple[int, ...], able: list[Lengths]) -> Any:
    """The deployment at all of these loads: batches down, loads across."""
    np = library()
    usual = usual_tokens(asked.deployment.model)
    prompts = np.array([load.prompt or load.context or usual for load in able], np.float64)
    contexts = [load.context for load in able]
    outputs = [load.output or 0.0 for load in able]
    return replace(
        asked.deployment,
        batch=np.array(batches, np.float64)[:, None],
        prompt=prompts,
        output=np.array(outputs, np.float64) if any(outputs) else 0.0,
        context=None if contexts[0] is None else np.array(contexts, np.float64),
    )


def _named(of: Case, asked: Asked, deployment: Any) -> dict[str, Any]:
    """What a row is called: as the grid says, formats that it leaves to the model as they came out."""
    own = names(asked.deployment.precision)
    called = {
        AXES[name].called or name: own[name] if value == OWN and name in own else value for name, value in of.items()
    }
    steps = {"batch": deployment.batch, "prompt": deployment.prompt, "output": deployment.output}
    return {**called, **steps, "context": deployment.attended}
