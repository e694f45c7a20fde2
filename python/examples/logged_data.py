# %% [markdown]
# # From a raw log to a decision
#
# A shop sends one notification per session, in one of four variants. For four weeks the variant was
# drawn at random. Revenue is to grow, and two guardrails are to be kept:
#
# - **complaints**: at most 3 in 100 sessions
# - **latency**: at most 180 ms on average
#
# The log is all we have. Which policy should go live?

# %%
from __future__ import annotations

import copy

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.figure import Figure

import banister

VARIANTS = ["control", "reminder", "discount", "urgent"]
SEGMENTS = ["new", "returning", "loyal"]
GUARDRAILS = [
    banister.Guardrail("complaints", at_most=0.03),
    banister.Guardrail("latency_ms", at_most=180.0, range=(0.0, 1000.0)),
]
REVENUE = {"range": [0.0, 60.0]}  # the largest basket that counts


# %% [markdown]
# ## The raw frame
#
# Made up here, with the dirt that real ones have. In the first week the control got more than its
# share; then all variants got the same.


# %%
def raw_frame(sessions: int = 120_000, seed: int = 7) -> pd.DataFrame:
    """Four weeks of sessions as they come out of a warehouse."""
    rng = np.random.default_rng(seed)
    minute = np.sort(rng.uniform(0, 28 * 24 * 60, sessions))
    ramp_up = minute < 7 * 24 * 60
    first = np.where(ramp_up, 0.55, 0.25)
    chance = np.stack([first, *[(1 - first) / 3] * 3], axis=1)
    variant = (rng.uniform(size=(sessions, 1)) > chance.cumsum(axis=1)).sum(axis=1)
    segment = rng.choice(3, size=sessions, p=[0.5, 0.3, 0.2])

    buys = np.array(
        [[0.05, 0.10, 0.16], [0.07, 0.12, 0.18], [0.12, 0.16, 0.19], [0.11, 0.17, 0.27]]
    )
    annoys = np.array(
        [[0.012, 0.01, 0.01], [0.016, 0.014, 0.02], [0.02, 0.02, 0.025], [0.07, 0.05, 0.03]]
    )
    delay = np.array([118.0, 131.0, 214.0, 126.0])
    bought = rng.uniform(size=sessions) < buys[variant, segment]
    basket = np.clip(rng.gamma(4.0, 4.0, sessions), 1, 60)
    frame = pd.DataFrame(
        {
            "session": np.arange(sessions),
            "timestamp": pd.Timestamp("2026-03-02") + pd.to_timedelta((60 * minute).astype(int), unit="s"),
            "segment": np.array(SEGMENTS)[segment],
            "variant": np.array(VARIANTS)[variant],
            "propensity": chance[np.arange(sessions), variant],
            "revenue": np.where(bought, basket.round(2), np.nan),
            "complaint": rng.uniform(size=sessions) < annoys[variant, segment],
            "latency_ms": np.clip(rng.gamma(6.0, delay[variant] / 6.0), 5, 999).round(),
        }
    )

    # The dirt.
    odd = rng.choice(sessions, 9000, replace=False)
    frame.loc[odd[:2500], "variant"] = frame.loc[odd[:2500], "variant"].str.capitalize() + " "
    frame.loc[odd[2500:4000], "propensity"] *= 100  # one server logs percent
    frame.loc[odd[4000:5000], "propensity"] = np.nan  # one server logs nothing
    frame.loc[odd[5000:5600], "latency_ms"] = -1  # timeouts
    frame.loc[odd[5600:6000], "segment"] = "internal"  # our own tests
    twice = pd.concat([frame, frame.iloc[odd[6000:]]])
    rows: pd.DataFrame = twice.sort_values("timestamp", ignore_index=True, kind="stable")
    return rows


raw = raw_frame()
raw.head()

# %% [markdown]
# ## Cleaning
#
# One rule matters for everything that follows: rows may be dropped for what was known **before** the
# outcome, never for the outcome itself. A timeout is a slow answer, not a missing one; a session
# without a purchase earned 0.


# %%
def clean(raw: pd.DataFrame) -> pd.DataFrame:
    """Rows that can be trusted, in columns of plain numbers."""
    frame = raw.drop_duplicates("session")
    frame = frame[frame["segment"].isin(SEGMENTS)]
    frame = frame[frame["propensity"].notna()]  # lost by server, whatever the outcome was
    percent = frame["propensity"] > 1
    cleaned: pd.DataFrame = frame.assign(
        variant=frame["variant"].str.strip().str.lower(),
        propensity=frame["propensity"].where(~percent, frame["propensity"] / 100),
        revenue=frame["revenue"].fillna(0.0),
        latency_ms=frame["latency_ms"].where(frame["latency_ms"] >= 0, 1000.0),
        complaint=frame["complaint"].astype(float),
        is_returning=(frame["segment"] == "returning").astype(float),
        is_loyal=(frame["segment"] == "loyal").astype(float),
    )
    return cleaned


frame = clean(raw)
print(f"{len(raw):,} raw rows, {len(frame):,} clean ones")

# %% [markdown]
# Propensities can be checked: where a variant was logged with probability p, it should have occurred
# in a share p of the sessions, so the mean of 1/p over its rows, times its share of rows, is 1.

# %%
inverse = (1 / frame["propensity"]).groupby(frame["variant"]).sum() / len(frame)
print(inverse.round(3).to_string())
assert inverse.between(0.97, 1.03).all(), "the logged propensities are not those that were used"

# %% [markdown]
# ## Candidates on the log
#
# Three weeks are for making up our minds, the fourth is for judging: a policy that was chosen by the
# rounds that judge it looks better than it is.


# %%
def to_log(part: pd.DataFrame) -> banister.offline.Log:
    """The rounds of a part of the frame."""
    return banister.offline.Log.from_frame(
        part,
        action="variant",
        reward="revenue",
        costs={"complaints": "complaint", "latency_ms": "latency_ms"},
        pscore="propensity",
        features=["is_returning", "is_loyal"],
        arms=VARIANTS,
    )


is_early = frame["timestamp"] < pd.Timestamp("2026-03-23")
early, late = to_log(frame[is_early]), to_log(frame[~is_early])
print(early)
print(late)

# %% [markdown]
# One candidate depends on the segment: urgent for the loyal, who do not mind, a reminder for the rest.
# Another is an agent that learnt from the early weeks. Its policy keeps the guardrails **by its own
# certificate**, before the late week is looked at.

# %%
agent = banister.Opb(
    VARIANTS, safe="control", guardrails=GUARDRAILS, reward=REVENUE, seed=11
)
learnt = agent.warm_start(early)
mixed = agent.decide().policy
print(f"learnt {learnt.outcomes:,} outcomes:", {arm: round(p, 2) for arm, p in mixed.items()})

is_loyal = frame.loc[~is_early, "is_loyal"].to_numpy() == 1
by_segment = np.zeros((len(late), len(VARIANTS)))
by_segment[is_loyal, VARIANTS.index("urgent")] = 1
by_segment[~is_loyal, VARIANTS.index("reminder")] = 1

candidates: dict[str, dict[str, float] | np.ndarray] = {
    **{f"always {variant}": {variant: 1.0} for variant in VARIANTS},
    "urgent if loyal,\nelse reminder": by_segment,
    "warm-started agent": mixed,
}
# All intervals at once are to hold with probability 95%: six policies, three signals each.
confidence = 1 - 0.05 / (len(candidates) * 3)
evaluations = {
    name: banister.offline.evaluate(
        late, policy, guardrails=GUARDRAILS, reward=REVENUE, confidence=confidence
    )
    for name, policy in candidates.items()
}
for name, evaluation in evaluations.items():
    print(f"{' '.join(name.split())}: {evaluation}\n")

# %% [markdown]
# The doubly robust estimate and plain weighting should agree within their errors, and the mean weight
# should be 1. If not, a propensity is wrong or a weight is too large.

# %%
for name, policy in candidates.items():
    plain = evaluations[name].reward
    robust = banister.offline.evaluate(late, policy, estimator="dr", interval="normal").reward
    assert abs(plain.estimate - robust.estimate) < 3 * plain.standard_error
    assert plain.weights_compatible

# %% [markdown]
# ## What the log shows

# %%
COLOURS = {"kept": "#1b7f5c", "undecided": "#d08700", "broken": "#c0392b"}
INK, PALE = "#222222", "#8a8a8a"


def show(evaluations: dict[str, banister.offline.Evaluation]) -> Figure:
    """Estimates with intervals against the thresholds, one row per policy."""
    panels = [
        ("reward", "revenue per session", "{:.2f}"),
        ("complaints", "complaints per session", "{:.3f}"),
        ("latency_ms", "latency, ms", "{:.0f}"),
    ]
    figure, axes = plt.subplots(1, 3, figsize=(12, 4.6), sharey=True, layout="constrained")
    rows = range(len(evaluations))
    for axis, (signal, title, shape) in zip(axes, panels, strict=True):
        for row, evaluation in zip(rows, evaluations.values(), strict=True):
            judged = evaluation.verdicts.get(signal)
            one = evaluation.reward if judged is None else evaluation.costs[signal]
            colour = INK if judged is None else COLOURS[judged.verdict]
            axis.plot([one.lower, one.upper], [row, row], color=colour, lw=3, solid_capstyle="butt")
            axis.plot(one.estimate, row, "o", color=colour, ms=8)
            # The text stands on the side of the threshold that the estimate is on.
            text, at, align = shape.format(one.estimate), one.estimate, "center"
            if judged is not None:
                text += f"  {judged.verdict}"
            if judged is not None and judged.verdict == "kept":
                at, align = one.upper, "right"
            if judged is not None and judged.verdict == "broken":
                at, align = one.lower, "left"
            axis.annotate(
                text,
                (at, row),
                (0, 9),
                textcoords="offset points",
                ha=align,
                color=colour,
                fontsize=9,
            )
        limits = [g.at_most for g in GUARDRAILS if g.name == signal and g.at_most is not None]
        low, high = axis.get_xlim()
        low, high = low - 0.2 * (high - low), high + 0.25 * (high - low)
        for limit in limits:
            high = max(high, limit + 0.2 * (limit - low))
            axis.axvline(limit, color=COLOURS["broken"], lw=1)
            axis.axvspan(limit, high, color=COLOURS["broken"], alpha=0.06, lw=0)
            axis.annotate(
                f"at most {limit:g}",
                (limit, -0.72),
                (4, 0),
                textcoords="offset points",
                color=COLOURS["broken"],
                fontsize=9,
                va="center",
            )
        axis.set_xlim(low, high)
        axis.set_title(title, loc="left", fontsize=11, color=INK)
        axis.grid(axis="x", color="#e6e6e6", lw=0.8)
        axis.set_axisbelow(True)
        axis.spines[["top", "right", "left"]].set_visible(False)
        axis.tick_params(length=0, colors=PALE)
    axes[0].set_yticks(list(rows), list(evaluations), color=INK, fontsize=10)
    axes[0].set_ylim(len(evaluations) - 0.5, -1.0)
    figure.suptitle(
        "Which policies earn more and stay within the limits? One held-out week; "
        "bars hold all at once with 95%",
        x=0.01,
        ha="left",
        fontsize=12,
        color=INK,
    )
    return figure


figure = show(evaluations)
plt.show()

# %% [markdown]
# ## What the warm start is worth
#
# In a replay an agent lives through the log as if it had been deployed: a logged session counts only
# with the chance that the agent would have given it. Two agents live through the held-out week, one
# that learnt the three weeks before and one that starts from nothing. Both must keep the guardrails on
# the way; that is the point of them.

# %%
fresh = banister.Opb(
    VARIANTS, safe="control", guardrails=GUARDRAILS, reward=REVENUE, seed=11
)
# Agents learn while they are replayed, so the one that goes live later sends a copy.
replays = {
    "warm-started": banister.offline.replay(late, copy.copy(agent), progress=False),
    "fresh": banister.offline.replay(late, fresh, progress=False),
}
for name, replayed in replays.items():
    print(f"{name}: {replayed}\n")


def show_replays(replays: dict[str, banister.offline.Replay]) -> Figure:
    """Running means of replays against the thresholds."""
    figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
    panels = [
        ("reward", "revenue per session", None),
        ("complaints", "complaints per session", GUARDRAILS[0].at_most),
        ("latency_ms", "latency, ms", GUARDRAILS[1].at_most),
    ]
    for axis, (signal, title, limit) in zip(axes, panels, strict=True):
        for (name, replayed), colour in zip(replays.items(), ("#2457a6", PALE), strict=True):
            curves = replayed.to_pandas()
            curves = curves[curves["round"] >= 1000]
            axis.plot(curves["round"], curves[signal], color=colour, lw=2)
            end = (curves["round"].iloc[-1], curves[signal].iloc[-1])
            axis.annotate(
                f"{name}\n{end[1]:.3g}",
                end,
                (5, 0),
                textcoords="offset points",
                color=colour,
                va="center",
                fontsize=9,
                annotation_clip=False,
            )
        if limit is not None:
            low, high = axis.get_ylim()
            high = max(high, limit + 0.12 * (limit - low))
            axis.axhline(limit, color=COLOURS["broken"], lw=1)
            axis.axhspan(limit, high, color=COLOURS["broken"], alpha=0.06, lw=0)
            axis.set_ylim(low, high)
            axis.annotate(
                f"at most {limit:g}",
                (0.02, limit),
                (0, 4),
                xycoords=("axes fraction", "data"),
                textcoords="offset points",
                color=COLOURS["broken"],
                fontsize=9,
            )
        axis.set_title(title, loc="left", fontsize=11, color=INK)
        axis.set_xlabel("sessions lived through", color=PALE)
        axis.set_xlim(0, axis.get_xlim()[1] * 1.18)
        axis.spines[["top", "right"]].set_visible(False)
        axis.spines[["left", "bottom"]].set_color("#cccccc")
        axis.tick_params(length=0, colors=PALE)
    figure.suptitle(
        "Two agents replayed on the held-out week: running means",
        x=0.01,
        ha="left",
        fontsize=12,
        color=INK,
    )
    return figure


figure_replay = show_replays(replays)
plt.show()

# %% [markdown]
# ## The first live decisions
#
# The agent that goes live learns all four weeks first. Its policy comes with a certificate: the cost
# it might have if every variant were as bad as its interval allows.

# %%
live = copy.copy(agent)
live.warm_start(late)
for session in range(3):
    decision = live.decide()
    print(f"session {session}: {decision.action} (probability {decision.probability:.2f})")
certificate = live.decide().certificate
for guardrail in certificate.guardrails:
    print(
        f"{guardrail.name}: at worst {guardrail.pessimistic_cost:.4g}, allowed "
        f"{guardrail.threshold:.4g}, one more unit would earn {guardrail.price:.3g}"
    )

# %% [markdown]
# ## The decision

# %%
safe = {name: one for name, one in evaluations.items() if one.is_safe}
best = max(safe, key=lambda name: safe[name].reward.estimate)
control = evaluations["always control"].reward.estimate
print(f"Shown to keep both guardrails: {', '.join(' '.join(name.split()) for name in safe)}.")
gain = safe[best].reward.estimate / control - 1
print(f"Of these, '{' '.join(best.split())}' earns the most: {gain:+.0%} over the control.")
own = evaluations["warm-started agent"]
print(f"The agent's own mix earns {own.reward.estimate / control - 1:+.0%}. It goes to the limits by design:")
for verdict in own.verdicts.values():
    if verdict.verdict == "undecided":
        print(f"  {verdict}")
print("Its certificate, from the weeks before, does decide. Go live with the agent.")
