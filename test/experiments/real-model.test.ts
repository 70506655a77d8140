import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { mean } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { graphQuestionType } from '../../lib/data/question.js';
import { repeatedQueries } from '../../lib/evaluation/metrics.js';
import { matching } from '../../lib/evaluation/figures.js';
import { withoutTexts } from '../../lib/experiments/real-model/answering.js';
import { firstEdition } from '../../lib/experiments/real-model/first-edition.js';
import {
  adapterPath,
  ANSWERING,
  askedQuestions,
  BY_TOP_K,
  FOLDERS,
  isRealRunTrained,
  loadRealWorld,
  missingInputs,
  NUM_DEV,
  realConfig,
  realRollout,
  realRunName,
  TRAINED,
  WARM_UP,
} from '../../lib/experiments/real-model/settings.js';
import { toRows } from '../../lib/report/frame.js';
import { temporaryFolder } from '../folder.js';
import { result, syntheticCurves, syntheticResults } from './synthetic.js';
import { withResamples } from './resamples.js';

const root = temporaryFolder();
const benchmarks = join(root, 'benchmarks');
const NUM_PEOPLE = 200;

/** Comparisons of invented people in the layout of FlashRAG's HotpotQA folder. */
function writeBenchmark(name: string): void {
  const folder = join(benchmarks, name);
  mkdirSync(folder, { recursive: true });
  const people = Array.from({ length: NUM_PEOPLE }, (_, i) => `${name} Person ${i}`);
  const passages = people.map((person, i) => {
    return { id: `${name}-${i}`, contents: `${person}\n${person} was born in ${1700 + i}.` };
  });
  const questions = people
    .slice(1)
    .map((person, i) => ({
      id: `${name}-q${i}`,
      question: `Who was born first, ${people[i]} or ${person}?`,
      golden_answers: [people[i]],
      metadata: { type: 'comparison', supporting: [`${name}-${i}`, `${name}-${i + 1}`] },
      split: i % 2 === 0 ? 'train' : 'test',
    }));
  const print = (rows: readonly object[]): string =>
    rows.map((row) => `${JSON.stringify(row)}\n`).join('');
  writeFileSync(join(folder, 'corpus.jsonl'), print(passages));
  writeFileSync(join(folder, 'questions.jsonl'), print(questions));
}
beforeAll(() => Object.keys(FOLDERS).forEach(writeBenchmark));

describe('runs', () => {
  it('train both methods with equal settings from the warmed-up model', () => {
    const [ours, searchR1] = TRAINED.map(realConfig);
    const own = { method: '', rewards: '', rollout: '' };
    expect({ ...ours, ...own }).toEqual({ ...searchR1, ...own });
    expect(ours.model).toBe('runs/real-model/smollm2-135m-instruct/initial');
    expect(realConfig(WARM_UP).model).toBe('models/smollm2-135m-instruct');
  });

  it('answer as they were trained, without search, or with other numbers of passages', () => {
    expect(realRollout({ method: 'r1', seed: 1 }).maxSearchTurns).toBe(0);
    expect(realRollout(TRAINED[0])).toEqual(realConfig(TRAINED[0]).rollout);
    expect(BY_TOP_K.map((run) => realRollout(run).topK)).toEqual([1, 1, 5, 5, 10, 10]);
    const names = [...ANSWERING, ...BY_TOP_K].map(realRunName);
    expect(new Set(names).size).toBe(names.length);
  });

  it('answer once their adapters and the warm-up’s exist', () => {
    const adapters = join(root, 'adapters');
    const [ours] = TRAINED;
    mkdirSync(adapterPath(ours, adapters), { recursive: true });
    expect(isRealRunTrained(ours, adapters)).toBe(false);
    mkdirSync(adapterPath(WARM_UP, adapters));
    const trained = ANSWERING.filter((run) => isRealRunTrained(run, adapters)).map(
      ({ method }) => method,
    );
    expect(trained).toEqual(['parallelsearch', 'r1', 'untrained:search-r1', 'untrained:parallel']);
  });
});

describe('questions', () => {
  it('are split without overlap, with graphs for training, and sampled deterministically', async () => {
    const world = await loadRealWorld(benchmarks);
    expect(world.dev).toHaveLength(NUM_DEV);
    const dev = new Set(world.dev.map(({ id }) => id));
    expect(world.train).toHaveLength((3 * NUM_PEOPLE) / 2 - NUM_DEV);
    for (const { id, split, metadata } of world.train) {
      expect([split, dev.has(id)]).toEqual(['train', false]);
      expect(graphQuestionType(metadata.graph!)).toBe('parallelizable');
    }
    // 120 questions of HotpotQA and 2WikiMultiHopQA are requested, but only 99 exist.
    expect(world.test).toHaveLength(6 * 40 + 2 * 99);
    expect((await loadRealWorld(benchmarks)).test).toEqual(world.test);
    const byTopK = askedQuestions(world, 5).map(({ metadata }) => metadata.benchmark);
    expect(byTopK.filter((name) => name === 'hotpotqa')).toHaveLength(60);
    expect(new Set(byTopK).size).toBe(2);
    const [passages] = await world.retriever.retrieve(['musique Person 7'], { topK: 3 });
    expect(passages.map(({ passage }) => passage.title)).toContain('musique Person 7');
  });

  it('and the model are named if missing', () => {
    const model = join(root, 'model');
    expect(missingInputs(model, benchmarks)).toMatch(/smollm2/);
    mkdirSync(model);
    writeFileSync(join(model, 'config.json'), '{}');
    expect(missingInputs(model, join(root, 'nowhere'))).toMatch(/nq/);
    expect(missingInputs(model, benchmarks)).toBeUndefined();
  });
});

it('withoutTexts keeps no text of the benchmarks, but the same counts', () => {
  const searches = [['Ada Stone', 'Bo Reed'], ['ada stone']];
  const answered = result({ searches, answer: 'Ada Stone' });
  const kept = withoutTexts(answered);
  expect(JSON.stringify(kept)).not.toMatch(/ada|reed/i);
  expect(repeatedQueries(kept)).toBe(repeatedQueries(answered));
  expect(withoutTexts(result({ answer: null })).answer).toBeNull();
});

it('the result has figures over both multi-hop benchmarks, times, and other numbers of passages', async () => {
  const instruct = matching(syntheticResults({ perTemplate: 3, warmUps: 1 }), {
    model: 'instruct',
  });
  const answers = instruct.map((one) => {
    return one.benchmark === 'nq' ? { ...one, evidenceSeen: NaN } : { ...one, hops: 1 };
  });
  const searchR1 = matching(answers, { benchmark: 'hotpotqa', seed: 1, method: 'search-r1' });
  const byTopK = [1, 10].flatMap((topK) => searchR1.map((answer) => ({ ...answer, topK })));
  const curves = matching(syntheticCurves({ steps: 4, seeds: 2 }), { model: 'instruct' });
  const timedAnswers = matching(answers, { benchmark: 'hotpotqa', seed: 1 }).map((answer) => {
    return { ...answer, seconds: 2 * answer.modelCalls };
  });
  const timed = { answers: timedAnswers, provenance: {} };
  const read = { answers, byTopK, curves, timed, provenance: {} };
  const { frames } = await withResamples(20, () => firstEdition(read));
  // The same answers with each number of passages.
  const topK = toRows(frames.firstTopK);
  expect(topK.map((row) => row.topK)).toEqual([1, 3, 10]);
  expect(new Set(topK.map(({ value }) => value)).size).toBe(1);
  // Without a graph, there is no evidence metric.
  const rows = toRows(frames.first);
  const evidence = { metric: 'evidence_seen', method: 'search-r1', subset: 'all' };
  expect(matching(rows, { ...evidence, benchmark: 'nq' })).toEqual([]);
  const [overall] = matching(rows, { ...evidence, benchmark: 'all' });
  const withGraph = matching(answers, { method: 'search-r1', hops: 1 });
  expect(overall.value).toBeCloseTo(mean(withGraph, ({ evidenceSeen }) => evidenceSeen)!);
  const seconds = { metric: 'seconds_multi_hop', benchmark: 'all', subset: 'parallelizable' };
  const [ours] = matching(rows, { ...seconds, method: 'parallelsearch' });
  const timedOurs = matching(timed.answers, { method: 'parallelsearch', subset: 'parallelizable' });
  expect(ours.value).toBeCloseTo(mean(timedOurs, (answer) => answer.seconds)!);
  expect(matching(toRows(frames.firstContrasts), { ...seconds, kind: 'ratio' })).toHaveLength(1);
});
