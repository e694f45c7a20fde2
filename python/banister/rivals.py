"""Agents of other papers, to compare with: one class for each in the registry."""

from __future__ import annotations

from . import _agents

_made = _agents.made("banister.rivals", is_rival=True)
globals().update(_made)
__all__ = list(_made)
