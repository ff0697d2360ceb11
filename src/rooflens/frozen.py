"""The frozen record: what every value of the house is made with.

It is a frozen dataclass to type checkers and to the functions of `dataclasses`, which is not loaded before one of them
is called: writing and compiling the methods of each class was most of what a command did. Here all records share them.
"""

from __future__ import annotations

import typing
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

__all__ = ["Field", "field", "fields", "is_record", "quantity", "record", "replace"]

T = TypeVar("T")
_NONE = object()  # no default, since None is one
_fill = object.__setattr__


class Field:
    """One field of a record: its name, its annotation as text, the module that reads it, its default, its unit."""

    __slots__ = ("default", "default_factory", "home", "name", "text", "unit")

    def __init__(self, default: Any = _NONE, default_factory: Any = _NONE, unit: str | None = None) -> None:
        self.name = self.text = self.home = ""
        self.default, self.default_factory, self.unit = default, default_factory, unit

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is _NONE and self.default_factory is _NONE

    @property
    def absent(self) -> dict[str, Any]:
        """The default, as the keyword that says it."""
        if self.default_factory is not _NONE:
            return {"default_factory": self.default_factory}
        return {} if self.default is _NONE else {"default": self.default}


def quantity(unit: str, *, default: Any = _NONE, default_factory: Any = _NONE) -> Any:
    """A field that a file may write as text with this unit; of a dict, each value."""
    return Field(default, default_factory, unit)


if TYPE_CHECKING:  # checkers know these two, which the ones below stand for
    from dataclasses import field, replace
else:

    def field(*, default: Any = _NONE, default_factory: Any = _NONE) -> Any:
        """A field with a default that is made anew for each record."""
        return Field(default, default_factory)

    def replace(of: T, /, **changes: Any) -> T:
        """The same record with other values in some fields."""
        return type(of)(**{name: getattr(of, name) for name in of.__record__ if name not in changes}, **changes)


def is_record(what: object) -> bool:
    """Whether this is a record or the class of one."""
    return hasattr(what, "__record__")


def fields(of: Any) -> tuple[Field, ...]:
    """The fields of a record or of its class, in order."""
    return tuple(of.__record__.values())


@typing.dataclass_transform(frozen_default=True, field_specifiers=(field, quantity))
def record(cls: type[T]) -> type[T]:
    """A frozen dataclass whose methods are those that all records share. What a class defines itself is kept.

    A default of a field is given by keyword: `quantity("B", default=None)`. Raises TypeError for one that changes.
    """
    made: Any = cls
    known = dict(getattr(cls, "__record__", {}))
    known |= {name: _field(made, name, text) for name, text in cls.__annotations__.items() if "ClassVar" not in text}
    shared = {name: method for name, method in _SHARED.items() if name not in cls.__dict__}
    defaults = {name: f.default for name, f in known.items() if f.default is not _NONE}
    fresh = tuple((name, f.default_factory) for name, f in known.items() if f.default_factory is not _NONE)
    shared |= {"__record__": known, "__plan__": (tuple(known), defaults, fresh, getattr(cls, "__post_init__", None))}
    for name, value in {**shared, "__match_args__": tuple(known)}.items():
        setattr(made, name, value)
    return cls


def _field(cls: Any, name: str, text: str) -> Field:
    """The field of one annotation; the class keeps its default as an attribute, or nothing."""
    said = cls.__dict__.get(name, _NONE)
    found = said if isinstance(said, Field) else _taken(said) if hasattr(said, "default_factory") else Field(said)
    found.name, found.text, found.home = name, text, cls.__module__
    if type(found.default).__hash__ is None:
        raise TypeError(f"{cls.__qualname__}.{name}: all records would share this default; use default_factory")
    if found.default is not _NONE:
        setattr(cls, name, found.default)
    elif said is not _NONE:
        delattr(cls, name)
    return found


def _taken(said: Any) -> Field:
    """What dataclasses.field said, as ours."""
    from dataclasses import MISSING

    default, factory = (_NONE if value is MISSING else value for value in (said.default, said.default_factory))
    return Field(default, factory)


def _init(self: Any, *given: Any, **named: Any) -> None:
    names, defaults, fresh, after = self.__plan__
    values = dict(zip(names, given))  # noqa: B905 - what is too many is seen below, and a keyword here costs time
    if named:
        values |= named
    good = len(values) == len(given) + len(named)  # none too many, none given twice
    if len(values) < len(names):
        values = {**defaults, **values}
        values |= {name: make() for name, make in fresh if name not in values}
    if not good or len(values) != len(names) or (named and not named.keys() <= self.__record__.keys()):
        _wrong(type(self), given, named)
    _fill(self, "__dict__", values)
    if after is not None:
        after(self)


def _wrong(cls: type[Any], given: tuple[Any, ...], named: dict[str, Any]) -> NoReturn:
    """Raises TypeError, saying what is missing, unknown or there twice."""
    try:
        cls.__signature__.bind(*given, **named)
    except TypeError as error:
        raise TypeError(f"{cls.__qualname__}: {error}") from None
    raise AssertionError(cls)


class _Signature:
    """What `help` and notebooks show: made when they ask."""

    def __get__(self, record: object, cls: Any) -> Any:
        from inspect import Parameter, Signature

        kind, parameters = Parameter.POSITIONAL_OR_KEYWORD, []
        for f in fields(cls):
            default = Parameter.empty if f.required else f.default if f.default is not _NONE else f.default_factory()
            parameters.append(Parameter(f.name, kind, default=default, annotation=f.text))
        return Signature(parameters)


class _Dataclass:
    """What the functions of `dataclasses` ask for: made when they do."""

    def __get__(self, record: object, cls: Any) -> Any:
        import dataclasses

        def like(f: Field) -> Any:
            return dataclasses.field(**f.absent, metadata={"unit": f.unit} if f.unit else None)

        known = [(f.name, f.text, like(f)) for f in fields(cls)]
        said = {"__doc__": cls.__doc__ or cls.__name__}  # without one, dataclasses would work out a signature
        twin = dataclasses.make_dataclass(cls.__name__, known, namespace=said, init=False)
        cls.__dataclass_fields__ = twin.__dataclass_fields__  # type: ignore[attr-defined]
        return cls.__dataclass_fields__


def _values(self: Any) -> tuple[Any, ...]:
    return tuple(getattr(self, name) for name in self.__record__)


def _equal(self: Any, other: object) -> bool:
    return _values(self) == _values(other) if type(other) is type(self) else NotImplemented


def _hashed(self: Any) -> int:
    return hash(_values(self))


def _shown(self: Any) -> str:
    said = ", ".join(f"{name}={getattr(self, name)!r}" for name in self.__record__)
    return f"{type(self).__qualname__}({said})"


def _refused(self: object, name: str, *_: object) -> NoReturn:
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{name!r} of a {type(self).__qualname__} does not change; see replace")


_SHARED: dict[str, Any] = {
    "__init__": _init, "__eq__": _equal, "__hash__": _hashed, "__repr__": _shown, "__replace__": replace,
    "__setattr__": _refused, "__delattr__": _refused, "__signature__": _Signature(),
    "__dataclass_fields__": _Dataclass(),
}  # fmt: skip
