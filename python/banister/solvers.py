"""Rounds given by their numbers: the policy LP and a round of OPLB, one or thousands in a call."""

from __future__ import annotations

from ._native import Solution, SolutionBatch, solve_lp, solve_oplb

__all__ = ["Solution", "SolutionBatch", "solve_lp", "solve_oplb"]
