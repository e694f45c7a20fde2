/** Policy to draw from, with its time and its certificate. */
export interface Lease {
  experiment: string;
  /** Number of the lease. */
  lease: number;
  /** Milliseconds since 1970, by the server's clock: it holds from `issued` to before `expires`. */
  issued: number;
  expires: number;
  /** Most decisions that may be drawn from it. */
  most: number;
  arms: string[];
  /** Number of the safe arm. */
  safe: number;
  key: number;
  prefix: string;
  holdout?: { key: number; share: number } | null;
  gate?: { key: number; from: number; to: number } | null;
  /** By segment, as pairs of an arm's number and its probability; where there are no segments, that of the empty name. */
  policies: Record<string, [arm: number, probability: number][]>;
  certificate: unknown;
}

/** Lease of a signed text. Rejects if the signature is not by the key (in hexadecimal digits) or the policy impossible. */
export function verifyLease(signed: { lease: string; signature: string }, publicKey: string): Promise<Lease>;

/** Arm of a unit, whatever the time. With `isDrawn` false it is the safe arm for want of a policy: report nothing. */
export function drawArm(lease: Lease, segment: string, unit: string): { arm: number; isDrawn: boolean };

/** Number in [0, 1) of a text under a key: SipHash-1-3. */
export function uniform(key: [number, number], parts: string[]): number;

export interface Options {
  experiment: string;
  /** Address of the service, or of a proxy; the page's own by default. */
  url?: string;
  token?: string;
  /** Ed25519 key of the service in hexadecimal digits. By default the one that a lease comes with: use https, or pin it. */
  publicKey?: string;
  /** Name of the safe arm, for decisions before the first lease. */
  safe?: string;
  /** Longest time of a lease. */
  seconds?: number;
  /** Time between two flushes; 2 by default. */
  flushSeconds?: number;
  /** Most exposures and outcomes that wait; 100 000 by default. What cannot be reported is not drawn. */
  limit?: number;
  fetch?: typeof globalThis.fetch;
  /** Milliseconds of a clock that never goes back; by default performance.now(), and the time that a device slept. */
  clock?: () => number;
}

export interface Decision {
  /** Name of the arm; null if it is the safe one, and neither a lease nor the options have told its name. */
  arm: string | null;
  /** Its number; null if no lease has told it. */
  index: number | null;
  /** Id to report outcomes under; null if nothing is to be reported. */
  decision: string | null;
}

/** Outcome, or a part of one, as `outcomes:batch` takes it. */
export interface Outcome {
  decision?: string;
  unit?: string;
  /** Id of a report on a unit, so that it counts once. */
  report?: string;
  reward?: number | null;
  costs?: Record<string, number | null>;
  signals?: Record<string, number | null>;
}

export interface Problem {
  detail: string;
  status?: number;
  [field: string]: unknown;
}

export class LeaseClient {
  constructor(options: Options);
  /** Newest lease, which may have ended. */
  readonly lease: Lease | null;
  /** Exposures and outcomes that wait to be sent. */
  readonly pending: number;
  /** Exposures and outcomes that were refused for good. */
  readonly refused: number;
  readonly lastProblem: Problem | null;
  /** Gets a lease and keeps renewing it. Never rejects; resolves after the first try. */
  start(): Promise<void>;
  /** Sends what waits; decisions are the safe action from now on. Resolves to true if nothing is left. */
  stop(): Promise<boolean>;
  /** Decides at once, without the network. */
  decide(unit: string, segment?: string): Decision;
  /** Reports an outcome with the next flush. */
  report(outcome: Outcome): void;
  /** Sends what waits: exposures, then outcomes. Resolves to true if all had an answer. */
  flush(): Promise<boolean>;
}
