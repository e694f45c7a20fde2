"""Runs other packages' routers of language models on the requests of experiments/routing.

usage: python rivals.py [--orders FILE] [--runs N] [--out FOLDER]

Every answer's reward and price is in the table, so a router's choice has its true outcome. A run is
an order of the requests; a file of orders (columns instance, run, round, row), as `banister compare`
writes it, has those of its agents. Where a run plays only some rows, the others are its log, with the
outcomes of all models (mode "warm"); otherwise there is none (mode "cold"). Orders in which rows come
again are left out. Without a file, orders are drawn here, in both modes, and half of the rows are the log.

ParetoBandit: its BanditRouter with its BudgetPacer, in the mode and with the parameters of its
paper's experiment on stationary requests, those for a cold start where there is no log. A log is
turned into priors by its own function. It learns from features. The paper's are embeddings of the
prompts, and the table has no texts: here they are the class of the prompt and its length, whitened
as the embeddings are (9 numbers); the same and noise, up to the 25 of the paper ("wide"), because a
cold start of it tries more models the more features there are; or a constant alone ("blind"). The
priors that it ships are for those embeddings and are not used.

LiteLLM: the bandit of its adaptive router, with the request types of its own classifier and its own
weighing of input prices. It has no ceiling, only a weight of quality, 0.7 by default; a grid of
weights shows what it can reach. It learns from signs in a conversation's text. Here it is told the
judged reward instead, as that share of a success, which is more than it would know.

Writes rivals.csv, a line per rival, mode, ceiling or weight, and run: mean reward and dollars per
request, shares of the models, and shares of the consecutive windows of 100 and of 1000 requests whose
mean price was above the ceiling. Writes rivals-paths.parquet, the requests of the first run of each.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import json
import logging
import os
import random
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# Small matrices: threads only cost time.
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# Prices of thousands of models, otherwise fetched from the network.
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from litellm.router_strategy.adaptive_router import bandit as litellm_bandit
from litellm.types.router import AdaptiveRouterPreferences, RequestType
from pareto_bandit import generate_warmup_priors
from pareto_bandit.budget_pacer import BudgetPacer, PacingMode
from pareto_bandit.config import (
    BEST_K3_HPARAMS,
    BEST_K3_TABULA_RASA_HPARAMS,
    DEFAULT_MODEL_REGISTRY_PATH,
    DEFAULT_PACER_LAMBDA_MAX,
    DEFAULT_PACER_LR,
    K3_ARM_ORDER,
)
from pareto_bandit.feature_service import FeatureService
from pareto_bandit.router import BanditRouter
from pareto_bandit.storage import EphemeralContextStore
from sklearn.decomposition import PCA
from tqdm import tqdm

ROOT = Path(__file__).resolve().parents[2]

#: Short names of ParetoBandit's models, in its order: from the cheapest to the dearest.
MODELS = ("llama", "mistral", "gemini")
PRICES = {model["model_id"]: model for model in json.loads(DEFAULT_MODEL_REGISTRY_PATH.read_text())["models"]}

#: Ceilings of the mean dollars per request: the paper's, as the suite `routing` has them.
CEILINGS = (2.93e-5, 8.29e-5, 2.35e-4, 6.62e-4, 1.87e-3, 5.31e-3, 1.5e-2)
#: LiteLLM's weights of quality; the rest is the weight of the price.
WEIGHTS = (0.5, 0.6, 0.65, 0.7, 0.75, 0.8, 0.9, 0.95, 0.98, 0.99, 1.0)
WINDOWS = (100, 1000)


@dataclass
class Requests:
    classes: list[str]
    kinds: list[str]
    chars: np.ndarray
    #: One row per request, one column per model.
    rewards: np.ndarray
    costs: np.ndarray

    @classmethod
    def read(cls, path: Path) -> Requests:
        table = pq.read_table(path)
        rewards, costs = (
            np.column_stack([table[f"{name}_{kind}"].to_numpy() for name in MODELS]) for kind in ("reward", "cost")
        )
        return cls(
            classes=table["class"].to_pylist(),
            kinds=table["kind"].to_pylist(),
            chars=table["prompt_chars"].to_numpy(),
            rewards=rewards,
            costs=costs,
        )

    def __len__(self) -> int:
        return len(self.classes)


@dataclass
class Order:
    mode: str
    run: int
    #: Rows played, in their order.
    played: np.ndarray
    #: Rows of the log; none in a cold start.
    log: np.ndarray


def read_orders(path: Path, count: int) -> Iterator[Order]:
    table = pq.read_table(path)
    instances = np.array(table["instance"].to_pylist())
    runs, rounds, rows = (table[name].to_numpy() for name in ("run", "round", "row"))
    for instance in dict.fromkeys(instances):
        for run in np.unique(runs[instances == instance]):
            own = (instances == instance) & (runs == run)
            played = rows[own][np.argsort(rounds[own], kind="stable")].astype(int)
            if len(np.unique(played)) == len(played):
                yield order(int(run), played, count)


def draw_orders(runs: int, count: int) -> Iterator[Order]:
    for run in range(runs):
        rows = np.random.default_rng(run).permutation(count)
        yield order(run, rows, count)
        yield order(run, rows[count // 2 :], count)


def order(run: int, played: np.ndarray, count: int) -> Order:
    if len(np.unique(played)) < len(played) or played.min() < 0 or played.max() >= count:
        raise SystemExit(f"run {run}: its rows must be different ones from 0 to {count - 1}")
    # In an order of its own: LiteLLM's cells take no more than their first 200 outcomes.
    log = np.random.default_rng(run).permutation(np.setdiff1d(np.arange(count), played))
    return Order("warm" if len(log) else "cold", run, played, log)


#: Plays an order, and returns the number of the model for each request.
Router = Callable[[Order], np.ndarray]


class AsGiven:
    """In place of a fitted PCA: ParetoBandit's function for priors wants one."""

    whiten = False

    def __init__(self, components: int):
        self.n_components_ = components

    def transform(self, rows: np.ndarray) -> np.ndarray:
        return rows


def class_features(requests: Requests) -> np.ndarray:
    names = sorted(set(requests.classes))
    one_hot = np.array([[float(own == name) for name in names] for own in requests.classes])
    # Whitened, as ParetoBandit's embeddings are: without, a cold start tries too little. Of the classes, all but one.
    whitened = PCA(len(names), whiten=True).fit_transform(np.column_stack([one_hot, np.log(requests.chars)]))
    return np.column_stack([whitened, np.ones(len(requests))])


def pareto_bandit(requests: Requests, features: np.ndarray, ceiling: float) -> Router:
    registry = {model: PRICES[model] for model in K3_ARM_ORDER}

    def play(order: Order) -> np.ndarray:
        settings = BEST_K3_HPARAMS if len(order.log) else BEST_K3_TABULA_RASA_HPARAMS
        pacer = BudgetPacer(
            target_avg_spend_usd=ceiling,
            mode=PacingMode.ADAPTIVE,
            lr=DEFAULT_PACER_LR,
            lambda_max=DEFAULT_PACER_LAMBDA_MAX,
        )
        with tempfile.TemporaryDirectory() as folder:
            router = BanditRouter.create(
                model_registry=registry,
                feature_service=FeatureService.for_precomputed(features.shape[1]),
                context_store=EphemeralContextStore(),
                priors=pareto_priors(requests, features, order.log, folder),
                prior_n_effective=settings["prior_n_effective"],
                alpha=settings["alpha"],
                forgetting_factor=settings["forgetting_factor"],
                cost_penalty=0.0,
                budget_pacer=pacer,
                bandit_seed=order.run,
            )
        chosen = np.empty(len(order.played), dtype=int)
        for round_, row in enumerate(order.played):
            model, log = router.route(features[row])
            arm = K3_ARM_ORDER.index(model)
            log.cost_usd = float(requests.costs[row, arm])
            router.process_feedback(log.request_id, reward=float(requests.rewards[row, arm]))
            chosen[round_] = arm
        return chosen

    return play


def pareto_priors(requests: Requests, features: np.ndarray, log: np.ndarray, folder: str) -> str:
    """Returns the file of the priors that ParetoBandit makes of a log, or "none"."""
    if not len(log):
        return "none"
    path = f"{folder}/priors.joblib"
    names = {int(row): f"request {row}" for row in log}
    generate_warmup_priors(
        [
            {"prompt": name, "rewards": dict(zip(K3_ARM_ORDER, requests.rewards[row].tolist()))}
            for row, name in names.items()
        ],
        encoder_model="none",
        # It adds the constant itself.
        pca=AsGiven(features.shape[1] - 1),
        whiten_pca=False,
        output_path=path,
        precomputed_raw_embeddings={
            hashlib.sha256(name.encode()).hexdigest(): features[row, :-1] for row, name in names.items()
        },
    )
    return path


def litellm(requests: Requests, weight: float) -> Router:
    # LiteLLM's Router weighs models by their price of input.
    prices = {name: PRICES[model]["input_cost_per_m"] / 1e6 for name, model in zip(MODELS, K3_ARM_ORDER)}
    tiers = {name: AdaptiveRouterPreferences(quality_tier=tier, strengths=[]) for tier, name in enumerate(MODELS, 1)}

    def play(order: Order) -> np.ndarray:
        cells = {
            kind: {name: litellm_bandit.initial_cell(tiers[name], RequestType(kind)) for name in MODELS}
            for kind in set(requests.kinds)
        }

        def learn(row: int, arm: int) -> None:
            own, reward = cells[requests.kinds[row]], float(requests.rewards[row, arm])
            own[MODELS[arm]] = litellm_bandit.apply_delta(own[MODELS[arm]], reward, 1.0 - reward)

        for row in order.log:
            for arm in range(len(MODELS)):
                learn(row, arm)
        rng = random.Random(order.run)
        chosen = np.empty(len(order.played), dtype=int)
        for round_, row in enumerate(order.played):
            name = litellm_bandit.pick_best(
                cells[requests.kinds[row]], prices, quality_weight=weight, cost_weight=1.0 - weight, rng=rng
            )
            arm = MODELS.index(name)
            learn(row, arm)
            chosen[round_] = arm
        return chosen

    return play


@dataclass
class Rival:
    name: str
    ceiling: float | None
    weight: float | None
    router: Router


def rivals(requests: Requests) -> list[Rival]:
    by_class = class_features(requests)
    noise = np.random.default_rng(0).normal(size=(len(requests), BEST_K3_HPARAMS["pca_components"] + 1))
    kinds = {
        "paretobandit": by_class,
        "paretobandit-wide": np.column_stack([noise[:, by_class.shape[1] :], by_class]),
        "paretobandit-blind": by_class[:, -1:],
    }
    found = [
        Rival(name, ceiling, None, pareto_bandit(requests, features, ceiling))
        for name, features in kinds.items()
        for ceiling in CEILINGS
    ]
    return [*found, *(Rival("litellm", None, weight, litellm(requests, weight)) for weight in WEIGHTS)]


def over(costs: np.ndarray, window: int, ceiling: float | None) -> float | None:
    """Share of the consecutive full windows whose mean price is above the ceiling."""
    windows = len(costs) // window
    if ceiling is None or not windows:
        return None
    means = costs[: windows * window].reshape(windows, window).mean(axis=1)
    return float((means > ceiling).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=ROOT / "experiments/routing/requests.parquet")
    parser.add_argument("--orders", type=Path, help="orders to play, instead of drawing them")
    parser.add_argument("--runs", type=int, default=20, help="orders to draw; of a file, runs to play")
    parser.add_argument("--out", type=Path, default=ROOT / "results/routing")
    arguments = parser.parse_args()
    # Its warnings tell of every ceiling below the cheapest model.
    logging.getLogger("pareto_bandit").setLevel(logging.ERROR)

    requests = Requests.read(arguments.data)
    if arguments.orders is None:
        orders = list(draw_orders(arguments.runs, len(requests)))
    else:
        orders = [one for one in read_orders(arguments.orders, len(requests)) if one.run < arguments.runs]
    first = {mode: next(one for one in orders if one.mode == mode) for mode in {one.mode for one in orders}}
    contenders = rivals(requests)
    arguments.out.mkdir(parents=True, exist_ok=True)
    paths = []
    with open(arguments.out / "rivals.csv", "w", newline="") as file:
        writer = csv.writer(file)
        shares = [f"share_{name}" for name in MODELS]
        windows = [f"over_{window}" for window in WINDOWS]
        head = ["rival", "mode", "ceiling", "quality_weight", "run", "requests", "reward", "dollars"]
        writer.writerow([*head, *shares, *windows])
        jobs = [(rival, one) for one in orders for rival in contenders]
        for rival, one in tqdm(jobs, unit="run", smoothing=0.02):
            chosen = rival.router(one)
            rewards, costs = requests.rewards[one.played, chosen], requests.costs[one.played, chosen]
            writer.writerow(
                [rival.name, one.mode, rival.ceiling, rival.weight, one.run, len(chosen), rewards.mean(), costs.mean()]
                + [float((chosen == arm).mean()) for arm in range(len(MODELS))]
                + [over(costs, window, rival.ceiling) for window in WINDOWS]
            )
            file.flush()
            if one is first[one.mode]:
                paths.append(path_of(rival, one, chosen, rewards, costs))
    pq.write_table(pa.concat_tables(paths), arguments.out / "rivals-paths.parquet")
    print(f"{arguments.out}: rivals.csv, rivals-paths.parquet")


def path_of(rival: Rival, one: Order, chosen: np.ndarray, rewards: np.ndarray, costs: np.ndarray) -> pa.Table:
    count = len(chosen)
    return pa.table(
        {
            "rival": [rival.name] * count,
            "mode": [one.mode] * count,
            "ceiling": pa.array([rival.ceiling] * count, pa.float64()),
            "quality_weight": pa.array([rival.weight] * count, pa.float64()),
            "run": np.full(count, one.run),
            "round": np.arange(count),
            "row": one.played,
            "model": np.array(MODELS)[chosen],
            "cumulative_reward": rewards.cumsum(),
            "cumulative_dollars": costs.cumsum(),
        }
    )


if __name__ == "__main__":
    main()
