"""The JavaScript client of leases (clients/js) in Node, in Deno, in a page and in a worker.

By vectors, against servers that fail and lie (leases.mjs), and against a real one, which learns what was played."""

import contextlib
import http.client
import http.server
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import threading

import pytest

from .experiments import ARMS, SEGMENTS, chances, get, play
from .server import DEADLINE, ROOT, environment, rebuild, wait_for

SCRIPT = ROOT / "tests" / "service" / "leases.mjs"
CLIENT = ROOT / "clients" / "js"
VECTORS = json.loads((ROOT / "clients" / "leases.json").read_text(encoding="utf-8"))
#: What is better costs too much to be played always.
TABLE = {"control": [0.2, 0.1], "bold": [0.8, 0.9], "brave": [0.8, 0.9]}
UNITS = ARMS | {
    "name": "units",
    "unit": {"name": "user", "period": "forever"},
    "rollout": {"holdout": 0.2, "namespace": {"name": "all", "from": 0.0, "to": 0.7}},
}
#: Some that look strange in JSON, in UTF-8 and in paths, and half of a character, which arrives as U+FFFD.
STRANGE = ["ä", "😀" * 128, "x" * 128, 'a"\\b', "a/b?c#d", " ", "1#2", "a\u00a0", "\u2028", "half\ud800"]
NAMES = STRANGE + [f"user-{i}" for i in range(500 - len(STRANGE))]


def runtime(name):
    """Command of a program that runs JavaScript."""
    beside = pathlib.Path(sys.executable).with_name(name)
    program = shutil.which(name) or (str(beside) if beside.exists() else None)
    assert program, f"no {name}: `cargo xtask test` installs it"
    return [program, "run", "--quiet", "--allow-all"] if name == "deno" else [program]


@contextlib.contextmanager
def script(name, what, given):
    """Starts a function of leases.mjs; always ended."""
    command = [*runtime(name), str(SCRIPT), what]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, **pipes, text=True, encoding="utf-8", env=environment()) as process:
        try:
            process.stdin.write(json.dumps(given))
            process.stdin.close()
            yield process
        finally:
            process.kill()


def result(process, deadline=2 * DEADLINE):
    """What it gave at its end."""
    process.stdin = None
    out, errors = process.communicate(timeout=deadline)
    assert process.returncode == 0, errors
    return json.loads(out.rstrip("\n").split("\n")[-1])


@contextlib.contextmanager
def site(server=None):
    """A site with the client's files, which passes on requests to the service: gives its port."""
    kinds = {".mjs": "text/javascript", ".js": "text/javascript", ".json": "application/json"}

    class Site(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            path = self.path.partition("?")[0]
            file = ROOT / path.lstrip("/")
            if path == "/":
                self.answer(200, "text/html", b"<!doctype html><title>leases</title><link rel=icon href=data:,>")
            elif file.suffix in kinds and file.is_file():
                self.answer(200, kinds[file.suffix], file.read_bytes())
            else:
                self.answer(404, "text/plain", b"")

        def do_POST(self):
            body = self.rfile.read(int(self.headers["content-length"]))
            own = http.client.HTTPConnection("127.0.0.1", server.port, timeout=DEADLINE)
            with contextlib.closing(own):
                own.request("POST", self.path, body, dict(self.headers))
                got = own.getresponse()
                self.answer(got.status, got.headers["content-type"], got.read())

        def answer(self, status, kind, body):
            self.send_response(status)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) as own:
        threading.Thread(target=own.serve_forever, daemon=True).start()
        yield own.server_port
        own.shutdown()


IN_PAGE = """async ([what, given]) => (await import("/tests/service/leases.mjs"))[what](given)"""
IN_WORKER = """([what, given]) => new Promise((done, failed) => {
    const worker = new Worker("/tests/service/leases.mjs", { type: "module" });
    worker.onmessage = ({ data: { value, error } }) => error ? failed(new Error(error)) : done(value);
    worker.onerror = (event) => failed(new Error(event.message));
    worker.postMessage([what, given]);
})"""


@pytest.fixture(params=["node", "deno", "page", "worker"])
def run(request):
    """Runs a function of leases.mjs in each place."""
    if request.param in ("node", "deno"):

        def run(what, given=None, server=None):
            with script(request.param, what, given) as process:
                return result(process)

        yield run
        return
    browser = request.getfixturevalue("browser")
    code = IN_PAGE if request.param == "page" else IN_WORKER

    def run(what, given=None, server=None):
        with site(server) as port, contextlib.closing(browser.new_context()) as context:
            page = context.new_page()
            page.goto(f"http://localhost:{port}/")
            return page.evaluate(code, [what, given and given | ({"url": ""} if "url" in given else {})])

    yield run


def test_vectors(run):
    draws = sum(len(lease["draws"]) for lease in VECTORS["leases"])
    assert run("vectors", VECTORS) == draws > 500


def test_servers_that_fail_and_lie(run):
    assert run("fakes") > 60


def leased(server, declaration):
    """An experiment that knows enough to try arms; gives the options of its clients."""
    name = declaration["name"]
    server.post("/v1/experiments", declaration).ok(201)
    if declaration is ARMS:
        play(server, name, 400, chances(TABLE, ["complaints"]))
    return {"url": server.url, "experiment": name, "safe": "unknown"}


def decisions(server, name):
    """Decisions of an experiment by id."""
    found, before = {}, ""
    while True:
        page = server.get(f"/v1/experiments/{name}/decisions?limit=100{before}").ok(200)["decisions"]
        if not page:
            return found
        found |= {decision["id"]: decision for decision in page}
        before = f"&before={page[-1]['number']}"


def check_learned(server, name, decided, known):
    """Checks that the service took exactly what the client says that it played."""
    reported = [one for _, one in decided if one["decision"] is not None]
    ids = [one["decision"] for one in reported]
    assert len(set(ids)) == len(ids)
    found = decisions(server, name)
    assert len(found) == known + len(ids)
    assert {id: found[id]["action"] for id in ids} == {one["decision"]: one["arm"] for one in reported}
    return [found[id] for id in ids]


@pytest.mark.parametrize("declaration", [ARMS, SEGMENTS, UNITS], ids=lambda own: own["name"])
def test_a_server_learns_what_was_played(service, run, declaration):
    options = leased(service, declaration)
    name, known = declaration["name"], get(service, declaration["name"])["counts"]["decisions"]
    segments = [["de", "fr", "unheard of"][i % 3] for i in range(len(NAMES))] if declaration is SEGMENTS else None
    done = run("play", options | {"names": NAMES, "segments": segments}, service)
    decided, lease = done["decided"], done["lease"]
    of_lease = "" if declaration is UNITS else f"{lease['lease']}/"
    for i, (unit, one) in enumerate(decided):
        assert one["arm"] == lease["arms"][one["index"]]
        if one["decision"] is not None:
            assert one["decision"] == of_lease + unit.replace("\ud800", "\ufffd")
        elif declaration is SEGMENTS:
            assert segments[i] == "unheard of" and one["arm"] == "control"
        else:
            assert declaration is UNITS and one["arm"] == "control"
    for found in check_learned(service, name, decided, known):
        assert found["status"] == "complete"
        assert found["reward"] == (0.25 if found["action"] == "control" else 0.75)
    view = get(service, name)
    count = sum(1 for _, one in decided if one["decision"] is not None)
    assert view["counts"]["outcomes"] == view["counts"]["decisions"] == known + count
    if declaration is ARMS:
        assert count == 500 and len({one["arm"] for _, one in decided}) > 1
    elif declaration is UNITS:
        # Of the namespace's units; those outside are decided for by nobody.
        assert 280 < count < 420
    else:
        assert count == sum(1 for segment in segments if segment != "unheard of")
    assert service.stop() == 0
    rebuild(service.data_dir)


def test_tokens(service, run):
    options = leased(service, ARMS)
    token = service.make_token("decide", "shop")
    known = service.get("/v1/experiments/arms", token=token).ok(200)["counts"]["decisions"]
    done = run("play", options | {"names": NAMES[:20], "token": token}, service)
    assert len(done["decided"]) == 20
    counts = service.get("/v1/experiments/arms", token=token).ok(200)["counts"]
    assert counts["decisions"] == known + 20


@pytest.mark.parametrize("name", ["node", "deno"])
def test_an_outage(serve, tmp_path, name):
    """Decisions go on as long as the lease holds, and all of them are known to the server in the end."""
    secret = tmp_path / "lease.key"
    secret.write_text("5a" * 32)
    # Without a key of its own, a server signs with another one after every start.
    service = serve("--lease-key", secret)
    options = leased(service, ARMS) | {"seconds": 8, "flushSeconds": 0.2}
    known = get(service, "arms")["counts"]["decisions"]
    with script(name, "outage", options) as process:
        lines = []

        def read():
            for line in process.stdout:
                lines.append(line)

        reader = threading.Thread(target=read, daemon=True)
        reader.start()

        def said(word):
            ended = process.poll() is not None and not reader.is_alive()
            assert not ended or process.returncode == 0, process.stderr.read()
            return f"{word}\n" in lines

        wait_for(lambda: said("leased"), "lease")
        service.stop(signal.SIGKILL)
        wait_for(lambda: said("ended"), "end of the lease")
        service.start().ready()
        assert process.wait(2 * DEADLINE) == 0, process.stderr.read()
        reader.join(DEADLINE)
    decided = json.loads(lines[-1])["decided"]
    assert len(decided) in (60, 61)
    check_learned(service, "arms", decided, known)
    assert len({one["decision"].partition("/")[0] for _, one in decided}) >= 2


@pytest.mark.parametrize("name", ["node", "deno"])
def test_a_client_keeps_no_process_alive(service, name):
    with script(name, "leave", leased(service, ARMS)) as process:
        assert result(process, DEADLINE) is True


def test_types():
    command = [runtime("deno")[0], "check", "--no-lock", str(ROOT / "tests" / "service" / "leases.ts")]
    done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=4 * DEADLINE)
    assert done.returncode == 0, done.stderr


def test_the_package_is_whole_and_needs_nothing():
    package = json.loads((CLIENT / "package.json").read_text(encoding="utf-8"))
    files = {path.name for path in CLIENT.iterdir()}
    assert set(package["files"]) | {"package.json"} == files
    assert {"dependencies", "devDependencies", "peerDependencies"}.isdisjoint(package)
    source = (CLIENT / "banister.js").read_text(encoding="utf-8")
    assert not re.search(r"^\s*(import|export .* from)\b", source, re.MULTILINE)


def test_the_benchmark_runs():
    for name in ["node", "deno"]:
        command = [*runtime(name), str(ROOT / "benches" / "leases.mjs"), "1000"]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), timeout=2 * DEADLINE)
        assert done.returncode == 0 and "M/s" in done.stdout, done.stderr
