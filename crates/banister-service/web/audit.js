// The audit trail of one decision: what was known, what was decided, why it was safe, what happened.

import { h, panel, renderOnce } from "./dom.js";
import { ago, count, fullTime, level, num, percent, vector } from "./format.js";
import { broughtOf, EVENTS, OUTCOME_STATUS, unitInWords, verdict } from "./words.js";
import { api } from "./api.js";
import { poll } from "./poll.js";
import { columnsOf, intervalCell, intervalLegend, scaleHead, scaleOf } from "./intervals.js";
import { policyBars } from "./bars.js";
import { hrefOf } from "./decisions.js";
import { rowInWords } from "./declared.js";
import { loading } from "./experiment.js";
import { drawStrip, safety } from "./proof.js";

// Which action is the safe one: by name, or, among candidates, by its features; else it was added as "safe".
function safeName(audit, experiment) {
  if (experiment.safe) return experiment.safe;
  const played = audit.policy.find((entry) => entry.safe);
  if (played) return played.action;
  const same = (features) => JSON.stringify(features) === JSON.stringify(experiment.safe_action);
  const found = (audit.candidates || []).find((candidate) => same(candidate.features));
  return found ? found.name : "safe";
}

function knownTable(audit, experiment) {
  const rails = experiment.guardrails,
    columns = columnsOf(rails, audit.certificate),
    known = audit.known || [];
  const heads = [scaleHead("reward"), ...rails.map((g) => scaleHead(g.name, unitInWords(g)))];
  const scales = [
    scaleOf(known.map((k) => k.reward)),
    ...rails.map((_, i) =>
      scaleOf(
        known.map((k) => k.guardrails[i]),
        columns[i].threshold,
      )
    ),
  ];
  heads.forEach((head, i) => head.update(scales[i], i ? columns[i - 1].threshold : undefined));
  const row = (k) => {
    const cells = [k.reward, ...rails.map((_, i) => k.guardrails[i])].map((estimate, i) => {
      const cell = intervalCell();
      cell.update(estimate, scales[i], i ? columns[i - 1].threshold : undefined, i ? columns[i - 1].low : false);
      return h(
        "td",
        { class: "iv-td", "data-label": i ? rails[i - 1].name : "reward" },
        cell.node,
        estimate ? h("div", { class: "note iv-numbers" }, `[${num(estimate.lower)}, ${num(estimate.upper)}]`) : null,
      );
    });
    return h(
      "tr",
      { class: k.action === audit.action ? "chosen" : null },
      h(
        "th",
        { scope: "row" },
        h("span", { class: "clip", title: k.action }, k.action),
        " ",
        k.action === safeName(audit, experiment) ? h("span", { class: "tag" }, "safe") : null,
        k.action === audit.action ? [" ", h("span", { class: "tag strong" }, "played")] : null,
      ),
      h("td", { class: "number", "data-label": "probability" }, percent(k.probability)),
      h("td", { class: "number", "data-label": "pulls" }, count(k.pulls)),
      cells,
    );
  };
  const shown = known.slice(0, 40);
  return [
    h(
      "p",
      null,
      `From ${count(audit.certificate.outcomes)} outcomes. With confidence ${
        level(experiment.confidence)
      } no true cost lies on the harmful side of its interval:`,
    ),
    h(
      "div",
      { class: "table" },
      h(
        "table",
        { class: "arms known" },
        h(
          "thead",
          null,
          h(
            "tr",
            null,
            h("th", { scope: "col" }, "action"),
            h("th", { scope: "col", class: "number" }, "probability"),
            h("th", { scope: "col", class: "number", title: "outcomes of this action so far" }, "pulls"),
            heads.map((head) => h("th", { scope: "col" }, head.node)),
          ),
        ),
        h("tbody", null, shown.map(row)),
      ),
    ),
    known.length > shown.length ? h("p", { class: "note" }, `and ${known.length - shown.length} more actions`) : null,
    intervalLegend(rails.length > 0),
  ];
}

function happened(audit, experiment) {
  const outcome = audit.outcome,
    value = (v) => (v === null || v === undefined ? h("span", { class: "note" }, "awaited") : num(v));
  return [
    h("p", null, h("span", { class: `state ${audit.status}` }, audit.status), ` ${OUTCOME_STATUS[audit.status] || ""}`),
    outcome
      ? h(
        "dl",
        { class: "figures compact" },
        h("div", null, h("dt", null, "reward"), h("dd", null, value(outcome.reward))),
        broughtOf(experiment).map(({ name }) =>
          h(
            "div",
            null,
            h("dt", { class: "clip", title: name }, name),
            h("dd", null, value((outcome.costs || {})[name])),
          )
        ),
      )
      : null,
    h(
      "ol",
      { class: "events" },
      (audit.events || []).map((e) =>
        h(
          "li",
          null,
          h("b", { class: "mono" }, `#${count(e.number)}`),
          h("span", null, (EVENTS[e.kind] || e.kind) + (e.author ? `, by ${e.author}` : "")),
          h(
            "time",
            { class: "note", datetime: e.time, title: fullTime(e.time) },
            e.time.replace("T", " ").replace("Z", " UTC"),
          ),
        )
      ),
    ),
    h("p", { class: "note" }, "The numbers are positions in the log of the service."),
  ];
}

function requestPart(audit) {
  const item = (label, ...value) => [h("dt", null, label), h("dd", { class: "break" }, ...value)];
  const candidates = audit.candidates || null;
  const plainly = !audit.context && !candidates && !audit.segment && !audit.taken &&
    (audit.propensity === null || audit.propensity === undefined);
  return [
    plainly ? h("p", { class: "note" }, "The request had nothing but its id.") : null,
    h(
      "dl",
      { class: "declared" },
      item("Id", audit.id),
      item("Time", fullTime(audit.time)),
      audit.segment
        ? item("Segment", audit.segment.name, audit.segment.pooled ? ", which shares the pool’s policy" : "")
        : null,
      audit.context
        ? item("Context", Array.isArray(audit.context) ? vector(audit.context) : rowInWords(audit.context))
        : null,
      candidates
        ? item(
          "Candidates",
          candidates
            .slice(0, 50)
            .map((c) => h("div", { class: "mono" }, h("b", null, c.name), ` ${vector(c.features)}`)),
          candidates.length > 50 ? `and ${candidates.length - 50} more` : null,
        )
        : null,
      audit.taken ? item("Taken by the caller", audit.taken) : null,
      audit.propensity !== null && audit.propensity !== undefined
        ? item("Its propensity", num(audit.propensity))
        : null,
      item("Shadow", audit.shadow ? "yes: the caller did what it wanted" : "no"),
    ),
  ];
}

function decided(audit) {
  const bars = policyBars("audit-policy");
  bars.update(audit.policy, audit.action);
  return [bars.node, drawStrip(audit)];
}

function summary(audit, experiment) {
  const held = experiment.guardrails.every(
    (g, i) => audit.certificate.guardrails[i] && verdict(g, audit.certificate.guardrails[i]).holds,
  );
  const why = audit.certificate.fallback
    ? "Only the safe action was allowed."
    : held
    ? "It was safe: even in the worst case that the data allow, the policy keeps every guardrail."
    : "";
  return h(
    "p",
    { class: "lead" },
    audit.shadow ? "It would have played " : "It played ",
    h("b", { class: "break" }, audit.action),
    audit.segment ? [" in ", h("b", { class: "break" }, audit.segment.name)] : null,
    `, which had a probability of ${percent(audit.probability)}. `,
    why,
  );
}

export function auditPage(name, id) {
  const wait = loading(),
    node = h("div", null, wait.node);
  const parts = {
    lead: h("div"),
    known: h("div"),
    decided: h("div"),
    safe: h("div"),
    happened: h("div"),
    request: h("div"),
    when: h("p", { class: "note" }),
  };
  let experiment = null,
    built = false;
  function build() {
    built = true;
    node.replaceChildren(
      h(
        "nav",
        { "aria-label": "Breadcrumb", class: "crumbs" },
        h("a", { href: "#/" }, "Experiments"),
        " / ",
        h("a", { href: hrefOf(name), class: "clip" }, name),
        " / ",
        h("span", { class: "clip" }, id),
      ),
      h(
        "div",
        { "data-testid": "audit" },
        h("h1", { class: "break", tabindex: "-1" }, "Decision ", h("span", { class: "mono" }, id)),
        parts.when,
        parts.lead,
        panel("1. What was known", null, parts.known),
        panel("2. What was decided", null, parts.decided),
        panel("3. Why it was safe", { "data-testid": "audit-safe" }, parts.safe),
        h(
          "div",
          { class: "pair" },
          panel("4. What happened", null, parts.happened),
          panel("The request", null, parts.request),
        ),
      ),
    );
  }
  const live = poll(async (signal) => {
    try {
      experiment = experiment || (await api.experiment(name, signal));
      const audit = await api.audit(name, id, signal);
      if (!built) build();
      renderOnce(
        parts.when,
        [audit.number, ago(audit.time)],
        () =>
          h("span", { title: fullTime(audit.time) }, `number ${count(audit.number)} in the log, ${ago(audit.time)}`),
      );
      renderOnce(parts.lead, [audit.action, audit.probability, audit.certificate], () => summary(audit, experiment));
      renderOnce(parts.known, audit.known, () => knownTable(audit, experiment));
      renderOnce(parts.decided, [audit.policy, audit.draw], () => decided(audit));
      renderOnce(
        parts.safe,
        [audit.certificate, audit.known],
        () => safety(audit, experiment, safeName(audit, experiment)),
      );
      renderOnce(parts.happened, [audit.status, audit.outcome, audit.events], () => happened(audit, experiment));
      renderOnce(parts.request, [audit.context, audit.candidates, audit.taken, audit.id], () => requestPart(audit));
    } catch (error) {
      if (!built && error.status && error.status !== 401) wait.fail(error);
      throw error;
    }
  });
  return { node, title: `${id} · ${name}`, role: () => live.now(), destroy: () => live.stop() };
}
