// What changes an experiment: pause, resume, archive, edit, export.

import { append, button, freshId, h, show } from "./dom.js";
import { api, download, may } from "./api.js";
import { attempt, openDialog, toast } from "./dialog.js";
import { budgetsOf } from "./words.js";

// A number if it is one; else the text itself, so that the service says in its own words what is wrong.
export function numberOrText(text) {
  const trimmed = text.trim();
  if (trimmed === "") return undefined;
  return Number.isFinite(Number(trimmed)) ? Number(trimmed) : trimmed;
}

export const numbersOrText = (text) =>
  text
    .split(/[\s,;[\]]+/)
    .filter(Boolean)
    .map(numberOrText);

export function labelled(text, input, hint) {
  const id = input.id || freshId("field");
  input.id = id;
  return h(
    "div",
    { class: "field" },
    h("label", { for: id }, text),
    input,
    hint ? h("p", { class: "note" }, hint) : null,
  );
}

export function checkbox(text, checked, attributes) {
  const input = h("input", Object.assign({ type: "checkbox", checked }, attributes));
  return { input, node: h("label", { class: "check" }, input, h("span", null, text)) };
}

const plain = (value) => (value === null || value === undefined ? "" : String(value));

// Reward and one cost per guardrail; `read()` is undefined if nothing was filled in.
export function outcomeInputs(guardrails, outcome, testid) {
  const reward = h("input", {
    inputmode: "decimal",
    value: plain(outcome && outcome.reward),
    autocomplete: "off",
    "data-testid": testid ? `${testid}-reward` : null,
  });
  const costs = guardrails.map((g) =>
    h("input", {
      inputmode: "decimal",
      value: plain(outcome && (outcome.costs || {})[g.name]),
      autocomplete: "off",
      "data-testid": testid ? `${testid}-cost` : null,
    })
  );
  const node = h(
    "div",
    { class: "row-fields" },
    labelled("reward", reward),
    guardrails.map((g, i) => labelled(g.name, costs[i])),
  );
  return {
    node,
    inputs: [reward, ...costs],
    read() {
      const found = {},
        paid = {};
      const r = numberOrText(reward.value);
      if (r !== undefined) found.reward = r;
      guardrails.forEach((g, i) => {
        const c = numberOrText(costs[i].value);
        if (c !== undefined) paid[g.name] = c;
      });
      if (Object.keys(paid).length) found.costs = paid;
      return Object.keys(found).length ? found : undefined;
    },
  };
}

function edit(context, experiment) {
  const description = h("textarea", { rows: "2", value: experiment.description || "" });
  const shadow = checkbox("Shadow: decide and learn, but the caller does what it wants", experiment.shadow);
  const ttl = h("input", { inputmode: "decimal", value: plain(experiment.ttl_seconds), autocomplete: "off" });
  const outcome = outcomeInputs(experiment.guardrails, experiment.default_outcome);
  // Elsewhere learning again needs a share of δ that was kept for it.
  const relearns = experiment.agent.kind === "opb" || experiment.agent.on_breach === "relearn";
  const reactions = ["safe", "alert", ...(relearns ? ["relearn"] : [])];
  const reaction = h("select", null, reactions.map((one) => h("option", { value: one }, one)));
  reaction.value = experiment.on_breach;
  const amounts = budgetsOf(experiment.budgets).map(([name, b]) => {
    const input = h("input", { inputmode: "decimal", value: plain(b.amount), autocomplete: "off" });
    return { name, before: b, input, node: labelled(`Budget of ${name} per ${b.per}`, input) };
  });
  openDialog({
    title: "Edit",
    confirm: "Save",
    testid: "edit-dialog",
    body: h(
      "div",
      { class: "stack" },
      labelled("Description", description),
      shadow.node,
      labelled(
        "Time to live, in seconds",
        ttl,
        "Outcomes are learned when it is over, in the order of decisions; then the default outcome fills what is missing, or the decision counts as missing. Empty: outcomes are learned when they come.",
      ),
      h("fieldset", null, h("legend", null, "Default outcome"), outcome.node),
      amounts.map((one) => one.node),
      experiment.on_breach
        ? labelled(
          "Reaction to alarms",
          reaction,
          `safe: the safe action alone until somebody acknowledges; alert: nothing but the alarm${
            relearns ? "; relearn: what has changed is learned anew" : ""
          }. Holds for alarms from now on.`,
        )
        : null,
    ),
    submit: async () => {
      const change = {};
      if (description.value !== (experiment.description || "")) change.description = description.value;
      if (shadow.input.checked !== experiment.shadow) change.shadow = shadow.input.checked;
      const seconds = numberOrText(ttl.value) ?? null,
        wanted = outcome.read() ?? null;
      if (seconds !== (experiment.ttl_seconds ?? null)) change.ttl_seconds = seconds;
      if (wanted !== null && JSON.stringify(wanted) !== JSON.stringify(experiment.default_outcome ?? null)) {
        change.default_outcome = wanted;
      }
      const isOther = ({ before, input }) => numberOrText(input.value) !== before.amount;
      if (amounts.some(isOther)) {
        change.budgets = {};
        for (const { name, before: { per, when_exhausted, pacing }, input } of amounts) {
          const budget = { amount: numberOrText(input.value), per, when_exhausted, pacing };
          change.budgets[name] = name in change.budgets ? [change.budgets[name], budget].flat() : budget;
        }
      }
      if (experiment.on_breach && reaction.value !== experiment.on_breach) change.on_breach = reaction.value;
      if (Object.keys(change).length) await api.change(context.name, change);
      toast("Saved.");
      context.refresh();
    },
  });
}

function archive(context) {
  openDialog({
    title: "Archive this experiment?",
    confirm: "Archive",
    danger: true,
    body: h(
      "p",
      null,
      "Archiving is final: further decisions and outcomes are refused. Everything recorded can still be read and exported.",
    ),
    submit: async () => {
      await api.change(context.name, { status: "archived" });
      context.refresh();
    },
  });
}

export function actions(context) {
  let now = null;
  const set = (status) =>
    attempt(async () => {
      await api.change(context.name, { status });
      context.refresh();
    });
  const pause = button(
    "Pause",
    () =>
      openDialog({
        title: "Pause this experiment?",
        confirm: "Pause",
        submit: () => api.change(context.name, { status: "paused" }).then(context.refresh),
        body: h("p", null, "While it is paused every decision is the safe action. Outcomes are still taken."),
      }),
    { "data-testid": "pause", hidden: true },
  );
  const resume = button("Resume", () => set("running"), { class: "primary", "data-testid": "resume", hidden: true });
  const change = button("Edit", () => edit(context, now), { "data-testid": "edit", hidden: true });
  const end = button("Archive", () => archive(context), { class: "danger", "data-testid": "archive", hidden: true });
  const save = (format) =>
    button(format === "csv" ? "CSV" : "Parquet", () => attempt(() => download(context.name, format)), {
      "data-testid": `export-${format}`,
      title: `Export as ${format}`,
    });
  const node = h("div", { class: "buttons" });
  append(node, [
    h("span", { class: "group" }, h("span", { class: "note" }, "Export"), save("csv"), save("parquet")),
    pause,
    resume,
    change,
    end,
  ]);
  return {
    node,
    update(experiment) {
      now = experiment;
      const admin = may("admin"),
        open = experiment.status !== "archived";
      show(pause, admin && experiment.status === "running");
      show(resume, admin && experiment.status === "paused");
      show(change, admin && open);
      show(end, admin && open);
    },
  };
}

export function statusPills(experiment) {
  const pills = [h("span", { class: `pill ${experiment.status}` }, experiment.status)];
  if (experiment.shadow) {
    pills.push(
      h("span", { class: "pill shadow", title: "It decides and learns, but the caller does what it wants." }, "shadow"),
    );
  }
  return pills;
}
