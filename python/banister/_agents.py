"""The agents: one class for every kind in the registry.

No list is kept here. `_agents.pyi` and `rivals.pyi`, which type checkers and editors read, are written from the
same registry when a wheel is built (`_stubs`).
"""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from . import _native
from ._agent import CLASSES, Agent
from ._registry import Kind, kinds
from .segments import SegmentedAgent


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


def made(module: str, is_rival: bool) -> dict[str, type[Agent]]:
    """Makes the classes of the core's agents or of their rivals, for one module."""
    found: dict[str, type[Agent]] = {}
    for kind in kinds(_native.agent_schema()):
        if kind.is_rival == is_rival:
            members: dict[str, Any] = {
                "__doc__": _documented(kind),
                "__module__": module,
                "__signature__": _signature(kind),
                "kind": kind.name,
                "guarantee": kind.guarantee,
                "takes_features": kind.takes_features,
            }
            base = SegmentedAgent if kind.takes_segments else Agent
            found[kind.class_name] = CLASSES[kind.name] = type(kind.class_name, (base,), members)
    return found


_made = made("banister", is_rival=False)
globals().update(_made)
__all__ = list(_made)
