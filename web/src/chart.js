// One live chart: a uPlot that is made once and then only given new data.

import { h, setText, show } from "./dom.js";
import { num } from "./format.js";
import { colour, onTheme } from "./theme.js";

const two = (v) => String(v).padStart(2, "0");

// Times on a 24-hour clock, with the day once the ticks are days apart.
function timeTicks(u, splits, axis, space, step) {
  return splits.map((s) => {
    const d = new Date(s * 1000);
    if (step >= 86400) return d.toLocaleDateString(undefined, { month: "short", day: "numeric" });
    return `${two(d.getHours())}:${two(d.getMinutes())}${step < 60 ? `:${two(d.getSeconds())}` : ""}`;
  });
}

// The range of what is drawn, with room above and below, and zero where it is near.
const yRange = (fromZero, state) => (u, low, high) => {
  if (low === null || high === null) return [0, 1];
  if (fromZero) return [0, high > 0 ? high * 1.12 : 1];
  let [from, to] = [low, high];
  if (!(to > from)) {
    const room = Math.abs(to) * 0.1 || 0.5;
    from -= room;
    to += room;
  }
  const room = (to - from) * 0.08,
    limit = state.limit;
  if (limit) {
    const label = (to - from) * 0.17;
    if (limit.low && limit.value - label < from - room) return [limit.value - label, to + room];
    if (!limit.low && limit.value + label > to + room) to = limit.value + label - room;
  }
  return [from >= 0 && from - room < 0 ? 0 : from - room, to + room];
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

// spec: { title, testid, note, series: [{ label, colour, dash, width, bars, step, hidden, mark }], bands: [[upper, lower, colour]],
// fromZero, bars, limit }. The columns given to `update` are in the order of the series, after the times.
export function makeChart(spec) {
  const state = { forced: [], limit: spec.limit || null };
  const place = h("div", { class: "plot" });
  const when = h("span", { class: "when" });
  const items = spec.series.map((series) => (series.label ? legendItem(series) : null));
  const legend = h(
    "div",
    { class: "readout" },
    when,
    items.map((item) => item && item.node),
  );
  const empty = h("p", { class: "empty" }, "Nothing to draw yet.");
  const node = h(
    "figure",
    { class: "chart", "data-testid": spec.testid },
    h("figcaption", null, h("h3", null, spec.title), spec.note ? h("span", { class: "note" }, spec.note) : null),
    place,
    empty,
    legend,
  );
  let plot = null,
    data = null;

  const say = (u) => {
    const index = u.cursor.idx ?? u.data[0].length - 1;
    const time = u.data[0][index];
    setText(when, time === undefined ? "" : new Date(time * 1000).toLocaleTimeString(undefined, { hour12: false }));
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
      spanGaps: false,
      fill: s.bars ? () => colour(s.colour) + (s.solid ? "" : "66") : undefined,
      paths: s.bars
        ? uPlot.paths.bars({ size: [0.7, 18], radius: 0.1 })
        : s.step
          ? uPlot.paths.stepped({ align: 1 })
          : undefined,
      points: { show: (u) => !s.hidden && !s.bars && u.data[0].length < 2, size: 5 },
    }));
    plot = new uPlot(
      {
        width: width(),
        height: spec.height || 190,
        legend: { show: false },
        padding: [8, 18, 0, 0],
        series: [{}, ...series],
        bands: (spec.bands || []).map(([upper, lower, name]) => ({
          series: [upper + 1, lower + 1],
          fill: () => colour(name) + "30",
        })),
        axes: [
          Object.assign({}, axis, { values: timeTicks, space: 64, size: 28 }),
          Object.assign({}, axis, { values: (u, splits) => splits.map(num), size: 50, space: 32 }),
        ],
        scales: {
          x: { time: true, range: (u, from, to) => (from === to || spec.bars ? [from - 30, to + 30] : [from, to]) },
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
    update(columns, { forced, limit } = {}) {
      data = columns;
      state.forced = forced || [];
      if (limit !== undefined) state.limit = limit;
      const some = columns[0].length > 0;
      show(empty, !some);
      show(place, some);
      show(legend, some);
      if (!some) return;
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
