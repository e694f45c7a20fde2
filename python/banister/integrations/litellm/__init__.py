"""Routing of LLM calls under a guardrail, as a routing strategy of LiteLLM's Router.

In reading order: `prices` (the most that a call can cost), `deciders` (who decides: an agent in this
process, or the service), `calls` (what became of them), `savings` (what was spent), `routing` (the strategy
itself).
"""

from __future__ import annotations

from ..._extra import extra

with extra("litellm"):
    from .calls import ArmTotals
    from .routing import BanisterRouting, call_id
    from .savings import Savings

__all__ = ["ArmTotals", "BanisterRouting", "Savings", "call_id"]
