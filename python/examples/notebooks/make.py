"""Makes the notebooks from the examples and executes them: `python make.py [NAME ...]`.

The examples are the source; notebooks are for reading on a code host, figures and all.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import jupytext
from nbclient import NotebookClient
from nbformat import NotebookNode

HERE = Path(__file__).resolve().parent
EXAMPLES = sorted(HERE.parent.glob("*.py"))


def notebook(example: Path) -> NotebookNode:
    """The example as a notebook, not executed."""
    made: NotebookNode = jupytext.read(example)
    made.metadata = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    for number, cell in enumerate(made.cells):
        # Of the place instead of random, so that what did not change does not change.
        cell.id = f"cell-{number}"
        cell.metadata = {}
    return made


def execute(made: NotebookNode, folder: str) -> NotebookNode:
    """Runs all cells at their full length; files go to the folder."""
    others = {key: value for key, value in os.environ.items() if key not in ("BANISTER_EXAMPLE_HORIZON", "MPLBACKEND")}
    # When a line comes is the machine's affair: those of a cell are one output.
    client = NotebookClient(
        made, timeout=600, kernel_name="python3", resources={"metadata": {"path": folder}}, coalesce_streams=True
    )
    client.execute(env={**others, "BANISTER_CLONE": str(HERE.parents[2])})
    made.metadata.language_info = {"name": "python"}
    for cell in made.cells:
        cell.metadata = {}
        for output in cell.get("outputs", []):
            # Code hosts show the PNG beside it, which is smaller.
            output.get("data", {}).pop("image/svg+xml", None)
    return made


if __name__ == "__main__":
    names = sys.argv[1:] or [example.stem for example in EXAMPLES]
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            done = execute(notebook(HERE.parent / f"{name}.py"), folder)
        jupytext.write(done, HERE / f"{name}.ipynb")
        print(f"{name}.ipynb: {(HERE / f'{name}.ipynb').stat().st_size / 1024:.0f} KiB")
