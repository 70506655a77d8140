import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mean } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { repeatedQueries } from '../../../lib/evaluation/metrics.js';
import { questionShape } from '../../../lib/data/question.js';
import { withoutTexts } from '../../../lib/experiments/real-model/experiment.js';
import { casesOf, realModelReport } from '../../../lib/experiments/real-model/experiment.js';
import {
  askedOf,
  loadRealWorld,
  missingInputs,
} from '../../../lib/experiments/real-model/settings.js';
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
import { createAdapter } from '../../../lib/policy/lora.js';
import { disposeWeights } from '../../../lib/policy/weights.js';
import { createRandom } from '../../../lib/random.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { matching } from '../../../lib/evaluation/table.js';
import type { QuestionResult } from '../../../lib/evaluation/result.js';
import { rowsOf } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { CONFIG } from '../../training/tiny.js';
import { result, syntheticCurves, syntheticResults } from '../synthetic.js';

const root = temporaryFolder();
const benchmarks = join(root, 'benchmarks');

/**
 * Comparisons and chains about invented people, in the layout and with the annotations of
 * HotpotQA's FlashRAG folder; others without.
 */
function writeBenchmark(name: string): void {
  const folder = join(benchmarks, name);
  mkdirSync(folder, { recursive: true });
  const people = Array.from({ length: 200 }, (_, i) => ({
    title: `${name} Person ${i}`,
    year: 1700 + i,
  }));
  const passages = people.map(({ title, year }, i) => ({
    id: `${name}-${i}`,
    contents: `${title}\n${title} was born in ${year}.`,
  }));
  const questions = people
    .slice(1)
    .map(({ title }, i) => ({
      id: `${name}-q${i}`,
      question: `Who was born first, ${people[i].title} or ${title}?`,
      golden_answers: [people[i].title],
      metadata: { type: 'comparison', supporting: [`${name}-${i}`, `${name}-${i + 1}`] },
      split: i % 2 === 0 ? 'train' : 'test',
    }));
  const print = (rows: readonly object[]): string =>
    rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(folder, 'corpus.jsonl'), print(passages));
  writeFileSync(join(folder, 'questions.jsonl'), print(questions));
}
beforeAll(() => Object.keys(FOLDERS).forEach(writeBenchmark));

describe('the runs of the real model', () => {
  it('train either method alike from what the warm-up made, with small adapters', () => {
    expect(TRAINED.map(realRunName)).toEqual([
      'parallelsearch-seed1',
      'search-r1-seed1',
      'parallelsearch-seed2',
      'search-r1-seed2',
    ]);
    const [ours, searchR1] = TRAINED.map(realConfigOf);
    expect(ours.grpo).toEqual(searchR1.grpo);
    expect(ours.lora).toEqual(searchR1.lora);
    expect(ours).toMatchObject({
      model: 'runs/real-model/smollm2-135m-instruct/initial',
      rewards: { preset: 'paper' },
    });
    expect(realConfigOf(WARM_UP).model).toBe('models/smollm2-135m-instruct');
    expect(triedSteps(ours)).toEqual([15, 30]);
  });

  it('have adapters that a model of as many layers can be trained with', async () => {
    await useBackend('wasm');
    for (const run of [WARM_UP, ...TRAINED]) {
      const { lora } = realConfigOf(run);
      const adapter = createAdapter({ ...CONFIG, numLayers: 30 }, lora, createRandom(1));
      const layers = run === WARM_UP ? 30 : 9;
      expect(Object.keys(adapter)).toHaveLength(layers * (run === WARM_UP ? 4 : 1) * 2);
      disposeWeights(adapter);
    }
  });

  it('answer as they would be trained, without search or with other numbers of passages', () => {
    expect(realRolloutOf({ method: 'r1', seed: 1 }).maxSearchTurns).toBe(0);
    for (const run of ANSWERING.filter(({ method }) => method !== 'r1'))
      expect(realRolloutOf(run)).toMatchObject({ promptForm: 'chat', maxSearchTurns: 4, topK: 3 });
    expect(realRolloutOf(TRAINED[0])).toEqual(realConfigOf(TRAINED[0]).rollout);
    expect(BY_TOP_K.map((run) => realRolloutOf(run).topK)).toEqual([1, 1, 5, 5, 10, 10]);
    const names = [...ANSWERING, ...BY_TOP_K].map(realRunName);
    expect(new Set(names).size).toBe(names.length);
  });

  it('are there once the adapters are, that of the warm-up first', () => {
    const kept = join(root, 'kept');
    const [ours] = TRAINED;
    mkdirSync(adapterOf(ours, kept), { recursive: true });
    expect(isThere(ours, kept)).toBe(false);
    mkdirSync(adapterOf(WARM_UP, kept));
    expect(ANSWERING.filter((run) => isThere(run, kept)).map(realRunName)).toEqual([
      'parallelsearch-seed1',
      'r1-seed1',
      'untrained-search-r1-seed1',
      'untrained-parallel-seed1',
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
    expect([numTest('nq'), numTest('hotpotqa'), numTest('hotpotqa', 5)]).toEqual([40, 120, 60]);
    expect(world.test).toHaveLength(6 * 40 + 2 * 99);
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
    expect(missingInputs(model, benchmarks)).toContain(
      'npx parallelsearch model smollm2-135m-instruct',
    );
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
  const answers = syntheticResults({ perTemplate: 3, warmUps: 1 })
    .filter(({ model }) => model === 'instruct')
    .map((one) => (one.benchmark === 'nq' ? { ...one, evidenceSeen: NaN } : { ...one, hops: 1 }));
  const byTopK = [1, 10].flatMap((topK) =>
    answers
      .filter(
        ({ benchmark, seed, method }) =>
          benchmark === 'hotpotqa' && seed === 1 && method === 'search-r1',
      )
      .map((answer) => ({ ...answer, topK })),
  );
  const curves = syntheticCurves({ steps: 4, seeds: 2 }).filter(
    ({ model }) => model === 'instruct',
  );
  const timed = {
    answers: matching(answers, { benchmark: 'hotpotqa', seed: 1 }).map((answer) => ({
      ...answer,
      seconds: 2 * answer.modelCalls,
    })),
    provenance: {},
  };
  const read = { answers, byTopK, curves, dev: curves, timed, provenance: { commit: 'made up' } };
  const report = realModelReport(read, { resamples: 50 });
  expect(rowsOf(report.predictions)).toHaveLength(7);
  const [wellFormed] = rowsOf(report.predictions);
  expect(wellFormed).toMatchObject({ holds: true });
  const ofTopK = rowsOf(report.topK);
  expect(ofTopK.map(({ topK }) => topK)).toEqual([1, 3, 10]);
  // The same answers three times.
  expect(new Set(ofTopK.map(({ value }) => value)).size).toBe(1);
  // Two methods, four steps.
  expect(rowsOf(report.dev)).toHaveLength(8);
  // Where nothing says what the evidence is, there is no figure.
  const seen = matching(rowsOf(report.rows), {
    metric: 'evidence_seen',
    method: 'search-r1',
    subset: 'all',
  });
  const known = matching(answers, { method: 'search-r1', hops: 1 });
  expect(seen.map(({ benchmark }) => benchmark)).not.toContain('nq');
  expect(seen.find(({ benchmark }) => benchmark === 'all')!.value).toBeCloseTo(
    mean(known, ({ evidenceSeen }) => evidenceSeen)!,
  );
  const seconds = { metric: 'seconds_multi_hop', benchmark: 'all', subset: 'parallelizable' };
  const [ours] = matching(rowsOf(report.rows), { ...seconds, method: 'parallelsearch' });
  const timedOurs = matching(timed.answers, { method: 'parallelsearch', subset: 'parallelizable' });
  expect(ours.value).toBeCloseTo(mean(timedOurs, (answer) => answer.seconds)!);
  expect(matching(rowsOf(report.contrasts), { ...seconds, kind: 'ratio' })).toHaveLength(1);
});

it('cases to read are of ParallelSearch’s first seed, beside Search-R1’s answer to the same question', () => {
  const answer = (
    method: string,
    questionId: string,
    fields: Partial<QuestionResult>,
  ): QuestionResult =>
    result({ method, questionId, benchmark: 'hotpotqa', model: 'instruct', seed: 1, ...fields });
  const answers = [
    answer('parallelsearch', 'saved', {
      em: 1,
      modelCalls: 2,
      subset: 'parallelizable',
      decomposed: true,
    }),
    answer('search-r1', 'saved', { em: 0, modelCalls: 3 }),
    answer('parallelsearch', 'too-much', {
      em: 1,
      modelCalls: 2,
      subset: 'sequential',
      decomposed: true,
    }),
    answer('search-r1', 'too-much', { em: 1, modelCalls: 2 }),
    answer('parallelsearch', 'saved', { em: 1, modelCalls: 2, seed: 2 }),
    answer('parallelsearch', 'elsewhere', { em: 1, modelCalls: 2, benchmark: 'nq' }),
    answer('search-r1', 'elsewhere', { em: 1, modelCalls: 3, benchmark: 'nq' }),
  ];
  expect(casesOf(answers)).toEqual([
    {
      metric: 'calls_saved',
      benchmark: 'hotpotqa',
      question: 'saved',
      right: true,
      calls: 2,
      callsAgainst: 3,
      rightAgainst: false,
    },
    {
      metric: 'failure_over_parallelized',
      benchmark: 'hotpotqa',
      question: 'too-much',
      right: true,
      calls: 2,
      callsAgainst: 2,
      rightAgainst: true,
    },
  ]);
});
