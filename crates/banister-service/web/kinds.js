// Parts of the form: what is chosen among, in which segments, and the outcome that is assumed when none comes.

import { h, setText, show, syncList } from "./dom.js";
import { numberOrText } from "./manage.js";

const KINDS = [
  ["arms", "Named arms", "Choose among a few fixed things, such as pages or prices."],
  [
    "segments",
    "Arms by segment",
    "The same arms every time, and a policy of its own for each segment of users or requests.",
  ],
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

const listOf = (text, between) => text.split(between).map((part) => part.trim()).filter(Boolean);

// Segments by name, one per line; or the fields that they are made from, with those known.
export function segmentsEditor(book) {
  const by = h(
    "select",
    { "data-testid": "segments-by" },
    h("option", { value: "names" }, "names"),
    h("option", { value: "fields" }, "fields whose combinations make them"),
  );
  const lines = (testid, placeholder) =>
    h("textarea", { rows: "4", spellcheck: "false", "data-testid": testid, placeholder });
  const names = lines("segments-names", "de\nfr"),
    known = lines("segments-known", "de, mobile\nde, desktop"),
    fields = h("input", { autocomplete: "off", placeholder: "country, device", "data-testid": "segments-fields" });
  const others = "Others are told apart once they are seen.";
  const named = book.field(["segments"], "Known segments, one per line", names, others);
  const made = h(
    "div",
    null,
    book.field(["segments", "segments.fields"], "Fields", fields, "Every decision brings a value of each."),
    book.field(
      ["segments.known"],
      "Known segments, one per line: a value of every field, in their order",
      known,
      others,
    ),
  );
  const arrange = () => {
    show(named, by.value === "names");
    show(made, by.value === "fields");
  };
  by.addEventListener("change", arrange);
  arrange();
  const node = h(
    "fieldset",
    { "data-testid": "segments-editor" },
    h("legend", null, "Segments"),
    book.field(() => [], "Declared by", by),
    named,
    made,
  );
  return {
    node,
    read() {
      if (by.value === "names") return listOf(names.value, "\n");
      const own = listOf(fields.value, ",");
      // A value without a field, or a field without a value, is for the service to refuse.
      const row = (line) => {
        const values = line.split(",").map((value) => value.trim());
        return Object.fromEntries(values.map((value, i) => [own[i] ?? `field ${i + 1}`, value]));
      };
      return { fields: own, known: listOf(known.value, "\n").map(row) };
    },
  };
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
