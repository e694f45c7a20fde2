// Why one decision was safe: its certificate in sentences, with sums that can be checked by hand, and how its action was
// drawn.

import { h } from "./dom.js";
import { count, num, percent } from "./format.js";
import { directionOf } from "./direction.js";
import { isExcess, isOverSegments, reasonInWords, shownInWords, SOLVER, verdict } from "./words.js";
import { proofBars } from "./bars.js";

// The pessimistic cost as a sum that can be checked by hand; left out where it is more than a sum.
function sumOf(audit, i, guardrail, safe) {
  const { worst } = directionOf(guardrail),
    certified = audit.certificate.guardrails[i];
  const terms = (audit.known || []).filter((k) => k.probability > 0);
  if (!terms.length || terms.some((k) => !k.guardrails[i])) return null;
  // What was declared of the safe action is not estimated: the declared value counts.
  const declared = Number.isFinite(guardrail.safe_cost) ? guardrail.safe_cost : null;
  const cost = (k) => (k.action === safe && declared !== null ? declared : k.guardrails[i][worst]);
  const total = terms.reduce((sum, k) => sum + k.probability * cost(k), 0);
  if (Math.abs(total - certified.pessimistic_cost) > 1e-6 * Math.max(1, Math.abs(total))) return null;
  const texts = terms.slice(0, 6).map((k) => `${num(k.probability)} × ${num(cost(k))}`);
  const more = terms.length > 6 ? ` + ${terms.length - 6} more` : "";
  return {
    text: `${texts.join(" + ")}${more} = ${verdict(guardrail, certified).cost}`,
    declared: declared !== null && terms.some((k) => k.action === safe),
  };
}

function explain(audit, guardrail, i, safe, over) {
  const certified = audit.certificate.guardrails[i],
    v = verdict(guardrail, certified),
    sum = over ? null : sumOf(audit, i, guardrail, safe),
    average = over ? "average over all segments" : "policy’s average";
  const { worst: end, words: side, value } = directionOf(guardrail),
    factor = num(value);
  const what = isExcess(guardrail)
    ? v.cost === "0"
      ? `would be exactly ${factor} times the safe action’s own`
      : `would be ${num(Math.abs(certified.pessimistic_cost))} ${
        certified.pessimistic_cost < 0 ? "below" : "above"
      } ${factor} times the safe action’s own`
    : `would be ${v.cost}`;
  const limit = isExcess(guardrail)
    ? `It must be ${side} ${factor} times the safe action’s own`
    : `It must be ${side} ${v.threshold}`;
  return h(
    "li",
    { class: v.holds ? "break" : "break open" },
    h("b", null, guardrail.name),
    v.holds
      ? `: even if every action were as bad as its interval allows, the ${average} ${what}. ${limit}: the guardrail is kept, with ${
        num(certified.slack) === "0" ? "nothing" : num(certified.slack)
      } to spare. ${
        num(certified.price) !== "0"
          ? `This guardrail held the policy back: one more unit of room would be worth ${
            num(certified.price)
          } of reward.`
          : "This guardrail did not hold the policy back: its price is 0."
      }${over ? ` In ${audit.segment.name} alone it would be ${num(audit.segment.costs[i])}.` : ""}`
      : `: at worst the ${average} ${what}, and ${limit.replace(/^It/, "it")}. ${
        audit.certificate.fallback
          ? "The data do not prove yet that this is kept, so the safe action is played: the one that was declared to be safe."
          : "The data do not prove that this is kept, and the agent does not promise it in every round."
      }`,
    sum
      ? h(
        "div",
        { class: "sum" },
        h(
          "span",
          { class: "note" },
          `probability × ${end} end of the interval${
            sum.declared ? ", for the safe action the declared cost" : ""
          }, added up:`,
        ),
        h("code", null, sum.text),
      )
      : null,
  );
}

export function safety(audit, experiment, safe) {
  const { certificate } = audit,
    rails = experiment.guardrails,
    solver = certificate.solver;
  const means = rails.map((_, i) =>
    !isOverSegments(experiment, rails[i]) &&
      (audit.known || []).every((k) => k.guardrails[i] && k.guardrails[i].mean !== null)
      ? { mean: audit.known.reduce((s, k) => s + k.probability * k.guardrails[i].mean, 0) }
      : null
  );
  const bars = proofBars();
  bars.update(rails, certificate, means, rails.map((g) => shownInWords(experiment, g)));
  const item = (label, value) => [h("dt", null, label), h("dd", null, value)];
  return [
    certificate.fallback
      ? h(
        "div",
        { class: `alarm ${certificate.fallback === "paused" ? "calm" : ""}` },
        h("span", { class: "alarm-sign", "aria-hidden": "true" }, "⚠"),
        h(
          "div",
          null,
          h("b", null, "The safe action was forced"),
          h(
            "p",
            null,
            `${reasonInWords(certificate.fallback)}.`.replace(/^./, (c) => c.toUpperCase()),
          ),
        ),
      )
      : null,
    bars.node,
    h(
      "ul",
      { class: "explain" },
      rails.map((
        g,
        i,
      ) => (certificate.guardrails[i] ? explain(audit, g, i, safe, isOverSegments(experiment, g)) : null)),
    ),
    solver
      ? h(
        "dl",
        { class: "declared" },
        item("Solver", `${solver.status}: ${SOLVER[solver.status] || ""}`),
        item("Value", `${num(solver.value)}, at most ${num(solver.upper_bound)} possible: gap ${num(solver.gap)}`),
        item("Optimistic reward", num(certificate.optimistic_reward)),
        solver.nodes ? item("Nodes searched", count(solver.nodes)) : null,
        item("Fallback", certificate.fallback || "none"),
      )
      : null,
  ];
}

// The interval from 0 to 1, cut into pieces as long as the probabilities; the draw falls into one.
export function drawStrip(audit) {
  if (audit.draw === null || audit.draw === undefined) return null;
  let from = 0;
  const pieces = audit.policy.map((entry) => ({ entry, from, to: from += entry.probability }));
  const hit = pieces.find((piece) => audit.draw < piece.to) || pieces[pieces.length - 1];
  const sentence = h(
    "p",
    null,
    "A number between 0 and 1 was drawn at random: ",
    h("b", { class: "mono" }, num(audit.draw)),
    ". ",
  );
  if (!hit || hit.entry.action !== audit.action) return sentence;
  sentence.append(
    `It falls between ${num(hit.from)} and ${num(Math.min(1, hit.to))}, the piece of `,
    h("b", { class: "break" }, audit.action),
    `, which is as long as its probability: ${percent(audit.probability)}.`,
  );
  const strip = h(
    "div",
    { class: "strip", role: "img", "aria-label": `the draw ${num(audit.draw)} selects ${audit.action}` },
    pieces.map((piece) =>
      h(
        "span",
        {
          class: piece === hit ? "piece hit" : "piece",
          style: { width: `${piece.entry.probability * 100}%` },
          title: `${piece.entry.action}: ${num(piece.from)} to ${num(piece.to)}`,
        },
        piece.entry.probability > 0.04 && h("span", null, piece.entry.action),
      )
    ),
    h("i", { class: "needle", style: { left: `${audit.draw * 100}%` } }),
  );
  return [
    sentence,
    h(
      "div",
      { class: "strip-wrap" },
      strip,
      h("div", { class: "strip-axis" }, h("span", null, "0"), h("span", null, "1")),
    ),
  ];
}
