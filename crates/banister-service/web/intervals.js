// The interval plot: a dot for the mean, a line for the interval, a mark for the threshold.

import { h, setAttr, setStyle, setText, show } from "./dom.js";
import { brief, interval, num } from "./format.js";
import { directionOf } from "./direction.js";

// A scale that every row of a column shares, with round ends.
export function scaleOf(estimates, threshold) {
  const values = estimates
    .flatMap((e) => (e ? [e.lower, e.upper, e.mean] : []))
    .filter((v) => Number.isFinite(v) && v !== null);
  if (Number.isFinite(threshold)) values.push(threshold);
  if (!values.length) return { from: 0, to: 1 };
  let from = Math.min(...values),
    to = Math.max(...values);
  if (!(to > from)) {
    const room = Math.abs(to) * 0.1 || 0.5;
    from -= room;
    to += room;
  }
  const step = 10 ** Math.floor(Math.log10(to - from)) / 2;
  return { from: Math.floor(from / step + 1e-9) * step, to: Math.ceil(to / step - 1e-9) * step };
}

const place = (scale, value) =>
  `${(100 * (Math.min(scale.to, Math.max(scale.from, value)) - scale.from)) / (scale.to - scale.from)}%`;
const span = (scale, from, to) =>
  `${(100 * Math.max(0, Math.min(scale.to, to) - Math.max(scale.from, from))) / (scale.to - scale.from)}%`;

// One row's cell. `update(estimate, scale, threshold, low)`; without `low` no side is forbidden.
export function intervalCell() {
  const forbidden = h("i", { class: "iv-forbidden" }),
    mark = h("i", { class: "iv-threshold" });
  const line = h("i", { class: "iv-line" }),
    dot = h("i", { class: "iv-dot" });
  const track = h("div", { class: "iv", role: "img" }, forbidden, mark, line, dot);
  const text = h("span", { class: "iv-text" });
  const node = h("div", { class: "iv-cell" }, track, text);
  return {
    node,
    update(estimate, scale, threshold, low) {
      show(track, Boolean(estimate));
      if (!estimate) {
        setText(text, "–");
        return;
      }
      setStyle(line, "left", place(scale, estimate.lower));
      setStyle(line, "width", span(scale, estimate.lower, estimate.upper));
      show(dot, estimate.mean !== null);
      if (estimate.mean !== null) setStyle(dot, "left", place(scale, estimate.mean));
      const limited = Number.isFinite(threshold);
      show(mark, limited);
      const sided = limited && low !== undefined;
      show(forbidden, sided);
      if (limited) {
        setStyle(mark, "left", place(scale, threshold));
        setStyle(forbidden, "left", low ? "0%" : place(scale, threshold));
        setStyle(forbidden, "width", low ? span(scale, scale.from, threshold) : span(scale, threshold, scale.to));
      }
      const words = interval(estimate) + (sided ? `, threshold ${num(threshold)}` : "");
      setAttr(track, "aria-label", words);
      setAttr(track, "title", words);
      setText(
        text,
        estimate.mean === null ? `[${brief(estimate.lower)}, ${brief(estimate.upper)}]` : num(estimate.mean),
      );
    },
  };
}

// The head of a column: its name, and the ends of its scale with the threshold between them.
export function scaleHead(name, note) {
  const from = h("span"),
    to = h("span"),
    mark = h("span", { class: "iv-limit" });
  const axis = h("div", { class: "iv-axis" }, from, mark, to);
  const node = h(
    "div",
    { class: "iv-head" },
    h("span", { class: "clip", title: name }, name),
    note ? h("span", { class: "note" }, note) : null,
    axis,
  );
  return {
    node,
    update(scale, threshold) {
      setText(from, num(scale.from));
      setText(to, num(scale.to));
      const limited = Number.isFinite(threshold);
      show(mark, limited);
      if (!limited) return;
      const share = (threshold - scale.from) / (scale.to - scale.from);
      setText(mark, num(threshold));
      setStyle(mark, "left", place(scale, threshold));
      // The threshold has precedence over an end of the scale that it would cover.
      setStyle(from, "visibility", share < 0.3 ? "hidden" : "visible");
      setStyle(to, "visibility", share > 0.7 ? "hidden" : "visible");
    },
  };
}

export const intervalLegend = (limited) =>
  h(
    "p",
    { class: "note iv-legend" },
    h("span", null, h("i", { class: "k-dot" }), "mean"),
    h("span", null, h("i", { class: "k-line" }), "interval: what the mean can still be"),
    limited && [
      h("span", null, h("i", { class: "k-threshold" }), "threshold"),
      h(
        "span",
        null,
        h("i", { class: "k-forbidden" }),
        "the policy’s average must stay out of here; one arm alone may not",
      ),
    ],
  );

export const columnsOf = (guardrails, certificate) =>
  guardrails.map((g, i) => {
    const certified = certificate && certificate.guardrails && certificate.guardrails[i];
    const { value: declared, low } = directionOf(g);
    const threshold = certified
      ? certified.threshold
      : g.relative
      ? g.safe_cost === null || g.safe_cost === undefined ? 0 : declared * g.safe_cost
      : declared;
    return { threshold, low };
  });
