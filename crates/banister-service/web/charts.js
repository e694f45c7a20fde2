// The charts of one experiment: reward, every guardrail, prices, decisions per minute.

import { h } from "./dom.js";
import { clip, num } from "./format.js";
import { directionOf } from "./direction.js";
import { isOverSegments, shownInWords } from "./words.js";
import { makeChart } from "./chart.js";

const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
const DASHES = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];
const seconds = (time) => Date.parse(time) / 1000;
const band = (data, i) => `[${num(data[2][i])}, ${num(data[1][i])}]`;

// Stretches of time in which the safe action was forced.
function forcedSpans(points) {
  const spans = [];
  points.forEach((point, i) => {
    if (!point.forced) return;
    const from = seconds(point.time),
      to = i + 1 < points.length ? seconds(points[i + 1].time) : from;
    const last = spans[spans.length - 1];
    if (last && last[1] >= from) last[1] = to;
    else spans.push([from, to]);
  });
  return spans;
}

const rewardChart = () =>
  makeChart({
    title: "Reward",
    testid: "chart-reward",
    note: "what one decision of the policy earns on average",
    series: [
      { label: "interval", hidden: true, colour: "--c1", mark: "area", wide: true, read: band },
      { hidden: true, colour: "--c1", wide: true },
      { label: "estimate", colour: "--c1", width: 2.2, spanning: true },
      { label: "safe arm alone", colour: "--c5", dash: [6, 4], width: 1.5, mark: "dashed", always: true },
    ],
    bands: [[0, 1, "--c1"]],
  });

const guardrailChart = (experiment) => (guardrail) =>
  makeChart({
    title: clip(guardrail.name, 60),
    testid: `chart-guardrail-${guardrail.name}`,
    note: shownInWords(experiment, guardrail),
    series: [
      { label: "interval", hidden: true, colour: "--c2", mark: "area", wide: true, read: band },
      { hidden: true, colour: "--c2", wide: true },
      { label: "estimate", colour: "--c2", width: 2.2, spanning: true },
      { label: "threshold", colour: "--threshold", width: 1.8, mark: "line", always: true },
      { label: "pessimistic cost", colour: "--ink", width: 1.8, dash: [2, 3], mark: "dotted", spanning: true },
    ],
    bands: [[0, 1, "--c2"]],
  });

const priceChart = (guardrails) =>
  makeChart({
    title: "Price of each guardrail",
    testid: "chart-price",
    fromZero: true,
    note: "reward that one more unit of its threshold would be worth; 0: it holds nothing back",
    series: guardrails.map((g, i) => ({
      label: clip(g.name, 24),
      colour: PALETTE[(i + 1) % 6],
      dash: DASHES[i % 4],
      mark: ["line", "dashed", "dotted", "dashed"][i % 4],
      step: true,
    })),
  });

const rateChart = () =>
  makeChart({
    title: "Decisions per minute",
    testid: "chart-rate",
    fromZero: true,
    bars: true,
    note: "how many decisions were asked for, and how many outcomes came",
    series: [
      { label: "decisions", colour: "--c1", bars: true, width: 0, mark: "area" },
      { label: "of them forced", colour: "--threshold", bars: true, solid: true, width: 0, mark: "solid" },
      { label: "outcomes", colour: "--c3", width: 1.6 },
    ],
  });

// The service leaves out minutes in which nothing happened; a chart must not draw over them.
function everyMinute(rows) {
  if (!rows.length) return [[], [], [], []];
  const known = new Map(rows.map((row) => [Math.floor(seconds(row.time) / 60) * 60, row]));
  const last = Math.max(...known.keys()),
    first = Math.max(Math.min(...known.keys()), last - 239 * 60);
  const columns = [[], [], [], []];
  for (let t = first; t <= last; t += 60) {
    const row = known.get(t) || { decisions: 0, outcomes: 0, forced: 0 };
    [t, row.decisions, row.forced, row.outcomes].forEach((v, i) => columns[i].push(v));
  }
  return columns;
}

// The service records a point now and then; what is in force now comes last, at the time at which this
// page first saw it. It is left out where that would stretch the chart over a long silence.
function withNow(points, state, seen) {
  if (!state.arms.length || !state.estimates || !state.certificate) return points;
  if (seen.number !== state.number) Object.assign(seen, { number: state.number, time: state.time });
  const now = seconds(seen.time);
  if (points.length) {
    const [first, last] = [points[0], points[points.length - 1]].map((p) => seconds(p.time));
    if (now <= last || now - last > Math.max(10, (last - first) / 4)) return points;
  }
  const guardrails = state.certificate.guardrails.map((g, i) => Object.assign({}, g, state.estimates.guardrails[i]));
  const forced = Boolean(state.certificate.fallback);
  return [...points, { time: seen.time, reward: state.estimates.reward, guardrails, forced }];
}

export function chartsOf(experiment) {
  const reward = rewardChart(),
    price = experiment.guardrails.length ? priceChart(experiment.guardrails) : null,
    rate = rateChart();
  const rails = experiment.guardrails.map(guardrailChart(experiment)),
    seen = { number: null, time: null };
  const all = [reward, ...rails, price, rate].filter(Boolean);
  const row = (charts) =>
    h(
      "div",
      { class: "charts", tabindex: "0", role: "group", "aria-label": "Charts" },
      charts.map((chart) => chart && chart.node),
    );
  const node = h("section", { "aria-label": "Over time" }, row([reward, ...rails]), row([price, rate]));
  return {
    node,
    // `at`: the segment picked, where there are any. A certificate of scope `overall` is about all of them, whichever a
    // point is of; all else is about one, and the pool's points are of different ones.
    update(history, state, at) {
      const safe = at ? at.own && at.own.estimates.safe : state.arms.find((arm) => arm.safe)?.reward;
      const told = history.points || [];
      const points = !at ? withNow(told, state, seen) : at.pool ? told.filter((p) => p.segment.pooled) : told;
      const within = at ? at.words : "",
        estimated = !at || at.name !== undefined;
      const over = experiment.guardrails.map((g) => isOverSegments(experiment, g));
      const draw = (chart, columns, how, reason) =>
        chart.update(reason ? columns.map(() => []) : columns, { forced, within, ...how, reason });
      const times = points.map((p) => seconds(p.time)),
        forced = forcedSpans(points);
      const of = (read) =>
        points.map((p) => {
          const v = read(p);
          return v === undefined ? null : v;
        });
      draw(
        reward,
        [
          times,
          of((p) => p.reward?.upper),
          of((p) => p.reward?.lower),
          of((p) => p.reward?.mean),
          of(() => (safe ? safe.mean : null)),
        ],
        {},
        !estimated && `Every segment has a reward of its own: pick one${at.pool ? " that is in the pool" : ""}.`,
      );
      rails.forEach((chart, i) => {
        const get = (key, wanted = true) => of((p) => (wanted && p.guardrails[i] ? p.guardrails[i][key] : null));
        const own = (key) => get(key, estimated);
        // In one segment, what is limited is only its part.
        const part = at && !at.all && over[i];
        const thresholds = get("threshold", !part),
          value = thresholds[thresholds.length - 1];
        const { low, side } = directionOf(experiment.guardrails[i]);
        const limit = value === undefined || value === null ? null : { value, low, label: `must stay ${side}` };
        const costs = part ? of((p) => p.segment.costs[i]) : get("pessimistic_cost");
        draw(
          chart,
          [times, own("upper"), own("lower"), own("mean"), thresholds, costs],
          { limit },
          at && at.all && !over[i] && "It is kept in each segment for itself: pick one.",
        );
      });
      if (price) {
        const priced = over.map((all) => !at || all === Boolean(at.all));
        draw(
          price,
          [times, ...priced.map((own, i) => of((p) => (own && p.guardrails[i] ? p.guardrails[i].price : null)))],
          {},
          !priced.includes(true) &&
            (at.all
              ? "Every guardrail is kept in each segment for itself: pick one."
              : "Every guardrail is kept over all segments together: pick them all."),
        );
      }
      rate.update(everyMinute(history.per_minute || []), { within: at && "over all segments" });
    },
    destroy: () => all.forEach((chart) => chart.destroy()),
  };
}
