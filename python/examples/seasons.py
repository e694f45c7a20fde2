# %% [markdown]
# # A shop with seasons
#
# A bold page sells twice as much as the safe one. How many visitors complain about it depends on the season: between
# 15% and 35%, and a year has 200 000 visits. At most 20% of the visitors may complain.
#
# Intervals that take means to stay average over the seasons. When complaints rise, policies that rest on them go beyond
# the threshold. **Declared drift** says how fast a mean may move, and every policy keeps the guardrail at the time of
# its use.

# %%
from __future__ import annotations

import os
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.figure import Figure

import banister

PERIOD = 200_000
HORIZON = int(os.environ.get("BANISTER_EXAMPLE_HORIZON", 2 * PERIOD))
THRESHOLD = 0.2
SHOP = {
    "kind": "bernoulli",
    "arms": ["safe", "bold"],
    "rewards": [0.3, 0.6],
    "costs": [[0.05, 0.25]],
    "moves": [{"arm": "bold", "signal": "complaints", "path": {"season": {"by": 0.1, "period": PERIOD}}}],
}


def complaints(visit: np.ndarray) -> np.ndarray:
    """Returns the share of visitors that the bold page makes complain."""
    return 0.25 + 0.1 * np.sin(2 * np.pi * visit / PERIOD)


# %% [markdown]
# ## Two guardrails
#
# The season is steepest where it crosses its mean: by 0.1 · 2π / 200 000, or 0.000003 per visit. That is what the
# second guardrail declares.


# %%
def play(drift: float | None) -> banister.simulation.SimulationResult:
    """Plays two seasons, five times."""
    declared: dict[str, Any] = {} if drift is None else {"drift": {"by": drift, "per": "decision"}}
    rail = banister.Guardrail("complaints", at_most=THRESHOLD, safe_cost=0.05, **declared)
    return banister.simulate(SHOP, ["opb"], horizon=HORIZON, runs=5, guardrails=[rail], progress=False)


FASTEST = 0.1 * 2 * np.pi / PERIOD
RESULTS = {"not declared": play(None), "declared": play(FASTEST)}


def share(result: banister.simulation.SimulationResult) -> float:
    """Returns the share of what a clairvoyant earns beyond the safe page."""
    return float(1 - np.mean(result.runs["regret"]) / np.mean(result.runs["possible_gain"]))


for name, result in RESULTS.items():
    violating = float(np.mean(result.runs["violations"])) / HORIZON
    worst = float(np.max(result.curves["complaints_cost_max"]))
    print(f"drift {name}: policies beyond the threshold {violating:.1%}, worst complaints {worst:.3f}", end="")
    print(f", share of the clairvoyant's gain {share(result):.1%}")

# %% [markdown]
# ## The figure
#
# Lines are means over five runs, of true means and not of drawn visits; the shade is the worst policy of all runs. The
# clairvoyant knows the season and plays as much of the bold page as the guardrail allows.


# %%
COLOURS = {"not declared": "#c0392b", "declared": "#12805c"}


def draw() -> Figure:
    """Draws the season, the complaints of the policies and their sales."""
    figure, (season, above, below) = plt.subplots(
        3, 1, figsize=(9, 7.4), sharex=True, height_ratios=[0.8, 1.7, 1], layout="constrained"
    )
    visits = np.asarray(RESULTS["declared"].curves["round"], dtype=float)
    thousands, alone = visits / 1000, complaints(visits)
    best = np.minimum((THRESHOLD - 0.05) / (alone - 0.05), 1.0)
    season.plot(thousands, alone, color="0.4", linewidth=2.0, label="complaints of the bold page alone")
    below.plot(thousands, 0.3 + 0.3 * best, "--", color="0.55", linewidth=1.5, label="clairvoyant")
    for name, result in RESULTS.items():
        own: dict[str, Any] = {"color": COLOURS[name], "linewidth": 2.4}
        cost, worst = (np.asarray(result.curves[f"complaints_cost_{which}"]) for which in ("mean", "max"))
        beyond = np.mean(result.runs["violations"]) / HORIZON
        above.plot(thousands, cost, label=f"drift {name}: {beyond:.0%} of policies beyond the threshold", **own)
        is_beyond, shade = worst > THRESHOLD, {"color": COLOURS[name], "alpha": 0.22, "linewidth": 0}
        above.fill_between(thousands, THRESHOLD, worst, where=is_beyond, **shade)
        below.plot(thousands, result.curves["reward_mean"], **own)
    for axes, place in ((season, 0.375), (above, 0.8)):
        axes.axhline(THRESHOLD, color="0.15", linewidth=1.3)
        axes.text(thousands[-1] * place, THRESHOLD + 0.001, "at most 20%", ha="center", va="bottom", fontsize=10.5)
    season.set(ylim=(0.12, 0.42), ylabel="complaints")
    above.set(ylim=(0.135, 0.256), ylabel="complaints of the policy")
    below.set(ylim=(0.38, 0.62), xlim=(0, thousands[-1]), xlabel="thousand visits", ylabel="sales per visit")
    season.set_title("A shop with seasons: every policy keeps its guardrail if the drift is declared", loc="left")
    for axes, corner, units in ((season, "upper", ".0%"), (above, "upper", ".0%"), (below, "lower", ".2f")):
        axes.yaxis.set_major_formatter(f"{{x:{units}}}")
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, loc=f"{corner} right", fontsize=10.5)
    return figure


FIGURE = draw()

# %%
if __name__ == "__main__":
    FIGURE.savefig("seasons.png", dpi=150)
    plt.close("all")
