/**
 * Data-parallel training: several processes, called ranks, run the same trainer in
 * lockstep. Each generates some of the rollouts and computes some of the passes; rank 0
 * searches, scores, adds the gradients in the order of the passes and updates the
 * weights. Whatever is computed on its own, a batch of rows or a pass, is the same on
 * any rank, so the result does not depend on the number of ranks.
 */
import * as tf from '@tensorflow/tfjs-core';
import type { Channel } from '../io/processes.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { isLarge, type ModelConfig } from '../policy/model/families.js';
import type { PrefixCache } from '../policy/model/kv-cache.js';
import type { Generation, Policy, SamplingOptions } from '../policy/policy.js';
import { createRandom, type Random } from '../random.js';
import { isCurrent as isNative } from '../tensor/native.js';

/** Work that ranks share. */
interface SharedWork<Item, Result> {
  /** The relative cost of an item. */
  cost: (item: Item) => number;
  /** Its results are sent to rank 0 by structured clone. */
  compute: (item: Item) => Promise<Result>;
}

/** Assigns items to ranks: costly ones first, each to the rank with the least work. */
function balance(costs: readonly number[], size: number): number[] {
  const loads = new Array<number>(size).fill(0);
  const ranks = new Array<number>(costs.length);
  for (const i of costs.map((_, i) => i).sort((a, b) => costs[b] - costs[a] || a - b)) {
    // Ties go to the last rank: rank 0 has other work, too.
    ranks[i] = loads.lastIndexOf(Math.min(...loads));
    loads[ranks[i]] += costs[i];
  }
  return ranks;
}

/** The ranks of a training run, seen from one of them. */
export class Ranks {
  /**
   * @param rank from 0
   * @param size number of ranks
   * @param channels from rank 0 to the others, in order; from another rank to rank 0
   */
  constructor(
    readonly rank = 0,
    readonly size = 1,
    readonly channels: readonly Channel[] = [],
  ) {}

  /** Computes a value on rank 0 and returns it on every rank. */
  async once<T>(compute: () => T | Promise<T>): Promise<T> {
    if (this.rank > 0) return (await this.channels[0].receive()) as T;
    const value = await compute();
    for (const channel of this.channels) channel.send(value);
    return value;
  }

  /** Computes each item on some rank; rank 0 gets all results in order. */
  async *spread<Item, Result>(
    items: readonly Item[],
    { cost, compute }: SharedWork<Item, Result>,
  ): AsyncGenerator<[Item, Result]> {
    if (this.size === 1) {
      for (const item of items) yield [item, await compute(item)];
      return;
    }
    const owners = balance(items.map(cost), this.size);
    const results: Result[] = [];
    for (const [i, item] of items.entries())
      if (owners[i] === this.rank) results.push(await compute(item));
    const parts = await this.gather(results);
    if (!parts) return;
    for (const [i, item] of items.entries()) yield [item, parts[owners[i]].shift()!];
  }

  /** Gathers each rank's value on rank 0; returns null on the others. */
  async gather<T>(own: T): Promise<T[] | null> {
    if (this.rank === 0)
      return [own, ...((await Promise.all(this.channels.map((c) => c.receive()))) as T[])];
    this.channels[0].send(own);
    return null;
  }

  close(): void {
    for (const channel of this.channels) channel.close();
  }
}

/** The only rank when one process trains alone. */
export const ALONE = new Ranks();

/**
 * Number of rows that generate together. A row's log-probs depend on its batch in the
 * last digits, so batches are the same for any number of ranks. On wasm, two batches of
 * 32 rows take as long as one of 64; four of 16 take 15 % longer.
 */
export const BATCH_ROWS = 32;

/**
 * A large model reads all of its weights for each batch, and 32 rows leave a GPU mostly
 * idle, so all rows then generate together on rank 0.
 */
function maxRows(model: ModelConfig): number {
  const isOnCpu = ['wasm', 'cpu'].includes(tf.getBackend()) || isNative();
  return isOnCpu && !isLarge(model) ? BATCH_ROWS : Infinity;
}

/** A row to generate, and its batch. */
interface BatchRow {
  id: number;
  batch: number;
  context: readonly number[];
  /** State of the row's generator before its first turn; a row stays on its rank. */
  state: number[];
}

type Sampling = Omit<SamplingOptions, 'randoms' | 'onToken'>;

/** Messages of rank 0: rows to generate and, at the end, the result. */
type Turn<T> = { rows: BatchRow[]; sampling: Sampling } | { result: T };

/**
 * Runs `work` on rank 0 with a policy; if the policy is local, all ranks generate its
 * rows. Every rank gets the result.
 * @param policy of each rank; local ones must have the same weights
 */
export async function generateTogether<T>(
  policy: Policy,
  ranks: Ranks,
  work: (policy: Policy) => Promise<T>,
): Promise<T> {
  const batches = policy instanceof LocalPolicy ? new RowBatches(policy) : null;
  try {
    if (ranks.rank === 0) {
      const result = await work(batches ? spreadRows(batches, ranks) : policy);
      await ranks.once((): Turn<T> => ({ result }));
      return result;
    }
    for (;;) {
      const turn = (await ranks.channels[0].receive()) as Turn<T>;
      if ('result' in turn) return turn.result;
      await ranks.gather(await batches!.generate(turn.rows, turn.sampling));
    }
  } finally {
    batches?.release();
  }
}

/** A rank's batches of rows, each with the KV cache of its last turn. */
class RowBatches {
  private readonly caches = new Map<number, PrefixCache | null>();
  private readonly randoms = new Map<number, Random>();

  constructor(readonly policy: LocalPolicy) {}

  /** The generation of each row, by its id. */
  async generate(rows: readonly BatchRow[], sampling: Sampling): Promise<Map<number, Generation>> {
    const { policy, caches, randoms } = this;
    const generations = new Map<number, Generation>();
    for (const batch of new Set(rows.map((row) => row.batch))) {
      const members = rows.filter((row) => row.batch === batch);
      for (const { id, state } of members)
        if (!randoms.has(id)) randoms.set(id, createRandom('', state));
      policy.swapCache(caches.get(batch) ?? null);
      caches.delete(batch);
      const answers = await policy.generate(
        members.map(({ context }) => context),
        { ...sampling, randoms: members.map(({ id }) => randoms.get(id)!) },
      );
      members.forEach(({ id }, i) => generations.set(id, answers[i]));
      caches.set(batch, policy.swapCache(null));
    }
    return generations;
  }

  release(): void {
    for (const cache of this.caches.values()) {
      this.policy.swapCache(cache);
      this.policy.release();
    }
    this.caches.clear();
  }
}

/** The policy of rank 0, which lets each rank generate its batches. */
function spreadRows(batches: RowBatches, ranks: Ranks): Policy {
  const { policy } = batches;
  const { name, tokenizer, maxLength } = policy;
  const most = maxRows(policy.config);
  /** Identifies rows by their generators, which stay the same over the turns. */
  const places = new Map<Random, Pick<BatchRow, 'id' | 'batch' | 'state'>>();
  let numBatches = 0;
  const assign = (randoms: readonly Random[]): void => {
    const added = randoms.filter((random) => !places.has(random));
    const count = Math.ceil(added.length / most);
    for (const [i, random] of added.entries()) {
      const batch = numBatches + Math.floor((i * count) / added.length);
      places.set(random, { id: places.size, batch, state: random.state() });
    }
    numBatches += count;
  };
  return {
    name,
    tokenizer,
    maxLength,
    generate: async (contexts, { randoms, signal, onToken: _, ...sampling }) => {
      assign(randoms);
      const rows = contexts.map((context, i) => ({ ...places.get(randoms[i])!, context }));
      const rowsOn = (rank: number): BatchRow[] =>
        rows.filter(({ batch }) => batch % ranks.size === rank);
      ranks.channels.forEach((channel, i) => channel.send({ rows: rowsOn(i + 1), sampling }));
      const generated = await batches.generate(rowsOn(0), { ...sampling, signal });
      const parts = (await ranks.gather(generated))!;
      return rows.map(({ id, batch }) => parts[batch % ranks.size].get(id)!);
    },
    release: () => batches.release(),
  };
}
