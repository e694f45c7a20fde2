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

Here is what a first program needs; the rest is in modules by subject: `rivals` (agents of other papers), `simulation`
(environments and results), `offline` (logged data), `client` (of the decision service), `decisions`, `segments`,
`solvers`, and `integrations`, which `import banister` leaves alone.
"""

from __future__ import annotations

from . import client, decisions, offline, rivals, segments, simulation, solvers
from ._agent import Agent, agents, load
from ._agents import Opb, Oplb, Segmented
from ._features import Features
from ._guardrail import Guardrail, Reward
from ._native import __version__
from .decisions import Alarm, Certificate, Decision
from .simulation import compare, plan, simulate, sweep
from .solvers import solve_lp, solve_oplb

__all__ = [
    "Agent",
    "Alarm",
    "Certificate",
    "Decision",
    "Features",
    "Guardrail",
    "Opb",
    "Oplb",
    "Reward",
    "Segmented",
    "__version__",
    "agents",
    "client",
    "compare",
    "decisions",
    "load",
    "offline",
    "plan",
    "rivals",
    "segments",
    "simulate",
    "simulation",
    "solve_lp",
    "solve_oplb",
    "solvers",
    "sweep",
]
