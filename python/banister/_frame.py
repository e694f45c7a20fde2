"""Columns out of tables: pandas, polars, dictionaries, and the Arrow C stream interface."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray


class Table:
    """A table of any library, read by column."""

    def __init__(self, frame: object, argument: str = "frame") -> None:
        self._frame: Any = frame
        self._argument = argument
        self.names: list[Any]
        if isinstance(frame, Mapping):
            self.names = list(frame)
        elif hasattr(frame, "to_numpy") and hasattr(frame, "columns"):
            self.names = list(frame.columns)
        elif hasattr(frame, "__arrow_c_stream__"):
            self._frame = _from_arrow(frame)
            self.names = list(self._frame)
        else:
            hint = ": call `collect()` on it" if hasattr(frame, "collect") else ""
            raise TypeError(
                f"`{argument}` is {type(frame).__name__}{hint}: must be a pandas or polars DataFrame, "
                "a dictionary of columns, or have `__arrow_c_stream__`"
            )

    def column(self, name: Any, argument: str) -> NDArray[Any]:
        """A column as it is."""
        if name not in self.names:
            known = ", ".join(map(repr, self.names))
            raise ValueError(
                f"`{argument}` is {name!r}: `{self._argument}` has the columns {known}"
            )
        column = self._frame[name]
        values = column.to_numpy() if hasattr(column, "to_numpy") else np.asarray(column)
        if values.ndim != 1:
            raise ValueError(
                f"`{argument}` (column {name!r}) has shape {values.shape}: must have one value per row"
            )
        return cast("NDArray[Any]", values)

    def numbers(self, name: Any, argument: str) -> NDArray[np.float64]:
        """A column of numbers, none of them missing."""
        values = self.column(name, argument)
        missing = is_missing(values)
        if missing.any():
            row = int(missing.argmax())
            raise ValueError(
                f"`{argument}` (column {name!r}) is missing or NaN in row {row}: drop such rows "
                "or fill them in"
            )
        return numbers(values, argument, f" (column {name!r})")


def is_missing(values: NDArray[Any]) -> NDArray[np.bool_]:
    """Where a column holds None, NaN or another sign of a missing value."""
    if values.dtype.kind == "f":
        return cast("NDArray[np.bool_]", np.isnan(values))
    if values.dtype.kind != "O":
        return np.zeros(len(values), dtype=bool)
    # NaN and pandas' NaT differ from themselves; pandas' NA refuses to be compared.
    return np.array([x is None or type(x).__name__ == "NAType" or x != x for x in values], bool)


def numbers(values: Any, argument: str, where: str = "") -> NDArray[np.float64]:
    """Real numbers as a contiguous array of doubles: the same memory where it is one already."""
    try:
        array = np.asarray(values)
        # NumPy would read numbers from text, and make NaN of None.
        strange = array.dtype.kind == "O" and any(
            isinstance(x, str) or x is None for x in array.flat
        )
        if strange or array.dtype.kind not in "fiubO":
            raise TypeError
        return np.ascontiguousarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        kind = getattr(getattr(values, "dtype", None), "name", type(values).__name__)
        raise TypeError(f"`{argument}`{where} holds {kind}: must be numbers") from None


def _from_arrow(frame: object) -> dict[str, Any]:
    """The columns of an Arrow stream, by whichever library is there to read it."""
    pyarrow = _imported("pyarrow")
    if pyarrow is None:
        polars = _imported("polars")
        if polars is None:
            raise TypeError(
                f"`frame` is {type(frame).__name__}: reading Arrow tables needs pyarrow or polars "
                "(pip install 'banister[arrow]')"
            )
        read = polars.DataFrame(frame)
        return {name: read.get_column(name) for name in read.columns}
    table = pyarrow.table(frame)
    columns = {}
    for name in table.column_names:
        column = table.column(name)
        if pyarrow.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        columns[name] = column
    return columns


def _imported(module: str) -> Any:
    try:
        return importlib.import_module(module)
    except ImportError:
        return None
