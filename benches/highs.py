"""Times HiGHS on the policy LPs that `cargo bench -p banister-sim --bench speed` wrote.

usage: python highs.py rounds.json

The file holds a list of workloads. Each has a first problem (`reward`, `costs`, `thresholds`) and
`rounds`, each a list of changes [action, reward, [cost, ...]] and the optimal `value` that banister
found. Where `block` is given, a policy is chosen for each block of that many actions, all under the same
thresholds. The model is changed in place and only `run()` is timed, once from its last basis (warm) and,
where all actions change, once from nothing (cold). Prints {name: {"warm": seconds, "cold": seconds,
"worst_difference": x}} as JSON; seconds are medians.
"""

import json
import statistics
import sys
import time

import highspy
import numpy as np


def model(workload):
    reward, costs, thresholds = workload["reward"], workload["costs"], workload["thresholds"]
    actions, guardrails = len(reward), len(costs)
    block = workload["block"] or actions
    blocks = actions // block
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = actions, guardrails + blocks
    lp.sense_ = highspy.ObjSense.kMaximize
    lp.col_cost_ = np.array(reward)
    lp.col_lower_, lp.col_upper_ = np.zeros(actions), np.full(actions, highspy.kHighsInf)
    lp.row_lower_ = np.array([-highspy.kHighsInf] * guardrails + [1.0] * blocks)
    lp.row_upper_ = np.array([*thresholds, *[1.0] * blocks])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.concatenate(
        [np.arange(guardrails) * actions, guardrails * actions + np.arange(blocks + 1) * block]
    )
    lp.a_matrix_.index_ = np.tile(np.arange(actions), guardrails + 1)
    lp.a_matrix_.value_ = np.concatenate([np.array(row) for row in costs] + [np.ones(actions)])
    highs = highspy.Highs()
    highs.setOptionValue("output_flag", False)
    highs.setOptionValue("threads", 1)
    highs.passModel(lp)
    highs.run()
    return highs


def play(workload, cold):
    """Median time of `run()` over the rounds, and the largest difference in the optimal value."""
    highs = model(workload)
    seconds, worst = [], 0.0
    for step in workload["rounds"]:
        for action, reward, costs in step["changes"]:
            highs.changeColCost(action, reward)
            for row, cost in enumerate(costs):
                highs.changeCoeff(row, action, cost)
        if cold:
            highs.clearSolver()
        start = time.perf_counter()
        highs.run()
        seconds.append(time.perf_counter() - start)
        worst = max(worst, abs(highs.getInfo().objective_function_value - step["value"]))
    return statistics.median(seconds), worst


def times(workload):
    all_change = len(workload["rounds"][0]["changes"]) == len(workload["reward"])
    warm, worst = play(workload, cold=False)
    cold = play(workload, cold=True)[0] if all_change else None
    return {"warm": warm, "cold": cold, "worst_difference": worst}


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        workloads = json.load(file)
    print(json.dumps({workload["name"]: times(workload) for workload in workloads}))


if __name__ == "__main__":
    main()
