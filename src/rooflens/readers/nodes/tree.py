"""The two trees of nvidia-smi -q as leaves: XML by its tags, text by its indentation. Cut ones as far as they go.

A leaf is a path and a value: ("gpu#0/pci/bus", "09"). Names are folded to lower case with underscores; what may come
several times is numbered.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator

Leaf = tuple[str, str]
XML = re.compile(r"<nvidia_smi_log>")
TEXT = re.compile(
    r"^=+NVSMI LOG=+|^[ \t]*GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d[ \t]*$", re.MULTILINE
)  # its first line, or that of a device where a part of it is shown
_TAG = re.compile(r"<(?P<mark>[!?])?[^<>]*>|[^<]+")
_NAME = re.compile(r"<(/?)([\w.:-]+)[^<>]*?(/?)>")
_SEVERAL = ("gpu", "mig_device", "process_info")
_KEY = re.compile(r"(?P<indent>\s*)(?P<key>\S(?:.*?\S)?)(?:\s*: (?P<value>.*))?$")
_GPU = re.compile(r"GPU [0-9A-Fa-f]{4,8}:[0-9A-Fa-f]{2}:[0-9A-Fa-f]{2}\.\d")
_DEEPEST = 40


def from_xml(text: str) -> Iterator[Leaf]:
    """The leaves of the log in XML. A tag that nothing closes ends with the text."""
    start = XML.search(text)
    path: list[str] = []
    seen: dict[str, int] = {}
    value = ""
    for token in _TAG.finditer(text, start.start() if start else 0):
        tag = _NAME.fullmatch(token[0])
        if tag is None:
            value = value + token[0] if not token[0].startswith("<") else value
        elif tag[1]:
            if path:
                yield "/".join(path[1:]), html.unescape(value).strip()
                path.pop()
            value = ""
            if not path:
                return
        elif tag[3]:
            yield "/".join([*path[1:], _folded(tag[2])]), ""
        elif len(path) < _DEEPEST:
            path.append(_numbered(_folded(tag[2]), "/".join(path), seen))
            value = ""


def whole_xml(text: str) -> bool:
    """Whether the log is closed."""
    return "</nvidia_smi_log>" in text


def from_text(text: str) -> Iterator[Leaf]:
    """The leaves of the log as text, from its first line on."""
    start = TEXT.search(text)
    path: list[tuple[int, str]] = []
    seen: dict[str, int] = {}
    for line in text[start.start() if start else 0 :].splitlines():
        found = _KEY.match(line.rstrip())
        if found is None or len(line) > 400:
            continue
        indent = len(found["indent"].expandtabs(4))
        path = [part for part in path if part[0] < indent][:_DEEPEST]
        parent, key = "/".join(name for _, name in path), found["key"]
        if found["value"] is None or key == "Process ID":
            path.append((indent, _numbered(_heading(key), parent, seen)))
        if found["value"] is not None:
            yield (
                "/".join([*(name for _, name in path), *([_folded(key)] if key != "Process ID" else ["pid"])]),
                (found["value"].strip()),
            )


def _heading(key: str) -> str:
    if _GPU.fullmatch(key):
        return "gpu"
    return {"Process ID": "process_info", "MIG Device": "mig_device"}.get(key, _folded(key))


def _folded(name: str) -> str:
    return re.sub(r"\W+", "_", name.lower()).strip("_")


def _numbered(name: str, parent: str, seen: dict[str, int]) -> str:
    if name not in _SEVERAL:
        return name
    key = f"{parent}/{name}"
    seen[key] = seen.get(key, -1) + 1
    return f"{name}#{seen[key]}"
