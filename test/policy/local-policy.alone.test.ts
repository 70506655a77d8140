import * as tf from '@tensorflow/tfjs-core';
import { greatest, range } from 'd3-array';
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { isLarge } from '../../lib/policy/model/families.js';
import { rotaryTable } from '../../lib/policy/model/transformer.js';
import type { SampledToken, SamplingOptions } from '../../lib/policy/policy.js';
import { createRandom } from '../../lib/random.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { sequenceLogProbs } from '../../lib/training/sequences.js';
import { randomModelWeights } from '../../tools/warm-up/random-weights.js';
import { CONFIG, TOKENIZER } from '../training/tiny.js';

vi.mock('../../lib/policy/model/families.js', { spy: true });

const config = { ...CONFIG, maxPositionEmbeddings: 128, eosTokenIds: [] };

await useBackend('wasm');
const weights = randomModelWeights(config, createRandom(5));
// Sharper than a fresh model, so that a wrong mask or position changes log-probs.
weights.embed = tf.tidy(() => tf.mul(weights.embed, 40));
const policy = new LocalPolicy('test', weights, config, TOKENIZER);
afterAll(() => policy.dispose());

const options = (rows: number, more: Partial<SamplingOptions> = {}): SamplingOptions => ({
  temperature: 1,
  topP: 1,
  maxNewTokens: 12,
  stop: ['</search>'],
  randoms: range(rows).map((i) => createRandom(`row ${i}`)),
  ...more,
});
const contexts = [
  [5, 9, 200, 31],
  [77, 8, 3, 140, 60, 61, 62, 99, 100],
  [250, 251],
];

describe('LocalPolicy.generate', () => {
  it('gives the log-probs of the training pass within 1e-4 over two turns', async () => {
    const first = await policy.generate(contexts, options(3));
    const added = [7, 11, 13, 17, 19];
    const more = contexts.map((c, i) => [...c, ...first[i].tokenIds, ...added.slice(i)]);
    const second = await policy.generate(more, options(3));
    const rows = more.map((c, i) => ({
      tokenIds: [...c, ...second[i].tokenIds],
      lossMask: [...c.map(() => 0), ...second[i].tokenIds.map(() => 1)],
    }));
    const table = rotaryTable(config, config.maxPositionEmbeddings);
    const model = { config, table, maxTokensPerPass: 8192 };
    const recomputed = await sequenceLogProbs(weights, rows, model);
    for (const [i, { logProbs }] of second.entries())
      for (const [t, logProb] of logProbs!.entries())
        expect(Math.abs(recomputed[i][t] - logProb), `row ${i} token ${t}`).toBeLessThan(1e-4);
  });

  it('runs equal contexts once and splits passes; each row is the same as alone', async () => {
    // 24 rows of over 100 tokens make two passes; groups of four share a context.
    const rows = range(24).map((r) => {
      const group = Math.floor(r / 4);
      return range(100 + (group % 3)).map((t) => 4 + ((group * 31 + t * 7) % 200));
    });
    const first = await policy.generate(rows, options(24, { maxNewTokens: 6, temperature: 2 }));
    expect(new Set(first.slice(0, 4).map(({ text }) => text)).size).toBe(4);
    const more = rows.map((row, r) => [...row, ...first[r].tokenIds, ...[7, 11, 13].slice(r % 3)]);
    const cached = await policy.generate(more, options(24, { maxNewTokens: 5 }));
    policy.release();
    for (const r of [0, 1, 5, 17, 23]) {
      const own = { maxNewTokens: 5, randoms: [createRandom(`row ${r}`)] };
      const [alone] = await policy.generate([more[r]], options(1, own));
      policy.release();
      expect(alone.tokenIds, `row ${r}`).toEqual(cached[r].tokenIds);
    }
  });

  it('runs the shared prefix of a large model once; each row is the same as alone', async () => {
    const large = new LocalPolicy('large', weights, config, TOKENIZER);
    vi.mocked(isLarge).mockReturnValue(true);
    onTestFinished(() => vi.mocked(isLarge).mockRestore());
    const prompt = range(4, 40);
    const ends = [[77, 8, 3], [77], [140, 60, 61, 62, 99]];
    const rows = ends.map((end) => [...prompt, ...end]);
    const inside = large as unknown as { runChunks: LocalPolicy['generate'] };
    const runChunks = vi.spyOn(inside, 'runChunks');
    const greedy = { temperature: 0, maxNewTokens: 4 };
    const together = await large.generate(rows, options(3, greedy));
    expect(runChunks.mock.calls.map(([chunks]) => chunks)).toEqual([
      [prompt],
      expect.arrayContaining(ends),
    ]);
    for (const [i, row] of rows.entries()) {
      large.release();
      const [alone] = await large.generate([row], options(1, greedy));
      expect(alone.tokenIds).toEqual(together[i].tokenIds);
      for (const [t, logProb] of alone.logProbs!.entries())
        expect(logProb).toBeCloseTo(together[i].logProbs![t], 4);
    }
    large.dispose();
  });

  it('gives a row the same tokens alone, in a batch and without the prefix cache', async () => {
    const together = await policy.generate(contexts, options(3, { temperature: 0 }));
    policy.release();
    for (const [i, context] of contexts.entries()) {
      const [alone] = await policy.generate([context], options(1, { temperature: 0 }));
      expect(alone.tokenIds).toEqual(together[i].tokenIds);
    }
  });

  it('stops after a stop token and continues the other rows', async () => {
    const stop = TOKENIZER.tokenId('</search>')!;
    const all = await policy.generate(contexts, options(3, { maxNewTokens: 60, temperature: 3 }));
    for (const { tokenIds, finish } of all) {
      expect(tokenIds.indexOf(stop)).toBe(finish === 'stop' ? tokenIds.length - 1 : -1);
    }
    const rest = [2, 0].map((i) => [...contexts[i], ...all[i].tokenIds, 4]);
    const cached = await policy.generate(rest, options(2, { temperature: 0 }));
    policy.release();
    const fresh = await policy.generate(rest, options(2, { temperature: 0 }));
    expect(cached.map((g) => g.tokenIds)).toEqual(fresh.map((g) => g.tokenIds));
  });

  it('stops at a stop string in pieces, even if the string is also a token', async () => {
    const sampled = (stop: string[]) => options(3, { maxNewTokens: 60, stop });
    const [{ tokenIds }] = await policy.generate(contexts, sampled([]));
    const texts = tokenIds.map((id) => TOKENIZER.decode([id]));
    const stop = greatest(texts, (text) => text.length)!;
    // Another token is the string's own; the model writes it as a piece.
    const encode = (text: string) => (text === stop ? [9999] : TOKENIZER.encode(text));
    const other = new LocalPolicy('test', weights, config, { ...TOKENIZER, encode });
    const [row] = await other.generate(contexts, sampled([stop]));
    other.dispose();
    expect(row.tokenIds).toEqual(tokenIds.slice(0, texts.indexOf(stop) + 1));
  });

  it('awaits onToken for every sampled token', async () => {
    const tokens: SampledToken[] = [];
    const onToken = async (token: SampledToken): Promise<void> => {
      await Promise.resolve();
      tokens.push(token);
    };
    const generations = await policy.generate(contexts, options(3, { onToken }));
    generations.forEach(({ tokenIds, logProbs }, row) => {
      const rowTokens = tokens.filter((token) => token.row === row);
      expect(rowTokens.map(({ tokenId }) => tokenId)).toEqual(tokenIds);
      expect(rowTokens.map(({ logProb }) => logProb)).toEqual(logProbs);
    });
    expect(tokens.slice(0, 3).map(({ row }) => row)).toEqual([0, 1, 2]);
  });

  it('leaks no tensors besides its cache', async () => {
    await policy.generate(contexts, options(3));
    policy.release();
    const before = tf.memory().numTensors;
    for (let i = 0; i < 3; i++) await policy.generate(contexts, options(3));
    policy.release();
    expect(tf.memory().numTensors).toBe(before);
  });

  it('behaves like a fresh policy after setWeights, and dispose frees everything', async () => {
    const others = { ...weights, embed: tf.tidy(() => tf.mul(weights.embed, 1.5)) };
    const before = tf.memory().numTensors;
    const changing = new LocalPolicy('changing', weights, config, TOKENIZER);
    const first = await changing.generate(contexts, options(3));
    changing.setWeights(others);
    const second = await changing.generate(contexts, options(3));
    const fresh = new LocalPolicy('fresh', others, config, TOKENIZER);
    expect(second).toEqual(await fresh.generate(contexts, options(3)));
    expect(second).not.toEqual(first);
    changing.dispose();
    fresh.dispose();
    expect(tf.memory().numTensors).toBe(before);
    others.embed.dispose();
  });

  it('rejects a context that is too long', async () => {
    const long = policy.generate([new Array<number>(128).fill(1)], options(1));
    await expect(long).rejects.toThrow(/1 to 127.*128/);
  });
});
