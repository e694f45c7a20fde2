# %% [markdown]
# # An agent of your own
#
# A support desk hands every question to one of five assistants. The more it can do, the more questions
# are resolved, and the more it costs. Two guardrails:
#
# - **price**: at most 0.40 per question
# - **complaints**: at most 12 in 100 questions
#
# We write the desk as an environment, three agents of our own, and compare them with banister's.

# %%
from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

import banister

HORIZON = int(os.environ.get("BANISTER_EXAMPLE_HORIZON", 5_000))
RUNS = 3

# %% [markdown]
# ## An environment of your own
#
# It has two methods: `actions(rng)`, None where the actions are arms, and `pull(action, rng)`, which
# returns the reward and the costs. Here the signals hang together, which no declared environment
# offers: who is not helped is more likely to complain.
#
# `means()` is the truth, never shown to an agent. With it every *policy* is judged by what it does in
# expectation, free of luck: regret and violations are exact.


# %%
class Desk:
    """Questions that come in, and assistants that answer them."""

    arms = ("today's", "small", "large", "tools", "crew")
    guardrails = (
        banister.Guardrail("price", at_most=0.40, safe_cost=0.15),
        banister.Guardrail("complaints", at_most=0.12),
    )
    resolves = (0.45, 0.30, 0.65, 0.80, 0.90)
    price = (0.15, 0.05, 0.30, 0.48, 0.85)
    annoys = (0.005, 0.10, 0.01, 0.01, 0.01)  # where it was resolved
    annoys_unresolved = (0.05, 0.20, 0.06, 0.12, 0.15)
    truth = np.array(
        [
            resolves,
            price,
            [
                r * a + (1 - r) * u
                for r, a, u in zip(resolves, annoys, annoys_unresolved, strict=True)
            ],
        ]
    )

    def actions(self, rng: np.random.Generator) -> None:
        """The actions are the arms."""

    def pull(self, action: int, rng: np.random.Generator) -> tuple[float, tuple[float, float]]:
        """Answers one question."""
        resolved = rng.random() < self.resolves[action]
        annoying = (self.annoys if resolved else self.annoys_unresolved)[action]
        price = rng.beta(8 * self.price[action], 8 * (1 - self.price[action]))
        return float(resolved), (price, float(rng.random() < annoying))

    def means(self) -> NDArray[np.float64]:
        """The true means: reward, price, complaints; one column per arm."""
        return self.truth


desk = Desk()
reward_means, *cost_means = desk.means().tolist()
best = banister.solve_lp(reward_means, cost_means, [0.40, 0.12])
print("best feasible policy:", {desk.arms[a]: round(p, 2) for a, p in best.policy.items()})
print(f"it resolves {best.value:.1%}, at price and complaints {best.costs.round(4)}")

# %% [markdown]
# The best policy is a mix: no single assistant does as well within the limits.
#
# ## Agents of your own
#
# A class that is called with the `Problem` (arms, the safe one, guardrails) and has `decide(actions, rng)`
# and `observe(action, reward, costs)`. What it decides may be an arm, or a policy: probabilities, or a
# dictionary by arm. The simulator draws, so an agent that returns its policy is judged by it.
#
# All of ours keep counts and means, so that goes into a base class.


# %%
class Means:
    """Counts and mean signals of every arm: row 0 is the reward, the others are the costs."""

    def __init__(self, problem: banister.simulation.Problem) -> None:
        self.problem = problem
        self.thresholds = [guardrail["at_most"] for guardrail in problem.guardrails]
        self.count = np.zeros(problem.n_arms)
        self.total = np.zeros((1 + len(self.thresholds), problem.n_arms))
        self.round = 0
        self.safe_policy: NDArray[np.float64] = np.zeros(problem.n_arms)
        self.safe_policy[problem.safe] = 1

    @property
    def mean(self) -> NDArray[np.float64]:
        """Mean signals; 1/2 for arms never played."""
        return (self.total + 0.5) / (self.count + 1)

    def radius(self, confidence: float | NDArray[np.float64]) -> NDArray[np.float64]:
        """Hoeffding's: at least this far from the mean with probability 1/confidence at most."""
        radius: NDArray[np.float64] = np.sqrt(np.log(confidence) / (2 * np.maximum(self.count, 1)))
        return radius

    def observe(self, action: int, reward: float, costs: Sequence[float]) -> None:
        """Learns an outcome."""
        self.round += 1
        self.count[action] += 1
        self.total[:, action] += (reward, *costs)


# %% [markdown]
# **UCB1** looks at the reward alone.


# %%
class Ucb(Means):
    """The arm with the highest upper bound on its reward."""

    label = "UCB1, unconstrained"

    def decide(self, actions: None, rng: np.random.Generator) -> int:
        """An arm."""
        if (self.count == 0).any():
            return int(self.count.argmin())
        return int((self.mean[0] + self.radius(float(self.round) ** 4)).argmax())


# %% [markdown]
# **ε-greedy** plans with its estimates as if they were true: `solve_lp` is the best policy that keeps
# the guardrails *by the estimates*. One round in twenty it explores.


# %%
class EpsilonGreedy(Means):
    """The best policy by the estimates, and a little of everything."""

    label = "ε-greedy, estimates"

    def decide(self, actions: None, rng: np.random.Generator) -> NDArray[np.float64]:
        """A policy."""
        reward, *costs = self.mean.tolist()
        solution: banister.solvers.Solution = banister.solve_lp(reward, costs, self.thresholds)
        if solution.status == "infeasible":
            return self.safe_policy
        return 0.95 * solution.probabilities + 0.05 / self.problem.n_arms


# %% [markdown]
# **Safe Thompson sampling** draws a plausible reward for every arm and plans with *upper bounds* of the
# costs, so its policies are safe as long as the bounds hold. Where even the safe action's bound is not
# below a threshold yet, it plays the safe action.


# %%
class SafeThompson(Means):
    """Plausible rewards, pessimistic costs."""

    label = "safe Thompson sampling"
    delta = 0.01

    def decide(self, actions: None, rng: np.random.Generator) -> NDArray[np.float64]:
        """A policy."""
        wins = self.total[0]
        reward = rng.beta(1 + wins, 1 + np.maximum(self.count - wins, 0))
        # For every arm, every cost and every number of plays: the chances add up to at most δ.
        confidence = 2 * np.maximum(self.count, 1) ** 2 * self.total[1:].size / self.delta
        plain = self.total[1:] / np.maximum(self.count, 1)
        costs = np.where(self.count > 0, np.minimum(plain + self.radius(confidence), 1), 1)
        for cost, guardrail in zip(costs, self.problem.guardrails, strict=True):
            cost[self.problem.safe] = guardrail.get("safe_cost", cost[self.problem.safe])
        solution: banister.solvers.Solution = banister.solve_lp(
            reward.tolist(), costs.tolist(), self.thresholds
        )
        if solution.status == "infeasible":
            return self.safe_policy
        return solution.probabilities


# %% [markdown]
# ## Side by side
#
# Agents written in Python and banister's own go into the same call. The same seed gives the same
# numbers, again and anywhere.

# %%
AGENTS: dict[str, Any] = {"banister": "opb", SafeThompson.label: SafeThompson}
RECKLESS: dict[str, Any] = {EpsilonGreedy.label: EpsilonGreedy, Ucb.label: Ucb}
result = banister.simulate(
    desk,
    AGENTS | RECKLESS,
    HORIZON,
    RUNS,
    name="Support desk",
    checkpoints=100,
    progress=False,
)
figure = result.plot()
figure.save("own_agent.png")
figure

# %% [markdown]
# UCB1 has *negative* regret: it earns more than any feasible policy, by breaking the guardrail on the
# price in nearly every round. ε-greedy is soon close to the best policy, and over a limit in many of its
# rounds: an estimate is as often too low as too high. The other two stay within both limits from the
# first round on.

# %%
runs = result.to_pandas("runs")
table = runs.groupby("agent", sort=False).agg(
    regret=("regret", "mean"),
    unsafe_rounds=("violations", "sum"),
    worst_excess=("worst_exceedance", "max"),
)
table["unsafe_rounds"] /= HORIZON * RUNS
print(
    table.to_string(
        formatters={
            "regret": "{:.0f}".format,
            "unsafe_rounds": "{:.1%}".format,
            "worst_excess": "{:.3f}".format,
        }
    )
)
safe = runs["agent"].isin(list(AGENTS))
assert runs.loc[safe, "violations"].sum() == 0

# %% [markdown]
# ## What a certificate looks like
#
# banister's agent outside the simulator, after some questions. `decide` returns a policy *and* why it is
# safe: the cost that it would have if every assistant were as bad as its interval allows, and what one
# more unit of threshold would earn.

# %%
agent = banister.Opb(desk.arms, guardrails=desk.guardrails, seed=7)
rng = np.random.default_rng(7)
for _ in range(HORIZON):
    decision = agent.decide()
    agent.observe(decision, *desk.pull(decision.index, rng))
decision = agent.decide()
print("policy:", {arm: round(p, 3) for arm, p in decision.policy.items()})
for guardrail in decision.certificate.guardrails:
    print(
        f"{guardrail.name}: at worst {guardrail.pessimistic_cost:.4f}, allowed "
        f"{guardrail.threshold:g}, one more unit would earn {guardrail.price:.2f}"
    )
truth = desk.means() @ decision.probabilities
print(f"in truth: price {truth[1]:.4f}, complaints {truth[2]:.4f}")

# %% [markdown]
# ## What a threshold is worth
#
# A sweep over the limit on the price, in processes of this machine: code written in Python holds the
# interpreter, so processes are what makes it parallel. (`executor="ray"` takes a cluster.)

# %%
LIMITS = [0.2, 0.3, 0.4, 0.5]
swept = banister.sweep(
    desk,
    AGENTS,
    grid={"guardrails.price.at_most": LIMITS},
    horizon=HORIZON,
    runs=2,
    executor="processes",
    progress=False,
)
ends = swept.to_pandas("runs")
assert (ends["violations"] == 0).all()
reached = ends.pivot_table("reward_end", "guardrails.price.at_most", "agent")
print(reached.round(3).to_string())


def show(best: list[float]) -> Figure:
    """The reward at the end for every limit on the price."""
    figure, axes = plt.subplots(figsize=(7.5, 4.2), layout="constrained")
    colours = ["#0072B2", "#8F6200"]
    axes.plot(LIMITS, best, color="#333333", ls=":", lw=1.5)
    labels = [("best feasible policy", best[-1], "#333333")]
    for name, colour in zip(AGENTS, colours, strict=True):
        reward = reached[name].to_numpy()
        axes.plot(LIMITS, reward, "o-", color=colour, lw=2, ms=6)
        labels.append((name, float(reward[-1]), colour))
    place = np.inf
    for text, height, colour in labels:  # from top to bottom, none on another
        place = min(height, place - 0.02)
        axes.annotate(
            text,
            (LIMITS[-1], place),
            (10, 0),
            textcoords="offset points",
            va="center",
            color=colour,
            annotation_clip=False,
        )
    axes.axhline(Desk.resolves[0], color="#999999", lw=1)
    axes.annotate(
        "today's assistant",
        (LIMITS[-1], Desk.resolves[0]),
        (0, 4),
        textcoords="offset points",
        ha="right",
        color="#666666",
    )
    axes.set_title("What does a higher limit on the price earn?", loc="left", weight="bold")
    axes.set_xlabel("price allowed per question")
    axes.set_ylabel(f"questions resolved after {HORIZON:,}")
    axes.set_xticks(LIMITS)
    axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6")
    axes.set_axisbelow(True)
    return figure


sweep_figure = show([instance["optimum"]["reward"] for instance in swept.instances])
sweep_figure.savefig("own_agent_sweep.png")
plt.show()

# %% [markdown]
# Every point kept its limit in every round. Where the limit is close to what today's assistant costs,
# there is little room to explore in, and both earn little more than it does. With more room banister is
# further ahead of our own agent. What it has beside that is a proof that its regret stays small.
#
# Where to go from here: the same agent in Rust takes a microsecond per round, and gets its snapshots,
# its Python class and its place in the tests from the registry. The chapter "Add an agent" shows how.
