"""Running it: TLS, the end by SIGTERM, structured logs, ids of requests."""

import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import threading

import pytest

from .experiments import ARMS
from .server import banisterd, rebuild, receive_all, wait_for

PATH = "/v1/experiments/arms"


def make_certificate(folder, name):
    """A certificate and its key, in files of their own."""
    if shutil.which("openssl") is None:
        if os.environ.get("CI") == "true":
            pytest.fail("this machine must have openssl")
        pytest.skip("there is no openssl")
    cert, key = folder / f"{name}-cert.pem", folder / f"{name}-key.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    command = [*made, "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    return cert, key


@pytest.fixture
def certificate(tmp_path):
    return make_certificate(tmp_path, "localhost")


def test_tls(serve, certificate):
    cert, key = certificate
    server = serve("--tls-cert", cert, "--tls-key", key, wait=False)
    server.tls = ssl.create_default_context(cafile=cert)
    server.ready()
    server.post("/v1/experiments", ARMS).ok(201)
    server.post(f"{PATH}/decisions", {}).ok(200)
    # Whoever does not trust the certificate is not served, nor whoever speaks plainly, nor old TLS.
    server.tls = ssl.create_default_context()
    with pytest.raises(ssl.SSLCertVerificationError):
        server.get("/healthz")
    assert b"200 OK" not in server.raw(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n")
    server.tls = ssl.create_default_context(cafile=cert)
    assert server.get("/healthz").status == 200
    assert server.stop() == 0


def test_a_new_certificate_needs_no_restart(serve, tmp_path):
    pairs = {name: make_certificate(tmp_path, name) for name in ["first", "second", "third"]}
    place = tmp_path / "cert.pem", tmp_path / "key.pem"

    def put(*files):
        for file, target in zip(files, place):
            fresh = target.with_suffix(".new")
            fresh.write_bytes(file.read_bytes())
            fresh.rename(target)

    def shown():
        return ssl.get_server_certificate(("127.0.0.1", server.port))

    def failures():
        text = server.get("/metrics").body.decode()
        return int(re.search(r"^banister_tls_reload_failures_total (\d+)", text, re.MULTILINE)[1])

    put(*pairs["first"])
    server = serve("--tls-cert", place[0], "--tls-key", place[1], wait=False)
    server.tls = ssl.create_default_context(cafile=pairs["first"][0])
    server.ready()
    open_connection = server.connect()
    assert server.get("/healthz", connection=open_connection).status == 200
    assert shown() == pairs["first"][0].read_text()
    put(*pairs["second"])
    wait_for(lambda: shown() == pairs["second"][0].read_text(), "second certificate")
    server.tls = ssl.create_default_context(cafile=pairs["second"][0])
    # What cannot be used changes nothing: no certificate at all, or one with another's key.
    garbage = tmp_path / "garbage"
    garbage.write_text("no certificate")
    counted = failures()
    put(garbage, pairs["second"][1])
    wait_for(lambda: failures() > counted, "failure")
    assert "the old one stays" in server.log()
    counted = failures()
    put(pairs["third"][0], pairs["second"][1])
    wait_for(lambda: failures() > counted, "failure")
    assert shown() == pairs["second"][0].read_text()
    assert server.get("/healthz").status == 200
    # A signal asks for it at once.
    put(*pairs["third"])
    server.process.send_signal(signal.SIGHUP)
    wait_for(lambda: shown() == pairs["third"][0].read_text(), "third certificate")
    assert server.get("/healthz", connection=open_connection).status == 200
    assert server.stop() == 0


def test_a_certificate_that_is_none(certificate, tmp_path):
    cert, key = certificate
    for pair in [(key, cert), (cert, cert), (cert, tmp_path / "nowhere")]:
        done = banisterd(
            "serve",
            "--listen",
            "127.0.0.1:0",
            "--data-dir",
            tmp_path,
            "--tls-cert",
            pair[0],
            "--tls-key",
            pair[1],
            check=False,
        )
        assert done.returncode == 2 and "certificate" in done.stderr, done


def test_sigterm_answers_what_is_under_way(serve):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    idle = server.connect()
    assert server.get("/healthz", connection=idle).status == 200
    body = b'{"id":"under way"}'
    with server.socket() as slow:
        slow.sendall(
            f"POST {PATH}/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
            f"content-length: {len(body)}\r\nexpect: 100-continue\r\n\r\n".encode()
        )
        # It is under way: its body is waited for.
        assert slow.recv(1000).startswith(b"HTTP/1.1 100 ")
        slow.sendall(body[:4])
        server.process.send_signal(signal.SIGTERM)
        wait_for(lambda: "stopping" in server.log(), "stop")
        slow.sendall(body[4:])
        said = receive_all(slow)
    assert said.startswith(b"HTTP/1.1 200 OK"), said
    assert b'"id":"under way"' in said
    assert server.stop() == 0
    idle.close()
    again = serve(data_dir=server.data_dir)
    assert again.get(f"{PATH}/decisions/under%20way").status == 200


def test_sigterm_under_load_loses_nothing(serve):
    server = serve()
    server.post("/v1/experiments", ARMS).ok(201)
    kept, faults = [], []

    def load(caller):
        connection = server.connect()
        try:
            for i in range(100_000):
                answer = server.post(f"{PATH}/decisions", {"id": f"{caller}-{i}"}, connection=connection)
                if answer.status != 200:
                    answer.problem(503)
                    return
                kept.append((f"{caller}-{i}", answer.body))
        except (OSError, http.client.HTTPException):
            pass
        except BaseException as fault:
            faults.append(fault)
        finally:
            connection.close()

    callers = [threading.Thread(target=load, args=(n,)) for n in range(4)]
    [caller.start() for caller in callers]
    wait_for(lambda: len(kept) > 100 or faults, "load")
    assert server.stop() == 0
    [caller.join(30) for caller in callers]
    assert faults == []
    log = rebuild(server.data_dir)
    # At its end everything is in snapshots: the next start has nothing to fold.
    assert all(e["snapshot"] == log["events"] for e in log["experiments"])
    again = serve(data_dir=server.data_dir)
    for id, body in kept[-200:]:
        assert again.post(f"{PATH}/decisions", {"id": id}).body == body


def test_sigint_is_as_good(serve):
    assert serve().stop(signal.SIGINT) == 0


def test_sigterm_does_not_wait_for_idle_callers(serve):
    """Connections that never asked anything do not hold up the end for more than the grace time."""
    server = serve()
    silent = [server.socket() for _ in range(20)]
    try:
        assert server.stop(deadline=25) == 0
    finally:
        [s.close() for s in silent]


def test_ids_of_requests(serve):
    server = serve()
    own = server.get("/healthz", headers={"x-request-id": "order-17.a:b/c"})
    assert own.headers["x-request-id"] == "order-17.a:b/c"
    problem = server.get("/v1/experiments/nowhere", headers={"x-request-id": "mine"}).problem(404)
    assert problem["request_id"] == "mine"
    for insane in ["", "x" * 129, "a b", "\xe9", "tab\tbed"]:
        given = server.get("/healthz", headers={"x-request-id": insane}).headers["x-request-id"]
        assert given and given != insane
    made = {server.get("/healthz").headers["x-request-id"] for _ in range(50)}
    assert len(made) == 50
    for path, method in [("/nowhere", "GET"), ("/v1/experiments", "PUT")]:
        answer = server.request(method, path, headers={"x-request-id": "mine"})
        assert answer.problem(answer.status)["request_id"] == "mine"


def test_structured_logs(serve):
    server = serve("--log-format", "json", "--log", "debug")
    server.post("/v1/experiments", ARMS, headers={"x-request-id": "creation"}).ok(201)
    server.post(f"{PATH}/decisions", {"id": "@"}, headers={"x-request-id": "refusal"}).problem(422)

    def lines_about(id):
        return [line for line in map(json.loads, server.log().splitlines()) if id in str(line.get("request"))]

    wait_for(lambda: lines_about("refusal"), "line about the refusal")
    creation = lines_about("creation")
    assert [line["status"] for line in creation if line["message"] == "answered"] == [201]
    assert all(line["level"] and line["timestamp"] for line in creation)
    assert any(line.get("status") == 422 and "id" in line.get("detail", "") for line in lines_about("refusal"))
    assert server.stop() == 0
    assert [json.loads(line)["message"] for line in server.log().splitlines()][-1] == "stopped"


def test_a_line_of_the_log_cannot_be_forged(serve):
    server = serve("--log", "debug")
    server.get("/v1/experiments/x%0a2026-01-01T00:00:00Z%20ERROR%20forged").problem(404)
    server.post("/v1/experiments", {"name": "a\n2026-01-01T00:00:00Z ERROR forged"}).problem(422)
    assert server.stop() == 0
    assert not any(line.startswith("2026-01-01T00:00:00Z") for line in server.log().splitlines())
