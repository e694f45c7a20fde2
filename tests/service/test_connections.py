"""Callers who speak HTTP badly, slowly, or not at all, while others are served."""

import contextlib
import http.client
import re
import socket
import threading

import pytest

from .callers import many_files, never_reading, requests
from .experiments import ARMS, create_all
from .server import LONG, banisterd, receive_all, wait_for

PATH = "/v1/experiments/arms"
HEAD = f"POST {PATH}/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n".encode()
#: Less than the server waits for heads unless it is told.
PATIENCE = 40


def status(said):
    return int(said.split(b" ", 2)[1]) if said else None


@pytest.fixture
def server(serve):
    before = serve()
    create_all(before)
    assert before.stop() == 0
    server = serve("--timeout", "2", data_dir=before.data_dir)
    yield server
    assert server.process.poll() is None
    assert "panicked" not in server.log()
    assert server.post(f"{PATH}/decisions", {}).status == 200


def test_chunked_bodies(server):
    def send(chunks, end=b"0\r\n\r\n"):
        body = b"".join(b"%x\r\n%s\r\n" % (len(chunk), chunk) for chunk in chunks)
        return server.raw(HEAD + b"transfer-encoding: chunked\r\nconnection: close\r\n\r\n" + body + end)

    assert status(send([b"{", b'"id":', b'"chunks"', b"}"])) == 200
    assert server.get(f"{PATH}/decisions/chunks").status == 200
    assert status(send([b'{"id":'])) == 400
    assert status(send([b" " * 100_000] * 30)) == 413
    # A length that is none, and an end that does not come: closed, and never taken for a request.
    broken = server.raw(HEAD + b"transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n")
    assert status(broken) in (400, None)
    assert status(send([b'{"id":"endless"}'], end=b"")) in (400, 408, 503)
    assert server.get(f"{PATH}/decisions/endless").status == 404


def test_a_length_that_is_too_long_is_refused_at_once(server):
    """Whoever asks before sending much is told not to."""
    with server.socket() as plain:
        plain.sendall(HEAD + b"expect: 100-continue\r\ncontent-length: 99000000\r\n\r\n")
        assert status(plain.recv(1000)) == 413
    with server.socket() as plain:
        plain.sendall(HEAD + b"expect: 100-continue\r\ncontent-length: 2\r\n\r\n")
        assert status(plain.recv(1000)) == 100
        plain.sendall(b"{}")
        assert status(plain.recv(1000)) == 200


def test_half_sent_bodies(server):
    before = server.get(PATH).ok(200)["counts"]["decisions"]
    for finish in [True, False]:
        said = server.raw(HEAD + b'content-length: 100\r\n\r\n{"id":"half"', finish=finish)
        assert status(said) in (400, 408, 503, None)
    # Gone before the answer: whatever was decided is in the log, and nobody else notices.
    for i in range(20):
        with server.socket() as plain:
            plain.sendall(HEAD + b'content-length: 13\r\n\r\n{"id":"g-%03d"}' % i)
    server.post(f"{PATH}/decisions", {"id": "another"}).ok(200)
    after = server.get(PATH).ok(200)["counts"]["decisions"]
    assert before + 1 <= after <= before + 21
    assert server.get(f"{PATH}/decisions/half").status == 404


def test_heads_that_are_none(server):
    for head in [
        b"\0" * 100,
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nno colon\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: localhost\r\nx: " + b"y" * 1_000_000 + b"\r\n\r\n",
        b"GET /" + b"x" * 1_000_000 + b" HTTP/1.1\r\nhost: localhost\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 10_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" * 20,
        HEAD + b"content-length: -1\r\n\r\n",
        HEAD + b"content-length: x\r\n\r\n",
        HEAD + b"content-length: 99999999999999999999999\r\n\r\n",
        HEAD + b"content-length: 2\r\ncontent-length: 3\r\n\r\n{}",
    ]:
        assert status(server.raw(head, finish=True)) in (400, 404, 414, 431, None), head[:80]


def test_heads_without_their_one_host(server):
    # RFC 9112, 3.2: every request of HTTP/1.1 says it once; HTTP/1.0 did not know it.
    end = b"\r\nconnection: close\r\n\r\n"
    for path in [b"/healthz", b"/v1/experiments", b"/nowhere"]:
        assert status(server.raw(b"GET " + path + b" HTTP/1.1" + end)) == 400
        assert status(server.raw(b"GET " + path + b" HTTP/1.1\r\nhost: a\r\nhost: localhost" + end)) == 400
    assert status(server.raw(b"GET /healthz HTTP/1.0" + end)) == 200


def test_encoded_bodies_are_refused(server):
    for encoding in ["gzip", "br", "identity, gzip", "x"]:
        refused = server.post(f"{PATH}/decisions", {}, headers={"content-encoding": encoding})
        assert refused.problem(415, "content-encoding")["value"] == encoding
        refused = server.post(f"{PATH}/import", b"", headers={"content-encoding": encoding})
        assert refused.problem(415, "content-encoding")
    server.post(f"{PATH}/decisions", {}, headers={"content-encoding": "identity"}).ok(200)


def test_requests_cannot_be_smuggled(server):
    """Both ways to say how long a body is: what follows is no second request."""
    inner = b"GET /v1/experiments HTTP/1.1\r\nhost: localhost\r\n\r\n"
    lengths = b"content-length: %d\r\ntransfer-encoding: chunked\r\n\r\n" % (5 + len(inner))
    said = server.raw(HEAD + lengths + b"0\r\n\r\n" + inner, finish=True)
    # Refused, or the chunks weigh more and the connection is not used again (RFC 9112, 6.3).
    assert said.count(b"HTTP/1.1 ") == 1 and b'"experiments"' not in said


def test_many_requests_on_one_connection(server):
    one = f"GET {PATH} HTTP/1.1\r\nhost: localhost\r\n\r\n".encode()
    last = f"GET {PATH} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode()
    assert server.raw(one * 99 + last).count(b"HTTP/1.1 200 OK") == 100


def test_idle_connections_do_not_keep_others_out(serve):
    count = 2000 if LONG else 500
    with many_files(count + 200):
        server = serve()
        server.post("/v1/experiments", ARMS).ok(201)
        idle = []
        try:
            for i in range(count):
                plain = server.socket()
                idle.append(plain)
                # Some say nothing, some a part of a head, some a part of a body.
                plain.sendall([b"", b"GET / HT", HEAD + b"content-length: 10\r\n\r\n{"][i % 3])
            for i in range(100):
                server.post(f"{PATH}/decisions", {"id": str(i)}).ok(200)
            assert server.get("/readyz").status == 200
        finally:
            [plain.close() for plain in idle]
    assert server.stop() == 0


def cut(server):
    found = re.search(r"^banister_connections_cut_total (\d+)$", server.get("/metrics").body.decode(), re.MULTILINE)
    return int(found[1])


def test_callers_who_never_read_do_not_keep_others_out(serve):
    """More of them than there are descriptors."""
    few = ["sh", "-c", 'ulimit -n 256; exec "$0" "$@"']
    with many_files(700):
        server = serve(prefix=few)
        server.post("/v1/experiments", ARMS).ok(201)
        kept = server.connect()
        server.post(f"{PATH}/decisions", {}, connection=kept).ok(200)
        stalled = never_reading(server, requests("/"), 400)
        try:
            for i in range(50):
                server.post(f"{PATH}/decisions", {"id": str(i)}).ok(200)
                server.post(f"{PATH}/decisions", {}, connection=kept).ok(200)
            assert server.get("/readyz").status == 200
            assert cut(server) > 100
        finally:
            kept.close()
            [plain.close() for plain in stalled]
    assert server.stop() == 0


def test_an_answer_that_is_not_read_ends_its_connection(serve):
    server = serve("--timeout", "1")
    before = cut(server)
    count = 50
    (stalled,) = never_reading(server, requests("/", count), 1)
    with stalled:
        wait_for(lambda: cut(server) == before + 1, "end of the connection")
        # What the system had taken already comes, and then the end.
        assert receive_all(stalled).count(b"HTTP/1.1 200") < count
    # Who reads, however slowly, gets all of it.
    with server.socket() as slow:
        slow.sendall(requests("/", count - 1) + requests("/").replace(b"\r\n\r\n", b"\r\nconnection: close\r\n\r\n", 1))
        assert receive_all(slow).count(b"HTTP/1.1 200") == count
    assert cut(server) == before + 1


def test_connections_of_one_address_are_bounded(serve):
    server = serve("--max-address-connections", "5")
    before = cut(server)
    idle = [server.socket() for _ in range(5)]

    def is_served():
        with contextlib.suppress(OSError, http.client.HTTPException):
            return server.get("/readyz").status == 200 and cut(server) > before

    try:
        # Beyond the bound the one gives way that has been silent longest; a new one is refused before that.
        wait_for(is_served, "place, and one cut for it")
    finally:
        [plain.close() for plain in idle]


def test_stalled_exports_do_not_keep_others_from_reading(serve):
    server = serve("--timeout", "3")
    server.post("/v1/experiments", ARMS).ok(201)
    for _ in range(30):
        server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 1000}).ok(200)
    id = server.get(f"{PATH}/decisions?limit=1").ok(200)["decisions"][0]["id"]
    stalled = []
    with many_files(700):
        try:
            for _ in range(520):
                plain = socket.socket()
                stalled.append(plain)
                plain.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                plain.settimeout(30)
                plain.connect(("127.0.0.1", server.port))
                plain.sendall(f"GET {PATH}/export HTTP/1.1\r\nhost: localhost\r\n\r\n".encode())
            # Each has an answer begun, or a refusal.
            heads = {status(plain.recv(100)) for plain in stalled}
            assert heads <= {200, 429, 503}
            for _ in range(5):
                assert server.get(f"{PATH}/decisions/{id}").ok(200)["id"] == id
                assert server.get(f"{PATH}/decisions?limit=3").ok(200)["decisions"]
                server.post(f"{PATH}/decisions", {}).ok(200)
        finally:
            [plain.close() for plain in stalled]
    # And with them gone, exports work again.
    wait_for(lambda: server.get(f"{PATH}/export").status == 200, "export")


def test_the_idle_timeout_has_bounds(tmp_path):
    for given in ["0", "4000", "nan"]:
        done = banisterd("serve", "--data-dir", tmp_path, "--idle-timeout", given, check=False)
        assert done.returncode == 2
        assert re.search(r"`idle_timeout` is (0|4000|NaN): must be 0.1 to 3600 seconds", done.stderr), done.stderr


def test_slow_heads_are_closed(serve):
    """Every kind of slowness at a time."""
    server = serve("--timeout", "1", "--idle-timeout", "2")
    server.post("/v1/experiments", ARMS).ok(201)
    slow = {
        "nothing at all": b"",
        "one letter": b"G",
        "the beginning of HTTP/2": b"PRI * HTTP/2.0\r\n",
        "a part of a head": b"GET /healthz HTTP/1.1\r\nhost: local",
        "a head without its end": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n",
        "nothing after a request": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n",
        "after a request": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /hea",
    }
    ended = {}

    def wait(name, start):
        with server.socket(timeout=PATIENCE) as plain:
            plain.sendall(start)
            with contextlib.suppress(socket.timeout):
                receive_all(plain)
                ended[name] = True

    def drip():
        # A letter now and then does not buy more time.
        with server.socket(timeout=1) as plain, contextlib.suppress(OSError):
            for letter in b"GET /healthz HTTP/1.1\r\nx: " + b"y" * (2 * PATIENCE):
                plain.sendall(bytes([letter]))
                with contextlib.suppress(socket.timeout):
                    if plain.recv(1000) == b"":
                        break
            else:
                return
        ended["drip"] = True

    threads = [threading.Thread(target=wait, args=item) for item in slow.items()]
    threads.append(threading.Thread(target=drip))
    [thread.start() for thread in threads]
    server.post(f"{PATH}/decisions", {}).ok(200)
    [thread.join(3 * PATIENCE) for thread in threads]
    assert set(ended) == {*slow, "drip"}
    assert server.process.poll() is None
