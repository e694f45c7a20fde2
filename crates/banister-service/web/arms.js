// The arms with what is known about each: an interval plot that stays sensible for a thousand of them.

import { button, freshId, h, panel, setAttr, setText, show, syncList } from "./dom.js";
import { count, percent } from "./format.js";
import { api, may } from "./api.js";
import { attempt, openDialog, toast } from "./dialog.js";
import { columnsOf, intervalCell, intervalLegend, scaleHead, scaleOf } from "./intervals.js";
import { driftInWords, isByArm, unitInWords } from "./words.js";

export const FEW = 12;

// With many arms: the safe one, those of the policy (of which many may be tied), and the most pulled.
function worthShowing(arms) {
  const first = [...arms].sort(
    (a, b) => (b.probability || 0) - (a.probability || 0) || (b.pulls || 0) - (a.pulls || 0),
  );
  const picked = new Set(first.filter((arm, i) => arm.safe || i < FEW));
  return first.filter((arm) => picked.has(arm));
}

function retire(context, arm) {
  openDialog({
    title: "Retire this arm?",
    confirm: "Retire",
    danger: true,
    body: h(
      "p",
      null,
      "“",
      h("b", { class: "break" }, arm),
      "” will not be played any more. What was learned about it is kept.",
    ),
    submit: async () => {
      await api.retireArm(context.name, arm);
      toast("The arm is retired.");
      context.refresh();
    },
  });
}

function forget(context, arm) {
  openDialog({
    title: "Has this arm changed?",
    confirm: "Forget and learn anew",
    danger: true,
    body: h(
      "p",
      null,
      "What was learned about “",
      h("b", { class: "break" }, arm),
      "” is forgotten, and outcomes of its decisions so far are not learned. Other arms are kept.",
    ),
    submit: async () => {
      await api.forgetArm(context.name, arm);
      toast("The arm is learned anew.");
      context.refresh();
    },
  });
}

// Inputs for the weights of one arm, by guardrail and signal, and the object that they make.
function weightInputs(weights) {
  const terms = Object.entries(weights).flatMap(([guardrail, own]) =>
    Object.entries(own).map(([signal, weight]) => ({
      guardrail,
      signal,
      input: h("input", {
        id: freshId("weight"),
        inputmode: "decimal",
        autocomplete: "off",
        value: weight === null ? "" : String(weight),
        "data-testid": `weight-${guardrail}-${signal}`,
      }),
    }))
  );
  return {
    nodes: terms.map(({ guardrail, signal, input }) => [
      h("label", { for: input.id }, `Weight of ${signal} in ${guardrail}`),
      input,
    ]),
    read() {
      const read = {};
      for (const { guardrail, signal, input } of terms) {
        read[guardrail] = { ...read[guardrail], [signal]: numbersIn(input.value)[0] ?? null };
      }
      return read;
    },
  };
}

function tellWeights(context, arm, weights) {
  const inputs = weightInputs(weights);
  openDialog({
    title: "Other weights",
    confirm: "Tell",
    body: h(
      "div",
      { class: "stack" },
      h(
        "p",
        null,
        "They count from the next decision on. Nothing that was learned about “",
        h("b", { class: "break" }, arm),
        "” is forgotten.",
      ),
      inputs.nodes,
    ),
    submit: async () => {
      await api.setWeights(context.name, arm, inputs.read());
      toast("The weights are told.");
      context.refresh();
    },
  });
}

function armRow(context, guardrails) {
  const name = h("span", { class: "clip" }),
    safe = h("span", { class: "tag" }, "safe"),
    gone = h("span", { class: "tag dim" }, "retired");
  const pulls = h("td", { class: "number", "data-label": "pulls" }),
    share = h("td", { class: "number", "data-label": "now" });
  const cells = [intervalCell(), ...guardrails.map(intervalCell)];
  let arm = null,
    weights = {};
  const prices = button("Weights", () => tellWeights(context, arm.name, weights), { class: "small" });
  const press = button("Retire", () => retire(context, arm.name), { class: "small" });
  const changed = button("Has changed", () => forget(context, arm.name), { class: "small" });
  const again = button("Offer again", async () => {
    await api.addArm(context.name, { name: arm.name });
    toast("The arm is offered again.");
    context.refresh();
  }, { class: "small" });
  const node = h(
    "tr",
    null,
    h("th", { scope: "row" }, name, " ", safe, gone),
    share,
    pulls,
    cells.map((cell, i) => h("td", { class: "iv-td", "data-label": i ? guardrails[i - 1].name : "reward" }, cell.node)),
    h("td", { class: "act" }, prices, changed, press, again),
  );
  return {
    node,
    update(row) {
      arm = row.arm;
      weights = row.weights;
      setText(name, arm.name);
      setAttr(name, "title", arm.name);
      show(safe, arm.safe);
      show(gone, !arm.offered);
      setAttr(node, "class", arm.offered ? null : "retired");
      setText(
        pulls,
        arm.missing ? `${count(arm.pulls)} (${count(arm.missing)} of ${count(arm.matured)} missing)` : count(arm.pulls),
      );
      setText(share, arm.probability === null || arm.probability === undefined ? "–" : percent(arm.probability));
      cells[0].update(arm.reward, row.scales[0]);
      guardrails.forEach((_, i) =>
        cells[i + 1].update(
          arm.guardrails && arm.guardrails[i],
          row.scales[i + 1],
          row.columns[i].threshold,
          row.columns[i].low,
        )
      );
      show(prices, may("admin") && Object.keys(weights).length > 0 && !row.final);
      show(press, may("admin") && arm.offered && !arm.safe && !row.final);
      show(changed, may("admin") && arm.pulls > 0 && !row.final);
      show(again, may("admin") && !arm.offered && !row.final);
    },
  };
}

const numbersIn = (text) =>
  text
    .split(/[\s,;]+/)
    .filter(Boolean)
    .map((t) => (Number.isFinite(Number(t)) ? Number(t) : t));

function addArm(context, experiment) {
  const name = h("input", { id: "arm-name", autocomplete: "off", "data-testid": "arm-name" });
  const features = h("input", { id: "arm-features", inputmode: "decimal", placeholder: "1, 0, 0.5" });
  const wants = experiment.arms.some((arm) => arm.features);
  const signals = [{ ...experiment.reward, name: "reward" }, ...experiment.guardrails].filter(isByArm);
  const ranges = signals.map((signal) =>
    h("input", {
      id: freshId("range"),
      inputmode: "decimal",
      placeholder: "0, 1",
      autocomplete: "off",
      "data-testid": `arm-range-${signal.name}`,
    })
  );
  const isTable = (x) => Boolean(x) && typeof x === "object" && !Array.isArray(x);
  const hasOwn = (g) => isTable(g.expression) && Object.values(g.expression).every(isTable);
  const byArm = experiment.guardrails.filter(hasOwn);
  const wanted = byArm.map((g) => {
    const signals = Object.keys(Object.values(g.expression)[0]);
    return [g.name, Object.fromEntries(signals.map((signal) => [signal, null]))];
  });
  const weights = weightInputs(Object.fromEntries(wanted));
  openDialog({
    title: "Add an arm",
    confirm: "Add arm",
    body: h(
      "div",
      { class: "stack" },
      h("label", { for: "arm-name" }, "Name"),
      name,
      wants ? [h("label", { for: "arm-features" }, "Features"), features] : null,
      signals.map((signal, i) => [h("label", { for: ranges[i].id }, `Range of ${signal.name}`), ranges[i]]),
      weights.nodes,
    ),
    submit: async () => {
      const arm = { name: name.value };
      if (wants && features.value.trim()) {
        arm.features = numbersIn(features.value);
      }
      if (signals.length) {
        arm.ranges = Object.fromEntries(signals.map((signal, i) => [signal.name, numbersIn(ranges[i].value)]));
      }
      if (wanted.length) arm.weights = weights.read();
      await api.addArm(context.name, arm);
      toast("The arm is added.");
      context.refresh();
    },
  });
}

export function armsPanel(context, experiment) {
  const guardrails = experiment.guardrails;
  const heads = [scaleHead("reward"), ...guardrails.map((g) => scaleHead(g.name, unitInWords(g)))];
  const body = h("tbody");
  const table = h(
    "table",
    { class: "arms", "data-testid": "arms-table" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, "arm"),
        h("th", { scope: "col", class: "number" }, "now"),
        h("th", { scope: "col", class: "number" }, "pulls"),
        heads.map((head) => h("th", { scope: "col" }, head.node)),
        h("th", null, h("span", { class: "sr" }, "actions")),
      ),
    ),
    body,
  );
  table.style.setProperty("--signals", String(heads.length));
  let all = false,
    last = null;
  const more = button(
    "",
    () => {
      all = !all;
      render();
    },
    { class: "more" },
  );
  const add = button("Add arm", () => attempt(async () => addArm(context, last.experiment)), {
    class: "small",
    "data-testid": "add-arm",
    hidden: true,
  });
  const legend = intervalLegend(guardrails.length > 0);
  const drifts = [{ ...experiment.reward, name: "reward" }, ...guardrails]
    .map((signal, place) => ({ signal, place, node: h("p", { class: "note", "data-testid": `drift-${signal.name}` }) }))
    .filter(({ signal }) => signal.drift);
  const contextual = h(
    "p",
    { class: "note" },
    "What an arm earns and costs depends on the context of each decision: its audit trail has the estimates.",
  );
  const node = panel(
    "Arms",
    { class: "arms-panel" },
    h("div", { class: "corner" }, add),
    contextual,
    h("div", { class: "table scrolls", tabindex: "0", role: "region", "aria-label": "Arms" }, table),
    more,
    legend,
    drifts.map(({ node }) => node),
  );

  function render() {
    const { experiment: now, state } = last;
    const known = state && state.arms.length ? state.arms : null;
    const arms = known ||
      now.arms.map((arm) => Object.assign({ pulls: null, probability: null, reward: null, guardrails: null }, arm));
    const shown = all || arms.length <= FEW ? arms : worthShowing(arms);
    const columns = columnsOf(guardrails, state && state.certificate);
    const scales = [
      scaleOf(shown.map((a) => a.reward)),
      ...guardrails.map((_, i) =>
        scaleOf(
          shown.map((a) => a.guardrails && a.guardrails[i]),
          columns[i].threshold,
        )
      ),
    ];
    heads.forEach((head, i) => head.update(scales[i], i ? columns[i - 1].threshold : undefined));
    const final = now.status === "archived";
    const weightsOf = new Map(now.arms.map((arm) => [arm.name, arm.weights]));
    syncList(
      body,
      shown.map((arm) => ({ arm, scales, columns, final, weights: weightsOf.get(arm.name) || {} })),
      (row) => row.arm.name,
      () => armRow(context, guardrails),
    );
    setAttr(table, "class", known ? "arms" : "arms plain");
    show(contextual, now.context !== null && now.context !== undefined);
    show(legend, Boolean(known));
    drifts.forEach(({ signal, place, node }) => setText(node, driftInWords(signal, place, arms)));
    show(more, arms.length > FEW);
    setText(more, all ? `Show the ${Math.min(FEW, arms.length)} that matter` : `Show all ${count(arms.length)}`);
    show(add, may("admin") && !final && !last.experiment.context);
  }

  return {
    node,
    update(now, state) {
      last = { experiment: now, state };
      render();
    },
  };
}
