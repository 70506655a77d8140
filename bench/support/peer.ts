/** Shared by benchmarks: the other side's program, turns, the rows they print. */
import { spawn } from 'node:child_process';
import { basename } from 'node:path';
import { createInterface } from 'node:readline';
import { packagePath } from '../../lib/io/paths.js';
import type { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';

/** Starts a program that answers JSON requests line by line until its input ends. */
export function startProgram(program: string, args: readonly string[]) {
  const peer = spawn(program, args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const replies = createInterface(peer.stdout)[Symbol.asyncIterator]();
  return {
    async ask<Reply>(request: object): Promise<Reply> {
      peer.stdin.write(`${JSON.stringify(request)}\n`);
      const reply = await replies.next();
      if (reply.done) throw new Error(`${basename(program)} stopped; see its error above.`);
      return JSON.parse(reply.value) as Reply;
    },
    stop: () => peer.stdin.end(),
  };
}

/** @param script in `bench/` */
export const startPeer = (python: string, script: string, ...options: readonly string[]) =>
  startProgram(python, [packagePath('bench', script), ...options]);

/** A row that a benchmark prints; the other side may be absent. */
export interface Comparison {
  work: string;
  peer?: string;
  backend?: string;
  /** The number of rows, rollouts, passages or the like, and what is counted. */
  batch: number;
  counted?: string;
  unit?: string;
  perSecond: Spread;
  peerPerSecond?: Spread;
  /** Ours divided by theirs. */
  ratioOfSeconds?: Spread;
  p95Ms?: number;
  peerP95Ms?: number;
  peakGigabytes?: number;
  peerPeakGigabytes?: number;
  /** How well both agree. */
  sameRows?: number;
  lossDifference?: number;
}

/** Processor time of all threads. */
export function processorMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e3;
}

/** Minimum, median and maximum. */
export type Spread = [least: number, median: number, most: number];

export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  return [0, Math.floor(sorted.length / 2), sorted.length - 1].map((i) =>
    Number(sorted[i].toPrecision(3)),
  ) as Spread;
}

interface Timed {
  seconds: number;
}

/**
 * Runs ours and theirs in turns after a warm-up; returns the last results and all times.
 */
export async function inTurns<Ours extends Timed, Theirs extends Timed>(
  repeats: number,
  ours: () => Promise<Ours>,
  theirs: () => Promise<Theirs>,
): Promise<{ own: Ours; other: Theirs; seconds: [ours: number, theirs: number][] }> {
  let [own, other] = [await ours(), await theirs()];
  const seconds: [number, number][] = [];
  for (let i = 0; i < repeats; i++) {
    [own, other] = [await ours(), await theirs()];
    seconds.push([own.seconds, other.seconds]);
  }
  return { own, other, seconds };
}

/** Amounts per second of both sides, and the ratio of seconds (ours to theirs). */
export const speeds = (
  seconds: readonly (readonly [ours: number, theirs: number])[],
  amount: number,
) => ({
  perSecond: spread(seconds.map(([own]) => amount / own)),
  peerPerSecond: spread(seconds.map(([, peer]) => amount / peer)),
  ratioOfSeconds: spread(seconds.map(([own, peer]) => own / peer)),
});

/** Share of equal rows, compared up to the end of ours, which stop at the end token. */
export function sameRows(ours: readonly number[][], theirs: readonly number[][]): number {
  const same = ours.filter((row, i) => row.every((id, t) => id === theirs[i][t]));
  return same.length / ours.length;
}

/**
 * A policy's greedy continuations with their time, without a cache from earlier calls.
 */
export const generate = (
  policy: LocalPolicy,
  contexts: readonly number[][],
  maxNewTokens: number,
) =>
  timed(async () => {
    policy.release();
    const rows = await policy.generate(contexts, {
      temperature: 0,
      topP: 1,
      maxNewTokens,
      stop: [],
      randoms: contexts.map(() => createRandom(0)),
    });
    return { tokenIds: rows.map(({ tokenIds }) => tokenIds) };
  });

/** The result of work with its seconds. */
export async function timed<T extends object>(work: () => Promise<T>): Promise<T & Timed> {
  const start = performance.now();
  const result = await work();
  return { ...result, seconds: (performance.now() - start) / 1000 };
}
