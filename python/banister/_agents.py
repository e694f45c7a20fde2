"""The agents: one class for every kind in the core's registry.

No list is kept here. `_agents.pyi`, which type checkers and editors read, is written from the same
registry by `python -m banister._stubs`.
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from . import _native
from ._agent import CLASSES, Agent
from ._registry import Kind, kinds
from ._segments import SegmentedAgent

__all__: list[str] = []


def _documented(kind: Kind) -> str:
    promise = f'Promise: {kind.promise} (`guarantee` is "{kind.guarantee}").'
    lines = [kind.description, "", promise, "", "Parameters:"]
    for parameter in kind.arguments:
        text = f"{parameter.name}: {parameter.description}"
        lines += textwrap.wrap(text, 92, initial_indent="    ", subsequent_indent="        ")
        for choice, meaning in parameter.choices.items():
            lines += textwrap.wrap(f'"{choice}": {meaning}', 92, initial_indent=" " * 8, subsequent_indent=" " * 12)
    lines += ["", "Example:", *(f"    {line}" for line in kind.example)]
    return "\n".join(lines)


def _signature(kind: Kind) -> inspect.Signature:
    parameters = [
        inspect.Parameter(
            parameter.name,
            inspect.Parameter.POSITIONAL_OR_KEYWORD if parameter.name == "arms" else inspect.Parameter.KEYWORD_ONLY,
            default=parameter.default,
        )
        for parameter in kind.arguments
    ]
    return inspect.Signature(parameters)


for _kind in kinds(_native.agent_schema(), dict(_native.guarantees())):
    _members: dict[str, Any] = {
        "__doc__": _documented(_kind),
        "__module__": "banister",
        "__signature__": _signature(_kind),
        "kind": _kind.name,
        "guarantee": _kind.guarantee,
        "takes_features": _kind.takes_features,
    }
    _base = SegmentedAgent if _kind.takes_segments else Agent
    CLASSES[_kind.name] = type(_kind.class_name, (_base,), _members)
    globals()[_kind.class_name] = CLASSES[_kind.name]
    __all__.append(_kind.class_name)
