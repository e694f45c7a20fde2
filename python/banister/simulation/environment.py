"""Environments written in Python or in the style of Gymnasium, and the problem that agents are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray


@runtime_checkable
class Environment(Protocol):
    """An environment written in Python: `actions(rng)` and `pull(action, rng)`.

    Every run plays a copy of the object, so it may keep state. Beside the two methods it may have

    - `arms`: the number of arms or their names; `safe`: the safe one, by number or name (first);
    - `safe_action`: the features of the safe action, where every round brings other actions;
    - `guardrails`, `reward`: as in `simulate`, if they are not given there;
    - `start(rng)`: called at the beginning of a run;
    - `means()`: the true means of this round, the reward's row, then one per guardrail, one column
      per action. With it policies are judged by the truth: regret and violations are known;
    - `safe_means`: the safe action's true reward and costs, for relative guardrails.
    """

    def actions(self, rng: np.random.Generator) -> ArrayLike | None:
        """Returns the round's actions, one row of features each; None where they are the arms."""

    def pull(self, action: int, rng: np.random.Generator) -> tuple[float, Any]:
        """Plays an action: its reward and its costs, one per guardrail."""
        ...


class GymEnvironment:
    """A bandit in the style of Gymnasium, with a `cost` in `info`.

    Each round is a step: `step(action)` gives the observation, the reward and in `info["cost"]` (or
    `"costs"`) the costs, a number, a sequence or a dictionary by guardrail. When an episode ends the
    environment is reset.

    `features` turns an observation into one row of features per action, for linear agents; the safe
    action then needs its own features, `safe_action`. Without it the actions are arms.
    """

    def __init__(
        self,
        env: Any,
        *,
        features: Callable[[Any], ArrayLike] | None = None,
        safe_action: ArrayLike | None = None,
        safe: int = 0,
        arms: Sequence[str] | None = None,
    ) -> None:
        if (features is None) != (safe_action is None):
            raise TypeError("`features` and `safe_action` go together: give both or neither")
        count = getattr(getattr(env, "action_space", None), "n", None)
        if count is None and features is None:
            raise TypeError(
                f"`env` is {env!r}: its action_space must be Discrete, or give `features` and `safe_action`"
            )
        self.env = env
        self.features = features
        self.safe_action = safe_action
        self.safe = safe
        self.arms = arms if arms is not None or count is None else int(count)
        self._observation: Any = None

    def start(self, rng: np.random.Generator) -> None:
        """Resets the environment, seeded for the run."""
        self._observation, _ = self.env.reset(seed=int(rng.integers(2**31)))

    def actions(self, rng: np.random.Generator) -> ArrayLike | None:
        """Returns the features of the observation, if there are any."""
        return None if self.features is None else self.features(self._observation)

    def pull(self, action: int, rng: np.random.Generator) -> tuple[float, Any]:
        """Takes one step of the environment."""
        self._observation, reward, terminated, truncated, info = self.env.step(action)
        costs = info.get("cost", info.get("costs"))
        if terminated or truncated:
            self._observation, _ = self.env.reset()
        if costs is None:
            raise ValueError(f"`info` is {info!r}: it must have `cost`, one per guardrail")
        return float(reward), costs


@dataclass(frozen=True)
class Problem:
    """The problem that an agent of your own is made with: `MyAgent(problem)`.

    >>> import banister
    >>> problem = banister.simulation.Problem(arms=["control", "bold"], safe=0)
    >>> problem.n_arms
    2
    """

    #: Names of the arms. Where actions change in every round: the safe action alone.
    arms: Sequence[str]
    #: Number of the safe arm.
    safe: int = 0
    #: One row of features per arm, where arms have any.
    features: Sequence[Sequence[float]] = ()
    #: Declaration of the reward: its range, or its sub-Gaussian constant.
    reward: Mapping[str, Any] = field(default_factory=dict)
    #: The guardrails, with the keys of `banister.Guardrail`.
    guardrails: Sequence[Mapping[str, Any]] = ()
    #: Length d of the context, where rounds bring one: an arm's features are then `n_arms` blocks of d numbers, the
    #: context in its own and zeros in all others.
    context: int | None = None

    @property
    def n_arms(self) -> int:
        """The number of arms."""
        return len(self.arms)

    @property
    def safe_action(self) -> NDArray[np.float64] | None:
        """Features of the safe action, where actions have any."""
        if not self.features:
            return None
        return np.asarray(self.features[self.safe], dtype=float)


def is_gym(environment: object) -> bool:
    """Returns True for an environment in the style of Gymnasium."""
    return callable(getattr(environment, "step", None)) and callable(getattr(environment, "reset", None))


def problem_of(environment: object) -> dict[str, Any]:
    """Returns the problem of an environment written in Python, but for reward and guardrails."""
    safe_action = getattr(environment, "safe_action", None)
    if safe_action is not None:
        x: NDArray[np.float64] = np.asarray(safe_action, dtype=float)
        return {"arms": ["safe"], "safe": 0, "features": [x.tolist()]}
    arms = getattr(environment, "arms", None)
    if arms is None:
        raise TypeError(
            f"`environment` is {environment!r}: it needs `arms` (a number or names), or "
            "`safe_action` where every round brings other actions"
        )
    if isinstance(arms, (int, np.integer)):
        names = [f"arm {a}" for a in range(int(arms))]
    else:
        names = [str(name) for name in arms]
    safe = getattr(environment, "safe", 0)
    if isinstance(safe, str):
        if safe not in names:
            raise ValueError(f"`environment.safe` is {safe!r}: the arms are {', '.join(names)}")
        safe = names.index(safe)
    return {"arms": names, "safe": int(safe)}
