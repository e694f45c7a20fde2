// Learning from another log: a CSV file of outcomes.

import { foldingPanel, h, setText, show } from "./dom.js";
import { count } from "./format.js";
import { api, may } from "./api.js";
import { fieldsOf } from "./declared.js";
import { broughtOf } from "./words.js";

// The columns that the service looks for.
function columnsIn(experiment) {
  const numbered = (stem, length) => (length > 1 ? [`${stem}_0`, "…", `${stem}_${length - 1}`] : [`${stem}_0`]);
  const names = experiment.dimension ? numbered("feature", experiment.dimension) : ["action"];
  const fields = fieldsOf(experiment.context);
  if (fields) names.push(...Object.keys(fields).map((name) => `context_${name}`));
  else if (experiment.context) names.push(...numbered("context", experiment.context));
  if (experiment.segments) names.push("segment");
  return [...names, "reward", ...broughtOf(experiment).map(({ name }) => name)];
}

export function learnPanel(context, experiment) {
  const file = h("input", {
    type: "file",
    accept: ".csv,text/csv",
    "aria-label": "File",
    "data-testid": "learn-file",
  });
  const send = h("button", { type: "submit", "data-testid": "learn-send", disabled: true }, "Learn from it");
  const said = h("p", { class: "good", role: "status", "data-testid": "learn-said", hidden: true }),
    problem = h("p", { class: "problem", role: "alert", "data-testid": "learn-problem", hidden: true });
  const form = h("form", { class: "stack" }, file, h("div", { class: "buttons" }, send), said, problem);
  const clear = () => [said, problem].forEach((line) => show(line, false));
  file.addEventListener("change", () => {
    send.disabled = !file.files.length;
    clear();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const chosen = file.files[0];
    if (!chosen) return;
    clear();
    send.disabled = true;
    setText(send, "Learning…");
    try {
      const { outcomes } = await api.learn(context.name, chosen);
      setText(said, `✓ ${count(outcomes)} outcomes were learned.`);
      show(said, true);
      file.value = "";
      context.refresh();
    } catch (error) {
      setText(problem, error.inWords());
      show(problem, true);
    }
    setText(send, "Learn from it");
    send.disabled = !file.files.length;
  });
  const node = foldingPanel(
    "Learn from another log",
    { class: "learn", "data-testid": "learn", hidden: true },
    h(
      "p",
      { class: "note" },
      "A CSV file, a row for each outcome. Columns: ",
      columnsIn(experiment).map((
        name,
        i,
      ) => [i ? ", " : "", name === "…" ? name : h("code", { class: "break" }, name)]),
      ". An export has them.",
    ),
    form,
  );
  return { node, update: (now) => show(node, may("admin") && now.status !== "archived") };
}
