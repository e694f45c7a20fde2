"""Tables of requests: from every kind of frame, and errors that name the cell."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import banister

COLUMNS = {
    "good_a": [0.2, 0.4, 0.3, 0.1],
    "good_b": [0.9, 0.6, 0.9, 0.8],
    "cost_a": [0.1, 0.1, 0.1, 0.1],
    "cost_b": [0.4, 0.5, 0.3, 0.2],
    "kind": ["x", "y", "x", "y"],
}
SPEND = banister.Guardrail("spend", at_most=0.3, safe_cost=0.1)


def table(frame: Any, **rest: Any) -> banister.simulation.TableEnvironment:
    return banister.simulation.TableEnvironment(
        frame, rewards={"a": "good_a", "b": "good_b"}, costs={"spend": {"a": "cost_a", "b": "cost_b"}}, **rest
    )


@pytest.mark.parametrize("frame", [pandas.DataFrame, polars.DataFrame, pyarrow.table, dict])
def test_every_frame_is_the_same_table(frame: Any, tmp_path: Any) -> None:
    path = tmp_path / "requests.csv"
    pandas.DataFrame(COLUMNS).to_csv(path, index=False)
    results = [
        banister.simulate(one, ["opb"], 400, 2, guardrails=[SPEND], progress=False).table("runs").to_csv()
        for one in (table(frame(COLUMNS), segment="kind"), table(path, segment="kind"))
    ]
    assert results[0] == results[1]


def test_means_and_rows() -> None:
    own = table(COLUMNS, order="shuffled", log=0.5)
    assert own.means()["reward"] == pytest.approx([0.25, 0.8])
    assert own.means()["spend"] == pytest.approx([0.1, 0.35])
    logged, played = own.order(3, horizon=2)
    assert sorted([*logged, *played]) == [0, 1, 2, 3]
    with pytest.raises(ValueError, match="run.horizon.*3.*at most 2"):
        own.order(3, horizon=3)
    minus = banister.simulation.TableEnvironment(COLUMNS, rewards=["-cost_a", "-cost_b"], costs=["good_a", "good_b"])
    assert minus.means()["reward"] == pytest.approx([-0.1, -0.35])


def test_comparisons_take_a_table() -> None:
    compared = banister.compare(
        {"environment": table(COLUMNS), "guardrail": SPEND, "run": {"horizon": 300, "runs": 2}},
        agents=["opb", "always"],
        progress=False,
    )
    assert compared.leaderboard["violations"].sum() == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"cost_b": [0.4, float("nan"), 0.3, 0.2]}, "row 2, column 'cost_b', is nan"),
        ({"cost_b": [0.4, None, 0.3, 0.2]}, "row 2, column 'cost_b', is None"),
        ({"cost_b": [0.4, 0.5, 1.5, 0.2]}, "row 3, column `cost_b`.*1.5.*range"),
        ({"cost_b": [0.4, "dear", 0.3, 0.2]}, "row 2, column `cost_b`.*dear.*finite"),
        ({"cost_b": [0.4, 0.5]}, "environment.data.cost_b.*2 rows.*expected 4"),
    ],
)
def test_bad_cells_are_named(change: dict[str, list[Any]], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        banister.simulate(table({**COLUMNS, **change}), ["opb"], 10, 1, guardrails=[SPEND], progress=False)


def test_bad_columns_are_named() -> None:
    with pytest.raises(ValueError, match="no column 'cost_b'"):
        table({name: column for name, column in COLUMNS.items() if name != "cost_b"})
    with pytest.raises(ValueError, match="`rewards` has 'a': expected 'a', 'b'"):
        banister.simulation.TableEnvironment(COLUMNS, rewards={"a": "good_a"}, arms=["a", "b"])
    with pytest.raises(ValueError, match="1 columns, expected 2"):
        banister.simulation.TableEnvironment(COLUMNS, rewards=["good_a", "good_b"], costs={"spend": ["cost_a"]})
    with pytest.raises(ValueError, match="columns for 'spend': the guardrails are 'other'"):
        rail = banister.Guardrail("other", at_most=0.3)
        banister.simulate(table(COLUMNS), ["opb"], 10, 1, guardrails=[rail], progress=False)
    with pytest.raises(ValueError, match="columns for 'spend': there are no guardrails"):
        banister.simulate(table(COLUMNS), ["opb"], 10, 1, progress=False)
    with pytest.raises(TypeError, match="a list of columns, one per arm"):
        banister.simulation.TableEnvironment(COLUMNS, rewards=["good_a", "good_b"], costs={"spend": "cost_a"})
    for frame in (None, [COLUMNS], np.zeros((2, 2)), polars.DataFrame(COLUMNS).lazy()):
        with pytest.raises(TypeError, match="must be a pandas or polars frame"):
            table(frame)
    with pytest.raises(ValueError, match="column 'cost_b' holds lists"):
        table({**COLUMNS, "cost_b": np.zeros((4, 2))})


def test_judgements_of_yes_and_no_are_numbers() -> None:
    own = table({**COLUMNS, "good_b": [True, False, True, True]})
    assert own.means()["reward"] == pytest.approx([0.25, 0.75])
    assert repr(own) == "TableEnvironment(4 requests, arms=[a, b], costs=[spend])"
