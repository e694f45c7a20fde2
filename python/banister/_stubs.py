"""Writes the stubs of this package: `python -m banister._stubs python/banister`.

`_agents.pyi` and `rivals.pyi` are made from the registry, and `_native.pyi` gets the documentation of the compiled
module where it has none. The tests compare the files in the package with what this makes.
"""

from __future__ import annotations

import ast
import inspect
import sys
from pathlib import Path

from . import _native
from ._agent import CLASSES
from ._registry import Kind, kinds

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
    every = [one for one in kinds(_native.agent_schema(), dict(_native.guarantees())) if one.is_rival == is_rival]
    names = ", ".join(f'"{kind.class_name}"' for kind in every)
    return _HEAD + f"__all__ = [{names}]\n" + "".join(map(_class, every))


def _class(kind: Kind) -> str:
    lines = [
        "",
        f"class {kind.class_name}({kind.base_name}):",
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


def documentation(stub: str) -> list[tuple[ast.FunctionDef | ast.ClassDef, str]]:
    """Returns every class and method of a stub that the compiled module documents, with the first paragraph."""
    found: list[tuple[ast.FunctionDef | ast.ClassDef, str]] = []

    def visit(nodes: list[ast.stmt], owner: object) -> None:
        for node in nodes:
            if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
                native = getattr(owner, node.name)
                doc = inspect.getdoc(native)
                if doc:
                    found.append((node, doc.split("\n\n")[0]))
                if isinstance(node, ast.ClassDef):
                    visit(node.body, native)

    visit(ast.parse(stub).body, _native)
    return found


def documented(stub: str) -> str:
    """Returns a stub with the documentation of the compiled module, where it has none of its own yet."""
    lines = stub.splitlines()
    for node, doc in reversed(documentation(stub)):
        if ast.get_docstring(node) is None:
            place = node.body[0].lineno - 1
            margin = " " * (node.col_offset + 4)
            first, *rest = doc.splitlines()
            text = [f'{margin}"""{first}', *(margin + line for line in rest)]
            text[-1] += '"""'
            if isinstance(node, ast.FunctionDef):
                lines[place] = lines[place].removesuffix(" ...")
                lines[place + 1 : place + 1] = text
            else:
                # Before the first member, or its decorators.
                member = node.body[0]
                decorators = getattr(member, "decorator_list", [])
                start = min([member.lineno, *(one.lineno for one in decorators)]) - 1
                lines[start:start] = text
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    native = folder / "_native.pyi"
    native.write_text(documented(native.read_text("utf-8")), "utf-8")
    (folder / "_agents.pyi").write_text(stubs(is_rival=False), "utf-8")
    (folder / "rivals.pyi").write_text(stubs(is_rival=True), "utf-8")
