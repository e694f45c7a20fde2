// Fields that know by which names the service calls them, so that its words appear beside them.

import { freshId, h, setAttr, setText, show } from "./dom.js";

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
