"""The report opened in a real browser, offline, and its figures seen to be drawn."""

import html.parser
import shutil
import struct
import subprocess
import zlib

import pytest

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=10000",
]


@pytest.fixture(scope="module")
def report(banister, tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce")
    banister("reproduce", "--horizon", 3000, "--runs", 2, "--quiet", "--out", out)
    return out / "report.html"


@pytest.fixture(scope="module")
def chromium():
    for name in ["chromium", "chromium-browser", "google-chrome"]:
        if path := shutil.which(name):
            return path
    pytest.fail("no Chromium: `cargo xtask test` installs it")


def browse(chromium, profile, page, *flags):
    command = [chromium, *FLAGS, f"--user-data-dir={profile}", *flags, page.as_uri()]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


class Root(html.parser.HTMLParser):
    """The attributes of <html>, and what the page tries to load."""

    def __init__(self):
        super().__init__()
        self.attributes, self.loads, self.canvases = {}, [], 0

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if tag == "html":
            self.attributes = attributes
        self.canvases += tag == "canvas"
        for key in ("src", "href"):
            if attributes.get(key, "").startswith(("http:", "https:", "//")):
                self.loads.append(attributes[key])


def test_every_chart_is_drawn(chromium, report, tmp_path):
    root = Root()
    root.feed(browse(chromium, tmp_path, report, "--dump-dom"))
    assert "data-error" not in root.attributes
    # 3 x 3 panels of the paper, 3 of the lower bound, 2 x 3 of the unknown safe cost; with features
    # 3 of the contextual instance, 2 of the margin, 2 x 3 of the unknown safe cost, 2 of the arms.
    assert root.attributes.get("data-drawn") == "31"
    assert root.canvases == 31
    assert root.loads == []


def pixels(png):
    """Rows of RGB triples of a PNG made by Chromium (8 bits, no interlace)."""
    data = png.read_bytes()
    width, height, depth, color = struct.unpack(">IIBB", data[16:26])
    assert depth == 8 and color in (2, 6)
    size = {2: 3, 6: 4}[color]
    body, at = b"", 8
    while at < len(data):
        (length,) = struct.unpack(">I", data[at : at + 4])
        if data[at + 4 : at + 8] == b"IDAT":
            body += data[at + 8 : at + 8 + length]
        at += length + 12
    raw, stride = zlib.decompress(body), width * size
    previous = bytearray(stride)
    for y in range(height):
        kind, row = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1 : (y + 1) * (stride + 1)])
        for i in range(stride):
            left = row[i - size] if i >= size else 0
            up, corner = previous[i], previous[i - size] if i >= size else 0
            if kind == 1:
                row[i] = (row[i] + left) & 255
            elif kind == 2:
                row[i] = (row[i] + up) & 255
            elif kind == 3:
                row[i] = (row[i] + (left + up) // 2) & 255
            elif kind == 4:
                guess = left + up - corner
                pick = min((left, up, corner), key=lambda c: abs(guess - c))
                row[i] = (row[i] + pick) & 255
        previous = row
        yield [tuple(row[x * size : x * size + 3]) for x in range(width)]


def test_the_curves_can_be_seen(chromium, report, tmp_path):
    picture = tmp_path / "page.png"
    browse(chromium, tmp_path / "profile", report, f"--screenshot={picture}", "--window-size=1400,2200")
    seen = {}
    for row in pixels(picture):
        for color in row:
            seen[color] = seen.get(color, 0) + 1
    # The palette's first three colours, each drawn as more than a dot.
    for color in [(0x00, 0x72, 0xB2), (0xE6, 0x9F, 0x00), (0x00, 0x9E, 0x73)]:
        close = sum(n for c, n in seen.items() if max(abs(a - b) for a, b in zip(c, color)) <= 12)
        assert close > 300, (color, close)
