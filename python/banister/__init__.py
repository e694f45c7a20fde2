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

from . import _agents
from ._agent import Agent, agents, load
from ._agents import *  # noqa: F403  (the classes are made from the registry)
from ._alarm import Alarm
from ._async_client import AsyncClient
from ._client import Client
from ._compare import ComparisonResult, compare, suites
from ._environment import Environment, GymEnvironment
from ._figure import Figure
from ._guardrail import Guardrail
from ._log import Log
from ._native import (
    Certificate,
    Decision,
    DecisionBatch,
    GuardrailCertificate,
    Solution,
    SolutionBatch,
    __version__,
    solve_lp,
    solve_oplb,
)
from ._offline import Estimate, Evaluation, Verdict, evaluate
from ._policy import disjoint_features
from ._problem import Problem
from ._replay import Replay, ReplayMean, replay, warm_start
from ._service_answers import (
    ServiceAlarm,
    ServiceAudit,
    ServiceBatch,
    ServiceCertificate,
    ServiceCounts,
    ServiceDecision,
    ServiceDecisionSummary,
    ServiceEstimate,
    ServiceEvent,
    ServiceExperiment,
    ServiceGuardrailCertificate,
    ServiceKnown,
    ServiceOutcome,
)
from ._service_errors import (
    ServiceAuthError,
    ServiceConflictError,
    ServiceError,
    ServiceNotFoundError,
    ServiceRefusedError,
    ServiceUnavailableError,
)
from ._service_state import (
    ServiceArm,
    ServiceEstimates,
    ServiceGuardrailPoint,
    ServiceHistory,
    ServiceMinute,
    ServicePoint,
    ServiceState,
)
from ._simulate import SimulationResult, simulate
from ._sweep import SweepResult, sweep

__all__ = [
    "Agent",
    "Alarm",
    "AsyncClient",
    "Certificate",
    "Client",
    "ComparisonResult",
    "Decision",
    "DecisionBatch",
    "Environment",
    "Estimate",
    "Evaluation",
    "Figure",
    "Guardrail",
    "GuardrailCertificate",
    "GymEnvironment",
    "Log",
    "Problem",
    "Replay",
    "ReplayMean",
    "ServiceAlarm",
    "ServiceArm",
    "ServiceAudit",
    "ServiceAuthError",
    "ServiceBatch",
    "ServiceCertificate",
    "ServiceConflictError",
    "ServiceCounts",
    "ServiceDecision",
    "ServiceDecisionSummary",
    "ServiceError",
    "ServiceEstimate",
    "ServiceEstimates",
    "ServiceEvent",
    "ServiceExperiment",
    "ServiceGuardrailCertificate",
    "ServiceGuardrailPoint",
    "ServiceHistory",
    "ServiceKnown",
    "ServiceMinute",
    "ServiceNotFoundError",
    "ServiceOutcome",
    "ServicePoint",
    "ServiceRefusedError",
    "ServiceState",
    "ServiceUnavailableError",
    "SimulationResult",
    "Solution",
    "SolutionBatch",
    "SweepResult",
    "Verdict",
    "__version__",
    "agents",
    "compare",
    "disjoint_features",
    "evaluate",
    "load",
    "replay",
    "simulate",
    "solve_lp",
    "solve_oplb",
    "suites",
    "sweep",
    "warm_start",
]
__all__ += _agents.__all__
