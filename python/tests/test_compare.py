"""Comparisons: the command line's numbers, checkpoints that go on, and refusals that say everything."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import banister

SPEND = banister.Guardrail("spend", at_most=0.5, safe_cost=0.1)
SHOP: dict[str, Any] = {
    "name": "shop",
    "run": {"horizon": 600, "runs": 4, "seed": 3, "checkpoints": 20},
    "environment": {"kind": "bernoulli", "rewards": [0.2, 0.5, 0.9], "costs": [[0.1, 0.3, 0.9]]},
    "guardrail": [SPEND],
    "agent": ["opb", {"kind": "oplb"}],
}
GRID = """
    name = "grid"
    run = { horizon = 400, runs = 3, seed = 11, checkpoints = 10 }
    environment = { kind = "bernoulli", rewards = [0.2, 0.5, 0.9], costs = [[0.1, 0.3, 0.9]] }
    guardrail = [{ name = "spend", at_most = [0.3, 0.5], safe_cost = 0.1 }]
    agent = [{ kind = "opb", delta = [0.1, 0.01] }, { kind = "opb", label = "wide", intervals = "paper" }]
"""


def compare(*arguments: Any, **more: Any) -> banister.simulation.ComparisonResult:
    return banister.compare(*arguments, **{"progress": False, **more})


def grid(folder: Path) -> Path:
    path = folder / "grid.toml"
    path.write_text(textwrap.dedent(GRID))
    return path


def command_line(out: Path, *arguments: str) -> None:
    subprocess.run(
        [sys.executable, "-m", "banister", "compare", *arguments, "--out", str(out), "--no-timing", "--quiet"],
        check=True,
        capture_output=True,
    )


def assert_same_files(result: banister.simulation.ComparisonResult, out: Path) -> None:
    for table in ("leaderboard", "pairs", "overall", "ranks", "curves", "runs"):
        assert result.table(table).to_csv() == (out / f"{table}.csv").read_bytes(), table
    for table in ("leaderboard", "pairs", "traces"):
        assert result.table(table).to_parquet() == (out / f"{table}.parquet").read_bytes(), table


def test_a_suite_is_the_command_lines_bit_for_bit(tmp_path: Path) -> None:
    out = tmp_path / "out"
    length = {"horizon": 500, "runs": 3, "seed": 5, "instance_seed": 4}
    options = [f"--{key.replace('_', '-')}={value}" for key, value in length.items()]
    command_line(out, "--suite", "random", "--agents", "opb,oplb", *options)
    for threads in (1, 2):
        assert_same_files(compare("random", ["opb", "oplb"], threads=threads, **length), out)


def test_files_and_dictionaries_are_the_command_lines_bit_for_bit(tmp_path: Path) -> None:
    path, out = grid(tmp_path), tmp_path / "out"
    command_line(out, str(path))
    assert_same_files(compare(path), out)
    assert_same_files(compare(str(path)), out)
    assert_same_files(compare(banister._native.read_toml(path.read_text())), out)


def test_the_first_argument_may_be_many_things(tmp_path: Path) -> None:
    unnamed = {key: value for key, value in SHOP.items() if key != "name"}
    result = compare([SHOP, grid(tmp_path), "hard", unnamed, unnamed | {"agent": "opb"}], "opb", horizon=50, runs=2)
    names = [instance["name"] for instance in result.instances]
    assert names[:3] == ["shop", "grid, at_most = 0.3", "grid, at_most = 0.5"]
    assert names[-2:] == ["instance 1", "instance 2"]
    assert len(names) == 5 + len(compare("hard", "opb", horizon=10, runs=1).instances)
    # An environment that brings its guardrail needs nothing else.
    alone = compare({"kind": "lower_bound", "margin": 0.1}, "opb", horizon=50, runs=2)
    assert [instance["name"] for instance in alone.instances] == ["instance"]
    one_rail = SHOP | {"guardrail": SPEND, "agent": banister.Opb(2, delta=0.1)}
    assert compare(one_rail).leaderboard["agent"] == ["opb"]


def test_every_suite_has_a_name_and_a_purpose() -> None:
    for name, purpose in banister.simulation.suites().items():
        assert name and purpose
    assert "paper" in banister.simulation.suites()


def test_tables_fit_together() -> None:
    result = compare(SHOP)
    board, pairs, runs = result.leaderboard, result.pairs, result.to_pandas("runs")
    assert set(board["agent"]) == {"opb", "oplb"}
    for agent, regret, broken in zip(board["agent"], board["regret"], board["violations"], strict=True):
        own = runs[runs["agent"] == agent]
        assert regret == pytest.approx(own["regret"].mean())
        assert broken == own["violations"].sum()
    regrets = {agent: runs[runs["agent"] == agent]["regret"].to_numpy() for agent in board["agent"]}
    difference = regrets[pairs["agent"][0]] - regrets[pairs["other"][0]]
    assert pairs["difference"][0] == pytest.approx(difference.mean())
    traces = result.to_pandas("traces")
    assert len(traces) == 2 * 4 * 20
    ends = traces[traces["round"] == 600].set_index(["agent", "run"])["regret"]
    assert ends.to_dict() == runs.set_index(["agent", "run"])["regret"].to_dict()
    for point in result.points:
        place = board["agent"].index(point["agent"])
        mean, low, high = point["regret"]
        assert (mean, low, high) == tuple(board[f"regret{end}"][place] for end in ("", "_low", "_high"))
    for table in ("leaderboard", "pairs", "overall", "ranks", "traces", "published", "left_out"):
        pandas, polars, arrow = result.to_pandas(table), result.to_polars(table), result.to_arrow(table)
        assert list(pandas.columns) == polars.columns == arrow.column_names
        assert len(pandas) == len(polars) == len(arrow)
        assert getattr(result, table).keys() == dict.fromkeys(polars.columns).keys()
    with pytest.raises(ValueError, match="`table` is 'x': must be 'leaderboard', .* or 'left_out'"):
        result.table("x")


def test_agents_meet_the_same_outcomes() -> None:
    """Two agents that are the same but for their label cannot be told apart."""
    twins = {"one": "opb", "two": "opb"}
    result = compare(SHOP, twins)
    assert result.pairs["difference"].tolist() == [0.0]
    assert result.pairs["difference_low"].tolist() == [0.0]


def test_lists_of_values_make_a_grid(tmp_path: Path) -> None:
    path = grid(tmp_path)
    traces = compare(path).to_pandas("traces")
    assert sorted(traces["at_most"].unique()) == [0.3, 0.5]
    assert sorted(traces["delta"].dropna().unique()) == [0.01, 0.1]
    assert traces[traces["agent"] == "wide"]["delta"].isna().all()
    # Agents that are asked for are swept in the same words.
    agents = [
        {"kind": "opb", "delta": [0.1, 0.01]},
        {"kind": "opb", "label": "wide", "intervals": "paper"},
    ]
    asked = compare(path, agents)
    assert asked.table("traces").to_csv() == compare(path).table("traces").to_csv()


def test_instances_with_agents_of_their_own_keep_them() -> None:
    """A published number depends on its agents, whatever others are asked for."""
    result = compare("paper", ["ucb1", {"kind": "opb", "delta": [0.01, 0.1]}], horizon=30, runs=2)
    published = result.published
    assert set(published["verdict"]) == {"other horizon"}
    assert np.isnan(published["ours"]).all()
    for instance in result.instances:
        own = instance["name"] in published["instance"]
        assert ("ucb1" in instance["agents"]) != own
    traces = result.to_pandas("traces")
    assert traces[traces["instance"].isin(published["instance"])]["delta"].isna().all()
    assert "other horizon" in repr(result)


class Safe:
    """An agent of one's own."""

    def __init__(self, problem: banister.simulation.Problem) -> None:
        self.problem = problem

    def decide(self, actions: Any, rng: np.random.Generator) -> int:
        return self.problem.safe

    def observe(self, action: int, reward: float, costs: list[float]) -> None:
        pass


def test_agents_of_your_own_promise_nothing_and_are_judged_like_ours() -> None:
    result = compare(SHOP, ["opb", Safe])
    board = result.leaderboard
    place = board["agent"].index("Safe")
    assert board["group"][place] == dict(banister._native.guarantees())["unsafe"]
    assert board["violations"][place] == 0
    assert board["regret"][place] > board["regret"][board["agent"].index("opb")]

    class Own(Exception):
        pass

    class Failing(Safe):
        def observe(self, action: int, reward: float, costs: list[float]) -> None:
            raise Own("in round 1")

    with pytest.raises(Own, match="in round 1"):
        compare(SHOP, [Failing])


def test_unfit_agents_are_refused_with_all_reasons_or_left_out() -> None:
    arguments: dict[str, Any] = {"horizon": 50, "runs": 2}
    agents = ["opb", "oplb", {"kind": "opb", "label": "other", "delta": 0.1}]
    with pytest.raises(
        ValueError, match=r"`agents` is \d+ that do not support an instance: .*skip_unfit=True"
    ) as caught:
        compare("linear", agents, **arguments)
    result = compare("linear", agents, skip_unfit=True, **arguments)
    left = result.left_out
    assert set(left["agent"]) == {"opb", "other"}
    for agent, instance, reason in zip(left["agent"], left["instance"], left["reason"], strict=True):
        lines = str(caught.value).splitlines()
        line = next(line for line in lines if line.strip().startswith(f"`{agent}` on "))
        assert f"`{instance}`" in line and line.endswith(reason)
    for instance in result.instances:
        absent = {
            agent for agent, name in zip(left["agent"], left["instance"], strict=True) if name == instance["name"]
        }
        assert set(instance["agents"]) == {"opb", "oplb", "other"} - absent
    assert "skipped" in repr(result)


@pytest.mark.parametrize(
    ("arguments", "more", "kind", "words"),
    [
        (["papr"], {}, ValueError, "`suite` is 'papr': the suites are paper, "),
        (["absent.toml"], {}, FileNotFoundError, "absent.toml"),
        ([7], {}, TypeError, "`suite` has 7: must be the name of a suite"),
        ([[]], {}, ValueError, "`suite` is []"),
        ([{}], {}, TypeError, "`suite` has the environment None"),
        ([SHOP | {"environment": Safe}], {}, TypeError, "must be a declaration"),
        ([SHOP | {"extra": 1}], {}, TypeError, "`extra`"),
        ([SHOP | {"agent": Safe}], {}, TypeError, "agents of your own are given as `agents`"),
        ([SHOP | {"guardrail": {"name": "x", "at_most": []}}], {}, ValueError, "`guardrails[0].at_most`"),
        ([[SHOP, SHOP]], {}, ValueError, "`name` is shop: every instance"),
        ([SHOP, ["nope"]], {}, ValueError, "nope"),
        ([SHOP, [{"kind": "opb", "detla": 0.1}]], {}, TypeError, "detla"),
        ([SHOP, [{"kind": "opb", "delta": "x"}]], {}, TypeError, "`agents[0].delta`"),
        ([SHOP, [{"kind": "opb", "delta": [0.1, 0.1]}]], {}, ValueError, "`agents[0].delta` is 0.1 twice"),
        ([SHOP, [3]], {}, TypeError, "`agents` has 3"),
        ([SHOP, []], {}, ValueError, "`agents` is absent: give at least one agent"),
        ([SHOP], {"horizon": 0}, ValueError, "`horizon` is 0: must be 1 to"),
        ([SHOP], {"horizon": "x"}, TypeError, "`horizon` is"),
        ([SHOP], {"runs": -1}, ValueError, "`runs` is -1: must be an integer, 0 or more"),
        ([SHOP], {"instance_seed": 1.5}, TypeError, "`instance_seed` is 1.5"),
        ([SHOP], {"threads": 0}, ValueError, "`threads` is 0"),
        ([SHOP], {"checkpoint": 3}, TypeError, "`checkpoint` is 3"),
    ],
    ids=lambda case: str(case)[:40],
)
def test_bad_input(arguments: list[Any], more: dict[str, Any], kind: type[Exception], words: str) -> None:
    with pytest.raises(kind) as caught:
        compare(*arguments, **more)
    assert words in str(caught.value)


def test_environments_written_in_python_are_for_simulate() -> None:
    class Own:
        arms = 2

        def actions(self, rng: np.random.Generator) -> None:
            return None

        def pull(self, action: int, rng: np.random.Generator) -> tuple[float, list[float]]:
            return 1.0, []

    for given in (Own(), {"environment": Own()}):
        with pytest.raises(TypeError, match="would not meet the same outcomes: use `simulate`"):
            compare(given)


def test_files_of_several_folders_are_refused(tmp_path: Path) -> None:
    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with pytest.raises(ValueError, match="must lie in one folder"):
        compare([grid(folder) for folder in folders])


STOPPED = """
    import sys
    import banister

    class Own:
        built = 0
        def __init__(self, problem):
            Own.built += 1
            if Own.built == 8:
                # Some runs are done. Whoever reads this stops us here.
                print("here", flush=True)
                sys.stdin.read()
        def decide(self, actions, rng):
            return 0
        def observe(self, action, reward, costs):
            pass

    try:
        banister.compare({shop!r}, {{"own": Own, "opb": "opb"}}, runs=60, checkpoint={path!r}, progress=False)
    except KeyboardInterrupt:
        sys.exit(33)
"""


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=["Ctrl-C", "killed"])
def test_a_stopped_comparison_goes_on_where_it_was(how: signal.Signals, tmp_path: Path) -> None:
    path = tmp_path / "unfinished"
    shop = SHOP | {"guardrail": [SPEND.to_dict()]}
    code = textwrap.dedent(STOPPED.format(shop=shop, path=str(path)))
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **pipes) as process:
        assert process.stdout is not None and process.stdin is not None
        assert process.stdout.readline() == "here\n"
        process.send_signal(how)
        process.stdin.close()
        assert process.wait(60) == (33 if how == signal.SIGINT else -how)
    assert path.exists()

    built = 0

    class Own(Safe):
        def __init__(self, problem: banister.simulation.Problem) -> None:
            nonlocal built
            built += 1
            super().__init__(problem)

    agents = {"own": Own, "opb": "opb"}
    whole = compare(SHOP, agents, runs=60)
    every, built = built, 0
    resumed = compare(SHOP, agents, runs=60, checkpoint=path)
    assert built < every, "finished runs are not played again"
    assert not path.exists()
    for table in ("leaderboard", "pairs", "traces", "runs"):
        assert resumed.table(table).to_csv() == whole.table(table).to_csv()


def test_a_checkpoint_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    class Own(Exception):
        pass

    class Failing(Safe):
        seen = 0

        def observe(self, action: int, reward: float, costs: list[float]) -> None:
            Failing.seen += 1
            if Failing.seen > 700:
                raise Own

    path = tmp_path / "folder" / "unfinished"
    with pytest.raises(Own):
        compare(SHOP, [Failing], checkpoint=path)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match="`checkpoint` is .* belongs to another comparison"):
        compare(SHOP, [Failing], seed=99, checkpoint=path)
    assert path.read_bytes() == kept
    other = tmp_path / "notes.txt"
    other.write_text("not a journal, and longer than the beginning of one is")
    with pytest.raises(ValueError, match=r"`checkpoint` is .*notes\.txt: is no journal"):
        compare(SHOP, checkpoint=other)
    assert other.exists()
    with pytest.raises(ValueError, match="`checkpoint` is"):
        compare(SHOP, checkpoint=tmp_path)


def test_regret_is_shown_as_a_multiple_of_the_limit() -> None:
    arms = {
        "run": {"horizon": 2000, "runs": 2},
        "environment": {"kind": "bernoulli", "rewards": [0.1, 0.7], "costs": [[0.0, 0.4]]},
        "guardrail": [{"name": "spend", "at_most": 0.2, "safe_cost": 0.0}],
    }
    result = compare(arms, ["opb", {"kind": "opb", "label": "bold", "delta": 0.2}])
    board, runs = result.leaderboard, result.runs
    limits = dict(zip(board["agent"], board["limit"], strict=True))
    assert limits["opb"] > 2 * limits["bold"] > 2
    assert dict(zip(runs["agent"], runs["limit"], strict=True)) == limits
    assert board["regret_over_limit"] == pytest.approx(board["regret"] / board["limit"])
    for agent in limits:
        row = next(line for line in repr(result).splitlines() if line.split()[0] == agent)
        assert "×" in row
    features = {"kind": "linear", "k": 3, "d": 3}
    rail = {"name": "spend", "at_most": 0.5, "safe_cost": 0.25}
    linear = compare({"environment": features, "guardrail": [rail]}, ["oplb"], horizon=100, runs=2)
    assert np.isnan(linear.leaderboard["limit"]).all()
    assert "–" in repr(linear)


def test_results_in_text_and_html() -> None:
    result = compare(SHOP | {"name": "a < b"}, ["opb", "ucb1"])
    text, html = repr(result), result._repr_html_()
    lines = text.splitlines()
    assert lines[0] == "a < b"
    assert lines[1].split()[0] == "agent"
    assert [line.split()[0] for line in lines[2:]] == result.leaderboard["agent"]
    assert "a &lt; b" in html
    assert html.count("<tr>") == 3
    assert "safe in every round" in html


def test_figures_show_every_agent_and_promise(tmp_path: Path) -> None:
    result = compare("hard", ["opb", "doslb", "ucb1"], horizon=400, runs=3)
    figure = result.plot().svg
    for text in [one["name"] for one in result.instances] + ["opb", "doslb", "ucb1"]:
        assert f">{text}</text>" in figure
    promises = dict(zip(result.leaderboard["agent"], result.leaderboard["group"], strict=True))
    assert len(set(promises.values())) == 3
    for agent, promise in promises.items():
        assert f">{promise}</text>" in figure
        assert figure.count(f"<title>{agent} ({promise}); ") == len(result.instances)
    one = result.plot("L1").svg
    assert one.count("<title>opb (") == 1
    assert ">L1</text>" in one and ">L2</text>" not in one
    assert ">Cumulative regret</text>" in result.plot_curves("L1").svg
    result.plot().save(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").stat().st_size > 10_000
    with pytest.raises(ValueError, match="`instance` is 'x'"):
        result.plot("x")
    free = {"environment": {"kind": "bernoulli", "rewards": [0.1, 0.9]}, "agent": ["opb"]}
    with pytest.raises(ValueError, match="guardrails to violate"):
        compare(free, horizon=50, runs=2).plot()


def test_time_is_measured_if_asked_for() -> None:
    assert "micros_per_round" not in compare(SHOP).leaderboard
    assert (compare(SHOP, timing=True).leaderboard["micros_per_round"] > 0).all()


def test_progress_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    compare(SHOP, progress=True, horizon=60_000)
    assert "comparing" in capfd.readouterr().err
    compare(SHOP)
    assert capfd.readouterr().err == ""
