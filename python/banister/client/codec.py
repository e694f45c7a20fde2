"""Between Python's objects and the service's JSON: plain data out, typed objects in."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Callable
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import numpy as np

from .._plain import finite, refused
from .._plain import plain as as_plain
from .answers import Policy
from .errors import ServiceError

T = TypeVar("T")


def plain(value: Any, field: str) -> Any:
    """Returns the same as JSON's own types: rows of tables go by their numbers, not their labels."""
    return as_plain(value, field, ("to_numpy", "to_dict", "tolist"))


def number(value: Any, field: str) -> float:
    """Returns a finite number; True and False are 1 and 0, as in the package's arrays."""
    if (isinstance(value, np.ndarray) and value.ndim == 0) or isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise refused(field, value, "must be a number")
    return finite(float(value), field)


def numbers(values: Any, field: str) -> list[float]:
    """Returns a row of finite numbers."""
    row = plain(values, field)
    if not isinstance(row, list):
        raise refused(field, row, "must be a row of numbers")
    return [number(value, f"{field}[{i}]") for i, value in enumerate(row)]


def agrees(asked: Any, known: Any) -> bool:
    """Returns True if the service knows what was asked for, beside defaults that it filled in."""
    if asked is None or known is None:
        return asked is None or asked is False
    if isinstance(asked, str) and isinstance(known, dict):
        return bool(asked == known.get("name"))
    if isinstance(asked, dict) and isinstance(known, dict):
        return all(agrees(value, known.get(key)) for key, value in asked.items())
    if isinstance(asked, list) and isinstance(known, list):
        pairs = zip(asked, known, strict=False)
        return len(asked) == len(known) and all(agrees(a, k) for a, k in pairs)
    return bool(asked == known)


class _Unfit(Exception):
    """A value that is not what belongs there."""

    def __init__(self, what: str) -> None:
        super().__init__(what)
        self.path = ""
        self.what = what


def decode(kind: type[T], value: Any) -> T:
    """Returns a typed object from the service's JSON. Unknown keys are ignored."""
    try:
        decoded: T = _reader(typing.cast(Any, kind))(value)
    except _Unfit as error:
        where = f"{kind.__name__}{error.path}"
        raise ServiceError(f"the service's answer is not understood: {where} {error.what}") from None
    return decoded


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Makes the reader for values of a type, once for each."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        return _union([_reader(one) for one in arguments], [_json_type(one) for one in arguments])
    if origin is tuple:
        return _tuple(_reader(arguments[0]))
    if origin is dict:
        return _dictionary(_reader(arguments[1]))
    if origin is typing.Literal:
        # A newer service may have another word.
        return lambda value: _checked(value, str)
    if kind is Policy:
        return lambda value: Policy.from_json(_checked(value, list))
    if dataclasses.is_dataclass(kind):
        return _object(kind)
    if kind is datetime:
        return _time
    if kind is float:
        return lambda value: float(_checked(value, (int, float)))
    return (lambda value: value) if kind is Any else lambda value: _checked(value, kind)


def _json_type(kind: Any) -> type:
    """Returns the type that JSON has for values of a type."""
    origin = typing.get_origin(kind) or kind
    if origin in (typing.Literal, datetime):
        return str
    if dataclasses.is_dataclass(origin):
        return dict
    return list if origin in (tuple, Policy) else typing.cast(type, origin)


def _union(readers: list[Callable[[Any], Any]], kinds: list[type]) -> Callable[[Any], Any]:
    by_type = dict(zip(kinds, readers, strict=True))
    by_type.setdefault(int, by_type.get(float, readers[0]))
    return lambda value: by_type.get(type(value), readers[0])(value)


def _checked(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise _Unfit(f"is {value!r}")
    return value


def _time(value: Any) -> datetime:
    try:
        return datetime.fromisoformat(_checked(value, str).replace("Z", "+00:00"))
    except ValueError:
        raise _Unfit(f"is {value!r}") from None


def _at(read: Callable[[Any], Any], value: Any, step: str) -> Any:
    """Reads a part; an error of it says where."""
    try:
        return read(value)
    except _Unfit as error:
        error.path = step + error.path
        raise


def _tuple(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: tuple(_at(read, one, f"[{i}]") for i, one in enumerate(_checked(value, list)))


def _dictionary(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: {key: _at(read, one, f".{key}") for key, one in _checked(value, dict).items()}


def _object(kind: Any) -> Callable[[Any], Any]:
    hints = typing.get_type_hints(kind)
    fields = [
        (field.name, f".{field.name}", _reader(hints[field.name]), _is_required(field))
        for field in dataclasses.fields(kind)
    ]

    def read(value: Any) -> Any:
        _checked(value, dict)
        found = {}
        for name, step, reader, required in fields:
            if name in value:
                found[name] = _at(reader, value[name], step)
            elif required:
                raise _Unfit(f"has no {name}")
        return kind(**found)

    return read


def _is_required(field: dataclasses.Field[Any]) -> bool:
    missing = dataclasses.MISSING
    return field.default is missing and field.default_factory is missing
