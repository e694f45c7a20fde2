// Light and dark: the system's choice, until somebody chooses otherwise, which is remembered.

import { h, setAttr, setText } from "./dom.js";

const THEME_KEY = "banister-theme";
const system = matchMedia("(prefers-color-scheme: dark)");
const themeListeners = new Set();

export const onTheme = (listener) => {
  themeListeners.add(listener);
  return () => themeListeners.delete(listener);
};

function chosen() {
  try {
    return localStorage.getItem(THEME_KEY);
  } catch {
    return null;
  }
}

const dark = () => (chosen() ? chosen() === "dark" : system.matches);

function apply(toggle) {
  document.documentElement.dataset.theme = dark() ? "dark" : "light";
  setText(toggle, dark() ? "☀" : "☾");
  setAttr(toggle, "aria-label", dark() ? "Use the light theme" : "Use the dark theme");
  setAttr(toggle, "title", toggle.getAttribute("aria-label"));
  themeListeners.forEach((listener) => listener());
}

export function themeToggle() {
  const toggle = h("button", { type: "button", class: "icon", "data-testid": "theme-toggle" });
  toggle.addEventListener("click", () => {
    try {
      localStorage.setItem(THEME_KEY, dark() ? "light" : "dark");
    } catch {
      /* not remembered */
    }
    apply(toggle);
  });
  system.addEventListener("change", () => apply(toggle));
  apply(toggle);
  return toggle;
}

// Colours live in the style sheet only; canvases ask for them when they draw.
export const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
