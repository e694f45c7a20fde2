// Dialogs, short messages, and the button that copies.

import { append, button, freshId, h, setText } from "./dom.js";

// A modal dialog with a form. `submit()` may throw a Refusal, whose words are then shown inside.
export function openDialog({ title, body, confirm, danger, submit, testid }) {
  const id = freshId("dialog");
  const problem = h("p", { class: "problem", role: "alert", hidden: true });
  const accept = h("button", { type: "submit", class: danger ? "danger" : "primary" }, confirm);
  const dialog = h("dialog", { "aria-labelledby": id, "data-testid": testid });
  const close = () => {
    dialog.close();
    dialog.remove();
  };
  const form = h("form", {
    method: "dialog",
    onsubmit: async (event) => {
      event.preventDefault();
      accept.disabled = true;
      try {
        await submit();
        close();
      } catch (error) {
        setText(problem, error.inWords ? error.inWords() : error.message);
        problem.hidden = false;
      } finally {
        accept.disabled = false;
      }
    },
  });
  append(form, [
    h("h2", { id }, title),
    body,
    problem,
    h("div", { class: "buttons end" }, button("Cancel", close), accept),
  ]);
  dialog.append(form);
  dialog.addEventListener("cancel", () => setTimeout(() => dialog.remove()));
  document.body.append(dialog);
  dialog.showModal();
  return { dialog, close };
}

const toasts = h("div", { class: "toasts", role: "status", "aria-live": "polite" });

export function toast(text, bad) {
  if (!toasts.isConnected) document.body.append(toasts);
  const note = h("div", { class: bad ? "toast bad" : "toast" }, text);
  toasts.append(note);
  setTimeout(() => note.remove(), bad ? 8000 : 4000);
}

// Runs something the reader asked for; what the service says against it is shown, not swallowed.
export async function attempt(task) {
  try {
    await task();
    return true;
  } catch (error) {
    toast(error.message, true);
    return false;
  }
}

async function copy(text, area) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without a secure origin there is no clipboard: select the text, so that it can be copied by hand.
    getSelection().selectAllChildren(area);
    return false;
  }
}

// A command with a copy button; `set(text)` changes it.
export function command(label) {
  const code = h("code");
  const pre = h("pre", { tabindex: "0", "aria-label": label }, code);
  const press = button(
    "Copy",
    async () => {
      setText(press, (await copy(code.textContent, code)) ? "Copied" : "Selected");
      setTimeout(() => setText(press, "Copy"), 1500);
    },
    { class: "small" },
  );
  const node = h(
    "div",
    { class: "command" },
    h("div", { class: "command-head" }, h("span", { class: "note" }, label), press),
    pre,
  );
  return { node, set: (text) => setText(code, text) };
}

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

export function curl(path, body, withToken, indent) {
  const lines = [`curl -X POST ${quoted(location.origin + path)}`, `-H 'content-type: application/json'`];
  if (withToken) lines.push(`-H "authorization: Bearer $BANISTER_TOKEN"`);
  lines.push(`-d ${quoted(JSON.stringify(body, null, indent))}`);
  return lines.join(" \\\n  ");
}
