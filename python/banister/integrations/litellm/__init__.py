"""Routing of LLM calls under a guardrail, as a routing strategy of LiteLLM's Router.

In reading order: `models` (the arms, and the most that a call can cost), `declaration` (arguments and the
problem they declare), `backends` (an agent in this process, or the service), `sessions` (calls that keep an arm
together), `calls` (calls under way and their sums), `outcomes` (their ends, judged and learned), `savings` (dollars
spent), `routing` (the strategy).
"""

from __future__ import annotations

from ..._extra import extra

with extra("litellm"):
    from .calls import ArmTotals
    from .models import prompt_length
    from .outcomes import call_id
    from .routing import BanisterRouting
    from .savings import Savings

__all__ = ["ArmTotals", "BanisterRouting", "Savings", "call_id", "prompt_length"]
