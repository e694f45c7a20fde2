// Lifts, the worth left, and the health of an experiment.

import { foldingPanel, freshId, h, panel, renderOnce, setAttr, setText, show, syncList } from "./dom.js";
import { clip, count, fullTime, num } from "./format.js";
import { handOver, hasToken, pathOf } from "./api.js";
import { attempt } from "./dialog.js";
import { FEW } from "./arms.js";
import { intervalCell, intervalLegend, scaleHead, scaleOf } from "./intervals.js";
import { bandChart, seconds } from "./charts.js";
import { decisionInWords } from "./words.js";

// The class of a light, one check with it in a word, and all of them together.
const LIGHTS = {
  green: ["good", "✓ fine", "✓ Nothing speaks against it"],
  amber: ["warn", "⚠ look", "⚠ Somebody should look"],
  red: ["bad", "✕ wrong", "✕ Do not trust the numbers"],
};

function checkRow() {
  const badge = h("span"),
    reason = h("span", { class: "break" });
  return {
    node: h("li", null, badge, reason),
    update({ name, light, reason: why }) {
      setAttr(badge, "class", `badge ${LIGHTS[light][0]}`);
      setText(badge, LIGHTS[light][1]);
      setText(reason, `${name}: ${why}`);
    },
  };
}

export function trustPanel() {
  const list = h("ul", { class: "events" }),
    badge = h("span"),
    node = foldingPanel("Can I trust this?", { "data-testid": "trust" }, list),
    fold = node.querySelector("details");
  const opens = fold.open ? ["amber", "red"] : ["red"];
  fold.firstChild.append(" ", badge);
  let seen = null;
  return {
    node,
    update({ light, checks }) {
      // Only another light opens or closes it: in between the reader does. On a phone it takes a red one.
      if (light !== seen) fold.open = opens.includes(light);
      seen = light;
      setAttr(badge, "class", `badge ${LIGHTS[light][0]}`);
      setText(badge, LIGHTS[light][2]);
      syncList(list, checks, (check) => check.name, checkRow);
    },
  };
}

// A choice of a name that is kept while there is such an option; the first one at first.
function picker(label, testid, changed) {
  const select = h("select", { id: freshId(testid), "data-testid": testid, onchange: changed });
  return {
    node: h("div", { class: "picker" }, h("label", { for: select.id }, label), select),
    among(names) {
      const kept = select.value;
      renderOnce(select, names, () => names.map((value) => h("option", { value }, value)));
      if (names.includes(kept)) select.value = kept;
      return select.value;
    },
  };
}

const signed = (v) => (v > 0 ? "+" : "") + num(v === null ? v : Number(v.toPrecision(3)));

function liftRow() {
  const name = h("span", { class: "clip" }),
    cell = intervalCell(),
    difference = h("td", { class: "iv-td", "data-label": "difference" }, cell.node),
    share = h("td", { class: "number", "data-label": "in percent" }),
    outcomes = h("td", { class: "number", "data-label": "outcomes" });
  return {
    node: h("tr", null, h("th", { scope: "row" }, name), difference, share, outcomes),
    update({ own, scale }) {
      setText(name, own.arm);
      setAttr(name, "title", own.arm);
      cell.update({ mean: own.difference.estimate, ...own.difference }, scale, 0);
      const { estimate, lower, upper } = own.percent || {};
      const range = `${signed(lower ?? null)}%\u00a0to\u00a0${signed(upper ?? null)}%`;
      setText(share, !own.percent ? "–" : estimate === null ? range : `${signed(estimate)}% (${range})`);
      setText(outcomes, count(own.outcomes));
    },
  };
}

export function worthPanel({ name }, experiment) {
  const decision = decisionInWords(experiment),
    head = scaleHead("difference", `of one ${decision}, to ${clip(experiment.safe || "the safe one", 24)}`),
    chart = bandChart("Lift", `reward of one ${decision} beyond the safe arm’s`, "no difference"),
    body = h("tbody"),
    enough = h("p"),
    signal = picker("Signal", "lift-signal", () => render()),
    arm = picker("Over time", "lift-arm", () => render());
  const column = (content, klass) => h("th", { scope: "col", class: klass }, content),
    numbers = ["in percent", "outcomes"].map((title) => column(title, "number")),
    columns = h("thead", null, h("tr", null, column("arm"), column(head.node), numbers));
  const shown = h("div", null, signal.node, h("table", { class: "arms" }, columns, body), intervalLegend(false)),
    traced = h("div", null, arm.node, chart.node);
  const href = pathOf(name, "/report?format=html"),
    report = h("a", { class: "button small", href, target: "_blank", rel: "noopener" }, "Report");
  report.addEventListener("click", (event) => {
    if (!hasToken()) return;
    event.preventDefault();
    attempt(() => handOver(href, { target: "_blank" }));
  });
  const node = panel(
    "What is it worth?",
    { class: "arms-panel lifts", "data-testid": "worth" },
    h("div", { class: "corner" }, report),
    enough,
    h("div", { class: "pair" }, shown, traced),
  );
  let last = null;

  function render() {
    const { lift, history } = last;
    // Policies play most what earns most among what keeps the guardrails.
    const lifts = [...lift.lifts].sort((a, b) => b.outcomes - a.outcomes);
    const signals = [...new Set(lift.lifts.map((own) => own.signal))],
      wanted = signal.among(signals);
    show(signal.node, signals.length > 1);
    const all = lifts.filter((own) => own.signal === wanted),
      rows = all.slice(0, FEW);
    setText(numbers[1], all.length > FEW ? `outcomes (${FEW} of ${count(all.length)} arms)` : "outcomes");
    const scale = scaleOf(rows.map((own) => own.difference), 0);
    head.update(scale, 0);
    syncList(body, rows.map((own) => ({ own, scale })), ({ own }) => own.arm, liftRow);
    show(shown, rows.length > 0);
    const settled = lift.settled ? `Settled since ${fullTime(lift.settled)}. ` : "",
      words = lift.enough || (rows.length ? "" : "arms are not compared: what one earns depends on more than the arm");
    setText(enough, settled + words.replace(/^./, (c) => c.toUpperCase()).replace(/$/, words && "."));
    const chosen = arm.among(rows.map((own) => own.arm));
    const points = (history.points || []).flatMap(({ time, lifts }) =>
      (lifts || []).filter(([of]) => of === chosen).map(([, own]) => ({ ...own, time: seconds(time), zero: 0 }))
    );
    show(traced, points.length > 0);
    const series = ["time", "upper", "lower", "estimate", "zero"].map((key) => points.map((point) => point[key]));
    chart.update(series, { within: `of ${clip(chosen, 40)}` });
  }

  return {
    node,
    update(lift, history) {
      last = { lift, history };
      render();
    },
    destroy: chart.destroy,
  };
}
