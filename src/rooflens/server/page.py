"""The page as text: served in a language, or whole in one file with the answers inside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import Any

from rooflens.errors import NoPath, RooflensError
from rooflens.present.words import LANGUAGES, Lang, say
from rooflens.records import encode, replace
from rooflens.server import levers, panels
from rooflens.server.answers import answer
from rooflens.server.predicted import batching
from rooflens.server.state import BATCHES, State

MODULES = (  # each needs only those before it
    "dom.js", "link.js", "ask.js", "page.js", "scale.js", "names.js", "hint.js", "plot.js", "chart.js", "panels.js",
    "keep.js", "further.js", "controls.js", "later.js", "asides.js", "app.js",
)  # fmt: skip
TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
SHARED = ("place", "predict", "commands")  # the same in every language, so that a file holds them once
_SAID = re.compile(r'(data-say="([a-z_.]+)"[^>]*>)(?=</)')
_LABELLED = re.compile(r'data-label="([a-z_.]+)"')
_IMPORT = re.compile(r"^import .*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


@cache
def text(name: str) -> str:
    """A file of the page."""
    return (files("rooflens.server") / "static" / name).read_text(encoding="utf-8")


def asset(name: str) -> tuple[str, str] | None:
    """A style or a script with its type; None for any other name."""
    if name not in (*MODULES, "style.css", "icon.svg"):
        return None
    return text(name), TYPES[name.rpartition(".")[2]]


def index(lang: str) -> str:
    """The page with its words in this language; English for one that is not ours."""
    chosen = lang if lang in LANGUAGES else "en"
    filled = _SAID.sub(lambda m: m[1] + html.escape(say(f"page.{m[2]}", chosen)), text("index.html"))
    filled = _LABELLED.sub(lambda m: f'{m[0]} aria-label="{html.escape(say(f"page.{m[1]}", chosen))}"', filled)
    return filled.replace('<html lang="en"', f'<html lang="{chosen}"', 1)


def alone(asked: State) -> str:
    """The page as one file: style, scripts, and the answers of this state at many batches in every language."""
    held = json.dumps(answers(asked), ensure_ascii=False, allow_nan=False, separators=(",", ":")).replace("</", "<\\/")
    script, style = script_of(), text("style.css")
    policy = f"default-src 'none'; script-src {_hash(script)}; style-src {_hash(style)}; img-src data: blob:"
    page = index(asked.lang)
    page = page.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    page = page.replace('<link rel="icon" href="static/icon.svg">\n', f'<link rel="icon" href="{_icon()}">\n', 1)
    page = page.replace('<link rel="stylesheet" href="static/style.css">', f"<style>{style}</style>", 1)
    data = f'<script type="application/json" id="held">{held}</script>'
    return page.replace(
        '<script type="module" src="static/app.js"></script>', f'{data}\n<script type="module">{script}</script>', 1
    )


def script_of() -> str:
    """All modules as one: each without its imports and exports, in the order in which they need one another."""
    return "\n".join(_EXPORT.sub("", _IMPORT.sub("", text(name))) for name in MODULES)


def answers(asked: State) -> dict[str, Any]:
    """What the page asks for, as it is asked for: by kind, language and batch. Raises RooflensError."""
    batches = sorted({*BATCHES, asked.batch})
    return {
        "start": {**panels.choices(), "batches": batches, "given": [], "first": encode(asked)},
        "state": {lang: {str(b): _small(asked, lang, b) for b in batches} for lang in LANGUAGES},
        **dict(_others(asked)),
    }


def _small(asked: State, lang: Lang, batch: int) -> dict[str, Any]:
    """One answer; what no language changes is in the English one alone."""
    try:
        found = answer(replace(asked, batch=batch, lang=lang))
    except NoPath:
        raise
    except RooflensError as error:
        if batch == asked.batch:
            raise
        return {"error": str(error)}
    return found if lang == "en" else {key: part for key, part in found.items() if key not in SHARED}


def _others(asked: State) -> Iterator[tuple[str, dict[str, Any]]]:
    """What does not follow the batch, and the levers of the state as it was asked."""
    for kind, how in (("batching", batching), ("ceilings", panels.at_batch_one), ("levers", levers.levers)):
        yield kind, {lang: how(replace(asked, lang=lang)) for lang in LANGUAGES}


def _icon() -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(text("icon.svg").encode()).decode()


def _hash(content: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()}'"
