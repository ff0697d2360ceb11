"""A field of the page's state that is an option of `predict`: one line of `server.state.State`, and all else follows.

From it come what a state may hold, what the verbs are asked, what a link says, and the field among the further options.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

from rooflens.errors import RooflensError
from rooflens.frozen import Field

Kind = Literal["whole", "share", "amount", "text"]
Asked = Literal["step", "server"]
"""step: `place`, `predict` and `advise` are asked it; server: the last two."""


class Option(Field):
    """One of them. most: the largest number. further: its place among the further options; None: it has a control."""

    __slots__ = ("asked", "choices", "further", "kind", "most")

    def __init__(
        self, kind: Kind, asked: Asked | None, further: int | None, default: Any, most: float = 0, choices: Any = ()
    ) -> None:
        super().__init__(default)
        self.kind, self.asked, self.further, self.most, self.choices = kind, asked, further, most, choices

    def within(self, value: Any) -> None:
        """Raises RooflensError for a number that is none of its kind."""
        if self.kind == "whole" and not 1 <= value <= self.most:
            raise RooflensError(f"{self.name} must be a whole number from 1 to {self.most}, not {value}")
        if self.kind in ("share", "amount") and not 0 <= value <= self.most:
            raise RooflensError(f"{self.name} must lie between 0 and {self.most:g}, not at {value:g}")

    def told(self) -> dict[str, Any]:
        """What the page must know of it."""
        known = {"name": self.name, "kind": self.kind, "plain": self.default, "further": self.further}
        chosen = {"choices": list(self.choices)} if self.choices else {}
        return {name: value for name, value in known.items() if value is not None} | chosen


def whole(most: int, asked: Asked | None = None, *, further: int | None = None, default: int | None = None) -> Any:
    """A count from 1."""
    return Option("whole", asked, further, default, most)


def share(asked: Asked | None = None, *, further: int | None = None) -> Any:
    """From 0 to 1."""
    return Option("share", asked, further, None, 1)


def amount(most: float, asked: Asked | None = None, *, further: int | None = None, default: float | None = None) -> Any:
    """From 0; of a name that ends in bytes the page takes GB."""
    return Option("amount", asked, further, default, most)


def text(
    asked: Asked | None = None, *, further: int | None = None, default: str | None = None, choices: Iterable[str] = ()
) -> Any:
    """A name; choices: those that the page offers among its further options."""
    return Option("text", asked, further, default, choices=tuple(choices))
