// What was declared of an experiment, in words; contexts with names, in words and as inputs.

import { h } from "./dom.js";
import { clip, duration, fullTime, level, num, vector } from "./format.js";
import {
  budgetInWords,
  budgetsOf,
  decisionInWords,
  expressionInWords,
  limitInWords,
  promise,
  rangeInWords,
} from "./words.js";
import { labelled, numberOrText } from "./manage.js";

const sidesOf = (guardrail) =>
  [
    `${guardrail.name}: ${limitInWords(guardrail)}`,
    guardrail.scope === "each" ? "in each segment" : null,
    guardrail.range || guardrail.cap ? rangeInWords(guardrail) : null,
    guardrail.sub_gaussian ? `sub-Gaussian ${num(guardrail.sub_gaussian)}` : null,
    guardrail.safe_cost === null || guardrail.safe_cost === undefined
      ? "safe cost unknown"
      : `safe cost ${num(guardrail.safe_cost)}`,
  ]
    .filter(Boolean)
    .join(", ");

const segmentsInWords = (segments) =>
  segments.fields
    ? `made from ${segments.fields.join(", ")}`
    : segments.length
    ? clip(segments.join(", "), 300)
    : "told apart once they are seen";

const inPercent = (share) => `${num(100 * share)}%`;

function rolloutInWords({ start, end, ramp, floors, holdout, namespace }) {
  const steps = (ramp || []).map((s) => inPercent(s.at_most) + (s.after ? ` after ${duration(s.after)}` : ""));
  return [
    start && `from ${fullTime(start)}`,
    end && `until ${fullTime(end)}`,
    ramp && `at most ${steps.join(", ")} leaves the safe action`,
    ...Object.entries(floors || {}).map(([arm, least]) => `${arm} at least ${inPercent(least)}`),
    holdout && `${inPercent(holdout)} held out`,
    namespace && `${inPercent(namespace.from)} to ${inPercent(namespace.to)} of the namespace ${namespace.name}`,
  ].filter(Boolean).join("; ");
}

function ttlInWords({ ttl_seconds, default_outcome }) {
  if (!ttl_seconds) return "none";
  const learned = `${duration(ttl_seconds)}: outcomes are learned then`;
  if (!default_outcome) return `${learned}, and those that never came are counted as missing`;
  const costs = Object.entries(default_outcome.costs || {}).map(([name, cost]) => `, ${name} ${num(cost)}`);
  return `${learned}; the default outcome: reward ${num(default_outcome.reward)}${costs.join("")}`;
}

const LIVE = ["counts", "number", "status", "arms", "alarm", "alarms", "refusing", "budgets"];

// Source and maker for `renderOnce`.
export function declared(experiment) {
  const lasting = Object.entries(experiment).filter(([key]) => !LIVE.includes(key));
  const limits = budgetsOf(experiment.budgets).map(([name, b]) => `${name}: ${budgetInWords(b)}`);
  const item = (label, ...value) => [h("dt", null, label), h("dd", null, ...value)];
  const agent = Object.entries(experiment.agent || {})
    .map(([k, v]) => `${k} ${typeof v === "number" ? num(v) : v}`)
    .join(", ");
  return [
    { lasting, limits },
    () =>
      h(
        "dl",
        { class: "declared" },
        item(
          "Guardrails",
          experiment.guardrails.length
            ? experiment.guardrails.map((g) => h("div", { class: "break" }, sidesOf(g)))
            : "none",
        ),
        limits.length ? item("Budgets", limits.map((text) => h("div", { class: "break" }, text))) : null,
        item(
          "Confidence",
          `${level(experiment.confidence)}: the probability that no policy ever violates a guardrail`,
        ),
        item("Promise", promise(experiment)),
        item("Safe", experiment.safe ? experiment.safe : vector(experiment.safe_action)),
        experiment.dimension ? item("Candidates", `${experiment.dimension} features each`) : null,
        experiment.context ? item("Context", `${contextInWords(experiment.context)} with every decision`) : null,
        experiment.segments ? item("Segments", segmentsInWords(experiment.segments)) : null,
        experiment.unit ? item("Unit", `${decisionInWords(experiment)}: ${experiment.certified}`) : null,
        experiment.rollout ? item("Rollout", rolloutInWords(experiment.rollout)) : null,
        item(
          "Reward",
          expressionInWords(experiment.reward) || experiment.reward.expression || rangeInWords(experiment.reward),
        ),
        item("Agent", agent),
        item("Time to live", ttlInWords(experiment)),
        item("Created", fullTime(experiment.created)),
      ),
  ];
}

// A declared context has a number of numbers, or fields by name.
export const fieldsOf = (context) => (typeof context === "object" ? context : null);

export const contextInWords = (context) =>
  fieldsOf(context) ? `the fields ${Object.keys(context).join(", ")}` : `${context} numbers`;

// A context as a decision brought it.
export const rowInWords = (row) =>
  Object.entries(row)
    .map(([name, value]) => `${name}: ${value === null ? "missing" : typeof value === "number" ? num(value) : value}`)
    .join(", ");

const example = (field) =>
  field.kind === "category" ? field.values[0] : field.kind === "boolean" ? true : (field.range[0] + field.range[1]) / 2;

export const exampleRow = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, example(field)]));

// A segment such as decisions bring: the first that is known, or any.
export function exampleSegment(segments) {
  const known = (segments.known || segments)[0];
  const value = (field) => (known && known[field]) || "other";
  if (!segments.fields) return known || "other";
  return Object.fromEntries(segments.fields.map((field) => [field, value(field)]));
}

const MISSING = "–";

function fieldInput(field) {
  if (field.kind === "number") {
    const input = h("input", { autocomplete: "off", inputmode: "decimal", value: String(example(field)) });
    return { input, read: () => numberOrText(input.value), hint: `${num(field.range[0])} to ${num(field.range[1])}` };
  }
  const known = field.kind === "boolean" ? [true, false] : field.values;
  const values = [...known, ...(field.missing === "indicator" ? [undefined] : [])];
  const option = (value, i) => h("option", { value: String(i) }, value === undefined ? MISSING : String(value));
  const input = h("select", null, values.map(option));
  return { input, read: () => values[Number(input.value)] };
}

// An input for each field; `read()` leaves out what is missing.
export function rowInputs(fields) {
  const inputs = Object.entries(fields).map(([name, field]) => [name, fieldInput(field)]);
  return {
    nodes: inputs.map(([name, { input, hint }]) => labelled(name, input, hint)),
    read: () => Object.fromEntries(inputs.map(([name, { read }]) => [name, read()])),
  };
}
