// What to do first: shown instead of charts while there is nothing to draw.

import { h, panel, show } from "./dom.js";
import { broughtOf, hullOf } from "./words.js";
import { hasToken, may, pathOf } from "./api.js";
import { command, curl } from "./dialog.js";
import { exampleRow, exampleSegment, fieldsOf } from "./declared.js";

// A request and a report such as this experiment takes.
function examples(experiment) {
  const request = { id: "order-17" };
  if (experiment.context) {
    const fields = fieldsOf(experiment.context);
    request.context = fields ? exampleRow(fields) : Array(experiment.context).fill(0.5);
  }
  if (experiment.segments) request.segment = exampleSegment(experiment.segments);
  if (experiment.dimension) {
    request.actions = ["first", "second"].map((name, at) => ({
      name,
      features: Array.from({ length: experiment.dimension }, (_, i) => (i === at % experiment.dimension ? 1 : 0)),
    }));
  }
  if (experiment.shadow) Object.assign(request, { taken: experiment.safe || "safe", propensity: 1 });
  const report = { decision: "order-17", reward: 1 };
  const brought = broughtOf(experiment);
  if (brought.length) report.costs = Object.fromEntries(brought.map((g) => [g.name, hullOf(g)[0]]));
  return { request, report };
}

export function startPanel(context, experiment) {
  const { request, report } = examples(experiment);
  const ask = command("1. Ask what to do, whenever there is something to decide"),
    tell = command("2. Report what came of it, now or later");
  ask.set(curl(pathOf(context.name, "/decisions"), request, hasToken()));
  tell.set(curl(pathOf(context.name, "/outcomes"), report, hasToken()));
  const node = panel(
    "Nothing has been decided yet",
    { class: "start", "data-testid": "start" },
    h("p", null, "Charts appear with the first decisions. The program that acts asks and reports, like this:"),
    h("div", { class: "pair" }, ask.node, tell.node),
    h("p", { class: "note" }, "To see it without a program, use “Try it” below."),
  );
  return {
    node,
    update: (now, begun) => show(node, !begun && now.status !== "archived" && may("read")),
  };
}
