// The service's terms in plain words.

import { directionOf } from "./direction.js";
import { apart, count, denoised, duration, futureTime, num, vector } from "./format.js";

export const ALARMS = {
  margin_not_proven:
    "the safe arm's own costs are not known well enough yet to prove a margin, so only the safe action is played",
  solver_failed: "no policy could be proven safe this time, so only the safe action is played",
  alarm: "an alarm was raised and nobody has acknowledged it yet, so only the safe action is played",
  budget: "the search for a policy ran out of work, so only the safe action is played",
  ill_conditioned:
    "features are too long for the agent's lambda, so that rounding may undo its bounds and only the safe action is played",
  budget_exhausted:
    "what is left of a budget does not cover what the policy may cost, so only the safe action is played until costs are reported or the next period begins",
  refused:
    "what is left does not even cover the safe action; callers get a 429 until costs are reported, the amount is raised or the next period begins",
  paused: "the experiment is paused, so every decision is the safe action; outcomes are still taken",
};

export const reasonInWords = (reason) => ALARMS[reason] || String(reason);

export const reasonTitle = (reason) =>
  ({
    margin_not_proven: "Safe action forced: margin not proven yet",
    solver_failed: "Safe action forced: no policy found",
    alarm: "Safe action forced: alarm",
    budget: "Safe action forced: out of work",
    ill_conditioned: "Safe action forced: rounding",
    budget_exhausted: "Safe action forced: budget exhausted",
    paused: "Paused: safe action only",
  })[reason] || `Safe action forced: ${reason}`;

export const SOLVER = {
  optimal: "the best policy that keeps every guardrail was found",
  budget:
    "not the best policy that there is: the policy keeps every guardrail, and the gap says how much better another could be",
  infeasible: "no policy keeps every guardrail on the pessimistic side",
};

export const STATUS = { running: "running", paused: "paused", archived: "archived" };

export const OUTCOME_STATUS = {
  open: "waiting for its outcome",
  partial: "a part of its outcome is known",
  pending: "its outcome was reported, and is learned when its time to live is over",
  complete: "its outcome is known",
  returned: "its outcome is known, and not learned, since its unit was before",
  expired: "no outcome came in time",
  cancelled: "it was never carried out",
};

export const EVENTS = {
  decision: "decided",
  part: "a part of the outcome came",
  outcome: "the outcome was complete, and learned from",
  default: "time ran out: the default outcome was taken",
  missing: "time ran out, and no outcome had come",
  cancelled: "it was never carried out",
};

// True where every arm has a range of its own: a list of pairs, or pairs by name.
export const isByArm = (signal) => Boolean(signal && signal.range) && !Number.isFinite(signal.range[0]);

// The smallest range that holds those of all arms, up to the cap.
export function hullOf(signal) {
  const { range, cap } = signal || {};
  const pairs = !range ? [[0, cap ?? 1]] : isByArm(signal) ? Object.values(range) : [range];
  const high = Math.max(...pairs.map((pair) => pair[1]));
  return [Math.min(...pairs.map((pair) => pair[0])), Math.min(high, cap ?? high)];
}

// Signals that outcomes bring beside the reward, by their names.
export function broughtOf({ guardrails, signals, reward }) {
  const own = guardrails.filter((g) => !g.expression);
  const declared = Object.entries(signals || {}).filter(([name]) => name !== [reward.expression].flat()[0]);
  return [...own, ...declared.map(([name, given]) => ({ ...(Array.isArray(given) ? { range: given } : given), name }))];
}

export function rangeInWords(signal) {
  const { cap } = signal || {};
  const byArm = isByArm(signal)
    ? `range by arm: ${Object.entries(signal.range).map(([arm, range]) => `${arm} ${vector(range)}`).join(", ")}`
    : `range ${vector(hullOf(signal))}`;
  return cap === null || cap === undefined ? byArm : `${byArm}, more counts as ${num(cap)}`;
}

// What a guardrail bounds, or the reward is, where that is said by an operator: "refunds per orders", "share of latency
// above 800".
export function expressionInWords({ expression }) {
  if (!Array.isArray(expression)) return "";
  const [first, sign, second] = expression;
  const word = { "/": "per", ">": "above", "<": "below" }[sign] || sign;
  return typeof second === "number" ? `share of ${first} ${word} ${num(second)}` : `${first} ${word} ${second}`;
}

// "at most 0.1", "at least 0.98 × the safe arm's own", "capped mean at most 2", "refunds per orders at most 0.05".
export function limitInWords(guardrail) {
  const { words, value } = directionOf(guardrail);
  const isCapped = (guardrail.cap ?? null) !== null;
  const what = isCapped ? "capped mean" : expressionInWords(guardrail);
  return `${what ? `${what} ` : ""}${words} ${num(value)}${guardrail.relative ? " × the safe arm’s own" : ""}`;
}

// How far a mean may move, and what bounds then rest on: of the arm played most, the safe one aside.
export function driftInWords({ name, drift }, place, arms) {
  const moving = arms.filter((arm) => !arm.safe && arm.windows && arm.windows[place]);
  const [most] = moving.sort((a, b) => b.pulls - a.pulls);
  const said = `${name} may drift by ${num(drift.by)} per ${drift.per}`;
  return most ? `${said}: bounds of “${most.name}” use its last ${count(most.windows[place])} outcomes.` : `${said}.`;
}

// "at most 50 per day, spread over the day; then decisions are refused".
// A guardrail has one budget, or several with different periods: pairs of its name and each of them.
export const budgetsOf = (budgets) =>
  Object.entries(budgets || {}).flatMap(([guardrail, own]) => [own].flat().map((budget) => [guardrail, budget]));

export function budgetInWords(budget) {
  const paced = budget.pacing ? `, spread over the ${budget.per}` : "";
  const then = budget.when_exhausted === "refuse" ? "decisions are refused" : "the safe action is played";
  return `at most ${num(budget.amount)} per ${budget.per}${paced}; then ${then}`;
}

// "Decisions are refused until 00:00:00: the budget of spend is exhausted".
export const refusingInWords = ({ guardrail, until }) =>
  `Decisions are refused until ${futureTime(until)}: the budget of ${guardrail} is exhausted`;

// True if the limit is on the mean over all segments: estimates in one of them do not compare with it.
export const isOverSegments = (experiment, guardrail) => Boolean(experiment.segments) && guardrail.scope !== "each";

// "at most 0.1 in each segment", and the unit where that is another.
export function shownInWords(experiment, guardrail) {
  const scope = isOverSegments(experiment, guardrail) ? " over all segments together" : " in each segment";
  const limit = limitInWords(guardrail) + (experiment.segments ? scope : "");
  return [limit, unitInWords(guardrail)].filter(Boolean).join(" · shown: ");
}

// Which unit a guardrail's estimates are in: a relative one with a known safe cost is an absolute one.
export const isExcess = (guardrail) =>
  Boolean(guardrail.relative) && (guardrail.safe_cost === null || guardrail.safe_cost === undefined);

export const isRatio = ({ expression }) => Array.isArray(expression) && expression[1] === "/";

export function unitInWords(guardrail) {
  const { value } = directionOf(guardrail);
  if (isExcess(guardrail)) return `excess over ${num(value)} × the safe arm’s mean`;
  return isRatio(guardrail) ? "what an arm adds to the rate" : "";
}

// What an agent promises about its guardrails.
const PROMISES = {
  every_round: "every policy ever deployed keeps every guardrail in expectation",
  per_action: "every action ever played keeps every guardrail in expectation",
  cumulative: "costs keep the guardrails on average over the rounds; single rounds may break them",
  unsafe: "none: this agent does not look at costs",
};
export const promise = (experiment) => PROMISES[experiment.guarantee] || PROMISES.every_round;
export const promises = (experiment) => !["cumulative", "unsafe"].includes(experiment.guarantee);

// One guardrail of a certificate: which side, whether it holds, and the sentence with its numbers.
export function verdict(guardrail, certified) {
  const { low, allowed, forbidden } = directionOf(guardrail);
  const distance = low
    ? certified.pessimistic_cost - certified.threshold
    : certified.threshold - certified.pessimistic_cost;
  const holds = distance >= -1e-9 * Math.max(1, Math.abs(certified.threshold));
  // Nobody can tell 0.1 from 0.1 − 2e−16, nor should have to.
  const [cost, threshold] = denoised(distance) === 0
    ? [num(certified.threshold), num(certified.threshold)]
    : apart(denoised(certified.pessimistic_cost), certified.threshold);
  const sign = holds ? allowed : forbidden;
  const sentence = `pessimistic ${
    certified.capped ? "capped cost" : "cost"
  } ${cost} ${sign} threshold ${threshold}, slack ${num(certified.slack)}, price ${num(certified.price)}`;
  return { low, holds, sentence, cost, threshold, sign };
}

// Name of that which has one outcome: "decision", or "user and period of 7 d".
export const decisionInWords = ({ unit }) =>
  unit ? unit.name + (unit.period ? ` and period of ${duration(unit.period)}` : "") : "decision";

// A warning informs and never acts: no guardrail rests on it.
export const isWarning = (alarm) =>
  ["breach_warning", "changed", "reward_range", "missing", "segments"].includes(alarm.kind);
