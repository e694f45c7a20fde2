"""Webhooks: signed, tried again from the log, to receivers that fail, hang, answer late, or are gone."""

import base64
import contextlib
import http.server
import json
import queue
import re
import signal
import threading

import pytest
from standardwebhooks import Webhook

from .experiments import ARMS, get
from .postgres import temporary
from .server import DEADLINE, banisterd, wait_for

SECRET = "whsec_" + base64.b64encode(bytes(range(32))).decode()
PATH = "/v1/experiments/arms"


class Receiver:
    """A receiver that keeps every message, and then answers as `behave` says: a status, or None for nothing."""

    def __init__(self, behave):
        self.messages, self.stopped = queue.Queue(), threading.Event()
        lock, count = threading.Lock(), 0
        own = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                nonlocal count
                body = self.rfile.read(int(self.headers["content-length"]))
                with lock:
                    place, count = count, count + 1
                own.messages.put((body, {k.lower(): v for k, v in self.headers.items()}))
                status = behave(place, own)
                if status is not None:
                    with contextlib.suppress(OSError):
                        self.send_response(status)
                        self.send_header("content-length", "0")
                        self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook"

    def next(self):
        """The next message, its signature verified by the official package."""
        body, headers = self.messages.get(timeout=DEADLINE)
        Webhook(SECRET).verify(body, headers)
        return headers["webhook-id"], json.loads(body)

    def stop(self):
        self.stopped.set()
        self.server.shutdown()
        self.server.server_close()


@pytest.fixture
def receive():
    receivers = []

    def start(behave=lambda place, own: 200):
        receivers.append(Receiver(behave))
        return receivers[-1]

    yield start
    for receiver in receivers:
        receiver.stop()


@pytest.fixture
def hooks(tmp_path):
    """Writes a file of webhooks that are tried again at once, and gives the flags."""

    def write(*webhooks):
        lines = []
        for number, webhook in enumerate(webhooks):
            known = {"name": f"hook-{number}", "secret": SECRET, "retry_seconds": 0.1, "timeout_seconds": 1.0}
            lines += ["[[webhook]]", *(f"{key} = {json.dumps(value)}" for key, value in (known | webhook).items())]
        path = tmp_path / "webhooks.toml"
        path.write_text("\n".join(lines))
        return ["--webhooks", path]

    return write


def raise_alarm(server, name="arms", cost=2):
    """A cost outside its range raises an alarm at once."""
    server.post("/v1/experiments", ARMS | {"name": name}).ok(201, 409)
    path = f"/v1/experiments/{name}"
    decision = server.post(f"{path}/decisions", {}).ok(200)
    report = {"decision": decision["id"], "reward": 0.5, "costs": {"complaints": cost}}
    server.post(f"{path}/outcomes", report).ok(200)
    return wait_for(lambda: get(server, name)["alarms"], "an alarm")[-1]


def metric(server, name, **labels):
    for line in server.get("/metrics").body.decode().splitlines():
        if line.startswith(f"banister_{name}{{") and all(f'{k}="{v}"' in line for k, v in labels.items()):
            return float(line.split()[-1])
    return None


def is_delivered(server, hook, times=1):
    return metric(server, "webhook_deliveries_total", hook=hook, result="delivered") == times


def test_an_alarm_is_delivered_once_and_signed(serve, receive, hooks):
    receiver = receive()
    server = serve(*hooks({"url": receiver.url}))
    alarm = raise_alarm(server)
    id, message = receiver.next()
    assert message["kind"] == "alarm" and message["experiment"] == "arms"
    assert message["number"] == alarm["number"] and id.startswith(f"{alarm['number']}-")
    assert message["time"] == alarm["since"] and message["alarm"]["kind"] == "range"
    assert alarm["message"] in message["text"] and "acknowledges" in message["text"]
    wait_for(lambda: is_delivered(server, "hook-0"), "delivery")
    wait_for(lambda: metric(server, "webhook_pending", hook="hook-0") == 0, "empty outbox")
    assert receiver.url not in server.log()
    # Neither a restart nor another secret sends it again: the next message is the next alarm.
    server.stop()
    server.start().ready()
    second = raise_alarm(server, "other")
    assert receiver.next()[1]["number"] == second["number"]
    # What is delivered is no change that anybody made.
    assert {change["kind"] for change in get(server, "arms", "/changes")["changes"]} == {"created", "alarm_raised"}


def test_another_body_does_not_verify(serve, receive, hooks):
    receiver = receive()
    raise_alarm(serve(*hooks({"url": receiver.url})))
    body, headers = receiver.messages.get(timeout=DEADLINE)
    with pytest.raises(Exception, match="[Nn]o matching signature"):
        Webhook(SECRET).verify(body.replace(b"alarm", b"Alarm"), headers)


def test_a_receiver_that_fails_gets_it_again_until_it_does_not(serve, receive, hooks):
    receiver = receive(lambda place, own: [500, 302, 429, 200][place])
    server = serve(*hooks({"url": receiver.url}))
    raise_alarm(server)
    tries = [receiver.next() for _ in range(4)]
    assert len({id for id, _ in tries}) == 1 and all(body == tries[0][1] for _, body in tries)
    wait_for(lambda: is_delivered(server, "hook-0"), "delivery")
    assert metric(server, "webhook_deliveries_total", hook="hook-0", result="failed") == 3


def test_one_that_hangs_or_breaks_delays_no_other_nor_the_end(serve, receive, hooks):
    hangs = receive(lambda place, own: own.stopped.wait() and None)
    works = receive()
    refuses = receive()
    refuses.stop()
    server = serve(*hooks({"url": hangs.url, "timeout_seconds": 600}, {"url": refuses.url}, {"url": works.url}))
    raise_alarm(server)
    hangs.next()
    works.next()
    raise_alarm(server, "other")
    works.next()
    wait_for(lambda: is_delivered(server, "hook-2", 2), "delivery")
    # It stops while a receiver still holds a message.
    assert server.stop(deadline=10) == 0


def test_an_answer_after_the_timeout_means_the_same_message_again(serve, receive, hooks):
    # The first answer comes only once the second message is there.
    second = threading.Event()

    def late(place, own):
        if place == 0:
            second.wait(DEADLINE)
        else:
            second.set()
        return 200

    receiver = receive(late)
    server = serve(*hooks({"url": receiver.url}))
    raise_alarm(server)
    assert receiver.next() == receiver.next()
    wait_for(lambda: is_delivered(server, "hook-0"), "delivery")


def test_a_killed_server_delivers_after_its_restart(serve, receive, hooks):
    works = threading.Event()
    receiver = receive(lambda place, own: 200 if works.is_set() else 503)
    server = serve(*hooks({"url": receiver.url}))
    raise_alarm(server)
    first = receiver.next()
    server.stop(signal.SIGKILL)
    works.set()
    server.start().ready()
    wait_for(lambda: is_delivered(server, "hook-0"), "delivery")
    assert receiver.next() == first


def test_receivers_choose_kinds_and_experiments_and_chats_get_their_own_form(serve, receive, hooks):
    chosen, chat, gone = receive(), receive(), receive(lambda place, own: 410)
    server = serve(
        *hooks(
            {"url": chosen.url, "kinds": ["alarm"], "experiments": ["check*", "pay"]},
            {"url": chat.url, "text_field": "content", "kinds": ["settled", "alarm"]},
            {"url": gone.url},
        )
    )
    alarm = raise_alarm(server, "shop")
    body, _ = chat.messages.get(timeout=DEADLINE)
    assert json.loads(body).keys() == {"content"} and alarm["message"] in json.loads(body)["content"]
    second = raise_alarm(server, "checkout")
    assert chosen.next()[1]["number"] == second["number"]
    chat.next()
    server.request("PATCH", "/v1/experiments/checkout", {"settled": True}).ok(200)
    assert "checkout: the policy settled" in chat.next()[1]["content"]
    # 410: it got the first message and no other.
    gone.next()
    assert gone.messages.empty() and "410" in server.log()


def test_a_budget_that_is_used_up_is_noticed_once(serve, receive, hooks):
    receiver = receive()
    server = serve(*hooks({"url": receiver.url}))
    budget = {"amount": 3.5, "per": "month", "when_exhausted": "refuse", "pacing": False}
    server.post("/v1/experiments", ARMS | {"budgets": {"complaints": budget}}).ok(201)
    answers = [server.post(f"{PATH}/decisions", {}).status for _ in range(6)]
    assert answers == [200] * 3 + [429] * 3
    _, message = receiver.next()
    assert message["kind"] == "budget" and "decisions are refused" in message["text"]
    assert "0.5 of 3.5 per month" in message["text"]
    assert raise_alarm(server, "other")["number"] == receiver.next()[1]["number"]


def test_a_fallback_is_noticed_when_it_begins_and_when_it_ends(serve, receive, hooks):
    receiver = receive()
    server = serve(*hooks({"url": receiver.url, "kinds": ["fallback", "budget"]}))
    budget = {"amount": 5, "per": "month", "when_exhausted": "safe", "pacing": False}
    server.post("/v1/experiments", ARMS | {"budgets": {"complaints": budget}}).ok(201)
    for _ in range(8):
        server.post(f"{PATH}/decisions", {}).ok(200)
    assert "the safe action is played" in receiver.next()[1]["text"]
    server.request("PATCH", PATH, {"budgets": {"complaints": budget | {"amount": 1e6}}}).ok(200)
    for _ in range(150):
        server.post(f"{PATH}/decisions", {}).ok(200)
    assert "no longer forced" in receiver.next()[1]["text"]
    assert receiver.messages.empty()


def test_of_two_replicas_one_sends(serve, receive, hooks):
    receiver = receive()
    with temporary() as postgres:
        flags = [*hooks({"url": receiver.url}), "--database", postgres.database().url()]
        replicas = [serve(*flags) for _ in range(2)]
        numbers = [raise_alarm(replicas[n % 2], f"e{n}")["number"] for n in range(6)]
        got = sorted(receiver.next()[1]["number"] for _ in numbers)
        assert got == numbers

        def count(hook="hook-0"):
            name = "webhook_deliveries_total"
            return sum(metric(own, name, hook=hook, result="delivered") or 0 for own in replicas)

        wait_for(lambda: count() == len(numbers), "deliveries")
        assert receiver.messages.empty()


@pytest.mark.parametrize(
    ("webhook", "said"),
    [
        ({"url": "slack.example/x"}, "webhook 1: `url` must be an address"),
        ({"url": "ftp://slack.example/x"}, "webhook 1: `url` must be an address"),
        ({"url": "http://a.example/", "secret": "abc"}, "webhook 1: `secret` must be whsec_"),
        ({"url": "http://a.example/", "kinds": ["alarms"]}, "unknown variant `alarms`"),
        ({"url": "http://a.example/", "colour": "red"}, "unknown field `colour`"),
        ({"url": "http://a.example/", "retry_seconds": 0}, "`retry_seconds` is 0: must be 0.1 to 3600"),
        ({"url": "http://a.example/", "experiments": [""]}, "`experiments` is"),
        ({"url": "http://a.example/", "secret_file": "nowhere"}, "`secret` or `secret_file`"),
    ],
)
def test_bad_files_are_refused_at_the_start(tmp_path, hooks, webhook, said):
    done = banisterd("serve", *hooks(webhook), "--data-dir", tmp_path, check=False)
    assert done.returncode == 2 and said in done.stderr, done.stderr
    assert re.search("webhooks.toml", done.stderr)


def test_two_of_one_name_and_one_without_a_secret_are_refused(tmp_path):
    file = tmp_path / "webhooks.toml"
    for text, said in [
        ('[[webhook]]\nurl = "http://a.example/"', "`secret` is absent"),
        (f'[[webhook]]\nurl = "http://a.example/"\nsecret = "{SECRET}"\n' * 2, "another one has it"),
    ]:
        file.write_text(text)
        done = banisterd("serve", "--webhooks", file, "--data-dir", tmp_path, check=False)
        assert done.returncode == 2 and said in done.stderr, done.stderr
