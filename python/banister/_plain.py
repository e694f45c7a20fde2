"""Values as JSON has them: what callers give, and decisions for logs."""

from __future__ import annotations

import json
import math
import operator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native

#: No declaration is this deep; something that contains itself is.
_DEEPEST = 32
#: Methods by which objects say what they stand for: declarations, arrays and their numbers, paths.
_METHODS = ("to_dict", "tolist", "item", "__fspath__", "to_numpy")


def plain(value: Any, field: str, methods: tuple[str, ...] = _METHODS, depth: int = 0) -> Any:
    """Returns the same as JSON's own types. NaN and infinity are refused, and so is what contains itself."""
    if value is None or isinstance(value, (str, bool)):
        return value
    if isinstance(value, int):
        if not -(2**63) <= value < 2**64:
            raise ValueError(f"`{field}` is {value}: too large for a 64-bit integer")
        return value
    if isinstance(value, float):
        # A declared signal may have no highest value; JSON has no infinity.
        return "inf" if value == math.inf and field.startswith("signals") else finite(value, field)
    if depth > _DEEPEST:
        raise refused(field, value, "it is nested too deeply, or contains itself")

    def below(inner: Any, field: str) -> Any:
        return plain(inner, field, methods, depth + 1)

    if isinstance(value, dict):
        named = ((_key(key, field), inner) for key, inner in value.items())
        return {key: below(inner, f"{field}.{key}" if field else key) for key, inner in named}
    if isinstance(value, (list, tuple)):
        # Columns of tables are long.
        if all(type(inner) is float and math.isfinite(inner) for inner in value):
            return list(value)
        return [below(inner, f"{field}[{i}]") for i, inner in enumerate(value)]
    # Mappings and sequences are not recognised by `collections.abc`: a Ctrl-C that comes while it is looked up would
    # be lost.
    for method in methods:
        if hasattr(value, method) and not (method == "item" and hasattr(value, "__len__")):
            return below(getattr(value, method)(), field)
    if hasattr(value, "keys"):
        return below(dict(value), field)
    if hasattr(value, "__len__") and hasattr(value, "__getitem__") and not isinstance(value, (bytes, bytearray)):
        return below(list(value), field)
    raise refused(field, value, "must be a number, a string, a list or a dictionary of those")


def _key(key: Any, field: str) -> str:
    """Returns a key as a text: arms may have integers for names."""
    if isinstance(key, str):
        return key
    if isinstance(key, bool) or not hasattr(key, "__index__"):
        raise refused(field, key, "keys must be strings")
    return str(operator.index(key))


def finite(value: float, field: str) -> float:
    """Returns the number itself, unless it is NaN or infinite."""
    if not math.isfinite(value):
        shown = "NaN" if math.isnan(value) else str(value)
        raise ValueError(f"`{field}` is {shown}: only finite numbers are allowed")
    return value


def refused(argument: str, value: object, allowed: str) -> TypeError:
    """Returns the error for a value of another type than is allowed."""
    text = repr(value)
    shown = text if len(text) <= 60 else f"{text[:60]}…"
    return TypeError(f"`{argument}` is {shown} ({type(value).__name__}): {allowed}")


def as_json(value: Any, field: str) -> str:
    """Returns a value as JSON, for the native module."""
    return json.dumps(plain(value, field), ensure_ascii=False)


def decision(one: _native.Decision) -> dict[str, Any]:
    """Returns a decision as a dictionary, for logs."""
    names = ("action", "index", "probability", "is_safe", "scale", "agent_id", "serial")
    parts = {"segment": one.segment, "alarm": one.alarm, "certificate": one.certificate}
    return {
        **{name: getattr(one, name) for name in names},
        "features": None if one.features is None else one.features.tolist(),
        "policy": list(one.policy.items()),
        **{name: None if part is None else part.to_dict() for name, part in parts.items()},
    }


def decision_batch(batch: _native.DecisionBatch) -> dict[str, Any]:
    """Returns many decisions as dictionaries."""
    return {"decisions": [decision(one) for one in batch]}
