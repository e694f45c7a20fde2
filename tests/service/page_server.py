"""A service, a browser that looks at its page, and what both have in common."""

import decimal
import json
import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import time
import urllib.error
import urllib.parse
import urllib.request

import pytest
from playwright.sync_api import expect, sync_playwright

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = os.environ.get("BANISTER", str(ROOT / "target" / "debug" / "banister"))
#: Whatever is waited for comes within this many seconds, or the test fails.
DEADLINE = 30
expect.set_options(timeout=DEADLINE * 1000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def environment():
    """The environment without settings that somebody may have for a service of their own."""
    return {k: v for k, v in os.environ.items() if not k.startswith("BANISTER")}


class PageServer:
    """A service on a port of its own, which it keeps when it is started again."""

    def __init__(self, folder):
        self.folder, self.port, self.process, self.token = folder, 0, None, None
        self.log = folder / "log"
        self.url = None

    def start(self):
        command = [PROGRAM, "serve", "--listen", f"127.0.0.1:{self.port}", "--data-dir", str(self.folder)]
        before = self.log.stat().st_size if self.log.exists() else 0
        with self.log.open("a") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=environment())

        def listening():
            assert self.process.poll() is None, self.log.read_text()
            return re.search(r"http://127\.0\.0\.1:(\d+)/", self.log.read_text()[before:])

        self.port = int(wait_for(listening, "address").group(1))
        self.url = self.page_url()
        wait_for(lambda: self.call("GET", "/readyz", check=False)[0] == 200, "ready service")
        return self

    def page_url(self):
        return f"http://127.0.0.1:{self.port}"

    def stop(self):
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(DEADLINE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def make_token(self, role, name):
        """Makes a token, uses it from now on, and waits until the service knows of it."""
        command = [PROGRAM, "token", "create", "--role", role, name, "--data-dir", str(self.folder)]
        done = subprocess.run(command, capture_output=True, text=True, env=environment(), check=True, timeout=60)
        token = done.stdout.strip().splitlines()[-1]

        def noticed():
            self.token = None
            closed = self.call("GET", "/v1/whoami", check=False)[0] == 401
            self.token = token
            return closed and self.call("GET", "/v1/whoami", check=False)[0] == 200

        wait_for(noticed, "token")
        return token

    def call(self, method, path, body=None, check=True, raw=False):
        headers = {"content-type": "application/json"}
        if self.token:
            headers["authorization"] = f"Bearer {self.token}"
        # As a browser writes it, for messages that count columns.
        data = None if body is None else json.dumps(body, separators=(",", ":"), ensure_ascii=False).encode()
        address = f"http://127.0.0.1:{self.port}{path}"
        request = urllib.request.Request(address, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=DEADLINE) as answer:
                status, text = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, text = error.code, error.read()
        except (OSError, urllib.error.URLError) as error:
            assert not check, error
            return 0, None
        assert not check or status < 300, f"{method} {path}: {status} {text[:600]!r}"
        return (status, text) if raw else (status, json.loads(text))

    def get(self, name, rest=""):
        return self.call("GET", f"/v1/experiments/{urllib.parse.quote(name)}{rest}")[1]

    def create(self, **declaration):
        return self.call("POST", "/v1/experiments", declaration)[1]

    def play(self, name, rounds, outcome, batch=50, request=None):
        """Decides and reports: `outcome(action)` gives the reward and the costs."""
        path = f"/v1/experiments/{name}"
        for first in range(0, rounds, batch):
            wanted = [dict(request or {}) for _ in range(min(batch, rounds - first))]
            results = self.call("POST", f"{path}/decisions:batch", {"decisions": wanted})[1]["results"]
            reports = []
            for result in results:
                reward, costs = outcome(result["decision"]["action"])
                reports.append({"decision": result["decision"]["id"], "reward": reward, "costs": costs})
            done = self.call("POST", f"{path}/outcomes:batch", {"outcomes": reports})[1]["results"]
            assert all(result["status"] == 200 for result in done), done


def wait_for(condition, what):
    end = time.monotonic() + DEADLINE
    while not (found := condition()):
        assert time.monotonic() < end, f"no {what} within {DEADLINE} seconds"
        time.sleep(0.02)
    return found


def chances(table, guardrails, seed=1):
    """Outcomes that are 0 or 1, with the probabilities of the table: reward first, then the costs."""
    source = random.Random(seed)

    def outcome(action):
        reward, *costs = (float(source.random() < p) for p in table[action])
        return reward, dict(zip(guardrails, costs))

    return outcome


# How the page writes numbers, for comparison with what the service says.


def rounded(x, exponent):
    """As JavaScript rounds: a half goes up."""
    return decimal.Decimal(x).quantize(decimal.Decimal((0, (1,), exponent)), decimal.ROUND_HALF_UP)


def significant(x, digits):
    return rounded(x, decimal.Decimal(x).adjusted() - digits + 1)


def shown(x):
    """Four significant digits, and a power of ten where that is shorter."""
    if x is None:
        return "–"
    if abs(x) < 1e-12:
        return "0"
    four = significant(x, 4)
    if abs(x) >= 1e-4:
        return f"{four.normalize():f}".replace("-", "−")
    power = four.adjusted()
    return f"{four.scaleb(-power).normalize():f}e{power}".replace("-", "−")


def percent(p):
    v = p * 100
    if v in (0, 100):
        return f"{v:.0f}%"
    if v < 0.01 or v > 99.99:
        return "<0.01%" if v < 1 else ">99.99%"
    if v < 1:
        return f"{significant(v, 2).normalize():f}%"
    return f"{rounded(v, -2 if v > 99 or v < 10 else -1):f}%"


class Watch:
    """What a page must not do: fail, complain, break its security policy, or talk to others."""

    def __init__(self, origin):
        self.origin, self.found, self.allowed = origin, [], []

    def follow(self, page):
        page.on("pageerror", lambda error: self.found.append(f"error: {error}"))
        page.on("console", self.heard)
        page.on("request", self.requested)

    def allow(self, *patterns):
        self.allowed += patterns

    def heard(self, message):
        if message.type in ("error", "warning"):
            self.found.append(f"console: {message.text}")

    def requested(self, request):
        if not request.url.startswith((f"{self.origin}/", "data:", "blob:")):
            self.found.append(f"request: {request.url}")

    def verdict(self):
        return [line for line in self.found if not any(re.search(p, line) for p in self.allowed)]


@pytest.fixture
def service(tmp_path):
    folder = tmp_path / "data"
    folder.mkdir()
    server = PageServer(folder)
    yield server.start()
    server.stop()


@pytest.fixture(scope="module")
def browser():
    names = ["chromium", "chromium-browser", "google-chrome"]
    program = next(filter(None, map(shutil.which, names)), None)
    assert program, "no Chromium: `cargo xtask test` installs it"
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=program, args=FLAGS)
        yield chromium
        chromium.close()


@pytest.fixture
def look(browser, service, tmp_path):
    """Opens pages; whatever they complain about fails the test at its end."""
    contexts, watches = [], []

    def open_page(path="/", size=(1400, 900), scheme="light"):
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, color_scheme=scheme, locale="en-GB"
        )
        context.set_default_timeout(DEADLINE * 1000)
        contexts.append(context)
        page = context.new_page()
        page.watch = Watch(service.url)
        page.watch.follow(page)
        watches.append(page.watch)
        page.goto(f"{service.url}{path}")
        page.picture = lambda name: picture(page, name, tmp_path)
        return page

    yield open_page
    for context in contexts:
        context.close()
    complaints = [line for watch in watches for line in watch.verdict()]
    assert not complaints, "\n".join(complaints)


def picture(page, name, tmp_path):
    target = tmp_path / f"{name}.png"
    page.screenshot(path=target, full_page=True)
    if folder := os.environ.get("BANISTER_SCREENSHOTS"):
        pathlib.Path(folder).mkdir(parents=True, exist_ok=True)
        shutil.copy(target, folder)


def painted(page, testid, variable):
    """How many pixels of a chart have about the colour of a variable of the style sheet."""
    page.watch.allow("willReadFrequently")  # said about this test, not about the page
    return page.get_by_test_id(testid).locator("canvas").evaluate(
        """(canvas, variable) => {
            const probe = document.createElement("i");
            probe.style.color = `var(${variable})`;
            document.body.append(probe);
            const wanted = getComputedStyle(probe).color.match(/[0-9.]+/g).map(Number);
            probe.remove();
            const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
            let count = 0;
            for (let i = 0; i < data.length; i += 4)
                if (data[i + 3] > 200 && [0, 1, 2].every((c) => Math.abs(data[i + c] - wanted[c]) < 24)) count++;
            return count;
        }""",
        variable,
    )
