// Every request to the service: the token, problems as errors, and whether it can be reached.

const KEY = "banister-token";
const listeners = new Set();

// connection: "ok", "lost" (no answer) or "unready" (503, with the service's own words).
export const session = { connection: "ok", detail: "", role: null, token: null, needsToken: false, refused: "" };

export const onSession = (listener) => listeners.add(listener);

function tell(changes) {
  const before = JSON.stringify(session);
  Object.assign(session, changes);
  if (JSON.stringify(session) !== before) listeners.forEach((listener) => listener(session));
}

// A problem document (RFC 9457), or what stands for one if there was no answer.
export class Refusal extends Error {
  constructor(problem) {
    super(problem.detail || problem.title || "refused");
    Object.assign(this, { status: problem.status || 0, field: problem.field || null, problem });
  }

  // For places that are not beside the field: with its name, unless the words have it already.
  inWords() {
    return this.field && !this.message.includes(this.field) ? `${this.field}: ${this.message}` : this.message;
  }
}

const storedToken = () => {
  try {
    return sessionStorage.getItem(KEY);
  } catch {
    return memory;
  }
};
let memory = null;

export function setToken(token) {
  memory = token || null;
  try {
    if (token) sessionStorage.setItem(KEY, token);
    else sessionStorage.removeItem(KEY);
  } catch {
    /* storage may be forbidden: then the token lives as long as the page */
  }
}

export const hasToken = () => Boolean(storedToken());

// `type`: the body is sent as it is, under this content type; else it is JSON.
async function request(method, path, body, signal, type) {
  const headers = { accept: "application/json" };
  const token = storedToken();
  if (token) headers.authorization = `Bearer ${token}`;
  // Also without a body: the service refuses changes that a page of another site could ask for.
  if (method !== "GET") headers["content-type"] = type || "application/json";
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined || type ? body : JSON.stringify(body),
      signal,
      cache: "no-store",
      credentials: "omit",
    });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    tell({ connection: "lost", detail: "" });
    throw new Refusal({ status: 0, detail: "The service did not answer." });
  }
  if (response.ok) {
    tell({ connection: "ok", detail: "" });
    return response;
  }
  const problem = await response.json().catch(() => ({}));
  problem.status = response.status;
  problem.detail = problem.detail || problem.title || `The service answered ${response.status}.`;
  if (response.status === 503) tell({ connection: "unready", detail: problem.detail });
  else tell({ connection: "ok", detail: "" });
  // Another request may have been given a token meanwhile: only the one that was refused is asked about.
  if (response.status === 401 && token === storedToken()) {
    tell({ needsToken: true, refused: token ? problem.detail : "", role: null, token: null });
  }
  // The role is another than this page thought: it asks again.
  if (response.status === 403) tell({ role: null });
  throw new Refusal(problem);
}

const json = async (method, path, body, signal) => (await request(method, path, body, signal)).json();
const at = (name, rest = "") => `/v1/experiments/${encodeURIComponent(name)}${rest}`;

export const api = {
  whoami: () => json("GET", "/v1/whoami"),
  agents: (signal) => json("GET", "/v1/agents", undefined, signal),
  summaries: async (signal) => {
    const found = [];
    let after = "";
    do {
      const part = await json("GET", `/v1/experiments?summary=true&limit=1000${after}`, undefined, signal);
      found.push(...part.summaries);
      after = part.next ? `&after=${encodeURIComponent(part.next)}` : "";
    } while (after);
    return found;
  },
  create: (declaration, dry, signal) =>
    json("POST", `/v1/experiments${dry ? "?dry_run=true" : ""}`, declaration, signal),
  experiment: (name, signal) => json("GET", at(name), undefined, signal),
  change: (name, change) => json("PATCH", at(name), change),
  addArm: (name, arm) => json("POST", at(name, "/arms"), arm),
  acknowledge: (name, note) => json("POST", at(name, "/alarms:acknowledge"), { note }),
  retireArm: (name, arm) => json("DELETE", at(name, `/arms/${encodeURIComponent(arm)}`)),
  setWeights: (name, arm, weights) => json("PUT", at(name, `/arms/${encodeURIComponent(arm)}/weights`), weights),
  forgetArm: (name, arm) => json("POST", at(name, `/arms/${encodeURIComponent(arm)}/forget`)),
  state: (name, signal) => json("GET", at(name, "/state"), undefined, signal),
  segments: (name, offset, limit, signal) =>
    json("GET", at(name, `/segments?offset=${offset}&limit=${limit}`), undefined, signal),
  history: (name, segment, signal) =>
    json(
      "GET",
      at(name, `/history${segment === undefined ? "" : `?segment=${encodeURIComponent(segment)}`}`),
      undefined,
      signal,
    ),
  lift: (name, signal) => json("GET", at(name, "/lift"), undefined, signal),
  health: (name, signal) => json("GET", at(name, "/health"), undefined, signal),
  decisions: (name, limit, before, signal) =>
    json("GET", at(name, `/decisions?limit=${limit}${before ? `&before=${before}` : ""}`), undefined, signal),
  changes: (name, limit, signal) => json("GET", at(name, `/changes?limit=${limit}`), undefined, signal),
  audit: (name, id, signal) => json("GET", at(name, `/decisions/${encodeURIComponent(id)}`), undefined, signal),
  decide: (name, body) => json("POST", at(name, "/decisions"), body),
  report: (name, body) => json("POST", at(name, "/outcomes"), body),
  learn: async (name, file) => (await request("POST", at(name, "/import"), file, undefined, "text/csv")).json(),
};

export const pathOf = at;

// Asks who this is. Roles are only a hint for the page: the service itself decides every request.
export async function signIn() {
  try {
    const who = await api.whoami();
    tell({ role: who.role, token: who.token, needsToken: false, refused: "" });
    return true;
  } catch {
    return false;
  }
}

const RIGHTS = {
  read: ["read"],
  report: ["read", "report"],
  "decide-only": ["read", "decide"],
  decide: ["read", "decide", "report"],
  admin: ["read", "decide", "report", "admin"],
};
export const may = (right) => (RIGHTS[session.role] ?? []).includes(right);

// A link cannot carry the token, so a file is fetched and handed over as a blob: to be saved, or shown in another tab.
export async function handOver(path, how) {
  const response = await request("GET", path);
  const url = URL.createObjectURL(await response.blob());
  const link = Object.assign(document.createElement("a"), { href: url, ...how });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(url), 10000);
}

export const download = (name, format) =>
  handOver(at(name, `/export?format=${format}`), { download: `${name}.${format}` });
