// Tests of clients/js/banister.js that run in Node, in Deno, in a page and in its workers; test_lease_clients.py starts them.
//
// usage: node leases.mjs <name of a function below>   (its argument is on standard input, as JSON)

import { drawArm, LeaseClient, uniform, verifyLease } from "../../clients/js/banister.js";

const DEADLINE = 30_000;
const HOUR = 3_600_000;
const webCrypto = globalThis.crypto ?? (await import("node:crypto")).webcrypto;

function equal(got, wanted, what = "") {
  const [a, b] = [got, wanted].map((own) => JSON.stringify(own));
  if (a !== b) throw new Error(`${what} is ${a}, and should be ${b}`);
}

async function until(condition, what) {
  const end = performance.now() + DEADLINE;
  for (;;) {
    const last = await condition();
    if (last) return last;
    if (performance.now() > end) throw new Error(`no ${what} within ${DEADLINE} ms`);
    await new Promise((done) => setTimeout(done, 20));
  }
}

async function rejected(promise) {
  return await promise.then(() => null, (error) => error.message);
}

export async function vectors(given) {
  for (const { key, parts, uniform: wanted } of given.hashes) equal(uniform(key, parts), wanted, `${key} ${parts}`);
  let draws = 0;
  for (const { name, signed, refused, holds, draws: each } of given.leases) {
    if (refused) {
      equal(await rejected(verifyLease(signed, given.public_key)), refused, name);
      continue;
    }
    const lease = await verifyLease(signed, given.public_key);
    for (const { segment, unit, arm, is_drawn: isDrawn } of each) {
      equal(drawArm(lease, segment, unit), { arm, isDrawn }, `${name}: ${segment}/${unit}`);
      draws++;
    }
    for (const { now, holds: wanted } of holds) {
      // The answer takes as long as it takes until then.
      let passed = 0;
      const clock = () => passed;
      const answer = { ...signed, public_key: given.public_key };
      const fetch = () => {
        passed = now - signed.now;
        return Promise.resolve(Response.json(answer));
      };
      const client = new LeaseClient({ experiment: lease.experiment, fetch, clock });
      await client.start();
      equal(client.lease !== null, wanted, `${name} at ${now}`);
      await client.stop();
    }
  }
  return draws;
}

const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** A server of leases with a clock of its own, which counts from a time far from the device's. */
class FakeServer {
  now = 1_000_000_000;
  number = 1;
  /** Status in place of a lease's answer, or a function of it. */
  spoil = null;
  /** Replies to the next batches: null, a status of the whole or of each, "down", "lost", or a function that gives one. */
  replies = [];
  requests = [];
  taken = new Map();
  outcomes = new Map();

  constructor(terms = {}) {
    this.terms = { most: 1000, seconds: 60, ...terms };
  }

  async init() {
    this.pair = await webCrypto.subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
    this.publicKey = hex(await webCrypto.subtle.exportKey("raw", this.pair.publicKey));
    return this;
  }

  async answer(more = {}) {
    const { most, seconds } = this.terms;
    const lease = {
      experiment: "x",
      lease: this.number,
      issued: this.now,
      expires: this.now + 1000 * seconds,
      most,
      arms: ["control", "bold", "brave"],
      safe: 0,
      key: 2 ** 52 + 12_345_678,
      prefix: `${this.number}/`,
      policies: { "": [[0, 0.5], [2, 0.5]] },
      certificate: {},
      ...more,
    };
    return this.sign(JSON.stringify(lease), this.now);
  }

  async sign(lease, now) {
    const data = new TextEncoder().encode(`${now}\n${lease}`);
    const signature = hex(await webCrypto.subtle.sign({ name: "Ed25519" }, this.pair.privateKey, data));
    return { lease, signature, public_key: this.publicKey, now };
  }

  fetch = async (url, { body }) => {
    const path = url.slice("http://fake/v1/experiments/x/".length);
    const given = JSON.parse(body);
    this.requests.push([path, given]);
    if (path === "leases") {
      if (typeof this.spoil === "number") return new Response("no", { status: this.spoil });
      this.current ??= await this.answer();
      return Response.json(this.spoil ? await this.spoil(this.current) : this.current);
    }
    const [name, entries] = Object.entries(given)[0];
    const reply = this.replies.shift();
    const replied = typeof reply === "function" ? await reply(entries) : reply;
    if (replied === "down") throw new TypeError("fetch failed");
    if (typeof replied === "number") return Response.json({ detail: "whole", status: replied }, { status: replied });
    const results = entries.map((entry, i) => {
      const status = (Array.isArray(replied) ? replied[i] : null) ??
        (name === "exposures" ? this.expose(path, entry) : this.learn(entry));
      return status === 200 ? { status } : { status, problem: { status, detail: `entry ${i}` } };
    });
    return replied === "lost" ? Promise.reject(new TypeError("connection reset")) : Response.json({ results });
  };

  expose(path, { unit, arm }) {
    const id = `${path.split("/")[1]}/${unit}`;
    this.taken.set(id, [...(this.taken.get(id) ?? []), arm]);
    return 200;
  }

  learn({ decision, reward }) {
    if (!this.taken.has(decision)) return 404;
    this.outcomes.set(decision, [...(this.outcomes.get(decision) ?? []), reward]);
    return 200;
  }

  next() {
    this.number++;
    this.current = null;
  }

  batches() {
    return this.requests.filter(([path]) => path !== "leases").map(([path, given]) => [
      path,
      Object.values(given)[0].length,
    ]);
  }
}

const stopped = [];

async function started(server, options = {}) {
  const { fetch } = server;
  const clock = () => server.now - 123_456_789;
  const client = new LeaseClient({
    experiment: "x",
    url: "http://fake",
    fetch,
    clock,
    flushSeconds: HOUR / 1000,
    ...options,
  });
  stopped.push(client);
  await client.start();
  return client;
}

const units = (count, from = 0) => Array.from({ length: count }, (_, i) => `u${from + i}`);
const drawn = (client, names) => names.map((unit) => client.decide(unit)).filter((own) => own.decision !== null).length;
const noDraw = (client, arm, index = null) =>
  equal(client.decide("u"), { arm, index, decision: null }, "a safe action");

let nextNight = Date.now() + 1000 * HOUR;

const FAKES = {
  async leaseHoldsForItsTime() {
    const server = await new FakeServer().init();
    const client = await started(server, { safe: "before" });
    equal(drawn(client, units(10)), 10);
    equal([...new Set(units(50).map((unit) => client.decide(unit).arm))].sort(), ["brave", "control"]);
    server.now += 59_999.5;
    const last = client.decide("last");
    equal([last.decision, ["control", "brave"].includes(last.arm)], ["1/last", true]);
    server.spoil = 503;
    server.now += 0.5;
    noDraw(client, "control", 0);
    server.now += HOUR;
    noDraw(client, "control", 0);
    await client.flush();
    equal(server.requests.findLast(([path]) => path !== "leases")[1].exposures.at(-1), {
      unit: "last",
      arm: last.arm,
      at: 1_000_059_999,
    });
  },

  async timeOfARequestCounts() {
    const server = await new FakeServer().init();
    const fetch = async (...request) => {
      // The answer takes ten seconds, and says the time at which it was sent.
      const answer = await server.fetch(...request);
      server.now += 10_000;
      return answer;
    };
    const client = await started(server, { fetch });
    server.now += 49_999;
    equal(drawn(client, ["a"]), 1);
    server.now += 1;
    equal(drawn(client, ["b"]), 0);
  },

  async withoutALease() {
    const server = await new FakeServer().init();
    const unstarted = new LeaseClient({ experiment: "x", fetch: server.fetch, url: "http://fake" });
    noDraw(unstarted, null);
    equal(server.requests, []);
    for (const spoil of [500, 404, () => ({}), () => null, () => ({ lease: "{}" })]) {
      server.spoil = spoil;
      const client = await started(server, { safe: "mine" });
      noDraw(client, "mine");
      equal([client.lease, typeof client.lastProblem.detail, client.pending], [null, "string", 0]);
    }
    const client = await started(server, { fetch: () => Promise.reject(new TypeError("no network")) });
    noDraw(client, null);
    equal(client.lastProblem.detail.includes("no network"), true);
  },

  async forgedAndForeignLeases() {
    const server = await new FakeServer().init();
    const other = await new FakeServer().init();
    const client = await started(server, { publicKey: server.publicKey });
    other.now = server.now;
    const forge = (from, to) => (answer) => ({ ...answer, lease: answer.lease.replace(from, to) });
    const foreign = () => {
      other.next();
      return other.answer({ lease: 99 });
    };
    const attacks = [
      forge('"safe":0', '"safe":1'),
      forge('"expires":1', '"expires":9'),
      (answer) => ({ ...answer, signature: answer.signature.replaceAll("a", "b") }),
      (answer) => ({ ...answer, signature: "" }),
      foreign,
      async () => ({ ...await foreign(), public_key: server.publicKey }),
      () => server.answer({ experiment: "y", lease: 99 }),
      () => server.answer({ lease: 99, policies: { "": [[0, 0.5]] } }),
      () => server.answer({ lease: 99, policies: { "": [[0, 1.5], [1, -0.5]] } }),
      () => server.answer({ lease: 99, policies: { "": [[1, 0.5], [0, 0.5]] } }),
      () => server.answer({ lease: 99, safe: 3 }),
      () => server.answer({ lease: 99, policies: { "": [[0, 0.5], [0, 0.5]] } }),
      () => server.answer({ lease: 99, key: 2 ** 53 }),
      () => server.answer({ lease: 99, key: -1 }),
      () => server.answer({ lease: 99, holdout: { key: 3 } }),
      () => server.answer({ lease: 99, policies: null }),
      async () => ({ ...await server.answer({ lease: 99 }), now: undefined }),
      async () => ({ ...await server.answer({ lease: 99 }), now: server.now - 1 }),
    ];
    for (const attack of attacks) {
      server.spoil = attack;
      client.lastProblem = null;
      await client.start();
      equal([client.lease.lease, typeof client.lastProblem?.detail], [1, "string"], String(attack));
      equal(client.decide("u").decision, "1/u");
    }
    server.spoil = foreign;
    const pinned = await started(server, { publicKey: server.publicKey, safe: "mine" });
    noDraw(pinned, "mine");
    // A key that is not pinned may change, as with a server that starts anew.
    const trusting = await started(server);
    equal(trusting.lease.lease, 99);
    server.spoil = null;
    await pinned.start();
    equal(pinned.decide("u").decision, "1/u");
  },

  async replayedLeases() {
    const server = await new FakeServer().init();
    const first = await server.answer();
    server.current = first;
    const client = await started(server);
    server.now += 40_000;
    server.next();
    await client.start();
    equal(client.decide("u").decision, "2/u");
    const second = server.current;
    // The first one again, as it came, and with another time.
    for (const now of [first.now, server.now]) {
      server.current = await server.sign(first.lease, now);
      await client.start();
      equal([client.lease.lease, client.lastProblem.detail.includes("older")], [2, true]);
    }
    // The same one with a time that would make it last.
    server.current = { ...second };
    server.now += 60_000;
    await client.start();
    noDraw(client, "control", 0);
    equal(client.lastProblem.detail.includes("hold"), true);
    // An expired one to a client that knows no other.
    server.current = await server.sign(first.lease, server.now);
    noDraw(await started(server, { safe: "mine" }), "mine");
  },

  async mostDecisions() {
    const server = await new FakeServer({ most: 3 }).init();
    const client = await started(server);
    equal(drawn(client, units(10)), 3);
    noDraw(client, "control", 0);
    await client.start();
    equal(drawn(client, units(10)), 0, "the same lease again");
    server.next();
    await client.start();
    equal(drawn(client, units(10)), 3, "another lease");
  },

  async fullBuffer() {
    const server = await new FakeServer().init();
    const client = await started(server, { limit: 5 });
    equal(drawn(client, units(10)), 5);
    noDraw(client, "control", 0);
    for (const unit of units(7)) client.report({ decision: `1/${unit}`, reward: 1 });
    equal([client.pending, client.refused], [10, 2]);
    server.replies = ["down"];
    equal([await client.flush(), client.pending, drawn(client, units(1))], [false, 10, 0]);
    equal([await client.flush(), client.pending], [true, 0]);
    equal([server.taken.size, server.outcomes.size], [5, 5]);
    equal(drawn(client, units(10, 10)), 5);
  },

  async wholeFailuresLoseNothing() {
    const server = await new FakeServer().init();
    const client = await started(server);
    for (const failure of [429, 500, 503, 408, 401, 403, 404, "down"]) {
      const own = units(3, 3 * server.taken.size);
      for (const unit of own) client.report({ decision: client.decide(unit).decision, reward: 0.5 });
      const known = server.taken.size;
      server.replies = [failure];
      equal([await client.flush(), client.pending], [false, 6], String(failure));
      server.replies = [null, failure];
      equal([await client.flush(), client.pending], [false, 3], String(failure));
      equal([await client.flush(), client.pending], [true, 0], String(failure));
      equal([...server.taken.values(), ...server.outcomes.values()].every((own) => own.length === 1), true);
      equal([server.taken.size, server.outcomes.size], [known + 3, known + 3]);
    }
    equal(client.refused, 0);
  },

  async lostAnswersAreAskedForAgain() {
    const server = await new FakeServer().init();
    const client = await started(server);
    drawn(client, units(3));
    server.replies = ["lost"];
    equal([await client.flush(), client.pending, server.taken.size], [false, 3, 3]);
    equal([await client.flush(), client.pending, server.taken.size], [true, 0, 3]);
  },

  async entriesWithStatuses() {
    const server = await new FakeServer().init();
    const client = await started(server);
    for (const unit of units(6)) client.report({ decision: client.decide(unit).decision, reward: 1 });
    server.replies = [[200, 422, 429, 503, 404, 408]];
    equal([await client.flush(), client.pending, client.refused], [false, 9, 2]);
    equal(client.lastProblem, { status: 429, detail: "entry 2" });
    // Those whose exposures are not taken have no outcome.
    server.taken.set("1/u0", ["told by hand"]);
    equal([await client.flush(), client.pending, client.refused], [true, 0, 4]);
    equal([...server.outcomes.keys()], ["1/u0", "1/u2", "1/u3", "1/u5"]);
    equal(server.batches(), [["leases/1/exposures", 6], ["leases/1/exposures", 3], ["outcomes:batch", 6]]);
  },

  async oneEntrySpoilsNoOthers() {
    const server = await new FakeServer().init();
    const client = await started(server);
    const bad = (entries) => entries.some(({ unit }) => unit === "u77") ? 422 : null;
    drawn(client, units(100));
    server.replies = Array(20).fill(bad);
    equal([await client.flush(), client.pending, client.refused, server.taken.size], [true, 0, 1, 99]);
    const small = (entries) => entries.length > 30 ? 413 : null;
    drawn(client, units(100, 100));
    server.replies = Array(20).fill(small);
    equal([await client.flush(), client.refused, server.taken.size], [true, 1, 199]);
    equal(server.batches().length < 30, true, "few requests");
    for (const outcome of [{ reward: NaN }, { costs: { a: Infinity } }]) {
      const refused = await rejected((async () => client.report({ decision: "1/u1", ...outcome }))());
      equal(/NaN|Infinity/.test(refused), true);
    }
    equal(client.pending, 0);
  },

  async batchesOfAThousandByLease() {
    const server = await new FakeServer({ most: 9999 }).init();
    const client = await started(server);
    drawn(client, units(2500));
    server.next();
    await client.start();
    drawn(client, units(1500));
    equal([await client.flush(), client.pending], [true, 0]);
    const sizes = [["1", 1000], ["1", 1000], ["1", 500], ["2", 1000], ["2", 500]];
    equal(server.batches(), sizes.map(([lease, size]) => [`leases/${lease}/exposures`, size]));
    equal(server.taken.size, 4000);
  },

  async outcomesWaitForTheirExposures() {
    const server = await new FakeServer().init();
    const client = await started(server);
    let open, arrive;
    const gate = new Promise((done) => open = done);
    const arrived = new Promise((done) => arrive = done);
    server.replies = [() => arrive() ?? gate];
    client.decide("early");
    const first = client.flush();
    await arrived;
    // While the first batch is on its way.
    client.report({ decision: client.decide("late").decision, reward: 1 });
    const second = client.flush();
    open();
    equal([await first, await second, client.refused, client.pending], [true, true, 0, 0]);
    equal([...server.taken.keys(), ...server.outcomes.keys()], ["1/early", "1/late", "1/late"]);
  },

  async unitsThatTheServerTakes() {
    const server = await new FakeServer().init();
    const client = await started(server);
    const bad = ["", "@x", "a\n", "a\u0085", "\x7f", "x".repeat(129), "😀".repeat(129), 3, null, undefined, {}];
    for (const unit of bad) equal(client.decide(unit).decision, null, String(unit));
    for (const segment of ["other", "toString", "__proto__", 0, null]) {
      equal(client.decide("u", segment).decision, null, String(segment));
    }
    const good = ["😀".repeat(128), "x".repeat(128), "a@", "a\u00a0b", '"\\', "a\ud800", "\udc00\ud800b"];
    const ids = good.map((unit) => client.decide(unit).decision);
    equal(ids.slice(-2), ["1/a\ufffd", "1/\ufffd\ufffdb"]);
    for (const decision of [...ids.slice(0, 6), "1/\udc00\ud800b"]) client.report({ decision, reward: 1 });
    equal([await client.flush(), client.refused, [...server.outcomes.keys()]], [true, 0, ids]);
  },

  async renewalAtHalfOfTheTime() {
    const server = await new FakeServer().init();
    const { setTimeout } = globalThis;
    const waits = [];
    try {
      globalThis.setTimeout = (call, wait) => {
        if (wait < HOUR / 2) waits.push([wait, call]);
        return { unref() {} };
      };
      const client = await started(server);
      const [wait, renew] = waits.pop();
      equal(wait, 30_000);
      server.spoil = 503;
      server.now += wait;
      await renew();
      equal(client.decide("u").decision, "1/u");
      const failed = [];
      for (let i = 0; i < 12; i++) {
        const [wait, again] = waits.pop();
        failed.push(wait);
        await again();
      }
      equal(waits.length, 1);
      failed.forEach((wait, i) => {
        const most = Math.min(1000 * 2 ** i, 30_000);
        equal([wait >= most / 2, wait <= most], [true, true], `wait ${i} of ${wait} ms`);
      });
      server.spoil = null;
      server.next();
      await waits.pop()[1]();
      equal([client.decide("u").decision, waits[0][0]], ["2/u", 30_000]);
      await client.stop();
      await waits.pop()[1]();
      equal(waits, []);
    } finally {
      globalThis.setTimeout = setTimeout;
    }
  },

  async stopFlushesAndEnds() {
    const server = await new FakeServer().init();
    const client = await started(server);
    drawn(client, units(5));
    equal([await client.stop(), server.taken.size, client.pending], [true, 5, 0]);
    noDraw(client, "control", 0);
    await client.start();
    equal(client.decide("again").decision, "1/again");
    server.replies = ["down"];
    equal([await client.stop(), client.pending], [false, 1]);
  },

  async sleepEndsALease() {
    const server = await new FakeServer().init();
    const clock = undefined;
    const { now: steady } = performance;
    // Node 18 does not let it be assigned.
    const setSteady = (value) =>
      Object.defineProperty(performance, "now", { value, configurable: true, writable: true });
    const { now: wall } = Date;
    // The clock remembers the latest time of day.
    const own = { steady: 5000, wall: nextNight += 100 * HOUR };
    try {
      setSteady(() => own.steady);
      Date.now = () => own.wall;
      const client = await started(server, { clock });
      const pass = (steady, wall) => Object.assign(own, { steady: own.steady + steady, wall: own.wall + wall });
      pass(50_000, 50_000 - 5 * HOUR);
      equal(drawn(client, ["a"]), 1, "the wall clock was set back");
      server.spoil = 503;
      pass(9_999, 0);
      equal(drawn(client, ["b"]), 1, "the wall clock stands still");
      pass(1, 0);
      const before = server.requests.length;
      equal(drawn(client, ["c", "c"]), 0, "the end");
      equal(server.requests.length, before + 1, "requests");
      // It has asked for another one by itself.
      await client.start();
      server.spoil = null;
      server.next();
      await client.start();
      equal(drawn(client, ["d"]), 1, "with a new lease");
      // Nothing but the wall clock goes on while the device sleeps.
      own.wall += 6 * HOUR;
      equal(drawn(client, ["e"]), 0, "after a night");
    } finally {
      setSteady(steady);
      Date.now = wall;
    }
  },
};

/** All fakes, whatever the wall clock says. */
export async function fakes() {
  const { now } = Date;
  let jumps = 0;
  const walls = [now, () => now() + 5 * HOUR, () => now() - 5 * HOUR, () => now() + (jumps++ % 2 ? 5 : -5) * HOUR];
  for (const wall of walls) {
    for (const [name, test] of Object.entries(FAKES)) {
      Date.now = wall;
      try {
        await test();
      } catch (error) {
        throw new Error(`${name}: ${error.stack}`);
      } finally {
        Date.now = now;
        await Promise.all(stopped.splice(0).map((client) => client.stop()));
      }
    }
  }
  return walls.length * Object.keys(FAKES).length;
}

/** Decides for units and reports outcomes; gives what was decided, by unit. */
export async function play({ names, segments, ...options }) {
  const client = new LeaseClient(options);
  await client.start();
  if (!client.lease) throw new Error(client.lastProblem.detail);
  const decided = names.map((unit, i) => [unit, client.decide(unit, segments?.[i])]);
  for (const [, { decision, index }] of decided) {
    if (decision !== null) client.report({ decision, reward: index ? 0.75 : 0.25, costs: { complaints: 0 } });
  }
  const isDone = await client.stop();
  equal([isDone, client.pending, client.refused, client.lastProblem], [true, 0, 0, null]);
  return { decided, lease: client.lease };
}

/** Goes on while the server is killed and started again; `say` tells what has come to pass. */
export async function outage(options, say) {
  const client = new LeaseClient(options);
  const decided = [];
  const decide = (count, what) => {
    for (let i = 0; i < count; i++) {
      const unit = `u${decided.length}`;
      const one = client.decide(unit);
      if (one.decision === null) throw new Error(`${what}: ${unit} was not drawn`);
      decided.push([unit, one]);
    }
  };
  await client.start();
  decide(20, "with the server");
  await until(() => client.pending === 0, "flush by itself");
  say("leased");
  await until(() => fetch(`${options.url}/readyz`).then(() => false, () => true), "end of the server");
  decide(20, "without the server");
  const safe = { arm: client.lease.arms[client.lease.safe], index: client.lease.safe, decision: null };
  const late = [];
  await until(() => late.push(client.decide("late")) && late.at(-1).decision === null, "end of the lease");
  // However often, it is one decision.
  if (late[0].decision !== null) decided.push(["late", late[0]]);
  for (let i = 0; i < 20; i++) equal(client.decide(`s${i}`), safe, "after the end of the lease");
  say("ended");
  const old = client.lease.lease;
  await until(() => client.lease.lease > old, "new lease").catch((error) => {
    throw new Error(`${error.message}: ${JSON.stringify(client.lastProblem)}`);
  });
  decide(20, "with the server again");
  await until(() => client.pending === 0, "flush by itself");
  equal(client.refused, 0);
  await client.stop();
  return { decided };
}

/** Starts a client, and leaves it: the process must end. */
export async function leave(options) {
  const client = new LeaseClient({ ...options, seconds: 3600, flushSeconds: 3600 });
  await client.start();
  return client.decide("u").decision !== null;
}

const all = { vectors, fakes, play, outage, leave };

if (typeof WorkerGlobalScope !== "undefined" && globalThis instanceof WorkerGlobalScope) {
  globalThis.onmessage = async ({ data: [name, given] }) => {
    globalThis.postMessage(await all[name](given).then((value) => ({ value }), (error) => ({ error: error.stack })));
  };
}
const [what] = globalThis.process?.argv?.slice(2) ?? [];
if (what) {
  let given = "";
  for await (const part of globalThis.process.stdin) given += part;
  const say = (line) => console.log(line);
  say(JSON.stringify(await all[what](JSON.parse(given), say)));
}
