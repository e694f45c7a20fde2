"""banister: bandits with guardrails.

Learns online which action earns the most while every policy it deploys keeps its expected costs
under given thresholds.

>>> import banister
>>> agent = banister.Opb(
...     ["control", "bold"],
...     guardrails=[banister.Guardrail("complaints", at_most=0.2, safe_cost=0.05)],
...     seed=7,
... )
>>> decision = agent.decide()
>>> decision.action in {"control", "bold"}
True
>>> agent.observe(decision, reward=1.0, costs=0.0)
>>> agent.decide().certificate["complaints"].slack >= 0
True
"""

from __future__ import annotations

from . import _agents, client, offline, simulation
from ._agent import Agent, Alarm, agents, load
from ._agents import *
from ._features import Features
from ._figure import Figure
from ._guardrail import Guardrail, Reward
from ._native import (
    Decision,
    DecisionBatch,
    Solution,
    SolutionBatch,
    __version__,
    solve_lp,
    solve_oplb,
)
from ._segments import SegmentCertificate, SegmentTable, SegmentView
from .client import *
from .client.types import Certificate, GuardrailCertificate
from .offline import *
from .simulation import *

__all__ = [
    "Agent",
    "Alarm",
    "Certificate",
    "Decision",
    "DecisionBatch",
    "Features",
    "Figure",
    "Guardrail",
    "GuardrailCertificate",
    "Reward",
    "SegmentCertificate",
    "SegmentTable",
    "SegmentView",
    "Solution",
    "SolutionBatch",
    "__version__",
    "agents",
    "load",
    "solve_lp",
    "solve_oplb",
]
__all__ += _agents.__all__
__all__ += client.__all__
__all__ += offline.__all__
__all__ += simulation.__all__
