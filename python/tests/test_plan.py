"""Plans: the same as the command line's, as columns, words and a figure."""

from __future__ import annotations

import json
import math
import pickle
from pathlib import Path
from typing import Any

import pytest

import banister

ARMS = {"kind": "bernoulli", "arms": ["control", "new", "worse"], "rewards": [0.1, 0.7, 0.05]}
ENVIRONMENT = {**ARMS, "costs": [[0.0, 0.2, 0.1]]}
SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.0)


def planned(**more: Any) -> banister.simulation.Plan:
    given: dict[str, Any] = {"lift": 0.2, "traffic": 1000, "horizon": 2000, "runs": 4, "progress": False, **more}
    return banister.plan(ENVIRONMENT, "opb", guardrails=SPEND, **given)


def test_a_plan_is_that_of_the_command_line(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "arms.toml"
    rows = [f"{name} = {json.dumps(value)}" for name, value in ENVIRONMENT.items()]
    rails = '[[guardrail]]\nname = "spend"\nat_most = 0.5\nsafe_cost = 0.0\n[[agent]]\nkind = "opb"\n'
    file.write_text("[environment]\n" + "\n".join(rows) + "\n" + rails)
    flags = "--lift 0.2 --traffic 1000 --horizon 2000 --runs 4 --quiet --json"
    assert banister._native.command_line(["banister", "plan", str(file), *flags.split()]) == 0
    said = json.loads(capfd.readouterr().out)
    options: dict[str, Any] = {"lift": 0.2, "traffic": 1000, "horizon": 2000, "runs": 4, "progress": False}
    assert banister.plan(file, **options).to_dict() == said
    # Without a file it has another name.
    said["summary"]["instance"] = "simulation"
    assert planned().to_dict() == said


def test_times_are_columns() -> None:
    plan = planned()
    times = plan.times
    assert list(zip(times["arm"], times["until"], strict=True)) == [
        ("new", "certified"),
        ("new", "lift"),
        ("worse", "certified"),
        ("worse", "lift"),
    ]
    assert times["share"].tolist() == [1.0, 1.0, 0.0, 0.0]
    assert math.isnan(times["least"][1])
    assert times["least"][0] <= times["median"][0] <= times["q90"][0]
    # The best policy never plays it.
    assert math.isnan(times["median"][2])
    assert plan.to_dict()["times"][2]["runs"] == []
    assert "2,000 decisions of opb" in repr(plan)
    assert "0 violations" in repr(plan)
    assert pickle.loads(pickle.dumps(plan)) == plan
    svg = plan.plot().svg
    assert "certified" in svg
    assert "days, at 1000 decisions a day" in svg


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"traffic": -1.0}, "`traffic` is -1"),
        ({"traffic": math.nan}, "`traffic` is NaN"),
        ({"lift": 0.0}, "`lift` is 0"),
        ({"lift": math.inf}, "`lift` is inf"),
        ({"runs": 0}, "runs"),
        ({"horizon": 0}, "horizon"),
    ],
)
def test_bad_questions_are_refused(more: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        planned(**more)


def test_options_that_no_run_has_are_refused() -> None:
    with pytest.raises(TypeError, match="unexpected `rounds`"):
        planned(rounds=10)


def test_a_safe_arm_beyond_its_threshold_is_refused() -> None:
    with pytest.raises(ValueError, match="the safe arm must meet guardrail `spend`"):
        banister.plan({**ARMS, "costs": [[0.6, 0.2, 0.1]]}, "opb", guardrails=banister.Guardrail("spend", at_most=0.5))
