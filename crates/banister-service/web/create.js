// A new experiment. The rules are the service's: the form asks it with dry runs and repeats its words.

import { h, panel, setAttr, setText, show } from "./dom.js";
import { api, hasToken, may } from "./api.js";
import { command, curl, toast } from "./dialog.js";
import { hrefOf } from "./decisions.js";
import { checkbox, numberOrText, numbersOrText } from "./manage.js";
import { agentEditor, fieldBook } from "./fields.js";
import { armsEditor, capField, guardrailsEditor, rangeField, rangeInputs } from "./editors.js";
import { defaultOutcome, kindPicker, segmentsEditor } from "./kinds.js";

function build(schema) {
  const book = fieldBook(),
    changed = () => soon(500);
  const name = h("input", {
      autocomplete: "off",
      "data-testid": "field-name",
      placeholder: "checkout",
      spellcheck: "false",
    }),
    description = h("input", { autocomplete: "off" });
  const confidence = h("input", {
    inputmode: "decimal",
    autocomplete: "off",
    placeholder: "0.99",
    "data-testid": "field-confidence",
  });
  const contextual = h("input", { inputmode: "numeric", autocomplete: "off", placeholder: "3" }),
    dimension = h("input", { inputmode: "numeric", autocomplete: "off", placeholder: "4" });
  const safeAction = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "1, 0, 0, 0" }),
    ttl = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "none" });
  const reward = rangeInputs("Reward"),
    wild = h("input", { inputmode: "decimal", autocomplete: "off", placeholder: "none" });
  const shadow = checkbox("Shadow: decide and learn beside the way you decide today, without acting", false);
  const arms = armsEditor(book, changed),
    segments = segmentsEditor(book),
    rails = guardrailsEditor(book, changed),
    agent = agentEditor(schema, (names, label, input, hint) => book.field(names, label, input, hint));
  const fallback = defaultOutcome(book, rails.names),
    kind = kindPicker(() => {
      arrange();
      changed();
    });
  const contextField = book.field(["context"], "Numbers in the context", contextual);
  const dimensionFields = h(
    "div",
    { class: "grid-fields" },
    book.field(["dimension", "arms"], "Features of each action", dimension),
    book.field(["safe_action", "safe"], "Features of the safe action", safeAction),
  );
  const verdictLine = h("p", { class: "check-line", role: "status", "aria-live": "polite" }),
    submit = h("button", { type: "submit", class: "primary", "data-testid": "submit-create" }, "Create experiment");

  const hasSegments = () => kind.read() === "segments" || (kind.read() === "arms" && agent.kind() === "segmented");

  function arrange() {
    const k = kind.read();
    show(segments.node, hasSegments());
    rails.inSegments(hasSegments());
    show(arms.node, k !== "dimension");
    show(contextField, k === "context");
    show(dimensionFields, k === "dimension");
    show(fallback.node, ttl.value.trim() !== "");
    fallback.update();
  }

  function declaration() {
    const k = kind.read(),
      d = { name: name.value };
    if (description.value) d.description = description.value;
    if (k === "dimension") {
      Object.assign(d, { dimension: numberOrText(dimension.value), safe_action: numbersOrText(safeAction.value) });
    } else Object.assign(d, arms.read());
    if (hasSegments()) d.segments = segments.read();
    if (k === "context") d.context = numberOrText(contextual.value);
    const range = reward.read(),
      cap = numberOrText(reward.cap.value),
      sub = numberOrText(wild.value);
    if (range || cap !== undefined || sub !== undefined) d.reward = { range, cap, sub_gaussian: sub };
    d.guardrails = rails.read();
    d.budgets = rails.budgets();
    d.confidence = numberOrText(confidence.value);
    d.agent = agent.read();
    if (shadow.input.checked) d.shadow = true;
    d.ttl_seconds = numberOrText(ttl.value);
    if (d.ttl_seconds !== undefined) d.default_outcome = fallback.read();
    return d;
  }

  let timer = null,
    running = null,
    sent = false;
  const shown = command("The same as a command");
  const sketch = () => shown.set(curl("/v1/experiments", declaration(), hasToken(), 2));
  const soon = (delay) => {
    clearTimeout(timer);
    timer = setTimeout(check, delay);
  };

  async function check() {
    if (running) running.abort();
    const mine = (running = new AbortController());
    try {
      await api.create(declaration(), true, mine.signal);
      book.clear();
      setText(verdictLine, "✓ The service would accept this.");
      setAttr(verdictLine, "class", "check-line good");
    } catch (error) {
      if (error.name === "AbortError" || !error.status || error.status >= 500 || error.status === 401) return;
      book.clear();
      setText(verdictLine, "");
      book.problem(error, sent);
    }
  }

  const form = h(
    "form",
    { "data-testid": "create-form", novalidate: true, class: "create" },
    book.top,
    panel(
      "Experiment",
      null,
      h(
        "div",
        { class: "grid-fields" },
        book.field(["name"], "Name", name),
        book.field(["description"], "Description (optional)", description),
      ),
    ),
    panel("Actions", null, kind.node, contextField, dimensionFields, arms.node, segments.node),
    panel(
      "Reward and guardrails",
      null,
      rails.node,
      h(
        "details",
        null,
        h("summary", null, "Reward’s range"),
        h(
          "div",
          { class: "grid-fields" },
          rangeField(book, ["reward.range", "reward"], reward),
          capField(book, ["reward.cap"], reward),
          book.field(
            ["reward.sub_gaussian"],
            "Sub-Gaussian constant",
            wild,
            "Only if single rewards may leave the range.",
          ),
        ),
      ),
      book.field(
        ["confidence", "agent.delta"],
        "Confidence",
        confidence,
        "The probability with which every guardrail is kept by every policy, for as long as it runs.",
      ),
    ),
    panel(
      "More",
      null,
      shadow.node,
      book.field(
        ["ttl_seconds"],
        "Time to live, in seconds",
        ttl,
        "After this time without an outcome a default is taken. Empty: outcomes may come at any time.",
      ),
      fallback.node,
      h(
        "details",
        { "data-testid": "advanced" },
        h("summary", null, "Advanced: the agent and its parameters"),
        agent.node,
      ),
    ),
    h("div", { class: "submit-line" }, verdictLine, h("a", { class: "button", href: "#/" }, "Cancel"), submit),
  );
  form.addEventListener("input", () => {
    arrange();
    changed();
  });
  form.addEventListener("change", changed);
  form.addEventListener("click", () => setTimeout(sketch));
  form.addEventListener("input", sketch);
  form.addEventListener("focusout", (event) => {
    if (event.target.matches("input, select, textarea")) soon(60);
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    clearTimeout(timer);
    if (running) running.abort();
    sent = true;
    submit.disabled = true;
    try {
      const made = await api.create(declaration(), false);
      toast("The experiment is running.");
      location.hash = hrefOf(made.name);
    } catch (error) {
      book.clear();
      setText(verdictLine, "");
      book.reveal(book.problem(error, true));
    }
    submit.disabled = false;
  });
  arrange();
  sketch();
  return {
    form: h("div", { class: "creating" }, form, h("aside", null, shown.node)),
    stop: () => {
      clearTimeout(timer);
      if (running) running.abort();
    },
  };
}

export function createPage() {
  const place = h("div", null, h("p", { class: "empty" }, "Loading…")),
    refused = h("p", { class: "empty", hidden: true }, "Creating an experiment needs the role “admin”.");
  const node = h(
    "div",
    null,
    h(
      "nav",
      { "aria-label": "Breadcrumb", class: "crumbs" },
      h("a", { href: "#/" }, "Experiments"),
      " / ",
      h("span", null, "new"),
    ),
    h("h1", { tabindex: "-1" }, "New experiment"),
    refused,
    place,
  );
  const abort = new AbortController();
  let made = null,
    timer = null;
  // The form is built once, when the parameters are known; what was typed is never thrown away.
  async function begin() {
    clearTimeout(timer);
    show(refused, !may("admin"));
    show(place, may("admin"));
    if (made || !may("admin")) return;
    try {
      const schema = await api.agents(abort.signal);
      if (made) return;
      made = build(schema);
      place.replaceChildren(made.form);
    } catch (error) {
      if (error.name !== "AbortError") timer = setTimeout(begin, 2000);
    }
  }
  begin();
  return {
    node,
    title: "New experiment",
    role: begin,
    destroy: () => {
      abort.abort();
      clearTimeout(timer);
      if (made) made.stop();
    },
  };
}
