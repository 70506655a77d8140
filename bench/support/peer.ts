/**
 * A Python program beside ours: it reads one JSON request a line and answers with one,
 * until its input ends.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { packagePath } from '../../lib/io/paths.js';
import type { LocalPolicy } from '../../lib/policy/local-policy.js';
import { createRandom } from '../../lib/random.js';

/** @param script of `bench/`, whose first argument follows */
export function startPeer(python: string, script: string, ...options: readonly string[]) {
  const peer = spawn(python, [packagePath('bench', script), ...options], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const replies = createInterface(peer.stdout)[Symbol.asyncIterator]();
  return {
    async ask<Reply>(request: object): Promise<Reply> {
      peer.stdin.write(`${JSON.stringify(request)}\n`);
      const reply = await replies.next();
      if (reply.done) throw new Error(`${python} stopped; its error stands above.`);
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
 * Ours and theirs in turns, after one warm-up each: what the last of each gave, and the
 * seconds of every repeat.
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

/**
 * How much is done a second on both sides, and the ratio of the seconds: ours over
 * theirs.
 */
export const speeds = (
  seconds: readonly (readonly [ours: number, theirs: number])[],
  amount: number,
) => ({
  perSecond: spread(seconds.map(([own]) => amount / own)),
  peerPerSecond: spread(seconds.map(([, peer]) => amount / peer)),
  ratioOfSeconds: spread(seconds.map(([own, peer]) => own / peer)),
});

/**
 * The share of rows that are the same up to the end of ours, which stop at the end token.
 */
export function sameRows(ours: readonly number[][], theirs: readonly number[][]): number {
  const same = ours.filter((row, i) => row.every((id, t) => id === theirs[i][t]));
  return same.length / ours.length;
}

/**
 * A policy's greedy continuations, with their seconds; nothing of an earlier call is
 * kept.
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

/** What some work gave, with its seconds. */
export async function timed<T extends object>(work: () => Promise<T>): Promise<T & Timed> {
  const start = performance.now();
  const result = await work();
  return { ...result, seconds: (performance.now() - start) / 1000 };
}
