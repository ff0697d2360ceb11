"""`rooflens claim`: is it true, and for what?"""

from __future__ import annotations

from collections.abc import Iterator

import click

from rooflens import artefacts
from rooflens.api.claims import MODEL, claim
from rooflens.claims.record import CONVENTIONS, SCHEMA, TOLERANCE, Case, Claim, Reach
from rooflens.cli.options import SAME, USUAL_TOKENS, Finite, json_flag, lang
from rooflens.cli.printing import emit, table
from rooflens.present.retold import retold
from rooflens.present.words import known, say, word
from rooflens.records import encode


@click.command("claim", epilog="Example:  rooflens claim h100-sxm5-80gb a100-sxm4-80gb --times 6")
@click.argument("first")
@click.argument("second", required=False)
@click.option("--times", type=Finite(0, min_open=True), help="How many times as fast as SECOND it is said to be.")
@click.option("--says", metavar="FIGURE", help="'1979 TFLOP/s bf16', '900 GB/s nvlink', 'tf32 is 16x fp32'.")
@click.option("--model", help=f"Whose operators a speed-up of machines is tried on (default {MODEL}).")
@click.option(
    "--context", type=click.IntRange(1, 1 << 30), help=f"{SAME['context']} in decode (default {USUAL_TOKENS})."
)
@click.option(
    "--tolerance",
    type=Finite(0, 0.5),
    default=TOLERANCE,
    show_default=True,
    help="How much a rounded figure may be off.",
)
@lang
@json_flag
def command(
    first: str, second: str | None, times: float | None, says: str | None, model: str | None, context: int | None,
    tolerance: float, lang: str, as_json: bool,
) -> int:  # fmt: skip
    """Is it true, and for what? Exit 0 when it is, 1 when it is not, or only under conditions.

    FIRST is --times as fast as SECOND (two machines, or two roofs as ID:tf32 ID:fp32), or FIRST has what --says says.
    """
    found = claim(first, second, times=times, says=says, model=model, context=context, tolerance=tolerance)
    emit(
        artefacts.to_json({"conventions": CONVENTIONS, **encode(found)}, SCHEMA)
        if as_json
        else "\n\n".join(_shown(found, lang))
    )
    return 0 if found.verdict == "true" else 1


def _shown(found: Claim, lang: str) -> Iterator[str]:
    verdict = say(f"claim.verdict.{found.verdict}", lang)
    condition = f" {retold(found.condition, lang)}" if found.condition else ""
    head = say("claim.claim", lang, text=retold(found.claim, lang))
    yield f"{head}\n{say('claim.verdict', lang, verdict=verdict + condition)}"
    yield "\n".join(retold(why, lang) for why in found.why)
    if found.right is None:
        yield _cases(found, lang)
    reaches = [_reach(one, found.claimed, lang) for one in found.batches]
    notes = [say("frame.note", lang, text=retold(note, lang)) for note in found.notes]
    yield "\n".join([*reaches, *notes, say("claim.tolerance", lang, tolerance=f"{found.tolerance:g}")])


def _cases(found: Claim, lang: str) -> str:
    """One row an operator, one column a pair of formats: what it gains, and whether that is what was claimed."""
    cases = (*found.true_for, *found.false_for)
    formats = sorted({c.formats or "" for c in cases}, key=lambda f: [w.startswith(f) for w in found.why].index(True))
    by = {(c.name, c.batch, c.formats): c for c in cases}
    rows = [
        [
            known(f"claim.operator.{name}", name, lang),
            f"{batch:g}" if batch else "-",
            *(_gain(by[name, batch, f], found, lang) for f in formats),
        ]
        for name, batch in sorted({(c.name, c.batch) for c in cases}, key=_order)
    ]
    heads = [say("claim.operator", lang), say("claim.batch", lang), *(retold(f, lang) for f in formats)]
    return table(heads, rows, lang)


def _order(case: tuple[str, float | None]) -> tuple[int, float]:
    name, batch = case
    kinds = ("decode attention", "decode FFN", "decode step", "prefill attention", "prefill FFN", "GEMM")
    return next(i for i, kind in enumerate(kinds) if name.startswith(kind)), batch or 0.0


def _gain(case: Case, found: Claim, lang: str) -> str:
    bound = " / ".join(word("bound", b, lang) for b in (case.bound or "").split(" / "))
    holds = say("table.yes" if case in found.true_for else "table.no", lang)
    return f"{case.ratio:.3g}x {holds}, {bound}"


def _reach(reach: Reach, claimed: float, lang: str) -> str:
    span = {"first": f"{reach.first_batch:g}", "formats": retold(reach.formats, lang), "times": f"{claimed:g}"}
    if reach.last_batch is None:
        return say("claim.from_batch", lang, **span)
    return say("claim.batches", lang, last=f"{reach.last_batch:g}", **span)
