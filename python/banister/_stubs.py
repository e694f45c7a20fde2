"""Writes `_agents.pyi` from the registry: `python -m banister._stubs`.

The tests compare the file in the package with what this makes.
"""

from __future__ import annotations

import sys

from . import _native
from ._agent import CLASSES
from ._registry import Kind, kinds

_HEAD = '''"""Made from the core's registry by `python -m banister._stubs`."""

from collections.abc import Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._agent import Agent
from ._guardrail import ArmName, ArmsLike, Float, GuardrailLike, Int, RewardLike

'''


def stubs() -> str:
    """Returns the text of `_agents.pyi`."""
    every = kinds(_native.agent_schema(), dict(_native.guarantees()))
    names = ", ".join(f'"{kind.class_name}"' for kind in every)
    return _HEAD + f"__all__ = [{names}]\n" + "".join(map(_class, every))


def _class(kind: Kind) -> str:
    lines = [
        "",
        f"class {kind.class_name}(Agent):",
        *_docstring(kind),
        f'    guarantee: ClassVar[Literal["{kind.guarantee}"]]',
        "    def __new__(",
        "        cls,",
    ]
    for parameter in kind.arguments:
        default = "..." if parameter.default == () else _literal(parameter.default)
        lines.append(f"        {parameter.name}: {parameter.annotation} = {default},")
        if parameter.name == "arms":
            lines.append("        *,")
    lines += [f"    ) -> {kind.class_name}: ...", ""]
    return "\n".join(lines)


def _docstring(kind: Kind) -> list[str]:
    """Returns the lines of what `help` and editors show."""
    text = str(CLASSES[kind.name].__doc__)
    first, *rest = text.replace("\\", "\\\\").splitlines()
    return [f'    """{first}', *(f"    {line}".rstrip() for line in rest), '    """']


def _literal(default: object) -> str:
    return f'"{default}"' if isinstance(default, str) else repr(default)


if __name__ == "__main__":
    sys.stdout.write(stubs())
