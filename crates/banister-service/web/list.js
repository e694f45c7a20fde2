// All experiments at a glance.

import { h, renderOnce, setAttr, setText, show, syncList } from "./dom.js";
import { ago, count, fullTime } from "./format.js";
import { promises, reasonInWords, refusingInWords } from "./words.js";
import { api, hasToken, may } from "./api.js";
import { poll } from "./poll.js";
import { command, curl } from "./dialog.js";
import { hrefOf } from "./decisions.js";
import { statusPills } from "./manage.js";
import { fieldsOf } from "./declared.js";
import { loading } from "./experiment.js";

const SHORT = {
  margin_not_proven: "margin not proven",
  solver_failed: "solver failed",
  ill_conditioned: "rounding",
  budget_exhausted: "budget exhausted",
  paused: "paused",
};

function kindOf(experiment) {
  if (experiment.dimension) return `candidates of ${experiment.dimension} features`;
  const fields = fieldsOf(experiment.context),
    length = fields ? `${Object.keys(fields).length} fields` : experiment.context;
  const context = experiment.context ? `, context of ${length}` : "";
  return `${count(experiment.arms_offered)} arms${context}`;
}

// A pause is somebody's own will; everything else that forces the safe action is worth a warning.
const isLoud = (experiment) =>
  Boolean(experiment.refusing) ||
  (Boolean(experiment.alarm) && experiment.alarm.reason !== "paused" && experiment.status !== "archived");

function railsInWords(experiment) {
  const { alarm, counts, guardrails, refusing, status } = experiment;
  if (status === "archived" || !guardrails.length) return "–";
  if (refusing) return `✕ ${refusingInWords(refusing)}`;
  if (alarm) return `${isLoud(experiment) ? "⚠ safe action forced: " : ""}${SHORT[alarm.reason] || alarm.reason}`;
  if (!counts.decisions) return "no decision yet";
  return promises(experiment) ? "✓ kept" : "no guarantee";
}

function listRow() {
  const link = h("a", { class: "clip strong" }),
    description = h("span", { class: "note clip" }),
    pills = h("span", { class: "pills" });
  const kind = h("td", { "data-label": "chooses among" }),
    decisions = h("td", { class: "number", "data-label": "decisions" }),
    outcomes = h("td", { class: "number", "data-label": "outcomes" });
  const rails = h("span", { "data-testid": "list-guardrails" }),
    created = h("span");
  const node = h(
    "tr",
    null,
    h("th", { scope: "row" }, link, description),
    h("td", { "data-label": "status" }, pills),
    kind,
    decisions,
    outcomes,
    h("td", { "data-label": "guardrails" }, rails),
    h("td", { "data-label": "created" }, created),
  );
  return {
    node,
    update(experiment) {
      setText(link, experiment.name);
      setAttr(link, "href", hrefOf(experiment.name));
      setAttr(link, "title", experiment.name);
      setText(description, experiment.description || "");
      renderOnce(pills, [experiment.status, experiment.shadow], () => statusPills(experiment));
      setText(kind, kindOf(experiment));
      setText(decisions, count(experiment.counts.decisions));
      setText(outcomes, count(experiment.counts.outcomes));
      const raised = experiment.alarm,
        loud = isLoud(experiment);
      setText(rails, railsInWords(experiment));
      setAttr(rails, "class", loud ? "bad" : raised ? "warn" : rails.textContent.startsWith("✓") ? "good" : null);
      setAttr(rails, "title", raised && !experiment.refusing ? reasonInWords(raised.reason) : null);
      setText(created, ago(experiment.created));
      setAttr(created, "title", fullTime(experiment.created));
      setAttr(node, "class", experiment.status === "archived" ? "retired" : null);
    },
  };
}

const SAMPLE = {
  name: "checkout",
  arms: ["control", "bold"],
  safe: "control",
  guardrails: [{ name: "complaints", at_most: 0.1, safe_cost: 0.02 }],
};

const ORDER = { running: 0, paused: 1, archived: 2 };

export function listPage() {
  const wait = loading(),
    body = h("tbody");
  const table = h(
    "table",
    { class: "experiments" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["experiment", "status", "chooses among"].map((t) => h("th", { scope: "col" }, t)),
        ["decisions", "outcomes"].map((t) => h("th", { scope: "col", class: "number" }, t)),
        ["guardrails", "created"].map((t) => h("th", { scope: "col" }, t)),
      ),
    ),
    body,
  );
  const fresh = h(
    "a",
    { class: "button primary", href: "#/new", "data-testid": "new-experiment", hidden: true },
    "New experiment",
  );
  const begin = h("a", { class: "button primary", href: "#/new" }, "Create the first one");
  const sample = command("Or from a terminal");
  sample.set(curl("/v1/experiments", SAMPLE, hasToken(), 2));
  const empty = h(
    "div",
    { class: "welcome", hidden: true, "data-testid": "welcome" },
    h("h2", null, "No experiments yet"),
    h(
      "p",
      null,
      "An experiment learns online which action earns the most. Every policy it deploys keeps its expected costs under thresholds that you choose: its guardrails.",
    ),
    begin,
    sample.node,
  );
  const wrap = h("div", { class: "table panel", hidden: true }, table),
    tally = h("p", { class: "note" });
  const node = h(
    "div",
    { "data-testid": "experiment-list" },
    h(
      "header",
      { class: "head" },
      h("div", null, h("h1", { tabindex: "-1" }, "Experiments"), tally),
      h("div", { class: "buttons" }, fresh),
    ),
    wait.node,
    empty,
    wrap,
  );
  let latest = [];

  function render() {
    const rows = [...latest].sort(
      (a, b) =>
        ORDER[a.status] - ORDER[b.status] ||
        Number(isLoud(b)) - Number(isLoud(a)) ||
        Date.parse(b.created) - Date.parse(a.created),
    );
    show(wait.node, false);
    show(wrap, rows.length > 0);
    show(empty, !rows.length);
    show(fresh, may("admin") && rows.length > 0);
    show(begin, may("admin"));
    show(sample.node, may("admin"));
    const loud = rows.filter(isLoud).length,
      running = rows.filter((e) => e.status === "running").length;
    setText(
      tally,
      rows.length
        ? `${count(rows.length)} in all, ${running} running, ${loud ? `${loud} with an alarm` : "no alarm"}`
        : "",
    );
    syncList(body, rows, (e) => e.name, listRow);
  }

  const live = poll(async (signal) => {
    try {
      latest = await api.summaries(signal);
    } catch (error) {
      if (!latest.length && error.status && error.status !== 401) wait.fail(error);
      throw error;
    }
    render();
  });
  return { node, title: "Experiments", role: () => live.now(), destroy: () => live.stop() };
}
