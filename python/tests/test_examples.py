"""The examples: they run as scripts and with a service, and their notebooks are the same code, executed."""

from __future__ import annotations

import doctest
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jupytext
import pytest
from served import PROGRAM, make_token, plain, running

import banister

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = sorted(path.stem for path in EXAMPLES.glob("*.py"))
FIGURES = {"llm_routing": 2, "logged_data": 2, "own_agent": 2, "reproduce_paper": 2, "seasons": 1}
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


ROOT = Path(__file__).parents[2]


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data")) as url:
        yield url


@pytest.mark.parametrize("chapter", ["client", "llm-routing"])
def test_the_chapter_is_true_with_a_service(chapter: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANISTER_URL", url)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    path = str(ROOT / "docs" / f"{chapter}.md")
    failed, tried = doctest.testfile(path, module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def environment(**more: str) -> dict[str, str]:
    """The package that is tested is the one that the examples find."""
    packages = str(Path(banister.__file__).parents[1])
    path = os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")])
    return {**plain(), "PYTHONPATH": path, "BANISTERD": PROGRAM, **more}


def shop(cwd: Path, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """The shop, for as long as it says; afterwards nothing is left of it in its folder."""
    command = [sys.executable, str(ROOT / "examples" / "shop.py"), *arguments]
    options: dict[str, Any] = {"cwd": cwd, "env": environment(**variables), "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=300, check=False, **options)
    assert list(cwd.iterdir()) == [], "it leaves nothing behind"
    return done


def test_the_shop_runs_and_starts_a_service_itself(tmp_path: Path) -> None:
    # What is set for another service is not for this one.
    variables = {"BANISTER_URL": "http://127.0.0.1:1", "BANISTER_DATABASE": str(tmp_path / "precious.db")}
    done = shop(tmp_path, "--minutes", "0.05", "--seed", "3", **variables)
    assert done.returncode == 0, done.stderr
    for word in ("checkout", "recommendations", "complaints", "conversion", "spend", "always safe", "forced"):
        assert word in done.stdout


def test_the_shop_says_which_program_it_misses(tmp_path: Path) -> None:
    done = shop(tmp_path, "--minutes", "0.05", BANISTERD=str(tmp_path / "banisterd"))
    assert done.returncode == 1
    assert "cargo build --release -p banisterd" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_shop_uses_a_service_with_tokens(tmp_path: Path) -> None:
    data, cwd = tmp_path / "data", tmp_path / "cwd"
    data.mkdir()
    cwd.mkdir()
    token = make_token(data, "admin", "shop")
    with running(data) as url, banister.client.Client(url, token=token) as client:
        done = shop(cwd, "--url", url, "--minutes", "0.02", BANISTER_TOKEN=token)
        assert done.returncode == 0, done.stderr
        names = [experiment.name for experiment in client.experiments()]
        assert sorted(names) == ["checkout", "recommendations"]
        refused = shop(cwd, "--url", url, "--minutes", "0.02")
        assert refused.returncode == 1
        assert "401" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_the_gateway_runs(url: str) -> None:
    for where in ([], ["--experiment", "gateway", "--url", url]):
        command = [sys.executable, str(ROOT / "examples" / "llm_gateway.py"), "--calls", "100", *where]
        done = subprocess.run(command, env=environment(), capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("100 calls for $")
    with banister.client.Client(url) as client:
        assert client.experiment("gateway").counts.outcomes == 100


def test_the_quickstart_runs(url: str) -> None:
    script = str(ROOT / "examples" / "quickstart.sh")
    variables = {**plain(), "BANISTER_URL": url}
    done = subprocess.run(["sh", script], env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert '"status":"complete"' in done.stdout.replace(" ", "")
