// The charts of one experiment: reward, every guardrail, prices, decisions per minute. A live chart is a uPlot that is
// made once and then only given new data.

import { h, setText, show } from "./dom.js";
import { clip, num } from "./format.js";
import { directionOf } from "./direction.js";
import { decisionInWords, isOverSegments, shownInWords } from "./words.js";
import { colour, onTheme } from "./theme.js";

const MINUTES = [1, 2, 5, 10, 15, 30, 60, 120, 360, 720, 1440, 2880, 10080, 43200].map((m) => m * 60);
const SECONDS = [1, 2, 5, 10, 15, 30, ...MINUTES];
const two = (v) => String(v).padStart(2, "0");

function moment(time, dated) {
  const date = new Date(time * 1000);
  const day = dated ? `${date.toLocaleDateString(undefined, { month: "short", day: "numeric" })} ` : "";
  return `${day}${two(date.getHours())}:${two(date.getMinutes())}${dated ? "" : `:${two(date.getSeconds())}`}`;
}

// Times on a 24-hour clock, with the day once the ticks are days apart.
function timeTicks(_u, splits, _axis, _space, step) {
  return splits.map((s) => {
    const d = new Date(s * 1000);
    if (step >= 86400) return d.toLocaleDateString(undefined, { month: "short", day: "numeric" });
    return `${two(d.getHours())}:${two(d.getMinutes())}${step < 60 ? `:${two(d.getSeconds())}` : ""}`;
  });
}

// The least and the greatest of what must be seen. Intervals begin as wide as the range, which would
// leave nothing of the rest: what came early is cut off, more of it for series that are only `wide`.
function extent(columns, series, whole) {
  const times = columns[0],
    first = times[0],
    last = times[times.length - 1];
  let low = Infinity,
    high = -Infinity;
  series.forEach((s, i) => {
    const since = first + (last - first) * (whole || s.always ? 0 : s.wide ? 0.4 : 0.12);
    columns[i + 1].forEach((value, at) => {
      if (value === null || value === undefined || (times[at] < since && at < times.length - 3)) return;
      low = Math.min(low, value);
      high = Math.max(high, value);
    });
  });
  return low > high ? null : [low, high];
}

// The range of what is drawn, with room above and below, and zero where it is near.
const yRange = (fromZero, state) => () => {
  if (!state.extent) return [0, 1];
  let [from, to] = state.extent;
  const limit = state.limit;
  if (fromZero) return [0, to > 0 ? to * 1.12 : 1];
  // A cost that must stay low is seen as a part of what is allowed: from zero.
  if (limit && !limit.low && from > 0) from = 0;
  if (!(to > from)) {
    const room = Math.abs(to) * 0.1 || 0.5;
    from -= room;
    to += room;
  }
  const room = (to - from) * 0.08;
  if (limit) {
    const label = (to - from) * 0.17;
    if (limit.low && limit.value - label < from - room) return [limit.value - label, to + room];
    if (!limit.low && limit.value + label > to + room) to = limit.value + label - room;
  }
  return [from > 0 && (from - room < 0 || from < 0.35 * to) || (from === 0 && limit) ? 0 : from - room, to + room];
};

// Bars stand for minutes, of which a few are shown even when there was only one.
const xRange = (bars) => (u) => {
  const times = u.data[0],
    first = times[0],
    last = times[times.length - 1];
  if (bars) return [Math.min(first - 40, last - 9 * 60), last + 40];
  return first === last ? [first - 30, last + 30] : [first, last];
};

// Areas behind the curves: where a guardrail forbids to be, and when the safe action was forced.
function backdrop(u, chart) {
  const { ctx, bbox } = u;
  ctx.save();
  const spans = chart.forced || [];
  ctx.fillStyle = colour("--forced-area");
  for (const [from, to] of spans) {
    const a = Math.max(bbox.left, u.valToPos(from, "x", true));
    const b = Math.min(bbox.left + bbox.width, u.valToPos(to, "x", true));
    ctx.fillRect(a, bbox.top, Math.max(1, b - a), bbox.height);
  }
  if (chart.limit) {
    const y = Math.min(bbox.top + bbox.height, Math.max(bbox.top, u.valToPos(chart.limit.value, "y", true)));
    ctx.fillStyle = colour("--forbidden-area");
    if (chart.limit.low) ctx.fillRect(bbox.left, y, bbox.width, bbox.top + bbox.height - y);
    else ctx.fillRect(bbox.left, bbox.top, bbox.width, y - bbox.top);
  }
  ctx.restore();
}

function limitLabel(u, limit) {
  const { ctx, bbox } = u,
    dense = devicePixelRatio || 1;
  const y = u.valToPos(limit.value, "y", true);
  // On the forbidden side, where no curve should be, and for which the range leaves room.
  const at = limit.low ? y + 13 * dense : y - 5 * dense;
  ctx.save();
  ctx.font = `${11 * dense}px ${getComputedStyle(document.body).fontFamily}`;
  ctx.textAlign = "left";
  ctx.lineJoin = "round";
  ctx.lineWidth = 3 * dense;
  ctx.strokeStyle = colour("--paper");
  ctx.fillStyle = colour("--threshold");
  ctx.strokeText(limit.label, bbox.left + 5 * dense, at);
  ctx.fillText(limit.label, bbox.left + 5 * dense, at);
  ctx.restore();
}

function legendItem(series) {
  const value = h("b");
  const mark = h("i", { class: `mark ${series.mark || "line"}`, "aria-hidden": "true" });
  mark.style.color = `var(${series.colour})`;
  return { node: h("span", null, mark, `${series.label} `, value), value };
}

// spec: { title, testid, note, series: [{ label, colour, dash, width, bars, step, hidden, mark, wide, always, spanning }], bands: [[upper, lower, colour]],
// fromZero, bars, limit }. The columns given to `update` are in the order of the series, after the times.
export function makeChart(spec) {
  const state = { forced: [], limit: spec.limit || null, extent: null };
  const place = h("div", { class: "plot" });
  const when = h("span", { class: "when" });
  const items = spec.series.map((series) => (series.label ? legendItem(series) : null));
  const forcedKey = legendItem({ label: "safe action forced", mark: "area", colour: "--warn" }).node;
  const legend = h(
    "div",
    { class: "readout" },
    when,
    items.map((item) => item && item.node),
    forcedKey,
  );
  const where = h("span"),
    empty = h("p", { class: "empty" });
  const node = h(
    "figure",
    { class: "chart", "data-testid": spec.testid },
    h("figcaption", null, h("h3", null, spec.title, where), spec.note ? h("span", { class: "note" }, spec.note) : null),
    place,
    empty,
    legend,
  );
  let plot = null,
    data = null;

  const say = (u) => {
    const index = u.cursor.idx ?? u.data[0].length - 1;
    const time = u.data[0][index];
    setText(when, time === undefined ? "" : moment(time, time - u.data[0][0] > 43200));
    items.forEach(
      (item, i) =>
        item &&
        setText(item.value, spec.series[i].read ? spec.series[i].read(u.data, index) : num(u.data[i + 1][index])),
    );
  };

  const width = () => Math.max(220, Math.floor(place.clientWidth));
  function make() {
    const axis = {
      stroke: () => colour("--quiet"),
      font: `11px ${getComputedStyle(document.body).fontFamily}`,
      grid: { stroke: () => colour("--faint"), width: 1 },
      ticks: { show: false },
    };
    const series = spec.series.map((s) => ({
      stroke: () => (s.hidden ? "transparent" : colour(s.colour)),
      width: s.hidden ? 0 : (s.width ?? 1.8),
      dash: s.dash,
      spanGaps: Boolean(s.spanning),
      fill: s.bars ? () => colour(s.colour) + (s.solid ? "" : "66") : undefined,
      paths: s.bars
        ? uPlot.paths.bars({ size: [0.7, 34], radius: 0.1 })
        : s.step
        ? uPlot.paths.stepped({ align: 1 })
        : undefined,
      points: { show: (u) => !s.hidden && !s.bars && u.data[0].length < 4, size: 6, fill: () => colour(s.colour) },
    }));
    plot = new uPlot(
      {
        width: width(),
        height: spec.height || 200,
        legend: { show: false },
        padding: [8, 28, 0, 0],
        series: [{}, ...series],
        bands: (spec.bands || []).map(([upper, lower, name]) => ({
          series: [upper + 1, lower + 1],
          fill: () => colour(name) + "30",
        })),
        axes: [
          Object.assign({}, axis, { values: timeTicks, space: 64, size: 28, incrs: spec.bars ? MINUTES : SECONDS }),
          Object.assign({}, axis, { values: (_u, splits) => splits.map(num), size: 50, space: 32 }),
        ],
        scales: {
          x: { time: true, range: xRange(spec.bars) },
          y: { range: yRange(spec.fromZero, state) },
        },
        cursor: {
          drag: { x: false, y: false },
          y: false,
          sync: { key: "banister", scales: ["x", null] },
          points: { size: 6 },
        },
        hooks: {
          drawAxes: [(u) => backdrop(u, state)],
          draw: [(u) => state.limit && limitLabel(u, state.limit)],
          setCursor: [say],
        },
      },
      data,
      place,
    );
    say(plot);
  }

  const resized = new ResizeObserver(() => {
    if (plot && place.clientWidth && plot.width !== width()) plot.setSize({ width: width(), height: plot.height });
  });
  resized.observe(place);
  const offTheme = onTheme(() => plot && plot.redraw(false));
  return {
    node,
    // `within`: the segment that it shows, after the title; `reason`: why nothing is drawn.
    update(columns, { forced, limit, within, reason } = {}) {
      data = columns;
      setText(where, within ? ` ${within}` : "");
      setText(empty, reason || "Nothing to draw yet.");
      state.forced = forced || [];
      if (limit !== undefined) state.limit = limit;
      const some = columns[0].length > 0;
      show(empty, !some);
      show(place, some);
      show(legend, some);
      if (!some) return;
      state.extent = extent(columns, spec.series, spec.fromZero);
      show(forcedKey, state.forced.length > 0);
      items.forEach((item, i) => item && show(item.node, columns[i + 1].some((v) => v !== null)));
      if (!plot) make();
      else {
        plot.setData(columns);
        say(plot);
      }
    },
    destroy() {
      resized.disconnect();
      offTheme();
      if (plot) plot.destroy();
    },
  };
}

const PALETTE = ["--c1", "--c2", "--c3", "--c4", "--c5", "--c6"];
const DASHES = [undefined, [7, 4], [2, 3], [9, 3, 2, 3]];
export const seconds = (time) => Date.parse(time) / 1000;
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

// An estimate in its band, and what it is compared with.
export const bandChart = (title, note, compared) =>
  makeChart({
    title,
    testid: `chart-${title.toLowerCase()}`,
    note,
    series: [
      { label: "interval", hidden: true, colour: "--c1", mark: "area", wide: true, read: band },
      { hidden: true, colour: "--c1", wide: true },
      { label: "estimate", colour: "--c1", width: 2.2, spanning: true },
      { label: compared, colour: "--c5", dash: [6, 4], width: 1.5, mark: "dashed", always: true },
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
  const earning = `what one ${decisionInWords(experiment)} of the policy earns on average`,
    reward = bandChart("Reward", earning, "safe arm alone"),
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
