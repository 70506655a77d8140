import { join } from 'node:path';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import type { Question } from '../../lib/data/question.js';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { runTraining } from '../../lib/training/run.js';
import { createTrainer } from '../../lib/training/trainers.js';
import {
  documentsPrompt,
  formatDocuments,
  noiseProbability,
  type DocumentKind,
} from '../../lib/training/zerosearch.js';
import { temporaryFolder } from '../folder.js';
import { chattyModel, SINGLE, TASK, tinyTraining, TOKENIZER } from './tiny.js';

await useBackend('wasm');
const model = chattyModel();

const folder = temporaryFolder();
const { retriever } = TASK;
const simulating = tinyTraining({
  trainer: 'zerosearch-simulator',
  rewards: { preset: 'search-r1' },
});

/** Policies with a given name generate what a function of their context returns. */
function letWrite(name: string, write: (context: string, row: number) => string): void {
  const generate = Reflect.get(LocalPolicy.prototype, 'generate');
  vi.spyOn(LocalPolicy.prototype, 'generate').mockImplementation(
    async function (this: LocalPolicy, contexts, options) {
      if (this.name !== name) return generate.call(this, contexts, options);
      return contexts.map((ids, row) => {
        const text = write(TOKENIZER.decode([...ids]), row);
        const tokenIds = TOKENIZER.encode(text);
        return { tokenIds, text, logProbs: tokenIds.map(() => -1), finish: 'stop' as const };
      });
    },
  );
}

describe('the search simulator', () => {
  const withoutGraph = { ...SINGLE, metadata: {} };

  /**
   * What it learns from if the policy searches for `query` and answers every second row
   * correctly.
   */
  async function learned(query: string, question: Question) {
    letWrite(simulating.method, (context, row) =>
      context.includes('<information>')
        ? `<answer> ${row % 2 ? 1960 : 1904} </answer>`
        : `<search> ${query} </search>`,
    );
    const task = { config: simulating, model, questions: [question], retriever };
    const trainer = await createTrainer(task);
    const update = vi.spyOn(trainer.session.trained, 'update');
    const { trajectories, metrics } = await trainer.next();
    const rows = update.mock.calls.flatMap(([some]) => some);
    trainer.dispose();
    const found = (await retriever.retrieve([query], { topK: 3 }))[0].map(({ passage }) => passage);
    const printed = (kind: string, documents = found): string =>
      documentsPrompt(kind as DocumentKind, query, question, 'short') + formatDocuments(documents);
    const texts = rows.map(({ tokenIds }) => TOKENIZER.decode(tokenIds));
    return { rows, texts, found, printed, trajectories, metrics };
  }

  it('imitates search results as useful if the answer was right, else as noisy', async () => {
    const { rows, texts, found, printed, trajectories, metrics } = await learned(
      'Cy Hill',
      withoutGraph,
    );
    const expected = trajectories.map(({ rewards }) =>
      printed(rewards.outcome === 1 ? 'useful' : 'noisy'),
    );
    expect(texts.sort()).toEqual(expected.sort());
    expect(new Set(texts).size).toBe(2);
    // Only the documents are learned.
    for (const { tokenIds, lossMask } of rows)
      expect(TOKENIZER.decode(tokenIds.filter((_, t) => lossMask[t] === 1))).toBe(
        formatDocuments(found),
      );
    expect(metrics.loss).toBeGreaterThan(0);
  });

  it.each([
    ['useful', '1960'],
    ['noisy', '1777'],
  ])('follows the graph if there is one, with true documents first (%s)', async (kind, birth) => {
    const graph = SINGLE.metadata.graph!.map((node) => ({ ...node, answers: [birth] }));
    const { texts, found, printed } = await learned('Red River film Cy Hill', {
      ...SINGLE,
      metadata: { graph },
    });
    const isTrue = ({ text }: { text: string }): boolean => text.includes(birth);
    const ordered = [...found.filter(isTrue), ...found.filter((one) => !isTrue(one))];
    // Real search ranks another one first.
    expect(isTrue(found[0])).toBe(false);
    expect(new Set(texts)).toEqual(new Set([printed(kind, ordered)]));
  });
});

it('noise rises from the first to the last share, mostly late', () => {
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
      model,
      questions: [SINGLE],
      retriever: never,
    });

  /** The simulator writes the given document, and its prompts are recorded. */
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
  ])('searches with the simulator (%s)', async (kind, noise) => {
    const asked = letItWrite(
      formatDocuments([{ title: 'Reed', text: 'Cy Hill was born in 1960.' }]),
    );
    const trainer = await trainerOf({ simulator, startNoise: noise, endNoise: noise });
    const { trajectories, metrics } = await trainer.next();
    const turns = trajectories.flatMap(({ searchTurns }) => searchTurns);
    expect(turns.length).toBeGreaterThan(0);
    for (const { results } of turns)
      for (const result of results)
        expect(result).toMatchObject({
          status: 'ok',
          passages: [{ id: `${kind}-1`, title: 'Reed' }],
        });
    expect(asked).toHaveLength(turns.flatMap(({ queries }) => queries).length);
    for (const prompt of asked)
      expect(prompt).toMatch(`Practice. ${kind} ${SINGLE.question} 1960\n`);
    expect(metrics).toMatchObject({ noise, retrievals: asked.length, retrievals_failed: 0 });
    const shown = trajectories.flatMap(({ segments }) =>
      segments.filter((one) => one.kind === 'information'),
    );
    expect(shown[0].text).toContain('Cy Hill was born in 1960.');
    trainer.dispose();
  });

  it('reports a failed search to the policy if no document was written', async () => {
    letItWrite('nothing of use');
    const trainer = await trainerOf({ simulator });
    const { trajectories, metrics } = await trainer.next();
    const results = trajectories.flatMap(({ searchTurns }) =>
      searchTurns.flatMap((turn) => turn.results),
    );
    expect(results.map(({ status }) => status)).toEqual(results.map(() => 'failed'));
    expect(metrics.frac_retrievals_failed).toBe(1);
    trainer.dispose();
  });

  it('requires a simulator', async () => {
    await expect(trainerOf()).rejects.toThrow('Train one with --method zerosearch:simulator');
    const trainer = await trainerOf({ simulator: join(folder, 'nowhere') });
    await expect(trainer.next()).rejects.toThrow('nowhere');
    trainer.dispose();
  });
});
