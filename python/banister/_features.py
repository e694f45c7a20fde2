"""Features of contexts: tables with categories, numbers and gaps become bounded vectors with an intercept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from . import _html, _native
from ._tables import Table, is_absent

#: Most values that a column may have to become a category by itself.
MOST_VALUES = 100


class Features:
    """Fields of a context by name, and the bounded vector that a linear agent sees of them.

    A vector begins with 1, the intercept; then come the fields in the order of their names. A number is
    scaled to [-1, 1] by its range, a flag is -1 or 1, a category has one entry for each value, 1 for the one
    that it is. With `missing="indicator"` a field has one more entry, which is 1 where the value is missing;
    its others are 0 then. So no vector of F fields is longer than `norm`, √(1 + F), and an entry of a
    parameter is how much the field moves the mean.

    Make one from a table with `Features.fit`, or declare the fields: each a dictionary with its `kind`.

    - `{"kind": "category", "values": ["de", "fr"]}`: texts or integers. Other values are refused; with
      `"unseen": "other"` they count as one more value.
    - `{"kind": "number", "range": [0, 24]}`: numbers outside are refused; with `"outside": "clip"` they count
      as the nearer end.
    - `{"kind": "boolean"}`.

    All take `"missing": "indicator"`; without it missing values are refused. The service takes the same
    dictionary as an experiment's `context`.

    >>> import banister
    >>> features = banister.Features(
    ...     {
    ...         "country": {"kind": "category", "values": ["de", "fr"]},
    ...         "hour": {"kind": "number", "range": [0, 24]},
    ...     }
    ... )
    >>> features.names
    ['intercept', 'country=de', 'country=fr', 'hour']
    >>> features.transform_one({"country": "fr", "hour": 18}).tolist()
    [1.0, 0.0, 1.0, 0.5]
    """

    def __init__(self, fields: Mapping[str, Mapping[str, Any]]) -> None:
        self._fields = _native.Fields(fields)

    @classmethod
    def fit(
        cls,
        frame: object,
        columns: Sequence[str] | None = None,
        *,
        numbers: Mapping[str, Sequence[float] | None] | None = None,
        categories: Mapping[str, Sequence[str] | Sequence[int] | None] | None = None,
        missing: Literal["indicator", "refuse"] = "indicator",
        unseen: Literal["refuse", "other"] = "refuse",
    ) -> Features:
        """Returns features for the columns of a table.

        Texts become categories, numbers numbers, and True and False flags. What was not in the table is
        refused later, but for numbers beyond those seen, which count as the nearest one seen.

        Parameters:
            frame: a pandas or polars DataFrame, a dictionary of columns, a list of dictionaries, or anything
                with `__arrow_c_stream__`, such as a pyarrow Table.
            columns: the columns to use; by default all.
            numbers: lowest and highest value, by column: `{"age": (0, 100)}`. Numbers outside a range given
                here are refused.
            categories: values, by column: `{"country": ["de", "fr"]}`; None for those that occur. For integers
                that are names, such as of shops: `{"shop": None}`.
            missing: "indicator" gives columns with gaps an entry for them; other columns refuse gaps later.
                "refuse" refuses a table with gaps.
            unseen: "refuse" values that are not among a category's, or count them all as "other".

        >>> import banister
        >>> visits = {"country": ["de", "fr", None], "age": [20, 60, 40], "member": [True, False, True]}
        >>> features = banister.Features.fit(visits, numbers={"age": (0, 100)})
        >>> features.names
        ['intercept', 'age', 'country=de', 'country=fr', 'country missing', 'member']
        >>> features.transform(visits).shape
        (3, 6)
        >>> features.transform_one({"country": "es", "age": 31, "member": True})
        Traceback (most recent call last):
        ...
        ValueError: `row["country"]` is "es": must be one of "de", "fr", or missing
        """
        _one_of("missing", missing, ("indicator", "refuse"))
        _one_of("unseen", unseen, ("refuse", "other"))
        table = _table(frame, "frame")
        names = list(table.names if columns is None else columns)
        if isinstance(columns, str) or not all(isinstance(name, str) for name in names):
            raise TypeError(f"`columns` is {columns!r}: must be a list of names of columns, which are texts")
        ranges, values = dict(numbers or {}), dict(categories or {})
        for argument, given in (("numbers", ranges), ("categories", values)):
            unknown = [name for name in given if name not in names]
            if unknown:
                raise ValueError(f"`{argument}` has {unknown[0]!r}: the columns are {', '.join(map(repr, names))}")
        fields: dict[str, dict[str, Any]] = {}
        for name in names:
            found = table.values(name, "columns")
            present = [value for value in found if not is_absent(value)]
            if name in ranges:
                field = _number(name, present, ranges[name])
            elif name in values:
                field = _category(name, present, values[name], unseen)
            else:
                field = _guessed(name, present, unseen)
            if len(present) < len(found):
                if missing == "refuse":
                    row = next(i for i, value in enumerate(found) if is_absent(value))
                    raise ValueError(
                        f"`frame[{name!r}][{row}]` is missing: fill it in, drop the row, or use missing='indicator'"
                    )
                field["missing"] = "indicator"
            fields[name] = field
        made = cls(fields)
        made.transform(frame)
        return made

    def transform(self, frame: object) -> NDArray[np.float64]:
        """Returns one vector per row of a table, which may have more columns than the fields."""
        return _matrix(self._fields, frame, "frame")

    def transform_one(self, row: object) -> NDArray[np.float64]:
        """Returns the vector of one row, a dictionary or a pandas Series with nothing but the fields."""
        return self._fields.vector(row, "row")

    @property
    def columns(self) -> list[str]:
        """Names of the fields, in their order."""
        return list(self.to_dict())

    @property
    def names(self) -> list[str]:
        """Names of the numbers of a vector."""
        return self._fields.names

    @property
    def dimension(self) -> int:
        """Length of the vectors."""
        return self._fields.dimension

    @property
    def norm(self) -> float:
        """Upper bound on the Euclidean length of every vector: what `Oplb` calls `norm`."""
        return self._fields.norm

    def to_dict(self) -> dict[str, dict[str, Any]]:
        """Returns the fields as declared, without defaults."""
        return self._fields.to_dict()

    @classmethod
    def from_dict(cls, fields: Mapping[str, Mapping[str, Any]]) -> Features:
        """Returns the features of what `to_dict` gave."""
        return cls(fields)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Features) and self._fields == other._fields

    __hash__ = None  # type: ignore[assignment]

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.to_dict(),))

    def __repr__(self) -> str:
        return f"Features([{', '.join(self.columns)}], dimension={self.dimension})"

    def _repr_html_(self) -> str:
        rows = [[name, field["kind"], _allowed(field), _rules(field)] for name, field in self.to_dict().items()]
        note = f"vectors of {self.dimension} numbers with the intercept, at most {_html.number(self.norm)} long"
        return _html.page("Features", ["field", "kind", "values", "otherwise"], rows, [note])


def by_name(fields: _native.Fields, value: Any, argument: str) -> object:
    """Returns contexts as numbers: those of a table by its columns, others as they are."""
    if isinstance(value, Mapping) or hasattr(value, "columns") or hasattr(value, "__arrow_c_stream__"):
        return _matrix(fields, value, argument)
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Mapping):
        return _matrix(fields, value, argument)
    return value


def _matrix(fields: _native.Fields, frame: object, argument: str) -> NDArray[np.float64]:
    table = _table(frame, argument)
    names = list(fields.to_dict())
    for name in names:
        if name not in table.names:
            known = ", ".join(map(repr, table.names))
            raise ValueError(f"`{argument}` has no column {name!r}, which the features need: its columns are {known}")
    return fields.matrix([table.values(name, argument) for name in names], argument)


def _table(frame: object, argument: str) -> Table:
    if isinstance(frame, (list, tuple)) and all(isinstance(row, Mapping) for row in frame):
        names = dict.fromkeys(name for row in frame for name in row)
        frame = {name: [row.get(name) for row in frame] for name in names}
    return Table(frame, argument)


def _one_of(argument: str, value: object, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        raise ValueError(f"`{argument}` is {value!r}: must be {' or '.join(map(repr, allowed))}")


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, bool)


def _guessed(name: str, present: list[Any], unseen: str) -> dict[str, Any]:
    """Returns the field of a column by its values."""
    if not present:
        raise ValueError(f"column {name!r} has no values: leave it out, or declare it in `numbers` or `categories`")
    if all(isinstance(value, (bool, np.bool_)) for value in present):
        return {"kind": "boolean"}
    if all(_is_number(value) for value in present):
        return _number(name, present, None)
    if all(isinstance(value, str) for value in present):
        return _category(name, present, None, unseen)
    kinds = sorted({type(value).__name__ for value in present})
    raise TypeError(
        f"column {name!r} holds {', '.join(kinds)}: must be texts, numbers, or True and False; make numbers or "
        "categories of dates, such as the hour"
    )


def _number(name: str, present: list[Any], given: Sequence[float] | None) -> dict[str, Any]:
    if given is not None:
        return {"kind": "number", "range": [float(end) for end in given]}
    numbers = np.array([value for value in present if _is_number(value)], dtype=float)
    if len(numbers) == 0 or not np.isfinite(numbers).all():
        raise ValueError(f"column {name!r} has no numbers, or infinite ones: give its range in `numbers`")
    lo, hi = float(numbers.min()), float(numbers.max())
    if lo == hi:
        raise ValueError(f"column {name!r} is {lo:g} in every row: leave it out, or give its range in `numbers`")
    return {"kind": "number", "range": [lo, hi], "outside": "clip"}


def _category(name: str, present: list[Any], given: Sequence[Any] | None, unseen: str) -> dict[str, Any]:
    if isinstance(given, str):
        raise TypeError(f"`categories[{name!r}]` is {given!r}: must be a list of values")
    # Columns of integers with gaps come as floats.
    values = {int(v) if _is_number(v) and float(v).is_integer() else v for v in (present if given is None else given)}
    if given is None:
        if len(values) > MOST_VALUES:
            raise ValueError(
                f"column {name!r} has {len(values)} different values, more than {MOST_VALUES}: leave it out, or "
                "list its values in `categories`"
            )
        listed = sorted(values, key=lambda value: (isinstance(value, str), value))
    else:
        listed = list(given)
    rule = {} if unseen == "refuse" else {"unseen": unseen}
    return {"kind": "category", "values": listed, **rule}


def _allowed(field: dict[str, Any]) -> str:
    if field["kind"] == "number":
        return _html.interval(*field["range"])
    values = [str(value) for value in field.get("values", ["false", "true"])]
    return ", ".join(values if len(values) <= 8 else [*values[:8], f"… {len(values)} in all"])


def _rules(field: dict[str, Any]) -> str:
    rules = {"unseen": "other values are one", "outside": "numbers beyond are clipped", "missing": "may be missing"}
    return "; ".join(text for rule, text in rules.items() if rule in field) or "refused"


def given_as_context(value: object) -> Any:
    """Returns features of what an experiment declares as its `context`: a number stays one."""
    if isinstance(value, Features):
        return value.to_dict()
    if isinstance(value, Mapping):
        return Features(cast("Mapping[str, Mapping[str, Any]]", value)).to_dict()
    return value
