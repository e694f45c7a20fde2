// Measures decisions per second of the JavaScript client, without a network.
//
// usage: node benches/leases.mjs [decisions]   (or deno run benches/leases.mjs)

import { drawArm, LeaseClient } from "../clients/js/banister.js";

const count = Number((globalThis.process?.argv ?? [])[2] ?? 1_000_000);
const { subtle } = globalThis.crypto ?? (await import("node:crypto")).webcrypto;
const pair = await subtle.generateKey({ name: "Ed25519" }, true, ["sign", "verify"]);
const hex = (buffer) => Array.from(new Uint8Array(buffer), (byte) => byte.toString(16).padStart(2, "0")).join("");
const publicKey = hex(await subtle.exportKey("raw", pair.publicKey));
const now = Date.now();

async function signed(more) {
  const lease = {
    experiment: "bench",
    lease: 17,
    issued: now,
    expires: now + 3_600_000,
    most: Number.MAX_SAFE_INTEGER,
    arms: ["control", "bold", "brave"],
    safe: 0,
    key: 2 ** 52 + 12345,
    prefix: "17/",
    policies: { "": [[0, 0.5], [1, 0.25], [2, 0.25]] },
    certificate: {},
    ...more,
  };
  const text = JSON.stringify(lease);
  const signature = hex(await subtle.sign({ name: "Ed25519" }, pair.privateKey, new TextEncoder().encode(text)));
  return { lease: text, signature, public_key: publicKey, now };
}

/** Best of some runs, in millions a second. */
async function measure(name, prepare) {
  let best = 0;
  for (let run = 0; run < 5; run++) {
    const decide = await prepare();
    const start = performance.now();
    for (let i = 0; i < count; i++) decide(i);
    best = Math.max(best, count / (performance.now() - start) / 1000);
  }
  console.log(`${name.padEnd(40)} ${best.toFixed(2)} M/s`);
}

async function client(more, unit) {
  const answer = await signed(more);
  const fetch = () => Promise.resolve(Response.json(answer));
  const own = new LeaseClient({ experiment: "bench", fetch, limit: Infinity, flushSeconds: 3600 });
  await own.start();
  // Flat texts, as applications read them, made beforehand.
  const units = JSON.parse(JSON.stringify(Array.from({ length: count }, (_, i) => unit(i))));
  return (i) => own.decide(units[i]);
}

const holdout = { holdout: { key: 7, share: 0.1 }, gate: { key: 8, from: 0, to: 0.9 } };
const lease = JSON.parse((await signed({})).lease);
await measure("drawArm", () => Promise.resolve((i) => drawArm(lease, "", `user-${i}`)));
await measure("decide", () => client({}, (i) => `user-${i}`));
await measure("decide, with a holdout and a gate", () => client(holdout, (i) => `user-${i}`));
await measure("decide, units of 36 characters", () => client({}, (i) => `00000000-0000-4000-8000-${1e11 + i}`));
await measure("decide, units that are not ASCII", () => client({}, (i) => `Nutzer-ä-${i}`));
