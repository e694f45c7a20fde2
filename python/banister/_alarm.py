"""Alarms of an agent that watches its own assumptions."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Alarm:
    """An alarm: an assumption that certificates rest on is false, at the level of its test."""

    #: "breach" (the decisions' observed costs are above the threshold), "refuted" (an arm's outcomes
    #: contradict each other over time: its mean changed) or "safe_cost" (the safe action costs other
    #: than was declared).
    kind: Literal["breach", "refuted", "safe_cost"]
    guardrail: str
    #: The arm that it is about, by name or number; None if it is about all decisions.
    arm: Any
    #: Outcomes taken when it was raised.
    outcome: int
    #: Outcomes that the evidence rests on.
    outcomes: int
    #: Mean of the guardrail's signal over those.
    mean: float
    #: Strength of the evidence as a likelihood ratio.
    evidence: float
    #: Whether the safe action is forced until `agent.acknowledge()`.
    forces_safe: bool
    #: All of it in a sentence.
    message: str

    def to_dict(self) -> dict[str, Any]:
        """The same as a dictionary of plain values."""
        return asdict(self)
