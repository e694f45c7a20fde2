// Draws each figure's JSON with uPlot, in place of its static drawing.
(function () {
  "use strict";
  const root = document.documentElement;
  const charts = [];

  const style = (name) => getComputedStyle(root).getPropertyValue(name).trim();
  const element = (tag, className, text) => {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  };

  // "250k", "1.5M", "0.025": short enough for ticks.
  const units = [[1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const tick = (value, largest) => {
    if (value === 0) return "0";
    if (Math.abs(value) < 1e-4) return value.toPrecision(2);
    const unit = largest >= 1e4 && units.find((u) => Math.abs(value) >= u[0] * 0.9999);
    const [size, suffix] = unit || [1, ""];
    return String(parseFloat((value / size).toPrecision(6))).replace("-", "−") + suffix;
  };
  const ticks = (_u, values) => {
    const largest = Math.max(...values.map((v) => Math.abs(v || 0)));
    return values.map((v) => (v === null ? "" : tick(v, largest)));
  };
  const number = (v) => Math.abs(v) >= 1000 ? Math.round(v).toLocaleString("en") : String(parseFloat(v.toPrecision(4)));

  // On a logarithmic axis whole powers of ten are enough if there are two of them, else 1, 2 and 5
  // of each.
  const powers = (_u, splits) => {
    const leads = (v, digits) => {
      const part = Math.log10(v) - Math.floor(Math.log10(v) + 1e-9);
      return digits.some((d) => Math.abs(part - Math.log10(d)) < 1e-6);
    };
    const wanted = splits.filter((v) => leads(v, [1])).length < 2 ? [1, 2, 5] : [1];
    return splits.map((v) => (leads(v, wanted) ? v : null));
  };
  const powered = (log) => (log ? { filter: powers } : {});

  // The range of the visible curves and of the lines they are compared with.
  const range = (panel) => (_u, low, high) => {
    const all = panel.lines.map((line) => line.y);
    if (low !== null) all.push(low, high);
    if (!all.length) return panel.y_log ? [1, 10] : [0, 1];
    let from = Math.min(...all), to = Math.max(...all);
    if (panel.y_log) return from < to ? [from / 1.2, to * 1.2] : [from / 3, to * 3];
    if (panel.y_from_zero && from > 0) from = 0;
    if (!(to > from)) {
      const room = Math.abs(to) * 0.1 || 1;
      from -= room;
      to += room;
    }
    const room = (to - from) * (panel.lines.length ? 0.12 : 0.05);
    return [from >= 0 ? Math.max(0, from - room) : from - room, to + room];
  };

  const drawLines = (panel) => (u) => {
    const { ctx, bbox } = u, dense = devicePixelRatio || 1;
    ctx.save();
    ctx.font = `${11 * dense}px ${getComputedStyle(document.body).fontFamily}`;
    ctx.textAlign = "right";
    const heights = panel.lines.map((line) => u.valToPos(line.y, "y", true));
    panel.lines.forEach((line, i) => {
      const y = Math.round(heights[i]);
      const color = style(line.threshold ? "--threshold" : "--optimum");
      ctx.strokeStyle = ctx.fillStyle = color;
      ctx.lineWidth = 1.4 * dense;
      ctx.setLineDash((line.threshold ? [7, 4] : [1.5, 3]).map((d) => d * dense));
      ctx.beginPath();
      ctx.moveTo(bbox.left, y);
      ctx.lineTo(bbox.left + bbox.width, y);
      ctx.stroke();
      // Of two neighbouring lines the lower one has its label below.
      const crowded = heights.some((h, j) => j !== i && h < heights[i] && heights[i] - h < 18 * dense);
      const at = crowded ? y + 13 * dense : y - 6 * dense;
      ctx.setLineDash([]);
      ctx.lineJoin = "round";
      ctx.lineWidth = 3 * dense;
      ctx.strokeStyle = style("--paper");
      ctx.strokeText(line.label, bbox.left + bbox.width - 4 * dense, at);
      ctx.fillText(line.label, bbox.left + bbox.width - 4 * dense, at);
    });
    ctx.restore();
  };

  // The value at an index, or the nearest one where this curve has no point.
  const near = (values, index) => {
    for (let d = 0; d < values.length; d++) {
      if (values[index - d] != null) return values[index - d];
      if (values[index + d] != null) return values[index + d];
    }
    return null;
  };

  // More curves than colours cannot be told by a dot: then the nearest few are named.
  const COLORS = 7, NAMED = 4;

  const readout = (panel, target, hidden) => (u) => {
    if (!panel.x.length) return;
    const many = panel.series.length > COLORS;
    target.replaceChildren();
    if (many && u.cursor.idx == null) {
      target.append(element("span", "", "Point at a curve to see its name."));
      return;
    }
    // Without a cursor: where the curves end.
    const index = u.cursor.idx ?? panel.x.length - 1;
    target.append(element("span", "", `${panel.x_label || "x"} ${number(panel.x[index])}`));
    let shown = panel.series.filter((series) => !hidden.has(series.name))
      .map((series) => ({ series, value: near(series.y, index) }))
      .filter((entry) => entry.value !== null);
    if (many) {
      const away = (entry) => Math.abs(u.valToPos(entry.value, "y") - u.cursor.top);
      shown = shown.sort((a, b) => away(a) - away(b)).slice(0, NAMED)
        .sort((a, b) => b.value - a.value);
    }
    shown.forEach(({ series, value }) => {
      const item = element("span"), dot = element("i");
      dot.style.background = series.color;
      item.append(dot, (many ? series.name + " " : "") + number(value));
      item.title = series.name;
      target.append(item);
    });
  };

  function draw(panel, cell, sync, hidden) {
    cell.append(element("div", "name", panel.title));
    const place = element("div"), values = element("div", "readout");
    cell.append(place, values);
    const say = readout(panel, values, hidden);
    const data = [panel.x], series = [{}], bands = [], names = [null];
    const add = (name, y, options) => {
      names.push(name);
      data.push(y);
      series.push(Object.assign({ spanGaps: true, points: { show: false } }, options));
      return series.length - 1;
    };
    panel.series.forEach((s) => {
      if (!s.low) return;
      const edge = { stroke: "transparent", width: 0 };
      bands.push({
        series: [add(s.name, s.high, edge), add(s.name, s.low, edge)],
        fill: s.color + (panel.series.length > COLORS ? "1a" : "33"),
      });
    });
    panel.series.forEach((s) =>
      add(s.name, s.y, {
        stroke: s.color,
        width: 1.8,
        dash: s.dash.length ? s.dash : undefined,
        points: { show: s.points, size: 6, fill: s.color },
      })
    );
    const axis = {
      stroke: () => style("--quiet"),
      font: "11px " + getComputedStyle(document.body).fontFamily,
      values: ticks,
    };
    const grid = Object.assign({ stroke: () => style("--faint"), width: 1 }, powered(panel.y_log));
    const marks = Object.assign({ stroke: () => style("--quiet"), width: 1, size: 4 }, powered(panel.x_log));
    const first = panel.x[0], last = panel.x[panel.x.length - 1];
    const whole = [first > 0 && first < 0.1 * last ? 0 : first, last];
    const size = () => ({ width: Math.max(220, cell.clientWidth), height: 210 });
    const u = new uPlot(
      Object.assign(size(), {
        series,
        bands,
        legend: { show: false },
        scales: {
          // The whole axis starts at zero; a stretch selected with the mouse is shown as it is.
          x: {
            time: false,
            distr: panel.x_log ? 3 : 1,
            range: (_u, low, high) =>
              panel.x_log || low !== first || high !== last || !(last > first) ? [low, high] : whole,
          },
          y: { distr: panel.y_log ? 3 : 1, range: range(panel) },
        },
        axes: [
          Object.assign({ grid: { show: false }, ticks: marks, size: 30, space: 60 }, axis, powered(panel.x_log)),
          Object.assign(
            {
              grid,
              ticks: { show: false },
              space: 38,
              gap: 6,
              label: panel.y_label || undefined,
              labelSize: 18,
              labelFont: axis.font,
              size: (_u, texts) => 14 + 6.6 * Math.max(5, ...(texts || []).map((t) => (t || "").length)),
            },
            axis,
            powered(panel.y_log),
          ),
        ],
        cursor: { y: false, sync: { key: sync.key, setSeries: false }, points: { size: 6 } },
        hooks: { draw: [drawLines(panel)], ready: [say], setCursor: [say], setSeries: [say] },
      }),
      data,
      place,
    );
    sync.sub(u);
    charts.push(u);
    new ResizeObserver(() => {
      const next = size();
      if (next.width !== u.width) u.setSize(next);
    }).observe(cell);
    return (name, shown) => names.forEach((n, i) => n === name && u.setSeries(i, { show: shown }));
  }

  // A stretch of the curve, with its dashes.
  function swatch(entry) {
    const space = "http://www.w3.org/2000/svg";
    const sample = document.createElementNS(space, "svg"), line = document.createElementNS(space, "line");
    const set = (node, values) => Object.entries(values).forEach(([k, v]) => node.setAttribute(k, v));
    set(sample, { width: 28, height: 6, "aria-hidden": "true" });
    set(line, {
      x1: 0,
      x2: 28,
      y1: 3,
      y2: 3,
      stroke: entry.color,
      "stroke-width": 2.6,
      "stroke-dasharray": entry.dash.join(" ") || "none",
    });
    sample.append(line);
    return sample;
  }

  function show(figure, number) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const live = figure.querySelector(".live"), hidden = new Set(), toggles = [];
    live.hidden = false;
    const legend = element("div", data.legend.length > 8 ? "legend many" : "legend");
    live.append(legend);
    data.legend.forEach((entry) => {
      const button = element("button"), sample = swatch(entry);
      button.type = "button";
      button.setAttribute("aria-pressed", "true");
      button.append(sample, entry.name);
      button.addEventListener("click", () => {
        const shown = hidden.delete(entry.name);
        if (!shown) hidden.add(entry.name);
        button.setAttribute("aria-pressed", String(shown));
        toggles.forEach((toggle) => toggle(entry.name, shown));
      });
      legend.append(button);
    });
    const columns = Math.max(1, ...data.rows.map((row) => row.panels.length));
    data.rows.forEach((row, i) => {
      if (row.label) live.append(element("h4", "", row.label));
      const line = element("div", "row");
      line.style.setProperty("--columns", Math.min(columns, 3));
      live.append(line);
      const sync = uPlot.sync(`${number}-${i}`);
      row.panels.forEach((panel) => {
        const cell = element("div", "chart");
        line.append(cell);
        toggles.push(draw(panel, cell, sync, hidden));
      });
    });
    figure.querySelector(".static").hidden = true;
  }

  const fail = (figure, error) => {
    root.dataset.error = String(error && error.message || error);
    if (!figure) return;
    figure.querySelector(".live").hidden = true;
    figure.querySelector(".static").hidden = false;
  };
  addEventListener("error", (event) => fail(null, event.error || event.message));

  document.querySelectorAll("figure[data-charts]").forEach((figure, number) => {
    try {
      show(figure, number);
    } catch (error) {
      fail(figure, error);
    }
  });

  // What a cell is sorted by: its own value, else the number it starts with, else its text.
  const key = (cell) => {
    if (!cell) return null;
    if (cell.dataset.sort !== undefined) return cell.dataset.sort === "" ? null : Number(cell.dataset.sort);
    const text = cell.textContent.trim();
    if (!cell.classList.contains("number")) return text;
    const value = parseFloat(text.replace("−", "-").replace(/[,\s]/g, ""));
    return Number.isNaN(value) ? null : value;
  };
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number"
      ? a - b
      : String(a).localeCompare(String(b), "en", { numeric: true });

  document.querySelectorAll("table[data-sortable]").forEach((table) => {
    const body = table.tBodies[0], headings = [...table.tHead.rows[0].cells];
    headings.forEach((heading, column) => {
      // A button, so that the keyboard reaches it.
      const button = element("button", "sort");
      button.type = "button";
      button.append(...heading.childNodes);
      heading.append(button);
      button.addEventListener("click", () => {
        const down = heading.getAttribute("aria-sort") === "ascending";
        headings.forEach((other) => other.removeAttribute("aria-sort"));
        heading.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...body.rows].map((row) => ({ row, key: key(row.cells[column]) }));
        rows.sort((a, b) => {
          // What has no value stands last either way.
          if (a.key === null || b.key === null) return (a.key === null) - (b.key === null);
          return down ? compare(b.key, a.key) : compare(a.key, b.key);
        });
        body.append(...rows.map((entry) => entry.row));
      });
    });
  });

  root.dataset.drawn = String(charts.length);

  const redraw = () => charts.forEach((u) => u.redraw(false, true));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
})();
