// Try it: one decision and its outcome, from the page, with the same requests as commands.

import { button, foldingPanel, h, setText, show } from "./dom.js";
import { num, percent } from "./format.js";
import { broughtOf, hullOf, reasonInWords } from "./words.js";
import { api, hasToken, may, pathOf } from "./api.js";
import { command, curl } from "./dialog.js";
import { hrefOf } from "./decisions.js";
import { checkbox, labelled, numberOrText, numbersOrText, outcomeInputs } from "./manage.js";
import { exampleSegment, fieldsOf, rowInputs } from "./declared.js";

const random = () => Math.round(Math.random() * 100) / 100;
const randomVector = (length) => Array.from({ length }, random);

function requestInputs(experiment, changed) {
  const parts = [],
    { unit } = experiment,
    id = h("input", { autocomplete: "off", placeholder: unit ? `such as ${unit.name}-17` : "made by the service" });
  let context = null,
    row = null,
    actions = null,
    taken = null,
    propensity = null;
  if (fieldsOf(experiment.context)) {
    row = rowInputs(experiment.context);
    parts.push(...row.nodes);
  } else if (experiment.context) {
    context = h("input", {
      autocomplete: "off",
      inputmode: "decimal",
      value: randomVector(experiment.context).join(", "),
    });
    parts.push(labelled(`context (${experiment.context} numbers)`, context));
  }
  const fields = experiment.segments ? experiment.segments.fields || [null] : [];
  const example = experiment.segments && exampleSegment(experiment.segments);
  const segment = fields.map((field) => h("input", { autocomplete: "off", value: field ? example[field] : example }));
  fields.forEach((field, i) => parts.push(labelled(field === null ? "segment" : `segment: ${field}`, segment[i])));
  if (experiment.dimension) {
    actions = h("textarea", {
      rows: "4",
      spellcheck: "false",
      value: Array.from({ length: 3 }, () => randomVector(experiment.dimension).join(", ")).join("\n"),
    });
    parts.push(labelled(`candidate actions (one per line, ${experiment.dimension} numbers each)`, actions));
  }
  if (experiment.shadow) {
    const safe = experiment.safe || "safe";
    taken = experiment.arms.length
      ? h(
        "select",
        null,
        experiment.arms
          .filter((a) => a.offered)
          .map((a) => h("option", { value: a.name, selected: a.name === safe }, a.name)),
      )
      : h("input", { value: safe });
    propensity = h("input", { inputmode: "decimal", value: "1", autocomplete: "off" });
    parts.push(labelled("taken: what you do", taken), labelled("propensity: its probability", propensity));
  }
  parts.push(labelled(unit ? `unit: the ${unit.name}` : "id (optional)", id));
  const node = h("div", { class: "row-fields" }, parts);
  node.addEventListener("input", changed);
  return {
    node,
    id,
    read() {
      const body = {};
      if (id.value) body[unit ? "unit" : "id"] = id.value;
      if (segment.length) {
        body.segment = fields[0] === null
          ? segment[0].value
          : Object.fromEntries(fields.map((field, i) => [field, segment[i].value]));
      }
      if (row) body.context = row.read();
      if (context) body.context = numbersOrText(context.value);
      if (actions) {
        body.actions = actions.value
          .split("\n")
          .filter((line) => line.trim())
          .map(numbersOrText);
      }
      if (taken) body.taken = taken.value;
      const p = propensity ? numberOrText(propensity.value) : undefined;
      if (p !== undefined) body.propensity = p;
      return body;
    },
  };
}

export function tryPanel(context, experiment) {
  const asked = command("The same request as a command"),
    told = command("The same report as a command");
  const answer = h("div", { class: "answer", "aria-live": "polite", hidden: true }),
    problem = h("p", { class: "problem", role: "alert", hidden: true });
  const result = h("p", { class: "answer-line", "aria-live": "polite", hidden: true }),
    refused = h("p", { class: "problem", role: "alert", hidden: true });
  const inputs = requestInputs(experiment, () => sketch()),
    brought = broughtOf(experiment),
    outcome = outcomeInputs(brought, null, "try");
  const partial = checkbox("only the reward now, the costs later", false);
  let decision = null;

  const decide = button(
    "Ask for a decision",
    async () => {
      show(problem, false);
      decide.disabled = true;
      try {
        decision = await api.decide(context.name, inputs.read());
        answer.replaceChildren(...sentence());
        show(answer, true);
        show(reporting, true);
        show(result, false);
        show(refused, false);
        suggest();
        if (!experiment.unit) inputs.id.value = "";
        context.refresh();
      } catch (error) {
        setText(problem, error.inWords());
        show(problem, true);
      }
      decide.disabled = false;
      sketch();
    },
    { class: "primary", "data-testid": "try-decide" },
  );

  const report = button(
    "Report its outcome",
    async () => {
      show(refused, false);
      report.disabled = true;
      try {
        const said = await api.report(context.name, body());
        setText(
          result,
          said.status === "complete"
            ? "Complete: the outcome was taken and learned from."
            : "Partial: the rest is awaited.",
        );
        show(result, true);
        context.refresh();
      } catch (error) {
        setText(refused, error.inWords());
        show(refused, true);
      }
      report.disabled = false;
    },
    { class: "primary", "data-testid": "try-report" },
  );

  // Something plausible to report, so that a demonstration needs only two clicks.
  function suggest() {
    const between = ([low, high]) =>
      low === 0 && high === 1
        ? Math.round(Math.random())
        : parseFloat((low + Math.random() * ((Number.isFinite(high) ? high : low + 1) - low)).toPrecision(3));
    const drawn = experiment.arms.find((arm) => decision && arm.name === decision.action);
    const own = (name, signal) => (drawn && drawn.ranges && drawn.ranges[name]) || hullOf(signal);
    const ranges = [own("reward", experiment.reward), ...brought.map((g) => own(g.name, g))];
    outcome.inputs.forEach((input, i) => {
      input.value = String(between(ranges[i]));
    });
  }

  function body() {
    const read = outcome.read() || {};
    if (partial.input.checked) delete read.costs;
    const said = Object.assign({ decision: decision ? decision.id : "ID" }, read);
    if (experiment.unit) said.report = `page-${Date.now()}`;
    const taken = inputs.read().taken;
    if (experiment.shadow && taken !== undefined) said.taken = taken;
    return said;
  }

  function sentence() {
    const c = decision.certificate;
    const safe = decision.safe ? [" ", h("span", { class: "tag" }, "safe")] : null;
    return [
      h(
        "p",
        { class: "answer-line" },
        decision.shadow ? "It would play " : "Play ",
        h("b", { class: "break" }, decision.action),
        safe,
        `, chosen with probability ${percent(decision.probability)}. `,
        h("a", { href: hrefOf(context.name, decision.id) }, "Why is this safe?"),
      ),
      c && c.fallback ? h("p", { class: "note" }, reasonInWords(c.fallback)) : h(
        "p",
        { class: "note" },
        `Policy: ${
          decision.policy
            .slice(0, 6)
            .map((p) => `${p.action} ${percent(p.probability)}`)
            .join(", ")
        }; optimistic reward ${num(c && c.optimistic_reward)}.`,
      ),
    ];
  }

  function sketch() {
    asked.set(curl(pathOf(context.name, "/decisions"), inputs.read(), hasToken()));
    told.set(curl(pathOf(context.name, "/outcomes"), body(), hasToken()));
  }

  const reporting = h(
    "div",
    { class: "stack", hidden: true },
    h("h3", null, "What happened?"),
    outcome.node,
    partial.node,
    h("div", { class: "buttons" }, report),
    refused,
    result,
    told.node,
  );
  reporting.addEventListener("input", sketch);
  const closed = h("p", { class: "note" });
  const form = h(
    "div",
    { class: "stack" },
    inputs.node,
    h("div", { class: "buttons" }, decide),
    problem,
    answer,
    asked.node,
    reporting,
  );
  const node = foldingPanel("Try it", { class: "try" }, closed, form);
  sketch();
  return {
    node,
    update(now) {
      const archived = now.status === "archived",
        allowed = may("decide") && may("report");
      show(form, !archived && allowed);
      show(closed, archived || !allowed);
      setText(
        closed,
        archived
          ? "This experiment is archived: it takes no more decisions."
          : "Asking for decisions needs the role “decide”.",
      );
      sketch();
    },
  };
}
