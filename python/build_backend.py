"""Builds wheels: maturin's, with the stubs of the agents, which only the compiled registry knows."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import maturin
from maturin import (
    build_editable,
    build_sdist,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_editable,
    prepare_metadata_for_build_wheel,
)

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
]


def build_wheel(wheel_directory: str, config_settings: Any = None, metadata_directory: str | None = None) -> str:
    """Builds a wheel, and lets the package in it write its stubs."""
    name: str = maturin.build_wheel(wheel_directory, config_settings, metadata_directory)

    def run(module: str, *arguments: object, cwd: Path | None = None) -> None:
        subprocess.run([sys.executable, "-m", module, *map(str, arguments)], check=True, cwd=cwd)

    with tempfile.TemporaryDirectory() as place:
        run("wheel", "unpack", Path(wheel_directory, name), "--dest", place)
        (unpacked,) = Path(place).iterdir()
        # Its own folder comes first: it is not an installed package that writes.
        run("banister._stubs", "_native", "_agents", "rivals", cwd=unpacked)
        run("wheel", "pack", unpacked, "--dest-dir", wheel_directory)
    return name
