"""Plain YAML: mappings, lists, text and numbers. No tags, no anchors, no key twice, and no more than a megabyte."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from rooflens.errors import BadFile, RooflensError

LARGEST_BYTES = 1 << 20
DEEPEST = 20


def plain_yaml(path: Path) -> object:
    """What this file says. Raises BadFile for what is no plain YAML, RooflensError where it cannot be read.

    Anchors are refused: a few lines of them can stand for gigabytes.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST_BYTES + 1)
    except OSError as error:
        raise RooflensError(f"cannot read {path}: {(error.strerror or str(error)).lower()}") from None
    if len(data) > LARGEST_BYTES:
        raise BadFile(str(path), [f"has over {LARGEST_BYTES} bytes; a configuration is smaller"])
    return _loaded(data, str(path))


def _without_colons(found: re.Pattern[str]) -> re.Pattern[str]:
    return re.compile(f"(?!.*:)(?:{found.pattern}\n)", found.flags)


def _loaded(data: bytes, where: str) -> object:
    try:
        import yaml
    except ImportError:
        raise RooflensError(f"{where}: PyYAML is not installed; pip install 'rooflens[export]'") from None

    if not data.strip():
        raise BadFile(where, ["is empty; write into it what is asked for"])
    try:
        return yaml.load(data, _loader(yaml))  # noqa: S506 - a SafeLoader
    except yaml.reader.ReaderError:
        raise BadFile(where, ["is no plain text; is it a binary file?"]) from None
    except (yaml.YAMLError, UnicodeError, ValueError, RecursionError) as error:
        said = " ".join(str(error).replace('\n  in "<byte string>"', "").split())  # which its reader calls the file
        raise BadFile(where, [said[:300] or "is no YAML"]) from None


def _loader(yaml: Any) -> Any:
    class Loader(yaml.SafeLoader):  # type: ignore[misc, unused-ignore]
        """Safe, and stricter. As in YAML 1.2, `on`, `off`, `yes`, `no` and `1:32`, which was 92, are text."""

        depth = 0
        yaml_implicit_resolvers = {  # noqa: RUF012 - theirs
            first: [
                (tag, _without_colons(found) if tag.endswith((":int", ":float")) else found)
                for tag, found in resolvers
                if first in "tTfF" or not tag.endswith(":bool")
            ]
            for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
        }

        def compose_node(self, parent: Any, index: Any) -> Any:
            event = self.peek_event()
            if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
                raise yaml.YAMLError(
                    f"line {event.start_mark.line + 1}: anchors and aliases are not read; write it out"
                )
            self.depth += 1
            if self.depth > DEEPEST:
                raise yaml.YAMLError(f"line {event.start_mark.line + 1}: is nested too deeply")
            found = super().compose_node(parent, index)
            self.depth -= 1
            return found

        def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:  # noqa: FBT001, FBT002 - theirs
            seen: set[str] = set()
            for key, _ in node.value:
                name = str(key.value)
                if name in seen:
                    raise yaml.YAMLError(f"line {key.start_mark.line + 1}: {name} is there twice")
                seen.add(name)
            found: dict[Any, Any] = super().construct_mapping(node, deep)
            return found

    return Loader
