"""The examples: they run as scripts, and their notebooks are the same code, executed."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jupytext
import pytest

import banister

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
FIGURES = {"llm_routing": 2, "logged_data": 2, "own_agent": 2, "reproduce_paper": 2}
SHORT = "600"


def test_the_chapter_is_true_as_written() -> None:
    chapter = Path(__file__).parents[2] / "docs" / "python.md"
    assert doctest.testfile(str(chapter), module_relative=False, encoding="utf-8").failed == 0


def maker() -> Any:
    """The script that makes the notebooks."""
    spec = importlib.util.spec_from_file_location("make", EXAMPLES / "notebooks" / "make.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def stored(name: str) -> Any:
    return jupytext.read(EXAMPLES / "notebooks" / f"{name}.ipynb")


def figures(notebook: Any) -> int:
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert all(output.output_type != "error" for output in outputs)
    assert all(output.get("name") != "stderr" for output in outputs)
    return sum("image/png" in output.get("data", {}) for output in outputs)


def test_every_example_has_a_notebook_and_the_reverse() -> None:
    notebooks = sorted(path.stem for path in (EXAMPLES / "notebooks").glob("*.ipynb"))
    assert notebooks == NAMES == sorted(FIGURES)


@pytest.mark.parametrize("name", NAMES)
def test_runs_as_a_script(name: str, tmp_path: Path) -> None:
    packages = str(Path(banister.__file__).parents[1])
    environment = {
        **os.environ,
        "BANISTER_CLONE": str(EXAMPLES.parents[1]),
        "BANISTER_EXAMPLE_HORIZON": SHORT,
        "MPLBACKEND": "agg",
        "PYTHONPATH": os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")]),
    }
    # Where there is a display, matplotlib complains of a backend that cannot use it.
    environment.pop("DISPLAY", None)
    done = subprocess.run(
        [sys.executable, str(EXAMPLES / f"{name}.py")],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout


def shown(notebook: Any) -> list[Any]:
    """Cells with their outputs as people read them; of images, that they are there."""

    def output(one: Any) -> Any:
        data = {kind: kind.startswith("image/") or text for kind, text in one.get("data", {}).items()}
        return one.output_type, one.get("name"), one.get("text"), data

    return [(cell.cell_type, cell.source, [output(one) for one in cell.get("outputs", [])]) for cell in notebook.cells]


@pytest.mark.parametrize("name", NAMES)
def test_notebooks_are_the_examples_executed(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(banister.__file__).parents[1]), prepend=os.pathsep)
    kept, made = stored(name), maker().execute(maker().notebook(EXAMPLES / f"{name}.py"), str(tmp_path))
    advice = f"{name}.ipynb is stale; make it anew: python python/examples/notebooks/make.py {name}"
    assert shown(kept) == shown(made), advice
    assert figures(kept) == FIGURES[name]
    assert (EXAMPLES / "notebooks" / f"{name}.ipynb").stat().st_size < 400 * 1024
    path = re.search(r"(?<![\w.])/(home|opt|private|root|tmp|usr|var|work|Users)/.*", str(shown(kept)))
    assert path is None, "a path of the machine that made it"
