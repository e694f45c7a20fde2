"""Dollars spent, compared with those of one arm alone."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from .calls import ArmTotals
from .models import Prices


@dataclass(frozen=True)
class Savings:
    """Dollars spent, beside an estimate of those that one arm alone would have cost."""

    calls: int
    dollars: float
    #: The arm that is compared with, and an estimate of what all calls would have cost with it.
    against: str
    against_dollars: float
    arms: dict[str, ArmTotals]
    #: The certificate of the last decision; None before the first.
    certificate: dict[str, Any] | None = field(repr=False)
    #: Calls out of the ordinary, by reason.
    counts: dict[str, int]
    #: Alarms that went off and were not acknowledged.
    alarms: tuple[str, ...] = ()

    @property
    def means(self) -> dict[str, float]:
        """Dollars per call and quality per judged call, so far."""
        judged = sum(one.judged for one in self.arms.values())
        quality = sum(one.quality for one in self.arms.values())
        return {"dollars": self.dollars / max(self.calls, 1), "quality": quality / max(judged, 1)}

    @property
    def saved(self) -> float:
        """Dollars that the other arm alone would have cost beyond those spent; an estimate."""
        return self.against_dollars - self.dollars

    def to_dict(self) -> dict[str, Any]:
        """Returns the same as nested dictionaries of plain values."""
        return {**asdict(self), "saved": self.saved, "means": self.means}

    def __str__(self) -> str:
        share = self.saved / self.against_dollars if self.against_dollars else 0.0
        lines = [
            f"{self.calls:,} calls for {_dollars(self.dollars)}; with {self.against} alone about "
            f"{_dollars(self.against_dollars)}: saved about {_dollars(self.saved)} ({share:.0%})"
        ]
        width = max(len(arm) for arm in self.arms)
        lines.append(f"  {'arm':<{width}}  {'calls':>7}  {'failed':>6}  {'$ per call':>10}  {'seconds':>7}  quality")
        for arm, one in self.arms.items():
            calls = max(one.calls, 1)
            quality = f"{one.quality / one.judged:.3f}" if one.judged else "–"
            lines.append(
                f"  {arm:<{width}}  {one.calls:>7,}  {one.failures:>6,}  {one.dollars / calls:>10.3g}  "
                f"{one.seconds / calls:>7.3g}  {quality:>7}"
            )
        for one in (self.certificate or {}).get("guardrails", ()):
            pessimistic, threshold = one["pessimistic_cost"], one["threshold"]
            mean = f"mean so far {self.means[one['name']]:.4g}, " if one["name"] in self.means else ""
            lines.append(
                f"  {one['name']}: threshold {threshold:.4g}, {mean}the policy pessimistically {pessimistic:.4g}"
            )
        lines += [f"  alarm: {message}" for message in self.alarms]
        odd = ", ".join(f"{count:,} {reason}" for reason, count in self.counts.items() if count)
        return "\n".join([*lines, f"  {odd}"] if odd else lines)


def _dollars(amount: float) -> str:
    return f"${amount:,.2f}" if abs(amount) >= 100 else f"${amount:.4g}"


def compare(
    arms: dict[str, ArmTotals],
    counts: dict[str, int],
    prices: Mapping[str, Prices],
    certificate: Any,
    against: str | None,
    alarms: Sequence[str],
) -> Savings:
    """Compares with an arm, or with the one that would have cost the most."""
    answered = sum(one.calls - one.failures for one in arms.values())
    inputs = sum(one.input_tokens for one in arms.values())
    outputs = sum(one.output_tokens for one in arms.values())

    def alone(arm: str) -> float:
        own = arms[arm]
        if own.calls > own.failures:
            return answered * own.dollars / (own.calls - own.failures)
        known = prices.get(arm)
        return 0.0 if known is None else inputs * known.input + outputs * known.output

    against = max(arms, key=alone) if against is None else against
    if against not in arms:
        raise ValueError(f"`against` is {against!r}: must be one of {sorted(arms)}")
    return Savings(
        calls=sum(one.calls for one in arms.values()),
        dollars=math.fsum(one.dollars for one in arms.values()),
        against=against,
        against_dollars=alone(against),
        arms=arms,
        certificate=None if certificate is None else certificate.to_dict(),
        counts=counts,
        alarms=tuple(alarms),
    )
