"""Logged data: off-policy estimates and verdicts, replay, warm start, policies as arms. The estimators are native.

In reading order: `log` (a log from a table), `policy` (the one to evaluate), `evaluation`, `replays`, `policy_class`.
"""

from __future__ import annotations

from .evaluation import Estimate, Evaluation, Verdict, evaluate, lift
from .log import Log
from .policy import disjoint_features
from .policy_class import PolicyClass
from .replays import Replay, ReplayMean, WarmStart, replay, warm_start

__all__ = [
    "Estimate",
    "Evaluation",
    "Log",
    "PolicyClass",
    "Replay",
    "ReplayMean",
    "Verdict",
    "WarmStart",
    "disjoint_features",
    "evaluate",
    "lift",
    "replay",
    "warm_start",
]
