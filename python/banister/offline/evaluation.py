"""Off-policy evaluation: reward and costs of another policy, from logged rounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._extra import extra
from .._guardrail import Direction, GuardrailLike, RewardLike, listed
from .._html import aligned, number, page
from .._html import interval as _interval
from .._tables import lift_columns, numbers
from .log import Arm, Log, LogLike, as_log
from .policy import PolicyLike, probabilities

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimate:
    """An estimate of one expected signal, with its interval and the weights that it rests on."""

    #: "reward" or the guardrail.
    name: str
    estimate: float
    #: The interval covers with this `confidence`, on its own.
    lower: float
    upper: float
    #: Infinite for the direct method, whose error is unknown.
    standard_error: float
    confidence: float
    #: Rounds of the log.
    n: int
    #: Number of rounds of the policy itself that would be as informative (Kish), after clipping.
    effective_sample_size: float
    #: Before clipping.
    largest_weight: float
    #: Before clipping. Its expectation is 1, or less if the log lacks actions that the policy plays.
    mean_weight: float
    #: Interval of that expectation at 99.9%; the upper end is infinite below 30 effective rounds.
    mean_weight_interval: tuple[float, float]
    #: True if the expected weight may be 1. If not: below 1, the log lacks a part of what the policy
    #: plays; above 1, the propensities are not those that drew the actions.
    weights_compatible: bool
    #: Arms that the policy plays and the log never does.
    never_played: tuple[Arm, ...]
    #: Share of rounds whose weight was clipped.
    share_clipped: float
    #: Mean weight lost by clipping: the part of the policy that is not seen any more.
    lost_weight: float
    #: Bounds on the bias of clipping, below and above, if the signal's range is declared.
    clipping_bias: tuple[float, float] | None = None

    def __repr__(self) -> str:
        return (
            f"Estimate({self.name}: {self.estimate:.4g} in [{self.lower:.4g}, {self.upper:.4g}] "
            f"at {self.confidence:.4g}, ESS {self.effective_sample_size:.0f} of {self.n})"
        )


@dataclass(frozen=True)
class Verdict:
    """Verdict of a log on one guardrail."""

    name: str
    #: "kept" or "broken" if the whole interval is on one side of the threshold and is evidence.
    verdict: Literal["kept", "broken", "undecided"]
    #: Reason of the verdict, in words.
    reason: str
    #: Rounds that an undecided verdict would need in all: a forecast, as if further rounds were like
    #: these on average. None if it is decided, or if no number of them would decide.
    rows_needed: int | None
    direction: Direction
    #: The threshold; 0 for a relative guardrail.
    threshold: float
    #: The expected signal; for a relative guardrail its excess over the factor times the safe arm's.
    estimate: Estimate

    def __repr__(self) -> str:
        symbol = _native.direction_symbol(self.direction)
        return (
            f"Verdict({self.name} {symbol} {self.threshold:.4g} is {self.verdict}: "
            f"{self.estimate.estimate:.4g}; {self._why()})"
        )

    def _why(self) -> str:
        if self.rows_needed is None:
            return self.reason
        return f"{self.reason}; about {self.rows_needed:,} rounds would decide"


@dataclass(frozen=True)
class Evaluation:
    """The estimates of a policy: its reward, its costs, and the verdicts on its guardrails."""

    reward: Estimate
    costs: dict[str, Estimate]
    #: By guardrail; empty if none was given.
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    #: The same by segment, those with the most rounds first, where the log has segments. Each interval covers on its
    #: own; there are no verdicts.
    segments: dict[str, Evaluation] = field(default_factory=dict)
    #: Reason for which a segment has no estimates, such as too few rounds.
    without_estimates: dict[str, str] = field(default_factory=dict)

    @property
    def is_safe(self) -> bool:
        """True if there are verdicts and each of them is "kept"."""
        return bool(self.verdicts) and all(v.verdict == "kept" for v in self.verdicts.values())

    def to_dict(self) -> dict[str, Any]:
        """Returns all of it as nested dictionaries."""
        return {**asdict(self), "is_safe": self.is_safe}

    def to_pandas(self) -> pd.DataFrame:
        """Returns one row per signal, the reward first; with columns for the verdicts if there are any."""
        with extra("pandas"):
            import pandas as pd

        rows = []
        for one in (self.reward, *self.costs.values()):
            row = asdict(one)
            judged = self.verdicts.get(one.name)
            if self.verdicts:
                keys = ("threshold", "verdict", "reason", "rows_needed")
                row |= {key: getattr(judged, key, None) for key in keys}
            rows.append(row)
        frame: pd.DataFrame = pd.DataFrame(rows).set_index("name")
        return frame

    def __repr__(self) -> str:
        lines = [f"Evaluation({self._title()}", *aligned(self._rows()), *(f"  {note}" for note in self._notes())]
        return "\n".join(lines) + ")"

    def _repr_html_(self) -> str:
        head = ["signal", "estimate", "interval", *(["verdict"] if self.verdicts else [])]
        rows = [row if self.verdicts else row[:3] for row in self._rows()]
        return page(f"Evaluation: {self._title()}", head, rows, self._notes())

    def _title(self) -> str:
        return f"{self.reward.n:,} rounds, {self.reward.confidence:.4g} intervals"

    def _rows(self) -> list[tuple[str, ...]]:
        """Returns signal, estimate, interval and verdict of every signal."""
        rows: list[tuple[str, ...]] = []
        for one in (self.reward, *self.costs.values()):
            judged, verdict = self.verdicts.get(one.name), ""
            if judged:
                symbol, excess = _native.direction_symbol(judged.direction), judged.estimate
                verdict = f"{symbol} {judged.threshold:.4g}: {judged.verdict}"
                if excess.estimate != one.estimate:
                    ends = _interval(excess.lower, excess.upper)
                    verdict += f" (relative: {number(excess.estimate)} {ends})"
            rows.append((one.name, number(one.estimate), _interval(one.lower, one.upper), verdict))
        return rows

    def _notes(self) -> list[str]:
        undecided = (judged for judged in self.verdicts.values() if judged.verdict == "undecided")
        notes = [f"{judged.name}: {judged._why()}" for judged in undecided]
        if self.reward.never_played:
            notes.append(f"never played in the log: {', '.join(map(str, self.reward.never_played))}")
        elif not self.reward.weights_compatible:
            notes.append(f"the mean weight {self.reward.mean_weight:.4g} is not compatible with 1")
        return [*notes, f"effective sample size {self.reward.effective_sample_size:,.0f}"]


def evaluate(
    log: LogLike,
    policy: PolicyLike,
    *,
    guardrails: GuardrailLike | Sequence[GuardrailLike] | None = None,
    safe: Arm = 0,
    reward: RewardLike | None = None,
    estimator: Literal["ips", "snips", "dr", "dm"] = "ips",
    interval: Literal["mixture", "normal", "bernstein", "bootstrap"] = "mixture",
    confidence: float = 0.95,
    clip: float | None = None,
    min_pscore: float | None = None,
    model: ArrayLike | Mapping[str, ArrayLike] | None = None,
    folds: int = 5,
    ridge: float = 1.0,
    resamples: int = 1000,
    seed: int = 0,
) -> Evaluation:
    """Estimates what a policy would have earned and cost in the rounds of a log.

    Parameters:
        log: a `Log`; or a frame with the columns action, reward, pscore and one per guardrail; or obp's
            `bandit_feedback`.
        policy: an arm that is always played; probabilities of the arms, in their order or as a
            dictionary; an array (rounds, arms) of them, or (rounds, arms, positions), which obp
            calls `action_dist`; a `Decision`; or an agent, with its policy as it is now (for linear
            agents on the features of every round).
        guardrails: judged on the log; each names one of its costs. Their ranges are checked and used.
        safe: the safe arm, for relative guardrails.
        reward: what is known of the reward: `Reward(range=(lo, hi))`. A "mixture" interval takes [0, 1] if
            nothing is declared, here and for costs without a guardrail.
        estimator: "ips" weighs outcomes by π(a)/p(a); "snips" divides by the weights' sum; "dr" adds
            a model and stays unbiased if the model is wrong; "dm" is the model alone. On a log that an
            agent made while it learned, "ips" is unbiased, "snips" and cross-fitted "dr" are not.
        interval: "mixture" for any log, also of an agent that learned, and narrower if the log shows one
            fixed policy or `min_pscore` is given; "normal" for many independent rounds; "bernstein" for
            any number of independent rounds, with `clip` or `min_pscore` known; "bootstrap" by
            resampling rounds. "normal" and "bootstrap" decide no verdict below 200 effective rounds.
        confidence: of each interval on its own. For m guardrails at once take 1 - delta/m.
        clip: larger weights are cut to it. Less variance for a bias, shown as `clipping_bias`.
        min_pscore: the smallest probability that the logging policy gives to any arm.
        model: predictions of every signal, (signals, rounds, arms) with the reward first, or a
            dictionary of (rounds, arms); not fitted on this log. For "dr" and "dm"; by default
            means or ridge regressions per arm, fitted by cross-fitting.
        folds, ridge: of that fit. resamples: of the bootstrap. seed: of both.

    Example:
        >>> import banister
        >>> log = banister.offline.Log.from_frame(
        ...     {
        ...         "action": ["control", "bold"] * 200,
        ...         "reward": [0.25, 0.75] * 200,
        ...         "spend": [0.0, 0.5] * 200,
        ...         "pscore": [0.5] * 400,
        ...     },
        ...     costs=["spend"],
        ...     arms=["control", "bold"],
        ... )
        >>> banister.offline.evaluate(
        ...     log,
        ...     {"control": 0.7, "bold": 0.3},
        ...     guardrails=banister.Guardrail("spend", at_most=0.3),
        ... )
        Evaluation(400 rounds, 0.95 intervals
          reward  0.4   [0.3909, 0.4161]
          spend   0.15  [0.1238, 0.1768]  ≤ 0.3: kept
          effective sample size 345)
    """
    named = _named(guardrails)
    log = as_log(log, [name for name, _ in named if isinstance(name, str)])
    target = probabilities(log, policy)
    options = {
        "estimator": estimator,
        "interval": interval,
        "confidence": confidence,
        "clip": clip,
        "min_pscore": min_pscore,
        "folds": folds,
        "ridge": ridge,
        "resamples": resamples,
        "seed": seed,
    }
    declared = _ordered(named, log)
    if model is not None and estimator in ("ips", "snips"):
        raise ValueError(f'`model` is given: {estimator!r} has none, use estimator "dr" or "dm"')
    predictions = None if model is None else _predictions(model, log)
    shared: dict[str, Any] = {"reward": reward, "guardrails": list(declared.values()), "options": options}
    every = predictions
    found = _native.evaluate_log(log, target, model=predictions, **shared)
    judged = []
    if declared:
        if predictions is not None:
            signals = [0, *(1 + log.guardrails.index(name) for name in declared)]
            predictions = predictions[signals]
        own, safe_arm = log.with_costs(list(declared)), log.number(safe, "safe")
        judged = _native.evaluate_log(own, target, model=predictions, safe=safe_arm, **shared)
    verdicts = [Verdict(**{**one, "estimate": _estimate(one["estimate"], log)}) for one in judged]
    by_segment = []
    if log.segments is not None:
        by_segment = _native.evaluate_log(log, target, model=every, by_segment=True, **shared)
    return replace(
        _evaluation(found, log),
        verdicts={one.name: one for one in verdicts},
        segments={name: _evaluation(own, log) for name, own, reason in by_segment if reason is None},
        without_estimates={name: reason for name, _, reason in by_segment if reason is not None},
    )


def lift(
    log: LogLike,
    *,
    safe: Arm = 0,
    form: Literal["constant", "concurrent"] = "constant",
    guardrails: GuardrailLike | Sequence[GuardrailLike] | None = None,
    reward: RewardLike | None = None,
    confidence: float = 0.95,
    min_pscore: float | None = None,
) -> dict[str, Any]:
    """Says what every arm of a log is worth over the safe one: columns, one row per arm and signal.

    Parameters:
        log: as `evaluate` takes it; pscores are for "concurrent" alone.
        safe: the arm that others are compared with.
        form: "constant" takes the arms' means to stay. "concurrent" assumes nothing of them, and is about the average
            of the difference over the rounds of the log, also where an agent chose what to play.
        guardrails, reward: for their ranges; [0, 1] where nothing is declared.
        confidence: probability that an interval, by itself, holds at all times.
        min_pscore: the smallest probability that the logging policy gives to any arm; makes "concurrent" narrower
            where the log does not show one fixed policy.

    Example:
        >>> import banister
        >>> log = {"action": ["control", "bold"] * 500, "reward": [0.2, 0.5] * 500, "pscore": [0.5] * 1000}
        >>> found = banister.offline.lift(log, safe="control", form="concurrent")
        >>> found["arm"], found["form"], found["difference"].round(2).tolist()
        (['bold'], ['concurrent'], [0.3])
        >>> bool(found["difference_lower"][0] > 0.25)
        True
    """
    named = _named(guardrails)
    log = as_log(log, [name for name, _ in named if isinstance(name, str)])
    found = _native.evaluate_log(
        log,
        log.number(safe, "safe"),
        model=None,
        reward=reward,
        guardrails=list(_ordered(named, log).values()),
        options={"confidence": confidence, "min_pscore": min_pscore},
        lift=form,
    )
    return lift_columns(found, log.arms)


def _evaluation(found: Mapping[str, Any], log: Log) -> Evaluation:
    costs = (_estimate(one, log) for one in found["costs"])
    return Evaluation(reward=_estimate(found["reward"], log), costs={one.name: one for one in costs})


def _estimate(found: Mapping[str, Any], log: Log) -> Estimate:
    pairs = {key: found[key] and tuple(found[key]) for key in ("mean_weight_interval", "clipping_bias")}
    never = tuple(log.arms[arm] for arm in found["never_played"])
    return Estimate(**{**found, **pairs, "never_played": never})


def _named(guardrails: GuardrailLike | Sequence[GuardrailLike] | None) -> list[tuple[Any, Any]]:
    """Returns the guardrails, each after its name."""
    every = listed(guardrails)
    return [(one.get("name") if isinstance(one, Mapping) else getattr(one, "name", None), one) for one in every]


def _ordered(named: list[tuple[Any, Any]], log: Log) -> dict[str, Any]:
    """Returns the guardrails by name, in the order of the log's costs."""
    for i, (name, _) in enumerate(named):
        if name not in log.guardrails:
            known = ", ".join(log.guardrails) or "none"
            raise ValueError(f"`guardrails[{i}].name` is {name!r}: the log's costs are {known}")
        if name in (other for other, _ in named[:i]):
            raise ValueError(f"`guardrails[{i}].name` is {name!r}: it is there already")
    given = dict(named)
    return {name: given[name] for name in log.guardrails if name in given}


def _predictions(model: ArrayLike | Mapping[str, ArrayLike], log: Log) -> NDArray[np.float64]:
    if not isinstance(model, Mapping):
        return numbers(model, "model")
    signals = ("reward", *log.guardrails)
    if set(model) != set(signals):
        raise ValueError(
            f"`model` has the keys {', '.join(map(repr, model))}: must have {', '.join(map(repr, signals))}"
        )
    tables = [numbers(model[signal], f"model[{signal!r}]") for signal in signals]
    for signal, table in zip(signals, tables, strict=True):
        expected = (len(log), len(log.arms))
        if table.shape != expected:
            raise ValueError(
                f"`model[{signal!r}]` has shape {table.shape}, expected {expected}: one row per "
                "round, one prediction per arm"
            )
    return np.stack(tables)
