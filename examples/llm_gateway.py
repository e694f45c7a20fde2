"""A gateway to three language models that spends at most so much per call, and earns the most quality for it.

The models are LiteLLM's mocks: they answer at once, from no network, at the prices of LiteLLM's table. The
judge knows how good they are; the gateway has to find out.

    python examples/llm_gateway.py                             # an agent of its own decides
    python examples/llm_gateway.py --experiment gateway        # a running service decides: banisterd serve
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
from typing import Any

# Prices that come with LiteLLM; without this line it asks for those of the day.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")

import litellm

from banister.integrations.litellm import BanisterRouting

#: Share of good answers of each model.
GOOD = {"openai/gpt-4o-mini": 0.60, "openai/gpt-4.1-mini": 0.75, "openai/gpt-4o": 0.90}
AT_ONCE = 20


def judge(request: dict[str, Any], response: Any) -> float:
    """Returns 1 for a good answer, 0 for another one."""
    return float(random.random() < GOOD[response.choices[0].message.content])


async def serve(router: litellm.Router, routing: BanisterRouting, calls: int) -> None:
    """Asks the models, some at once."""
    question = [{"role": "user", "content": "What is a bandit with guardrails?"}]
    for _ in range(0, calls, AT_ONCE):
        await asyncio.gather(*(router.acompletion("chat", messages=question) for _ in range(AT_ONCE)))
    # Answers are judged in the background, in this event loop.
    await routing.wait_async()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=2000, help="number of calls (default 2000)")
    parser.add_argument("--ceiling", type=float, default=1.2e-4, help="most dollars per call (default 0.00012)")
    parser.add_argument("--experiment", help="experiment of a running service that decides")
    parser.add_argument("--url", help="URL of that service (default: BANISTER_URL)")
    arguments = parser.parse_args()

    models = [{"model": model, "api_key": "none", "mock_response": model} for model in GOOD]
    router = litellm.Router(model_list=[{"model_name": "chat", "litellm_params": model} for model in models])
    routing = BanisterRouting(
        router,
        safe="openai/gpt-4o-mini",
        ceiling=arguments.ceiling,
        quality=judge,
        max_tokens=100,
        max_input_tokens=200,
        experiment=arguments.experiment,
        service=arguments.url,
    ).install()
    asyncio.run(serve(router, routing, arguments.calls))
    routing.close()
    print(routing.savings())


if __name__ == "__main__":
    main()
