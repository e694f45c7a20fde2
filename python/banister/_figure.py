"""Figures of results: drawn by the report's own code, the same as those of the command line."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import _native


@dataclass(frozen=True)
class Figure:
    """A figure, as the report of the command line shows it; the value of a notebook's cell is drawn.

    Attributes:
        svg: The figure as an SVG document, with the numbers behind its marks as tooltips.
    """

    svg: str = field(repr=False)

    def png(self, path: str | os.PathLike[str] | None = None) -> bytes:
        """The figure as PNG, two pixels per unit of the SVG; written to `path` if given."""
        picture = _native.render_png(self.svg, 2.0)
        if path is not None:
            Path(path).write_bytes(picture)
        return picture

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the figure; the suffix, `.svg` or `.png`, says how."""
        suffix = Path(path).suffix.lower()
        if suffix == ".svg":
            Path(path).write_text(self.svg, "utf-8")
        elif suffix == ".png":
            self.png(path)
        else:
            raise ValueError(f"`path` is {str(path)!r}: must end in .svg or .png")

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_png_(self) -> bytes:
        # Notebooks are narrower than most figures: fewer pixels lose nothing there.
        return _native.render_png(self.svg, 1.0)


def chosen(instances: Sequence[dict[str, Any]], instance: str | int | None) -> int | None:
    """The place of the instance asked for by name or number; None for all."""
    if instance is None:
        return None
    if isinstance(instance, int) and -len(instances) <= instance < len(instances):
        return instance % len(instances)
    names = [one["name"] for one in instances]
    if instance in names:
        return names.index(str(instance))
    raise ValueError(f"`instance` is {instance!r}: the instances are {', '.join(names)}")
