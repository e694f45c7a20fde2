// The two lists of the form: arms, and guardrails.

import { button, freshId, h, show } from "./dom.js";
import { DIRECTIONS } from "./direction.js";
import { checkbox, numberOrText, numbersOrText } from "./manage.js";

const rangeOf = (low, high) => {
  const [a, b] = [numberOrText(low.value), numberOrText(high.value)];
  return a === undefined && b === undefined ? undefined : [a ?? null, b ?? null];
};

// "cheap: 0, 0.1" on every line: a range for each arm.
const rangesByArm = (text) => {
  const lines = text.split("\n").filter((line) => line.trim());
  const entry = (line) => {
    const at = line.lastIndexOf(":");
    return at < 0 ? [line.trim(), []] : [line.slice(0, at).trim(), numbersOrText(line.slice(at + 1))];
  };
  return lines.length ? Object.fromEntries(lines.map(entry)) : undefined;
};

// Two numbers side by side, for a range; or a line for every arm.
export function rangeInputs(what) {
  const low = h("input", {
    inputmode: "decimal",
    placeholder: "0",
    autocomplete: "off",
    "aria-label": `${what}: lowest value`,
  });
  const high = h("input", {
    inputmode: "decimal",
    placeholder: "1",
    autocomplete: "off",
    "aria-label": `${what}: highest value`,
  });
  const byArm = h("textarea", {
    rows: "2",
    placeholder: "or by arm, one per line: cheap: 0, 0.1",
    autocomplete: "off",
    "aria-label": `${what}: ranges by arm`,
  });
  const cap = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "none" });
  return {
    inputs: [low, high, byArm],
    cap,
    node: h("div", null, h("div", { class: "range" }, low, h("span", null, "to"), high), byArm),
    read: () => rangesByArm(byArm.value) || rangeOf(low, high),
  };
}

export const capField = (book, names, range) =>
  book.field(names, "Cap", range.cap, "Values above count as this: the capped mean is what is learned and kept.");

export function rangeField(book, names, range) {
  const node = h("div", { class: "field" });
  const problem = book.group(names, node, range.inputs);
  node.append(h("span", { class: "label" }, "Range"), range.node, problem);
  return node;
}

export function armsEditor(book, changed) {
  const rows = [],
    list = h("div", { class: "rows" }),
    group = freshId("safe");
  const featured = checkbox("Arms have features (for linear agents)", false);
  featured.input.addEventListener("change", () => {
    rows.forEach((row) => show(row.features, featured.input.checked));
  });

  function add(text, focus) {
    const name = h("input", {
      autocomplete: "off",
      "aria-label": "Arm’s name",
      placeholder: "name",
      value: text || "",
      maxlength: "1000",
    });
    const safe = h("input", { type: "radio", name: group, checked: rows.length === 0 });
    const features = h("input", {
      autocomplete: "off",
      class: "features",
      "aria-label": "Arm’s features",
      placeholder: "features: 1, 0, 0.5",
      hidden: !featured.input.checked,
    });
    const row = { name, safe, features };
    const remove = button(
      "✕",
      () => {
        rows.splice(rows.indexOf(row), 1);
        row.node.remove();
        if (safe.checked && rows.length) rows[0].safe.checked = true;
        changed();
      },
      { class: "icon", "aria-label": "Remove this arm", title: "Remove" },
    );
    row.node = h("div", { class: "row", "data-testid": "arms-row" });
    const index = () => rows.indexOf(row);
    const problem = book.group(() => [`arms[${index()}]`, `arms[${index()}].name`], row.node, [name]);
    row.node.append(
      h(
        "div",
        { class: "row-line" },
        name,
        features,
        h("label", { class: "check" }, safe, h("span", null, "safe")),
        remove,
      ),
      problem,
    );
    rows.push(row);
    list.append(row.node);
    if (focus) name.focus();
  }

  const node = h("fieldset", { "data-testid": "arms-editor" });
  const problem = book.group(["arms", "safe"], node);
  node.append(
    h("legend", null, "Arms"),
    h(
      "p",
      { class: "note" },
      "What can be done. The safe one is what you do today: it is known to keep the guardrails, and is played whenever nothing better is proven.",
    ),
    list,
    problem,
    h(
      "div",
      { class: "buttons" },
      button(
        "Add arm",
        () => {
          add("", true);
          changed();
        },
        { class: "small", "data-testid": "add-arms-row" },
      ),
    ),
    featured.node,
  );
  add("control");
  add("");
  return {
    node,
    read() {
      const chosen = rows.find((row) => row.safe.checked);
      const arms = rows.map((row) =>
        featured.input.checked ? { name: row.name.value, features: numbersOrText(row.features.value) } : row.name.value
      );
      return { arms, safe: chosen ? chosen.name.value : "" };
    },
  };
}

// A budget over time; `read()` is undefined without an amount.
function budgetInputs(book, names) {
  const amount = h("input", {
    inputmode: "decimal",
    autocomplete: "off",
    placeholder: "none",
    "data-testid": "budget-amount",
  });
  const per = h("select", null, ["hour", "day", "week", "month"].map((name) => h("option", { value: name }, name)));
  const then = h(
    "select",
    null,
    h("option", { value: "safe" }, "the safe action is played"),
    h("option", { value: "refuse" }, "decisions are refused"),
  );
  per.value = "day";
  const pacing = checkbox("spread it over the period", true);
  const node = h(
    "details",
    null,
    h("summary", null, "Budget"),
    h(
      "div",
      { class: "grid-fields" },
      book.field(names, "Most in all", amount, "The sum of true costs. The range must hold them all."),
      book.field(() => [], "Per", per),
      book.field(() => [], "Then", then),
    ),
    pacing.node,
  );
  const read = () => {
    const most = numberOrText(amount.value);
    if (most === undefined) return undefined;
    return { amount: most, per: per.value, when_exhausted: then.value, pacing: pacing.input.checked };
  };
  return { node, read };
}

export function guardrailsEditor(book, changed) {
  const rows = [],
    list = h("div", { class: "rows" });
  let inSegments = false;

  function add(preset, focus) {
    const row = {};
    const path = (key) => () => [`guardrails[${rows.indexOf(row)}].${key}`];
    const name = h("input", {
      autocomplete: "off",
      placeholder: "complaints",
      value: preset.name || "",
      "data-testid": "guardrail-name",
    });
    const side = h(
      "select",
      null,
      Object.entries(DIRECTIONS).map(([key, { words }]) => h("option", { value: key }, words)),
    );
    const value = h("input", {
      inputmode: "decimal",
      autocomplete: "off",
      placeholder: "0.1",
      "data-testid": "guardrail-value",
    });
    const relative = checkbox("relative: times the safe arm’s own mean", false);
    const known = checkbox("the safe arm’s cost is known", false, { "data-testid": "guardrail-known" });
    const cost = h("input", {
      inputmode: "decimal",
      autocomplete: "off",
      placeholder: "0.02",
      "data-testid": "guardrail-safe-cost",
    });
    const range = rangeInputs("Guardrail"),
      wild = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "none" });
    const scope = h(
      "select",
      { "data-testid": "guardrail-scope" },
      h("option", { value: "overall" }, "over all segments together"),
      h("option", { value: "each" }, "in each segment"),
    );
    row.scope = book.field(path("scope"), "Kept", scope, null, { hidden: !inSegments });
    row.budget = budgetInputs(book, () => [`budgets.${name.value}`]);
    const costField = book.field(path("safe_cost"), "Safe arm’s cost", cost, null, { hidden: true });
    known.input.addEventListener("change", () => show(costField, known.input.checked));
    row.node = h("div", { class: "row card", "data-testid": "guardrails-row" });
    const problem = book.group(() => [`guardrails[${rows.indexOf(row)}]`], row.node);
    const remove = button(
      "✕",
      () => {
        rows.splice(rows.indexOf(row), 1);
        row.node.remove();
        changed();
      },
      { class: "icon", "aria-label": "Remove this guardrail", title: "Remove" },
    );
    row.read = () => {
      const found = { name: name.value, [side.value]: numberOrText(value.value) };
      if (inSegments && scope.value !== "overall") found.scope = scope.value;
      if (relative.input.checked) found.relative = true;
      if (known.input.checked) found.safe_cost = numberOrText(cost.value);
      found.range = range.read();
      found.cap = numberOrText(range.cap.value);
      found.sub_gaussian = numberOrText(wild.value);
      return found;
    };
    row.node.append(
      h(
        "div",
        { class: "guardrail-line" },
        book.field(path("name"), "Name", name),
        book.field(() => [], "Must be", side),
        book.field(() => Object.keys(DIRECTIONS).flatMap((key) => path(key)()), "Value", value),
        remove,
      ),
      row.scope,
      h("div", { class: "checks" }, relative.node, known.node),
      costField,
      h(
        "details",
        null,
        h("summary", null, "Range"),
        h(
          "div",
          { class: "grid-fields" },
          rangeField(book, path("range"), range),
          capField(book, path("cap"), range),
          book.field(
            path("sub_gaussian"),
            "Sub-Gaussian constant",
            wild,
            "Only if single observations may leave the range.",
          ),
        ),
      ),
      row.budget.node,
      problem,
    );
    rows.push(row);
    list.append(row.node);
    if (focus) name.focus();
  }

  const node = h("fieldset", { "data-testid": "guardrails-editor" });
  const problem = book.group(["guardrails"], node);
  node.append(
    h("legend", null, "Guardrails"),
    h(
      "p",
      { class: "note" },
      "What must not get worse. Every policy that is deployed keeps the average of each on its side of the value.",
    ),
    list,
    problem,
    h(
      "div",
      { class: "buttons" },
      button(
        "Add guardrail",
        () => {
          add({}, true);
          changed();
        },
        { class: "small", "data-testid": "add-guardrail" },
      ),
    ),
  );
  add({});
  return {
    node,
    read: () => rows.map((row) => row.read()),
    names: () => rows.map((row) => row.read().name),
    // Only decisions with segments have a scope to choose.
    inSegments(has) {
      inSegments = has;
      rows.forEach((row) => show(row.scope, has));
    },
    budgets() {
      const given = rows.filter((row) => row.budget.read());
      return given.length ? Object.fromEntries(given.map((row) => [row.read().name, row.budget.read()])) : undefined;
    },
  };
}
