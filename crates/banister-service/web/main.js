// The frame: where we are, who we are, and whether the service can be reached.

import { append, button, h, setAttr, setText, show } from "./dom.js";
import { hasToken, onSession, session, setToken, signIn } from "./api.js";
import { themeToggle } from "./theme.js";
import { listPage } from "./list.js";
import { experimentPage } from "./experiment.js";
import { createPage } from "./create.js";
import { auditPage } from "./audit.js";

const main = h("main", { id: "main", tabindex: "-1" }),
  connection = h("div", { class: "connection", role: "alert", "data-testid": "connection", hidden: true });
const who = h("span", { class: "who" }),
  leave = button(
    "Sign out",
    () => {
      setToken(null);
      signIn().then((open) => {
        if (open && page) page.role();
      });
    },
    { class: "small", hidden: true, title: "Forget the token" },
  );

function header() {
  const logo = h(
    "svg",
    { viewBox: "0 0 32 32", width: "26", height: "26", "aria-hidden": "true" },
    h("rect", { width: "32", height: "32", rx: "7", fill: "var(--brand)" }),
    h("path", {
      d: "M6 11h20M6 23h20M10 11v12M16 11v12M22 11v12",
      stroke: "#fff",
      "stroke-width": "2.6",
      "stroke-linecap": "round",
      fill: "none",
    }),
  );
  return h(
    "header",
    { class: "top" },
    h(
      "a",
      {
        href: "#main",
        class: "skip",
        onclick: (event) => {
          event.preventDefault();
          (main.querySelector("h1") || main).focus();
        },
      },
      "Skip to the content",
    ),
    h(
      "a",
      { href: "#/", class: "brand" },
      logo,
      h("b", null, "banister"),
      h("span", { class: "note" }, "bandits with guardrails"),
    ),
    who,
    leave,
    themeToggle(),
  );
}

// The token prompt: modal, and back as often as the service refuses.
const tokenInput = h("input", {
  type: "password",
  id: "token",
  autocomplete: "off",
  "data-testid": "token-input",
  spellcheck: "false",
});
const tokenProblem = h("p", { class: "problem", role: "alert", hidden: true });
const tokenDialog = h(
  "dialog",
  { "aria-labelledby": "token-title" },
  h(
    "form",
    {
      class: "stack",
      method: "dialog",
      onsubmit: async (event) => {
        event.preventDefault();
        setToken(tokenInput.value.trim());
        if (await signIn()) {
          tokenInput.value = "";
          if (page) page.role();
        } else tokenInput.select();
      },
    },
    h("h2", { id: "token-title" }, "A token is needed"),
    h("p", { class: "note" }, "The service answers only with a token. It is kept until this tab is closed."),
    h("label", { for: "token" }, "Token"),
    tokenInput,
    tokenProblem,
    h(
      "div",
      { class: "buttons end" },
      h("button", { type: "submit", class: "primary", "data-testid": "token-submit" }, "Continue"),
    ),
  ),
);
tokenDialog.addEventListener("cancel", (event) => event.preventDefault());

function reflect() {
  const lost = session.connection === "lost";
  show(connection, session.connection !== "ok");
  setText(
    connection,
    lost ? "Not connected, trying again…" : `The service is not ready, trying again… ${session.detail}`,
  );
  show(who, Boolean(session.role));
  setText(who, session.role ? [session.role, session.token].filter(Boolean).join(" · ") : "");
  setAttr(who, "title", session.token ? `token “${session.token}” with the role “${session.role}”` : "no token needed");
  show(leave, Boolean(session.role) && hasToken());
  setText(tokenProblem, session.refused);
  show(tokenProblem, Boolean(session.refused));
  if (session.needsToken && !tokenDialog.open) tokenDialog.showModal();
  if (!session.needsToken && tokenDialog.open) tokenDialog.close();
  // After an outage the page may be newer than its role.
  if (session.connection === "ok" && !session.role && !session.needsToken && !asking) ask();
}

let asking = false;
async function ask() {
  asking = true;
  const known = await signIn();
  asking = false;
  if (known && page) page.role();
}

// "#token=…" is taken up once, and must not stay in the address, where it could be copied along.
function takeToken() {
  if (!location.hash.startsWith("#token=")) return;
  const [token, rest] = location.hash.slice(7).split("&", 2);
  setToken(decodeURIComponent(token));
  history.replaceState(null, "", `${location.pathname}${location.search}#${rest && rest.startsWith("/") ? rest : "/"}`);
}

function pageFor(hash) {
  const parts = hash
    .replace(/^#\/?/, "")
    .split("/")
    .map((part) => {
      try {
        return decodeURIComponent(part);
      } catch {
        return part;
      }
    });
  if (parts[0] === "new") return createPage();
  if (parts[0] === "experiments" && parts[1] && parts[2] === "decisions" && parts[3]) {
    return auditPage(parts[1], parts[3]);
  }
  if (parts[0] === "experiments" && parts[1]) return experimentPage(parts[1]);
  return listPage();
}

let page = null,
  route = null,
  followed = false;
const scrolls = new Map();

// Going back leads to where the reader was, as soon as the page is long enough again.
function scrollBack(to, tries = 40) {
  if (!to || tries === 0) return;
  if (document.documentElement.scrollHeight >= to + innerHeight) scrollTo(0, to);
  else setTimeout(() => scrollBack(to, tries - 1), 50);
}

function navigate() {
  const fresh = location.hash.startsWith("#token=");
  takeToken();
  if (route === location.hash) return;
  const first = route === null;
  if (!first) scrolls.set(route, scrollY);
  route = location.hash;
  if (page) page.destroy();
  page = pageFor(route);
  main.replaceChildren(page.node);
  document.title = `${page.title} · banister`;
  scrollTo(0, 0);
  if (!first && !followed) scrollBack(scrolls.get(route));
  followed = false;
  // A reader who follows links by keyboard or by ear is taken to the new page.
  if (!first) (main.querySelector("h1") || main).focus({ preventScroll: true });
  if (fresh && !first) ask();
}

append(document.body, [
  header(),
  connection,
  main,
  h(
    "footer",
    null,
    "Policies keep their expected costs under their guardrails, with the confidence that was declared, as far as their agent promises.",
  ),
  tokenDialog,
]);
document.addEventListener("click", (event) => (followed = Boolean(event.target.closest("a[href], button"))));
history.scrollRestoration = "manual";
takeToken();
onSession(reflect);
ask();
navigate();
addEventListener("hashchange", navigate);
