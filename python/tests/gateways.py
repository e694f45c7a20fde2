"""LiteLLM's Router with models that answer without a network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import litellm

from banister.integrations.litellm import BanisterRouting

CHEAP, DEAR = "openai/gpt-4o-mini", "openai/gpt-4o"
#: Dollars of a mocked answer: 10 tokens in, 20 out.
CHEAP_COST, DEAR_COST = 1.35e-5, 2.25e-4
TOKENS = (10, 20)
HELLO = [{"role": "user", "content": "hello"}]


def deployment(model: str, answer: str, group: str = "chat", info: dict[str, Any] | None = None, **more: Any) -> Any:
    """A deployment that always answers this; "litellm.RateLimitError" fails."""
    parameters = {"model": model, "api_key": "none", "mock_response": answer, **more}
    return {"model_name": group, "litellm_params": parameters, "model_info": info or {}}


def router(*deployments: Any, **options: Any) -> litellm.Router:
    """A router that retries at once."""
    return litellm.Router(model_list=list(deployments), **{"num_retries": 0, "retry_after": 0, **options})


def two(**options: Any) -> litellm.Router:
    """A cheap model and a dear one."""
    return router(deployment(CHEAP, "fine"), deployment(DEAR, "excellent"), **options)


class Stream(litellm.CustomLLM):  # type: ignore[misc]
    """A provider `stream` whose answers never come to their end: after some words the line breaks, or is silent."""

    WORDS = ("all ", "is ", "well ", "so ", "far")
    MODEL = "stream/words"
    #: Dollars per token in and out.
    PRICES = (1e-6, 2e-6)

    def __init__(self, is_silent: bool = False) -> None:
        super().__init__()
        self.is_silent = is_silent
        self.said = asyncio.Event()
        litellm.custom_provider_map = [{"provider": "stream", "custom_handler": self}]

    def deployment(self) -> Any:
        info = dict(zip(("input_cost_per_token", "output_cost_per_token"), self.PRICES, strict=True))
        return {
            "model_name": "chat",
            "litellm_params": {"model": self.MODEL, **info},
            "model_info": {"id": "words", **info},
        }

    @property
    def cost(self) -> float:
        """Dollars of what was asked and said."""
        tokens = (
            litellm.token_counter(self.MODEL, **what) for what in ({"messages": HELLO}, {"text": "".join(self.WORDS)})
        )
        return float(sum(price * count for price, count in zip(self.PRICES, tokens, strict=True)))

    def streaming(self, *_: Any, **__: Any) -> Iterator[Any]:
        for word in self.WORDS:
            yield {"text": word, "is_finished": False, "finish_reason": "", "usage": None, "index": 0}
        raise ConnectionError("the line is dead")

    async def astreaming(self, *_: Any, **__: Any) -> AsyncIterator[Any]:
        try:
            for chunk in self.streaming():
                yield chunk
        except ConnectionError:
            self.said.set()
            if self.is_silent:
                await asyncio.Event().wait()
            raise


def judge(request: dict[str, Any], response: Any) -> float:
    """The dear model's answers are better."""
    assert request["messages"] == HELLO
    return 0.9 if response.choices[0].message.content == "excellent" else 0.6


def limited(router: litellm.Router, **options: Any) -> BanisterRouting:
    """A strategy under a ceiling, with short calls, installed."""
    defaults: dict[str, Any] = {"safe": CHEAP, "quality": judge, "max_tokens": 100, "max_input_tokens": 200, "seed": 1}
    if "floor" not in options:
        defaults["ceiling"] = 1.2e-4
    return BanisterRouting(router, **(defaults | options)).install()


def ask(router: litellm.Router, calls: int = 1, **options: Any) -> list[Any]:
    """Many calls at once; errors are among the answers. Returns when LiteLLM has told of all of them."""

    async def run() -> list[Any]:
        coroutines = (router.acompletion("chat", messages=HELLO, **options) for _ in range(calls))
        answers = await asyncio.gather(*coroutines, return_exceptions=True)
        await litellm.litellm_core_utils.logging_worker.GLOBAL_LOGGING_WORKER.flush()
        return answers

    return asyncio.run(run())


def wait_for(condition: Callable[[], bool], seconds: float = 30.0) -> None:
    """Returns when the condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.01)
