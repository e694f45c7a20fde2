"""Between Python's objects and the service's JSON: plain data out, typed objects in."""

from __future__ import annotations

import dataclasses
import math
import types
import typing
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from functools import cache
from typing import Any, TypeVar

import numpy as np

from ._guardrail import Guardrail
from ._service_errors import ServiceError

T = TypeVar("T")


def plain(value: Any, field: str) -> Any:
    """The same as JSON's own types; arrays become lists. NaN and infinities are refused."""
    if isinstance(value, Guardrail):
        value = value.to_dict()
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, float):
        return finite(value, field)
    if isinstance(value, Mapping):
        return {str(key): plain(inner, f"{field}.{key}") for key, inner in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray)):
        return [plain(inner, f"{field}[{i}]") for i, inner in enumerate(value)]
    if hasattr(value, "to_numpy"):
        return plain(value.to_numpy(), field)
    if isinstance(value, AbstractSet):
        raise TypeError(f"`{field}` is a {type(value).__name__}, which has no order: give a list")
    raise TypeError(f"`{field}` is {value!r} ({type(value).__name__}): cannot be sent as JSON")


def number(value: Any, field: str) -> float:
    """A finite number; True and False are 1 and 0, as in the package's arrays."""
    if isinstance(value, np.ndarray) and value.ndim == 0 or isinstance(value, np.generic):
        value = value.item()
    if not isinstance(value, (int, float)):
        raise TypeError(f"`{field}` is {value!r} ({type(value).__name__}): must be a number")
    return finite(float(value), field)


def finite(value: float, field: str) -> float:
    """The number itself, unless it is NaN or infinite."""
    if not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else str(value)
        raise ValueError(f"`{field}` is {shown}: only finite numbers are allowed")
    return value


def numbers(values: Any, field: str) -> list[float]:
    """A row of finite numbers."""
    row = plain(values, field)
    if not isinstance(row, list):
        raise TypeError(f"`{field}` is {row!r} ({type(row).__name__}): must be a row of numbers")
    return [number(value, f"{field}[{i}]") for i, value in enumerate(row)]


def agrees(asked: Any, known: Any) -> bool:
    """Whether what the service knows is what was asked for, beside defaults that it filled in."""
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


def decode(kind: type[T], value: Any) -> T:
    """A typed object from the service's JSON. Keys that are not known here are left out."""
    try:
        decoded: T = _decoded(kind, value, kind.__name__)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ServiceError(f"the service's answer is not understood: {error}") from error
    return decoded


def _decoded(kind: Any, value: Any, where: str) -> Any:
    if kind is Any:
        return value
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None:
            return None
        (kind,) = (argument for argument in arguments if argument is not type(None))
        return _decoded(kind, value, where)
    if origin is tuple:
        _expect(value, list, where)
        return tuple(_decoded(arguments[0], one, f"{where}[{i}]") for i, one in enumerate(value))
    if origin is dict:
        _expect(value, dict, where)
        return {key: _decoded(arguments[1], one, f"{where}.{key}") for key, one in value.items()}
    if dataclasses.is_dataclass(kind):
        _expect(value, dict, where)
        value = getattr(kind, "_from_json", dict)(value)
        found = {}
        for name, (hint, required) in _fields(typing.cast(Any, kind)).items():
            if name in value:
                found[name] = _decoded(hint, value[name], f"{where}.{name}")
            elif required:
                raise KeyError(f"{where} has no {name}")
        return typing.cast(Any, kind)(**found)
    if kind is datetime:
        _expect(value, str, where)
        return datetime.fromisoformat(value.replace("Z", "+00:00"))
    if kind is float:
        _expect(value, (int, float), where)
        return float(value)
    _expect(value, kind, where)
    return value


def _expect(value: Any, kind: Any, where: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{where} is {value!r}")


@cache
def _fields(kind: Any) -> dict[str, tuple[Any, bool]]:
    hints = typing.get_type_hints(kind)
    missing = dataclasses.MISSING
    return {
        field.name: (
            hints[field.name],
            field.default is missing and field.default_factory is missing,
        )
        for field in dataclasses.fields(kind)
    }
