"""Simulations: the same as the command line's, with code of one's own, interruptible."""

from __future__ import annotations

import pickle
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
MEANS = np.array([[0.2, 0.5, 0.9], [0.1, 0.3, 0.9]])
DECLARED = {"kind": "bernoulli", "rewards": [0.2, 0.5, 0.9], "costs": [[0.1, 0.3, 0.9]]}

ARMS = """
    name = "arms"
    run = { horizon = 3000, runs = 4, seed = 11, checkpoints = 20, delay = 7, batch = 3 }
    environment = { kind = "bernoulli", rewards = [0.2, 0.5, 0.9], costs = [[0.1, 0.3, 0.9], [1.0, 0.9, 0.2]] }
    guardrail = [
        { name = "spend", at_most = 0.5, safe_cost = 0.1 },
        { name = "happiness", at_least = 0.5, relative = true },
    ]
    agent = [{ kind = "opb" }, { kind = "opb", label = "other", intervals = "paper" }, { kind = "oplb" }]
"""
LINEAR = """
    name = "linear"
    run = { horizon = 300, runs = 3, seed = 5, checkpoints = 10 }
    environment = { kind = "linear", d = 3, k = 8, noise = 0.1 }
    reward = { range = [-1.0, 1.0], sub_gaussian = 0.2 }
    guardrail = [{ name = "spend", at_most = 0.5, range = [-1.0, 1.0], sub_gaussian = 0.2 }]
    agent = [{ kind = "oplb" }, { kind = "oplb", solver = "exact" }]
"""


@pytest.mark.parametrize("text", [ARMS, LINEAR], ids=["arms", "linear"])
def test_results_are_the_command_lines_bit_for_bit(text: str, tmp_path: Path) -> None:
    path = tmp_path / "experiment.toml"
    path.write_text(textwrap.dedent(text))
    out = tmp_path / "out"
    subprocess.run(
        [sys.executable, "-m", "banister", "run", str(path), "--out", str(out), "--no-timing", "--quiet"],
        check=True,
        capture_output=True,
    )
    for threads in (1, 2):
        result = banister.simulate(path, threads=threads, progress=False)
        for table in ("curves", "runs"):
            assert result.table(table).to_csv() == (out / f"{table}.csv").read_bytes()
            assert result.table(table).to_parquet() == (out / f"{table}.parquet").read_bytes()


def test_every_table_has_the_same_numbers() -> None:
    result = banister.simulate(DECLARED, ["opb"], 500, 3, 1, guardrails=[SPEND], progress=False)
    for table in ("curves", "runs"):
        pandas, polars, arrow = result.to_pandas(table), result.to_polars(table), result.to_arrow(table)
        assert list(pandas.columns) == polars.columns == arrow.column_names
        for name in polars.columns:
            assert pandas[name].tolist() == polars[name].to_list() == arrow[name].to_pylist()
    # Every reader has the memory of the same table.
    first, second = (result.to_arrow()["regret_mean"].chunk(0).buffers()[1].address for _ in range(2))
    assert first == second
    assert result.curves["round"][-1] == 500
    assert result.runs["violations"].sum() == 0


def test_time_is_measured_if_asked_for() -> None:
    def runs(**options: Any) -> Any:
        return banister.simulate(DECLARED, ["opb"], 500, 3, 1, guardrails=[SPEND], progress=False, **options).runs

    assert "nanoseconds_per_round" not in runs()
    assert (runs(timing=True)["nanoseconds_per_round"] > 0).all()


@pytest.mark.parametrize(
    ("library", "method", "name"),
    [
        ("pandas", "to_pandas", "pandas"),
        ("polars", "to_polars", "polars"),
        ("pyarrow", "to_arrow", "arrow"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(
    library: str, method: str, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = banister.simulate(DECLARED, ["opb"], 10, 1, 1, guardrails=[SPEND], progress=False)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ModuleNotFoundError, match=rf"{library}.*banister\[{name}\]"):
        getattr(result, method)()


def test_seeds_and_arguments() -> None:
    def curves(**more: Any) -> bytes:
        settings: dict[str, Any] = {"horizon": 400, "runs": 2, "seed": 3, "guardrails": [SPEND]}
        result = banister.simulate(DECLARED, ["opb"], **{**settings, **more}, progress=False)
        return result.table("curves").to_csv()

    assert curves() == curves()
    assert curves() != curves(seed=4)
    assert curves(guardrails=[SPEND.to_dict()]) == curves()
    agent = banister.Opb(3, guardrails=[SPEND], delta=0.2)
    by_agent = banister.simulate(DECLARED, agent, 400, 2, 3, guardrails=[SPEND], progress=False)
    by_dict = banister.simulate(DECLARED, {"kind": "opb", "delta": 0.2}, 400, 2, 3, guardrails=[SPEND], progress=False)
    assert by_agent.table("curves").to_csv() == by_dict.table("curves").to_csv()


class Arms:
    """The declared environment, in Python."""

    arms = ("a", "b", "c")
    guardrails = (SPEND,)

    def __init__(self) -> None:
        self.pulled = 0

    def actions(self, rng: np.random.Generator) -> None:
        return None

    def pull(self, action: int, rng: np.random.Generator) -> tuple[float, float]:
        self.pulled += 1
        reward, cost = rng.random(2) < MEANS[:, action]
        return float(reward), float(cost)


class Judged(Arms):
    def means(self) -> Any:
        return MEANS


#: In an environment of your own the length of parameters has to be given.
OPLB: dict[str, Any] = {"kind": "oplb", "parameter_norm": 1.0}


class Context:
    """Other actions in every round."""

    safe_action = (1.0, 0.0, 0.0)
    guardrails = (SPEND,)
    theta = np.array([[0.5, 0.3, 0.0], [0.1, 0.03, 0.06]])

    def actions(self, rng: np.random.Generator) -> Any:
        angle = rng.random(4) * 2 * np.pi
        self.x = np.stack([np.ones(4), np.cos(angle), np.sin(angle)], axis=1) / np.sqrt(2)
        return self.x

    def pull(self, action: int, rng: np.random.Generator) -> tuple[float, dict[str, float]]:
        x = np.vstack([self.x, self.safe_action])[action]
        reward, cost = rng.random(2) < self.theta @ x
        return float(reward), {"spend": float(cost)}

    def means(self) -> Any:
        return self.theta @ np.vstack([self.x, self.safe_action]).T


def test_environments_of_your_own() -> None:
    environment = Judged()
    result = banister.simulate(environment, ["opb"], 1500, 12, progress=False)
    assert environment.pulled == 0, "runs play copies"
    best = banister.solve_lp(MEANS[0].tolist(), MEANS[1].tolist(), 0.5)
    assert result.instances[0]["optimum"]["reward"] == pytest.approx(best.value)
    assert result.runs["violations"].sum() == 0
    regret = result.runs["regret"]
    declared = banister.simulate(DECLARED, ["opb"], 1500, 12, guardrails=[SPEND], progress=False)
    # The same law, other draws.
    assert abs(regret.mean() - declared.runs["regret"].mean()) < 0.25 * declared.runs["regret"].mean()
    again = banister.simulate(environment, ["opb"], 1500, 12, progress=False)
    assert again.table("runs").to_csv() == result.table("runs").to_csv()


def test_without_true_means_nothing_is_claimed() -> None:
    result = banister.simulate(Arms(), ["opb"], 2000, 2, progress=False)
    assert np.isnan(result.runs["regret"]).all()
    assert result.to_polars("runs")["violations"].null_count() == 2
    rewards = result.curves["reward_mean"]
    assert 0.2 < rewards.mean() < 0.9
    assert "–" in repr(result)


def test_actions_of_your_own_every_round() -> None:
    result = banister.simulate(Context(), [OPLB], 600, 2, delay=5, progress=False)
    assert result.runs["violations"].sum() == 0
    assert (np.diff(result.curves["regret_mean"]) >= -1e-9).all()
    with pytest.raises(ValueError, match="`agents\\[0\\].parameter_norm` is absent"):
        banister.simulate(Context(), ["oplb"], 10, 1, progress=False)
    with pytest.raises(ValueError, match="oplb"):
        banister.simulate(Context(), ["opb"], 10, 1, progress=False)


class Gym:
    """The style of Gymnasium, without its package."""

    class action_space:
        n = 3

    def reset(self, *, seed: int | None = None) -> tuple[int, dict[str, Any]]:
        if seed is not None:
            self.rng = np.random.default_rng(seed)
        self.steps = 0
        return 0, {}

    def step(self, action: int) -> tuple[int, float, bool, bool, dict[str, Any]]:
        self.steps += 1
        reward, cost = self.rng.random(2) < MEANS[:, action]
        return self.steps, float(reward), self.steps == 50, False, {"cost": float(cost)}


def test_gymnasium_environments() -> None:
    gymnasium: Any = pytest.importorskip("gymnasium")
    result = banister.simulate(Gym(), ["opb"], 1000, 2, guardrails=[SPEND], progress=False)
    assert 0.2 < result.curves["reward_mean"].mean() < 0.9

    class Real(gymnasium.Env):  # type: ignore[misc, name-defined, unused-ignore]
        action_space = gymnasium.spaces.Discrete(3)
        observation_space = gymnasium.spaces.Box(-1, 1, (3, 3))

        def reset(self, *, seed: Any = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return self._observe(), {}

        def _observe(self) -> Any:
            x = self.np_random.standard_normal((3, 3))
            self.x: Any = x / np.linalg.norm(x, axis=1, keepdims=True)
            return self.x

        def step(self, action: int) -> Any:
            mean = 0.5 + 0.3 * (self.x[action, 0] if action < 3 else 0.2)
            reward = float(self.np_random.random() < mean)
            return self._observe(), reward, False, False, {"costs": [0.1]}

    contextual = banister.simulation.GymEnvironment(Real(), features=lambda x: x, safe_action=[0.2, 0.0, 0.0])
    result = banister.simulate(contextual, [OPLB], 300, 2, guardrails=[SPEND], progress=False)
    assert len(result.runs["run"]) == 2
    plain = banister.simulate(Real(), ["opb"], 300, 1, guardrails=[SPEND], progress=False)
    assert len(plain.runs["run"]) == 1
    with pytest.raises(ValueError, match="`cost`"):
        banister.simulate(NoCost(), ["opb"], 10, 1, guardrails=[SPEND], progress=False)


class NoCost(Gym):
    def step(self, action: int) -> Any:
        return 0, 1.0, False, False, {}


class AlwaysSafe:
    def __init__(self, problem: banister.simulation.Problem) -> None:
        self.problem = problem
        self.seen = 0

    def decide(self, actions: Any, rng: np.random.Generator) -> Any:
        return self.problem.safe

    def observe(self, action: int, reward: float, costs: list[float]) -> None:
        assert action == self.problem.safe
        assert len(costs) == len(self.problem.guardrails)
        self.seen += 1


def answers(answer: Any) -> Any:
    class Answers(AlwaysSafe):
        def decide(self, actions: Any, rng: np.random.Generator) -> Any:
            return answer

        def observe(self, action: int, reward: float, costs: list[float]) -> None:
            pass

    return Answers


def test_agents_of_your_own_are_judged_like_ours() -> None:
    result = banister.simulate(
        DECLARED, {"ours": "opb", "safe": AlwaysSafe}, 1000, 2, guardrails=[SPEND], progress=False
    )
    runs = result.to_pandas("runs").groupby("agent")
    best = banister.solve_lp(MEANS[0].tolist(), MEANS[1].tolist(), 0.5).value
    assert runs["regret"].mean()["safe"] == pytest.approx(1000 * (best - 0.2))
    assert runs["violations"].sum()["safe"] == 0
    half = {"a": 0.5, "b": 0.5}
    for same in (half, {0: 0.5, 1: 0.5}, [0.5, 0.5, 0.0], np.array([0.5, 0.5, 0.0])):
        judged = banister.simulate(
            {**DECLARED, "arms": ["a", "b", "c"]}, [answers(same)], 100, 1, guardrails=[SPEND], progress=False
        )
        assert judged.runs["regret"][0] == pytest.approx(100 * (best - 0.35))
    reckless = banister.simulate(DECLARED, [answers(2)], 100, 1, guardrails=[SPEND], progress=False)
    assert reckless.runs["violations"][0] == 100
    assert reckless.runs["worst_exceedance"][0] == pytest.approx(0.4)


class Wrapped:
    """An agent that asks one of ours."""

    def __init__(self, problem: banister.simulation.Problem) -> None:
        self.agent = banister.Opb(problem.n_arms, guardrails=problem.guardrails, seed=1)

    def decide(self, actions: Any, rng: np.random.Generator) -> banister.Decision:
        return self.agent.decide()

    def observe(self, action: int, reward: float, costs: list[float]) -> None:
        self.agent.observe(action, reward, costs)


def test_our_own_agent_through_python_is_our_own_agent() -> None:
    settings: dict[str, Any] = {"horizon": 500, "runs": 2, "guardrails": [SPEND], "progress": False}
    native = banister.simulate(DECLARED, {"x": "opb"}, **settings)
    wrapped = banister.simulate(DECLARED, {"x": Wrapped}, **settings)
    assert native.table("runs").to_csv() == wrapped.table("runs").to_csv()
    assert native.table("curves").to_csv() == wrapped.table("curves").to_csv()


def test_agents_of_your_own_meet_contexts_as_features() -> None:
    told: list[Any] = []

    class Own:
        def __init__(self, problem: banister.simulation.Problem) -> None:
            assert (problem.n_arms, problem.context) == (3, 3)

        def decide(self, actions: Any, rng: np.random.Generator) -> int:
            context = actions[0, :3]
            assert actions.shape == (3, 9) and actions[1].tolist() == [0, 0, 0, *context, 0, 0, 0]
            return 1

        def observe(self, action: int, reward: float, costs: list[float]) -> None:
            told.append(action)

        def observe_at(self, features: Any, reward: float, costs: list[float]) -> None:
            told.append(features.shape)

    environment = {"kind": "linear", "actions": "per_arm", "d": 3, "k": 2}
    spend = {"name": "spend", "at_most": 0.8}
    settings: dict[str, Any] = {"horizon": 20, "runs": 1, "guardrails": [spend], "progress": False}
    banister.simulate(environment, {"x": Own}, **settings)
    assert told == [1] * 20
    banister.simulate(environment, {"x": Own}, delay=2, **settings)
    assert set(told[20:]) == {(9,)}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ([0.5, 0.5], "shape (2,), expected (3,)"),
        ([0.5, 0.4, 0.0], "sum to 1"),
        ([1.5, -0.5, 0.0], "at least 0"),
        ([float("nan"), 0.5, 0.5], "finite"),
        ({"zzz": 1.0}, "the arms are"),
        ({7: 1.0}, "numbered 0 to 2"),
        (7, "numbered 0 to 2"),
        (None, "must be a policy"),
        ("zzz", "the arms are"),
    ],
    ids=str,
)
def test_what_is_no_policy_is_refused(answer: Any, words: str) -> None:
    with pytest.raises((ValueError, TypeError)) as caught:
        banister.simulate(DECLARED, [answers(answer)], 10, 1, guardrails=[SPEND], progress=False)
    assert words in str(caught.value)


def test_exceptions_come_back_as_they_were() -> None:
    class Own(Exception):
        pass

    class Failing(AlwaysSafe):
        def observe(self, action: int, reward: float, costs: list[float]) -> None:
            raise Own("in round 1")

    with pytest.raises(Own, match="in round 1") as caught:
        banister.simulate(DECLARED, [Failing], 10, 1, guardrails=[SPEND], progress=False)
    assert any(entry.name == "observe" for entry in caught.traceback)


def test_ctrl_c_stops_at_once() -> None:
    """A simulation of hours in another process ends soon after SIGINT, with KeyboardInterrupt."""
    code = f"""
        import banister, sys
        try:
            banister.simulate({DECLARED!r}, ["opb"], 10**11, 4, guardrails=[{SPEND.to_dict()!r}])
        except KeyboardInterrupt:
            sys.exit(33)
    """
    process = subprocess.Popen([sys.executable, "-c", textwrap.dedent(code)], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    shown = ""
    while "rounds" not in shown:  # its progress bar moves: it runs
        shown += process.stderr.read(1)
        assert process.poll() is None, shown
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 33


def test_progress_is_shown(capfd: pytest.CaptureFixture[str]) -> None:
    banister.simulate(DECLARED, ["opb"], 200_000, 4, guardrails=[SPEND])
    assert "simulating" in capfd.readouterr().err
    banister.simulate(DECLARED, ["opb"], 2000, 1, guardrails=[SPEND], progress=False)
    assert capfd.readouterr().err == ""


def test_figures_show_every_panel(tmp_path: Path) -> None:
    result = banister.simulate(DECLARED, ["opb", "oplb"], 400, 3, guardrails=[SPEND], progress=False, name="shop")
    figure = result.plot()
    for text in ["Cumulative regret", "Expected spend", "Expected reward", "shop", "opb", "oplb", "threshold 0.5"]:
        assert f">{text}</text>" in figure.svg
    assert "optimum r*" in figure.svg
    assert result.plot("shop") == result.plot(0) == result.plot(-1) == figure
    observed = banister.simulate(Arms(), ["opb"], 200, 1, progress=False).plot().svg
    assert ">Mean spend</text>" in observed and ">Mean reward</text>" in observed
    assert "Cumulative regret" not in observed


def test_figures_become_files_and_cells(tmp_path: Path) -> None:
    result = banister.simulate(DECLARED, ["opb"], 50, 1, guardrails=[SPEND], progress=False)
    figure = result.plot()
    assert figure.svg.startswith("<svg") and figure._repr_svg_() == figure.svg
    assert figure.png(tmp_path / "a.png").startswith(b"\x89PNG")
    assert (tmp_path / "a.png").read_bytes() == figure.png()
    assert figure._repr_png_().startswith(b"\x89PNG") and len(figure._repr_png_()) < len(figure.png())
    figure.save(str(tmp_path / "b.PNG"))
    figure.save(tmp_path / "b.svg")
    assert (tmp_path / "b.PNG").read_bytes() == figure.png()
    assert (tmp_path / "b.svg").read_text("utf-8") == figure.svg
    with pytest.raises(ValueError, match=r"`path` is 'c.pdf': must end in .svg or .png"):
        figure.save("c.pdf")
    assert pickle.loads(pickle.dumps(figure)) == figure
    assert repr(figure) == "Figure()"
