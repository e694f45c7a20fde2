"""Segments as people give them: texts, integers, the values of several fields, columns and tables of those."""

from __future__ import annotations

from typing import Any

from ._plain import refused
from ._tables import Table


def declared(value: Any, _: list[str], argument: str) -> tuple[list[str] | None, object, str]:
    """Returns the fields that segments are made from, those that are known, and where these stand."""
    if not hasattr(value, "keys"):
        return None, value, argument
    if not isinstance(value, dict) or "fields" not in value or not {"fields", "known"}.issuperset(value):
        allowed = 'must be a list of names, or {"fields": [...], "known": [...]} for segments made from several fields'
        raise refused(argument, value, allowed)
    fields = value["fields"]
    if isinstance(fields, str) or not hasattr(fields, "__iter__") or any(not isinstance(one, str) for one in fields):
        raise refused(f'{argument}["fields"]', fields, "must be a list of names")
    known = value.get("known")
    return list(fields), [] if known is None else known, f'{argument}["known"]'


def texts(value: Any, fields: list[str], argument: str) -> list[str]:
    """Returns a segment's own text, or the texts of its fields."""
    if not fields:
        if hasattr(value, "keys") or isinstance(value, tuple):
            allowed = (
                'this agent\'s segments have plain names; make it with segments={"fields": [...]} for segments of '
                "several fields"
            )
            raise refused(argument, value, allowed)
        return [_text(value, argument)]
    if hasattr(value, "keys"):
        given = dict(value)
        for key in given:
            if key not in fields:
                raise ValueError(f"`{argument}` has {key!r}: the fields of a segment are {', '.join(fields)}")
        for field in fields:
            if field not in given:
                known = ", ".join(fields)
                raise ValueError(f'`{argument}` has no "{field}": a segment has a value of every field, {known}')
        values = [given[field] for field in fields]
    elif isinstance(value, (tuple, list)) and len(value) == len(fields):
        values = list(value)
    else:
        allowed = f"must be a dictionary with a value of {', '.join(fields)}, or a tuple of them"
        raise refused(argument, value, allowed)
    return [_text(one, f'{argument}["{field}"]') for field, one in zip(fields, values, strict=True)]


def listed(value: Any, fields: list[str], argument: str) -> list[Any]:
    """Returns many segments one by one: a column, or of segments made from fields a table or a list of rows."""
    # A Series of pandas has keys too.
    is_mapping = hasattr(value, "keys") and not hasattr(value, "to_numpy")
    is_table = is_mapping or hasattr(value, "columns") or hasattr(value, "column_names")
    if is_table and fields:
        table = Table(value, argument)
        return list(zip(*(table.values(field, argument) for field in fields), strict=True))
    for method in ("tolist", "to_list", "to_pylist"):
        if hasattr(value, method):
            value = getattr(value, method)()
            break
    if is_table or isinstance(value, str) or not hasattr(value, "__iter__"):
        allowed = "must be a list or a column of names"
        if fields:
            allowed = "must be a table with a column for each field, or a list of dictionaries or tuples"
        raise refused(argument, value, allowed)
    return list(value)


def _text(value: Any, argument: str) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, (str, int)):
        return str(value)
    if hasattr(value, "item") and not hasattr(value, "__len__"):
        return _text(value.item(), argument)
    allowed = 'must be a text or an integer; give missing values a name of their own, such as "unknown"'
    raise refused(argument, value, allowed)
