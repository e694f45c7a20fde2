// @ts-self-types="./banister.d.ts"
// Client of banister's leases: signed policies to draw from locally. No dependencies, no build step; the types are in
// banister.d.ts. The reference is crates/banister/src/lease, and clients/leases.json has vectors for both.

const encoder = new TextEncoder();
let bytes = new Uint8Array(1024);
let view = new DataView(bytes.buffer);

/** Writes a text into `bytes` in UTF-8; returns its end. */
function write(text, start) {
  if (start + 3 * text.length > bytes.length) {
    const grown = new Uint8Array(2 * (start + 3 * text.length));
    grown.set(bytes);
    view = new DataView((bytes = grown).buffer);
  }
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i);
    if (code > 127) return start + encoder.encodeInto(text, bytes.subarray(start)).written;
    bytes[start + i] = code;
  }
  return start + text.length;
}

/** First 53 bits of SipHash-1-3 of a part of `bytes`, as a number in [0, 1). Words are pairs of halves, as h0 and l0. */
function hash(key, purpose, start, end) {
  const k = Math.floor(key / 2 ** 32), p = Math.floor(purpose / 2 ** 32), words = (end - start) >>> 3;
  let h0 = k ^ 0x736f6d65, l0 = key ^ 0x70736575, h1 = p ^ 0x646f7261, l1 = purpose ^ 0x6e646f6d;
  let h2 = k ^ 0x6c796765, l2 = key ^ 0x6e657261, h3 = p ^ 0x74656462, l3 = purpose ^ 0x79746573;
  for (let i = 0; i < words + 4; i++) {
    // Whole words, then a word of the rest and the length, then three rounds of nothing.
    let h = i === words ? (end - start) << 24 : 0, l = 0, at = start + 8 * i, x = 0;
    if (i < words) {
      l = view.getInt32(at, true);
      h = view.getInt32(at + 4, true);
    }
    for (let shift = 0; i === words && at < end; at++, shift += 8) {
      if (shift < 32) l |= bytes[at] << shift;
      else h |= bytes[at] << (shift - 32);
    }
    h3 ^= h, l3 ^= l;
    // Additions with their carry, and rotations; those by 32 bits exchange halves.
    l0 = (l0 + l1) | 0, h0 = (h0 + h1 + (l0 >>> 0 < l1 >>> 0 ? 1 : 0)) | 0;
    x = h1, h1 = (h1 << 13 | l1 >>> 19) ^ h0, l1 = (l1 << 13 | x >>> 19) ^ l0;
    l2 = (l2 + l3) | 0, h2 = (h2 + h3 + (l2 >>> 0 < l3 >>> 0 ? 1 : 0)) | 0;
    x = h3, h3 = (h3 << 16 | l3 >>> 16) ^ h2, l3 = (l3 << 16 | x >>> 16) ^ l2;
    x = l0, l0 = (h0 + l3) | 0, h0 = (x + h3 + (l0 >>> 0 < l3 >>> 0 ? 1 : 0)) | 0;
    x = h3, h3 = (h3 << 21 | l3 >>> 11) ^ h0, l3 = (l3 << 21 | x >>> 11) ^ l0;
    l2 = (l2 + l1) | 0, h2 = (h2 + h1 + (l2 >>> 0 < l1 >>> 0 ? 1 : 0)) | 0;
    x = h1, h1 = (h1 << 17 | l1 >>> 15) ^ h2, l1 = (l1 << 17 | x >>> 15) ^ l2;
    x = h2, h2 = l2, l2 = i === words ? x ^ 0xff : x;
    h0 ^= h, l0 ^= l;
  }
  return ((h0 ^ h1 ^ h2 ^ h3) >>> 0) * 2 ** -32 + ((l0 ^ l1 ^ l2 ^ l3) >>> 11) * 2 ** -53;
}

export const uniform = (key, parts) => hash(key[0], key[1], 0, parts.reduce((end, part) => write(part, end), 0));

/** Number of a unit's arm under a policy; -1 if the experiment does not decide for the unit. */
function draw(lease, policy, unit) {
  const start = write(lease.prefix, 0), end = write(unit, start), { gate, holdout } = lease;
  if (gate) {
    const own = hash(gate.key, 2, start, end);
    if (!(own >= gate.from && own < gate.to)) return -1;
  }
  let rest = hash(lease.key, 0, 0, end), place = 0;
  if (holdout) {
    let before = 0;
    for (let i = 0; i < policy.length && policy[i][0] < lease.safe; i++) before += policy[i][1];
    const held = hash(holdout.key, 1, start, end);
    rest *= 1 - holdout.share;
    if (held < holdout.share) rest = before + held;
    else if (rest >= before) rest += holdout.share;
  }
  for (let i = 0; i < policy.length - 1; i++) {
    rest -= policy[i][1];
    if (rest >= 0) place++;
  }
  return policy[place][0];
}

const policyOf = (lease, segment) => Object.hasOwn(lease.policies, segment) ? lease.policies[segment] : null;

export function drawArm(lease, segment, unit) {
  const policy = policyOf(lease, segment), arm = policy ? draw(lease, policy, unit) : -1;
  return arm < 0 ? { arm: lease.safe, isDrawn: false } : { arm, isDrawn: true };
}

const isCount = (n) => Number.isSafeInteger(n) && n >= 0; // rounded keys would draw other arms
const isPart = (own, ...fields) =>
  own == null || isCount(own.key) && fields.every((name) => Number.isFinite(own[name]));
const isShare = (own) => Array.isArray(own) && own.length === 2 && isCount(own[0]) && Number.isFinite(own[1]);
const isLease = (lease) =>
  Array.isArray(lease?.arms) && [lease.experiment, lease.prefix, ...lease.arms].every((own) =>
    typeof own === "string"
  ) &&
  [lease.lease, lease.issued, lease.expires, lease.most, lease.safe, lease.key].every(isCount) &&
  isPart(lease.holdout, "share") && isPart(lease.gate, "from", "to") &&
  Object.values(lease.policies ?? [0]).every((policy) => Array.isArray(policy) && policy.every(isShare));

function fromHex(text, length) {
  const isHex = typeof text === "string" && text.length === 2 * length && /^[0-9a-f]*$/i.test(text);
  return isHex ? Uint8Array.from(text.match(/../g), (pair) => parseInt(pair, 16)) : null;
}

export async function verifyLease(signed, publicKey) {
  const refuse = (allowed) => Promise.reject(new Error(`\`lease\` is given: ${allowed}`));
  // Node 18 has it in a module, which bundlers need not follow.
  const module = globalThis.process?.versions?.node && "node:crypto";
  const { subtle } = globalThis.crypto ?? (module && (await import(/* webpackIgnore: true */ module)).webcrypto) ?? {};
  if (!subtle) throw new Error("no WebCrypto to verify leases with: browsers have it on pages over https");
  const raw = fromHex(publicKey, 32), signature = fromHex(signed.signature, 64);
  if (!raw) return refuse("not a valid Ed25519 public key");
  const key = await subtle.importKey("raw", raw, { name: "Ed25519" }, false, ["verify"]);
  const text = encoder.encode(`${signed.now}\n${signed.lease}`);
  const isSigned = signature && await subtle.verify({ name: "Ed25519" }, key, signature, text);
  if (!isSigned) return refuse("its signature is not by that key");
  const lease = JSON.parse(signed.lease);
  if (!isLease(lease)) return refuse("it is of another form: use a client of this version");
  const isPolicy = (policy) =>
    policy.every(([arm, p], i) => arm < lease.arms.length && p > 0 && !(i > 0 && policy[i - 1][0] >= arm)) &&
    Math.abs(policy.reduce((total, share) => total + share[1], 0) - 1) < 1e-6;
  const isPossible = lease.safe < lease.arms.length && Object.values(lease.policies).every(isPolicy);
  return isPossible ? lease : refuse("it holds no policy of its arms");
}

const wellFormed = (text) => text.replace(/\p{Surrogate}/gu, "\ufffd");

/** A unit as the server takes it; null if it would refuse it. */
function checkUnit(unit) {
  if (typeof unit !== "string") return null;
  let i = 0;
  while (i < unit.length && unit.charCodeAt(i) > 31 && unit.charCodeAt(i) < 127) i++;
  if (i === unit.length && i > 0 && i <= 128 && unit[0] !== "@") return unit;
  const text = wellFormed(unit);
  return /^(?!@)\P{Control}{1,128}$/u.test(text) ? text : null;
}

/** For JSON: a number that it does not have, or half a character, would spoil a whole batch. */
function checkValue(field, value) {
  if (typeof value === "number" && !Number.isFinite(value)) throw new TypeError(`\`${field}\` is ${value}`);
  return typeof value === "string" ? wellFormed(value) : value;
}

let wall = -Infinity;

/** Milliseconds. The wall clock counts only while performance.now() stands still, since a device may sleep. */
function steadyClock() {
  const own = performance.now();
  wall = Math.max(wall, Date.now() - own);
  return own + wall;
}

/** Calls a function later; no process is kept alive for it. */
function later(call, milliseconds) {
  const timer = setTimeout(call, Math.min(milliseconds, 2 ** 31 - 1));
  timer.unref ? timer.unref() : globalThis.Deno?.unrefTimer(timer);
  return timer;
}

/** Milliseconds before try n + 1: twice as many each time, and not the same for all clients. */
const backoff = (least, n) => Math.min(least * 2 ** n, Math.max(least, 30_000)) * (0.5 + Math.random() / 2);
const isFinal = (status) => status >= 200 && status < 500 && status !== 408 && status !== 429;

export class LeaseClient {
  lease = null;
  pending = 0;
  refused = 0;
  lastProblem = null;
  #options;
  #base;
  #safe;
  #ahead = 0; // the server's time less that of the clock, not less than it is
  #left = 0; // decisions that the lease still allows
  #exposures = new Map(); // by number of lease
  #outcomes = [];
  #isRunning = false;
  #failures = 0;
  #timers = {};
  #renewing = null;
  #flushing = Promise.resolve();
  #time = () => this.#options.clock() + this.#ahead;
  #fail = (error) => this.lastProblem = error.problem ?? { detail: error.message, status: error.status };

  constructor(options) {
    const { url = "", experiment, safe = null } = options;
    const { fetch = globalThis.fetch, clock = steadyClock, limit = 100_000, flushSeconds = 2 } = options;
    this.#options = { ...options, fetch, clock, limit, flushSeconds };
    this.#base = `${url.replace(/\/+$/, "")}/v1/experiments/${encodeURIComponent(experiment)}/`;
    this.#safe = { arm: safe, index: null, decision: null };
  }

  start() {
    if (!this.#isRunning) this.#flushLater(0);
    this.#isRunning = true;
    return this.#renew();
  }

  stop() {
    this.#isRunning = false;
    Object.values(this.#timers).forEach(clearTimeout);
    return this.flush();
  }

  decide(unit, segment = "") {
    const lease = this.lease, time = this.#time(), name = checkUnit(unit);
    const isHeld = this.#isRunning && lease !== null && time >= lease.issued && time < lease.expires;
    // Timers may sleep with the device.
    if (!isHeld && this.#isRunning && this.#failures === 0) this.#renew();
    const isRoom = isHeld && this.#left > 0 && this.pending < this.#options.limit;
    const policy = isRoom && name !== null && typeof segment === "string" ? policyOf(lease, segment) : null;
    const index = policy ? draw(lease, policy, name) : -1;
    if (index < 0) return { ...this.#safe };
    this.#left--;
    this.pending++;
    const arm = lease.arms[index], at = Math.floor(time);
    this.#exposures.get(lease.lease).push({ unit: name, arm, at, segment: segment || undefined });
    return { arm, index, decision: lease.prefix + name };
  }

  report(outcome) {
    const entry = JSON.parse(JSON.stringify(outcome, checkValue));
    if (this.#outcomes.length >= this.#options.limit) return this.#refuse({ detail: "too many outcomes wait" });
    this.#outcomes.push(entry);
    this.pending++;
  }

  flush() {
    return this.#flushing = this.#flushing.then(() => this.#flush());
  }

  #refuse(problem) {
    this.refused++;
    this.lastProblem = problem;
  }

  #flushLater(failures) {
    clearTimeout(this.#timers.flush);
    this.#timers.flush = later(async () => {
      const isDone = await this.flush();
      if (this.#isRunning) this.#flushLater(isDone ? 0 : failures + 1);
    }, backoff(1000 * this.#options.flushSeconds, failures));
  }

  #renew() {
    return this.#renewing ??= this.#getLease().then(() => null, this.#fail).then((problem) => {
      this.#renewing = null;
      this.#failures = problem ? this.#failures + 1 : 0;
      const wait = this.#failures ? backoff(500, this.#failures) : (this.lease.expires - this.#time()) / 2;
      clearTimeout(this.#timers.renewal);
      if (this.#isRunning) this.#timers.renewal = later(() => this.#renew(), wait);
    });
  }

  async #getLease() {
    const { clock, experiment, publicKey, seconds } = this.#options, sent = clock(), known = this.lease;
    const answer = await this.#post("leases", { seconds }, 8);
    const lease = await verifyLease(answer, publicKey ?? answer.public_key);
    if (lease.experiment !== experiment) throw new Error(`it is of the experiment ${lease.experiment}`);
    if (lease.lease < known?.lease) throw new Error("it is older than the one before");
    // A lease that comes again does not begin again.
    const isSame = lease.lease === known?.lease, ahead = Math.max(answer.now - sent, isSame ? this.#ahead : -Infinity);
    const time = clock() + ahead;
    if (!(time >= lease.issued && time < lease.expires)) throw new Error("it does not hold now");
    this.#ahead = ahead;
    if (isSame) return;
    this.lease = lease;
    this.#left = lease.most;
    this.#exposures.set(lease.lease, []);
    this.#safe = { arm: lease.arms[lease.safe], index: lease.safe, decision: null };
  }

  async #flush() {
    // Only those outcomes whose exposures are sent before them.
    const outcomes = this.#outcomes.length;
    try {
      for (const [lease, list] of this.#exposures) {
        await this.#send(`leases/${lease}/exposures`, "exposures", list, list.length);
        if (list.length === 0 && lease !== this.lease.lease) this.#exposures.delete(lease);
      }
      await this.#send("outcomes:batch", "outcomes", this.#outcomes, outcomes);
      return true;
    } catch (error) {
      this.#fail(error);
      return false;
    }
  }

  /** Sends the first entries of a list. Each stays in it until it has an answer; throws an error if one has none. */
  async #send(path, name, list, count) {
    for (let left = count, most = 1000; left > 0;) {
      const size = Math.min(left, most), batch = list.slice(0, size);
      const answer = await this.#post(path, { [name]: batch }, 30).catch((error) => {
        if (![400, 413, 422].includes(error.problem?.status)) throw error;
        return size > 1 ? null : { results: [error.problem] };
      });
      // The batch is too large, or one entry spoils it.
      most = answer ? Math.min(2 * most, 1000) : size >> 1;
      if (!answer) continue;
      const { results } = answer, again = batch.filter((_, i) => !isFinal(results[i].status));
      list.splice(0, size, ...again);
      left -= size;
      this.pending -= size - again.length;
      const refused = results.filter(({ status }) => status >= 400 && isFinal(status));
      refused.forEach((result) => this.#refuse(result.problem ?? result));
      if (again.length) throw results.find(({ status }) => !isFinal(status));
    }
  }

  /** Answer to a request, as an object; an error with a `problem` if it was refused. */
  async #post(path, body, seconds) {
    const { token, fetch } = this.#options, text = JSON.stringify(body);
    const headers = { "content-type": "application/json", ...(token && { authorization: `Bearer ${token}` }) };
    // Browsers finish small requests of pages that are closed.
    const more = { keepalive: text.length < 20_000, signal: AbortSignal.timeout(1000 * seconds) };
    const answer = await fetch(this.#base + path, { method: "POST", headers, body: text, ...more });
    if (answer.ok) return await answer.json();
    const detail = `the answer has the status ${answer.status}`;
    const problem = { detail, ...await answer.json().catch(() => null), status: answer.status };
    throw Object.assign(new Error(problem.detail), { problem });
  }
}
