"""Writes stubs of this package, by name: `python -m banister._stubs _agents rivals`.

These two are made from the registry; `_native` gets the documentation of the compiled module. Wheels have all three.
"""

from __future__ import annotations

import ast
import inspect
import sys
import textwrap
from pathlib import Path

from . import _native
from ._agent import CLASSES
from ._registry import Kind, Parameter, kinds

_HEAD = '''"""Made from the registry by `python -m banister._stubs`."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike

from ._agent import Agent
from ._features import Features
from ._guardrail import GuardrailLike, RewardLike
from ._types import ArmName, ArmsLike, Float, Int
from .segments import SegmentedAgent

'''


def stubs(is_rival: bool) -> str:
    """Returns the text of `_agents.pyi`, or of `rivals.pyi`."""
    every = [one for one in kinds(_native.agent_schema()) if one.is_rival == is_rival]
    names = ", ".join(f'"{kind.class_name}"' for kind in every)
    return _HEAD + f"__all__ = [{names}]\n" + "".join(map(_class, every))


def _class(kind: Kind) -> str:
    doc = textwrap.indent(str(CLASSES[kind.name].__doc__).replace("\\", "\\\\"), "    ").lstrip()

    def argument(one: Parameter) -> str:
        default = "..." if one.default == () else repr(one.default)
        return f"{one.name}: {one.annotation} = {default}," + " *," * (one.name == "arms")

    arguments = "\n        ".join(map(argument, kind.arguments))
    return f'''
class {kind.class_name}({kind.base_name}):
    """{doc}
    """
    guarantee: ClassVar[Literal["{kind.guarantee}"]]
    def __new__(
        cls,
        {arguments}
    ) -> {kind.class_name}: ...
'''


def documented(stub: str) -> str:
    """Returns a stub with the documentation of the compiled module."""
    tree = ast.parse(stub)

    def visit(nodes: list[ast.stmt], owner: object) -> None:
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                native = getattr(owner, node.name)
                doc = inspect.getdoc(native)
                if doc and ast.get_docstring(node) is None:
                    node.body.insert(0, ast.Expr(ast.Constant(doc)))
                if isinstance(node, ast.ClassDef):
                    visit(node.body, native)

    visit(tree.body, _native)
    return ast.unparse(tree) + "\n"


if __name__ == "__main__":
    for name in sys.argv[1:]:
        path = Path(__file__).with_name(f"{name}.pyi")
        own = documented(path.read_text("utf-8")) if name == "_native" else stubs(is_rival=name == "rivals")
        path.write_text(own, "utf-8")
