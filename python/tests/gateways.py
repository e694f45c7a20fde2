"""LiteLLM's Router with models that answer without a network."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import litellm

from banister.integrations.litellm import BanisterRouting

CHEAP, DEAR = "openai/gpt-4o-mini", "openai/gpt-4o"
#: Dollars of a mocked answer: 10 tokens in, 20 out.
CHEAP_COST, DEAR_COST = 1.35e-5, 2.25e-4
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
