"""Flags, by the official OpenFeature SDKs and OFREP providers: Python, JavaScript on a server, and on a page."""

import json
import pathlib
import queue
import re
import subprocess
import sys
import threading

import deno
import openfeature.api
import pytest
from openfeature.contrib.provider.ofrep import OFREPProvider
from openfeature.evaluation_context import EvaluationContext
from openfeature.track import TrackingEventDetails

from .experiments import get
from .routes import Document
from .server import ROOT, environment, make_token, quoted, rebuild, wait_for
from .test_metrics import read, value

SCRIPT = pathlib.Path(__file__).with_name("openfeature.js")
#: Its packages may have to be downloaded.
FIRST = 300
BULK = "/ofrep/v1/evaluate/flags"
#: Half of the units see `new` from the first on.
HALF = {"rollout": {"ramp": [{"at_most": 0.5}], "floors": {"new": 0.5}}}
ARMS = {"arms": ["control", "new"], "safe": "control"}
UNITS = {"unit": {"name": "user", "period": "7d"}}
VALUES = {
    "boolean": {"control": False, "new": True},
    # One of them is written without a point.
    "number": {"control": 1, "new": 2.5},
    "whole": {"control": 1, "new": 2},
    "string": {"control": "old text", "new": "new text"},
    "object": {"control": {"colour": "grey", "sizes": [1]}, "new": {"colour": "red", "sizes": [1, 2]}},
    "list": {"control": [], "new": [{"text": "hello"}]},
    "names": {},
}
DEFAULTS = {"boolean": False, "number": 0.5, "whole": 0, "string": "", "object": {}, "list": [], "names": ""}


def flag(name, values=None, **more):
    return ARMS | HALF | UNITS | {"name": name, "flag": {"values": values or {}}} | more


def create(server, *declarations):
    for declaration in declarations:
        server.post("/v1/experiments", declaration).ok(201)


def shown(details):
    """Returns what an SDK says of an evaluation, in the same words for all of them."""
    return {name: details.get(name) for name in ["value", "reason", "variant", "flagMetadata", "errorCode"]}


class TrackingProvider(OFREPProvider):
    """The official provider sends no tracking events: this one does."""

    def track(self, tracking_event_name, evaluation_context=None, tracking_event_details=None):
        event = {"event": tracking_event_name, "targetingKey": evaluation_context.targeting_key}
        event |= {"value": tracking_event_details.value, **tracking_event_details.attributes}
        self.session.post(f"{self.base_url}/v1/track", json={"events": [event]}).raise_for_status()


class Python:
    """Evaluates by the Python SDK, as JavaScript's does it: answers have its names."""

    def connect(self, url, token=None, tracking=False):
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        provider = TrackingProvider if tracking else OFREPProvider
        openfeature.api.set_provider(provider(url, headers_factory=lambda: headers))
        self.client = openfeature.api.get_client()

    def evaluate(self, name, default, **context):
        known = EvaluationContext(context.pop("targetingKey", None), context)
        by_type = {
            bool: self.client.get_boolean_details,
            int: self.client.get_integer_details,
            float: self.client.get_float_details,
            str: self.client.get_string_details,
            dict: self.client.get_object_details,
            list: self.client.get_object_details,
        }
        got = by_type[type(default)](name, default, known)
        code = got.error_code and got.error_code.value
        return shown(vars(got) | {"reason": str(got.reason), "flagMetadata": got.flag_metadata, "errorCode": code})

    def track(self, event, unit, **details):
        amount = details.pop("value", None)
        self.client.track(event, EvaluationContext(unit), TrackingEventDetails(amount, details))

    def close(self):
        openfeature.api.shutdown()
        openfeature.api.clear_providers()


class JavaScript:
    """Drives openfeature.js."""

    def __init__(self, errors):
        self.errors, self.processes = errors, []

    def start(self, url, token=None):
        command = [deno.find_deno_bin(), "run", "--quiet", "--cached-only", "--no-prompt", "--allow-net=127.0.0.1"]
        command += ["--allow-env", SCRIPT, url, *([token] if token else [])]
        with self.errors.open("ab") as errors:
            pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": errors}
            process = subprocess.Popen(command, **pipes, text=True, encoding="utf-8", env=deno_environment())
        self.processes.append(process)
        self.lines = queue.Queue()
        threading.Thread(target=self.listen, args=(process.stdout, self.lines), daemon=True).start()

    @staticmethod
    def listen(stdout, lines):
        for line in stdout:
            lines.put(line)
        lines.put("")

    def ask(self, do, **command):
        stdin = self.processes[-1].stdin
        stdin.write(json.dumps({"do": do} | command) + "\n")
        stdin.flush()
        line = self.lines.get(timeout=30)
        assert line, self.errors.read_text(errors="replace")
        return json.loads(line)

    def connect(self, url, token=None, tracking=False):
        self.start(url, token)
        self.ask("server", tracking=tracking)

    def evaluate(self, name, default, **context):
        return shown(self.ask("evaluate", flag=name, value=default, context=context))

    def track(self, event, unit, **details):
        return self.ask("track", event=event, context={"targetingKey": unit}, more=details)

    def look(self, name, default):
        return shown(self.ask("look", flag=name, value=default))

    def changes(self):
        """Waits until a poll changed something, and gives the flags; one that crossed a new context changed nothing."""
        while True:
            for heard in self.ask("heard"):
                assert heard["event"] == "PROVIDER_CONFIGURATION_CHANGED", heard
                if heard["flagsChanged"]:
                    return heard["flagsChanged"]

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
            process.stdin.close()


def deno_environment():
    """Packages are kept beside what cargo builds."""
    return environment(DENO_DIR=str(ROOT / "target" / "deno"), DENO_NO_UPDATE_CHECK="1", NO_COLOR="1")


@pytest.fixture(scope="session")
def packages():
    command = [deno.find_deno_bin(), "cache", "--quiet", SCRIPT]
    subprocess.run(command, check=True, env=deno_environment(), timeout=FIRST)


@pytest.fixture
def script(packages, tmp_path):
    own = JavaScript(tmp_path / "deno.log")
    yield own
    own.close()


@pytest.fixture
def python():
    own = Python()
    yield own
    own.close()


@pytest.fixture(params=["python", "script"])
def sdk(request):
    """Each of the SDKs of servers."""
    return request.getfixturevalue(request.param)


def requested(server, route, status):
    """Returns how often a route was answered with this status."""
    return value(read(server), "http_requests_total", method="POST", route=route, status=str(status)) or 0


def test_both_languages_see_the_arm_of_the_decision(service, python, script):
    create(service, *(flag(name, values) for name, values in VALUES.items()))
    python.connect(service.url)
    script.connect(service.url)
    for name, default in DEFAULTS.items():
        seen = set()
        for unit in [f"user {i}" for i in range(40)]:
            decided = python.evaluate(name, default, targetingKey=unit, nobody="asks for this")
            assert decided == script.evaluate(name, default, targetingKey=unit), decided
            arm = decided["variant"]
            expected = VALUES[name].get(arm, arm)
            assert decided["value"] == expected and type(decided["value"]) is type(default), decided
            assert decided["reason"] == "SPLIT"
            seen.add(arm)
            # It is a decision like any other.
            same = service.post(f"/v1/experiments/{name}/decisions", {"unit": unit}).ok(200)
            metadata = decided["flagMetadata"]
            assert (same["action"], same["probability"]) == (arm, metadata["probability"])
            assert same["id"] == metadata["decision"]
        assert get(service, name)["counts"]["decisions"] == 40
        assert seen == {"control", "new"}


def test_metadata_are_of_the_certificate(service, sdk):
    guardrails = [{"name": "complaints", "at_most": 0.5, "safe_cost": 0.1}, {"name": "errors", "at_most": 1}]
    create(service, flag("checkout", guardrails=guardrails))
    sdk.connect(service.url)
    metadata = sdk.evaluate("checkout", "", targetingKey="anna")["flagMetadata"]
    certificate = service.post("/v1/experiments/checkout/decisions", {"unit": "anna"}).ok(200)["certificate"]
    expected = {"confidence": certificate["confidence"]["safety"]}
    for guardrail in certificate["guardrails"]:
        expected[f"{guardrail['name']}.pessimistic_cost"] = guardrail["pessimistic_cost"]
        expected[f"{guardrail['name']}.threshold"] = guardrail["threshold"]
    assert len(expected) == 5 and expected.items() <= metadata.items()


def test_the_safe_arm_is_the_default_when_it_is_forced(service, sdk):
    create(service, flag("checkout", VALUES["boolean"]))
    sdk.connect(service.url)
    units = [f"user {i}" for i in range(12)]
    before = {unit: sdk.evaluate("checkout", False, targetingKey=unit) for unit in units}
    service.request("PATCH", "/v1/experiments/checkout", {"status": "paused"}).ok(200)
    for unit in [*units, "somebody new"]:
        after = sdk.evaluate("checkout", True, targetingKey=unit)
        assert (after["variant"], after["value"]) == ("control", False)
        if unit in before and before[unit]["value"] is False:
            # It had this arm by chance, and still has.
            assert after == before[unit]
        else:
            assert after["reason"] == "DEFAULT" and after["flagMetadata"]["fallback"] == "paused"
            assert after["flagMetadata"]["probability"] == 1


def test_errors_give_the_default_of_the_caller(service, sdk):
    create(service, flag("checkout", VALUES["boolean"]), ARMS | UNITS | {"name": "no-flag"})
    sdk.connect(service.url)

    def failed(name, default, code, **context):
        got = sdk.evaluate(name, default, **context)
        assert (got["value"], got["reason"], got["errorCode"]) == (default, "ERROR", code), got
        assert not got["variant"]

    failed("checkout", True, "TARGETING_KEY_MISSING")
    failed("checkout", True, "TARGETING_KEY_MISSING", targetingKey="", country="de")
    failed("checkout", True, "INVALID_CONTEXT", targetingKey="@1")
    for name in ["nowhere", "no-flag"]:
        failed(name, "mine", "FLAG_NOT_FOUND", targetingKey="anna")
    unknown = service.post("/ofrep/v1/evaluate/flags/chekout", {"context": {"targetingKey": "anna"}})
    assert unknown.json()["errorDetails"].endswith("; did you mean `checkout`?")
    assert get(service, "checkout")["counts"]["decisions"] == 0
    # Only the SDK knows of which type the caller's default is.
    failed("checkout", "mine", "TYPE_MISMATCH", targetingKey="anna")
    assert get(service, "checkout")["counts"]["decisions"] == 1

    service.request("PATCH", "/v1/experiments/checkout", {"status": "archived"}).ok(200)
    failed("checkout", True, "FLAG_NOT_FOUND", targetingKey="anna")
    service.stop()
    failed("checkout", True, "GENERAL", targetingKey="anna")


def test_a_token_says_who_may_evaluate_what(service, sdk):
    create(service, flag("checkout", VALUES["boolean"]), flag("search", VALUES["boolean"]))
    tokens = service.make_tokens({"decider": "decide-only", "reader": "read", "boss": "admin"})
    scoped = make_token(service.data_dir, "decide", "scoped", "--experiments", "search")
    wait_for(lambda: service.get("/v1/whoami", token=scoped).status == 200, "the token")

    def evaluated(name, token):
        sdk.connect(service.url, token)
        got = sdk.evaluate(name, True, targetingKey="anna")
        if got["errorCode"]:
            assert (got["value"], got["reason"], got["errorCode"]) == (True, "ERROR", "GENERAL"), got
        return not got["errorCode"]

    for token in [None, "nonsense", tokens["reader"], scoped]:
        assert not evaluated("checkout", token), token
    assert evaluated("checkout", tokens["decider"]) and evaluated("search", scoped)
    flags = service.post(BULK, {"context": {"targetingKey": "anna"}}, token=scoped).ok(200)["flags"]
    assert [own["key"] for own in flags] == ["search"]


def test_the_context_is_what_the_experiment_declares(service, sdk):
    fields = {
        "country": {"kind": "category", "values": ["de", "fr"], "unseen": "other"},
        "hour": {"kind": "number", "range": [0, 24], "missing": "indicator"},
        "member": {"kind": "boolean"},
    }
    linear = {"agent": {"kind": "oplb", "parameter_norm": 2}, "rollout": {}}
    create(
        service,
        flag("fields", context=fields, **linear),
        flag("numbers", context=2, **linear),
        flag("segments", segments=["de", "fr"], rollout={}),
        flag("product", segments={"fields": ["country", "device"]}, rollout={}),
    )
    sdk.connect(service.url)

    def failed(name, **context):
        got = sdk.evaluate(name, "", targetingKey="anna", **context)
        assert got["errorCode"] == "INVALID_CONTEXT", got

    def decided(name, **context):
        got = sdk.evaluate(name, "", targetingKey="anna", colour="red", **context)
        assert got["errorCode"] is None, got
        path = f"/v1/experiments/{name}/decisions/{quoted(got['flagMetadata']['decision'])}"
        return service.get(path).ok(200)

    failed("fields", hour=3)
    failed("fields", country="de", hour="noon", member=True)
    assert decided("fields", country="de", member=True)["context"]
    failed("numbers")
    failed("numbers", context=[0.5])
    assert decided("numbers", context=[0.5, -0.5])["context"] == [0.5, -0.5]
    failed("segments")
    failed("segments", segment=7)
    assert decided("segments", segment="fr")["segment"]["name"] == "fr"
    failed("product", country="de")
    failed("product", country="de", device=3)
    assert "mobile" in decided("product", country="de", device="mobile")["segment"]["name"]
    # Where it was decided before, it is not decided anew.
    assert decided("segments", segment="de")["segment"]["name"] == "fr"


def test_a_page_polls_all_flags_and_sees_a_change(service, python, script):
    create(
        service,
        *(flag(name, values) for name, values in VALUES.items()),
        flag("segments", segments=["de", "fr"], rollout={}),
    )
    python.connect(service.url)
    units = [f"user {i}" for i in range(40)]
    # Two units of whom a pause moves one.
    moved = next(unit for unit in units if python.evaluate("boolean", False, targetingKey=unit)["value"])
    other = next(unit for unit in units if not python.evaluate("boolean", False, targetingKey=unit)["value"])
    script.start(service.url)
    assert script.ask("web", context={"targetingKey": moved}, pollInterval=50) is None
    seen = {name: script.look(name, default) for name, default in DEFAULTS.items()}
    for name, default in DEFAULTS.items():
        expected = python.evaluate(name, default, targetingKey=moved)
        assert seen[name] == expected, name
    missing = script.look("segments", "mine")
    assert (missing["value"], missing["errorCode"]) == ("mine", "INVALID_CONTEXT")
    assert script.look("nowhere", "mine")["errorCode"] == "FLAG_NOT_FOUND"
    assert script.look("boolean", "mine")["errorCode"] == "TYPE_MISMATCH"

    def wait_for_polls():
        before = requested(service, BULK, 304)
        wait_for(lambda: requested(service, BULK, 304) > before + 1, "polls without news")

    wait_for_polls()
    # Other units are no news for this one, and polling decides no more.
    python.evaluate("boolean", False, targetingKey="somebody new")
    decisions = get(service, "string")["counts"]["decisions"]
    wait_for_polls()
    assert requested(service, BULK, 200) == 1 and get(service, "string")["counts"]["decisions"] == decisions == 1

    service.request("PATCH", "/v1/experiments/boolean", {"status": "paused"}).ok(200)
    assert script.changes() == ["boolean"]
    after = script.look("boolean", True)
    assert (after["value"], after["variant"], after["reason"]) == (False, "control", "DEFAULT")
    assert after["flagMetadata"]["fallback"] == "paused"
    wait_for_polls()
    assert requested(service, BULK, 200) == 2

    # Somebody else logs in, with a context that another flag asks for.
    script.ask("context", context={"targetingKey": other, "segment": "de"})
    assert script.look("boolean", True)["reason"] == "SPLIT"
    assert script.look("segments", "")["variant"] in ("control", "new")

    service.request("PATCH", "/v1/experiments/string", {"status": "archived"}).ok(200)
    assert script.changes() == ["string"]
    assert script.look("string", "mine")["errorCode"] == "FLAG_NOT_FOUND"


def test_a_page_without_a_unit_or_a_token_has_its_defaults(service, script):
    create(service, flag("boolean", VALUES["boolean"]))
    script.start(service.url)
    assert script.ask("web", context={})["error"]
    assert script.ask("status") == "ERROR"
    assert script.look("boolean", True)["value"] is True
    # It is ready as soon as it knows for whom.
    script.ask("context", context={"targetingKey": "anna"})
    assert script.ask("status") == "READY" and script.look("boolean", True)["reason"] == "SPLIT"

    service.make_tokens({"boss": "admin"})
    script.start(service.url, "nonsense")
    assert script.ask("web", context={"targetingKey": "anna"})["error"]
    assert script.ask("status") == "FATAL"
    assert script.look("boolean", True)["value"] is True


def test_tags_of_a_bulk_evaluation(service):
    create(service, flag("boolean", VALUES["boolean"]))
    body = {"context": {"targetingKey": "anna"}}
    first = service.post(BULK, body)
    tag = first.headers["etag"]
    assert first.ok(200)["flags"] and tag.startswith('"')
    # A proxy that compresses makes a tag weak; a client may know of several.
    for known in [tag, f"W/{tag}", f'"other", {tag}', f'W/"other",W/{tag}']:
        again = service.post(BULK, body, headers={"if-none-match": known})
        assert (again.status, again.headers["etag"], again.body) == (304, tag, b""), known
    for known in ['"other"', tag.strip('"'), "nonsense"]:
        again = service.post(BULK, body, headers={"if-none-match": known})
        assert (again.status, again.headers["etag"], again.body) == (200, tag, first.body), known
    other = service.post(BULK, {"context": {"targetingKey": "ben"}}, headers={"if-none-match": tag})
    assert other.ok(200)["flags"][0]["key"] == "boolean"
    missing = service.post(BULK, {"context": {"targetingKey": ""}})
    assert missing.status == 400 and missing.json()["errorCode"] == "TARGETING_KEY_MISSING"


SHOP = {
    "signals": {"revenue": [0, 500], "orders": [0, 20]},
    "reward": {"signal": "revenue"},
    "guardrails": [{"name": "complaints", "at_most": 0.5, "safe_cost": 0.1}],
}
MEANINGS = {
    "purchase": {"signal": "orders", "value": 1},
    "paid": {"signal": "revenue"},
    "complaint": {"signal": "complaints"},
}


def outcome(server, name, unit):
    """Returns what was reported of a unit: its reward, and its costs."""
    path = f"/v1/experiments/{name}/decisions"
    decision = server.post(path, {"unit": unit}).ok(200)["id"]
    known = server.get(f"{path}/{quoted(decision)}").ok(200)["outcome"]
    return known and (known["reward"], known["costs"])


def test_tracking_events_are_outcomes_by_the_declared_rules(service, sdk):
    other = {"signals": {"clicks": [0, 99]}, "flag": {"events": {"purchase": {"signal": "reward", "value": 0.5}}}}
    create(service, flag("checkout", **SHOP, flag={"events": MEANINGS}), flag("search", **other), flag("silent"))
    # The SDKs' own providers take no tracking events, and that is no error.
    sdk.connect(service.url)
    for name in ["checkout", "search", "silent"]:
        sdk.evaluate(name, "", targetingKey="anna")
    sdk.track("purchase", "anna", id="never sent")
    assert outcome(service, "checkout", "anna") is None

    sdk.connect(service.url, tracking=True)
    for _ in range(2):
        sdk.track("purchase", "anna", id="order 17", value=30)
        sdk.track("paid", "anna", id="order 17, paid", value=30)
    assert outcome(service, "checkout", "anna") == (30, {"complaints": None, "orders": 1})
    assert outcome(service, "search", "anna") == (0.5, {"clicks": None})
    sdk.track("paid", "anna", id="order 18, paid", value=12.5)
    sdk.track("complaint", "anna", id="ticket 3")
    assert outcome(service, "checkout", "anna") == (42.5, {"complaints": 1, "orders": 1})
    # Nobody declared it, or nobody decided for the unit.
    number = get(service, "checkout")["number"]
    sdk.track("opened", "anna", id="1", value=3)
    sdk.track("paid", "ben", id="order 19, paid", value=3)
    assert get(service, "checkout")["number"] == number
    assert outcome(service, "silent", "anna") is None
    assert service.stop() == 0
    rebuild(service.data_dir)


def test_a_batch_of_events_may_be_outcomes_of_many_flags(service):
    events = {"seen": {"signal": "clicks", "value": 0.001}}
    clicks = {"signals": {"clicks": [0, 9]}, "flag": {"events": events}}
    names = ["one", "two", "three"]
    create(service, *(flag(name, **clicks) for name in names))
    service.post(BULK, {"context": {"targetingKey": "anna"}}).ok(200)
    batch = [{"event": "seen", "targetingKey": "anna", "id": str(i)} for i in range(700)]
    results = service.post("/v1/track", {"events": batch}).ok(200)["results"]
    assert [{name: own["status"] for name, own in each["flags"].items()} for each in results] == [
        dict.fromkeys(names, 200)
    ] * 700
    for name in names:
        assert outcome(service, name, "anna")[1]["clicks"] == pytest.approx(0.7)


def test_the_page_of_the_book(service, packages, tmp_path):
    """Its declaration, its request and both its programs, as they are but for the address and the token."""
    page = (ROOT / "docs" / "flags.md").read_text(encoding="utf-8")
    assert len(page.split()) <= 700

    def block(language):
        (found,) = re.findall(rf"```{language}\n(.*?)```", page, flags=re.S)
        return found.replace("http://127.0.0.1:8787", service.url)

    service.post("/v1/experiments", json.loads(block("json"))).ok(201)
    typed, answer = re.search(r"-d '(.*?)'\n(.*)", block("console"), flags=re.S).groups()
    got = service.post("/ofrep/v1/evaluate/flags/checkout", json.loads(typed)).ok(200)
    assert got == json.loads(answer)
    token = service.make_token("decide", "page")
    (tmp_path / "page.py").write_text(block("python").replace("bnst_…", token))
    (tmp_path / "page.js").write_text(block("javascript").replace("bnst_…", token))
    deno_run = [
        deno.find_deno_bin(),
        "run",
        "--quiet",
        "--cached-only",
        "--no-prompt",
        "--allow-net=127.0.0.1",
        "--allow-env",
    ]
    for command in [[sys.executable, "page.py"], [*deno_run, "--config", ROOT / "deno.json", "page.js"]]:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, env=deno_environment(), timeout=60)
        assert (done.returncode, done.stdout) == (0, "old\n"), done.stderr
    service.token = token
    assert outcome(service, "checkout", "u-4711") == (30, {"complaints": None, "orders": 1})


def test_answers_to_tracking_events(service):
    create(service, flag("checkout", **SHOP, flag={"events": MEANINGS}))
    service.post("/v1/experiments/checkout/decisions", {"unit": "anna"}).ok(200)

    def tracked(*events, **more):
        return service.post("/v1/track", {"events": events}, **more)

    def event(name, id="1", unit="anna", **more):
        return {"event": name, "targetingKey": unit, "id": id} | more

    def only(answer):
        (result,) = answer.ok(200)["results"]
        return result["flags"]["checkout"]

    answer = tracked(event("paid", value=2), event("piad"), event("opened"), event("complaint", unit="ben"))
    paid, misspelt, opened, complaint = answer.ok(200)["results"]
    assert paid["flags"]["checkout"]["outcome"]["reward"] == 2
    assert paid["flags"]["checkout"]["outcome"]["status"] == "pending" and "problem" not in paid
    assert misspelt["flags"] == opened["flags"] == {}
    assert misspelt["problem"]["detail"] == "no flag has a rule for the event `piad`; did you mean `paid`?"
    assert (opened["problem"]["status"], opened["problem"]["detail"]) == (
        404,
        "no flag has a rule for the event `opened`",
    )
    assert complaint["flags"]["checkout"]["status"] == 404
    Document(service.get("/openapi.json").ok(200)).check("POST", "/v1/track", answer)
    tracked().problem(422, "events")
    for wrong in [event("paid", value="2"), event("paid", many=2), {"event": "paid", "id": "1"}, {"event": "paid"}]:
        tracked(wrong).problem(422)
    assert only(tracked(event("paid", id="")))["status"] == 422
    tokens = service.make_tokens({"decider": "decide-only", "reporter": "report"})
    tracked(event("paid", id="2", value=1), token=tokens["decider"]).problem(403)
    assert only(tracked(event("paid", id="2", value=1), token=tokens["reporter"]))["outcome"]["reward"] == 3
    # One id of two events counts for both, once each.
    both = [event("paid", id="3", value=1), event("complaint", id="3")]
    for _ in range(2):
        results = tracked(*both, token=tokens["reporter"]).ok(200)["results"]
        first, second = (result["flags"]["checkout"]["outcome"] for result in results)
        assert first["reward"] == 4 and second["costs"]["complaints"] == 1
