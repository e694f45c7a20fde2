"""What the book and the examples say of the service, with a service that runs."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from served import PROGRAM, make_token, plain, running

import banister

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data")) as url:
        yield url


@pytest.mark.parametrize("chapter", ["client", "llm-routing"])
def test_the_chapter_is_true_as_written(chapter: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
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
