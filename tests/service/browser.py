"""A browser that looks at the page of a service, and how the page writes what the service says."""

import decimal
import os
import pathlib
import re
import shutil

import pytest
from playwright.sync_api import expect, sync_playwright

from .server import DEADLINE

expect.set_options(timeout=DEADLINE * 1000)
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


def chromium():
    """Where the browser is."""
    names = ["chromium", "chromium-browser", "google-chrome"]
    program = next(filter(None, map(shutil.which, names)), None)
    assert program, "no Chromium: `cargo xtask test` installs it"
    return program


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
    """Watches for what a page must not do: fail, complain, break its security policy, or talk to others."""

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


@pytest.fixture(scope="module")
def browser():
    """One for all tests of a file."""
    with sync_playwright() as playwright:
        program = playwright.chromium.launch(executable_path=chromium(), args=FLAGS)
        yield program
        program.close()


@pytest.fixture
def look(browser, service):
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
        page.picture = lambda name: picture(page, name)
        return page

    yield open_page
    for context in contexts:
        context.close()
    complaints = [line for watch in watches for line in watch.verdict()]
    assert not complaints, "\n".join(complaints)


def picture(page, name):
    """For people who want to see what the tests saw."""
    if folder := os.environ.get("BANISTER_SCREENSHOTS"):
        page.screenshot(path=pathlib.Path(folder, f"{name}.png"), full_page=True)


def painted(page, testid, variable):
    """Counts the pixels of a chart that have about the colour of a variable of the style sheet."""
    page.watch.allow("willReadFrequently")  # said about this test, not about the page
    return (
        page.get_by_test_id(testid)
        .locator("canvas")
        .evaluate(
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
    )
