// How clients/js is used in TypeScript: `deno check` reads it, and nobody runs it.

import type { Decision, Lease, Problem } from "../../clients/js/banister.js";
import { drawArm, LeaseClient, uniform, verifyLease } from "../../clients/js/banister.js";

export async function use(): Promise<number> {
  const client = new LeaseClient({
    url: "https://banister.example",
    experiment: "checkout",
    token: undefined,
    safe: "control",
    seconds: 30,
    clock: () => performance.now(),
    fetch: (input, init) => fetch(input, init),
  });
  await client.start();
  const { arm, index, decision }: Decision = client.decide("user-1", "new");
  if (decision !== null) client.report({ decision, reward: 1, costs: { complaints: 0, refunds: null } });
  client.report({ unit: "user-1", report: "order-7", signals: { calls: 2 } });
  const isDone: boolean = await client.flush() && await client.stop();
  const problem: Problem | null = client.lastProblem;
  const lease: Lease = client.lease ?? await verifyLease({ lease: "{}", signature: "" }, "00");
  const names: (string | null)[] = [arm, lease.arms[drawArm(lease, "", "u").arm], problem?.detail ?? null];
  const [first] = lease.policies["new"];
  return uniform([lease.key, 0], [lease.prefix, "u"]) + (index ?? 0) + names.length + Number(isDone) + first[1];
}

export function misuse(client: LeaseClient) {
  // @ts-expect-error: it needs an experiment
  new LeaseClient({ url: "" });
  // @ts-expect-error: units are texts
  client.decide(3);
  // @ts-expect-error: only the client counts
  client.pending = 0;
  // @ts-expect-error: no such field
  client.report({ decision: "1/u", cost: 1 });
  // @ts-expect-error: it may be null
  client.decide("u").arm.length;
}
