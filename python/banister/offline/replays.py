"""Agents that live through logged rounds, or learn from them before their first."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from .. import _native
from .._extra import extra
from .._html import aligned as aligned_text
from .._html import interval, number, page
from .._progress import bar
from .log import Arm, Log, LogLike, as_log
from .policy import joint_features

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class ReplayMean:
    """A mean over the accepted rounds, with an interval for what the agent's policies expect."""

    mean: float
    lower: float
    upper: float
    standard_error: float

    def __repr__(self) -> str:
        return f"ReplayMean({self.mean:.4g} in [{self.lower:.4g}, {self.upper:.4g}])"


@dataclass(frozen=True)
class Replay:
    """Results of a replay: the reward and the costs of an agent."""

    #: Rounds of the log.
    rows: int
    #: Rounds that the agent lived through.
    accepted: int
    #: Accepted rounds in which the certificate forced the safe action.
    fallbacks: int
    #: The mean reward of the accepted rounds; None with fewer than two of them.
    reward: ReplayMean | None
    #: The mean costs by guardrail; empty with fewer than two accepted rounds.
    costs: dict[str, ReplayMean]
    #: The agent's policy after the last round.
    policy: dict[Arm, float]
    #: The bound on π(a)/p(a) in use.
    max_weight: float
    #: Rounds whose ratio was above it. If there are many, the replay is not the agent's own life.
    cut: int
    #: Mean probability of a safe action that was not among those offered. The same warning.
    outside: float
    #: Running means over the accepted rounds, by column.
    curves: dict[str, NDArray[Any]] = field(repr=False)

    def to_pandas(self) -> pd.DataFrame:
        """Returns the curves: accepted rounds, rows read, running means of the reward and of each cost."""
        with extra("pandas"):
            import pandas as pd

        frame: pd.DataFrame = pd.DataFrame(self.curves)
        return frame

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as nested dictionaries of plain values."""
        curves = {name: column.tolist() for name, column in self.curves.items()}
        return {**asdict(self), "curves": curves}

    def __repr__(self) -> str:
        lines = [f"Replay({self._title()}", *aligned_text(self._rows()), f"  {self._note()})"]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        return page(f"Replay: {self._title()}", ["signal", "mean", "interval"], self._rows(), [self._note()])

    def _title(self) -> str:
        return f"accepted {self.accepted:,} of {self.rows:,} rounds"

    def _rows(self) -> list[tuple[str, ...]]:
        signals = {"reward": self.reward, **self.costs}.items()
        return [(name, number(one.mean), interval(one.lower, one.upper)) for name, one in signals if one is not None]

    def _note(self) -> str:
        policy = ", ".join(f"{arm}: {p:.3f}" for arm, p in self.policy.items())
        return f"{self.fallbacks:,} fallbacks, policy at the end {{{policy}}}"


def replay(
    log: LogLike,
    agent: _native.Agent,
    *,
    max_weight: float | None = None,
    seed: int = 0,
    confidence: float = 0.95,
    progress: bool = True,
) -> Replay:
    """Lets an agent live through a log as if it had been deployed, by rejection sampling.

    Each logged round is accepted with probability π(a)/(M·p(a)), where π is the agent's policy at
    that time; only then it observes the outcome. An accepted round has the law of a round that the
    agent played itself. About one row in M is accepted.

    `agent` **learns** while it is replayed; pass `copy.copy(agent)` to keep it as it is. If the replay
    fails or is interrupted, the agent is as before.

    Parameters:
        max_weight: M, a bound on π(a)/p(a); by default 1/(smallest pscore). Smaller values accept
            more rounds and cut larger ratios, which `Replay.cut` counts.
        seed: of the rejections.
        confidence: of each interval.

    Example:
        >>> import banister
        >>> log = banister.offline.Log.from_frame(
        ...     {"action": [0, 1] * 500, "reward": [0.2, 0.8] * 500, "pscore": [0.5] * 1000}
        ... )
        >>> agent = banister.Opb(2)
        >>> result = banister.offline.replay(log, agent, progress=False)
        >>> result.rows, result.accepted == agent.outcomes
        (1000, True)
    """
    own = aligned(log, agent)
    options = {"max_weight": max_weight, "seed": seed, "confidence": confidence}
    with bar("replaying", progress) as update:
        done = _native.replay_log(own, agent, options=options, progress=update)
    curve = done["curve"]
    curves = {name: np.array(curve[name], np.uint64) for name in ("round", "row")}
    means = zip(("reward", *own.guardrails), (curve["reward"], *curve["costs"]), strict=True)
    costs = zip(own.guardrails, done["costs"], strict=False)
    # An action beyond the log's is the agent's safe one, where that was not offered.
    called = {a: own.arms[a] if a < len(own.arms) else "safe" for a, _ in done["policy"]}
    return Replay(
        rows=done["rows"],
        accepted=done["accepted"],
        fallbacks=done["fallbacks"],
        reward=None if done["reward"] is None else ReplayMean(**done["reward"]),
        costs={name: ReplayMean(**mean) for name, mean in costs},
        policy={called[a]: p for a, p in done["policy"]},
        max_weight=done["max_weight"],
        cut=done["cut"],
        outside=done["outside"],
        curves=curves | {name: np.array(column, np.float64) for name, column in means},
    )


@dataclass(frozen=True)
class WarmStart:
    """Result of a warm start."""

    #: Outcomes learned from.
    outcomes: int
    #: Statistics of segments that the log cannot teach, with the reasons.
    not_taught: tuple[str, ...] = ()


def warm_start(agent: _native.Agent, log: LogLike, *, frequencies: Literal["unknown", "same"] = "unknown") -> WarmStart:
    """Lets an agent learn every outcome of a log before its first round.

    The guarantee holds as before, whatever the logging policy was, and no pscores are needed: the
    agent's intervals allow any rule of choosing arms that does not look at the outcome. It fails if
    rows were selected by their outcomes, if something that the agent does not see moved both the
    choice and the outcome (a context, for an agent on arms), or if the means have changed since. If a
    row is refused, nothing is learnt.

    `frequencies="same"` (`Segmented`) declares that the log is a sample of the traffic to come, from which no round
    was left out for its segment or its outcome: it then teaches how frequent segments are, and the means over
    segments that share a policy of arms that were chosen without regard to the segment.

    >>> import banister
    >>> log = banister.offline.Log.from_frame({"action": ["a", "b"], "reward": [0.0, 1.0]}, pscore=None)
    >>> agent = banister.Opb(["a", "b"])
    >>> banister.offline.warm_start(agent, log)
    WarmStart(outcomes=2, not_taught=())
    """
    own = aligned(log, agent)
    return WarmStart(len(own), tuple(_native.warm_start_agent(agent, own, frequencies)))


def aligned(log: LogLike, agent: _native.Agent) -> Log:
    """Returns the log with arms and costs numbered as an agent numbers them."""
    if not isinstance(agent, _native.Agent):
        raise TypeError(f"`agent` is {type(agent).__name__}: must be an agent, such as banister.Opb(...)")
    log = as_log(log, agent.costs, agent.arms)
    for cost in agent.costs:
        if cost not in log.guardrails:
            known = ", ".join(log.guardrails) or "none"
            raise ValueError(f"`log` has no cost called {cost!r}, which the agent learns: its costs are {known}")
    log = log.with_costs(agent.costs)
    if joint_features(log, agent) is not None and agent.context is None:
        return log
    arms = tuple(agent.arms)
    has_names = arms != tuple(range(len(arms)))
    if not isinstance(log.arms[0], str) and not (has_names and isinstance(arms[0], int)):
        if len(log.arms) > len(arms):
            raise ValueError(f"`log` has {len(log.arms)} arms: `agent` has {len(arms)}")
        order = np.arange(len(log.arms), dtype=np.uintp)
    elif not has_names:
        raise ValueError(
            f"`log` has arms with names ({', '.join(map(str, log.arms))}): `agent` has numbers; make "
            "it with `arms=list(log.arms)`"
        )
    else:
        places = {arm: place for place, arm in enumerate(arms)}
        strange = [arm for arm in log.arms if arm not in places]
        if strange:
            known = ", ".join(map(str, arms))
            raise ValueError(f"`log` has the arm {strange[0]!r}: the arms of `agent` are {known}")
        order = np.array([places[arm] for arm in log.arms], dtype=np.uintp)
    indices = log.indices if arms == log.arms else order[log.indices]
    context = None if agent.context is None else log.context
    return replace(log, arms=arms, indices=indices, context=context, offered=None)
