// Alarms of the monitor: what is false, since when, and the evidence; and the button that clears them.

import { button, h, panel, renderOnce, setAttr, setText, show, syncList } from "./dom.js";
import { ago, clock, count, fullTime } from "./format.js";
import { api, may } from "./api.js";
import { openDialog, toast } from "./dialog.js";
import { labelled } from "./manage.js";
import { isWarning } from "./words.js";

const TITLES = {
  breach: "Guardrail breached",
  breach_warning: "Warning: a guardrail may be breached",
  refuted: "An arm has changed",
  changed: "Warning: an arm has changed, and is learned anew",
  drift: "An arm moves faster than declared",
  safe_cost: "The declared safe cost is wrong",
  model_refuted: "The model of the features is wrong",
  missing: "Warning: outcomes are missing, not at random",
  range: "A cost left its declared range",
  reward_range: "Warning: a reward left its declared range",
  segments: "Warning: nearly as many segments as there is room for",
};

const WIDTH = 320,
  HEIGHT = 56;

// Evidence over outcomes on a logarithmic scale, with the line at which an alarm is raised.
export function evidenceChart(evidence) {
  const points = evidence.points,
    last = points.length ? points[points.length - 1][0] : 1;
  const top = Math.max(evidence.alarm_at * 1.15, ...points.map((p) => p[1]));
  const x = (n) => (WIDTH * n) / last,
    y = (height) => HEIGHT - 2 - ((HEIGHT - 4) * height) / top;
  const power = (height) => `10^${parseFloat(height.toFixed(1))}`;
  const line = points.map((p, i) => `${i ? "L" : "M"}${x(p[0]).toFixed(1)} ${y(p[1]).toFixed(1)}`).join("");
  const limit = y(evidence.alarm_at);
  const now = points.length ? points[points.length - 1][1] : 0;
  return h(
    "figure",
    { class: "evidence" },
    h(
      "svg",
      {
        viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
        preserveAspectRatio: "none",
        role: "img",
        "aria-label": `evidence against ${evidence.guardrail}: ${power(now)}, alarm at ${power(evidence.alarm_at)}`,
      },
      h("line", { class: "evidence-limit", x1: 0, x2: WIDTH, y1: limit, y2: limit }),
      h("path", { class: "evidence-line", d: line || "M0 0" }),
    ),
    h("span", { class: "note", style: { top: `${(3.5 * limit) / HEIGHT}rem` } }, power(evidence.alarm_at)),
    h("div", { class: "strip-axis" }, h("span", null, "0"), h("span", null, `${count(last)} outcomes`)),
    h(
      "figcaption",
      { class: "note" },
      `evidence that ${evidence.guardrail} is breached, over ${count(last)} outcomes: `,
      `${power(now)} now, an alarm at ${power(evidence.alarm_at)} (dashed)`,
    ),
  );
}

function alarmRow() {
  const title = h("b"),
    message = h("p"),
    since = h("p", { class: "note" }),
    chart = h("div");
  const node = h("li", null, h("div", { role: "alert" }, title, message), since, chart);
  return {
    node,
    update({ alarm, evidence }) {
      setText(title, TITLES[alarm.kind] || alarm.kind);
      setText(message, `${alarm.message}.`.replace(/^./, (c) => c.toUpperCase()));
      setText(
        since,
        `Since ${clock(alarm.since)}, ${ago(alarm.since)}. ${
          alarm.forces_safe ? "Only the safe action is played until somebody acknowledges it." : "Decisions go on."
        }`,
      );
      since.title = fullTime(alarm.since);
      show(chart, Boolean(evidence));
      if (evidence) renderOnce(chart, evidence, () => evidenceChart(evidence));
    },
  };
}

export function alarmsPanel(context) {
  const list = h("ul", { class: "alarms" });
  const acknowledge = () => {
    const note = h("textarea", { rows: "3", "data-testid": "acknowledge-note" });
    openDialog({
      title: "Acknowledge the alarms?",
      confirm: "Acknowledge",
      testid: "acknowledge-dialog",
      body: h(
        "div",
        { class: "stack" },
        h(
          "p",
          null,
          "The tests start anew and decisions go on with what was learned so far. If the world has changed for good, start a new experiment instead.",
        ),
        labelled("Note for the log", note, "The cause, and what was done about it."),
      ),
      submit: async () => {
        await api.acknowledge(context.name, note.value);
        toast("The alarms are acknowledged.");
        context.refresh();
      },
    });
  };
  const press = button("Acknowledge", acknowledge, { class: "primary", "data-testid": "acknowledge" });
  const node = panel("Alarms", { class: "alarm-panel", "data-testid": "alarms" }, list, press);
  show(node, false);
  return {
    node,
    update(state) {
      const alarms = (state && state.alarms) || [];
      show(node, alarms.length > 0);
      const calm = alarms.every(isWarning);
      setText(node.firstChild, calm ? "Warnings" : "Alarms");
      setAttr(node, "class", `panel alarm-panel ${calm ? "calm" : ""}`);
      show(press, may("admin"));
      const rows = alarms.map((alarm) => ({
        alarm,
        evidence: alarm.kind === "breach"
          ? (state.evidence || []).find((e) => e.guardrail === alarm.guardrail)
          : undefined,
      }));
      syncList(list, rows, (row) => row.alarm.number, alarmRow);
    },
  };
}

// The assumptions behind a certificate, each with who would notice.
export function assumptionList() {
  const node = h("details", { class: "rests-on", "data-testid": "rests-on" });
  return {
    node,
    update(assumptions) {
      show(node, Boolean(assumptions && assumptions.length));
      renderOnce(node, assumptions || [], () => [
        h("summary", null, "What this rests on"),
        h(
          "ul",
          null,
          (assumptions || []).map((a) =>
            h(
              "li",
              null,
              h("span", { class: `tag ${a.watched ? "" : "dim"}` }, a.watched ? "watched" : "declared"),
              " ",
              a.text,
            )
          ),
        ),
      ]);
    },
  };
}
