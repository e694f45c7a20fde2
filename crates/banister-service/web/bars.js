// The policy as horizontal bars, and the proof of a certificate as bars against thresholds.

import { h, setAttr, setStyle, setText, show, syncList } from "./dom.js";
import { num, percent } from "./format.js";
import { hullOf, verdict } from "./words.js";

function policyRow() {
  const name = h("span", { class: "clip" }),
    tag = h("span", { class: "tag" }, "safe"),
    fill = h("i"),
    share = h("b");
  const node = h("li", null, h("span", { class: "bar-name" }, name, tag), h("span", { class: "bar" }, fill), share);
  return {
    node,
    update({ entry, safe, chosen }) {
      setText(name, entry.action);
      setAttr(name, "title", entry.action);
      show(tag, safe);
      setAttr(node, "class", [safe ? "is-safe" : "", chosen ? "is-chosen" : ""].join(" ").trim() || null);
      setStyle(fill, "width", `${entry.probability * 100}%`);
      setText(share, percent(entry.probability));
      setAttr(share, "title", String(entry.probability));
    },
  };
}

// A policy may have many actions of which most are tiny: the first twelve, and the rest in one line.
export function policyBars(testid) {
  const list = h("ol", { class: "bars" }),
    rest = h("p", { class: "note" });
  const node = h("div", { "data-testid": testid }, list, rest);
  return {
    node,
    update(policy, chosen) {
      const sorted = [...policy].sort((a, b) => b.probability - a.probability);
      const top = sorted.slice(0, 12),
        tail = sorted.slice(12);
      syncList(
        list,
        top.map((entry) => ({ entry, safe: entry.safe, chosen: entry.action === chosen })),
        (x) => `${x.entry.index} ${x.entry.action}`,
        policyRow,
      );
      show(rest, tail.length > 0);
      setText(
        rest,
        `and ${tail.length} more with ${percent(tail.reduce((sum, e) => sum + e.probability, 0))} together`,
      );
    },
  };
}

// The piece of the guardrail's axis to show: around threshold and pessimistic cost, within reason.
function window_(guardrail, certified, mean) {
  const range = hullOf(guardrail);
  const relative = certified.threshold === 0 && guardrail.relative;
  const values = [
    certified.pessimistic_cost,
    certified.threshold,
    ...(Number.isFinite(mean) && mean !== null ? [mean] : []),
  ];
  const base = relative ? Math.min(...values) : range[0];
  let from = Math.min(base, ...values),
    to = Math.max(...values);
  // Where they differ by rounding alone there is nothing to look at closely.
  const whole = range[1] - range[0];
  const size = to - from > 1e-6 * whole ? to - from : whole;
  const low = verdict(guardrail, certified).low;
  if (low || relative) from -= 0.25 * size;
  to += (low ? 0.12 : 0.3) * size;
  return {
    from: relative ? from : Math.max(range[0], from),
    to: relative ? to : Math.min(Math.max(range[1], ...values), to),
  };
}

function proofRow() {
  const name = h("b", { class: "clip" }),
    limit = h("span", { class: "note" }),
    badge = h("span", { class: "badge" });
  const forbidden = h("i", { class: "p-forbidden" }),
    fill = h("i", { class: "p-fill" }),
    mark = h("i", { class: "p-threshold" }),
    mean = h("i", { class: "p-mean" });
  const track = h("div", { class: "proof", role: "img" }, forbidden, fill, mean, mark);
  const sentence = h("p", { class: "proof-text" });
  const node = h("li", null, h("div", { class: "proof-head" }, name, badge, limit), track, sentence);
  return {
    node,
    update({ guardrail, certified, estimate, forced, limits }) {
      const v = verdict(guardrail, certified),
        view = window_(guardrail, certified, estimate && estimate.mean);
      const at = (x) =>
        `${(100 * (Math.min(view.to, Math.max(view.from, x)) - view.from)) / (view.to - view.from || 1)}%`;
      setText(name, guardrail.name);
      setAttr(name, "title", guardrail.name);
      setText(limit, limits);
      setText(badge, v.holds ? (forced ? "✓ kept, as declared" : "✓ kept") : forced ? "not proven yet" : "✕ not kept");
      setAttr(badge, "class", `badge ${v.holds ? "good" : "bad"}`);
      setStyle(mark, "left", at(certified.threshold));
      // From the side that is allowed, so that it reaches into the other one only if it must not.
      setStyle(fill, "left", v.low ? at(certified.pessimistic_cost) : "0%");
      setStyle(
        fill,
        "width",
        v.low ? `${100 - parseFloat(at(certified.pessimistic_cost))}%` : at(certified.pessimistic_cost),
      );
      setAttr(fill, "class", v.holds ? "p-fill" : "p-fill bad");
      setStyle(forbidden, "left", v.low ? "0%" : at(certified.threshold));
      setStyle(forbidden, "width", v.low ? at(certified.threshold) : `${100 - parseFloat(at(certified.threshold))}%`);
      const known = estimate && estimate.mean !== null;
      show(mean, Boolean(known));
      if (known) setStyle(mean, "left", at(estimate.mean));
      setText(sentence, v.sentence);
      setAttr(track, "aria-label", v.sentence);
      setAttr(
        track,
        "title",
        `from ${num(view.from)} to ${num(view.to)}: ${v.sentence}${known ? `; mean so far ${num(estimate.mean)}` : ""}`,
      );
    },
  };
}

// `update(guardrails, certificate, estimates, limits)`: one bar per guardrail, with its limit in words and its sentence.
export function proofBars() {
  const list = h("ul", { class: "proofs" });
  const node = h(
    "div",
    null,
    list,
    h(
      "p",
      { class: "note iv-legend" },
      h(
        "span",
        null,
        h("i", { class: "k-fill" }),
        "up to the pessimistic cost: what the policy’s average can still be",
      ),
      h("span", null, h("i", { class: "k-mean" }), "mean so far"),
      h("span", null, h("i", { class: "k-threshold" }), "threshold"),
      h("span", null, h("i", { class: "k-forbidden" }), "forbidden"),
    ),
  );
  return {
    node,
    update(guardrails, certificate, estimates, limits) {
      const rows = guardrails
        .map((guardrail, i) => ({
          guardrail,
          certified: certificate.guardrails[i],
          estimate: estimates && estimates[i],
          limits: limits[i],
          forced: Boolean(certificate.fallback) && certificate.fallback !== "paused",
        }))
        .filter((row) => row.certified);
      syncList(list, rows, (row) => row.guardrail.name, proofRow);
    },
  };
}
