// All experiments at a glance.

import { h, renderOnce, setAttr, setText, show, syncList } from "./dom.js";
import { ago, count, fullTime } from "./format.js";
import { api, may } from "./api.js";
import { poll } from "./poll.js";
import { reasonInWords } from "./words.js";
import { hrefOf } from "./decisions.js";
import { statusPills } from "./manage.js";
import { loading } from "./experiment.js";

const SHORT = { margin_not_proven: "margin not proven", solver_failed: "solver failed", paused: "paused" };

function kindOf(experiment) {
  if (experiment.dimension) return `candidates of ${experiment.dimension} features`;
  const offered = experiment.arms.filter((arm) => arm.offered).length;
  return `${count(offered)} arms${experiment.context ? `, context of ${experiment.context}` : ""}`;
}

function listRow() {
  const link = h("a", { class: "clip strong" }),
    description = h("span", { class: "note clip" }),
    pills = h("span", { class: "pills" });
  const kind = h("td", { "data-label": "chooses among" }),
    decisions = h("td", { class: "number", "data-label": "decisions" }),
    outcomes = h("td", { class: "number", "data-label": "outcomes" });
  const alarm = h("span", { class: "alarm-cell" }),
    created = h("span");
  const node = h(
    "tr",
    null,
    h("th", { scope: "row" }, link, description),
    h("td", { "data-label": "status" }, pills),
    kind,
    decisions,
    outcomes,
    h("td", { "data-label": "alarm" }, alarm),
    h("td", { "data-label": "created" }, created),
  );
  return {
    node,
    update({ experiment, alarm: raised }) {
      setText(link, experiment.name);
      setAttr(link, "href", hrefOf(experiment.name));
      setAttr(link, "title", experiment.name);
      setText(description, experiment.description || "");
      renderOnce(pills, [experiment.status, experiment.shadow], () => statusPills(experiment));
      setText(kind, kindOf(experiment));
      setText(decisions, count(experiment.counts.decisions));
      setText(outcomes, count(experiment.counts.outcomes));
      const loud = raised && raised.reason !== "paused";
      setText(
        alarm,
        raised === undefined
          ? ""
          : raised
            ? `${loud ? "⚠ safe action forced: " : ""}${SHORT[raised.reason] || raised.reason}`
            : experiment.status === "running" && experiment.counts.decisions
              ? "✓ none"
              : "–",
      );
      setAttr(alarm, "class", `alarm-cell ${loud ? "bad" : raised ? "warn" : ""}`);
      setAttr(alarm, "title", raised ? reasonInWords(raised.reason) : null);
      setText(created, ago(experiment.created));
      setAttr(created, "title", fullTime(experiment.created));
      setAttr(node, "class", experiment.status === "archived" ? "retired" : null);
    },
  };
}

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
        ["alarm", "created"].map((t) => h("th", { scope: "col" }, t)),
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
  const empty = h(
    "div",
    { class: "welcome", hidden: true },
    h("h2", null, "No experiments yet"),
    h(
      "p",
      null,
      "An experiment learns online which action earns the most. Every policy it deploys keeps its expected costs under thresholds that you choose: its guardrails.",
    ),
    begin,
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
  const alarms = new Map();
  let latest = [];

  // The list itself does not say who has an alarm: the states do, asked for only where something happened.
  async function askAlarms(experiments, signal) {
    const stale = experiments.filter(
      (e) => e.alarm === undefined && e.status !== "archived" && (alarms.get(e.name) || {}).number !== e.number,
    );
    for (let i = 0; i < stale.length; i += 4) {
      await Promise.all(
        stale
          .slice(i, i + 4)
          .map(async (e) => alarms.set(e.name, { number: e.number, alarm: (await api.state(e.name, signal)).alarm })),
      );
    }
  }

  function render() {
    const rows = latest.map((experiment) => ({
      experiment,
      alarm:
        experiment.alarm !== undefined
          ? experiment.alarm
          : experiment.status === "archived"
            ? null
            : (alarms.get(experiment.name) || {}).alarm,
    }));
    rows.sort(
      (a, b) =>
        ORDER[a.experiment.status] - ORDER[b.experiment.status] ||
        Date.parse(b.experiment.created) - Date.parse(a.experiment.created),
    );
    show(wait.node, false);
    show(wrap, rows.length > 0);
    show(empty, !rows.length);
    show(fresh, may("admin") && rows.length > 0);
    show(begin, may("admin"));
    const loud = rows.filter((r) => r.alarm && r.alarm.reason !== "paused").length,
      running = rows.filter((r) => r.experiment.status === "running").length;
    setText(
      tally,
      rows.length
        ? `${count(rows.length)} in all, ${running} running, ${loud ? `${loud} with an alarm` : "no alarm"}`
        : "",
    );
    syncList(body, rows, (row) => row.experiment.name, listRow);
  }

  const live = poll(async (signal) => {
    try {
      latest = (await api.list(signal)).experiments;
    } catch (error) {
      if (!latest.length && error.status && error.status !== 401) wait.fail(error);
      throw error;
    }
    render();
    await askAlarms(latest, signal);
    render();
  });
  return { node, title: "Experiments", role: () => live.now(), destroy: () => live.stop() };
}
