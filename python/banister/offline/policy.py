"""Policies as people give them: arms, probabilities, decisions, agents."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _native
from .._tables import numbers
from .log import Arm, Log

PolicyLike: TypeAlias = (
    Arm | np.integer[Any] | Sequence[float] | NDArray[Any] | Mapping[Any, float] | _native.Decision | _native.Agent
)
"""An arm, probabilities of the arms (the same in all rounds, or one row for each, or obp's `action_dist`
with one for each position too), a dictionary from arms to probabilities, a decision, or an agent."""

#: Most numbers in the features that an agent is shown at once.
_CHUNK = 1 << 20


def disjoint_features(context: ArrayLike, arms: int) -> NDArray[np.float64]:
    """Returns joint features e_a ⊗ x of all arms: the context in the block of the arm, zeros elsewhere.

    A linear agent on them learns one parameter vector per arm. `context` is one vector (d,), or one
    row per round (n, d); the result has shape (arms, arms·d), or (n, arms, arms·d).

    >>> import banister
    >>> banister.offline.disjoint_features([3.0, 4.0], arms=2)
    array([[3., 4., 0., 0.],
           [0., 0., 3., 4.]])
    """
    x = numbers(context, "context")
    if x.ndim not in (1, 2):
        raise ValueError(f"`context` has shape {x.shape}, expected (d,) or (rounds, d)")
    if arms < 1:
        raise ValueError(f"`arms` is {arms}: must be at least 1")
    blocks = np.zeros((*x.shape[:-1], arms, arms, x.shape[-1]))
    each = np.arange(arms)
    blocks[..., each, each, :] = x[..., None, :]
    return blocks.reshape(*x.shape[:-1], arms, arms * x.shape[-1])


def joint_features(log: Log, agent: _native.Agent) -> int | None:
    """Returns the length of the feature vectors that an agent sees in a log; None if it goes by arms."""
    if agent._segment_fields is not None:
        if log.segments is None:
            raise ValueError(
                "`log` has no segments: this agent tells segments apart, so make the log with `segment`, the "
                "column or columns that say them"
            )
        return None
    length = _native.feature_dimension(agent)
    if length is None:
        return None
    if agent.context is not None:
        found = None if log.context is None else log.context.shape[1]
        if found != agent.context:
            raise ValueError(
                f"`log` has {'no' if found is None else found} features: this agent has contexts of {agent.context} "
                "numbers, so make the log with that many `features`"
            )
        return length
    if log.context is None and log.offered is None:
        # An agent that was made with `safe_action` has no arms to go by.
        if agent.problem["arms"] == ["safe"]:
            raise ValueError(
                "`log` has no features: this agent chooses among feature vectors, so make the log "
                "with `features` or `offered`"
            )
        return None
    if log.offered is not None:
        ours, how = log.offered.shape[2], "as offered"
    else:
        d = cast("NDArray[np.float64]", log.context).shape[1]
        ours, how = len(log.arms) * d, f"{len(log.arms)} arms × {d} features of the context"
    if ours != length:
        raise ValueError(f"`log` has feature vectors of length {ours} ({how}): `agent` takes {length} features")
    return length


def probabilities(log: Log, policy: PolicyLike) -> int | NDArray[np.float64]:
    """Returns a policy as the core takes it: an arm's number, one row of probabilities, or one per round."""
    if isinstance(policy, _native.Agent):
        return _of_agent(log, policy)
    if isinstance(policy, _native.Decision):
        return _of_mapping(log, policy.policy)
    if isinstance(policy, Mapping):
        return _of_mapping(log, policy)
    if isinstance(policy, (str, int, np.integer)):
        return log.number(policy, "policy")
    array = numbers(policy, "policy")
    return _at_positions(log, array) if array.ndim == 3 else array


def _at_positions(log: Log, policy: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the rows of obp's `action_dist` at the positions of the log."""
    places = np.zeros(len(log), dtype=np.intp) if log.positions is None else log.positions
    least = int(places.max(initial=0)) + 1
    if policy.shape[:2] != (len(log), len(log.arms)) or policy.shape[2] < least:
        expected = (len(log), len(log.arms), least)
        raise ValueError(f"`policy` has shape {policy.shape}, expected {expected}: rounds, arms and positions")
    return np.ascontiguousarray(policy[np.arange(len(log)), :, places])


def _of_mapping(log: Log, policy: Mapping[Any, float]) -> NDArray[np.float64]:
    row = np.zeros(len(log.arms))
    for arm, probability in policy.items():
        number = log.number(arm, "policy")
        try:
            row[number] += float(probability)
        except (TypeError, ValueError):
            raise TypeError(f"`policy[{arm!r}]` is {probability!r}: must be a probability") from None
    return row


def _of_agent(log: Log, agent: _native.Agent) -> NDArray[np.float64]:
    # On a copy: deciding draws from the agent's random stream and changes what is on offer.
    agent = copy.copy(agent)
    length = joint_features(log, agent)
    if length is None:
        return _of_mapping(log, agent.decide().policy)
    arms = len(log.arms)
    rows = np.empty((len(log), arms))
    step = max(1, _CHUNK // (arms * length))
    for start in range(0, len(log), step):
        part = slice(start, start + step)
        if agent.context is not None:
            decided = agent.decide_batch(contexts=cast("NDArray[np.float64]", log.context)[part]).probabilities
            rows[part] = 0.0
            for arm, column in zip(agent.estimates()["arm"], decided.T, strict=True):
                rows[part, log.number(arm, "policy")] = column
            continue
        if log.offered is not None:
            actions = log.offered[part]
        else:
            actions = disjoint_features(cast("NDArray[np.float64]", log.context)[part], arms)
        decided = agent.decide_batch(actions=actions).probabilities
        outside = decided[:, arms:].sum(axis=1)
        if (outside > 0.0).any():
            row = start + int(outside.argmax())
            raise ValueError(
                f"`policy` plays its safe action with probability {outside.max():.3g} in row {row}, "
                "and the log does not offer it there: log the safe action's features among those "
                "offered"
            )
        rows[part] = decided[:, :arms]
    return rows
