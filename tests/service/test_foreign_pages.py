"""Pages of other sites, in a real browser and by hand: without tokens they can change nothing and read nothing."""

import http.server
import threading

import pytest
from playwright.sync_api import expect

from . import routes
from .experiments import ARMS, create_all
from .server import wait_for
from .test_metrics import read

PATH = "/v1/experiments/arms"
DECISIONS = f"{PATH}/decisions"

#: All that a page may send to another site without asking it first; and a request that asks first.
ATTACK = """async (target) => {
    const decisions = `${target}/v1/experiments/arms/decisions`;
    const attempt = (options, url = decisions) =>
        fetch(url, { mode: "no-cors", ...options }).then((answer) => answer.text()).catch(() => "refused");
    const seen = [await attempt({ method: "POST" }), await attempt({ method: "POST", body: "{}" })];
    navigator.sendBeacon(decisions);
    for (const enctype of ["application/x-www-form-urlencoded", "text/plain", "multipart/form-data"]) {
        const frame = document.createElement("iframe");
        frame.name = enctype;
        document.body.append(frame);
        const form = document.createElement("form");
        Object.assign(form, { method: "POST", action: decisions, enctype, target: enctype });
        const input = document.createElement("input");
        Object.assign(input, { name: '{"id":"', value: 'form"}' });
        form.append(input);
        document.body.append(form);
        form.submit();
    }
    const headers = { "content-type": "application/json" };
    seen.push(await attempt({ method: "POST", mode: "cors", headers, body: "{}" }));
    seen.push(await attempt({ method: "DELETE", mode: "cors" }, `${target}/v1/experiments/arms/arms/bold`));
    seen.push(await attempt({}, `${target}/v1/experiments`), await attempt({}, `${target}/metrics`));
    return seen;
}"""


@pytest.fixture
def foreign():
    """The port of another site on this machine."""

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            body = b"<!doctype html><title>foreign</title><body><a href='" + self.path[1:].encode() + b"'>there</a>"
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page) as site:
        thread = threading.Thread(target=site.serve_forever, daemon=True)
        thread.start()
        yield site.server_port
        site.shutdown()
        thread.join(5)


def posts(server):
    """Counts the answers to requests for decisions, by status."""
    found = {}
    for (name, labels), value in read(server).items():
        labels = dict(labels)
        route = (labels.get("method"), labels.get("route", "").rpartition("/")[2])
        if name == "banister_http_requests_total" and route == ("POST", "decisions"):
            found[labels["status"]] = int(value)
    return found


def test_pages_of_other_sites_in_a_browser(service, browser, foreign):
    service.post("/v1/experiments", ARMS).ok(201)
    before = service.get("/v1/experiments").body
    sites = [
        ("127.0.0.1", "127.0.0.1"),
        ("localhost", "localhost"),
        ("localhost", "127.0.0.1"),
        ("127.0.0.1", "localhost"),
    ]
    for count, (site, target) in enumerate(sites, 1):
        target = f"http://{target}:{service.port}"
        context = browser.new_context()
        page = context.new_page()
        page.goto(f"http://{site}:{foreign}/{target}/")
        seen = page.evaluate(ATTACK, target)
        # Answers to such requests cannot be read; those that ask first are not sent at all.
        assert set(seen) <= {"", "refused"}, seen
        # Two requests, a beacon and three forms have come, whatever became of them.
        wait_for(lambda: sum(posts(service).values()) == 6 * count, "all requests")
        # A link to the page works, and the page with it.
        page.get_by_text("there").click()
        expect(page.locator(".experiments tbody tr")).to_have_count(1)
        context.close()
    assert posts(service) == {"403": 6 * len(sites)}
    assert service.get("/v1/experiments").body == before


def test_what_browsers_say_of_a_request(serve):
    server = serve()
    create_all(server)
    before = server.get("/v1/experiments").body
    own = f"http://127.0.0.1:{server.port}"
    foreign = [
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"sec-fetch-site": "nonsense"},
        {"origin": "null"},
        {"origin": "https://evil.example"},
        {"origin": f"http://127.0.0.1:{server.port + 1}"},
        {"origin": f"http://localhost:{server.port}"},
        {"origin": f"{own}.evil.example"},
        {"sec-fetch-site": "cross-site", "origin": own},
    ]
    for route in routes.of_source():
        for headers in foreign:
            answer = routes.send(server, route, headers=headers)
            if route.role is None:
                assert answer.status == 200, (route, headers)
            else:
                field = "sec-fetch-site" if "sec-fetch-site" in headers else "origin"
                answer.problem(403, field=field)
            assert not [name for name in answer.headers if name.startswith("access-control-")]
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
    assert server.get("/v1/experiments").body == before
    for headers in [
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {"origin": own},
        # A proxy may have changed the host's name: the browser knows better.
        {"sec-fetch-site": "same-origin", "origin": "https://bandits.example"},
    ]:
        server.post(DECISIONS, {}, headers=headers).ok(200)
        server.get("/v1/experiments", headers=headers).ok(200)


def test_every_change_says_that_no_form_sent_it(serve):
    server = serve()
    create_all(server)
    before = server.get("/v1/experiments").body
    simple = ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "TEXT/PLAIN", ""]
    changes = [route for route in routes.of_source() if route.method != "GET"]
    for route in changes:
        path = route.path.replace("{name}", "arms").replace("{arm}", "brave")
        for kind in [None, *simple]:
            for body in [None, b"", b"{}"]:
                answer = server.request(route.method, path, body, headers={"content-type": kind})
                answer.problem(415, field="content-type")
    assert server.get("/v1/experiments").body == before
    # Either is enough where there is no body; a body is JSON in any case.
    for headers in [{}, {"content-type": None, "x-banister-request": "1"}]:
        server.request("POST", DECISIONS, headers=headers).ok(200)
        server.request("PATCH", PATH, headers=headers).ok(200)
    own = {"content-type": "text/plain", "x-banister-request": "1"}
    server.request("POST", DECISIONS, b"{}", headers=own).problem(415, field="content-type")
    own = {"content-type": None, "x-banister-request": "1"}
    server.request("DELETE", f"{PATH}/arms/brave", headers=own).ok(200)


def test_with_tokens_reading_needs_nothing_but_the_token(serve):
    server = serve("--require-token")
    server.token = server.make_token("admin", "boss")
    server.post("/v1/experiments", ARMS).ok(201)
    other = {"sec-fetch-site": "cross-site", "origin": "https://evil.example"}
    server.get(PATH, headers=other).ok(200)
    server.post(DECISIONS, {}, headers=other).problem(403, field="sec-fetch-site")
    server.post(DECISIONS, {}, headers={"origin": "https://evil.example"}).problem(403, field="origin")
