/** Recorded trajectories of a scripted policy. */
import { cross } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { createPassages } from '../../lib/data/passage.js';
import { graphQuestionType, stratifiedSample } from '../../lib/data/question.js';
import { mapAnswers } from '../../lib/evaluation/evaluate.js';
import { BENCHMARK_TITLES, MANY } from '../../lib/evaluation/selections.js';
import { loadTrajectories, policyTitle, scoredLine } from '../../lib/experiments/trajectories.js';
import {
  trajectories,
  TRAJECTORY_RUNS,
  TRAJECTORY_SAMPLE,
} from '../../lib/experiments/trajectories.js';
import type { TrajectoryLine } from '../../lib/experiments/trajectories.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import { formatTrajectory } from '../../lib/rollout/trajectory.js';
import { resolveRollout } from '../../lib/training/methods.js';
import type { PolicyRun } from '../../lib/experiments/running/policy-runs.js';
import { temporaryFolder } from '../folder.js';
import { syntheticData, syntheticQuestion } from '../pages/viewer/synthetic.js';
import { scriptedPolicy } from '../rollout/scripted-policy.js';
import { writeRecords } from './synthetic.js';

const RUN: PolicyRun = { method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 };
const retriever = createBm25Retriever(
  createPassages({ Town0: 'Town0 is old.', River0: 'River0 is new.' }),
);
const [comparison, chain] = [syntheticQuestion(0), syntheticQuestion(1)];
const policy = () =>
  scriptedPolicy({
    [comparison.question]: [
      '<think> both </think><search> Town0 ## River0 </search>',
      '<think> so </think><answer> Town0 </answer>',
    ],
    [chain.question]: ['<think> why search? </think><answer> River1 </answer>'],
  });
const answers = (run = RUN): Promise<TrajectoryLine[]> =>
  mapAnswers(policy(), retriever, [chain, comparison], {
    rollout: resolveRollout(run.method, 'small-world'),
    batchSize: 2,
    toResult: (question, trajectory) => scoredLine(run, question, trajectory),
  });

describe('scoredLine', () => {
  it('keeps the order of the questions, with every token, passage and reward component', async () => {
    const [wrong, right] = await answers();
    expect([wrong, right].map(({ questionId }) => questionId)).toEqual([chain.id, comparison.id]);
    const type = { questionType: 'parallelizable', subQuestionRecall: 1 };
    expect(right).toMatchObject({ run: RUN, ...type, finish: 'answer' });
    expect(right.searchTurns[0].results).toMatchObject([
      { status: 'ok', passages: [{ title: 'Town0' }] },
      { status: 'ok', passages: [{ title: 'River0' }] },
    ]);
    expect(right.segments.every(({ tokenIds }) => tokenIds.length > 0)).toBe(true);
    expect(right.rewards).toMatchObject({ outcome: 1, format: 0 });
    expect(right.rewards.total).toBeCloseTo(1.45, 12);
    expect(wrong.rewards.outcome).toBe(0);
  });

  it('writes lines that the viewer reads as recorded, without advantage and step', async () => {
    const lines = await answers();
    expect(formatTrajectory(lines[0])).toMatch(/"logProbs":\[0,-0\.01,/);
    const third = { ...lines[0].segments[1], logProbs: [-1 / 3] };
    const rounded = formatTrajectory({ ...lines[0], segments: [third] });
    expect(rounded).toContain('"logProbs":[-0.3333]');
    const runs = lines.map((line) => parseTrajectory(JSON.parse(formatTrajectory(line))));
    const { trajectories } = syntheticData(runs, 2);
    expect(trajectories[1]).toMatchObject({
      method: 'ParallelSearch (instruct)',
      isRecorded: true,
      advantage: undefined,
      step: undefined,
      rewards: lines[1].rewards,
      answer: 'Town0',
      labels: [],
    });
  });
});

describe('loadTrajectories', () => {
  const folder = temporaryFolder();

  it('gives the trajectories of all runs by question, with each run’s name', async () => {
    const ofRuns = new Map<string, TrajectoryLine[]>();
    for (const run of TRAJECTORY_RUNS) ofRuns.set(policyTitle(run), await answers(run));
    await writeRecords(folder, trajectories, (run: PolicyRun) => {
      return { lines: ofRuns.get(policyTitle(run)) };
    });
    const { lines, provenance } = await loadTrajectories(folder);
    const names = TRAJECTORY_RUNS.map(policyTitle);
    expect(new Set(names).size).toBe(names.length);
    const order = cross([chain.id, comparison.id], names);
    expect(lines.map(({ method, questionId }) => [questionId, method])).toEqual(order);
    expect(provenance).toMatchObject({ seeds: [1], backend: 'a made-up backend' });
  });
});

it('the sample covers every benchmark, question type and number of entities', async () => {
  const sample = stratifiedSample((await loadWorld()).questions, TRAJECTORY_SAMPLE);
  const kinds = new Set(sample.map(({ metadata }) => graphQuestionType(metadata.graph ?? [])));
  expect([...kinds].sort()).toEqual(['hybrid', 'parallelizable', 'sequential', 'single_hop']);
  const benchmarks = new Set(sample.map(({ metadata }) => metadata.benchmark));
  expect(benchmarks).toEqual(new Set([...Object.keys(BENCHMARK_TITLES), MANY]));
  expect(sample.some(({ metadata }) => metadata.type === 'bridge')).toBe(true);
  const sizes = sample.map(({ metadata }) => metadata.graph?.length);
  for (const size of [2, 3, 4, 5, 6, 7, 8]) expect(sizes).toContain(size);
});
