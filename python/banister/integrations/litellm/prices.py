"""The most dollars that one call of a deployment can cost, from LiteLLM's price table."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

INPUT = "input_cost_per_token|cache_creation_input_token_cost(?:_above_1hr)?"
OUTPUT = "output_cost_per_(?:reasoning_)?token"


@dataclass(frozen=True)
class Prices:
    """Prices of a deployment in dollars, and the dollars of its longest call."""

    input: float
    output: float
    worst: float


def read_prices(router: Any, deployment: Mapping[str, Any], max_input: int | None, max_output: int | None) -> Prices:
    """Returns the prices of a deployment: its own, else those of LiteLLM's table."""
    model = deployment["litellm_params"]["model"]
    own = deployment.get("model_info") or {}
    info = router.get_deployment_model_info(model_id=own.get("id", ""), model_name=model) or {}
    longest = max_input or info.get("max_input_tokens")
    most = max_output or info.get("max_output_tokens") or info.get("max_tokens")
    if not longest or not most:
        raise ValueError(
            f"the longest call of {model} is not known: give `max_tokens` and `max_input_tokens`, "
            "or the most that a call of it can cost in `worst_cost`"
        )
    prices = [_highest(info, names, longest) for names in (INPUT, OUTPUT)]
    if prices[0] is None or prices[1] is None:
        raise ValueError(
            f"the price of {model} is not in LiteLLM's table: give `input_cost_per_token` and "
            "`output_cost_per_token` in its `model_info`, or the most that a call of it can cost in `worst_cost`"
        )
    return Prices(prices[0], prices[1], prices[0] * longest + prices[1] * most)


def _highest(info: Mapping[str, Any], names: str, longest: int) -> float | None:
    """Returns the highest price by token, also of long prompts if they can be that long."""
    found = []
    for key, price in info.items():
        match = re.fullmatch(rf"(?:{names})(?:_above_(?P<above>\d+)k_tokens)?", key)
        if match and price is not None and 1000 * int(match["above"] or 0) < longest:
            found.append(float(price))
    return max(found, default=None)
