"""How docs/ becomes a site: `make docs`. Pages are plain Markdown, read as well in a repository's own viewer.

What the site needs and Markdown does not have is made here: the navigation, from the list of links in each index.md,
and links to what lies outside of docs/, which a site has no page of.
"""

from __future__ import annotations

import re
from itertools import pairwise
from pathlib import Path

HERE = Path(__file__).resolve().parent
OUTSIDE = re.compile(r"(?<!!)\[([^\]]*)\]\(((?:\.\./)+[^)#\s]+)\)")
ENTRY = re.compile(r"^- \[[^\]]*\]\(([\w./-]+)\.md\)", re.MULTILINE)
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)

project = "rooflens"
author = "the authors of rooflens"
extensions = ["myst_parser"]
exclude_patterns = ["**/README.md"]
html_theme = "alabaster"
html_theme_options = {"page_width": "940px", "body_max_width": "none"}  # the width under which the sidebar goes on top
html_static_path = ["static"]
html_sidebars = {"**": ["about.html", "searchfield.html", "navigation.html"]}
html_show_sphinx = html_show_copyright = html_copy_source = False
myst_heading_anchors = 4
myst_linkify_fuzzy_links = False
suppress_warnings = ["misc.highlighting_failure"]  # a console block shows output, which is no shell's language


def navigation(text: str) -> str:
    """The links of an index page's lists as the site's navigation, each list's under its `##` heading."""
    cuts = [0, *(m.start() for m in HEADING.finditer(text)), len(text)]
    made = []
    for begin, end in pairwise(cuts):
        part = text[begin:end]
        heading, pages = HEADING.match(part), ENTRY.findall(part)
        if pages:
            options = ":hidden:\n" + (f":caption: {heading[1]}\n" if heading else "")
            part += "\n```{toctree}\n" + options + "\n" + "\n".join(pages) + "\n```\n\n"
        made.append(part)
    return "".join(made)


def outward(match: re.Match[str], folder: Path) -> str:
    """A link that leaves docs/: a file goes into the site as a download, a folder is named."""
    words, to = match[1], match[2]
    found = (folder / to).resolve()
    if found.is_relative_to(HERE) or not found.exists():
        return match[0]  # the builder's own business, or its warning
    if found.is_dir():
        return f"{words} (`{found.relative_to(HERE.parent).as_posix()}/`)"
    return f"{{download}}`{words.replace('`', '')} <{to}>`"


def read(_app: object, name: str, source: list[str]) -> None:
    """Each page as it is read, before it is parsed."""
    folder = (HERE / name).parent
    text = OUTSIDE.sub(lambda match: outward(match, folder), source[0])
    source[0] = navigation(text) if name.rpartition("/")[2] == "index" else text


def setup(app: object) -> dict[str, bool]:
    """Tells the builder what happens when a page is read."""
    app.connect("source-read", read)  # type: ignore[attr-defined]
    return {"parallel_read_safe": True, "parallel_write_safe": True}
