// Fields that know by which names the service calls them, so that its words appear beside them; and a form of them from
// the JSON Schema of the registry of agents, so that a new parameter needs no new page.

import { append, freshId, h, setAttr, setText, show } from "./dom.js";
import { num } from "./format.js";
import { numberOrText } from "./manage.js";

// "guardrails[0].range[1]" is shown at "guardrails[0].range" if nothing closer exists.
function within(path, field) {
  if (path === field) return true;
  return field.startsWith(path) && (field[path.length] === "." || field[path.length] === "[");
}

export function fieldBook() {
  const fields = new Set();
  const top = h("p", { class: "problem top", role: "alert", hidden: true });

  function mark(field, message) {
    setText(field.problem, message || "");
    show(field.problem, Boolean(message));
    for (const input of field.inputs) {
      setAttr(input, "aria-invalid", message ? "true" : null);
      setAttr(input, "aria-describedby", message ? field.problem.id : null);
    }
  }

  // `names` may be a function: rows change their index when another is removed.
  function add(names, node, inputs, problem) {
    const field = { names: typeof names === "function" ? names : () => names, node, inputs, problem, touched: false };
    problem.id = freshId("problem");
    for (const input of inputs) {
      input.addEventListener("blur", () => {
        field.touched = field.touched || input.value !== "" || input.type === "radio";
      });
      input.addEventListener("change", () => {
        field.touched = true;
      });
    }
    fields.add(field);
    return field;
  }

  function find(name) {
    let best = null,
      length = -1;
    for (const field of fields) {
      if (!field.node.isConnected) {
        fields.delete(field);
        continue;
      }
      if (field.node.closest("[hidden]")) continue;
      for (const path of field.names()) {
        if (within(path, name) && path.length > length) {
          best = field;
          length = path.length;
        }
      }
    }
    return best;
  }

  return {
    top,
    // One input with its label, hint and place for a problem.
    field(names, label, input, hint, attributes) {
      input.id = input.id || freshId("field");
      const problem = h("p", { class: "problem", hidden: true, "aria-live": "polite" });
      const node = h(
        "div",
        Object.assign({ class: "field" }, attributes),
        h("label", { for: input.id }, label),
        input,
        problem,
        hint ? h("p", { class: "note" }, hint) : null,
      );
      add(names, node, [input], problem);
      return node;
    },
    // A group that has no input of its own, such as the list of arms.
    group(names, node, inputs = []) {
      const problem = h("p", { class: "problem", hidden: true, "aria-live": "polite" });
      add(names, node, inputs, problem).touched = true;
      return problem;
    },
    clear() {
      fields.forEach((field) => mark(field, null));
      show(top, false);
    },
    // Where nobody has been yet there is nothing to complain about, unless the form was sent.
    problem(error, sent) {
      const field = error.field ? find(error.field) : null;
      if (field) {
        if (!field.touched && !sent) return null;
        mark(field, error.message);
        return field;
      }
      setText(top, error.inWords());
      show(top, true);
      return null;
    },
    reveal(field) {
      const fold = field && field.node.closest("details");
      if (fold) fold.open = true;
      const target = field ? field.inputs[0] || field.node : top;
      target.scrollIntoView({ block: "center" });
      if (target.focus) target.focus({ preventScroll: true });
    },
  };
}

// `$ref` and "or null" resolved: what is left says what kind of value it is.
function resolve(schema, entry) {
  let found = entry;
  for (let depth = 0; depth < 8; depth++) {
    const options = found.anyOf && found.anyOf.filter((o) => o.type !== "null");
    if (found.$ref && found.$ref.startsWith("#/$defs/")) {
      found = Object.assign({}, (schema.$defs || {})[found.$ref.slice(8)], strip(found, "$ref"));
    } else if (options && options.length === 1) found = Object.assign({}, options[0], strip(found, "anyOf"));
    else break;
  }
  const types = [].concat(found.type || []).filter((t) => t !== "null");
  return Object.assign({}, found, { type: types[0] });
}

function strip(entry, key) {
  const { [key]: _gone, ...rest } = entry;
  return rest;
}

// Allowed values with what each means, from `enum` or from `oneOf` of constants.
function choicesOf(entry) {
  if (entry.type === "boolean") {
    return [
      { value: "true", text: "yes" },
      { value: "false", text: "no" },
    ];
  }
  if (entry.enum) return entry.enum.filter((v) => v !== null).map((v) => ({ value: String(v), text: String(v) }));
  if (!entry.oneOf) return null;
  const flat = entry.oneOf.flatMap((o) =>
    o.const !== undefined
      ? [{ value: String(o.const), text: o.description ? `${o.const}: ${o.description}` : String(o.const) }]
      : (o.enum || []).map((v) => ({ value: String(v), text: String(v) }))
  );
  return flat.length ? flat : null;
}

// Descriptions are written for a terminal: what stands in `backticks` is code.
function described(text) {
  return (text || "").split("`").map((part, i) => (i % 2 ? h("code", null, part) : part));
}

function parameter(schema, name, entry, addField) {
  const known = resolve(schema, entry),
    choices = choicesOf(known);
  const usual = known.default === undefined || known.default === null
    ? "chosen by the service"
    : String(typeof known.default === "number" ? num(known.default) : known.default);
  const input = choices
    ? h(
      "select",
      null,
      h("option", { value: "" }, `default: ${usual}`),
      choices.map((c) => h("option", { value: c.value }, c.text)),
    )
    : h("input", { autocomplete: "off", inputmode: MODES[known.type], placeholder: usual });
  const read = () => {
    if (input.value.trim() === "") return undefined;
    if (known.type === "boolean") return input.value === "true";
    return known.type === "string" || choices ? input.value : numberOrText(input.value);
  };
  return { name, node: addField([`agent.${name}`], name, input, described(known.description)), read };
}

const MODES = { integer: "numeric", number: "decimal" };

// The confidence of the experiment is the agent's `delta`, said the other way round; labels are for results.
const LEFT_OUT = new Set(["kind", "delta", "label"]);

export function agentEditor(schema, addField) {
  const kinds = (schema.oneOf || [])
    .map((v) => ({
      kind: ((v.properties || {}).kind || {}).const,
      description: v.description || "",
      properties: v.properties || {},
    }))
    .filter((v) => v.kind);
  const select = h(
    "select",
    { "data-testid": "agent-kind" },
    h("option", { value: "" }, "chosen by the service"),
    kinds.map((k) => h("option", { value: k.kind }, k.kind)),
  );
  const groups = kinds.map((k) => {
    const parameters = Object.entries(k.properties)
      .filter(([name]) => !LEFT_OUT.has(name))
      .map(([name, entry]) => parameter(schema, name, entry, addField));
    return {
      kind: k.kind,
      parameters,
      node: h(
        "div",
        { hidden: true },
        h("p", { class: "note" }, described(k.description)),
        h(
          "div",
          { class: "grid-fields" },
          parameters.map((p) => p.node),
        ),
      ),
    };
  });
  const node = h("div", { class: "stack" });
  append(node, [
    addField(
      ["agent", "agent.kind"],
      "Agent",
      select,
      "How it learns. Left to the service: opb for arms, segmented with segments, oplb with features, context or candidates.",
    ),
    groups.map((g) => g.node),
  ]);
  select.addEventListener("change", () => groups.forEach((g) => show(g.node, g.kind === select.value)));
  return {
    node,
    kind: () => select.value,
    read() {
      const group = groups.find((g) => g.kind === select.value);
      if (!group) return undefined;
      const agent = { kind: group.kind };
      for (const p of group.parameters) {
        const value = p.read();
        if (value !== undefined) agent[p.name] = value;
      }
      return agent;
    },
  };
}
