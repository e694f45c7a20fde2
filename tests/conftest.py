"""Where the program under test is, and how to call it."""

import os
import pathlib
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def banister():
    program = os.environ.get("BANISTER", ROOT / "target" / "debug" / "banister")

    def call(*args, stdin="", check=True):
        done = subprocess.run(
            [program, *map(str, args)], input=stdin, capture_output=True, text=True, encoding="utf-8"
        )
        if check:
            assert done.returncode == 0, done.stderr
        return done

    return call
