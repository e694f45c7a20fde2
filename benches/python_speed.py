"""Times banister from Python beside bandit libraries on the same rounds, and beside solvers on the
same problems.

usage: python python_speed.py [--quick] [--json FILE]

A time is the least over blocks of rounds; the blocks of all contenders take turns, so that a busy
moment of the machine meets all of them. What is not installed is reported as missing.

Bandits: every contender decides among the same number of arms or actions and learns from the
outcome before its next decision. Outcomes are drawn beforehand. banister observes a cost too, and
its every decision is a policy within a guardrail, with a certificate. The others have no
guardrails, costs or certificates: they do less for their time.

Solvers: the same sequence of policy LPs, each round a little different from the one before it, so
that a warm start pays. Handing over the numbers and reading the optimal value count.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import itertools
import json
import math
import os
import platform
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import numpy as np

import banister

#: A contender: plays that many rounds.
Play = Callable[[int], object]

#: Least factor of time that the others should take.
AIM = 10.0
#: Most rounds of a block: for so many, outcomes are drawn.
ROUNDS = 20_000


@dataclass
class Contender:
    who: str
    make: Callable[[], Play]


@dataclass
class Task:
    what: str
    size: int
    #: Ours comes first: the others are divided by it.
    contenders: list[Contender]
    #: Most that ours should take, in µs.
    target: float | None = None


@dataclass
class Row:
    what: str
    size: int
    who: str
    micros: float | None = None
    ratio: float | None = None
    target: str = ""
    met: bool | None = None
    note: str = ""
    blocks: list[float] = field(default_factory=list)


# Rounds


class Arms:
    """Bernoulli arms."""

    def __init__(self, count: int) -> None:
        rng = np.random.default_rng(count)
        self.count = count
        self.means = rng.uniform(0.1, 0.9, count).tolist()
        self.spend = [0.2, *rng.uniform(0.1, 0.9, count - 1).tolist()]
        self.uniforms = rng.random((ROUNDS, 3)).tolist()
        # Every contender starts with three outcomes of every arm.
        self.past = np.repeat(np.arange(count), 3)
        self.past_rewards = (rng.random(3 * count) < np.array(self.means)[self.past]).astype(float)
        self.past_costs = (rng.random(3 * count) < np.array(self.spend)[self.past]).astype(float)


class Contexts:
    """Fresh features in every round."""

    ROUNDS = 256

    def __init__(self, count: int, dimension: int) -> None:
        rng = np.random.default_rng(dimension)
        self.count, self.dimension = count, dimension
        features = rng.normal(size=(self.ROUNDS, count, dimension))
        features /= np.linalg.norm(features, axis=2, keepdims=True)
        self.features = list(features)
        theta = np.zeros(dimension)
        theta[:2] = 0.3, 0.4
        self.means = (0.5 + features @ theta).tolist()
        self.contexts = [row[:1].copy() for row in features]
        self.uniforms = rng.random((ROUNDS, 2)).tolist()
        self.past = np.repeat(np.arange(count), 2)
        self.past_contexts = features[np.arange(2 * count) % self.ROUNDS, 0]
        self.past_rewards = (rng.random(2 * count) < 0.5).astype(float)

    def rounds(self, n: int) -> Iterator[tuple[int, list[float]]]:
        return zip(itertools.cycle(range(self.ROUNDS)), self.uniforms[:n])


# Bandits among arms


def arms_banister(arms: Arms) -> Play:
    guardrail = banister.Guardrail("spend", at_most=0.5, safe_cost=arms.spend[0])
    agent = banister.Opb(arms.count, guardrails=[guardrail], seed=1)
    agent.observe_batch(arms.past, arms.past_rewards, arms.past_costs)
    means, spend = arms.means, arms.spend

    def play(n: int) -> None:
        for u, v, _ in arms.uniforms[:n]:
            decision = agent.decide()
            arm = decision.index
            reward = 1.0 if u < means[arm] else 0.0
            agent.observe(decision, reward, 1.0 if v < spend[arm] else 0.0)

    return play


def arms_mabwiser(arms: Arms) -> Play:
    """UCB1, with `partial_fit` on the one outcome. Lists instead of arrays make no difference."""
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(list(range(arms.count)), LearningPolicy.UCB1(alpha=1.0), seed=1)
    mab.fit(arms.past, arms.past_rewards)
    means = arms.means

    def play(n: int) -> None:
        for u, _, _ in arms.uniforms[:n]:
            arm = mab.predict()
            reward = 1.0 if u < means[arm] else 0.0
            mab.partial_fit(np.array([arm]), np.array([reward]))

    return play


def arms_river(arms: Arms) -> Play:
    """UCB as in its documentation, without the reward scaler: rewards are in [0, 1] already."""
    from river import bandit

    policy = bandit.UCB(delta=1, seed=1)
    for arm, reward in zip(arms.past.tolist(), arms.past_rewards.tolist()):
        policy.update(arm, reward)
    ids, means = list(range(arms.count)), arms.means

    def play(n: int) -> None:
        for u, _, _ in arms.uniforms[:n]:
            arm = policy.pull(ids)
            policy.update(arm, 1.0 if u < means[arm] else 0.0)

    return play


def arms_contextualbandits(arms: Arms) -> Play:
    """It has no bandit without contexts: LinUCB on a constant keeps a mean and count per arm."""
    from contextualbandits.online import LinUCB

    policy = LinUCB(arms.count, fit_intercept=False, random_state=1)
    policy.fit(np.ones((len(arms.past), 1)), arms.past, arms.past_rewards)
    one, means = np.ones((1, 1)), arms.means

    def play(n: int) -> None:
        for u, _, _ in arms.uniforms[:n]:
            arm = policy.predict(one)
            reward = 1.0 if u < means[arm[0]] else 0.0
            policy.partial_fit(one, arm, np.array([reward]))

    return play


def arms_vowpal(arms: Arms, *exploration: str) -> Play:
    """Arms as actions with one feature each, parsed once: only a label changes from then on."""
    from vowpal_wabbit_next import CBLabel, TextFormatParser, Workspace

    workspace = Workspace(["--cb_explore_adf", "--quiet", *exploration])
    parser = TextFormatParser(workspace)
    actions = [parser.parse_line(f"| a{i}") for i in range(arms.count)]
    unknown, means = CBLabel(), arms.means

    def learn(arm: int, reward: float, probability: float) -> None:
        actions[arm].set_label(CBLabel(label=(1.0 - reward, probability)))
        workspace.learn_one(actions)
        actions[arm].set_label(unknown)

    for arm, reward in zip(arms.past.tolist(), arms.past_rewards.tolist()):
        learn(arm, reward, 1.0 / arms.count)

    def play(n: int) -> None:
        for u, _, draw in arms.uniforms[:n]:
            arm, probability = drawn(workspace.predict_one(actions), draw)
            learn(arm, 1.0 if u < means[arm] else 0.0, probability)

    return play


def drawn(policy: list[tuple[int, float]], uniform: float) -> tuple[int, float]:
    """Vowpal Wabbit gives probabilities, likely actions first, and leaves the draw to others."""
    for entry in policy:
        uniform -= entry[1]
        if uniform < 0:
            return entry
    return policy[0]


# Bandits with features


def linear_banister(world: Contexts) -> Play:
    safe = [0.0] * world.dimension
    safe[0] = 1.0
    guardrail = banister.Guardrail("spend", at_most=0.5, safe_cost=0.2)
    agent = banister.Oplb(safe_action=safe, guardrails=[guardrail], norm=1.0, parameter_norm=1.0, seed=1)
    features, means = world.features, world.means

    def play(n: int) -> None:
        for t, (u, v) in world.rounds(n):
            decision = agent.decide(features[t])
            chosen = decision.index
            # The safe action is offered beside the others, as the last one.
            mean = means[t][chosen] if chosen < world.count else 0.5
            agent.observe(decision, 1.0 if u < mean else 0.0, 1.0 if v < 0.4 else 0.0)

    return play


# The next three learn one linear model per arm from a context that the arms share; banister has one
# model, and every action its own features. Both ways a decision takes K predictions and K widths in
# d dimensions, and an outcome updates one d × d matrix.


def linear_mabwiser(world: Contexts) -> Play:
    from mabwiser.mab import MAB, LearningPolicy

    mab = MAB(list(range(world.count)), LearningPolicy.LinUCB(alpha=1.0), seed=1)
    mab.fit(world.past, world.past_rewards, world.past_contexts)
    contexts, means = world.contexts, world.means

    def play(n: int) -> None:
        for t, (u, _) in world.rounds(n):
            arm = mab.predict(contexts[t])
            reward = 1.0 if u < means[t][arm] else 0.0
            mab.partial_fit(np.array([arm]), np.array([reward]), contexts[t])

    return play


def linear_river(world: Contexts) -> Play:
    from river import bandit

    policy = bandit.LinUCBDisjoint(seed=1)
    names = [f"f{i}" for i in range(world.dimension)]
    contexts = [dict(zip(names, x[0].tolist())) for x in world.contexts]
    # One outcome of each arm is enough for it: its rounds take milliseconds.
    for arm in range(world.count):
        policy.update(arm, contexts[arm % len(contexts)], float(world.past_rewards[arm]))
    ids, means = list(range(world.count)), world.means

    def play(n: int) -> None:
        for t, (u, _) in world.rounds(n):
            arm = policy.pull(ids, context=contexts[t])
            policy.update(arm, contexts[t], 1.0 if u < means[t][arm] else 0.0)

    return play


def linear_contextualbandits(world: Contexts) -> Play:
    """Sherman-Morrison ("sm"), its faster method for single outcomes; threads would cost more."""
    from contextualbandits.online import LinUCB

    policy = LinUCB(world.count, fit_intercept=False, method="sm", njobs=1, random_state=1)
    policy.fit(world.past_contexts, world.past, world.past_rewards)
    contexts, means = world.contexts, world.means

    def play(n: int) -> None:
        for t, (u, _) in world.rounds(n):
            arm = policy.predict(contexts[t])
            reward = 1.0 if u < means[t][arm[0]] else 0.0
            policy.partial_fit(contexts[t], arm, np.array([reward]))

    return play


def linear_vowpal(world: Contexts, *exploration: str) -> Play:
    """One model, features per action, as ours. Examples stay, and are filled with the new numbers:
    faster than parsing text, even text that was written before."""
    from vowpal_wabbit_next import CBLabel, TextFormatParser, Workspace

    workspace = Workspace(["--cb_explore_adf", "--quiet", *exploration])
    parser = TextFormatParser(workspace)
    names = " ".join(f"f{i}:1" for i in range(world.dimension))
    actions = [parser.parse_line(f"|f {names}") for _ in range(world.count)]
    groups = [action["f"] for action in actions]
    indices = np.array(groups[0].indices, dtype=np.uint64)
    features = [list(x.astype(np.float32)) for x in world.features]
    unknown, means = CBLabel(), world.means
    draws = np.random.default_rng(3).random(ROUNDS).tolist()

    def play(n: int) -> None:
        for (t, (u, _)), draw in zip(world.rounds(n), draws):
            for group, x in zip(groups, features[t]):
                group.truncate_to(0)
                group.push_many_features(indices, x)
            arm, probability = drawn(workspace.predict_one(actions), draw)
            cost = 0.0 if u < means[t][arm] else 1.0
            actions[arm].set_label(CBLabel(label=(cost, probability)))
            workspace.learn_one(actions)
            actions[arm].set_label(unknown)

    return play


# Policy LPs


class Programs:
    """A sequence of policy LPs, each near the one before it, with the values that we find."""

    ROUNDS = 1000

    def __init__(self, actions: int, guardrails: int) -> None:
        rng = np.random.default_rng(10 * actions + guardrails)
        self.actions, self.guardrails = actions, guardrails
        first = rng.random((guardrails + 1, actions))
        drift = rng.normal(scale=0.005, size=(self.ROUNDS, guardrails + 1, actions))
        tables = np.clip(first + drift.cumsum(axis=0), 0.0, 1.0)
        # Action 0 is the safe one.
        tables[:, 1:, 0] = 0.1
        self.rewards = np.ascontiguousarray(tables[:, 0])
        self.costs = np.ascontiguousarray(tables[:, 1:])
        self.thresholds = np.full(guardrails, 0.3)
        self.values = banister.solve_lp(self.rewards, self.costs, self.thresholds).value

    def each(self, solve: Callable[[np.ndarray, np.ndarray], float]) -> Play:
        """Plays rounds with a solver that returns the optimal value, again and again."""
        pairs = list(zip(self.rewards, self.costs))

        def play(n: int) -> None:
            for part in self.parts(n):
                self.check([solve(*pair) for pair in pairs[:part]])

        return play

    def parts(self, n: int) -> Iterator[int]:
        for start in range(0, n, self.ROUNDS):
            yield min(self.ROUNDS, n - start)

    def check(self, found: list[float] | np.ndarray) -> None:
        apart = np.abs(np.asarray(found) - self.values[: len(found)]).max()
        # Written so that NaN is a difference too.
        if not apart <= 1e-7:
            raise ArithmeticError(f"the values differ by {apart}")


def lp_single(lps: Programs) -> Play:
    solve, thresholds = banister.solve_lp, lps.thresholds
    return lps.each(lambda reward, costs: solve(reward, costs, thresholds).value)


def lp_batch(lps: Programs) -> Play:
    def play(n: int) -> None:
        for part in lps.parts(n):
            found = banister.solve_lp(lps.rewards[:part], lps.costs[:part], lps.thresholds)
            lps.check(found.value)

    return play


def lp_scipy(lps: Programs) -> Play:
    from scipy.optimize import linprog

    ones, one = np.ones((1, lps.actions)), np.ones(1)

    def solve(reward: np.ndarray, costs: np.ndarray) -> float:
        found = linprog(-reward, A_ub=costs, b_ub=lps.thresholds, A_eq=ones, b_eq=one, method="highs")
        return -found.fun

    return lps.each(solve)


class Highs:
    """A model of HiGHS: the numbers of an LP row by row, the sum of the policy last."""

    def __init__(self, lps: Programs) -> None:
        import highspy

        self.highspy, self.lps = highspy, lps
        k, m = lps.actions, lps.guardrails
        infinity = highspy.kHighsInf
        self.zeros, self.ones = np.zeros(k), np.ones(k)
        self.lower = np.array([-infinity] * m + [1.0])
        self.upper = np.append(lps.thresholds, 1.0)
        self.starts = np.arange(m + 1, dtype=np.int32) * k
        self.indices = np.tile(np.arange(k, dtype=np.int32), m + 1)
        self.values = np.ones((m + 1, k))
        self.integrality = np.zeros(k, dtype=np.int32)

    def instance(self) -> object:
        highs = self.highspy.Highs()
        highs.setOptionValue("output_flag", False)
        highs.setOptionValue("threads", 1)
        return highs

    def hand_over(self, highs: object, reward: np.ndarray, costs: np.ndarray) -> None:
        self.values[:-1] = costs
        k, m = self.lps.actions, self.lps.guardrails
        highs.passModel(
            k, m + 1, k * (m + 1), int(self.highspy.MatrixFormat.kRowwise),
            int(self.highspy.ObjSense.kMaximize), 0.0, reward, self.zeros, self.ones,
            self.lower, self.upper, self.starts, self.indices, self.values.ravel(),
            self.integrality,
        )  # fmt: skip

    def value(self, highs: object) -> float:
        highs.run()
        return highs.getObjectiveValue()


def lp_highs_changed(lps: Programs) -> Play:
    """The model stays; its numbers are changed one by one, which keeps the basis to start from."""
    model = Highs(lps)
    highs, everything = model.instance(), np.arange(lps.actions, dtype=np.int32)
    model.hand_over(highs, lps.rewards[0], lps.costs[0])
    change = highs.changeCoeff

    def solve(reward: np.ndarray, costs: np.ndarray) -> float:
        highs.changeColsCost(lps.actions, everything, reward)
        for i, row in enumerate(costs.tolist()):
            for action, cost in enumerate(row):
                change(i, action, cost)
        return model.value(highs)

    return lps.each(solve)


def lp_highs_basis(lps: Programs) -> Play:
    """All numbers at once into the same instance, then the last basis: no call per coefficient."""
    model = Highs(lps)
    highs = model.instance()
    model.hand_over(highs, lps.rewards[0], lps.costs[0])
    highs.run()

    def solve(reward: np.ndarray, costs: np.ndarray) -> float:
        basis = highs.getBasis()
        model.hand_over(highs, reward, costs)
        highs.setBasis(basis)
        return model.value(highs)

    return lps.each(solve)


def lp_highs_anew(lps: Programs) -> Play:
    model = Highs(lps)

    def solve(reward: np.ndarray, costs: np.ndarray) -> float:
        highs = model.instance()
        model.hand_over(highs, reward, costs)
        return model.value(highs)

    return lps.each(solve)


def lp_cvxpy(lps: Programs, solver: str) -> Play:
    """Compiled once: parameters in a form (DPP) that spares all later rounds the compilation."""
    import cvxpy

    policy = cvxpy.Variable(lps.actions, nonneg=True)
    reward_of = cvxpy.Parameter(lps.actions)
    costs_of = cvxpy.Parameter((lps.guardrails, lps.actions))
    problem = cvxpy.Problem(
        cvxpy.Maximize(reward_of @ policy),
        [costs_of @ policy <= lps.thresholds, cvxpy.sum(policy) == 1],
    )
    # An interior point method's own tolerance is near the agreement asked for.
    options = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
    options = options if solver == "CLARABEL" else {}

    def solve(reward: np.ndarray, costs: np.ndarray) -> float:
        reward_of.value, costs_of.value = reward, costs
        return problem.solve(solver=solver, warm_start=True, **options)

    play = lps.each(solve)
    play(1)
    return play


# Exact OPLB


class Round:
    """Rounds of OPLB with confidence ellipsoids; the safe action is zero and costs nothing."""

    ROUNDS = 100

    def __init__(self, actions: int, dimension: int) -> None:
        rng = np.random.default_rng(5)
        features = rng.normal(size=(self.ROUNDS, actions, dimension))
        features /= np.linalg.norm(features, axis=2, keepdims=True)
        features[:, 0] = 0.0
        self.features = list(features)
        root = rng.normal(size=(200, dimension))
        self.gram = np.eye(dimension) + root.T @ root
        self.theta, self.cost = rng.normal(size=(2, dimension)) / math.sqrt(dimension)
        self.radius, self.threshold = 3.0, 0.2

    def solve(self, features: np.ndarray) -> banister.solvers.Solution:
        return banister.solve_oplb(
            features,
            safe=0,
            safe_costs=[0.0],
            thresholds=[self.threshold],
            gram=self.gram,
            reward={"estimate": self.theta, "radius": self.radius},
            costs=[{"estimate": self.cost, "radius": self.radius}],
            solver="exact",
        )


def oplb_banister(rounds: Round) -> Play:
    def play(n: int) -> None:
        for features in itertools.islice(itertools.cycle(rounds.features), n):
            rounds.solve(features)

    return play


def oplb_cvxpy(rounds: Round) -> Play:
    """The relaxation: optimism per action, not per policy, which makes the objective linear: one
    cone program, whose value bounds the optimum from above; its policy is not the best one."""
    import cvxpy

    actions, dimension = rounds.features[0].shape
    whitener = np.linalg.inv(np.linalg.cholesky(rounds.gram))
    policy = cvxpy.Variable(actions, nonneg=True)
    value_of = cvxpy.Parameter(actions)
    cost_of = cvxpy.Parameter(actions)
    across_of = cvxpy.Parameter((dimension, actions))
    cone = cost_of @ policy + rounds.radius * cvxpy.norm(across_of @ policy) <= rounds.threshold
    problem = cvxpy.Problem(cvxpy.Maximize(value_of @ policy), [cone, cvxpy.sum(policy) == 1])

    def solve(features: np.ndarray) -> float:
        whitened = whitener @ features.T
        reach = rounds.radius * np.linalg.norm(whitened, axis=0)
        value_of.value = features @ rounds.theta + reach
        cost_of.value, across_of.value = features @ rounds.cost, whitened
        return problem.solve(solver="CLARABEL", warm_start=True)

    # A relaxation that were below what we found would be another problem.
    for features in rounds.features[:3]:
        ours = rounds.solve(features)
        if not solve(features) >= ours.value - 1e-6:
            raise ArithmeticError("the relaxation is below our value")

    def play(n: int) -> None:
        for features in itertools.islice(itertools.cycle(rounds.features), n):
            solve(features)

    return play


# Measuring


def tasks(sizes: list[tuple[int, int]]) -> list[Task]:
    found = []
    for count, target in ((10, 3.0), (1000, 15.0)):
        arms = Arms(count)
        found.append(
            Task(
                "decide + observe, arms",
                count,
                [
                    Contender("banister.Opb", lambda arms=arms: arms_banister(arms)),
                    Contender("MABWiser UCB1", lambda arms=arms: arms_mabwiser(arms)),
                    Contender("river UCB", lambda arms=arms: arms_river(arms)),
                    Contender("contextualbandits LinUCB", lambda arms=arms: arms_contextualbandits(arms)),
                    Contender(
                        "vowpal-wabbit-next RegCB",
                        lambda arms=arms: arms_vowpal(arms, "--regcbopt"),
                    ),
                    Contender("vowpal-wabbit-next ε-greedy", lambda arms=arms: arms_vowpal(arms)),
                ],
                target,
            )
        )
    world = Contexts(100, 16)
    found.append(
        Task(
            "decide + observe, d = 16",
            world.count,
            [
                Contender("banister.Oplb", lambda: linear_banister(world)),
                Contender("MABWiser LinUCB", lambda: linear_mabwiser(world)),
                Contender("river LinUCBDisjoint", lambda: linear_river(world)),
                Contender("contextualbandits LinUCB", lambda: linear_contextualbandits(world)),
                Contender("vowpal-wabbit-next RegCB", lambda: linear_vowpal(world, "--regcbopt")),
                Contender("vowpal-wabbit-next ε-greedy", lambda: linear_vowpal(world)),
            ],
            30.0,
        )
    )
    for actions, guardrails in sizes:
        lps = Programs(actions, guardrails)
        kinds: list[tuple[str, Callable[[Programs], Play]]] = [
            ("banister.solve_lp", lp_single),
            ("banister.solve_lp, all at once", lp_batch),
            ("scipy linprog (HiGHS)", lp_scipy),
            ("highspy, numbers changed, warm", lp_highs_changed),
            ("highspy, model passed, last basis", lp_highs_basis),
            ("highspy, model built anew", lp_highs_anew),
            ("cvxpy (HiGHS)", lambda lps: lp_cvxpy(lps, "HIGHS")),
            ("cvxpy (Clarabel)", lambda lps: lp_cvxpy(lps, "CLARABEL")),
        ]
        contenders = [Contender(who, lambda make=make, lps=lps: make(lps)) for who, make in kinds]
        found.append(Task(f"policy LP, m = {guardrails}", actions, contenders))
    rounds = Round(100, 8)
    found.append(
        Task(
            "exact OPLB, d = 8",
            100,
            [
                Contender("banister.solve_oplb", lambda: oplb_banister(rounds)),
                Contender("cvxpy (Clarabel), a bound", lambda: oplb_cvxpy(rounds)),
            ],
        )
    )
    return found


def measure(task: Task, repetitions: int, block: float) -> list[Row]:
    """Blocks of all contenders by turns, each about `block` seconds long."""
    rows = [Row(task.what, task.size, contender.who) for contender in task.contenders]
    players: dict[int, tuple[Play, int]] = {}
    for i, contender in enumerate(task.contenders):
        with reported(rows[i]):
            play = contender.make()
            players[i] = play, calibrated(play, block)
    for _ in range(repetitions):
        for i, (play, n) in players.items():
            with reported(rows[i]):
                rows[i].blocks.append(timed(play, n) / n * 1e6)
    for row in rows:
        if row.blocks and not row.note:
            row.micros = min(row.blocks)
    judge(task, rows)
    return rows


@contextlib.contextmanager
def reported(row: Row) -> Iterator[None]:
    """Notes in its row what a contender lacks, or fails at; the others go on."""
    try:
        yield
    except ImportError as error:
        row.note = f"missing: {error.name or error}"
    except Exception as error:
        row.note = f"failed: {type(error).__name__}: {error}"


def calibrated(play: Play, block: float) -> int:
    """Returns the number of rounds that fill a block."""
    n = 1
    while (seconds := timed(play, n)) < block / 4 and n < ROUNDS:
        n = min(2 * n, ROUNDS)
    return max(1, min(ROUNDS, int(n * block / seconds)))


def timed(play: Play, n: int) -> float:
    start = time.perf_counter()
    play(n)
    return time.perf_counter() - start


def judge(task: Task, rows: list[Row]) -> None:
    ours = rows[0]
    if ours.micros is None:
        return
    if task.target is not None:
        ours.target, ours.met = f"{task.target:g} µs", ours.micros < task.target
    for row in rows[1:]:
        if row.micros is None:
            continue
        row.ratio = row.micros / ours.micros
        if not row.who.startswith("banister"):
            row.target, row.met = f"{AIM:g}×", row.ratio >= AIM


def table(rows: list[Row]) -> str:
    lines = [
        "| what | K | who | µs | ratio to ours | target | met |",
        "|---|--:|---|--:|--:|--:|---|",
    ]
    for row in rows:
        micros = row.note if row.micros is None else three_digits(row.micros)
        ratio = "" if row.ratio is None else f"{three_digits(row.ratio)}×"
        met = {None: "", True: "yes", False: "no"}[row.met]
        lines.append(f"| {row.what} | {row.size} | {row.who} | {micros} | {ratio} | {row.target} | {met} |")
    return "\n".join(lines)


def three_digits(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.{2 - max(0, math.floor(math.log10(x)))}f}"


def machine() -> dict[str, object]:
    versions = {}
    for name in [
        "banister",
        "numpy",
        "scipy",
        "highspy",
        "cvxpy",
        "clarabel",
        "mabwiser",
        "river",
        "contextualbandits",
        "vowpal-wabbit-next",
    ]:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "missing"
    versions["banister"] = banister.__version__
    return {"cpus": os.cpu_count(), "python": platform.python_version(), "versions": versions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a short run, for a first impression")
    parser.add_argument("--json", metavar="FILE", help="also write all numbers to a file")
    arguments = parser.parse_args()
    # Peers warn about their own dependencies.
    warnings.simplefilter("ignore")
    repetitions, block = (3, 0.02) if arguments.quick else (15, 0.1)
    sizes = list(itertools.product((10, 100, 1000), (1, 3)))
    rows = []
    for task in tasks(sizes):
        print(f"{task.what}, K = {task.size} …", file=sys.stderr)
        rows += measure(task, repetitions, block)
    facts = machine()
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    print(table(rows))
    print()
    print(f"{facts['cpus']} CPUs, Python {facts['python']}; {versions}.")
    print(
        "The bandits beside banister have no guardrails, costs or certificates: they do less. "
        "Where a solver has a time, its values agree with ours to 1e-7."
    )
    if arguments.json:
        raw = {"machine": facts, "rows": [vars(row) for row in rows]}
        with open(arguments.json, "w", encoding="utf-8") as file:
            json.dump(raw, file, indent=1)


if __name__ == "__main__":
    main()
