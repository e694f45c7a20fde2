"""Grids of experiments: which values vary, and the experiments they make."""

from __future__ import annotations

import copy
import dataclasses
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from .. import _native
from .._guardrail import Direction, Guardrail
from .run import Experiment

_RUN = ("horizon", "runs", "seed", "checkpoints", "delay", "batch")
_PATH = re.compile(r"(environment|reward|agents|guardrails)(?:\[(\d+)\])?\.(.+)")
_ALLOWED = (
    f"must be one of {', '.join(_RUN)}, or a key such as 'environment.margin', 'agents.delta', "
    "'agents[0].delta', 'guardrails[0].at_most' or 'guardrails.NAME.at_most'"
)


def points(grid: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """Returns every combination of the grid's values."""
    if not isinstance(grid, Mapping):
        raise TypeError(f"`grid` is {grid!r}: must be a dictionary from keys to lists of values")
    columns: list[list[Any]] = []
    for key, values in grid.items():
        if isinstance(values, (str, Mapping)) or not isinstance(values, Iterable):
            raise TypeError(f"`grid[{key!r}]` is {values!r}: must be a list of values")
        columns.append(list(values))
        if not columns[-1]:
            raise ValueError(f"`grid[{key!r}]` is empty: give at least one value")
    return [dict(zip(grid, combination, strict=True)) for combination in itertools.product(*columns)]


def experiments_at(base: Experiment, points: Sequence[Mapping[str, Any]]) -> list[Experiment]:
    """Returns the experiment with the values of every point, each with a name of its own."""
    made = [_experiment_at(base, point) for point in points]
    # Long lists and close numbers look the same in short.
    counts = Counter(experiment.name for experiment in made)
    seen: Counter[str] = Counter()
    for i, experiment in enumerate(made):
        if counts[experiment.name] > 1:
            seen[experiment.name] += 1
            name = f"{experiment.name} ({seen[experiment.name]})"
            made[i] = dataclasses.replace(experiment, name=name)
    return made


def _experiment_at(base: Experiment, point: Mapping[str, Any]) -> Experiment:
    parts: dict[str, Any] = {
        "run": dict(base.run),
        "environment": base.environment,
        "reward": dict(base.reward) if base.reward is not None else {},
        "agents": list(base.agents),
        "guardrails": [_plain(guardrail) for guardrail in base.guardrails],
    }
    for key, value in point.items():
        _set(parts, key, value)
    names = [guardrail.get("name") for guardrail in parts["guardrails"]]
    label = ", ".join(_label(names, key, value) for key, value in point.items())
    name = f"{base.name}: {label}" if base.name != "simulation" else label
    parts["reward"] = parts["reward"] or None
    return dataclasses.replace(base, name=name or base.name, **parts)


def _set(parts: dict[str, Any], key: str, value: Any) -> None:
    if key in _RUN:
        parts["run"][key] = value
        return
    found = _PATH.fullmatch(key)
    if found is None:
        raise ValueError(f"`grid` has the key {key!r}: {_ALLOWED}")
    section, index, rest = found.groups()
    if section == "reward":
        parts["reward"][rest] = value
    elif section == "environment":
        _set_environment(parts, rest, value)
    elif section == "agents":
        _set_agents(parts["agents"], None if index is None else int(index), key, rest, value)
    else:
        _set_guardrail(parts["guardrails"], None if index is None else int(index), key, rest, value)


def _set_environment(parts: dict[str, Any], name: str, value: Any) -> None:
    if isinstance(parts["environment"], Mapping):
        parts["environment"] = {**parts["environment"], name: value}
        return
    if not hasattr(parts["environment"], name):
        raise ValueError(f"`grid` has the key 'environment.{name}': the environment has no attribute {name!r}")
    parts["environment"] = copy.copy(parts["environment"])
    setattr(parts["environment"], name, value)


def _set_agents(agents: list[Any], index: int | None, key: str, name: str, value: Any) -> None:
    if index is not None and index >= len(agents):
        raise ValueError(f"`grid` has the key {key!r}: there are {len(agents)} agents")
    chosen = range(len(agents)) if index is None else [index]
    declared = [i for i in chosen if isinstance(agents[i], Mapping)]
    if not declared:
        raise ValueError(f"`grid` has the key {key!r}: agents of your own have no such parameters")
    for i in declared:
        agents[i] = {**agents[i], name: value}


def _set_guardrail(guardrails: list[dict[str, Any]], index: int | None, key: str, rest: str, value: Any) -> None:
    names = [guardrail.get("name") for guardrail in guardrails]
    if index is None:
        name, _, rest = rest.rpartition(".")
        if name not in names:
            listed = ", ".join(map(str, names))
            raise ValueError(f"`grid` has the key {key!r}: the guardrails are {listed}")
        index = names.index(name)
    if index >= len(guardrails):
        raise ValueError(f"`grid` has the key {key!r}: there are {len(guardrails)} guardrails")
    guardrails[index] = {**guardrails[index], rest: value}


def _plain(guardrail: Any) -> dict[str, Any]:
    return guardrail.to_dict() if isinstance(guardrail, Guardrail) else dict(guardrail)


def _label(guardrails: Sequence[Any], key: str, value: Any) -> str:
    """Names a point by one of its values: `delta = 0.1`, `spend ≤ 0.5`."""
    found = re.fullmatch(rf"guardrails(?:\[(\d+)\]|\.(.+))\.({'|'.join(get_args(Direction))})", key)
    if found is None:
        return f"{key.rpartition('.')[2]} = {_shown(value)}"
    index, name, side = found.groups()
    symbol = _native.direction_symbol(side)
    return f"{name if index is None else guardrails[int(index)]} {symbol} {_shown(value)}"


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        return "[…]" if len(value) > 4 else str(list(value))
    return str(value)
