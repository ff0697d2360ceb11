"""An axis of a grid: one line of `sweep.grid.Grid`, from which all else about it follows."""

from __future__ import annotations

from typing import Any

from rooflens.frozen import Field
from rooflens.sweep.columns import Column


class Axis(Field):
    """A field of a grid that may hold several values. column: of its points; called: that column's name."""

    __slots__ = ("called", "column")

    def __init__(self, column: Column, called: str, **default: Any) -> None:
        """The column is called as the axis is, where `called` is empty."""
        super().__init__(**default)
        self.column, self.called = column, called


def axis(column: Column, *, called: str = "", **default: Any) -> Any:
    """A field of a grid; without a default a file must name it."""
    return Axis(column, called, **default)
