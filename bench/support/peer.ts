/** A Python program that answers JSON requests line by line until its input ends. */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { packagePath } from '../../lib/io/paths.js';
import type { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';

/** @param script in `bench/` */
export function startPeer(python: string, script: string, ...options: readonly string[]) {
  const peer = spawn(python, [packagePath('bench', script), ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const replies = createInterface(peer.stdout)[Symbol.asyncIterator]();
  return {
    async ask<Reply>(request: object): Promise<Reply> {
      peer.stdin.write(`${JSON.stringify(request)}\n`);
      const reply = await replies.next();
      if (reply.done) throw new Error(`${python} stopped; see its error above.`);
      return JSON.parse(reply.value) as Reply;
    },
    stop: () => peer.stdin.end(),
  };
}

/** Least, median and most. */
export function spread(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return [0, Math.floor(sorted.length / 2), sorted.length - 1].map((i) =>
    Number(sorted[i].toPrecision(3)),
  );
}

interface Timed {
  seconds: number;
}

/**
 * Runs ours and theirs in turns after a warm-up; returns the last results and all
 * seconds.
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

/** Share of equal rows, up to the end of ours, which stop at the end token. */
export function sameRows(ours: readonly number[][], theirs: readonly number[][]): number {
  const same = ours.filter((row, i) => row.every((id, t) => id === theirs[i][t]));
  return same.length / ours.length;
}

/**
 * A policy's greedy continuations with their seconds, without a cache from earlier calls.
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
