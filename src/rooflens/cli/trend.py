"""`rooflens trend`: the memory wall, from the catalogue."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rooflens import artefacts
from rooflens.api.claims import trend
from rooflens.cli.options import Named, json_flag, lang
from rooflens.cli.printing import emit, table
from rooflens.cli.rows import rows_option, write
from rooflens.errors import RooflensError
from rooflens.present.words import known, say
from rooflens.records import encode
from rooflens.units import percent, show
from rooflens.wall import CONVENTIONS, KINDS, QUANTITIES, SCHEMA, Fit, Product, Trend


@click.command("trend", epilog="Example:  rooflens trend --kind datacentre-gpu --plot wall.png")
@click.option(
    "--kind", type=click.Choice(list(KINDS)), default="datacentre-gpu", show_default=True, help="What is fitted."
)
@click.option("--plot", type=Named(), help="Draw it, three panels (.png or .svg).")
@rows_option
@lang
@json_flag
def command(kind: str, plot: Path | None, out: Path | None, lang: str, as_json: bool) -> None:
    """How fast do compute, bandwidth and their ratio grow? One point a product, by its year of introduction."""
    if plot is not None and plot.suffix not in (".png", ".svg"):
        raise RooflensError(f"--plot {plot}: the name must end in .png or .svg")
    found = trend(kind)
    answer = {"conventions": CONVENTIONS, **encode(found)}
    if out is not None:
        write(out, "trend", answer, [encode(p) for p in found.products], SCHEMA)
    if plot is not None:
        _draw(plot, found, lang)
    emit(artefacts.to_json(answer, SCHEMA) if as_json else "\n\n".join(_shown(found, lang)))


def _draw(path: Path, found: Trend, lang: str) -> None:
    from rooflens.present.canvas import render
    from rooflens.present.trend import draw

    years = [p.year for p in found.products]
    title = say("trend.title", lang, first=min(years), last=max(years))
    artefacts.write_bytes(path, render(draw(found, title, lang), path.suffix[1:]))


def _shown(found: Trend, lang: str) -> Iterator[str]:
    heads = [say(f"trend.{head}", lang) for head in ("year", "product")]
    heads += [say(f"trend.column.{quantity}", lang) for quantity in QUANTITIES]
    rows = [_row(p, lang) for p in found.products]
    yield table([*heads, ""], rows, lang)
    yield _fits(found, lang)
    lines = [say("trend.fitted", lang, kind=say(f"trend.kind.{found.kind}", lang))]
    for why in dict.fromkeys(out.why for out in found.left_out):
        ids = ", ".join(out.id for out in found.left_out if out.why == why)
        lines.append(say("trend.left_out", lang, why=known(f"trend.why.{why}", why, lang), ids=ids))
    yield "\n".join(lines)


def _row(product: Product, lang: str) -> list[str]:
    return [
        str(product.year), product.id, f"{show(product.peak_flops_per_s, 'FLOP/s')} {product.dtype}",
        show(product.bandwidth_bytes_per_s, "B/s"), f"{product.ridge_flops_per_byte:.4g} FLOP/B",
        "" if product.fitted else say("trend.announced", lang),
    ]  # fmt: skip


def _fits(found: Trend, lang: str) -> str:
    heads = [say(f"trend.{head}", lang) for head in ("quantity", "a_year", "between", "doubles", "products")]
    rows = [[say(f"trend.{q}", lang), *_fit(found.fits.get(q), lang)] for q in QUANTITIES]
    return table([*heads, "R2"], rows, lang)


def _fit(fit: Fit | None, lang: str) -> list[str]:
    if fit is None:
        return [say("trend.no_fit", lang), "-", "-", "-", "-"]
    spread = f"{percent(fit.low - 1)} – {percent(fit.high - 1)}"
    return [f"{percent(fit.growth_per_year - 1)}", spread, _doubling(fit, lang), str(fit.n), f"{fit.r_squared:.2f}"]


def _doubling(fit: Fit, lang: str) -> str:
    if fit.low <= 1 <= fit.high or fit.doubling_years is None:
        return say("trend.still", lang)
    years = f"{abs(fit.doubling_years):.1f}"
    return say("trend.years" if fit.doubling_years > 0 else "trend.halves", lang, years=years)
