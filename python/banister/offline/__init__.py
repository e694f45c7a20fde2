"""Logged data: off-policy estimates and verdicts, replay, warm start. The estimators are native.

In reading order: `log` (a log from a table), `policy` (the policy to evaluate), `evaluation`, `replays`.
"""

from __future__ import annotations

from .evaluation import Estimate, Evaluation, Verdict, evaluate
from .log import Log
from .policy import disjoint_features
from .replays import Replay, ReplayMean, replay, warm_start

__all__ = [
    "Estimate",
    "Evaluation",
    "Log",
    "Replay",
    "ReplayMean",
    "Verdict",
    "disjoint_features",
    "evaluate",
    "replay",
    "warm_start",
]
