"""Answers of the decision service, made from its OpenAPI document by `cargo xtask client`: do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from .answers import Answer, CertificateMethods, DecisionMethods, ExperimentMethods, Policy

AlarmKind: TypeAlias = Literal[
    "breach",
    "breach_warning",
    "refuted",
    "changed",
    "drift",
    "safe_cost",
    "model_refuted",
    "missing",
    "segments",
    "range",
    "reward_range",
]

DecisionStatus: TypeAlias = Literal[
    "open",
    "partial",
    "pending",
    "complete",
    "expired",
    "cancelled",
    "moved",
    "returned",
]

ExperimentStatus: TypeAlias = Literal[
    "running",
    "paused",
    "archived",
]

Fallback: TypeAlias = Literal[
    "margin_not_proven",
    "solver_failed",
    "paused",
    "alarm",
    "budget",
    "ill_conditioned",
    "budget_exhausted",
    "not_running",
    "outside",
]

Guarantee: TypeAlias = Literal[
    "every_round",
    "per_action",
    "cumulative",
    "unsafe",
]

LiftForm: TypeAlias = Literal[
    "constant",
    "concurrent",
]

Light: TypeAlias = Literal[
    "green",
    "amber",
    "red",
]

OnBreach: TypeAlias = Literal[
    "safe",
    "relearn",
    "alert",
]

OutcomeStatus: TypeAlias = Literal[
    "partial",
    "pending",
    "complete",
]

Period: TypeAlias = Literal[
    "hour",
    "day",
    "week",
    "month",
]

Scope: TypeAlias = Literal[
    "overall",
    "each",
]

SolverStatus: TypeAlias = Literal[
    "optimal",
    "budget",
    "infeasible",
]

WhenExhausted: TypeAlias = Literal[
    "safe",
    "refuse",
]


@dataclass(frozen=True, kw_only=True)
class Alarm(Answer):
    """An alarm in the log."""

    #: Number of its event.
    number: int
    #: Time at which it was raised.
    since: datetime
    #: Kind of evidence.
    kind: AlarmKind
    #: The alarm in a sentence.
    message: str
    #: Strength of the evidence, as a likelihood ratio.
    evidence: float
    #: True if it forces the safe action until it is acknowledged.
    forces_safe: bool
    #: Time at which a person acknowledged it.
    acknowledged: datetime | None
    #: Name of the token with which that was.
    acknowledged_by: str | None
    #: Name of the arm, where it is about one.
    arm: str | None = None
    #: Name of the guardrail, where it is about one.
    guardrail: str | None = None
    #: Its number among the agent's alarms, where it is one of those.
    of_agent: int | None = None
    #: Name of the segment, where it is about one.
    segment: str | None = None


@dataclass(frozen=True, kw_only=True)
class AlarmRaised(Answer):
    """An alarm, as its event says it."""

    #: Kind of evidence.
    kind: AlarmKind
    #: The alarm in a sentence.
    message: str
    #: Strength of the evidence, as a likelihood ratio.
    evidence: float
    #: True if it forces the safe action until it is acknowledged.
    forces_safe: bool
    #: Name of the arm, where it is about one.
    arm: str | None = None
    #: Name of the guardrail, where it is about one.
    guardrail: str | None = None
    #: Its number among the agent's alarms, where it is one of those.
    of_agent: int | None = None
    #: Name of the segment, where it is about one.
    segment: str | None = None


@dataclass(frozen=True, kw_only=True)
class Arm(Answer):
    """An arm."""

    #: Name.
    name: str
    #: False once it is retired.
    offered: bool
    #: True for the safe one.
    safe: bool
    #: Its features, where arms have any.
    features: tuple[float, ...] | None = None
    #: Its ranges, by signal (`reward`, or a guardrail's name), where they are by arm.
    ranges: Any = None
    #: Weights in force, by guardrail and by signal, where guardrails are weighted sums.
    weights: Any = None


@dataclass(frozen=True, kw_only=True)
class ArmLift(Answer):
    """An arm's mean of a signal against the safe arm's, in the signal's own units and sign. By itself each interval
    holds at all times at once with probability `confidence`, however arms are drawn and whenever one looks."""

    #: Name of the arm.
    arm: str
    #: Name of the signal: `reward`, a guardrail, or a signal declared beside them.
    signal: str
    #: Mean of the arm's outcomes; null before the first.
    mean: float | None
    #: Mean of the safe arm's outcomes; null before the first.
    safe_mean: float | None
    #: Mean of the arm less mean of the safe arm.
    difference: LiftInterval
    #: The difference in percent of the safe arm's mean; null where that may be 0 or the arm's may be negative, and
    #: under `concurrent`.
    percent: LiftInterval | None
    #: Outcomes of the arm that it rests on.
    outcomes: int
    #: Outcomes of the safe arm that it rests on.
    safe_outcomes: int
    #: Assumption on the means.
    form: LiftForm
    #: Probability that the interval of the difference, and with it that in percent, holds at all times.
    confidence: float


@dataclass(frozen=True, kw_only=True)
class ArmState(Answer):
    """An arm now."""

    #: Name.
    name: str
    #: True for the safe one.
    safe: bool
    #: Its probability under the policy now.
    probability: float | None
    #: True if the arm is on offer.
    offered: bool
    #: Outcomes of it that arrived; `None` where outcomes are not counted by action.
    pulls: int | None
    #: Mean reward of the arm.
    reward: Estimate
    #: Its mean signal under each guardrail.
    guardrails: tuple[Estimate, ...]
    #: Its latest outcomes that bounds of each signal use, the reward's first, with drift; null for a mean that stays.
    windows: tuple[int | None, ...]
    #: Decisions for it whose time to live is over.
    matured: int
    #: Those of them whose outcome never came.
    missing: int


@dataclass(frozen=True, kw_only=True)
class Assumption(Answer):
    """An assumption that certificates rest on."""

    #: The assumption, in words.
    text: str
    #: True if a test would notice that it is false.
    watched: bool


@dataclass(frozen=True, kw_only=True, repr=False)
class Audit(DecisionMethods):
    """The audit trail of a decision."""

    #: The caller's id, or `@` and the number.
    id: str
    #: The experiment.
    experiment: str
    #: The number of its event.
    number: int
    #: Time.
    time: datetime
    #: The action drawn.
    action: str
    #: Its number.
    index: int
    #: True for the safe one.
    safe: bool
    #: Its probability.
    probability: float
    #: True in shadow mode: the caller's own action is what happens.
    shadow: bool
    #: The policy it was drawn from.
    policy: Policy
    #: Certificate of the policy.
    certificate: Certificate
    #: The uniform number that drew the action.
    draw: float
    #: The context, if the request brought one: its numbers, or its values by field.
    context: Any
    #: The candidates, if the request brought any.
    candidates: tuple[AuditCandidate, ...] | None
    #: Action that the caller took, in shadow mode.
    taken: str | None
    #: In shadow mode: the caller's own probability of it.
    propensity: float | None
    #: Estimates of the policy's actions and the safe one, when it was decided.
    known: tuple[KnownAction, ...]
    #: Status.
    status: DecisionStatus
    #: Outcome as far as known.
    outcome: AuditOutcome | None
    #: The events about it.
    events: tuple[AuditEvent, ...]
    #: The segment that it was made in, where decisions have one, and its own part of the certificate.
    segment: SegmentCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class AuditCandidate(Answer):
    """A candidate action."""

    #: Name.
    name: str
    #: Its features.
    features: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class AuditEvent(Answer):
    """An event about a decision."""

    #: Its number in the log.
    number: int
    #: Time.
    time: datetime
    #: `decision`, `part`, `outcome`, `default`, `missing` or `cancelled`.
    kind: str
    #: Name of the token, `anonymous` where none was needed, `banister` for the service itself.
    author: str


@dataclass(frozen=True, kw_only=True)
class AuditOutcome(Answer):
    """Outcome as far as known."""

    #: The reward, if known.
    reward: float | None
    #: The costs, as far as known.
    costs: dict[str, float | None]


@dataclass(frozen=True, kw_only=True)
class BudgetState(Answer):
    """A budget in the period of now."""

    #: Most that the decisions of a period may cost in sum, in the signal's units.
    amount: float
    #: Period, aligned to UTC: hours, days, weeks from Monday, months.
    per: Period
    #: Reaction to an amount that does not even cover the safe action.
    when_exhausted: WhenExhausted
    #: True if the policy shifts to the safe action as soon as the amount would not last for the period.
    pacing: bool
    #: Start of the period.
    period_start: datetime
    #: End of the period, and start of the next.
    period_end: datetime
    #: Costs reported for decisions of this period.
    spent: float
    #: Most that those decisions may cost whose cost was not reported yet.
    reserved: float
    #: Amount that is neither spent nor reserved.
    remaining: float
    #: Rest of the amount per decision until the period ends, to which pacing lowers the threshold, though not below the
    #: safe action's cost; null where it does not bind.
    pace: float | None
    #: Costs beyond the amount: of safe actions, or of an amount that was lowered since.
    beyond: float
    #: Decisions of this period.
    decisions: int
    #: Decisions of this period at which the safe action was forced, since the rest did not cover the policy.
    exhausted: int
    #: The period before, as far as its outcomes are known.
    previous: PastPeriod | None


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(CertificateMethods):
    """Certificate of a policy, by the names of its guardrails."""

    #: One entry per guardrail.
    guardrails: tuple[GuardrailCertificate, ...]
    #: Reward that the policy aims at: at least the best feasible one's, but for a bounded shortfall with `index`.
    optimistic_reward: float
    #: Status, value and proven bound of the solve.
    solver: SolverReport
    #: Reason for forcing the safe action, if it was forced.
    fallback: Fallback | None
    #: Number of outcomes it is based on.
    outcomes: int
    #: Probability with which no policy ever violates a guardrail, and that with which the regret bound holds too (null
    #: where it is one in expectation); null where the agent does not state them.
    confidence: Confidence | None
    #: The assumptions it rests on, and whether something watches each.
    rests_on: tuple[Assumption, ...]


@dataclass(frozen=True, kw_only=True)
class Check(Answer):
    """One check of an experiment."""

    #: Name, such as `assignment`.
    name: str
    #: Verdict.
    light: Light
    #: Reason for the verdict, in a sentence.
    reason: str


@dataclass(frozen=True, kw_only=True)
class Confidence(Answer):
    """Probabilities with which an agent's promises hold, over all rounds at once."""

    #: Probability, at least, with which no policy ever violates a guardrail: 1 − δ.
    safety: float
    #: Probability, at least, with which the bounds behind optimism hold too, and with them the regret bound: 1 − δ −
    #: δ_o; `None` where the optimism's regret is bounded in expectation (`index`).
    regret: float | None


@dataclass(frozen=True, kw_only=True)
class Counts(Answer):
    """Counts so far."""

    #: Decisions made.
    decisions: int
    #: Outcomes that were learned from, defaults among them.
    outcomes: int
    #: Decisions whose time to live was over before their outcome was complete, or that were cancelled.
    expired: int
    #: Outcomes of units that were learned in an earlier period: they are shown, and teach nothing.
    returned: int
    #: Those of them that have no outcome at all, not even a default one.
    missing: int
    #: Outcomes imported from other logs.
    imported: int
    #: Decisions where the safe action was forced.
    forced: int
    #: Units that were given another arm before their period was over: they teach nothing.
    moved: int
    #: Units with as many reports as are added up: further ones are refused.
    full: int


@dataclass(frozen=True, kw_only=True, repr=False)
class Decision(DecisionMethods):
    """A decision."""

    #: The caller's id, or `@` and the number.
    id: str
    #: The experiment.
    experiment: str
    #: The number of its event.
    number: int
    #: Time.
    time: datetime
    #: The action drawn.
    action: str
    #: Its number.
    index: int
    #: True for the safe one.
    safe: bool
    #: Its probability.
    probability: float
    #: True in shadow mode: the caller's own action is what happens.
    shadow: bool
    #: The policy it was drawn from.
    policy: Policy
    #: Certificate of the policy.
    certificate: Certificate
    #: The segment that it was made in, where decisions have one, and its own part of the certificate.
    segment: SegmentCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class DecisionSummary(Answer):
    """A decision in a list."""

    #: The caller's id, or `@` and the number.
    id: str
    #: The number of its event.
    number: int
    #: Time.
    time: datetime
    #: The action drawn.
    action: str
    #: Its probability.
    probability: float
    #: Reason for which the safe action was forced, if it was.
    fallback: Fallback | None
    #: Status.
    status: DecisionStatus
    #: The reward, if known.
    reward: float | None
    #: The costs, as far as known.
    costs: dict[str, float | None]
    #: Segment that it was made in, where decisions have one.
    segment: str | None = None


@dataclass(frozen=True, kw_only=True)
class Estimate(Answer):
    """An estimated mean and the interval that holds it."""

    #: The estimate; `None` before the first outcome.
    mean: float | None
    #: Lower end of the interval in force.
    lower: float
    #: Upper end of the interval in force.
    upper: float


@dataclass(frozen=True, kw_only=True)
class Evidence(Answer):
    """Evidence that a guardrail is breached, over time."""

    #: Name of the guardrail.
    guardrail: str
    #: True if a detector watches it.
    watched: bool
    #: (Outcomes watched, log10 of the largest evidence since the point before).
    points: tuple[tuple[Any, ...], ...]
    #: log10 of the evidence at which an alarm is raised.
    alarm_at: float


@dataclass(frozen=True, kw_only=True, repr=False)
class Experiment(ExperimentMethods):
    """An experiment."""

    #: Name.
    name: str
    #: Description for people.
    description: str
    #: Status: running, paused or archived.
    status: ExperimentStatus
    #: True in shadow mode: the caller's own action is what happens.
    shadow: bool
    #: Time of creation.
    created: datetime
    #: Arms that are offered.
    arms_offered: int
    #: Context that every decision brings: how many numbers, or its fields.
    context: Any
    #: Features of the candidates that every decision brings.
    dimension: int | None
    #: The guardrails.
    guardrails: tuple[dict[str, Any], ...]
    #: Guarantee of the agent about the guardrails: the default agents are safe in every round.
    guarantee: Guarantee
    #: Counts so far.
    counts: Counts
    #: Set while the safe action is forced.
    alarm: ForcedSafe | None
    #: Set while a budget refuses decisions.
    refusing: Refusing | None
    #: Unacknowledged alarms, oldest first.
    alarms: tuple[Alarm, ...]
    #: Its last event in the log.
    number: int
    #: The arms, retired ones too; none where decisions bring candidates.
    arms: tuple[Arm, ...]
    #: Unit that is randomised and learned in place of single decisions, with its period in seconds.
    unit: dict[str, Any] | None
    #: Promise to units in words: what is certified of them, and what is not.
    certified: str | None
    #: Segments as declared, where every decision has one.
    segments: Any
    #: Features of the safe action, with `dimension`.
    safe_action: tuple[float, ...] | None
    #: Name of the safe arm.
    safe: str | None
    #: The reward signal.
    reward: dict[str, Any]
    #: Signals that guardrails are weighted sums of, by name.
    signals: dict[str, Any]
    #: The probability with which no policy ever violates a guardrail; certificates state beside it that of the regret
    #: bound.
    confidence: float
    #: The agent.
    agent: Any
    #: Reaction to alarms in force; null where nothing watches the agent.
    on_breach: OnBreach | None
    #: The assumptions that its certificates rest on, and whether something watches each.
    rests_on: tuple[Assumption, ...]
    #: Outcomes are learned this many seconds after their decisions, in the order of decisions.
    ttl_seconds: float | None
    #: The outcome of a decision that never got one; without it such decisions are counted as missing.
    default_outcome: dict[str, Any] | None
    #: Condition under which the policy settles without a request.
    stop_when: dict[str, Any] | None
    #: Time at which it settled: it explores no more, and is watched as before.
    settled: datetime | None
    #: The flag that it is to OpenFeature clients.
    flag: dict[str, Any] | None
    #: When it runs, and how much of the traffic it may lead away from the safe action.
    rollout: dict[str, Any] | None
    #: Most of the traffic that it may lead away now, where there is a rollout.
    share: float | None
    #: True if all arms are declared to be the same.
    a_a: bool
    #: Budgets over time, by guardrail.
    budgets: dict[str, BudgetState | tuple[BudgetState, ...]]


@dataclass(frozen=True, kw_only=True)
class ExperimentReport(Answer):
    """A report on an experiment."""

    #: The experiment as declared, and its counts.
    experiment: Experiment
    #: The policy now, its certificate and estimates.
    state: ExperimentState
    #: Lifts of the arms, and the worth left.
    lift: Lifts
    #: Reward of all outcomes beyond what the safe arm would have earned for them: Σ_a n_a·lift_a. Its ends hold
    #: together with probability 1 − δ per arm; null where lifts are not known.
    earned: LiftInterval | None
    #: One entry per guardrail.
    guardrails: tuple[GuardrailReport, ...]
    #: Checks of the assumptions behind the numbers.
    health: Health
    #: Alarms, acknowledged ones too, oldest first.
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, kw_only=True)
class ExperimentState(Answer):
    """Live state of an experiment: its policy now, estimates of every arm, alarms and evidence."""

    #: The experiment.
    experiment: str
    #: Its last event.
    number: int
    #: Time of the state.
    time: datetime
    #: Outcomes known.
    outcomes: int
    #: The policy now; where decisions bring their actions, the last one.
    policy: Policy | None
    #: Certificate of the policy.
    certificate: Certificate | None
    #: The policy's own reward and guardrails.
    estimates: PolicyEstimates | None
    #: Every arm.
    arms: tuple[ArmState, ...]
    #: Set while the safe action is forced.
    alarm: ForcedSafe | None
    #: Unacknowledged alarms, oldest first.
    alarms: tuple[Alarm, ...]
    #: Evidence of breaches, one entry per guardrail; none for agents that are not watched.
    evidence: tuple[Evidence, ...]
    #: The segment that policy and estimates are of, where decisions have one, and its own part of the certificate.
    segment: SegmentCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class Exposed(Answer):
    """A decision that a lease made."""

    #: Its id: outcomes are reported under it.
    decision: str


@dataclass(frozen=True, kw_only=True)
class ForcedSafe(Answer):
    """Reason for which the safe action is forced."""

    #: Reason.
    reason: Fallback
    #: Time at which it began.
    since: datetime
    #: The first decision that was forced, as `@` and its number; null while it is only paused.
    decision: str | None


@dataclass(frozen=True, kw_only=True)
class GuardrailCertificate(Answer):
    """One guardrail's part of the certificate, by its name."""

    #: Name of the guardrail.
    name: str
    #: The policy's expected signal if every arm is as bad as its interval allows (for a relative guardrail: its excess
    #: over the factor times the safe mean).
    pessimistic_cost: float
    #: Bound on that cost (0 for a relative guardrail).
    threshold: float
    #: Distance to the threshold; never negative for an agent that is safe in every round.
    slack: float
    #: Shadow price: optimistic reward per unit of threshold.
    price: float
    #: True if signals above the guardrail's `cap` count as the cap: all this is about the capped mean.
    capped: bool = False
    #: The promise in words, where it is a ratio or a quantile: the numbers are of a mean that stands for it.
    promise: str | None = None


@dataclass(frozen=True, kw_only=True)
class GuardrailPoint(Answer):
    """A guardrail at some moment."""

    #: The policy's estimated signal.
    mean: float | None
    #: Lower end of its interval.
    lower: float
    #: Upper end.
    upper: float
    #: As certified.
    pessimistic_cost: float
    #: Threshold that the signal must not cross.
    threshold: float
    #: Shadow price: reward per unit of threshold.
    price: float


@dataclass(frozen=True, kw_only=True)
class GuardrailReport(Answer):
    """One guardrail of a report."""

    #: Its name.
    name: str
    #: Promise in words, where it is a ratio or a quantile.
    promise: str | None
    #: Mean of all outcomes, in the units of certificates.
    mean: float | None
    #: Bound that policies are certified by.
    threshold: float | None
    #: The policy's cost as certified now.
    certified: float | None
    #: True unless a monitor found a breach that is not acknowledged yet.
    held: bool
    #: Price in words: the gain of a looser threshold.
    price: str | None


@dataclass(frozen=True, kw_only=True)
class Health(Answer):
    """The health of an experiment."""

    #: Name of the experiment.
    experiment: str
    #: The log's time.
    time: datetime
    #: The worst light of all.
    light: Light
    #: All checks.
    checks: tuple[Check, ...]


@dataclass(frozen=True, kw_only=True)
class History(Answer):
    """The trace of an experiment."""

    #: Policies over time, oldest first.
    points: tuple[Point, ...]
    #: Counts by the minute, oldest first; minutes without any are left out.
    per_minute: tuple[Minute, ...]
    #: Alarms, acknowledged ones too, oldest first.
    alarms: tuple[Alarm, ...]


@dataclass(frozen=True, kw_only=True)
class Imported(Answer):
    """Result of an import."""

    #: Outcomes learned from.
    outcomes: int
    #: Rows skipped because they are decisions of this experiment, whose outcomes are learned already.
    skipped: int
    #: The last event of the import.
    number: int
    #: Statistics of segments that the log cannot teach, with the reasons; empty where decisions have none.
    not_taught: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class KnownAction(Answer):
    """Estimates of an action of a policy."""

    #: The action.
    action: str
    #: Its number.
    index: int
    #: Its probability under the policy.
    probability: float
    #: True if the arm is on offer.
    offered: bool
    #: Outcomes of it that arrived; `None` where outcomes are not counted by action.
    pulls: int | None
    #: Mean reward of the arm.
    reward: Estimate
    #: Its mean signal under each guardrail.
    guardrails: tuple[Estimate, ...]
    #: Its latest outcomes that bounds of each signal use, the reward's first, with drift; null for a mean that stays.
    windows: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class LiftInterval(Answer):
    """An estimate and the interval around it."""

    #: The estimate; null before the first outcome of either arm.
    estimate: float | None
    #: Lower end.
    lower: float
    #: Upper end.
    upper: float


@dataclass(frozen=True, kw_only=True)
class Lifts(Answer):
    """Lifts of all arms over the safe one, and the worth left."""

    #: Name of the experiment.
    experiment: str
    #: Its last event.
    number: int
    #: The log's time.
    time: datetime
    #: One entry per arm and signal; each interval holds at all times with its confidence, for itself.
    lifts: tuple[ArmLift, ...]
    #: Upper bound on what further learning could still earn; null where it is unknown.
    worth_left: WorthLeft | None
    #: The worth left, in a sentence.
    enough: str | None
    #: Time at which the policy settled.
    settled: datetime | None


@dataclass(frozen=True, kw_only=True)
class Minute(Answer):
    """Counts of one minute."""

    #: Beginning of the minute.
    time: datetime
    #: Decisions.
    decisions: int
    #: Outcomes.
    outcomes: int
    #: Decisions where the safe action was forced.
    forced: int


@dataclass(frozen=True, kw_only=True)
class OutcomeAnswer(Answer):
    """Outcome as far as known."""

    #: The decision.
    decision: str
    #: `partial` until everything is known, then `complete`; with a time to live `pending` until it is over.
    status: OutcomeStatus
    #: The reward, if known.
    reward: float | None
    #: The costs, as far as known.
    costs: dict[str, float | None]
    #: Alarms that this report raises: its numbers lie outside their declared ranges, and count as their ends.
    alarms: tuple[AlarmRaised, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PastPeriod(Answer):
    """Period that is over."""

    #: Costs reported.
    spent: float
    #: Most that those decisions may have cost whose cost was never reported.
    reserved: float
    #: Decisions made.
    decisions: int
    #: Decisions at which the safe action was forced.
    exhausted: int


@dataclass(frozen=True, kw_only=True)
class Point(Answer):
    """A policy at some moment."""

    #: Time of publication.
    time: datetime
    #: Its estimated reward.
    reward: Estimate
    #: Its optimistic reward.
    optimistic_reward: float
    #: True if the safe action was forced.
    forced: bool
    #: One entry per guardrail; of scope `overall`, certified for all segments together.
    guardrails: tuple[GuardrailPoint, ...]
    #: Lifts of the reward over the safe arm's at that time, by arm, where arms are few.
    lifts: tuple[tuple[Any, ...], ...] = ()
    #: The segment that reward, estimates and guardrails of scope `each` are of, where decisions have one.
    segment: SegmentCertificate | None = None


@dataclass(frozen=True, kw_only=True)
class PolicyEstimates(Answer):
    """Estimates of a policy: what it earns, and where it stands with every guardrail. For a relative guardrail that
    is the excess over the factor times the safe mean, as in certificates."""

    #: Its reward.
    reward: Estimate
    #: Its signal under each guardrail.
    guardrails: tuple[Estimate, ...]
    #: The safe action's own reward, if it is known.
    safe: Estimate | None


@dataclass(frozen=True, kw_only=True)
class Refusing(Answer):
    """Budget that refuses decisions, since its rest does not cover the safe action."""

    #: Guardrail whose budget it is.
    guardrail: str
    #: End of the period.
    until: datetime


@dataclass(frozen=True, kw_only=True)
class SegmentArm(Answer):
    """An arm in a segment."""

    #: Name.
    name: str
    #: Its probability.
    probability: float
    #: True if the arm is on offer.
    offered: bool
    #: Outcomes of it that arrived; `None` where outcomes are not counted by action.
    pulls: int | None
    #: Mean reward of the arm.
    reward: Estimate
    #: Its mean signal under each guardrail.
    guardrails: tuple[Estimate, ...]
    #: Its latest outcomes that bounds of each signal use, the reward's first, with drift; null for a mean that stays.
    windows: tuple[int | None, ...]


@dataclass(frozen=True, kw_only=True)
class SegmentCertificate(Answer):
    """A segment's own part of the certificate. Guardrails over all segments are certified for the whole table of
    policies; here is what this segment adds."""

    #: Name of the segment.
    name: str
    #: True if it shares the policy of rare segments: its own guardrails are then kept on average over those only.
    pooled: bool
    #: Decisions seen in it before this one.
    contexts: int
    #: Share of all decisions that had this policy.
    frequency: float
    #: Pessimistic cost of the segment's own policy under each guardrail.
    costs: tuple[float, ...]
    #: Part of each guardrail's pessimistic cost that is there because frequencies of segments are not known exactly.
    by_frequencies: tuple[float, ...]
    #: Its own pessimistic cost beyond each guardrail's over all segments, in standard units: not positive on average as
    #: long as segments come as often as certified. 0 for a guardrail in each.
    excess: tuple[float, ...]


@dataclass(frozen=True, kw_only=True)
class SegmentGuardrail(Answer):
    """A guardrail in a segment."""

    #: Name.
    name: str
    #: Decisions over which its mean is taken.
    scope: Scope
    #: Pessimistic cost of the segment's own policy.
    pessimistic_cost: float
    #: Bound on that cost with scope `each`; with scope `overall` on the mean over all segments.
    threshold: float
    #: Reward per unit of threshold: what a little more of it would earn, spent here.
    price: float


@dataclass(frozen=True, kw_only=True)
class SegmentRow(Answer):
    """A segment, or the pool of those without a policy of their own."""

    #: Name of the segment; null for the pool.
    name: str | None
    #: Decisions seen in it.
    contexts: int
    #: Share of all decisions.
    frequency: float
    #: Pessimistic cost of its policy, threshold and price under each guardrail.
    guardrails: tuple[SegmentGuardrail, ...]
    #: Probability and estimates of every arm in it.
    arms: tuple[SegmentArm, ...]
    #: Reward and guardrails of its policy.
    estimates: PolicyEstimates
    #: Names of segments that share the pool's policy, those seen most often first; not all where they are many.
    pooled: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class SolverReport(Answer):
    """The solver's part of the certificate, in reward units."""

    #: Outcome of the solve; `budget` with a `fallback`, where nothing was solved.
    status: SolverStatus
    #: Objective at the policy.
    value: float
    #: Proven upper bound on the objective of every pessimistically feasible policy.
    upper_bound: float
    #: Distance `upper_bound − value`, 0 where the policy is proven best.
    gap: float
    #: Linear problems that exact OPLB solved for its proof; 0 where a linear program is all.
    nodes: int


@dataclass(frozen=True, kw_only=True)
class WorthLeft(Answer):
    """Most that learning on could still earn (math 27): R̄ − max { π·L : π·u ≤ τ }."""

    #: Most that any policy within the guardrails earns per decision beyond `guaranteed`.
    per_decision: float
    #: Least expected reward of `policy`: the most that can be guaranteed now.
    guaranteed: float
    #: R̄: no policy that keeps the guardrails, and the floor, earns more per decision.
    at_most: float
    #: The policy that attains `guaranteed`, as (arm, probability); it keeps the guardrails by bounds in force.
    policy: tuple[tuple[Any, ...], ...]
    #: Probability with which all of it holds, at all times at once: 1 − δ − δ_o.
    confidence: float
