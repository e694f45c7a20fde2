"""Refusals before a body was read: the connection stays in step, or is closed in so many words."""

import contextlib
import re

import pytest

from .experiments import ARMS
from .server import receive_all

PATH = "/v1/experiments/arms"
#: A body that looks like requests; whoever loses count would answer them.
TRAP = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n"
JSON = "content-type: application/json\r\n"
LAST = b"GET /readyz HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"


def head(method, path, *, length, token=None, more=JSON):
    token = f"authorization: Bearer {token}\r\n" if token else ""
    return f"{method} {path} HTTP/1.1\r\nhost: localhost\r\n{token}{more}content-length: {length}\r\n\r\n".encode()


def split(said):
    """Statuses and heads of the answers on a connection."""
    heads = []
    while said:
        start, _, rest = said.partition(b"\r\n\r\n")
        length = re.search(rb"content-length: (\d+)", start)
        assert start.startswith(b"HTTP/1.1 ") and length, said[:300]
        heads.append((int(start.split(b" ", 2)[1]), start.decode().lower()))
        said = rest[int(length[1]) :]
    return heads


@pytest.fixture
def guarded(serve):
    server = serve("--require-token")
    server.tokens = server.make_tokens({"boss": "admin", "guest": "read"})
    server.token = server.tokens["boss"]
    server.post("/v1/experiments", ARMS).ok(201)
    return server


def test_the_next_request_on_a_connection_is_the_next_request(guarded):
    boss, guest = guarded.tokens["boss"], guarded.tokens["guest"]
    decisions = f"{PATH}/decisions"
    plain = "content-type: text/plain\r\n"
    csv = "content-type: text/csv\r\n"
    for method, path, token, more, expected in [
        ("POST", decisions, None, JSON, 401),
        ("POST", decisions, "wrong", JSON, 401),
        ("POST", decisions, guest, JSON, 403),
        ("POST", decisions, boss, JSON + "sec-fetch-site: cross-site\r\n", 403),
        ("POST", decisions, boss, plain, 415),
        ("POST", decisions, boss, JSON, 400),
        ("POST", "/nowhere", boss, JSON, 404),
        ("PUT", decisions, boss, JSON, 405),
        ("POST", "/v1/experiments?dry_run=maybe", boss, JSON, 400),
        ("POST", "/v1/experiments/nowhere/import", boss, csv, 404),
        ("DELETE", f"{PATH}/arms/nobody", boss, JSON, 404),
        ("GET", PATH, boss, "", 200),
    ]:
        # A few bytes are there with the head, many come later.
        for body in [TRAP, TRAP * 25_000]:
            said = guarded.raw(head(method, path, length=len(body), token=token, more=more) + body + LAST)
            heads = split(said)
            assert [status for status, _ in heads] == [expected, 200], (method, path, len(body))
            assert "connection: close" not in heads[0][1]


def test_what_is_too_long_ends_the_connection(guarded):
    """Whoever sends more than is read for nothing is told that the connection ends."""
    body = TRAP * 600_000
    with guarded.socket() as plain:
        with contextlib.suppress(OSError):
            plain.sendall(head("POST", f"{PATH}/decisions", length=len(body)) + body + LAST)
        said = receive_all(plain)
    heads = split(said)
    # If the answer came while we were still sending, it may be lost with the connection.
    assert len(heads) <= 1
    for status, text in heads:
        assert status == 401 and "connection: close" in text


def test_whoever_waits_for_a_word_is_refused_without_it(guarded):
    for length in [2, 1_000_000, 99_000_000]:
        more = JSON + "expect: 100-continue\r\n"
        for token, expected in [(None, 401), (guarded.tokens["guest"], 403)]:
            # No body is sent: nothing more comes than the one answer.
            said = guarded.raw(head("POST", f"{PATH}/decisions", length=length, token=token, more=more))
            [(status, text)] = split(said)
            assert status == expected and "connection: close" in text


def test_a_body_that_does_not_come_ends_the_connection(guarded):
    [(status, text)] = split(guarded.raw(head("POST", f"{PATH}/decisions", length=100_000) + TRAP))
    assert status == 401 and "connection: close" in text


def test_refusals_for_lack_of_a_token_say_how_to_send_one(guarded):
    for sent, error in [(None, ""), ("Basic eA==", ""), ("Bearer wrong", ', error="invalid_token"')]:
        guarded.token = None
        answer = guarded.get(PATH, headers={"authorization": sent})
        answer.problem(401)
        assert answer.headers["www-authenticate"] == f'Bearer realm="banister"{error}'
    answer = guarded.post(f"{PATH}/decisions", {}, token=guarded.tokens["guest"])
    answer.problem(403)
    assert "www-authenticate" not in answer.headers


def test_too_many_requests_keep_the_connection_in_step(serve):
    server = serve("--rate", "0.001")
    server.post("/v1/experiments", ARMS).ok(201)
    for body in [TRAP, TRAP * 25_000]:
        heads = split(server.raw(head("POST", f"{PATH}/decisions", length=len(body)) + body + LAST))
        assert [status for status, _ in heads] == [429, 200]
        assert "retry-after: " in heads[0][1]
