// Numbers and times as people read them.

// What is left of a sum that is zero but for rounding.
const NOISE = 1e-12;
export const denoised = (value) => (Math.abs(value) < NOISE ? 0 : value);

// Four significant digits, no trailing zeros, a real minus sign.
export function num(value) {
  if (value === null || value === undefined || !Number.isFinite(Number(value))) return "–";
  const v = Number(value);
  if (Math.abs(v) < NOISE) return "0";
  const size = Math.abs(v);
  if (size >= 1e6 || size < 1e-4) return exponent(v);
  if (size >= 1000) return v.toLocaleString("en", { maximumFractionDigits: size >= 10000 ? 0 : 1 }).replace("-", "−");
  return String(parseFloat(v.toPrecision(4))).replace("-", "−");
}

// Two digits, for places too narrow for more.
export const brief = (value) => (Number.isFinite(value) ? num(Number(value.toPrecision(2))) : "–");

function exponent(v) {
  const [digits, power] = v.toExponential(3).split("e");
  return `${parseFloat(digits)}e${Number(power)}`.replaceAll("-", "−");
}

// Enough digits that two numbers that differ also look different: "0.09999 ≤ 0.1", not "0.1 ≤ 0.1".
export function apart(a, b) {
  for (let digits = 4; digits <= 12; digits++) {
    const [x, y] = [a, b].map((v) => String(parseFloat(Number(v).toPrecision(digits))).replace("-", "−"));
    if (x !== y || a === b) return digits === 4 ? [num(a), num(b)] : [x, y];
  }
  return [num(a), num(b)];
}

export const count = (value) => (value === null || value === undefined ? "–" : Number(value).toLocaleString("en"));

export function percent(p) {
  if (p === null || p === undefined) return "–";
  const v = p * 100;
  if (v === 0 || v === 100) return `${v}%`;
  if (v < 0.01) return "<0.01%";
  if (v > 99.99) return ">99.99%";
  return `${v < 1 ? parseFloat(v.toPrecision(2)) : v.toFixed(v > 99 || v < 10 ? 2 : 1)}%`;
}

// The level of confidence keeps all its digits: 99.99% is not 100%.
export const level = (p) => `${parseFloat((p * 100).toPrecision(10))}%`;

export const interval = (e) => (e ? `${num(e.mean)} in [${num(e.lower)}, ${num(e.upper)}]` : "–");

export const vector = (values) => (values ? `[${values.map(num).join(", ")}]` : "–");

export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  const units = [
    [86400, "d"],
    [3600, "h"],
    [60, "min"],
    [1, "s"],
  ];
  for (const [size, name] of units) {
    if (seconds >= size) return `${parseFloat((seconds / size).toPrecision(3))} ${name}`;
  }
  return `${num(seconds)} s`;
}

export function ago(time) {
  const seconds = (Date.now() - Date.parse(time)) / 1000;
  if (!Number.isFinite(seconds)) return "–";
  if (seconds < 2) return "just now";
  if (seconds < 60) return `${Math.floor(seconds)} s ago`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ago`;
  if (seconds < 86400 * 60) return `${Math.floor(seconds / 86400)} d ago`;
  return new Date(time).toLocaleDateString();
}

export function fullTime(time) {
  const date = new Date(time);
  return Number.isNaN(date.getTime()) ? String(time) : `${date.toLocaleString()} (${time})`;
}

export function clock(time) {
  const date = new Date(time);
  const two = (v) => String(v).padStart(2, "0");
  const day = Date.now() - date > 86400e3 ? `${date.toLocaleDateString()} ` : "";
  return `${day}${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}

// A time to come, with its day unless that is today.
export function futureTime(time) {
  const date = new Date(time);
  const isToday = date.toDateString() === new Date().toDateString();
  const hour = date.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return isToday ? hour : `${date.toLocaleDateString()} ${hour}`;
}

export function clip(text, length) {
  const letters = Array.from(String(text));
  return letters.length > length ? `${letters.slice(0, length - 1).join("")}…` : String(text);
}
