import { join } from 'node:path';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { LocalPolicy } from '../../../lib/policy/local-policy.js';
import type { Model } from '../../../lib/policy/model-folder.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { runTraining } from '../../../lib/training/run.js';
import { createTrainer } from '../../../lib/training/trainers.js';
import { documentsPrompt, printDocuments } from '../../../lib/training/zerosearch/documents.js';
import { noiseProbability } from '../../../lib/training/zerosearch/trainer.js';
import { temporaryFolder } from '../../folder.js';
import { chattyModel, PASSAGES, SINGLE, tinyTraining, TOKENIZER } from '../tiny.js';

let model: Model;
beforeAll(async () => {
  await useBackend('wasm');
  model = chattyModel();
});
afterEach(() => vi.restoreAllMocks());

const folder = temporaryFolder();
const retriever = createBm25Retriever(PASSAGES);
const simulating = tinyTraining({ trainer: 'zerosearch-simulator', rewards: { preset: 'search-r1' } });

/** Lets policies of a name write what a function of their context, as text, says. */
function letWrite(name: string, write: (context: string, row: number) => string): void {
  const generate = Reflect.get(LocalPolicy.prototype, 'generate');
  vi.spyOn(LocalPolicy.prototype, 'generate').mockImplementation(async function (
    this: LocalPolicy,
    contexts,
    options,
  ) {
    if (this.name !== name) return generate.call(this, contexts, options);
    return contexts.map((ids, row) => {
      const text = write(TOKENIZER.decode([...ids]), row);
      const tokenIds = TOKENIZER.encode(text);
      return { tokenIds, text, logProbs: tokenIds.map(() => -1), finish: 'stop' as const };
    });
  });
}

it('the policy that plays the search engine imitates what came back for a query, as useful where the answer was right and else as noisy', async () => {
  const found = (await retriever.retrieve(['Cy Hill'], { topK: 3 }))[0].map(({ passage }) => passage);
  letWrite(simulating.method, (context, row) =>
    context.includes('<information>')
      ? `<answer> ${row % 2 ? 1960 : 1904} </answer>`
      : '<search> Cy Hill </search>',
  );
  const trainer = createTrainer({ config: simulating, model, questions: [SINGLE], retriever });
  const update = vi.spyOn(trainer.trained, 'update');
  const { trajectories, metrics } = await trainer.next();
  const rows = update.mock.calls.flatMap(([some]) => some);
  const texts = rows.map(({ tokenIds }) => TOKENIZER.decode(tokenIds)).sort();
  const expected = trajectories.map(({ rewards }) => {
    const kind = rewards.outcome === 1 ? 'useful' : 'noisy';
    return documentsPrompt(kind, 'Cy Hill', SINGLE, 'short') + printDocuments(found);
  });
  expect(texts).toEqual(expected.sort());
  expect(new Set(texts).size).toBe(2);
  // Only the documents are learned.
  for (const { tokenIds, lossMask } of rows)
    expect(TOKENIZER.decode(tokenIds.filter((_, t) => lossMask[t] === 1))).toBe(printDocuments(found));
  expect(metrics.loss).toBeGreaterThan(0);
  trainer.dispose();
});

it('noise rises from the first share to the last, late rather than soon', () => {
  const options = { startNoise: 0.2, endNoise: 0.8, noiseBase: 4 };
  expect(noiseProbability(0, 10, options)).toBe(0.2);
  // (4^0.5 - 1) / 3 = 1 / 3 of the way.
  expect(noiseProbability(5, 10, options)).toBeCloseTo(0.4, 12);
  expect(noiseProbability(10, 10, options)).toBeCloseTo(0.8, 12);
});

describe('ZeroSearch', () => {
  const simulator = join(folder, 'adapter');
  beforeAll(async () => {
    const questions = [{ ...SINGLE, goldenAnswers: ['Reed'] }];
    await runTraining({ config: simulating, model, questions, retriever, inputsHash: 'x', folder });
  });
  const never = { name: 'never', retrieve: () => Promise.reject(new Error('asked')) };
  const trainerOf = (zerosearch?: object) =>
    createTrainer({
      config: tinyTraining({ trainer: 'zerosearch', zerosearch, rewards: { preset: 'f1' } }),
      ...{ model, questions: [SINGLE], retriever: never },
    });

  /** Lets the simulator write a document, and keeps what it was asked. */
  function letItWrite(text: string): string[] {
    const asked: string[] = [];
    letWrite('simulator', (context) => {
      asked.push(context);
      return text;
    });
    return asked;
  }

  it.each([
    ['useful', 0],
    ['noisy', 1],
  ])('searches with the policy that plays the search engine (%s)', async (kind, noise) => {
    const asked = letItWrite(printDocuments([{ title: 'Reed', text: 'Cy Hill was born in 1960.' }]));
    const trainer = trainerOf({ simulator, startNoise: noise, endNoise: noise });
    const { trajectories, metrics } = await trainer.next();
    const turns = trajectories.flatMap(({ searchTurns }) => searchTurns);
    expect(turns.length).toBeGreaterThan(0);
    for (const { results } of turns)
      for (const result of results)
        expect(result).toMatchObject({ status: 'ok', passages: [{ id: `${kind}-1`, title: 'Reed' }] });
    expect(asked).toHaveLength(turns.flatMap(({ queries }) => queries).length);
    for (const prompt of asked) expect(prompt).toMatch(`Practice. ${kind} ${SINGLE.question} 1960\n`);
    expect(metrics).toMatchObject({ noise, retrievals: asked.length, retrievals_failed: 0 });
    const shown = trajectories.flatMap(({ segments }) =>
      segments.filter((one) => one.kind === 'information'),
    );
    expect(shown[0].text).toContain('Cy Hill was born in 1960.');
    trainer.dispose();
  });

  it('tells the policy so where no document was written', async () => {
    letItWrite('nothing of use');
    const trainer = trainerOf({ simulator });
    const { trajectories, metrics } = await trainer.next();
    const results = trajectories.flatMap(({ searchTurns }) => searchTurns.flatMap((turn) => turn.results));
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'failed'));
    expect(metrics.frac_retrievals_failed).toBe(1);
    trainer.dispose();
  });

  it('says what is missing', async () => {
    expect(() => trainerOf()).toThrow('Train one with --method zerosearch:simulator');
    const trainer = trainerOf({ simulator: join(folder, 'nowhere') });
    await expect(trainer.next()).rejects.toThrow('nowhere');
    trainer.dispose();
  });
});
