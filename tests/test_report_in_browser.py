"""The report opened in a real browser, offline, and its figures seen to be drawn."""

import base64

import pytest
from playwright.sync_api import expect
from service.browser import Watch, browser  # noqa: F401

#: 3 x 3 panels of the paper, 3 of the lower bound, 2 x 3 of the unknown safe cost; with features
#: 3 of the contextual instance, 2 of the margin, 2 x 3 of the unknown safe cost, 2 of the arms.
CHARTS = 31
#: The palette's first three.
COLOURS = [[0x00, 0x72, 0xB2], [0xE6, 0x9F, 0x00], [0x00, 0x9E, 0x73]]
#: Counts the pixels of a picture that have about each of the colours.
COUNT = """async ([picture, colours]) => {
    const image = await createImageBitmap(await (await fetch(picture)).blob());
    const context = new OffscreenCanvas(image.width, image.height).getContext("2d");
    context.drawImage(image, 0, 0);
    const { data } = context.getImageData(0, 0, image.width, image.height);
    const counts = colours.map(() => 0);
    for (let i = 0; i < data.length; i += 4)
        colours.forEach((colour, k) => {
            if (colour.every((value, c) => Math.abs(data[i + c] - value) <= 12)) counts[k]++;
        });
    return counts;
}"""


@pytest.fixture(scope="module")
def report(banister, tmp_path_factory):
    out = tmp_path_factory.mktemp("reproduce")
    banister("reproduce", "--horizon", 3000, "--runs", 2, "--quiet", "--out", out)
    return out / "report.html"


@pytest.fixture
def page(browser, report):  # noqa: F811
    context = browser.new_context(viewport={"width": 1400, "height": 2200}, offline=True)
    page = context.new_page()
    page.watch = Watch(report.parent.as_uri())
    page.watch.follow(page)
    page.goto(report.as_uri())
    yield page
    context.close()


def test_every_chart_is_drawn(page):
    root = page.locator("html")
    expect(root).to_have_attribute("data-drawn", str(CHARTS))
    assert root.get_attribute("data-error") is None
    assert page.locator("canvas").count() == CHARTS
    # It is one file: it neither failed, nor asked for another, nor would.
    assert page.watch.found == []
    others = page.locator("[src], link[href]").evaluate_all("all => all.map((e) => e.src || e.href)")
    assert [address for address in others if not address.startswith("data:")] == []


def test_the_curves_can_be_seen(page):
    expect(page.locator("html")).to_have_attribute("data-drawn", str(CHARTS))
    picture = base64.b64encode(page.screenshot()).decode()
    # Another page counts: the report may fetch nothing.
    reader = page.context.new_page()
    counts = reader.evaluate(COUNT, [f"data:image/png;base64,{picture}", COLOURS])
    # Each is more than a dot.
    assert all(count > 300 for count in counts), counts
