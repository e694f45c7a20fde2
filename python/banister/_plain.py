"""Decisions and policies as plain values."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from . import _native


def decision(one: _native.Decision) -> dict[str, Any]:
    """Returns a decision as a dictionary, for logs."""
    names = ("action", "index", "probability", "is_safe", "scale", "agent_id", "serial")
    parts = {"segment": one.segment, "alarm": one.alarm, "certificate": one.certificate}
    return {
        **{name: getattr(one, name) for name in names},
        "features": None if one.features is None else one.features.tolist(),
        "policy": list(one.policy.items()),
        **{name: None if part is None else part.to_dict() for name, part in parts.items()},
    }


def decision_batch(batch: _native.DecisionBatch) -> dict[str, Any]:
    """Returns many decisions as dictionaries."""
    return {"decisions": [decision(one) for one in batch]}
