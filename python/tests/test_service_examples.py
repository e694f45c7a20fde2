"""What the book and the examples say of the service, with a service that runs."""

from __future__ import annotations

import doctest
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import banister
import pytest
from served import running

ROOT = Path(__file__).parents[2]


@pytest.fixture(name="url", scope="module")
def _url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running(tmp_path_factory.mktemp("data")) as url:
        yield url


def test_the_chapter_is_true_as_written(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BANISTER_URL", url)
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    chapter = str(ROOT / "docs" / "client.md")
    failed, tried = doctest.testfile(chapter, module_relative=False, optionflags=flags, encoding="utf-8")
    assert tried > 0
    assert failed == 0


def environment() -> dict[str, str]:
    """The package that is tested is the one that the examples find."""
    packages = str(Path(banister.__file__).parents[1])
    return {**os.environ, "PYTHONPATH": os.pathsep.join([packages, os.environ.get("PYTHONPATH", "")])}


def test_the_shop_runs_and_starts_a_service_itself(tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "examples" / "shop.py"), "--minutes", "0.05", "--seed", "3"]
    # Nobody is there, so that it starts its own.
    variables = {**environment(), "BANISTER_URL": "http://127.0.0.1:1"}
    options: dict[str, Any] = {"cwd": tmp_path, "env": variables, "capture_output": True, "text": True}
    done = subprocess.run(command, timeout=300, check=False, **options)
    assert done.returncode == 0, done.stderr
    for word in ("checkout", "recommendations", "complaints", "conversion", "spend", "always safe", "forced"):
        assert word in done.stdout
    assert list(tmp_path.iterdir()) == [], "it leaves nothing behind"


def test_the_quickstart_runs(url: str) -> None:
    script = str(ROOT / "examples" / "quickstart.sh")
    variables = {**os.environ, "BANISTER_URL": url}
    done = subprocess.run(["sh", script], env=variables, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    assert '"status":"complete"' in done.stdout.replace(" ", "")
