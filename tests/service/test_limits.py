"""Limits and settings: what is too much, what is wrong, and who has the last word."""

import json
import sqlite3
import threading

import pytest

from .experiments import ARMS, CANDIDATES
from .server import banisterd, wait_for

PATH = "/v1/experiments/arms"
JSON = {"content-type": "application/json"}


def body_of(length):
    """A valid request for a decision, so many bytes long."""
    return b"{" + b" " * (length - 2) + b"}"


def test_longest_body(serve):
    server = serve("--max-body", "400")
    server.post("/v1/experiments", ARMS).ok(201)
    server.post(f"{PATH}/decisions", body_of(400), headers=JSON).ok(200)
    problem = server.post(f"{PATH}/decisions", body_of(401), headers=JSON).problem(413)
    assert "400" in problem["detail"]
    chunked = {**JSON, "transfer-encoding": "chunked"}
    with_chunks = b"".join(b"64\r\n" + b" " * 100 + b"\r\n" for _ in range(5)) + b"2\r\n{}\r\n0\r\n\r\n"
    server.post(f"{PATH}/decisions", with_chunks, headers=chunked).problem(413)
    # Imports have a limit of their own.
    csv = b"action,reward,complaints\n" + b"bold,0.5,0.25\n" * 100
    server.post(f"{PATH}/import", csv, headers={"content-type": "text/csv"}).ok(200)


def test_longest_import(serve):
    server = serve("--max-import", "100")
    server.post("/v1/experiments", ARMS).ok(201)
    csv = b"action,reward,complaints\n" + b"bold,0.5,0.25\n" * 100
    headers = {"content-type": "text/csv"}
    assert "100" in server.post(f"{PATH}/import", csv, headers=headers).problem(413)["detail"]
    assert server.post(f"{PATH}/import", csv[:53], headers=headers).ok(200)["outcomes"] == 2


@pytest.mark.parametrize("kind", ["decisions", "outcomes"])
def test_largest_batch(serve, kind):
    server = serve("--max-batch", "3")
    server.post("/v1/experiments", ARMS).ok(201)
    entry = {} if kind == "decisions" else {"decision": "@1", "reward": 1}
    for count in [0, 4, 1001]:
        problem = server.post(f"{PATH}/{kind}:batch", {kind: [entry] * count}).problem(422, field=kind)
        assert str(count) in problem["value"] and "1 to 3" in problem["allowed"]
    assert len(server.post(f"{PATH}/{kind}:batch", {kind: [entry] * 3}).ok(200)["results"]) == 3


def test_rate(serve):
    server = serve("--rate", "2")
    answers = [server.get("/v1/whoami") for _ in range(40)]
    refused = [answer for answer in answers if answer.status == 429]
    assert answers[0].status == 200 and refused
    for answer in refused:
        assert "2 requests a second" in answer.problem(429)["detail"]
        assert int(answer.headers["retry-after"]) >= 1
    # Probes are never held up.
    assert all(server.get("/healthz").status == 200 for _ in range(20))
    wait_for(lambda: server.get("/v1/whoami").status == 200, "end of the limit")


def test_rates_are_per_token(serve):
    server = serve("--rate", "1", "--require-token")
    tokens = list(server.make_tokens({"one": "read", "two": "read"}).values())
    wait_for(lambda: server.get("/v1/whoami", token=tokens[0]).status == 429, "limit")
    wait_for(lambda: server.get("/v1/whoami", token=tokens[1]).status == 200, "other token")
    # Without a token nobody uses up anybody's rate.
    assert [server.get("/v1/whoami").status for _ in range(5)] == [401] * 5


def test_a_low_rate_says_when_to_come_again(serve):
    server = serve("--rate", "0.1")
    answers = [server.get("/v1/whoami") for _ in range(5)]
    assert [answer.status for answer in answers] == [200, 429, 429, 429, 429]
    # One request in ten seconds: whoever comes again after one is refused again.
    assert int(answers[1].headers["retry-after"]) > 1


def wait_of(answer, unit):
    """Seconds after which somebody who is over a limit may come again."""
    assert unit in answer.problem(429)["detail"]
    return int(answer.headers["retry-after"])


@pytest.mark.parametrize("kind", ["decisions", "outcomes"])
def test_a_batch_costs_as_much_as_its_entries(serve, kind):
    server = serve("--rate", "10")
    server.post("/v1/experiments", ARMS).ok(201)
    entry = {} if kind == "decisions" else {"decision": "@1", "reward": 1}
    server.post(f"{PATH}/{kind}:batch", {kind: [entry] * 200}).ok(200)
    # Twenty seconds' worth was taken at once.
    assert wait_of(server.get("/v1/whoami"), "10 requests a second") > 10


@pytest.mark.parametrize("chunked", [False, True])
def test_bytes_of_bodies(serve, chunked):
    server = serve("--bytes-rate", "1000")
    server.post("/v1/experiments", ARMS).ok(201)
    body, headers = body_of(20_000), JSON
    if chunked:
        body = b"4e20\r\n" + body + b"\r\n0\r\n\r\n"
        headers = {**JSON, "transfer-encoding": "chunked"}
    server.post(f"{PATH}/decisions", body, headers=headers).ok(200)
    answer = server.post(f"{PATH}/decisions", {})
    assert wait_of(answer, "1000 bytes a second") > 10


def test_seconds_of_work(serve):
    server = serve("--work", "0.01")
    server.post("/v1/experiments", CANDIDATES).ok(201)
    actions = {"actions": [[i / 2500, 1 - i / 2500] for i in range(2500)]}

    def over():
        answer = server.post("/v1/experiments/candidates/decisions", actions)
        return answer if answer.status == 429 else answer.ok(200) and None

    # One second's worth is there at first.
    assert wait_of(wait_for(over, "limit"), "0.01 seconds of work a second") >= 1
    assert server.get("/v1/whoami").status == 429


def test_limits_per_experiment(serve):
    server = serve("--experiment-rate", "2", "--experiment-bytes-rate", "100000", "--require-token")
    one, two = server.make_tokens({"one": "admin", "two": "admin"}).values()
    server.post("/v1/experiments", ARMS, token=one).ok(201)
    server.post("/v1/experiments", ARMS | {"name": "other"}, token=one).ok(201)
    server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 100}, token=one).ok(200)
    # It is the experiment's limit, whoever asks and however it is spelled.
    for path in [PATH, "/v1/experiments/%61rms"]:
        for token in [one, two]:
            answer = server.post(f"{path}/decisions", {}, token=token)
            assert wait_of(answer, "the experiment `arms`: more than 2 requests a second") > 10
    server.get("/v1/experiments/other", token=one).ok(200)
    server.get("/v1/experiments", token=one).ok(200)
    server.post("/v1/experiments/other/decisions", body_of(1_500_000), headers=JSON, token=one).ok(200)
    answer = server.post("/v1/experiments/other/decisions", {}, token=two)
    assert wait_of(answer, "the experiment `other`: more than 100000 bytes a second") > 5


def test_timeout_of_a_body_that_does_not_come(serve):
    before = serve()
    before.post("/v1/experiments", ARMS).ok(201)
    assert before.stop() == 0
    server = serve("--timeout", "0.3", data_dir=before.data_dir)
    head = f"POST {PATH}/decisions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
    said = server.raw(head.encode() + b"content-length: 10\r\nconnection: close\r\n\r\n{")
    assert said.split(b"\r\n")[0].split()[1] in (b"408", b"503")
    assert b"application/problem+json" in said and b"0.3 seconds" in said
    answer = wait_for(lambda: (a := server.get(PATH)).status == 200 and a, "answer in time")
    assert answer.json()["counts"]["decisions"] == 0


def settings_of(server):
    """Returns the limit of batches that the server names."""
    batch = server.post(f"{PATH}/decisions:batch", {"decisions": [{}] * 4097}).problem(422)
    return int(batch["allowed"].split(" to ")[1].split()[0])


def test_flags_weigh_more_than_the_environment_and_that_more_than_the_file(serve, tmp_path):
    file = tmp_path / "banister.toml"
    file.write_text("max_batch = 11\n")
    assert settings_of(serve()) == 1000
    assert settings_of(serve("--config", file)) == 11
    assert settings_of(serve(env={"BANISTER_CONFIG": str(file)})) == 11
    env = {"BANISTER_MAX_BATCH": "22"}
    assert settings_of(serve(env=env)) == 22
    assert settings_of(serve("--config", file, env=env)) == 22
    assert settings_of(serve("--config", file, "--max-batch", "33", env=env)) == 33
    # Where the log is, is one setting with two names: the folder that is a flag weighs more.
    file.write_text("database = 'mysql://localhost/x'\n")
    assert settings_of(serve("--config", file)) == 1000
    assert settings_of(serve(env={"BANISTER_DATABASE": "mysql://localhost/x"})) == 1000
    file.write_text('log_format = "json"\nlog = "debug"\nrate = 1.5\ntimeout = 3\nrequire_token = false\n')
    server = serve("--config", file)
    assert all(json.loads(line) for line in server.log().splitlines())


BAD = [
    # setting, value, part of what is allowed
    ("listen", "nonsense", "address"),
    ("listen", "127.0.0.1", "address"),
    ("listen", "127.0.0.1:99999", "address"),
    ("listen", "localhost:0", "address"),
    ("listen", "", "address"),
    ("max_body", "0", "1 to"),
    ("max_body", "99999999999", "1 to"),
    ("max_import", "0", "1 to"),
    ("max_batch", "0", "1 to 4096"),
    ("max_batch", "4097", "1 to 4096"),
    ("max_connections", "0", "1 to"),
    ("max_connections", "99999999999", "1 to"),
    ("max_address_connections", "0", "1 to"),
    ("rate", "-1", "0 (any)"),
    ("rate", "NaN", "0 (any)"),
    ("rate", "inf", "0 (any)"),
    ("rate", "1e10", "0 (any)"),
    *((name, "-1", "0 (any)") for name in ["bytes_rate", "work"]),
    *((f"experiment_{name}", "NaN", "0 (any)") for name in ["rate", "bytes_rate", "work"]),
    ("timeout", "0", "0.001 to 3600"),
    ("timeout", "-1", "0.001 to 3600"),
    ("timeout", "NaN", "0.001 to 3600"),
    ("timeout", "3601", "0.001 to 3600"),
    ("snapshot_every", "0", "at least 1"),
    ("log", "loud", "error, warn"),
    ("log_format", "xml", "text or json"),
    ("database", "mysql://localhost/x", "postgres"),
]
#: Values that are not of the setting's type at all.
UNREADABLE = [
    ("max_body", "x"),
    ("max_body", "-1"),
    ("open_bytes", "-1"),
    ("max_batch", "1.5"),
    ("rate", "fast"),
    ("timeout", ""),
    ("require_token", "maybe"),
    ("snapshot_every", "-1"),
]


def refused(tmp_path, *flags, env=None):
    place = ["--data-dir", tmp_path] if tmp_path else []
    done = banisterd("serve", *place, *flags, check=False, env=env)
    assert done.returncode == 2, done
    assert not done.stdout
    return done.stderr


@pytest.mark.parametrize("setting,value,allowed", BAD)
def test_bad_settings(tmp_path, setting, value, allowed):
    listen = [] if setting == "listen" else ["--listen", "127.0.0.1:0"]
    flag = f"--{setting.replace('_', '-')}={value}"
    shown = {"rate": {"1e10": "10000000000"}, "database": {value: "mysql"}}.get(setting, {}).get(value, value)
    file = tmp_path / "banister.toml"
    is_text = setting in ("listen", "log", "log_format", "database")
    text = f'"{value}"' if is_text else value.replace("NaN", "nan")
    file.write_text(f"{setting} = {text}\n")
    # A folder given as a flag would outweigh another place given otherwise.
    place = None if setting == "database" else tmp_path
    for said in [
        refused(place, flag, *listen),
        refused(place, *listen, env={f"BANISTER_{setting.upper()}": value}),
        refused(place, *listen, "--config", file),
    ]:
        assert f"`{setting}`" in said and shown in said and allowed in said, said


@pytest.mark.parametrize("setting,value", UNREADABLE)
def test_settings_of_another_type(tmp_path, setting, value):
    flag = f"--{setting.replace('_', '-')}"
    assert flag in refused(tmp_path, f"{flag}={value}")
    file = tmp_path / "banister.toml"
    file.write_text(f'{setting} = "{value}"\n')
    said = refused(tmp_path, "--config", file)
    assert setting in said and file.name in said


def test_other_bad_settings(tmp_path):
    file = tmp_path / "banister.toml"
    file.write_text("lisen = '127.0.0.1:0'\n")
    assert "lisen" in refused(tmp_path, "--config", file)
    file.write_text("listen = = 1\n")
    assert file.name in refused(tmp_path, "--config", file)
    assert "nowhere.toml" in refused(tmp_path, "--config", tmp_path / "nowhere.toml")
    assert "--nonsense" in refused(tmp_path, "--nonsense")
    assert "tls_key" in refused(tmp_path, "--tls-cert", "cert.pem", "--listen", "127.0.0.1:0")
    assert "tls_cert" in refused(tmp_path, "--tls-key", "key.pem", "--listen", "127.0.0.1:0")
    said = refused(tmp_path, "--tls-cert", "no.pem", "--tls-key", "no.key", "--listen", "127.0.0.1:0")
    assert "no.pem" in said and "certificate" in said


def test_two_servers_on_one_port(serve, tmp_path):
    first = serve()
    address = f"127.0.0.1:{first.port}"
    (tmp_path / "other").mkdir()
    done = banisterd("serve", "--listen", address, "--data-dir", tmp_path / "other", check=False)
    assert done.returncode not in (0, None) and address in done.stderr and not done.stdout
    assert first.get("/healthz").status == 200


def test_two_servers_on_one_log(serve):
    """They share it: what one decides the other knows, and no number is given twice."""
    one = serve()
    two = serve(data_dir=one.data_dir)
    one.post("/v1/experiments", ARMS).ok(201)
    wait_for(lambda: two.get(PATH).status == 200, "experiment in the other server")
    numbers, lock = [], threading.Lock()

    def decide(server, prefix):
        for i in range(50):
            answer = server.post(f"{PATH}/decisions", {"id": f"{prefix}-{i}"}).ok(200)
            with lock:
                numbers.append(answer["number"])

    callers = [threading.Thread(target=decide, args=(s, n)) for n, s in enumerate([one, two, one, two])]
    [caller.start() for caller in callers]
    [caller.join(60) for caller in callers]
    assert len(numbers) == len(set(numbers)) == 200
    same = {server.post(f"{PATH}/decisions", {"id": "0-0"}).body for server in (one, two)}
    assert len(same) == 1
    assert two.get(PATH).ok(200)["counts"]["decisions"] == 200 or wait_for(
        lambda: two.get(PATH).ok(200)["counts"]["decisions"] == 200, "all decisions"
    )


def test_places_that_are_no_log(tmp_path):
    def said(folder):
        done = banisterd("serve", "--listen", "127.0.0.1:0", "--data-dir", folder, check=False)
        assert done.returncode == 2, done
        return done.stderr

    assert f"does not exist: make it with `mkdir -p {tmp_path / 'nowhere'}`" in said(tmp_path / "nowhere")
    (tmp_path / "file").write_text("x")
    assert str(tmp_path / "file") in said(tmp_path / "file")
    for name, content in [("text", b"this is no database" * 100), ("zeros", b"\0" * 8192), ("short", b"x" * 600)]:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "banister.db").write_bytes(content)
        assert str(folder) in said(folder)
        assert (folder / "banister.db").read_bytes() == content
    (tmp_path / "folder" / "banister.db").mkdir(parents=True)
    assert str(tmp_path / "folder") in said(tmp_path / "folder")


def test_another_programs_database_is_left_alone(tmp_path):
    file = sqlite3.connect(tmp_path / "banister.db")
    file.execute("CREATE TABLE theirs (x)")
    file.commit()
    file.close()
    before = (tmp_path / "banister.db").read_bytes()
    done = banisterd("serve", "--listen", "127.0.0.1:0", "--data-dir", tmp_path, check=False)
    assert done.returncode == 2 and "another program" in done.stderr
    assert (tmp_path / "banister.db").read_bytes() == before


def test_whoever_stops_an_experiment_is_not_kept_out(serve):
    """A batch may use an experiment up for a while, but not the way to pause it."""
    server = serve("--experiment-rate", "1", "--experiment-work", "0.001")
    server.post("/v1/experiments", ARMS).ok(201)
    path = f"/v1/experiments/{ARMS['name']}"
    batch = {"decisions": [{"id": f"d{i}"} for i in range(500)]}
    server.post(f"{path}/decisions:batch", batch).ok(200)
    refused = server.post(f"{path}/decisions", {})
    assert refused.status == 429 and int(refused.headers["retry-after"]) <= 61
    server.request("PATCH", path, {"status": "paused"}).ok(200)
    for suffix in ["", "/state", "/changes", "/history"]:
        server.get(path + suffix).ok(200)


def test_the_writers_time_is_work(serve):
    """Repeated reports and reads compute nothing for a decision, and take the writer's time all the same."""
    server = serve("--work", "0.001", "--require-token")
    tokens = server.make_tokens({"admin": "admin", "reporter": "report", "reader": "read"})
    admin, reporter, reader = tokens.values()
    units = ARMS | {"name": "units", "unit": {"name": "user", "period": "30d"}, "reward": {"range": [0, 10]}}
    server.post("/v1/experiments", units, token=admin).ok(201)
    server.post("/v1/experiments", ARMS | {"arms": [*ARMS["arms"], *map(str, range(300))]}, token=admin).ok(201)
    server.post("/v1/experiments/units/decisions", {"unit": "a"}, token=admin).ok(200)
    reports = [{"unit": "a", "report": str(i), "reward": 0.001} for i in range(1000)]

    def reported():
        return server.post("/v1/experiments/units/outcomes:batch", {"outcomes": reports}, token=reporter).status == 429

    wait_for(reported, "limit of the reporter")
    wait_for(lambda: server.get(f"{PATH}/lift", token=reader).status == 429, "limit of the reader")
