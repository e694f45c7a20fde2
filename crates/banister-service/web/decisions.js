// The latest decisions, each with the way to its audit trail.

import { button, h, panel, setAttr, setText, show, syncList } from "./dom.js";
import { ago, clip, fullTime, num, percent } from "./format.js";
import { api } from "./api.js";
import { attempt } from "./dialog.js";
import { broughtOf, OUTCOME_STATUS, reasonInWords } from "./words.js";

const PAGE = 15;

export const hrefOf = (name, id) =>
  `#/experiments/${encodeURIComponent(name)}${id === undefined ? "" : `/decisions/${encodeURIComponent(id)}`}`;

function decisionRow(context, brought) {
  const link = h("a", { class: "clip" }),
    time = h("span"),
    action = h("span", { class: "clip" }),
    segment = h("span", { class: "note clip" }),
    forced = h("span", { class: "tag warn" }, "forced");
  const share = h("td", { class: "number", "data-label": "probability" }),
    status = h("span", { class: "state" }),
    reward = h("td", { class: "number", "data-label": "reward" });
  const costs = brought.map((g) => h("td", { class: "number", "data-label": g.name }));
  const node = h(
    "tr",
    null,
    h("th", { scope: "row" }, link),
    h("td", { "data-label": "when" }, time),
    h("td", { "data-label": "action" }, h("span", null, action, " ", forced, segment)),
    share,
    h("td", { "data-label": "outcome" }, status),
    reward,
    costs,
  );
  return {
    node,
    update(d) {
      setText(link, clip(d.id, 40));
      setAttr(link, "href", hrefOf(context.name, d.id));
      setAttr(link, "title", `audit trail of ${d.id}`);
      setText(time, ago(d.time));
      setAttr(time, "title", fullTime(d.time));
      setText(action, d.action);
      setAttr(action, "title", d.action);
      show(segment, Boolean(d.segment));
      setText(segment, d.segment ? `in ${d.segment}` : "");
      setAttr(segment, "title", d.segment);
      show(forced, Boolean(d.fallback));
      setAttr(forced, "title", d.fallback ? reasonInWords(d.fallback) : null);
      setText(share, percent(d.probability));
      setText(status, d.status);
      setAttr(status, "class", `state ${d.status}`);
      setAttr(status, "title", OUTCOME_STATUS[d.status]);
      setText(reward, num(d.reward));
      brought.forEach((g, i) => setText(costs[i], num((d.costs || {})[g.name])));
    },
  };
}

// Older pages are added below and stay; the newest page is refreshed by every poll.
export function decisionsPanel(context, experiment) {
  const brought = broughtOf(experiment);
  const body = h("tbody"),
    empty = h("p", { class: "empty" }, "No decisions yet: “Try it” asks for one.");
  const table = h(
    "table",
    { "data-testid": "decisions-table", class: "decisions" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        ["decision", "when", "action"].map((t) => h("th", { scope: "col" }, t)),
        h("th", { scope: "col", class: "number" }, "probability"),
        h("th", { scope: "col" }, "outcome"),
        ["reward", ...brought.map((g) => g.name)].map((t) =>
          h("th", { scope: "col", class: "number" }, h("span", { class: "clip", title: t }, t))
        ),
      ),
    ),
    body,
  );
  let newest = [],
    older = [],
    ended = false;
  const more = button(
    "Older decisions",
    () =>
      attempt(async () => {
        const rows = [...newest, ...older];
        const last = rows[rows.length - 1];
        const page = (await api.decisions(context.name, 50, last && last.number)).decisions;
        ended = page.length < 50;
        older = older.concat(page);
        render();
      }),
    { class: "more" },
  );
  const wrap = h(
    "div",
    { class: "table scrolls", tabindex: "0", role: "region", "aria-label": "Recent decisions" },
    table,
  );
  const node = panel("Recent decisions", null, empty, wrap, more);
  function render() {
    const rows = new Map();
    [...newest, ...older].forEach((d) => rows.set(d.id, rows.get(d.id) || d));
    const sorted = [...rows.values()].sort((a, b) => b.number - a.number);
    syncList(
      body,
      sorted,
      (d) => d.id,
      () => decisionRow(context, brought),
    );
    show(empty, !sorted.length);
    show(wrap, sorted.length > 0);
    show(more, !ended && sorted.length >= PAGE);
  }
  return {
    node,
    limit: PAGE,
    update(page) {
      // What scrolled out of the first page is kept once older ones are shown, else there would be a gap.
      if (older.length) older = newest.filter((d) => !page.some((p) => p.id === d.id)).concat(older);
      newest = page;
      render();
    },
  };
}
