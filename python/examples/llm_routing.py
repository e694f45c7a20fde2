# %% [markdown]
# # Routing calls to language models under a budget
#
# 3609 requests, each answered by three models, with a judged quality and a price in dollars for every answer (see
# `experiments/routing` for the source). The dearest model is the best and costs 500 times as much as the cheapest:
#
# - **Ceiling**: at most so many dollars per request on average, and as much quality as that buys.
# - **Floor**: at least so much of the dearest model's quality, and as few dollars as that takes.
#
# Both are guardrails. Each policy comes with a certificate that it keeps its guardrail.

# %%
from __future__ import annotations

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import banister


def data_folder() -> Path:
    """Looks for `experiments/routing` from here upwards, or in the clone that BANISTER_CLONE names."""
    here = Path(os.environ.get("BANISTER_CLONE", globals().get("__file__", "."))).resolve()
    for folder in [here, *here.parents]:
        if (folder / "experiments" / "routing").is_dir():
            return folder / "experiments" / "routing"
    raise FileNotFoundError("experiments/routing: run this inside a clone of banister")


FOLDER = data_folder()
RUNS = 2 if "BANISTER_EXAMPLE_HORIZON" in os.environ else 20
MODELS = ["llama", "mistral", "gemini"]
CEILINGS = [2.93e-5, 8.29e-5, 2.35e-4, 6.62e-4, 1.87e-3, 5.31e-3, 1.5e-2]
#: Most that an answer can cost: the price per token times the longest answer allowed.
RANGES = {"llama": (0.0, 4.5e-4), "mistral": (0.0, 6.5e-3), "gemini": (0.0, 0.17)}


# %% [markdown]
# ## The requests
#
# An agent sees the answer of the model it chose. The table knows all three, so every policy can be judged exactly.


# %%
def requests() -> pd.DataFrame:
    """Reads the table."""
    return pd.read_parquet(FOLDER / "requests.parquet")


def environment(frame: pd.DataFrame, log: float | None = None) -> banister.simulation.TableEnvironment:
    """Returns the table as an environment, with a share of its rows as a log of what all models did."""
    return banister.simulation.TableEnvironment(
        frame,
        rewards={name: f"{name}_reward" for name in MODELS},
        costs={"dollars": [f"{name}_cost" for name in MODELS]},
        safe="llama",
        order="shuffled",
        log=log,
    )


def means(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the mean quality and price of each model."""
    rows = [[frame[f"{name}_{what}"].mean() for what in ("reward", "cost")] for name in MODELS]
    return pd.DataFrame(rows, index=MODELS, columns=["quality", "dollars"])


def show_means() -> None:
    """Prints the models."""
    print(means(requests()).to_string(float_format=lambda x: f"{x:.4g}"))


show_means()

# %% [markdown]
# ## Certified points
#
# Seven ceilings. *Cold*: nothing is known but the cheap model's price. *Warm*: half of the requests are a log, the
# other half is played. 20 random orders of the requests each.


# %%
def certified(frame: pd.DataFrame, ceiling: float, log: float | None) -> dict[str, float]:
    """Plays `opb` under a ceiling and returns the means over orders."""
    table = environment(frame, log)
    safe = float(table.means()["dollars"][0])
    result = banister.simulate(
        table,
        ["opb"],
        horizon=len(frame) - int((log or 0.0) * len(frame)),
        runs=RUNS,
        guardrails=[banister.Guardrail("dollars", at_most=ceiling, safe_cost=safe, range=RANGES)],
        progress=False,
    )
    own = result.runs
    return {
        "ceiling": ceiling,
        "quality": float(np.mean(own["reward_drawn"])),
        "dollars": float(np.mean(own["dollars_drawn"])),
        "share of gain": float(np.mean(own["gain"])),
        "violations": int(np.sum(own["violations"])),
    }


def certified_points(log: float | None) -> pd.DataFrame:
    """Returns one row per ceiling."""
    frame = requests()
    return pd.DataFrame([certified(frame, ceiling, log) for ceiling in CEILINGS])


COLD, WARM = certified_points(None), certified_points(0.5)
for title, points in (("cold", COLD), ("warm", WARM)):
    print(f"{title}\n{points.to_string(index=False, float_format=lambda x: f'{x:.4g}')}\n")

# %% [markdown]
# ## The frontier
#
# The line is the best that any policy can do that ignores the request. ParetoBandit and LiteLLM's adaptive router are
# the packages' own code, on the same orders (`cargo xtask bench routing`); they see the kind of request, banister's
# agent here does not. LiteLLM has no ceiling, so each of its points is one of its weights of quality.


# %%
def best_frontier(frame: pd.DataFrame) -> pd.DataFrame:
    """Returns the best quality for every mean price, over mixtures of models."""
    table = means(frame)
    quality, dollars = table["quality"].to_numpy(), table["dollars"].to_numpy()
    prices = np.geomspace(dollars[0], dollars[2], 200)
    best = []
    for price in prices:
        solution = banister.solve_lp(quality, [dollars], [price])
        best.append(solution.value)
    return pd.DataFrame({"dollars": prices, "quality": best})


def rivals(mode: str) -> pd.DataFrame:
    """Reads the results of other packages' routers."""
    board = pd.read_csv(FOLDER / "board.csv")
    return board[(board["mode"] == mode) & board["router"].isin(["paretobandit", "litellm"])]


def draw_frontier() -> Figure:
    """Quality against dollars, warm."""
    figure, axes = plt.subplots(figsize=(8, 5))
    best = best_frontier(requests())
    axes.plot(best["dollars"], best["quality"], color="0.6", label="best policy that ignores the request")
    axes.plot(WARM["dollars"], WARM["quality"], "o", color="#1a7f5a", label="banister, certified")
    other = rivals("warm")
    for name, label, colour, marker in (
        ("paretobandit", "ParetoBandit", "#b4552d", "s"),
        ("litellm", "LiteLLM's adaptive router", "#4a6fa5", "^"),
    ):
        own = other[other["router"] == name]
        axes.plot(own["dollars"], own["reward"], marker, color=colour, markersize=5, label=label)
    axes.set_xscale("log")
    axes.set_xlabel("dollars per request")
    axes.set_ylabel("mean quality")
    axes.set_title("Quality that dollars buy: half of the requests as a log, 20 orders")
    axes.legend(frameon=False, loc="lower right")
    figure.tight_layout()
    return figure


FRONTIER = draw_frontier()

# %% [markdown]
# ## Spending against the ceiling
#
# One cold run at $6.62e-4 per request, request by request, with an agent as an application has it.


# %%
def spending(ceiling: float = 6.62e-4) -> np.ndarray:
    """Plays the first order cold and returns the dollars spent after each request."""
    frame = requests()
    table = environment(frame)
    _, order = table.order(0, horizon=len(frame))
    safe = float(table.means()["dollars"][0])
    rail = banister.Guardrail("dollars", at_most=ceiling, safe_cost=safe, range=RANGES)
    agent = banister.Opb(MODELS, safe="llama", guardrails=[rail], seed=0)
    quality = frame[[f"{name}_reward" for name in MODELS]].to_numpy()
    dollars = frame[[f"{name}_cost" for name in MODELS]].to_numpy()
    spent = []
    for row in order:
        decision = agent.decide()
        agent.observe(decision, quality[row, decision.index], dollars[row, decision.index])
        spent.append(dollars[row, decision.index])
    return np.cumsum(spent)


def draw_spending(ceiling: float = 6.62e-4) -> Figure:
    """Mean dollars so far, as a share of the ceiling."""
    figure, axes = plt.subplots(figsize=(8, 4.2))
    spent = spending(ceiling)
    count = np.arange(1, len(spent) + 1)
    axes.axhline(1.0, color="0.3", linewidth=1)
    axes.text(len(spent), 1.02, f"ceiling: ${ceiling:g} per request", ha="right", va="bottom")
    axes.plot(count[99:], spent[99:] / count[99:] / ceiling, color="#1a7f5a", label="banister, certified")
    paths = pd.read_csv(FOLDER / "paths.csv")
    names = {"paretobandit": ("ParetoBandit", "#b4552d"), "litellm": ("LiteLLM, default weight", "#4a6fa5")}
    for name, (label, colour) in names.items():
        own = paths[(paths["rival"] == name) & (paths["requests"] >= 100)]
        axes.plot(own["requests"], own["dollars"] / own["requests"] / ceiling, color=colour, label=label)
    axes.set_xlabel("requests")
    axes.set_ylabel("mean dollars so far / ceiling")
    axes.set_ylim(bottom=0)
    axes.set_title("Spending so far, one cold run")
    axes.legend(frameon=False)
    figure.tight_layout()
    return figure


SPENDING = draw_spending()

# %% [markdown]
# The agent begins with the cheap model and buys as much of the better one as it can prove. What it may not do is
# spend first and correct later.
#
# ## Not covered here
#
# The requests differ: a policy for each kind of request could do better than the line. A budget for a whole day, as a
# hard cap, is a setting of the service (`budget`, in the chapter on the service).

# %%
if __name__ == "__main__":
    FRONTIER.savefig("frontier.png", dpi=120)
    SPENDING.savefig("spending.png", dpi=120)
    plt.close("all")
