"""The frozen record: what every value of the house is made with, quick to define and quick to make."""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable
from typing import Any, NoReturn, TypeVar

T = TypeVar("T")
_GIVEN_NONE = object()


def quantity(unit: str, *, default: Any = dataclasses.MISSING, default_factory: Any = dataclasses.MISSING) -> Any:
    """A field that a file may write as text with this unit; of a dict, each value."""
    return dataclasses.field(default=default, default_factory=default_factory, metadata={"unit": unit})


@typing.dataclass_transform(frozen_default=True, field_specifiers=(dataclasses.field, quantity))
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass that writes no code when it is defined.

    dataclasses would write and compile seven functions for every class, which is most of the time that a command takes
    to start. Here all records share six, and `__init__` is written when a class makes its first record. What a class
    defines itself is kept.
    """
    own = set(cls.__dict__)
    made = dataclasses.dataclass(init=False, eq=False, repr=False)(cls)
    for name, function in _SHARED.items():
        if name not in own:
            setattr(made, name, function)
    setattr(made, "__init__", _Init(made))  # noqa: B010 - mypy forbids the plain assignment
    return made


class _Init:
    """Stands for the `__init__` of one class until it is first asked for."""

    def __init__(self, of: type[Any]) -> None:
        self.of = of

    def __get__(self, instance: object, cls: type[Any] | None = None) -> Callable[..., None]:
        written = _written(self.of)
        setattr(self.of, "__init__", written)  # noqa: B010 - as above
        return written if instance is None else written.__get__(instance)


def _written(cls: type[Any]) -> Callable[..., None]:
    """`def __init__(self, a, b=1): fill(self, "__dict__", {"a": a, "b": b})`, then `__post_init__` if there is one."""
    scope: dict[str, Any] = {"_fill": object.__setattr__, "_none": _GIVEN_NONE}
    parameters, values = ["self"], []
    for f in dataclasses.fields(cls):
        default, value = "", f.name
        if f.default_factory is not dataclasses.MISSING:
            scope[f"_{f.name}"] = f.default_factory
            default, value = "=_none", f"_{f.name}() if {f.name} is _none else {f.name}"
        elif f.default is not dataclasses.MISSING:
            scope[f"_{f.name}"], default = f.default, f"=_{f.name}"
        parameters.append(f"{f.name}{default}")
        values.append(f"{f.name!r}: {value}")
    after = "; self.__post_init__()" if hasattr(cls, "__post_init__") else ""
    text = f"def __init__({', '.join(parameters)}): _fill(self, '__dict__', {{{', '.join(values)}}}){after}"
    exec(text, scope)  # noqa: S102 - as dataclasses does, of field names alone
    written: Callable[..., None] = scope["__init__"]
    written.__qualname__ = f"{cls.__qualname__}.__init__"
    return written


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__dataclass_fields__)


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hashed(self: Any) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    fields = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__dataclass_fields__)
    return f"{type(self).__qualname__}({fields})"


def _refused(self: object, name: str, *_: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"{name!r} of a {type(self).__qualname__} does not change; see replace")


_SHARED: dict[str, Callable[..., Any]] = {
    "__eq__": _equal, "__hash__": _hashed, "__repr__": _shown, "__setattr__": _refused, "__delattr__": _refused,
}  # fmt: skip
