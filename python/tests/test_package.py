"""The package as installed: its files, its types, its documentation, its command line."""

from __future__ import annotations

import doctest
import inspect
import os
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import banister
from banister import _stubs
from banister._agent import CLASSES

ROOT = Path(__file__).parents[2]
PUBLIC = [getattr(banister, name) for name in banister.__all__]
#: The root, and its modules by subject; `integrations` needs other libraries.
MODULES: list[ModuleType] = [banister, *(thing for thing in PUBLIC if isinstance(thing, ModuleType))]
# Their methods are those of `Agent`.
KINDS = {cls.__name__ for cls in CLASSES.values()}
BOOK = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
# Their examples need a service: `test_examples.py` runs them with one.
SERVED = {"client", "llm-routing"}
DOCS = [path for path in BOOK if ">>>" in path.read_text("utf-8") and path.stem not in SERVED]


def run(*arguments: str, **more: Any) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, **more)


def test_it_is_the_installed_package_that_is_tested() -> None:
    assert Path(banister.__file__).parent != ROOT / "python" / "banister"
    assert metadata.version("banister") == banister.__version__
    files = {Path(str(file)).name for file in metadata.files("banister") or ()}
    assert {"py.typed", "_native.pyi", "_agents.pyi", "rivals.pyi"} <= files
    assert any(name.startswith("_native.abi3") for name in files), "one wheel for all Pythons"
    wheel = metadata.distribution("banister").read_text("WHEEL") or ""
    assert "cp310-abi3" in wheel


def test_editors_show_the_documentation_of_the_native_module() -> None:
    stub = resources.files("banister").joinpath("_native.pyi").read_text("utf-8")
    assert _stubs.documented(stub) == stub
    assert stub.count('"""') > 2 * 80


def test_the_stubs_are_those_of_the_modules() -> None:
    modules = ["banister._native", "banister._agents", "banister.rivals"]
    done = run("-m", "mypy.stubtest", *modules, "--allowlist", str(allowed()))
    assert done.returncode == 0, done.stdout


def allowed() -> Path:
    return Path(__file__).parent / "stubtest-allowed.txt"


@pytest.fixture(name="cache", scope="module")
def _cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    """mypy's cache of libraries, which all checks read."""
    return str(tmp_path_factory.mktemp("mypy"))


@pytest.mark.parametrize("what", [["-p", "banister"], ["python/examples", "python/tests", "examples"]], ids=" ".join)
def test_types_are_strict(what: list[str], cache: str) -> None:
    options = ["--config-file", "pyproject.toml", "--cache-dir", cache]
    done = run("-m", "mypy", *options, *what, cwd=ROOT)
    assert done.returncode == 0, done.stdout


def test_wrong_types_are_caught(tmp_path: Path, cache: str) -> None:
    """The stubs say something: not everything is Any."""
    program = tmp_path / "program.py"
    program.write_text(
        'import banister\nbanister.Opb(3, delta="x")\nbanister.Opb(3).decide().probability.upper()\n'
        'banister.rivals.UcbBwk(3, horizon="y")\n'
        'banister.client.Client().decide("shop", ident="7")\nbanister.client.Client().state("shop").outcomes.lower()\n'
        'banister.client.AsyncClient().state("shop").number\n'
    )
    done = run("-m", "mypy", "--strict", "--cache-dir", cache, str(program))
    for wrong in ('"delta"', '"upper"', '"horizon"', '"ident"', '"lower"', '"number"'):
        assert wrong in done.stdout
    assert "Found 6 errors" in done.stdout


def documented() -> list[tuple[str, str]]:
    """Every docstring with an example that a user can reach, also of native classes."""
    found: dict[str, str] = {}
    for module in MODULES:
        found[module.__name__] = module.__doc__ or ""
        for name in module.__all__:
            thing = getattr(module, name)
            if isinstance(thing, (str, ModuleType)):
                continue
            found[name] = inspect.getdoc(thing) or ""
            bases = thing.__mro__ if inspect.isclass(thing) else ()
            for base in bases if name not in KINDS else ():
                if base.__module__.startswith("banister"):
                    for member, value in vars(base).items():
                        found[f"{name}.{member}"] = inspect.getdoc(value) or ""
    return [(name, text) for name, text in found.items() if ">>>" in text]


def test_the_root_has_what_a_newcomer_needs() -> None:
    public = {name for name in vars(banister) if not name.startswith("_")} - {"annotations", "integrations"}
    assert public == set(banister.__all__) - {"__version__"}
    assert len(banister.__all__) <= 26
    assert len(MODULES) > 7


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_everything_public_exists_and_is_documented(module: ModuleType) -> None:
    assert module.__doc__
    assert len(set(module.__all__)) == len(module.__all__) > 0
    for name in module.__all__:
        thing = getattr(module, name)
        assert name == "__version__" or inspect.getdoc(thing), name
        assert not isinstance(thing, type) or getattr(sys.modules[thing.__module__], name) is thing, "for pickles"


@pytest.mark.parametrize(("name", "text"), documented(), ids=[name for name, _ in documented()])
def test_examples_in_docstrings(name: str, text: str) -> None:
    test = doctest.DocTestParser().get_doctest(text, {}, name, name, 0)
    failed, tried = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(test)
    assert tried > 0
    assert failed == 0


@pytest.mark.parametrize("path", DOCS, ids=[path.stem for path in DOCS])
def test_examples_in_the_book(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    failed, tried = doctest.testfile(str(path), module_relative=False, optionflags=flags)
    assert tried > 0
    assert failed == 0


def test_the_command_line() -> None:
    done = run("-m", "banister", "--version")
    assert done.stdout.strip() == f"banister {banister.__version__}"
    # The service is another program.
    for nonsense in ("nonsense", "serve"):
        assert run("-m", "banister", nonsense).returncode == 2
    script = Path(sys.executable).with_name("banister")
    assert subprocess.run([script, "bound", "--help"], capture_output=True, check=False).returncode == 0


def test_the_command_line_is_interrupted_like_a_program(tmp_path: Path) -> None:
    experiment = tmp_path / "long.toml"
    experiment.write_text(
        """
        run = { horizon = 1000000000000, runs = 4 }
        environment = { kind = "bernoulli", rewards = [0.1, 0.7], costs = [[0.0, 0.2]] }
        guardrail = [{ name = "spend", at_most = 0.5, safe_cost = 0.0 }]
        agent = [{ kind = "opb" }]
        """
    )
    code = (
        "import signal, threading, os, sys; sys.argv = ['banister', 'run', sys.argv[1]]; "
        "threading.Timer(1, lambda: os.kill(os.getpid(), signal.SIGINT)).start(); "
        "import banister.__main__ as m; m.main()"
    )
    done = run("-c", code, str(experiment), cwd=tmp_path, timeout=60)
    assert done.returncode == -2
    assert os.listdir(tmp_path) == ["long.toml"], "nothing half-written"


def test_ray_is_asked_for_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(ModuleNotFoundError, match=r"banister\[ray\]"):
        banister.sweep(
            {"kind": "bernoulli", "rewards": [0.1, 0.7]},
            ["opb"],
            grid={"horizon": [10]},
            executor="ray",
            progress=False,
        )
