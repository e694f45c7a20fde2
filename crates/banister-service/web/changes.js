// Who changed what: the latest changes of an experiment, newest first.

import { foldingPanel, h, renderOnce } from "./dom.js";
import { ago, fullTime } from "./format.js";
import { budgetsOf } from "./words.js";

const CHANGED_STATUS = { paused: "paused it", running: "resumed it", archived: "archived it" };

// A change in a few words; each field that was set is one.
function inWords(entry) {
  const change = entry.change || {};
  switch (entry.kind) {
    case "created":
      return "created it";
    case "arm_added":
      return `added the arm ${change.name}`;
    case "arm_retired":
      return `retired the arm ${change.name}`;
    case "arm_forgotten":
      return `said that the arm ${change.name} has changed: it is learned anew`;
    case "weights_told":
      return `told weights of ${change.name}: ${weightsInWords(change.weights)}`;
    case "imported":
      return `imported ${change.outcomes} outcomes`;
    case "alarm_raised":
      return `raised an alarm: ${change.message}`;
    case "alarms_acknowledged":
      return `acknowledged the alarms${change.note ? `: ${change.note}` : ""}`;
    default:
      return Object.keys(change)
        .map((key) => (key === "status" ? CHANGED_STATUS[change.status] : setting(key, change[key])))
        .join(", ");
  }
}

const weightsInWords = (weights) =>
  Object.entries(weights)
    .map(([guardrail, own]) =>
      `${guardrail} (${Object.entries(own).map(([signal, w]) => `${signal} ${w}`).join(", ")})`
    )
    .join(", ");

function setting(key, value) {
  if (key === "description") return "changed the description";
  if (key === "shadow") return value ? "turned shadow mode on" : "turned shadow mode off";
  if (key === "ttl_seconds") return value === null ? "removed the time to live" : `set the time to live to ${value} s`;
  if (key === "budgets") {
    const all = budgetsOf(value).map(([name, b]) => `${name} ${b.amount} per ${b.per}`);
    return all.length ? `set the budgets to ${all.join(", ")}` : "removed the budgets";
  }
  if (key === "on_breach") return `set the reaction to alarms to ${value}`;
  return `set ${key}`;
}

export function changesPanel() {
  const list = h("ol", { class: "events", "data-testid": "changes" });
  const node = foldingPanel("Changes", null, list);
  return {
    node,
    limit: 10,
    update(changes) {
      renderOnce(list, [changes], () =>
        changes.map((entry) =>
          h(
            "li",
            null,
            h("b", { class: "clip" }, entry.author || "unknown"),
            h("span", { class: "break" }, inWords(entry)),
            h("time", { class: "note", datetime: entry.time, title: fullTime(entry.time) }, ago(entry.time)),
          )
        ));
    },
  };
}
