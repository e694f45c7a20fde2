"""Decisions, what proves them safe, and alarms that their assumptions are false."""

from __future__ import annotations

from ._agent import Alarm
from ._native import Decision, DecisionBatch
from .client.types import Certificate, GuardrailCertificate

__all__ = ["Alarm", "Certificate", "Decision", "DecisionBatch", "GuardrailCertificate"]
