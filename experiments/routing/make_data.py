"""Makes requests.parquet from the reward files that the package paretobandit ships.

    pip install paretobandit==0.1.1 litellm==1.108.4 pyarrow
    python experiments/routing/make_data.py

No prompt text goes into the table. README.md beside this script names its columns and its source.
"""

import json
import os
from pathlib import Path

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # prices come from the package, not from the network

import pyarrow as pa
import pyarrow.parquet as pq
from litellm.router_strategy.adaptive_router.classifier import classify_prompt
from pareto_bandit.data import get_example_holdout_path, get_example_val_path

MODELS = {
    "llama": "meta-llama/llama-3.1-8b-instruct",
    "mistral": "mistralai/mistral-large-2512",
    "gemini": "google/gemini-2.5-pro",
}

SPLITS = {"val": get_example_val_path(), "test": get_example_holdout_path()}


def records(path):
    with open(path, encoding="utf-8") as lines:
        return [json.loads(line) for line in lines if line.strip()]


def row(split, record):
    values = {
        "split": split,
        "source": record["source"],
        # Every task of BIG-bench Hard is one class: most tasks have too few prompts to learn from.
        "class": record["source"].split("/")[0],
        "kind": classify_prompt(record["prompt"]).value,
        "prompt_chars": len(record["prompt"]),
    }
    for name, model in MODELS.items():
        outcome = record["arms"][model]
        values[f"{name}_reward"] = float(outcome["reward"])
        values[f"{name}_cost"] = float(outcome["cost"])
    return values


def main():
    rows = [row(split, record) for split, path in SPLITS.items() for record in records(path)]
    path = Path(__file__).with_name("requests.parquet")
    pq.write_table(pa.Table.from_pylist(rows), path, compression="snappy")
    print(f"{path}: {len(rows)} requests, {path.stat().st_size} bytes")


if __name__ == "__main__":
    main()
