// Elements without innerHTML: names come from callers of the service, so they are only ever text.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "circle", "rect", "g"]);

// h("button", { class: "small", onclick: f }, "text", node, ...). `null` and `false` leave a thing out.
export function h(tag, attributes, ...children) {
  const node = SVG_TAGS.has(tag) ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(node.style, value);
    else if (name === "value") node.value = value;
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

export function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    node.append(child.nodeType ? child : document.createTextNode(String(child)));
  }
  return node;
}

// The setters below write only what changed: a poll every two seconds must not flicker, move the
// reader's selection, or make a screen reader repeat itself.
export function setText(node, text) {
  const wanted = String(text);
  if (node.textContent !== wanted) node.textContent = wanted;
}

export function setAttr(node, name, value) {
  if (value === null || value === undefined || value === false) {
    if (node.hasAttribute(name)) node.removeAttribute(name);
  } else {
    const wanted = value === true ? "" : String(value);
    if (node.getAttribute(name) !== wanted) node.setAttribute(name, wanted);
  }
}

export function setStyle(node, name, value) {
  if (node.style[name] !== value) node.style[name] = value;
}

export function show(node, visible) {
  if (node.hidden === visible) node.hidden = !visible;
}

// Brings the children of `parent` in line with `items`: nodes are kept by key, so that focus and
// scroll position survive. `make(item)` returns `{ node, update(item) }`.
export function syncList(parent, items, keyOf, make) {
  const kept = parent.banisterRows || (parent.banisterRows = new Map());
  const wanted = new Map();
  for (const item of items) {
    const key = keyOf(item);
    if (wanted.has(key)) continue;
    const row = kept.get(key) || make(item);
    wanted.set(key, row);
    row.update(item);
  }
  for (const [key, row] of kept) if (!wanted.has(key)) row.node.remove();
  let at = parent.firstChild;
  for (const row of wanted.values()) {
    if (row.node === at) at = at.nextSibling;
    else parent.insertBefore(row.node, at);
  }
  parent.banisterRows = wanted;
}

// Replaces content only if what it was made from is different from the last time.
export function renderOnce(node, source, make) {
  const seen = JSON.stringify(source);
  if (node.banisterSeen === seen) return;
  node.banisterSeen = seen;
  node.replaceChildren();
  append(node, [make()]);
}

let lastId = 0;
export const freshId = (stem) => `${stem}-${++lastId}`;

export function panel(title, attributes, ...children) {
  const id = freshId("panel");
  const heading = h("h2", { id }, title);
  return h(
    "section",
    Object.assign({ "aria-labelledby": id }, attributes, { class: `panel ${(attributes && attributes.class) || ""}` }),
    heading,
    ...children,
  );
}

// A panel that a reader opens and closes; closed at first on a phone, where it would bury what follows.
export function foldingPanel(title, attributes, ...children) {
  const node = panel(title, attributes),
    open = matchMedia("(min-width: 641px)").matches;
  node.append(h("details", { class: "fold", open }, h("summary", null, node.firstChild), ...children));
  return node;
}

export function button(text, onclick, attributes) {
  return h("button", Object.assign({ type: "button", onclick }, attributes), text);
}
