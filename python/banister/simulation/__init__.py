"""Simulations, comparisons and sweeps. The runner is native; here are declarations and results.

In reading order: `environment` (environments of your own), `table` (tables of requests), `run` (one
experiment), `planning` (before it begins), `comparison` (suites), `grid` and `sweeps` (many experiments, over
processes or Ray), `summary` (results as text). The folder is not called `simulate`: that is a function of the package.
"""

from __future__ import annotations

from .._figure import Figure
from .comparison import ComparisonResult, compare, suites
from .environment import Environment, GymEnvironment, Problem
from .planning import Plan, plan
from .run import SimulationResult, simulate
from .sweeps import SweepResult, sweep
from .table import TableEnvironment

__all__ = [
    "ComparisonResult",
    "Environment",
    "Figure",
    "GymEnvironment",
    "Plan",
    "Problem",
    "SimulationResult",
    "SweepResult",
    "TableEnvironment",
    "compare",
    "plan",
    "simulate",
    "suites",
    "sweep",
]
