"""The requests of both clients: what each of them sends, and what it makes of the answer."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from . import _service_bodies as bodies
from ._log import Log
from ._log_like import LogLike
from ._service_answers import (
    ServiceAudit,
    ServiceBatch,
    ServiceDecision,
    ServiceDecisionSummary,
    ServiceExperiment,
    ServiceOutcome,
)
from ._service_bodies import segment
from ._service_errors import ServiceConflictError, ServiceError, ServiceNotFoundError
from ._service_json import agrees, decode, numbers
from ._service_log import file_from_log, log_from_csv
from ._service_retry import Answer, Attempts, Call, Lost, LostAnswer, Pace, Send, Steps
from ._service_state import ServiceHistory, ServiceState

T = TypeVar("T")
ROOT = "/v1/experiments"


class Calls:
    """Every request as steps, which a client takes."""

    def __init__(self, pace: Pace) -> None:
        self.pace = pace

    # How

    def _call(self, method: str, path: str, body: Any = None, **more: Any) -> Call:
        content = None if body is None else json.dumps(body, allow_nan=False).encode()
        headers = {"x-request-id": uuid.uuid4().hex}
        return Call(method, path, **{"content": content, "headers": headers, **more})

    def _send(self, call: Call) -> Steps[Answer]:
        return (yield from Attempts(self.pace).send(call))

    def _json(self, method: str, path: str, body: Any = None, **more: Any) -> Steps[Any]:
        answer = yield from self._send(self._call(method, path, body, **more))
        return _parsed(answer)

    def _settled(self, call: Call, name: str, done: Callable[[Any], bool]) -> Steps[Any]:
        """Sends what may be done only once. After a lost answer, looks whether it was done."""
        attempts = Attempts(self.pace)
        doubtful = False
        look = self._call("GET", _path(name))
        while True:
            try:
                return _parsed((yield from attempts.send(call)))
            except LostAnswer as error:
                doubtful = True
                lost = error
            except ServiceConflictError:
                # It may be our own earlier attempt that is in the way.
                if not doubtful:
                    raise
                known = _parsed((yield from attempts.send(look)))
                if done(known):
                    return known
                raise
            try:
                known = _parsed((yield from attempts.send(look)))
                if done(known):
                    return known
            except ServiceNotFoundError:
                pass
            yield from attempts.pause(Lost(lost.detail, sent=True), lost, lost.__cause__)

    # Experiments

    def create(self, name: str, **declared: Any) -> Steps[ServiceExperiment]:
        body = bodies.declaration(name, **declared)
        call = self._call("POST", ROOT, body, repeatable=False)
        known = yield from self._settled(call, name, lambda known: agrees(body, known))
        return decode(ServiceExperiment, known)

    def check(self, name: str, **declared: Any) -> Steps[ServiceExperiment]:
        body = bodies.declaration(name, **declared)
        known = yield from self._json("POST", ROOT, body, params={"dry_run": "true"})
        return decode(ServiceExperiment, known)

    def experiments(self) -> Steps[list[ServiceExperiment]]:
        known = yield from self._json("GET", ROOT)
        return [decode(ServiceExperiment, one) for one in _listed(known, "experiments")]

    def experiment(self, name: str) -> Steps[ServiceExperiment]:
        return decode(ServiceExperiment, (yield from self._json("GET", _path(name))))

    def update(self, name: str, **fields: Any) -> Steps[ServiceExperiment]:
        body = bodies.change(**fields)
        # An archived experiment takes no change, not even the same once more.
        again = body.get("status") != "archived"
        call = self._call("PATCH", _path(name), body, repeatable=again)
        known = yield from self._settled(call, name, lambda known: agrees(body, known))
        return decode(ServiceExperiment, known)

    def add_arm(self, name: str, arm: str, features: Any = None) -> Steps[ServiceExperiment]:
        body: dict[str, Any] = {"name": arm}
        if features is not None:
            body["features"] = numbers(features, "features")
        wanted = {**body, "offered": True}
        call = self._call("POST", f"{_path(name)}/arms", body, repeatable=False)
        known = yield from self._settled(call, name, lambda known: _has_arm(known, wanted))
        return decode(ServiceExperiment, known)

    def retire_arm(self, name: str, arm: str) -> Steps[ServiceExperiment]:
        path = f"{_path(name)}/arms/{segment(arm, 'arm')}"
        call = self._call("DELETE", path, repeatable=False)
        wanted = {"name": arm, "offered": False}
        known = yield from self._settled(call, name, lambda known: _has_arm(known, wanted))
        return decode(ServiceExperiment, known)

    def acknowledge(self, name: str, note: str) -> Steps[ServiceExperiment]:
        # What is acknowledged already changes nothing, so asking again does no harm.
        known = yield from self._json("POST", f"{_path(name)}/alarms:acknowledge", {"note": note})
        return decode(ServiceExperiment, known)

    # Decisions and outcomes

    def decide(self, name: str, **request: Any) -> Steps[ServiceDecision]:
        body = bodies.decision_request(**request)
        known = yield from self._json("POST", f"{_path(name)}/decisions", body)
        return decode(ServiceDecision, known)

    def decide_batch(
        self, name: str, requests: int | Iterable[Mapping[str, Any]]
    ) -> Steps[ServiceBatch[ServiceDecision]]:
        entries = bodies.decision_requests(requests)
        path = f"{_path(name)}/decisions:batch"
        return (yield from self._batch(path, "decision", entries, ServiceDecision))

    def report(
        self, decision: ServiceDecision | str, id: str | None, **outcome: Any
    ) -> Steps[ServiceOutcome]:
        if isinstance(decision, ServiceDecision):
            if id is not None:
                raise TypeError(f"`id` is {id!r}: the decision that is given has one already")
            name, which = decision.experiment, decision
        elif id is None:
            raise TypeError("`id` is missing: give a decision, or an experiment and the id")
        else:
            name, which = decision, id  # type: ignore[assignment]
        body = bodies.outcome_report(which, **outcome)
        known = yield from self._json("POST", f"{_path(name)}/outcomes", body)
        return decode(ServiceOutcome, known)

    def report_batch(
        self, name: str, outcomes: Iterable[Mapping[str, Any]]
    ) -> Steps[ServiceBatch[ServiceOutcome]]:
        entries = bodies.outcome_reports(outcomes)
        path = f"{_path(name)}/outcomes:batch"
        return (yield from self._batch(path, "outcome", entries, ServiceOutcome))

    def _batch(
        self, path: str, key: str, entries: list[dict[str, Any]], kind: type[T]
    ) -> Steps[ServiceBatch[T]]:
        """The results of all entries, in as many requests as it takes."""
        results: list[T | ServiceError] = []
        for piece in bodies.pieces(entries):
            content = b'{"%ss":[%s]}' % (key.encode(), b",".join(piece))
            known = yield from self._json("POST", path, content=content)
            results += _results(known, key, kind, len(piece))
        return ServiceBatch(results)

    def decision(self, name: str, id: str) -> Steps[ServiceAudit]:
        path = f"{_path(name)}/decisions/{segment(id, 'id')}"
        return decode(ServiceAudit, (yield from self._json("GET", path)))

    def decisions(
        self, name: str, limit: int, before: int | None
    ) -> Steps[list[ServiceDecisionSummary]]:
        params = {"limit": str(limit)} | ({} if before is None else {"before": str(before)})
        known = yield from self._json("GET", f"{_path(name)}/decisions", params=params)
        return [decode(ServiceDecisionSummary, one) for one in _listed(known, "decisions")]

    # What is known

    def state(self, name: str) -> Steps[ServiceState]:
        return decode(ServiceState, (yield from self._json("GET", f"{_path(name)}/state")))

    def history(self, name: str) -> Steps[ServiceHistory]:
        return decode(ServiceHistory, (yield from self._json("GET", f"{_path(name)}/history")))

    def export(self, name: str, format: Literal["csv", "parquet"]) -> Steps[bytes]:
        if format not in ("csv", "parquet"):
            raise ValueError(f"`format` is {format!r}: must be 'csv' or 'parquet'")
        call = self._call("GET", f"{_path(name)}/export", params={"format": format})
        return (yield from self._send(call)).content

    def export_log(self, name: str, features: Sequence[str] | None) -> Steps[Log]:
        experiment = yield from self.experiment(name)
        return log_from_csv((yield from self.export(name, "csv")), experiment, features)

    def import_log(self, name: str, log: LogLike | bytes) -> Steps[int]:
        content, kind = file_from_log(log)
        more = {"content": content, "content_type": kind, "repeatable": False, "long": True}
        try:
            known = yield from self._json("POST", f"{_path(name)}/import", **more)
        except LostAnswer as error:
            raise LostAnswer(
                f"{error.detail}; whether the log was imported is not known, and it was not sent "
                f"again: see `experiment({name!r}).counts.imported`",
                status=error.status,
                request_id=error.request_id,
            ) from error
        outcomes: int = known["outcomes"]
        return outcomes

    def is_well(self, path: str) -> Steps[bool]:
        """One attempt: whether the service says yes."""
        result = yield Send(self._call("GET", path), self.pace.timeout)
        return isinstance(result, Answer) and result.status == 200


def _path(name: str) -> str:
    return f"{ROOT}/{segment(name, 'name')}"


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.content)
    except ValueError:
        start = answer.content[:200].decode("utf-8", "replace")
        raise ServiceError(
            f"the answer is not JSON, so not of the service: {start!r}", status=answer.status
        ) from None


def _listed(known: Any, key: str) -> list[Any]:
    found = known.get(key) if isinstance(known, dict) else None
    if not isinstance(found, list):
        raise ServiceError(f"the service's answer is not understood: there is no list {key!r}")
    return found


def _results(known: Any, key: str, kind: type[T], count: int) -> list[T | ServiceError]:
    entries = _listed(known, "results")
    if len(entries) != count:
        raise ServiceError(f"the service answered {len(entries)} results to a batch of {count}")
    return [
        decode(kind, entry[key])
        if key in entry
        else ServiceError.from_problem(entry.get("problem") or {}, entry.get("status"))
        for entry in entries
    ]


def _has_arm(known: Any, wanted: dict[str, Any]) -> bool:
    return any(agrees(wanted, arm) for arm in known["arms"])
