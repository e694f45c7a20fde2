"""Objects as notebooks show them, and numbers in users' units."""

from __future__ import annotations

import re

import numpy as np
import pytest

import banister

NAME = "<script>alert(1)</script>"
DOLLARS = banister.Guardrail("dollars & more", at_most=0.0005, range=(0, 0.001), safe_cost=0.0001)
COLUMNS = {"action": [NAME, "bold"] * 200, "reward": [0.0, 1.0] * 200, "pscore": [0.5] * 400}
LOG = banister.offline.Log.from_frame(
    COLUMNS | {DOLLARS.name: [0.000025, 0.000075] * 200}, costs=[DOLLARS.name], arms=[NAME, "bold"]
)
AGENT = banister.Opb([NAME, "bold"], guardrails=DOLLARS, reward=banister.Reward(range=(0, 1)), seed=1)
SHOWN = {
    "agent": AGENT,
    "decision": AGENT.decide(),
    "certificate": AGENT.decide().certificate,
    "batch": AGENT.decide_batch(10),
    "evaluation": banister.offline.evaluate(LOG, "bold", guardrails=DOLLARS),
    "replay": banister.offline.replay(LOG, AGENT, progress=False),
    "simulation": banister.simulate(
        {"kind": "bernoulli", "rewards": [0.1, 0.5]}, {NAME: "opb"}, 100, 2, progress=False
    ),
    "comparison": banister.compare(
        {"name": NAME, "environment": {"kind": "bernoulli", "rewards": [0.1, 0.5]}},
        agents=["opb"],
        horizon=100,
        runs=2,
        progress=False,
    ),
}


@pytest.mark.parametrize("what", SHOWN)
def test_tables_of_html_are_escaped_and_take_the_colours_of_the_page(what: str) -> None:
    html: str = SHOWN[what]._repr_html_()  # type: ignore[attr-defined]
    assert html.startswith("<div") and "<table" in html
    assert "<script" not in html and "dollars & more" not in html
    assert not re.search(r"color: (?!inherit)|background: (?!transparent)|#[0-9a-f]{3}", html)
    assert html.count("<td") % html.count("<th ") == 0 or what == "decision"


def test_small_dollars_are_not_printed_as_nothing() -> None:
    assert "7.5e-05" in repr(SHOWN["evaluation"]) and "7.5e-05" in SHOWN["evaluation"]._repr_html_()  # type: ignore[attr-defined]
    assert not re.search(r"0\.0000\b", repr(SHOWN["evaluation"]) + repr(SHOWN["replay"]))
    assert "threshold=0.0005," in repr(AGENT.decide().certificate[0])
    assert "dollars & more: 0.0004" in repr(SHOWN["certificate"])


def test_large_numbers_have_separators() -> None:
    agent = banister.Opb(2, reward=banister.Reward(range=(0, 10_000)))
    agent.observe(1, np.float32(1234))
    assert "1,234" in agent._repr_html_()
