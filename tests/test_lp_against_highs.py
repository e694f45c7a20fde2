"""The policy LP, alone and per segment, against HiGHS, through the command line.

HiGHS works to tolerances of its own (1e-10 is the tightest it takes), so agreement to 1e-9 is
asked for on numbers of order one. Thousands of rounds: random, tied and degenerate ones.
"""

import json

import highspy
import numpy as np
import pytest


def highs_solver():
    solver = highspy.Highs()
    solver.setOptionValue("output_flag", False)
    solver.setOptionValue("primal_feasibility_tolerance", 1e-10)
    solver.setOptionValue("dual_feasibility_tolerance", 1e-10)
    solver.setOptionValue("presolve", "off")
    return solver


def highs_value(solver, problem):
    """Optimal value, or None if infeasible."""
    reward = np.array(problem["reward"])
    costs = np.array(problem["costs"]).reshape(-1, len(reward))
    k, m = len(reward), len(costs)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = k, m + 1
    lp.col_cost_ = -reward
    lp.col_lower_ = np.zeros(k)
    lp.col_upper_ = np.full(k, highspy.kHighsInf)
    lp.row_lower_ = np.concatenate([np.full(m, -highspy.kHighsInf), [1.0]])
    lp.row_upper_ = np.concatenate([problem["thresholds"], [1.0]])
    matrix = np.vstack([costs, np.ones(k)])
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(m + 2) * k
    lp.a_matrix_.index_ = np.tile(np.arange(k), m + 1)
    lp.a_matrix_.value_ = matrix.ravel()
    solver.passModel(lp)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return -solver.getInfo().objective_function_value
    assert status == highspy.HighsModelStatus.kInfeasible, status
    return None


def draw(rng, m):
    """A problem; on a coarse grid half the time, so that ties and degenerate vertices abound."""
    k = int(rng.integers(1, 41))
    grid = rng.choice([0, 4, 9, 10])
    number = (lambda *shape: np.round(rng.random(shape) * grid) / grid) if grid else (lambda *shape: rng.random(shape))
    reward, costs = number(k), number(m, k)
    thresholds = np.maximum(number(m), 0.1)
    kind = rng.integers(6)
    if kind == 0 and k > 2:  # duplicate actions
        reward[1] = reward[0]
        costs[:, 1] = costs[:, 0]
    elif kind == 1:  # thresholds exactly met by an action
        thresholds = costs[:, 0].copy()
    elif kind == 2:  # all rewards equal
        reward[:] = reward[0]
    elif kind == 3:  # a few actions, and no policy with room below all thresholds
        reward, costs = reward[:5], costs[:, :5]
        thresholds = np.array([row[rng.integers(len(row))] for row in costs])
    return {
        "kind": "lp",
        "reward": reward.tolist(),
        "costs": costs.tolist(),
        "thresholds": thresholds.tolist(),
    }


@pytest.mark.parametrize("m", [1, 2, 3, 4, 5])
def test_agrees_with_highs_to_1e_9(banister, m):
    rng = np.random.default_rng(m)
    problems = [draw(rng, m) for _ in range(1000)]
    lines = "\n".join(map(json.dumps, problems))
    answers = [json.loads(line) for line in banister("solve", "--lines", stdin=lines).stdout.splitlines()]
    assert len(answers) == len(problems)
    solver = highs_solver()
    feasible = 0
    for problem, answer in zip(problems, answers):
        value = highs_value(solver, problem)
        if answer["status"] == "infeasible":
            # Within a hair of feasibility the two may differ by their tolerances.
            tightened = dict(problem, thresholds=[t - 1e-9 for t in problem["thresholds"]])
            assert value is None or highs_value(solver, tightened) is None, problem
            continue
        feasible += 1
        assert answer["status"] == "optimal"
        assert value == pytest.approx(answer["value"], abs=1e-9), problem
        policy = np.zeros(len(problem["reward"]))
        for action, probability in answer["policy"]:
            policy[action] = probability
        assert policy.sum() == pytest.approx(1, abs=1e-12)
        assert (policy >= 0).all()
        for row, threshold in zip(problem["costs"], problem["thresholds"]):
            # As summed over the policy as listed.
            assert sum(p * row[action] for action, p in answer["policy"]) <= threshold, problem
        assert answer["gap"] <= 1e-9
        # The certificate can be checked by hand: prices give the upper bound.
        prices = np.array(answer["prices"])
        bound = (
            prices @ problem["thresholds"] + (np.array(problem["reward"]) - prices @ np.array(problem["costs"])).max()
        )
        assert bound == pytest.approx(answer["upper_bound"], abs=1e-9)
    assert feasible > 300


def draw_segments(rng):
    """One policy per segment; weights of zero, ties and thresholds out of reach included."""
    segments, m = int(rng.integers(1, 9)), int(rng.integers(0, 4))
    grid = rng.choice([0, 4, 10])
    number = (lambda k: np.round(rng.random(k) * grid) / grid) if grid else rng.random
    sizes = rng.integers(1, 7, segments)
    scopes = rng.choice(["overall", "each"], m, p=[0.7, 0.3]).tolist()
    weights = number(segments)
    scale = [1.0 if scope == "each" else weights.sum() for scope in scopes]
    return {
        "kind": "segments",
        "weights": weights.tolist(),
        "reward": [number(k).tolist() for k in sizes],
        "costs": [[number(k).tolist() for k in sizes] for _ in scopes],
        "thresholds": [s * (0.2 + 0.6 * rng.random()) for s in scale],
        "scopes": scopes,
    }


def highs_segments_value(solver, problem, lowered=0.0):
    """Optimal value of the whole linear program, or None if infeasible."""
    weights, reward = problem["weights"], problem["reward"]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in reward])])
    columns = starts[-1]
    rows, upper = [], []
    for costs, threshold, scope in zip(problem["costs"], problem["thresholds"], problem["scopes"]):
        if scope == "overall":
            rows.append(np.concatenate([p * np.array(c) for p, c in zip(weights, costs)]))
            upper.append(threshold - lowered)
        else:
            for s, cost in enumerate(costs):
                row = np.zeros(columns)
                row[starts[s] : starts[s + 1]] = cost
                rows.append(row)
                upper.append(threshold - lowered)
    coupling = len(rows)
    for s in range(len(weights)):
        row = np.zeros(columns)
        row[starts[s] : starts[s + 1]] = 1.0
        rows.append(row)
        upper.append(1.0)
    lp = highspy.HighsLp()
    lp.num_col_, lp.num_row_ = columns, len(rows)
    lp.col_cost_ = -np.concatenate([p * np.array(r) for p, r in zip(weights, reward)])
    lp.col_lower_, lp.col_upper_ = np.zeros(columns), np.full(columns, highspy.kHighsInf)
    lp.row_lower_ = np.array([-highspy.kHighsInf] * coupling + [1.0] * len(weights))
    lp.row_upper_ = np.array(upper)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.arange(len(rows) + 1) * columns
    lp.a_matrix_.index_ = np.tile(np.arange(columns), len(rows))
    lp.a_matrix_.value_ = np.concatenate(rows)
    solver.passModel(lp)
    solver.run()
    status = solver.getModelStatus()
    if status == highspy.HighsModelStatus.kOptimal:
        return -solver.getInfo().objective_function_value
    assert status == highspy.HighsModelStatus.kInfeasible, status
    return None


def test_segments_agree_with_highs_to_1e_9(banister):
    rng = np.random.default_rng(21)
    problems = [draw_segments(rng) for _ in range(1500)]
    lines = "\n".join(map(json.dumps, problems))
    answers = [json.loads(line) for line in banister("solve", "--lines", stdin=lines).stdout.splitlines()]
    assert len(answers) == len(problems)
    solver = highs_solver()
    feasible = infeasible = 0
    for problem, answer in zip(problems, answers):
        value = highs_segments_value(solver, problem)
        if answer["status"] == "infeasible":
            infeasible += 1
            assert value is None or highs_segments_value(solver, problem, 1e-9) is None, problem
            assert answer["policy"] == answer["costs"] == answer["prices"] == []
            continue
        feasible += 1
        assert value == pytest.approx(answer["value"], abs=1e-9), problem
        assert answer["gap"] <= 1e-9
        # The certificate by hand: prices give the upper bound, policies keep the thresholds.
        bound = 0.0
        overall = [0.0] * len(problem["costs"])
        for s, (weight, reward) in enumerate(zip(problem["weights"], problem["reward"])):
            policy = np.zeros(len(reward))
            for action, probability in answer["policy"][s]:
                policy[action] = probability
            assert policy.sum() == pytest.approx(1, abs=1e-12) and (policy >= 0).all()
            reduced = weight * np.array(reward)
            for i, costs in enumerate(problem["costs"]):
                cost, price = np.array(costs[s]), answer["prices"][i]
                if problem["scopes"][i] == "each":
                    assert cost @ policy <= min(answer["costs"][i], problem["thresholds"][i]) + 1e-12
                    bound += price[s] * problem["thresholds"][i]
                    reduced -= price[s] * cost
                else:
                    overall[i] += weight * (cost @ policy)
                    reduced -= price * weight * cost
            bound += reduced.max()
        for i, scope in enumerate(problem["scopes"]):
            if scope == "overall":
                assert overall[i] == pytest.approx(answer["costs"][i], abs=1e-12)
                assert overall[i] <= problem["thresholds"][i] + 1e-12
                bound += answer["prices"][i] * problem["thresholds"][i]
        assert bound == pytest.approx(answer["upper_bound"], abs=1e-9), problem
    assert feasible > 500 and infeasible > 20
