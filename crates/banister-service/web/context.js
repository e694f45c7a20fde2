// Contexts with names: what the fields take, in words and as inputs.

import { h } from "./dom.js";
import { num } from "./format.js";
import { labelled, numberOrText } from "./manage.js";

// A declared context has a number of numbers, or fields by name.
export const fieldsOf = (context) => (typeof context === "object" ? context : null);

export const contextInWords = (context) =>
  fieldsOf(context) ? `the fields ${Object.keys(context).join(", ")}` : `${context} numbers`;

// A context as a decision brought it.
export const rowInWords = (row) =>
  Object.entries(row)
    .map(([name, value]) => `${name}: ${value === null ? "missing" : typeof value === "number" ? num(value) : value}`)
    .join(", ");

const example = (field) =>
  field.kind === "category" ? field.values[0] : field.kind === "boolean" ? true : (field.range[0] + field.range[1]) / 2;

export const exampleRow = (fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, example(field)]));

// A segment such as decisions bring: the first that is known, or any.
export function exampleSegment(segments) {
  const known = (segments.known || segments)[0];
  const value = (field) => (known && known[field]) || "other";
  if (!segments.fields) return known || "other";
  return Object.fromEntries(segments.fields.map((field) => [field, value(field)]));
}

const MISSING = "–";

function fieldInput(field) {
  if (field.kind === "number") {
    const input = h("input", { autocomplete: "off", inputmode: "decimal", value: String(example(field)) });
    return { input, read: () => numberOrText(input.value), hint: `${num(field.range[0])} to ${num(field.range[1])}` };
  }
  const known = field.kind === "boolean" ? [true, false] : field.values;
  const values = [...known, ...(field.missing === "indicator" ? [undefined] : [])];
  const option = (value, i) => h("option", { value: String(i) }, value === undefined ? MISSING : String(value));
  const input = h("select", null, values.map(option));
  return { input, read: () => values[Number(input.value)] };
}

// An input for each field; `read()` leaves out what is missing.
export function rowInputs(fields) {
  const inputs = Object.entries(fields).map(([name, field]) => [name, fieldInput(field)]);
  return {
    nodes: inputs.map(([name, { input, hint }]) => labelled(name, input, hint)),
    read: () => Object.fromEntries(inputs.map(([name, { read }]) => [name, read()])),
  };
}
