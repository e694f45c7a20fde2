"""Steps that several requests share: JSON, batches, and changes that must not happen twice."""

from __future__ import annotations

import json
import uuid
from collections.abc import Callable
from typing import Any, TypeVar

from . import bodies
from .answers import Batch
from .codec import agrees, decode
from .errors import ConflictError, NotFoundError, ServiceError
from .retry import Answer, Attempts, Call, Lost, LostAnswer, Pace, Send, Steps
from .types import Experiment

T = TypeVar("T")
ROOT = "/v1/experiments"


class Calls:
    """Exchanges with the service as steps, which a transport carries out."""

    _pace: Pace

    def _json(self, method: str, path: str, body: Any = None, **more: Any) -> Steps[Any]:
        answer = yield from Attempts(self._pace).send(make_call(method, path, body, **more))
        return _parsed(answer)

    def _change(
        self,
        name: str,
        call: Call,
        wanted: Any,
        is_done: Callable[[Any, Any], bool] = agrees,
    ) -> Steps[Experiment]:
        """Sends what may be done only once. After a lost answer, looks whether it was done."""
        attempts = Attempts(self._pace)
        is_doubtful = False
        look = make_call("GET", path(name))
        while True:
            try:
                return decode(Experiment, _parsed((yield from attempts.send(call))))
            except LostAnswer as error:
                is_doubtful = True
                lost = error
            except ConflictError:
                # It may be our own earlier attempt that is in the way.
                if not is_doubtful:
                    raise
                known = _parsed((yield from attempts.send(look)))
                if is_done(wanted, known):
                    return decode(Experiment, known)
                raise
            try:
                known = _parsed((yield from attempts.send(look)))
                if is_done(wanted, known):
                    return decode(Experiment, known)
            except NotFoundError:
                pass
            yield from attempts.pause(Lost(lost.detail, sent=True), lost, lost.__cause__)

    def _patch(self, name: str, body: dict[str, Any]) -> Steps[Experiment]:
        # An archived experiment takes no change, not even the same once more.
        again = body.get("status") != "archived"
        call = make_call("PATCH", path(name), body, repeatable=again)
        return (yield from self._change(name, call, body))

    def _batch(self, path: str, key: str, entries: list[dict[str, Any]], kind: type[T]) -> Steps[Batch[T]]:
        """Sends all entries, in as many requests as it takes."""
        results: list[T | ServiceError] = []
        for piece in bodies.pieces(entries):
            known = yield from self._json("POST", path, content=batch_content(key, piece))
            results += batch_results(known, key, kind, len(piece))
        return Batch(results)

    def _export(self, name: str, format: str) -> Steps[bytes]:
        if format not in ("csv", "parquet"):
            raise ValueError(f"`format` is {format!r}: must be 'csv' or 'parquet'")
        call = make_call("GET", f"{path(name)}/export", params={"format": format})
        return (yield from Attempts(self._pace).send(call)).content

    def _probe(self, path: str) -> Steps[bool]:
        result = yield Send(make_call("GET", path), self._pace.timeout)
        return isinstance(result, Answer) and result.status == 200


def make_call(method: str, path: str, body: Any = None, **more: Any) -> Call:
    content = None if body is None else json.dumps(body, allow_nan=False).encode()
    headers = {"x-request-id": uuid.uuid4().hex}
    return Call(method, path, **{"content": content, "headers": headers, **more})


def path(name: str) -> str:
    """Returns the path of an experiment."""
    return f"{ROOT}/{bodies.segment(name, 'name')}"


def _parsed(answer: Answer) -> Any:
    try:
        return json.loads(answer.content)
    except ValueError:
        start = answer.content[:200].decode("utf-8", "replace")
        raise ServiceError(f"the answer is not JSON, so not of the service: {start!r}", status=answer.status) from None


def listed(known: Any, key: str) -> list[Any]:
    found = known.get(key) if isinstance(known, dict) else None
    if not isinstance(found, list):
        raise ServiceError(f"the service's answer is not understood: there is no list {key!r}")
    return found


def batch_content(key: str, piece: list[bytes]) -> bytes:
    """Returns the body of a batch of entries."""
    return b'{"%ss":[%s]}' % (key.encode(), b",".join(piece))


def batch_results(known: Any, key: str, kind: type[T], count: int) -> list[T | ServiceError]:
    """Returns the results of a batch of entries, in their order."""
    entries = listed(known, "results")
    if len(entries) != count:
        raise ServiceError(f"the service answered {len(entries)} results to a batch of {count}")
    return [
        decode(kind, entry[key])
        if key in entry
        else ServiceError.from_problem(entry.get("problem") or {}, entry.get("status"))
        for entry in entries
    ]


def has_arm(wanted: dict[str, Any], known: Any) -> bool:
    return any(agrees(wanted, arm) for arm in known["arms"])
