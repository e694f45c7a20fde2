"""The arms: the models of one group of a Router, their deployments, and the most that a call of each can cost."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import litellm
from litellm import Router

log = logging.getLogger(__name__)

INPUT = "input_cost_per_token|cache_creation_input_token_cost(?:_above_1hr)?"
OUTPUT = "output_cost_per_(?:reasoning_)?token"


@dataclass(frozen=True)
class Prices:
    """Prices of a deployment in dollars by token, the tokens of its longest call, and the dollars of that."""

    input: float
    output: float
    longest_input: int
    longest_output: int

    @property
    def worst(self) -> float:
        # A range has a length, also for models that cost nothing.
        return max(self.input * self.longest_input + self.output * self.longest_output, 1e-12)

    @property
    def weights(self) -> dict[str, float]:
        """Dollars as a sum of tokens."""
        return {"input_tokens": self.input, "output_tokens": self.output}

    def tokens(self, dollars: float, output_tokens: float) -> dict[str, float]:
        """Returns tokens that cost these dollars: those of the answer, and as many input tokens as pay the rest.

        What is read from a cache, or is below the highest price for another reason, counts as fewer tokens.
        """
        output = min(output_tokens, self.longest_output, dollars / self.output if self.output else math.inf)
        rest = max(dollars - self.output * output, 0.0)
        inputs = rest / self.input if self.input else 0.0
        if inputs > self.longest_input and self.output:
            output += (inputs - self.longest_input) * self.input / self.output
            inputs = self.longest_input
        if dollars <= self.worst:
            # Rounding takes no call out of its range.
            inputs, output = min(inputs, self.longest_input), min(output, self.longest_output)
        return {"input_tokens": float(inputs), "output_tokens": float(output)}


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
    return Prices(prices[0], prices[1], int(longest), int(most))


def _highest(info: Mapping[str, Any], names: str, longest: int) -> float | None:
    """Returns the highest price by token, also of long prompts if they can be that long."""
    found = []
    for key, price in info.items():
        match = re.fullmatch(rf"(?:{names})(?:_above_(?P<above>\d+)k_tokens)?", key)
        if match and price is not None and 1000 * int(match["above"] or 0) < longest:
            found.append(float(price))
    return max(found, default=None)


#: Arguments of `BanisterRouting` by name.
Arguments: TypeAlias = Mapping[str, Any]


class Models:
    """Models of a group by arm: deployments, prices and the dollars of the dearest possible call."""

    def __init__(self, router: Router, given: Arguments) -> None:
        groups, group = sorted({str(one["model_name"]) for one in router.model_list}), given["group"]
        if group not in groups and (group is not None or len(groups) != 1):
            told = "missing" if group is None else repr(group)
            raise ValueError(f"`group` is {told}: must be one of {groups}, the model groups of the router")
        self.router, self.group, self.safe = router, group or groups[0], given["safe"]
        self._max_input_tokens, self._max_tokens = given["max_input_tokens"], given["max_tokens"]
        self.deployments: dict[str, list[dict[str, Any]]] = {}
        for deployment in router.model_list:
            if deployment["model_name"] == self.group:
                self.deployments.setdefault(arm_of(deployment), []).append(deployment)
        arms = sorted(self.deployments)
        if self.safe not in arms:
            raise ValueError(f"`safe` is {self.safe!r}: must be one of {arms}, models of {self.group!r}")
        worst_cost = given["worst_cost"] or {}
        if unknown := sorted(set(worst_cost) - set(arms)):
            raise ValueError(f"`worst_cost` has {unknown}: must be of {arms}")
        self.prices: dict[str, Prices] = {}
        self.worst: dict[str, float] = {}
        for arm, deployments in self.deployments.items():
            if arm in worst_cost:
                self.worst[arm] = float(worst_cost[arm])
            else:
                self.prices[arm] = self._read(deployments)
                self.worst[arm] = self.prices[arm].worst

    def _read(self, deployments: Sequence[dict[str, Any]]) -> Prices:
        """Returns the prices of an arm: those of its dearest deployment."""
        longest = self._max_input_tokens, self._max_tokens
        return max((read_prices(self.router, one, *longest) for one in deployments), key=lambda one: one.worst)

    def follow(self) -> None:
        """Takes up prices that have changed in the router or in LiteLLM's table; lengths stay as they were declared."""
        for arm, known in self.prices.items():
            try:
                now = self._read(self.deployments[arm])
            except ValueError as error:
                log.warning("the prices of %s stay as they were: %s", arm, error)
                continue
            if (now.input, now.output) != (known.input, known.output):
                self.prices[arm] = replace(known, input=now.input, output=now.output)
                self.worst[arm] = self.prices[arm].worst

    def is_routed(self, model: str) -> bool:
        """Returns True if calls of this model are calls of the group."""
        return (self.router.get_model_from_alias(model=model) or model) == self.group

    def fits(self, query: Mapping[str, Any]) -> bool:
        """Returns False for a request longer than declared."""
        messages, text, tools = query["messages"], query["input"], query["request_kwargs"].get("tools")
        # A token has at least a byte, so most requests need not be counted.
        if self._max_input_tokens is None or len(f"{messages}{text}{tools}".encode()) <= self._max_input_tokens:
            return True
        what = {"messages": messages, "tools": tools} if text is None else {"text": text}
        return bool(litellm.token_counter(model=self.safe, **what) <= self._max_input_tokens)

    def restrict_to(self, arm: str, request: dict[str, Any], router_keys: Mapping[str, Any]) -> None:
        """Excludes all other arms from the Router's next answer."""
        others = [one["model_info"]["id"] for one in self.router.model_list if arm_of(one) != arm]
        request |= router_keys
        request["_excluded_deployment_ids"] = [*others, *(router_keys.get("_excluded_deployment_ids") or ())]


def arm_of(deployment: Mapping[str, Any]) -> str:
    """Returns the arm of a deployment: the `arm` of its `model_info`, else its model."""
    arm = (deployment.get("model_info") or {}).get("arm")
    return str(deployment["litellm_params"]["model"] if arm is None else arm)


def prompt_length(request: Mapping[str, Any]) -> float:
    """Returns the logarithm of the characters of a request's texts, from 0: a feature for `context`."""
    texts = [request.get("input"), *(message.get("content") for message in request.get("messages") or ())]
    return math.log1p(sum(map(_characters, texts)))


def _characters(text: Any) -> int:
    if isinstance(text, str):
        return len(text)
    # Parts of a message, of which some are texts; or texts of a batch, or tokens.
    parts = text if isinstance(text, (list, tuple)) else ()
    return sum(_characters(part.get("text") if isinstance(part, Mapping) else part) for part in parts)
