"""What an agent is asked to do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Problem:
    """What an agent of your own is told before a run: `MyAgent(problem)`.

    >>> import banister
    >>> problem = banister.Problem(arms=["control", "bold"], safe=0)
    >>> problem.n_arms
    2
    """

    #: Names of the arms. Where actions change in every round: the safe action alone.
    arms: Sequence[str]
    #: Number of the safe arm.
    safe: int = 0
    #: One row of features per arm, where arms have any.
    features: Sequence[Sequence[float]] = ()
    #: What is known of the reward: its range, or its sub-Gaussian constant.
    reward: Mapping[str, Any] = field(default_factory=dict)
    #: The guardrails, with the keys of `banister.Guardrail`.
    guardrails: Sequence[Mapping[str, Any]] = ()

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
