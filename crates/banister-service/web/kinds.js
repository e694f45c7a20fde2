// Parts of the form: what is chosen among, and the outcome that is assumed when none comes.

import { h, setText, syncList } from "./dom.js";
import { numberOrText } from "./manage.js";

const KINDS = [
  ["arms", "Named arms", "Choose among a few fixed things, such as pages or prices."],
  ["context", "Arms with a context", "The same arms every time, and numbers that describe each case."],
  ["dimension", "Candidate actions per decision", "Every decision brings its own candidates, described by numbers."],
];

export function kindPicker(changed) {
  const inputs = KINDS.map(([value], i) =>
    h("input", { type: "radio", name: "kind", value, checked: i === 0, "data-testid": `kind-${value}` })
  );
  const node = h(
    "fieldset",
    null,
    h("legend", null, "What does it choose among?"),
    h(
      "div",
      { class: "kinds" },
      KINDS.map(([, title, text], i) =>
        h(
          "label",
          { class: "kind" },
          inputs[i],
          h("span", null, h("b", null, title), h("span", { class: "note" }, text)),
        )
      ),
    ),
  );
  node.addEventListener("change", changed);
  return { node, read: () => inputs.find((input) => input.checked).value };
}

// One cost input per guardrail declared so far; what was typed stays while names change.
export function defaultOutcome(book, names) {
  const reward = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "0" }),
    costs = h("div", { class: "grid-fields" }),
    values = new Map();
  const node = h("div", { class: "stack" });
  const problem = book.group(["default_outcome"], node);
  node.append(
    h("p", { class: "note" }, "Default outcome: what is assumed when the time is over."),
    h("div", { class: "grid-fields" }, book.field(["default_outcome.reward"], "reward", reward)),
    costs,
    problem,
  );
  const make = ({ i }) => {
    const input = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "0" }),
      field = book.field(() => [`default_outcome.costs.${names()[i]}`], "", input);
    values.set(i, input);
    return { node: field, update: ({ name }) => setText(field.firstChild, name || "…") };
  };
  return {
    node,
    update: () =>
      syncList(
        costs,
        names().map((name, i) => ({ name, i })),
        (x) => x.i,
        make,
      ),
    read() {
      const found = {},
        paid = {},
        r = numberOrText(reward.value);
      names().forEach((name, i) => {
        const v = values.get(i) && numberOrText(values.get(i).value);
        if (v !== undefined) paid[name] = v;
      });
      if (r !== undefined) found.reward = r;
      if (Object.keys(paid).length) found.costs = paid;
      return Object.keys(found).length ? found : undefined;
    },
  };
}
