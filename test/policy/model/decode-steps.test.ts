/** Generation by captured graphs, compared with computing every step separately. */
import * as tf from '@tensorflow/tfjs-core';
import { range } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { LocalPolicy } from '../../../lib/policy/local-policy.js';
import type { Generation } from '../../../lib/policy/policy.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend, type BackendName } from '../../../lib/tensor/backend.js';
import { canCapture } from '../../../lib/tensor/graph.js';
import { randomModelWeights } from '../../../tools/warm-up/random-weights.js';
import { HAS_NATIVE, HAS_WEBGPU } from '../../tensor/has-backend.js';
import { CONFIG, TOKENIZER } from '../../training/tiny.js';

/** A quarter of the vocabulary ends a row, so that rows end at different steps. */
const config = {
  ...CONFIG,
  maxPositionEmbeddings: 128,
  eosTokenIds: range(0, CONFIG.vocabSize, 8),
};
const CONTEXTS = range(8).map((row) =>
  range(3 + 2 * row).map((t) => 1 + ((row * 31 + t * 7) % 250)),
);

const optionsOf = (turn: number, contexts: readonly unknown[]) => ({
  temperature: 1,
  topP: 1,
  maxNewTokens: 20,
  stop: [],
  randoms: contexts.map((_, i) => createRandom(`turn ${turn}, row ${i}`)),
});
const policyOf = (): LocalPolicy =>
  new LocalPolicy('test', randomModelWeights(config, createRandom(5)), config, TOKENIZER);

/** Three turns, each extending the cache of the one before. */
async function generated(backend: BackendName): Promise<Generation[][]> {
  await useBackend(backend);
  expect(canCapture()).toBe(backend !== 'wasm');
  const policy = policyOf();
  const turns: Generation[][] = [];
  let contexts = CONTEXTS;
  for (const turn of range(3)) {
    const rows = await policy.generate(contexts, optionsOf(turn, contexts));
    turns.push(rows);
    contexts = contexts.map((context, i) => [...context, ...rows[i].tokenIds, 7, 11, 13]).slice(1);
  }
  policy.dispose();
  return turns;
}

describe.each([
  { backend: 'wasm' as const, isThere: true },
  { backend: 'native' as const, isThere: HAS_NATIVE },
  { backend: 'webgpu' as const, isThere: HAS_WEBGPU },
])('generation on $backend (needs $backend)', ({ backend, isThere }) => {
  it.skipIf(!isThere || backend === 'wasm')(
    'gives the tokens of wasm, log-probs within 1e-4, as rows end and over turns',
    async () => {
      const expected = await generated('wasm');
      const turns = await generated(backend);
      const lengths = expected.flat().map(({ tokenIds }) => tokenIds.length);
      expect(new Set(lengths).size).toBeGreaterThan(5);
      turns.flat().forEach(({ tokenIds, logProbs }, i) => {
        const other = expected.flat()[i];
        expect(tokenIds).toEqual(other.tokenIds);
        logProbs!.forEach((logProb, t) =>
          expect(Math.abs(logProb - other.logProbs![t]), `row ${i} token ${t}`).toBeLessThan(1e-4),
        );
      });
    },
    600_000,
  );

  it.skipIf(!isThere)('leaks nothing if onToken throws after some rows have ended', async () => {
    await useBackend(backend);
    const policy = policyOf();
    await policy.generate(CONTEXTS, optionsOf(0, CONTEXTS));
    policy.release();
    const before = tf.memory();
    let numTokens = 0;
    const onToken = (): void => {
      if (++numTokens === 40) throw new Error('gone');
    };
    const failing = policy.generate(CONTEXTS, { ...optionsOf(0, CONTEXTS), onToken });
    await expect(failing).rejects.toThrow('gone');
    expect(tf.memory()).toEqual(before);
    policy.dispose();
  });
});
