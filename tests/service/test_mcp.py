"""The MCP gateway, by the official Python SDK: on standard input and over HTTP, with roles and authors of the API."""

import asyncio
import contextlib
import re
import socket
import subprocess
import sys
import threading

import httpx2
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from .experiments import ARMS, chances, get, play
from .server import DEADLINE, PROGRAM, banisterd, environment, wait_for

READS = {"list_experiments", "read_experiment", "explain", "list_changes", "propose"}
CHANGES = {"create_experiment", "pause_experiment", "resume_experiment", "acknowledge_alarms"}
TIGHT = ARMS | {"guardrails": [{"name": "complaints", "at_most": 0.2, "safe_cost": 0.1}]}


def stdio(server, tmp_path, token=None):
    """A gateway on standard input, with a token of its own."""
    args = ["mcp", "--url", server.url]
    if token:
        file = tmp_path / "token.txt"
        file.write_text(token + "\n")
        args += ["--token-file", str(file)]
    return StdioServerParameters(command=PROGRAM, args=args, env=environment())


@pytest.fixture
def listen():
    """Starts gateways over HTTP; gives their addresses."""
    started = []

    def start(server, *flags):
        command = [PROGRAM, "mcp", "--url", server.url, "--listen", "127.0.0.1:0", *flags]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=sys.stderr, env=environment(), text=True)
        started.append(process)
        lines = []
        threading.Thread(target=lambda: lines.append(process.stdout.readline()), daemon=True).start()
        wait_for(lambda: lines, "line with the address")
        return re.search(r"http://\S+/mcp", lines[0])[0]

    yield start
    for process in started:
        process.kill()
        process.wait()
        process.stdout.close()


@contextlib.asynccontextmanager
async def over_http(url, token, **more):
    headers = {"authorization": f"Bearer {token}"} if token else {}
    async with (
        httpx2.AsyncClient(headers=headers, timeout=30) as own,
        Client(streamable_http_client(url, http_client=own), **more) as client,
    ):
        yield client


def ask(client, *calls):
    """The answers to calls of one client: (text, structured content), or the text of an error."""

    async def all_of_them():
        answers = []
        async with client as own:
            for name, arguments in calls:
                got = await own.call_tool(name, arguments)
                text = got.content[0].text
                answers.append(text if got.is_error else (text, got.structured_content))
        return answers

    return asyncio.run(all_of_them())


def authors(server, name, token=None):
    answer = server.get(f"/v1/experiments/{name}/changes", token=token).ok(200)
    return [(change["kind"], change["author"]) for change in answer["changes"]]


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_say_what_they_do(service, tmp_path, listen, mode):
    async def tools(client):
        async with client as own:
            return (await own.list_tools()).tools

    for client in [Client(stdio(service, tmp_path), mode=mode), over_http(listen(service), None, mode=mode)]:
        found = {tool.name: tool for tool in asyncio.run(tools(client))}
        assert found.keys() == READS | CHANGES
        for name, tool in found.items():
            assert tool.annotations.read_only_hint == (name in READS), name
            assert tool.description and tool.input_schema["type"] == "object"
        harmful = {name for name, tool in found.items() if tool.annotations.destructive_hint}
        assert harmful == {"resume_experiment", "acknowledge_alarms"}


def test_an_experiment_is_proposed_created_paused_and_read(service, tmp_path):
    bad = TIGHT | {"safe": "nobody"}
    wrong, (_, proposed), early, (_, made), (_, paused), (_, read), (_, resumed), (_, all) = ask(
        Client(stdio(service, tmp_path)),
        ("propose", {"declaration": bad}),
        ("propose", {"declaration": TIGHT}),
        ("read_experiment", {"experiment": "arms"}),
        ("create_experiment", {"declaration": TIGHT}),
        ("pause_experiment", {"experiment": "arms"}),
        ("read_experiment", {"experiment": "arms"}),
        ("resume_experiment", {"experiment": "arms"}),
        ("list_experiments", {}),
    )
    assert "safe" in wrong and "nobody" in wrong
    assert proposed["name"] == "arms" and "arms" in early
    assert made["status"] == "running" and paused["status"] == "paused" and resumed["status"] == "running"
    assert read["experiment"]["status"] == "paused" and read["health"]["checks"]
    assert read["state"]["certificate"]["fallback"] == "paused" and "evidence" not in read["state"]
    assert [own["name"] for own in all["summaries"]] == ["arms"]
    assert authors(service, "arms") == [(kind, "anonymous") for kind in ["changed", "changed", "created"]]


def test_bad_calls_are_errors_that_an_assistant_can_mend(service, tmp_path):
    service.post("/v1/experiments", TIGHT).ok(201)
    absent, other, unknown, arm, strange = ask(
        Client(stdio(service, tmp_path)),
        ("explain", {"experiment": "arms"}),
        ("pause_experiment", {"experiment": 3}),
        ("pause_experiment", {"experiment": "arms", "reason": "x"}),
        ("explain", {"experiment": "arms", "arm": "nobody"}),
        ("read_experiment", {"experiment": "../v1/whoami?x=#"}),
    )
    assert absent == "`arm` is absent: must be of type string" and other == "`experiment` is 3: must be of type string"
    assert "`reason` is no argument" in unknown and get(service, "arms")["status"] == "running"
    assert "must be one of control, bold, brave" in arm and "../v1/whoami?x=#" in strange


def test_what_is_not_known_yet_is_said(service, tmp_path):
    service.post("/v1/experiments", TIGHT).ok(201)
    for arm in ["control", "bold", "brave"]:
        ((said, _),) = ask(Client(stdio(service, tmp_path)), ("explain", {"experiment": "arms", "arm": arm}))
        assert "without outcomes yet" in said and "NaN" not in said, said


def test_roles_and_authors_are_those_of_the_tokens(service, tmp_path, listen):
    tokens = service.make_tokens({"ann": "admin", "eve": "read"})
    service.post("/v1/experiments", TIGHT, token=tokens["ann"]).ok(201)
    pause, url = ("pause_experiment", {"experiment": "arms"}), listen(service)
    clients = [
        lambda token: Client(stdio(service, tmp_path, token)),
        # One gateway, and every caller with a token of their own.
        lambda token: over_http(url, token),
    ]
    for client in clients:
        refused, (_, read) = ask(client(tokens["eve"]), pause, ("read_experiment", {"experiment": "arms"}))
        assert "role" in refused and read["experiment"]["status"] == "running"
        ask(client(tokens["ann"]), pause, ("resume_experiment", {"experiment": "arms"}))
    (nobody,) = ask(Client(stdio(service, tmp_path)), pause)
    assert "token" in nobody
    changes = authors(service, "arms", tokens["ann"])
    assert changes == [("changed", "ann")] * 4 + [("created", "ann")]


def test_alarms_are_acknowledged_with_a_note(service, tmp_path):
    service.post("/v1/experiments", TIGHT).ok(201)
    decision = service.post("/v1/experiments/arms/decisions", {}).ok(200)
    report = {"decision": decision["id"], "reward": 0.5, "costs": {"complaints": 2}}
    service.post("/v1/experiments/arms/outcomes", report).ok(200)
    alarm = wait_for(lambda: get(service, "arms")["alarms"], "an alarm")[0]
    (words, _), without, (_, done), (_, changes) = ask(
        Client(stdio(service, tmp_path)),
        ("explain", {"experiment": "arms", "arm": "bold"}),
        ("acknowledge_alarms", {"experiment": "arms"}),
        ("acknowledge_alarms", {"experiment": "arms", "note": "a test report"}),
        ("list_changes", {"experiment": "arms"}),
    )
    assert "The safe arm is forced: alarm" in words and alarm["message"] in words
    assert "`note` is absent" in without and done["alarms"] == []
    assert changes["changes"][0]["change"] == {"note": "a test report"}


def test_explain_says_what_the_numbers_say(service, tmp_path):
    service.post("/v1/experiments", TIGHT).ok(201)
    table = {"control": [0.4, 0.1], "bold": [0.9, 0.3], "brave": [0.8, 0.12]}
    play(service, "arms", 400, chances(table, ["complaints"]))
    state = get(service, "arms", "/state")
    arms = {arm["name"]: arm for arm in state["arms"]}
    client = Client(stdio(service, tmp_path))
    answers = ask(client, *(("explain", {"experiment": "arms", "arm": arm}) for arm in arms))
    guardrail = state["certificate"]["guardrails"][0]
    held_back = 0
    for (words, facts), arm in zip(answers, arms.values()):
        name, upper = arm["name"], arm["guardrails"][0]["upper"]
        assert facts["arms"] == state["arms"]
        share = float(re.search(rf"{name} gets ([\d.]+)% of decisions now; (\d+) of its 400", words)[1])
        assert share == pytest.approx(100 * arm["probability"], abs=0.006)
        assert f"{arm['pulls']} of its 400 outcomes" in words
        assert float(re.search(r"as high as ([\d.]*\d)", words)[1]) == pytest.approx(upper, abs=6e-4)
        assert ("uses all that complaints allows" in words) == (guardrail["slack"] < 1e-6)
        assert ("is the safe arm" in words) == arm["safe"]
        if allowed := re.search(r"allows \w+ ([\d.]+)% at most", words):
            # The most x with x upper + (1 - x) 0.1 <= 0.2, which no policy exceeds.
            assert float(allowed[1]) == pytest.approx(100 * 0.1 / (upper - 0.1), abs=0.006)
            assert arm["probability"] <= float(allowed[1]) / 100 + 1e-4
            held_back += 1
    assert held_back >= 1


def test_pages_of_other_origins_and_other_hosts_are_refused(service, listen):
    url = listen(service)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    known = {"accept": "application/json, text/event-stream"}
    for headers, status in [({}, 200), ({"origin": "https://evil.example"}, 403), ({"host": "evil.example"}, 403)]:
        assert httpx2.post(url, json=call, headers=known | headers).status_code == status, headers


def test_callers_without_a_known_token_get_a_401(service, listen):
    url = listen(service)
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}

    def post(authorization):
        headers = {"accept": "application/json, text/event-stream"}
        return httpx2.post(url, json=call, headers=headers | authorization)

    # A service without tokens asks for none, also here.
    assert post({}).status_code == 200
    token = service.make_tokens({"ann": "read"})["ann"]
    strange = ["Bearer", "Bearer bnst_x", f"Bearer {token}x", token, "Basic YTpi", "Bearer \xe9"]
    for authorization in [{}, *({"authorization": own.encode("latin-1")} for own in strange)]:
        refused = post(authorization)
        assert refused.status_code == 401, authorization
        assert refused.headers["www-authenticate"] == "Bearer" and refused.json()["status"] == 401
    answer = post({"authorization": f"Bearer {token}"})
    assert answer.status_code == 200 and len(answer.json()["result"]["tools"]) == len(READS | CHANGES)


def test_half_heads_and_silence_end_connections(service, listen):
    url = httpx2.URL(listen(service, "--idle-timeout", "1"))
    head = b"GET /mcp HTTP/1.1\r\nhost: 127.0.0.1\r\n"
    for said in [b"", b"POST /mcp HT", head, head + b"\r\n"]:
        with socket.create_connection((url.host, url.port), timeout=DEADLINE) as plain:
            plain.sendall(said)
            # Read until the end; a time-out would raise.
            while plain.recv(4096):
                pass


def test_bad_flags_are_refused(tmp_path):
    token = tmp_path / "token"
    token.write_text("bnst_x")
    for flags, said in [
        (["--url", "localhost"], "`url` is localhost: must be an address"),
        (["--listen", "0.0.0.0:0"], "`listen` is 0.0.0.0:0: must be an address of this machine"),
        (["--listen", "127.0.0.1:0", "--token-file", token], "every caller sends a token of their own"),
        (["--token-file", tmp_path / "nowhere"], "cannot read"),
        (["--idle-timeout", "0"], "0 is not in 1..=3600"),
    ]:
        done = banisterd("mcp", *flags, check=False)
        assert done.returncode == 2 and said in done.stderr, done.stderr


def test_a_service_that_is_not_there_is_an_error_of_the_call(service, tmp_path):
    service.stop()
    (said,) = ask(Client(stdio(service, tmp_path)), ("list_experiments", {}))
    assert "the service cannot be asked" in said
