// How one action was drawn from a policy.

import { h } from "./dom.js";
import { num, percent } from "./format.js";

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
