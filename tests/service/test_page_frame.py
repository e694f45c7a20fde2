"""The page in a real browser: tokens, roles, a service that goes away, themes, phones, and hostile names."""

import pytest
from playwright.sync_api import expect

from .experiments import chances, get, play
from .server import wait_for

RAIL = {"name": "complaints", "at_most": 0.2, "safe_cost": 0.05}
ARMS = {"control": (0.4, 0.05), "bold": (0.7, 0.1)}
HIDDEN_FROM_READERS = ["pause", "edit", "archive", "add-arm", "learn", "try-decide"]


@pytest.fixture
def shop(service):
    declared = {"name": "shop", "arms": list(ARMS), "safe": "control", "guardrails": [RAIL], "confidence": 0.9}
    service.post("/v1/experiments", declared).ok(201)
    play(service, "shop", 300, chances(ARMS, ["complaints"]))
    return service


def test_a_token_is_asked_for(shop, look):
    token = shop.make_token("admin", "boss")
    page = look()
    page.watch.allow("status of 401")
    expect(page.get_by_text("A token is needed")).to_be_visible()
    page.get_by_test_id("token-input").fill("wrong")
    page.get_by_test_id("token-submit").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_be_visible()
    page.picture("token")
    page.get_by_test_id("token-input").fill(token)
    page.get_by_test_id("token-submit").click()
    expect(page.get_by_text("A token is needed")).to_be_hidden()
    expect(page.locator(".experiments tbody tr")).to_have_count(1)
    expect(page.locator(".who")).to_contain_text("admin")
    expect(page.get_by_test_id("new-experiment")).to_be_visible()
    # It stays for the tab, and is forgotten on request.
    page.reload()
    expect(page.locator(".experiments tbody tr")).to_have_count(1)
    page.get_by_role("button", name="Sign out").click()
    expect(page.get_by_text("A token is needed")).to_be_visible()


def test_a_token_in_the_address_is_taken_out_of_it(shop, look):
    token = shop.make_token("decide", "till")
    page = look(f"/#token={token}&/experiments/shop")
    expect(page.get_by_role("heading", level=1)).to_have_text("shop")
    assert token not in page.url
    expect(page.get_by_test_id("try-decide")).to_be_visible()
    expect(page.get_by_test_id("pause")).to_be_hidden()


def test_readers_see_nothing_that_they_cannot_do(shop, look):
    token = shop.make_token("read", "guest")
    page = look(f"/#token={token}&/")
    expect(page.locator(".experiments tbody tr")).to_have_count(1)
    expect(page.get_by_test_id("new-experiment")).to_be_hidden()
    page.get_by_role("link", name="shop").click()
    expect(page.get_by_test_id("count-decisions")).to_have_text("300")
    expect(page.locator(".try")).to_contain_text("needs the role “decide”")
    for gone in HIDDEN_FROM_READERS:
        expect(page.get_by_test_id(gone)).to_be_hidden()
    expect(page.get_by_role("button", name="Retire").locator("visible=true")).to_have_count(0)
    with page.expect_download() as download:
        page.get_by_test_id("export-csv").click()
    assert download.value.suggested_filename == "shop.csv"
    page.goto(f"{shop.url}/#/new")
    expect(page.get_by_text("needs the role “admin”")).to_be_visible()


def test_a_service_that_goes_away_and_comes_back(shop, look):
    page = look("/#/experiments/shop")
    expect(page.get_by_test_id("count-decisions")).to_have_text("300")
    page.watch.allow("ERR_")
    assert shop.stop() == 0
    expect(page.get_by_test_id("connection")).to_be_visible()
    expect(page.get_by_test_id("count-decisions")).to_have_text("300")
    page.picture("lost")
    shop.start().ready()
    expect(page.get_by_test_id("connection")).to_be_hidden()
    play(shop, "shop", 10, chances(ARMS, ["complaints"]))
    expect(page.get_by_test_id("count-decisions")).to_have_text("310")


VIEWS = {
    "list": "/",
    "experiment": "/#/experiments/shop",
    "audit": "/#/experiments/shop/decisions/%40DECISION",
    "new": "/#/new",
    "missing": "/#/experiments/nothing",
}
CONTRAST = """() => {
    const rgb = (text) => (text.match(/[0-9.]+/g) || []).map(Number);
    const light = ([r, g, b]) => [r, g, b]
        .map((v) => (v /= 255) <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4)
        .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
    const ground = (node) => {
        for (; node; node = node.parentElement) {
            const colour = getComputedStyle(node).backgroundColor, parts = rgb(colour);
            if (!colour.startsWith("rgb")) return null;
            if (parts.length === 3 || parts[3] === 1) return parts;
            if (parts[3] > 0) return null;
        }
        return [255, 255, 255];
    };
    const poor = [];
    for (const node of document.querySelectorAll("body *")) {
        const own = [...node.childNodes].some((c) => c.nodeType === 3 && c.textContent.trim());
        if (!own || !node.checkVisibility() || node.closest("script, style, noscript, :disabled, .piece")) continue;
        const behind = ground(node);
        if (!behind) continue;
        const [a, b] = [light(rgb(getComputedStyle(node).color)), light(behind)].sort((x, y) => y - x);
        const ratio = (a + 0.05) / (b + 0.05);
        if (ratio < 4.5) poor.push(`${node.tagName}.${node.className} "${node.textContent.slice(0, 30)}": ${ratio}`);
    }
    return poor;
}"""


def views(service, look, **how):
    latest = get(service, "shop", "/decisions?limit=1")["decisions"][0]["number"]
    for name, path in VIEWS.items():
        page = look(path.replace("DECISION", str(latest)), **how)
        page.watch.allow("status of 404")
        if name == "missing":
            expect(page.get_by_role("status").filter(has_text="nothing")).to_be_visible()
        else:
            expect(page.get_by_role("heading", level=1)).to_be_visible()
        if name == "experiment":
            expect(page.get_by_test_id("chart-reward").locator("canvas")).to_be_visible()
        if name == "audit":
            expect(page.get_by_test_id("audit-safe")).to_contain_text("kept")
        if name == "new":
            expect(page.get_by_test_id("create-form")).to_be_visible()
        yield name, page


def test_light_and_dark(shop, look):
    grounds = {}
    for scheme in ["light", "dark"]:
        for name, page in views(shop, look, scheme=scheme):
            assert page.evaluate(CONTRAST) == [], (scheme, name)
            grounds[scheme, name] = page.evaluate("getComputedStyle(document.body).backgroundColor")
            page.picture(f"{name}-{scheme}")
    assert len({ground for (scheme, _), ground in grounds.items() if scheme == "light"}) == 1
    assert grounds["light", "list"] != grounds["dark", "list"]
    # The reader's own choice counts more than the system's, and is remembered.
    page = look(scheme="dark")
    page.get_by_test_id("theme-toggle").click()
    page.reload()
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert ground == grounds["light", "list"]


def test_on_a_phone_nothing_scrolls_sideways(shop, look):
    declared = {
        "name": "a" * 64,
        "description": "d" * 300,
        "arms": ["control", "x" * 200],
        "safe": "control",
        "guardrails": [{"name": "g" * 100, "at_most": 0.5, "safe_cost": 0.1}],
    }
    shop.post("/v1/experiments", declared).ok(201)
    shop.post(f"/v1/experiments/{'a' * 64}/decisions", {"id": "i" * 128}).ok(200)
    long = {
        "long-experiment": f"/#/experiments/{'a' * 64}",
        "long-audit": f"/#/experiments/{'a' * 64}/decisions/{'i' * 128}",
    }
    phone = {"size": (390, 844)}
    for name, page in [*views(shop, look, **phone), *((name, look(path, **phone)) for name, path in long.items())]:
        expect(page.get_by_role("heading", level=1).or_(page.get_by_role("status")).first).to_be_visible()
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0, (name, wide)
        page.picture(f"phone-{name}")


def test_names_are_text(service, look):
    evil = "<script>window.caught = 1</script><img src=x onerror='window.caught = 2'>"
    declared = {
        "name": "names",
        "description": evil,
        "arms": ["control", evil],
        "safe": "control",
        "guardrails": [{"name": evil, "at_most": 0.9, "safe_cost": 0.1}],
    }
    service.post("/v1/experiments", declared).ok(201)
    service.post("/v1/experiments/names/decisions", {"id": evil}).ok(200)
    report = {"decision": evil, "reward": 1, "costs": {evil: 0.5}}
    service.post("/v1/experiments/names/outcomes", report).ok(200)
    page = look()
    expect(page.get_by_text(evil)).to_be_visible()
    page.get_by_role("link", name="names").click()
    expect(page.get_by_test_id("arms-table").locator("tbody tr").nth(1)).to_contain_text(evil)
    expect(page.get_by_test_id("count-outcomes")).to_have_text("1")
    page.get_by_test_id("decisions-table").locator("tbody a").click()
    expect(page.get_by_role("heading", level=1)).to_contain_text(evil)
    expect(page.get_by_test_id("audit")).to_contain_text(evil)
    assert page.locator("main script, main img").count() == 0
    assert page.evaluate("window.caught") is None


def test_the_page_is_whole_and_closed(service, look):
    """One file: after it nothing is loaded but the service's answers, whatever script is put into it."""
    page = look()
    expect(page.get_by_test_id("welcome")).to_be_visible()
    loaded = page.evaluate("performance.getEntriesByType('resource').map((e) => new URL(e.name).pathname)")
    assert all(path.startswith("/v1/") for path in loaded), loaded
    assert page.watch.found == []
    page.watch.allow("Content Security Policy")
    page.evaluate("""() => {
        const script = document.createElement("script");
        script.textContent = "window.caught = 1";
        document.body.append(script);
    }""")

    def refused():
        # What the browser complains of is heard while it is asked.
        assert page.evaluate("window.caught") is None
        return any("Content Security Policy" in line for line in page.watch.found)

    wait_for(refused, "complaint")
