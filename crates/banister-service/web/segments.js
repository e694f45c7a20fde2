// The policy in every segment: a matrix of segments and arms, and the choice of the segment that charts show.

import { button, h, panel, renderOnce, setAttr, setText, show, syncList } from "./dom.js";
import { count, interval, num, percent } from "./format.js";
import { api } from "./api.js";
import { attempt } from "./dialog.js";
import { directionOf } from "./direction.js";
import { isOverSegments } from "./words.js";

const FIRST_SEGMENTS = 50,
  SEGMENTS_AT_ONCE = 500;
const POOL = "all others";

const estimatesInWords = (row, arm, guardrails) =>
  [
    `${arm.name} in ${row.name === null ? POOL : row.name}: ${percent(arm.probability)}`,
    arm.pulls === null ? null : `${count(arm.pulls)} outcomes`,
    `reward ${interval(arm.reward)}`,
    ...guardrails.map((g, i) => `${g.name} ${interval(arm.guardrails[i])}`),
  ]
    .filter(Boolean)
    .join("\n");

function segmentRow(guardrails, arms) {
  const name = h("span", { class: "clip" }),
    held = h("span", { class: "note clip" }),
    best = h("span", { class: "tag" });
  const share = h("td", { class: "number", "data-label": "frequency" });
  const cells = arms.map((arm) => h("td", { class: "number share", "data-label": arm.name }));
  const costs = guardrails.map((g) => h("td", { class: "number", "data-label": g.name }));
  const prices = guardrails.map((g) => h("td", { class: "number", "data-label": `price of ${g.name}` }));
  const node = h(
    "tr",
    null,
    h("th", { scope: "row" }, name, " ", best, held),
    share,
    cells,
    guardrails.map((_, i) => [costs[i], prices[i]]),
  );
  return {
    node,
    update({ row, dearest }) {
      const pool = row.name === null;
      setText(name, pool ? POOL : row.name);
      setAttr(name, "title", pool ? "segments that are not told apart yet share one policy" : row.name);
      const listed = (row.pooled || []).join(", ");
      show(held, listed !== "");
      setText(held, listed);
      setAttr(held, "title", listed);
      setAttr(node, "class", pool ? "pool" : null);
      setText(share, percent(row.frequency));
      setAttr(share, "title", `${count(row.contexts)} decisions`);
      const own = new Map(row.arms.map((arm) => [arm.name, arm]));
      arms.forEach(({ name: of }, i) => {
        const arm = own.get(of);
        const p = arm ? arm.probability : 0;
        setText(cells[i], p > 0 ? percent(p) : "·");
        cells[i].style.setProperty("--p", String(Math.round(100 * p)));
        setAttr(cells[i], "title", arm ? estimatesInWords(row, arm, guardrails) : null);
      });
      row.guardrails.forEach((g, i) => {
        const limited = g.scope === "each";
        const sign = directionOf(guardrails[i]).low ? "≥" : "≤";
        setText(costs[i], limited ? `${num(g.pessimistic_cost)} ${sign} ${num(g.threshold)}` : num(g.pessimistic_cost));
        setText(prices[i], num(g.price).replace(/^0$/, "–"));
        setAttr(prices[i], "title", `reward for one more unit of ${g.name}, spent here`);
      });
      show(best, dearest.length > 0);
      setText(best, `more ${dearest.join(", ")} here`);
      setAttr(best, "title", "of the segments shown, this is where a little more of it earns most");
    },
  };
}

// A choice among all segments together, those told apart, the pool, and segments in it. `at(page)` is what was chosen:
// { all, pool, name, row, own, words }, where `row` has its policy, and `own` is that row if it is the segment's alone.
export function segmentPicker(changed) {
  const select = h("select", { id: "segment-picker", "data-testid": "segment-picker", onchange: () => changed() });
  const option = (value, text) => h("option", { value }, text);
  return {
    node: h("p", { class: "picker" }, h("label", { for: select.id }, "Segment shown"), select),
    at(page) {
      const rows = page ? page.segments : [],
        chosen = select.value || "all";
      const name = chosen.startsWith("=") ? chosen.slice(1) : undefined;
      const pool = rows.find((row) => row.name === null);
      // By name, since their order by frequency changes all the time.
      const apart = rows.filter((row) => row.name !== null).map((row) => row.name).sort(),
        pooled = [...((pool && pool.pooled) || [])].sort(),
        hidden = page ? page.total - rows.length : 0;
      if (name !== undefined && !apart.includes(name) && !pooled.includes(name)) pooled.push(name);
      renderOnce(select, [apart, pooled, hidden], () => [
        option("all", "all segments together"),
        h("optgroup", { label: "with a policy of their own" }, apart.map((own) => option(`=${own}`, own))),
        hidden > 0 ? h("option", { disabled: true }, `${count(hidden)} more: “Show all” in the table below`) : null,
        h(
          "optgroup",
          { label: "sharing one policy" },
          option("pool", POOL),
          pooled.map((own) => option(`=${own}`, own)),
        ),
      ]);
      select.value = chosen;
      const own = chosen === "pool" ? pool : rows.find((row) => row.name === name);
      const words = name !== undefined ? `in ${name}` : chosen === "pool" ? `in ${POOL}` : "over all segments";
      return { all: chosen === "all", pool: chosen === "pool", name, own, row: own || pool, words };
    },
  };
}

// The state as it is in one segment.
export function stateIn(experiment, state, row) {
  const { certificate } = state;
  // Whatever forces the safe action does so everywhere.
  if (certificate && certificate.fallback) return { ...state, estimates: row.estimates };
  const policy = row.arms
    .map((arm, index) => ({ ...arm, action: arm.name, index, safe: arm.name === experiment.safe }))
    .filter((arm) => arm.probability > 0);
  const isSafe = policy.every((arm) => arm.safe);
  const guardrails = experiment.guardrails.map((g, i) => {
    const { pessimistic_cost, threshold, price } = row.guardrails[i];
    if (!certificate || isOverSegments(experiment, g)) return certificate && certificate.guardrails[i];
    const excess = (directionOf(g).low ? -1 : 1) * (pessimistic_cost - threshold);
    // The safe arm is declared to keep it, whatever its interval says.
    const cost = isSafe && excess > 0 ? threshold : pessimistic_cost;
    return {
      ...certificate.guardrails[i],
      pessimistic_cost: cost,
      threshold,
      price,
      slack: Math.abs(threshold - cost),
    };
  });
  return { ...state, policy, certificate: certificate && { ...certificate, guardrails }, estimates: row.estimates };
}

export function segmentsPanel(context, experiment) {
  const guardrails = experiment.guardrails;
  const arms = experiment.arms.filter((arm) => arm.offered);
  const head = (text, title) => h("th", { scope: "col", class: "number", title }, h("span", { class: "clip" }, text));
  const body = h("tbody");
  const table = h(
    "table",
    { class: "segments", "data-testid": "segments-table" },
    h(
      "thead",
      null,
      h(
        "tr",
        null,
        h("th", { scope: "col" }, "segment"),
        head("frequency", "share of all decisions"),
        arms.map((arm) => head(arm.name, arm.name)),
        guardrails.map((g) => [
          head(
            g.name,
            g.scope === "each"
              ? `most that ${g.name} may be here on average, as far as the data allow, against its threshold`
              : `most that ${g.name} may be here on average, as far as the data allow; only the mean over all segments is limited`,
          ),
          head("price", `reward for one more unit of ${g.name}: where it is highest, more budget is best spent`),
        ]),
      ),
    ),
    body,
  );
  const summary = h("p", { class: "note" });
  let wanted = FIRST_SEGMENTS,
    last = null;
  const more = button("", () =>
    attempt(async () => {
      wanted = Infinity;
      render(await read());
    }), { class: "more", "data-testid": "all-segments" });
  const node = panel(
    "Policy by segment",
    { hidden: true },
    summary,
    h(
      "div",
      { class: "table scrolls matrix", tabindex: "0", role: "region", "aria-label": "Policy by segment" },
      table,
    ),
    more,
  );

  // The first ones and the pool, which is the last.
  async function read(signal) {
    const page = await api.segments(context.name, 0, FIRST_SEGMENTS, signal);
    const rows = page.segments;
    while (rows.length < Math.min(wanted, page.total)) {
      rows.push(...(await api.segments(context.name, rows.length, SEGMENTS_AT_ONCE, signal)).segments);
    }
    if (rows.length < page.total) {
      rows.push(...(await api.segments(context.name, page.total - 1, 1, signal)).segments);
    }
    return { ...page, segments: rows };
  }

  function render(page) {
    last = page;
    // Where the price of a guardrail is highest, a little more of it earns most.
    const dearest = (row) =>
      guardrails
        .filter((_, i) => {
          const prices = page.segments.map((other) => other.guardrails[i].price);
          const most = Math.max(...prices);
          return row.guardrails[i].price === most && prices.some((price) => price < most * 0.999);
        })
        .map((g) => g.name);
    syncList(
      body,
      page.segments.map((row) => ({ row, dearest: dearest(row) })),
      ({ row }) => (row.name === null ? "pool" : `segment ${row.name}`),
      () => segmentRow(guardrails, arms),
    );
    const hidden = page.total - page.segments.length;
    setText(
      summary,
      `${count(page.total - 1)} told apart, the most frequent first; all others share one policy. ` +
        (page.segments.length > 12 ? `${count(page.segments.length)} rows: scroll for all. ` : "") +
        "The darker a cell, the more often its arm is drawn.",
    );
    show(more, hidden > 0);
    setText(more, `Show all ${count(page.total - 1)} segments`);
    show(node, true);
  }

  return {
    node,
    read,
    update: (page) => page && page !== last && render(page),
  };
}
