"""Every request of the clients: what it sends, how it reads the answer, and when it looks again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from numpy.typing import ArrayLike

from .._features import Features
from ..offline.log import Log, LogLike
from . import bodies
from .answers import Batch
from .bodies import UNCHANGED, BudgetLike, CostsLike, Declaration, SegmentLike, segment
from .calls import ROOT, Calls, has_arm, listed, make_call, path
from .codec import decode, numbers
from .log_files import file_from_log, log_from_csv
from .retry import LostAnswer, Steps
from .transport import request
from .types import (
    Audit,
    Decision,
    DecisionSummary,
    Experiment,
    ExperimentReport,
    ExperimentState,
    Health,
    History,
    Imported,
    Lifts,
    OutcomeAnswer,
    SegmentRow,
)

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Api(Calls):
    """The methods of both clients."""

    # Experiments

    @request
    def create(self, name: str, **declaration: Unpack[Declaration]) -> Steps[Experiment]:
        """Creates an experiment. If the answer is lost, looks whether the experiment is there.

        Parameters:
            name: letters, digits, `.`, `_` and `-`.
            arms: their names; or dictionaries with `name` and `features`; or features by name.
            safe: the safe arm; the first unless given.
            guardrails: `banister.Guardrail` objects or dictionaries with their keys.
            context: how many numbers the context of every decision has, or its `Features`.
            dimension: instead of arms, number of features of the actions that a decision brings.
            safe_action: with `dimension`, the features of the safe action.
            segments: names of segments with their own policies from the start; or a dictionary with the `fields`
                that segments are made from, and those `known`. Every decision then brings its `segment`.
            reward: a `banister.Reward` or a dictionary with its keys; in [0, 1] unless given.
            signals: ranges by name, `{"input_tokens": [0, 8000]}`, of what guardrails with `weights` are sums of.
            confidence: of all guardrails at all times, such as 0.99.
            agent: a kind, a dictionary with `kind` and parameters, or an agent of this package.
            description: a line for people.
            shadow: True to record what the agent would do, while you decide.
            ttl_seconds: outcomes are learned this long after their decisions, in the order of decisions.
            default_outcome: `{"reward": 0, "costs": {name: 0}}`, for those that never come; without it they
                are counted as missing.
            budgets: `{"spend": {"amount": 50, "per": "day"}}`, most that decisions may cost in sum, by guardrail;
                also `when_exhausted` ("safe" or "refuse") and `pacing`. A list of them, where their periods differ.
            unit: what is randomised and learned once, `{"name": "user", "period": "7d"}`.
            stop_when: `{"worth_left": 0.001}`, when to settle on a policy.
            rollout: when it runs, and how much of the traffic may leave the safe arm.
            flag: `{}` or its `values` and `events`, to evaluate it with OpenFeature.
            a_a: True if all arms are the same.
        """
        body = bodies.declaration(name, **declaration)
        return (yield from self._change(name, make_call("POST", ROOT, body, repeatable=False), body))

    @request
    def check(self, name: str, **declaration: Unpack[Declaration]) -> Steps[Experiment]:
        """Checks a declaration as `create` does, and returns the experiment that it would create."""
        body = bodies.declaration(name, **declaration)
        known = yield from self._json("POST", ROOT, body, params={"dry_run": "true"})
        return decode(Experiment, known)

    @request
    def experiments(self) -> Steps[list[Experiment]]:
        """Returns all experiments, oldest first, in as many requests as it takes."""
        found: list[Experiment] = []
        params: dict[str, str] = {}
        while True:
            known = yield from self._json("GET", ROOT, params=params)
            found += [decode(Experiment, one) for one in listed(known, "experiments")]
            if known.get("next") is None:
                return found
            params = {"after": known["next"]}

    @request
    def experiment(self, name: str) -> Steps[Experiment]:
        """Returns one experiment."""
        return decode(Experiment, (yield from self._json("GET", path(name))))

    @request
    def update(
        self,
        name: str,
        *,
        description: str = UNCHANGED,
        status: Literal["running", "paused", "archived"] = UNCHANGED,
        shadow: bool = UNCHANGED,
        ttl_seconds: float | None = UNCHANGED,
        default_outcome: Mapping[str, Any] | None = UNCHANGED,
        budgets: Mapping[str, BudgetLike] | None = UNCHANGED,
        on_breach: Literal["safe", "relearn", "alert"] = UNCHANGED,
        stop_when: Mapping[str, float] | None = UNCHANGED,
        settled: bool = UNCHANGED,
        rollout: Mapping[str, Any] | None = UNCHANGED,
    ) -> Steps[Experiment]:
        """Changes what is given; `ttl_seconds=None` removes the time to live, `budgets` and `rollout` are replaced.

        `on_breach` is the reaction to alarms from now on; "relearn" only where it was declared.
        """
        fields = {
            "description": description,
            "status": status,
            "shadow": shadow,
            "ttl_seconds": ttl_seconds,
            "default_outcome": default_outcome,
            "budgets": budgets,
            "on_breach": on_breach,
            "stop_when": stop_when,
            "settled": settled,
            "rollout": rollout,
        }
        return (yield from self._patch(name, bodies.change(**fields)))

    @request
    def pause(self, name: str) -> Steps[Experiment]:
        """Makes every decision the safe action; outcomes are still learned from."""
        return (yield from self._patch(name, {"status": "paused"}))

    @request
    def resume(self, name: str) -> Steps[Experiment]:
        """Ends a pause."""
        return (yield from self._patch(name, {"status": "running"}))

    @request
    def archive(self, name: str) -> Steps[Experiment]:
        """Ends an experiment for good. It can still be looked at and exported."""
        return (yield from self._patch(name, {"status": "archived"}))

    @request
    def add_arm(
        self,
        name: str,
        arm: str,
        features: ArrayLike | None = None,
        ranges: Mapping[str, ArrayLike] | None = None,
        weights: Mapping[str, Mapping[str, float]] | None = None,
    ) -> Steps[Experiment]:
        """Offers one more arm; where ranges are by arm, with its own by signal: "reward", or a guardrail.

        Where weights are by arm, with its own by guardrail, then by signal.

        One that was retired is offered again, with all that is known of it.
        """
        body: dict[str, Any] = {"name": arm}
        if features is not None:
            body["features"] = numbers(features, "features")
        wanted = {**body, "offered": True}
        if ranges is not None:
            body["ranges"] = {signal: numbers(ends, f"ranges.{signal}") for signal, ends in ranges.items()}
        if weights is not None:
            body["weights"] = weights
        call = make_call("POST", f"{path(name)}/arms", body, repeatable=False)
        return (yield from self._change(name, call, wanted, has_arm))

    @request
    def retire_arm(self, name: str, arm: str) -> Steps[Experiment]:
        """Stops offering an arm; its estimates are kept."""
        call = make_call("DELETE", f"{path(name)}/arms/{segment(arm, 'arm')}", repeatable=False)
        return (yield from self._change(name, call, {"name": arm, "offered": False}, has_arm))

    @request
    def forget_arm(self, name: str, arm: str) -> Steps[Experiment]:
        """Forgets what was learned of an arm that is known to have changed."""
        # To forget twice loses what came in between, which is little, so it is sent again without a look.
        known = yield from self._json("POST", f"{path(name)}/arms/{segment(arm, 'arm')}/forget")
        return decode(Experiment, known)

    @request
    def set_weights(self, name: str, arm: str, weights: Mapping[str, Mapping[str, float]]) -> Steps[Experiment]:
        """Tells other weights of an arm, such as prices, by guardrail and signal, from the next decision on."""
        # To tell the same twice changes nothing, so it is sent again without a look.
        known = yield from self._json("PUT", f"{path(name)}/arms/{segment(arm, 'arm')}/weights", weights)
        return decode(Experiment, known)

    @request
    def acknowledge(self, name: str, note: str = "") -> Steps[Experiment]:
        """Clears the alarms of an experiment, once a person has seen them; the note goes to the log."""
        # To acknowledge twice changes nothing, so it is sent again without a look.
        known = yield from self._json("POST", f"{path(name)}/alarms:acknowledge", {"note": note})
        return decode(Experiment, known)

    # Decisions and outcomes

    @request
    def decide(
        self,
        name: str,
        *,
        id: str | None = None,
        unit: str | None = None,
        context: ArrayLike | Mapping[str, object] | None = None,
        segment: SegmentLike | None = None,
        actions: ArrayLike | Mapping[str, ArrayLike] | Sequence[Mapping[str, Any]] | None = None,
        taken: str | None = None,
        propensity: float | None = None,
    ) -> Steps[Decision]:
        """Returns a decision.

        Parameters:
            name: the experiment.
            id: your own name for this decision, such as the order's number. The same request with the
                same id gets the same decision; without one, the client makes one up.
            unit: who the decision is for, such as the user, where the experiment declares a unit.
            context: the numbers of this occasion, or its values by field.
            segment: the segment of users or requests: its name, or a value of every field.
            actions: the candidates: rows of features, features by name, or dictionaries with `name`
                and `features`.
            taken: in shadow mode, the action that you play.
            propensity: in shadow mode, the probability with which you play it.
        """
        body = bodies.decision_request(
            id=id, unit=unit, context=context, actions=actions, segment=segment, taken=taken, propensity=propensity
        )
        known = yield from self._json("POST", f"{path(name)}/decisions", body)
        return decode(Decision, known)

    @request
    def decide_batch(self, name: str, requests: int | Iterable[Mapping[str, Any]]) -> Steps[Batch[Decision]]:
        """Returns many decisions: a number of them, or a dictionary of `decide`'s arguments for each.

        A request that is refused does not hold up the others; its place in the batch raises its error.
        Every thousand is a request to the service of its own.
        """
        entries = bodies.decision_requests(requests)
        where = f"{path(name)}/decisions:batch"
        return (yield from self._batch(where, "decision", entries, Decision))

    @request
    def report(
        self,
        decision: Decision | Audit | str,
        id: str | None = None,
        *,
        unit: str | None = None,
        report: str | None = None,
        reward: float | None = None,
        costs: CostsLike | None = None,
        signals: Mapping[str, float] | None = None,
        taken: str | None = None,
    ) -> Steps[OutcomeAnswer]:
        """Reports an outcome, however late; what is not known yet may be reported later.

        Parameters:
            decision: the decision; or the experiment's name, with the decision's `id`.
            id: the decision's id, if only the experiment's name is given.
            unit: or the unit that it is for.
            report: an id of this report, where reports on a unit add up: with the same id it counts once. Without
                one, the client makes one up.
            reward: the reward.
            costs: by guardrail; for a decision also in the order of the guardrails, or the number of a
                single one.
            signals: declared signals by name, the reward's among them.
            taken: in shadow mode, the action that you played.
        """
        if unit is not None and isinstance(decision, str):
            name, which = decision, ""
        else:
            name, which = bodies.decision_of(decision, id)
        body = bodies.outcome_report(
            decision if id is None and unit is None else which,
            unit=unit,
            report=report,
            reward=reward,
            costs=costs,
            signals=signals,
            taken=taken,
        )
        known = yield from self._json("POST", f"{path(name)}/outcomes", body)
        return decode(OutcomeAnswer, known)

    @request
    def cancel(self, decision: Decision | Audit | str, id: str | None = None) -> Steps[None]:
        """Says that a decision was never carried out: it counts as missing, and its budgets get its reservation back.

        Parameters:
            decision: the decision; or the experiment's name, with the decision's `id`.
            id: the decision's id, if only the experiment's name is given.
        """
        name, which = bodies.decision_of(decision, id)
        yield from self._json("POST", f"{path(name)}/decisions/{segment(which, 'id')}/cancel")

    @request
    def report_batch(self, name: str, outcomes: Iterable[Mapping[str, Any]]) -> Steps[Batch[OutcomeAnswer]]:
        """Reports many outcomes: dictionaries with `decision` or `unit`, `reward`, `costs`, `signals`, `taken`.

        A report that is refused does not hold up the others; its place in the batch raises its error.
        Every thousand is a request to the service of its own.
        """
        entries = bodies.outcome_reports(outcomes)
        where = f"{path(name)}/outcomes:batch"
        return (yield from self._batch(where, "outcome", entries, OutcomeAnswer))

    @request
    def decision(self, name: str, id: str) -> Steps[Audit]:
        """Returns a decision with the estimates it rested on, its outcome and its events."""
        where = f"{path(name)}/decisions/{segment(id, 'id')}"
        return decode(Audit, (yield from self._json("GET", where)))

    @request
    def decisions(self, name: str, *, limit: int = 50, before: int | None = None) -> Steps[list[DecisionSummary]]:
        """Returns the last decisions, newest first; those before a `number`, to page on."""
        params = {"limit": str(limit)} | ({} if before is None else {"before": str(before)})
        known = yield from self._json("GET", f"{path(name)}/decisions", params=params)
        return [decode(DecisionSummary, one) for one in listed(known, "decisions")]

    # State, history and logs

    @request
    def state(self, name: str) -> Steps[ExperimentState]:
        """Returns the live state: policy, certificate, estimates, arms, and any alarm."""
        return decode(ExperimentState, (yield from self._json("GET", f"{path(name)}/state")))

    @request
    def lift(self, name: str, *, form: Literal["constant", "concurrent"] = "constant") -> Steps[Lifts]:
        """Returns what every arm is worth against the safe one, with intervals at all times, and what is left to learn.

        `concurrent` assumes nothing of the means, and reads the log again.
        """
        return decode(Lifts, (yield from self._json("GET", f"{path(name)}/lift", params={"form": form})))

    @request
    def health_of(self, name: str) -> Steps[Health]:
        """Returns whether the numbers can be trusted: each assumption with a light and a reason."""
        return decode(Health, (yield from self._json("GET", f"{path(name)}/health")))

    @request
    def report_on(self, name: str) -> Steps[ExperimentReport]:
        """Returns the report on an experiment for people; the service has it as a page to print, too."""
        return decode(ExperimentReport, (yield from self._json("GET", f"{path(name)}/report")))

    @request
    def segments(self, name: str, *, limit: int = 50, offset: int = 0) -> Steps[list[SegmentRow]]:
        """Returns segments with the policy in each, the most frequent first, the pool of all others last."""
        params = {"limit": str(limit), "offset": str(offset)}
        known = yield from self._json("GET", f"{path(name)}/segments", params=params)
        return [decode(SegmentRow, one) for one in listed(known, "segments")]

    @request
    def history(self, name: str, *, segment: str | None = None) -> Steps[History]:
        """Returns the estimates over time, of one segment or of all, and counts by minute."""
        params = {} if segment is None else {"segment": segment}
        return decode(History, (yield from self._json("GET", f"{path(name)}/history", params=params)))

    @request
    def export(self, name: str, *, format: Literal["csv", "parquet"] = "parquet") -> Steps[bytes]:
        """Returns the experiment's log as a file."""
        return (yield from self._export(name, format))

    @request
    def export_log(self, name: str, *, features: Sequence[str] | Features | None = None) -> Steps[Log]:
        """Returns the complete outcomes as a log, for `banister.offline.evaluate`, `replay` and `warm_start`.

        `features`: columns of the exported file that were known before the decision, such as
        `context_0`; or the `Features` of its contexts. Without all propensities, as in shadow mode, the log has none.
        """
        experiment = decode(Experiment, (yield from self._json("GET", path(name))))
        return log_from_csv((yield from self._export(name, "csv")), experiment, features)

    @request
    def import_log(
        self, name: str, log: LogLike | bytes, *, frequencies: Literal["unknown", "same"] = "unknown"
    ) -> Steps[Imported]:
        """Learns every outcome of a log: a `Log`, a frame, or a CSV or Parquet file's bytes (sent as CSV).

        `frequencies`: as in `banister.offline.warm_start`. It may take until the client's `deadline`, and is not
        sent again if the answer is lost.
        """
        content, kind = file_from_log(log)
        more = {"content": content, "content_type": kind, "repeatable": False, "long": True}
        if frequencies != "unknown":
            more["params"] = {"frequencies": frequencies}
        try:
            known = yield from self._json("POST", f"{path(name)}/import", **more)
        except LostAnswer as error:
            raise LostAnswer(
                f"{error.detail}; whether the log was imported is not known, and it was not sent "
                f"again: see `experiment({name!r}).counts.imported`",
                status=error.status,
                request_id=error.request_id,
            ) from error
        return decode(Imported, known)

    @request
    def health(self) -> Steps[bool]:
        """Returns True if the service answers; asks once, and is False if it cannot be reached."""
        return (yield from self._probe("/healthz"))

    @request
    def ready(self) -> Steps[bool]:
        """Returns True if the service takes requests; asks once, False if it cannot be reached."""
        return (yield from self._probe("/readyz"))
