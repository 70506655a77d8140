import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { repeatedQueries } from '../../../lib/evaluation/metrics.js';
import { questionShape } from '../../../lib/data/question.js';
import { realModelReport, withoutTexts } from '../../../lib/experiments/real-model/experiment.js';
import { askedOf, loadRealWorld, missingInputs } from '../../../lib/experiments/real-model/data.js';
import {
  adapterOf,
  ANSWERING,
  BY_TOP_K,
  FOLDERS,
  isThere,
  NUM_DEV,
  numTest,
  realConfigOf,
  realRolloutOf,
  realRunName,
  TRAINED,
  triedSteps,
  WARM_UP,
} from '../../../lib/experiments/real-model/settings.js';
import { rowsOf } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { result, syntheticCurves, syntheticResults } from '../synthetic.js';

const root = temporaryFolder();
const benchmarks = join(root, 'benchmarks');

/** Comparisons and chains about invented people, in the layout and with the annotations of HotpotQA's FlashRAG folder; others without. */
function writeBenchmark(name: string): void {
  const folder = join(benchmarks, name);
  mkdirSync(folder, { recursive: true });
  const people = Array.from({ length: 200 }, (_, i) => ({ title: `${name} Person ${i}`, year: 1700 + i }));
  const passages = people.map(({ title, year }, i) => ({
    ...{ id: `${name}-${i}`, contents: `${title}\n${title} was born in ${year}.` },
  }));
  const questions = people.slice(1).map(({ title }, i) => ({
    ...{ id: `${name}-q${i}`, question: `Who was born first, ${people[i].title} or ${title}?` },
    golden_answers: [people[i].title],
    ...{ metadata: { type: 'comparison', supporting: [`${name}-${i}`, `${name}-${i + 1}`] } },
    split: i % 2 === 0 ? 'train' : 'test',
  }));
  const print = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(folder, 'corpus.jsonl'), print(passages));
  writeFileSync(join(folder, 'questions.jsonl'), print(questions));
}
beforeAll(() => Object.keys(FOLDERS).forEach(writeBenchmark));

describe('the runs of the real model', () => {
  it('train either method alike from what the warm-up made, with small adapters', () => {
    expect(TRAINED.map(realRunName)).toEqual([
      ...['search-r1-seed1', 'parallelsearch-seed1', 'search-r1-seed2', 'parallelsearch-seed2'],
    ]);
    const [searchR1, ours] = TRAINED.map(realConfigOf);
    expect(ours.grpo).toEqual(searchR1.grpo);
    expect(ours.lora).toEqual(searchR1.lora);
    expect(ours).toMatchObject({ model: 'runs/real-model/initial', rewards: { preset: 'paper' } });
    expect(realConfigOf(WARM_UP).model).toBe('models/smollm2-135m-instruct');
    expect(triedSteps(ours)).toEqual([10, 20, 30]);
  });

  it('answer as they would be trained, without search or with other numbers of passages', () => {
    const [closed, ...searching] = ANSWERING.map(realRolloutOf);
    expect(closed.maxSearchTurns).toBe(0);
    for (const rollout of searching)
      expect(rollout).toMatchObject({ promptForm: 'chat', maxSearchTurns: 4, topK: 3 });
    expect(realRolloutOf(TRAINED[0])).toEqual(realConfigOf(TRAINED[0]).rollout);
    expect(BY_TOP_K.map((run) => realRolloutOf(run).topK)).toEqual([1, 1, 5, 5, 10, 10]);
    const names = [...ANSWERING, ...BY_TOP_K].map(realRunName);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are there once the adapters are, that of the warm-up first', () => {
    const kept = join(root, 'kept');
    const [, ours] = TRAINED;
    mkdirSync(adapterOf(ours, kept), { recursive: true });
    expect(isThere(ours, kept)).toBe(false);
    mkdirSync(adapterOf(WARM_UP, kept));
    expect(ANSWERING.filter((run) => isThere(run, kept)).map(realRunName)).toEqual([
      ...['r1-seed1', 'untrained-search-r1-seed1', 'untrained-parallel-seed1', 'parallelsearch-seed1'],
    ]);
  });
});

describe('the questions', () => {
  it('of training have graphs, those kept back are others, and of each benchmark a sample of the test is asked', async () => {
    const world = await loadRealWorld(benchmarks);
    expect(world.dev).toHaveLength(NUM_DEV);
    const dev = new Set(world.dev.map(({ id }) => id));
    expect(world.train).toHaveLength(3 * 100 - NUM_DEV);
    for (const { id, split, metadata } of world.train) {
      expect([split, dev.has(id)]).toEqual(['train', false]);
      expect(questionShape(metadata.graph!)).toBe('parallelizable');
    }
    // There are 99, of which a benchmark of several hops has all.
    expect([numTest('nq'), numTest('hotpotqa')]).toEqual([60, 120]);
    expect(world.test).toHaveLength(6 * 60 + 2 * 99);
    expect(world.test.every(({ split }) => split === 'test')).toBe(true);
    expect((await loadRealWorld(benchmarks)).test.map(({ id }) => id)).toEqual(
      world.test.map(({ id }) => id),
    );
    expect(new Set(askedOf(world, 5).map(({ metadata }) => metadata.benchmark))).toEqual(
      new Set(['hotpotqa', '2wikimultihopqa']),
    );
    const [found] = await world.retriever.retrieve(['musique Person 7'], { topK: 3 });
    expect(found.map(({ passage }) => passage.title)).toContain('musique Person 7');
  });

  it('and the model are asked for by name where they are missing', () => {
    const model = join(root, 'model');
    expect(missingInputs(model, benchmarks)).toContain('npx parallelsearch model smollm2-135m-instruct');
    mkdirSync(model);
    writeFileSync(join(model, 'config.json'), '{}');
    expect(missingInputs(model, join(root, 'nowhere'))).toContain('there is no benchmark nq in');
    expect(missingInputs(model, benchmarks)).toBeUndefined();
  });
});

it('a kept answer has none of the benchmarks’ texts, and counts the same', () => {
  const searches = [['Ada Stone', 'Bo Reed'], ['ada stone']];
  const answered = result({ searches, answer: 'Ada Stone' });
  const kept = withoutTexts(answered);
  expect(JSON.stringify(kept)).not.toMatch(/ada|reed/i);
  expect(repeatedQueries(kept)).toBe(repeatedQueries(answered));
  expect(withoutTexts(result({ answer: null })).answer).toBeNull();
  expect({ ...kept, searches, answer: 'Ada Stone' }).toEqual(answered);
});

it('the report sets what was found beside what was to be, with right answers by passages and the questions kept back', () => {
  const answers = syntheticResults({ perTemplate: 3, warmUps: 1 }).filter(
    ({ model }) => model === 'instruct',
  );
  const byTopK = [1, 10].flatMap((topK) =>
    answers
      .filter(
        ({ benchmark, seed, method }) => benchmark === 'hotpotqa' && seed === 1 && method === 'search-r1',
      )
      .map((answer) => ({ ...answer, topK })),
  );
  const curves = syntheticCurves({ steps: 4, seeds: 2 }).filter(({ model }) => model === 'instruct');
  const read = { answers, byTopK, curves, dev: curves, provenance: { commit: 'made up' } };
  const report = realModelReport(read, { resamples: 50 });
  expect(rowsOf(report.predictions)).toHaveLength(7);
  const [wellFormed] = rowsOf(report.predictions);
  expect(wellFormed).toMatchObject({ holds: true });
  const ofTopK = rowsOf(report.topK);
  expect(ofTopK.map(({ topK }) => topK)).toEqual([1, 3, 10]);
  // The same answers three times.
  expect(new Set(ofTopK.map(({ value }) => value)).size).toBe(1);
  expect(rowsOf(report.dev)).toHaveLength(16);
});
