// One glance: whether the guardrails are kept, what it earns, and how much has happened.

import { h, setAttr, setText, show } from "./dom.js";
import { count, denoised, interval, level, num, percent } from "./format.js";
import { decisionInWords, isWarning, promises, refusingInWords, verdict } from "./words.js";

// The state of the guardrails in a few words: [tone, headline, detail].
function standing(experiment, certificate, alarms) {
  const rails = experiment.guardrails;
  if (!rails.length) return ["", "No guardrails", "only the reward counts"];
  if (experiment.refusing) return ["bad", "✕ Refused", refusingInWords(experiment.refusing)];
  if (!certificate) return ["", "Not asked yet", "there is no policy before the first decision"];
  if (certificate.fallback === "paused") return ["warn", "❙❙ Paused", "only the safe action is played"];
  if (certificate.fallback === "alarm") return ["bad", "⚠ Alarm", "only the safe action is played"];
  const real = alarms.filter((alarm) => !isWarning(alarm));
  if (real.length) return ["bad", "⚠ Alarm", "an assumption of the certificate is false"];
  if (certificate.fallback === "budget_exhausted") {
    return ["warn", "⚠ Budget exhausted", "only the safe action is played"];
  }
  if (certificate.fallback) {
    return ["bad", "⚠ Safe action only", "no other policy is proven to keep the guardrails yet"];
  }
  const open = rails.filter((g, i) => !verdict(g, certificate.guardrails[i]).holds);
  if (open.length && !promises(experiment)) {
    return ["warn", "⚠ No guarantee", `${open.map((g) => g.name).join(", ")}: this agent may break it in a round`];
  }
  if (open.length) return ["bad", "✕ Not kept", open.map((g) => g.name).join(", ")];
  const held = certificate.guardrails.filter((g) => num(g.price) !== "0" || num(g.slack) === "0").map((g) => g.name);
  const all = rails.length === 1 ? "✓ Kept" : rails.length === 2 ? "✓ Both kept" : `✓ All ${rails.length} kept`;
  const sure = `with ${level(experiment.confidence)} confidence`;
  return ["good", all, held.length ? `${sure}; at the limit: ${held.join(", ")}` : `${sure}; none at its limit`];
}

// Compared with doing only the safe thing, where that is known.
function gain(reward, safe, what) {
  if (!safe || safe.mean === null || reward.mean === null) return "";
  const more = denoised(reward.mean - safe.mean);
  if (more === 0) return `that of the safe ${what}`;
  const share = safe.mean > 0 ? ` (${more >= 0 ? "+" : "−"}${Math.abs((100 * more) / safe.mean).toFixed(0)}%)` : "";
  return `the safe ${what} alone: ${num(safe.mean)}${share}`;
}

// Cost of the outcomes so far beside that of the dearest arm alone, by the arms' means: of
// the first absolute upper bound on a mean, or of a reward that is none but a cost with its sign changed.
function savings(experiment, arms) {
  const isMean = (g) => !g.relative && !Array.isArray(g.expression),
    rail = experiment.guardrails.findIndex((g) => typeof g.at_most === "number" && isMean(g));
  const isCost = rail < 0 && arms.every((arm) => arm.reward && arm.reward.mean <= 0);
  if (rail < 0 && !isCost) return null;
  const costs = arms
    .filter((arm) => arm.pulls > 0)
    .map((arm) => [arm, rail < 0 ? arm.reward : arm.guardrails && arm.guardrails[rail]])
    .filter(([, estimate]) => estimate && typeof estimate.mean === "number")
    .map(([arm, estimate]) => ({ name: arm.name, pulls: arm.pulls, mean: Math.abs(estimate.mean) }));
  if (costs.length < 2) return null;
  const dearest = costs.reduce((a, b) => (b.mean > a.mean ? b : a));
  const spent = costs.reduce((sum, arm) => sum + arm.pulls * arm.mean, 0),
    alone = costs.reduce((sum, arm) => sum + arm.pulls * dearest.mean, 0);
  if (!(alone > spent)) return null;
  const what = rail < 0 ? "cost" : experiment.guardrails[rail].name;
  const less = `${num(alone - spent)} less (${percent((alone - spent) / alone)})`;
  return `${what} of the outcomes so far: ${num(spent)}, about ${less} than with ${dearest.name} alone`;
}

export function glance() {
  const figures = h("dl", { class: "figures glance" }),
    saves = h("p", { class: "note", "data-testid": "glance-savings" }),
    node = h("div", null, figures, saves);
  const big = (label, testid) => {
    const head = h("span"),
      detail = h("span", { class: "note" });
    const title = h("dt", null, label);
    figures.append(
      h("div", { class: "big", "data-testid": testid }, title, h("dd", null, head, detail)),
    );
    return { title, head, detail };
  };
  const rails = big("guardrails", "glance-guardrails"),
    earns = big("reward of one decision", "glance-reward");
  const cells = {};
  const cell = (key, label, title) => {
    cells[key] = h("dd", { "data-testid": `count-${key}` });
    const box = h("div", { title }, h("dt", null, label), cells[key]);
    figures.append(box);
    return box;
  };
  const decided = cell("decisions", "decisions");
  cell("outcomes", "outcomes", "complete outcomes that were learned from");
  cell("forced", "safe forced", "decisions for which only the safe action could be played");
  cell("expired", "expired", "decisions without an outcome in time");
  const missing = cell("missing", "missing", "decisions whose outcome never came, and has no default");
  const moved = cell("moved", "moved", "given another arm before their period was over, and not learned");
  const returned = cell("returned", "returned", "came back after their first period, and not learned");
  const full = cell("full", "full", "units with as many reports as are added up: further ones are refused");
  cell("imported", "imported", "outcomes taken from a file");
  return {
    node,
    // `at`: the segment picked, where there are any.
    update(experiment, state, at) {
      show(missing, Boolean(experiment.counts.missing || (experiment.ttl_seconds && !experiment.default_outcome)));
      for (const box of [moved, returned, full]) show(box, Boolean(experiment.unit));
      for (const key of Object.keys(cells)) setText(cells[key], count(experiment.counts[key]));
      const [tone, headline, detail] = standing(experiment, state && state.certificate, experiment.alarms || []);
      setText(rails.head, headline);
      setAttr(rails.head, "class", tone);
      setText(rails.detail, detail);
      const { reward, safe } = (!(at && at.all) && state && state.estimates) || {};
      const where = !at || at.all ? "" : at.own ? ` ${at.words}` : " in the pool";
      setText(earns.title, `reward of one ${decisionInWords(experiment)}${where}`);
      if (experiment.unit) setText(decided.firstChild, `${experiment.unit.name}s`);
      setText(earns.head, reward && reward.mean !== null ? num(reward.mean) : "–");
      setAttr(earns.head, "title", reward ? interval(reward) : null);
      const known = reward && reward.mean !== null;
      const compared = known
        ? gain(reward, safe, experiment.dimension ? "action" : "arm")
        : at && at.all
        ? "of its own in every segment: pick one below"
        : "not known yet";
      setText(earns.detail, compared || (known ? `in [${num(reward.lower)}, ${num(reward.upper)}]` : ""));
      show(earns.detail, true);
      const found = savings(experiment, (state && state.arms) || []);
      show(saves, Boolean(found));
      setText(saves, found || "");
    },
  };
}
