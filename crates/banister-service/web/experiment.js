// One experiment, live.

import { foldingPanel, h, panel, renderOnce, setAttr, setText, show } from "./dom.js";
import { ago, clock, fullTime, percent } from "./format.js";
import { api } from "./api.js";
import { poll } from "./poll.js";
import { isOverSegments, promises, reasonInWords, reasonTitle, refusingInWords, shownInWords } from "./words.js";
import { policyBars, proofBars } from "./bars.js";
import { chartsOf } from "./charts.js";
import { armsPanel } from "./arms.js";
import { segmentPicker, segmentsPanel, stateIn } from "./segments.js";
import { decisionsPanel, hrefOf } from "./decisions.js";
import { actions, statusPills } from "./manage.js";
import { tryPanel } from "./try.js";
import { glance } from "./glance.js";
import { budgetsPanel } from "./budgets.js";
import { alarmsPanel, assumptionList } from "./alarms.js";
import { declared } from "./declared.js";
import { startPanel } from "./start.js";
import { learnPanel } from "./learn.js";
import { changesPanel } from "./changes.js";
import { trustPanel, worthPanel } from "./worth.js";

// Loud for what nobody chose (forced); calmer, but still there, for a pause.
export function alarmBanner() {
  const title = h("b"),
    words = h("span"),
    since = h("span", { class: "note" }),
    link = h("a", null, "the decision");
  const inner = h(
    "div",
    { class: "alarm" },
    h("span", { class: "alarm-sign", "aria-hidden": "true" }, "⚠"),
    h(
      "div",
      null,
      h("div", { role: "alert" }, title, h("p", null, words)),
      h("p", { class: "note" }, since, " ", link),
    ),
  );
  // Only the reason is announced: the time since then changes with every poll.
  const node = h("div", { "data-testid": "alarm" });
  return {
    node,
    update(name, raised, refusing) {
      // No decision is none that is forced.
      const alarm = refusing ? { reason: "refused" } : raised;
      // An alarm of the monitor has a panel of its own.
      if (!alarm || alarm.reason === "alarm") {
        inner.remove();
        return;
      }
      setText(title, refusing ? refusingInWords(refusing) : reasonTitle(alarm.reason));
      setText(
        words,
        `${reasonInWords(alarm.reason)}.`.replace(/^./, (c) => c.toUpperCase()),
      );
      setText(
        since,
        alarm.since
          ? `Since ${clock(alarm.since)}, ${ago(alarm.since)}${alarm.decision ? "; first decision:" : "."}`
          : "",
      );
      setAttr(since, "title", alarm.since ? fullTime(alarm.since) : null);
      show(link, Boolean(alarm.decision));
      setText(link, alarm.decision || "");
      if (alarm.decision) setAttr(link, "href", hrefOf(name, alarm.decision));
      setAttr(inner, "class", `alarm ${alarm.reason === "paused" ? "calm" : ""}`);
      if (!inner.isConnected) node.append(inner);
    },
  };
}

// Shown until the first answer, and instead of it if there is none.
export function loading() {
  const node = h("p", { class: "empty", role: "status" }, "Loading…");
  return { node, fail: (error) => setText(node, error.message) };
}

// True if the policy depends on what a decision brings.
const drawnAnew = (experiment) => experiment.dimension || experiment.context || experiment.segments;

export function experimentPage(name) {
  const wait = loading(),
    node = h("div", null, wait.node);
  let parts = null,
    seen = null,
    full = 0,
    state = null,
    rows = null;
  const context = {
    name,
    refresh: () => {
      full = 0;
      live.now();
    },
  };

  function build(experiment) {
    const title = h("h1", { class: "break", tabindex: "-1" }, experiment.name),
      pills = h("span", { class: "pills" }),
      description = h("p", { class: "lead break" });
    parts = {
      pills,
      description,
      alarm: alarmBanner(),
      alarms: alarmsPanel(context),
      assumptions: assumptionList(),
      buttons: actions(context),
      figures: glance(),
      budgets: budgetsPanel(),
      start: startPanel(context, experiment),
      learn: learnPanel(context, experiment),
      bars: policyBars("policy-bars"),
      proof: proofBars(),
      charts: chartsOf(experiment),
      decisions: decisionsPanel(context, experiment),
      trial: tryPanel(context, experiment),
      changes: changesPanel(),
      trust: trustPanel(),
      worth: worthPanel(context, experiment),
      declared: h("div"),
      note: h("p", { class: "note" }),
      waiting: h("p", { class: "empty" }),
    };
    parts.segments = experiment.segments ? segmentsPanel(context, experiment) : null;
    parts.picker = experiment.segments ? segmentPicker(context.refresh) : null;
    // With segments there is no estimate of an arm over all of them.
    parts.arms = experiment.dimension || experiment.segments ? null : armsPanel(context, experiment);
    parts.live = h("div", null, parts.bars.node);
    parts.premise = h("p", { class: "note" });
    parts.proving = panel(
      promises(experiment) ? "Why it is safe" : "How safe it is",
      null,
      parts.premise,
      parts.proof.node,
      parts.assumptions.node,
    );
    const policy = panel(
      "",
      null,
      parts.note,
      parts.waiting,
      parts.live,
    );
    parts.drawn = policy.firstChild;
    node.replaceChildren(
      h(
        "nav",
        { "aria-label": "Breadcrumb", class: "crumbs" },
        h("a", { href: "#/" }, "Experiments"),
        " / ",
        h("span", { class: "clip" }, experiment.name),
      ),
      h(
        "header",
        { class: "head" },
        h("div", null, h("div", { class: "title" }, title, pills), description),
        parts.buttons.node,
      ),
      parts.alarm.node,
      parts.alarms.node,
      parts.figures.node,
      parts.budgets.node,
      parts.picker ? parts.picker.node : "",
      h("div", { class: "pair" }, policy, parts.proving),
      parts.start.node,
      parts.trust.node,
      parts.worth.node,
      parts.charts.node,
      parts.segments ? parts.segments.node : "",
      parts.arms ? parts.arms.node : "",
      parts.decisions.node,
      h(
        "div",
        { class: "pair wide-left" },
        foldingPanel("As declared", null, parts.declared),
        h("div", null, parts.trial.node, parts.learn.node),
      ),
      parts.changes.node,
    );
  }

  function update(experiment) {
    renderOnce(parts.pills, [experiment.status, experiment.shadow], () => statusPills(experiment));
    setText(parts.description, experiment.description || "");
    parts.buttons.update(experiment);
    const at = parts.picker && parts.picker.at(rows);
    const one = at && at.row && !at.all;
    const shown = one && state ? stateIn(experiment, state, at.row) : state;
    parts.figures.update(experiment, shown, at);
    parts.budgets.update(experiment);
    parts.alarm.update(name, experiment.alarm, experiment.refusing);
    parts.alarms.update(state);
    parts.assumptions.update(experiment.rests_on);
    parts.trial.update(experiment);
    parts.learn.update(experiment);
    const begun = experiment.counts.decisions + experiment.counts.imported > 0;
    parts.start.update(experiment, begun);
    [parts.trust, parts.worth, parts.charts].forEach((part) => show(part.node, begun));
    renderOnce(parts.declared, ...declared(experiment));
    // What is refused is drawn from no policy.
    const { policy, certificate } = experiment.refusing ? {} : shown || {};
    const where = one ? at.words : shown && shown.segment ? `in ${shown.segment.name}` : "";
    const whose = one ? "Policy" : drawnAnew(experiment) ? "Policy of the last decision" : "Policy now";
    setText(parts.drawn, `${whose} ${where}`.trim());
    show(parts.waiting, !policy);
    setText(
      parts.waiting,
      experiment.refusing
        ? `${refusingInWords(experiment.refusing)}.`
        : "No decision yet: the policy depends on what a decision brings.",
    );
    show(parts.live, Boolean(policy));
    show(parts.proving, Boolean(certificate) && experiment.guardrails.length > 0);
    if (policy) parts.bars.update(policy);
    const unproven = certificate && certificate.fallback && certificate.fallback !== "paused";
    setText(
      parts.premise,
      certificate && certificate.fallback === "alarm"
        ? "An alarm says that an assumption is false, so only the action that was declared safe is played."
        : certificate && certificate.fallback === "budget_exhausted"
        ? "A budget does not cover any other policy, so only the action that was declared safe is played."
        : unproven
        ? "The data do not prove any other policy safe yet, so the action that was declared safe is played."
        : "If everything were as bad as the data still allow, the policy would cost on average:",
    );
    if (certificate) {
      const estimates = (shown.estimates ? shown.estimates.guardrails : []).map((own, i) =>
        isOverSegments(experiment, experiment.guardrails[i]) ? null : own
      );
      const limits = experiment.guardrails.map((g) =>
        shownInWords(experiment, g) + (where && !isOverSegments(experiment, g) ? ` · shown: ${where}` : "")
      );
      parts.proof.update(experiment.guardrails, certificate, estimates, limits);
    }
    const other = policy ? policy.filter((p) => !p.safe).reduce((sum, p) => sum + p.probability, 0) : 0;
    const shares = `: ${percent(1 - other)} safe, ${percent(other)} something else`;
    const past = (drawnAnew(experiment) && !one) || experiment.status === "archived";
    const drawn = past ? "The last decision was" : `The next decision${one ? " here" : ""} is`;
    setText(parts.note, policy ? `${drawn} drawn from this${shares}.` : "");
    if (parts.arms) parts.arms.update(experiment, state);
  }

  const live = poll(async (signal) => {
    try {
      const experiment = await api.experiment(name, signal);
      if (!parts) build(experiment);
      // Everything else follows from the log: if its number is the same, so is the rest.
      if (experiment.number !== seen || Date.now() - full > 20000) {
        // Before the answers: whoever asks for a refresh meanwhile is heard.
        full = Date.now();
        const wanted = parts.picker ? parts.picker.at(rows).name : undefined;
        const [now, history, recent, changes, segments, lift, health] = await Promise.all([
          api.state(name, signal),
          api.history(name, wanted, signal),
          api.decisions(name, parts.decisions.limit, null, signal),
          api.changes(name, parts.changes.limit, signal),
          parts.segments && parts.segments.read(signal),
          api.lift(name, signal),
          api.health(name, signal),
        ]);
        state = now;
        rows = segments;
        if (parts.segments) parts.segments.update(segments);
        const at = parts.picker && parts.picker.at(segments);
        if (!at || at.name === wanted) parts.charts.update(history, now, at);
        parts.decisions.update(recent.decisions);
        parts.changes.update(changes.changes);
        parts.trust.update(health);
        parts.worth.update(lift, history);
        seen = experiment.number;
      }
      update(experiment);
    } catch (error) {
      full = 0;
      if (!parts && error.status && error.status !== 401) wait.fail(error);
      throw error;
    }
  });

  return {
    node,
    title: name,
    role: () => {
      full = 0;
      live.now();
    },
    destroy: () => {
      live.stop();
      if (parts) [parts.charts, parts.worth].forEach((part) => part.destroy());
    },
  };
}
