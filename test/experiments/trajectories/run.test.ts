/** Trajectories to read, by a policy that says what a script says and by processes that only seem to answer. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { passagesOf } from '../../../lib/data/question.js';
import { runExperiment, type Experiment } from '../../../lib/experiments/experiment.js';
import type { GeneratingWorker } from '../../../lib/experiments/generating-worker.js';
import { runTrajectories, TRAJECTORIES_CONFIG } from '../../../lib/experiments/trajectories/run.js';
import {
  policyTitle,
  recordTrajectories,
  type TrajectoryLine,
} from '../../../lib/experiments/trajectories/answers.js';
import type { TrajectoriesJob, TrajectoriesReply } from '../../../lib/experiments/trajectories/worker.js';
import type { PolicyRun } from '../../../lib/experiments/runs.js';
import { createBm25Retriever } from '../../../lib/retrieval/bm25.js';
import { rewardsOf } from '../../../lib/rewards/presets.js';
import { parseTranscript } from '../../../lib/rollout/recorded.js';
import { printTrajectory } from '../../../lib/rollout/trajectory.js';
import { scriptedPolicy } from '../../rollout/scripted-policy.js';
import { syntheticData, syntheticQuestion } from '../../pages/viewer/synthetic.js';

const RUN: PolicyRun = { method: 'parallelsearch', model: 'instruct', seed: 1 };
const retriever = createBm25Retriever(passagesOf({ Town0: 'Town0 is old.', River0: 'River0 is new.' }));
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
  recordTrajectories(policy(), retriever, [chain, comparison], {
    ...{ run, rewards: rewardsOf('paper'), batchSize: 2 },
  });

describe('recordTrajectories', () => {
  it('keeps the order of the questions, with every token, passage and part of the reward', async () => {
    const [wrong, right] = await answers();
    expect([wrong, right].map(({ questionId }) => questionId)).toEqual([chain.id, comparison.id]);
    expect(right).toMatchObject({ run: RUN, shape: 'parallelizable', coverage: 1, finish: 'answer' });
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
    expect(printTrajectory(lines[0])).toMatch(/"logProbs":\[0,-0\.01,/);
    expect(
      printTrajectory({ ...lines[0], segments: [{ ...lines[0].segments[1], logProbs: [-1 / 3] }] }),
    ).toContain('"logProbs":[-0.3333]');
    const runs = lines.map((line) => parseTranscript(JSON.parse(printTrajectory(line))));
    const { trajectories } = syntheticData(
      runs.map((run) => ({ run, method: 'file' })),
      2,
    );
    expect(trajectories[1]).toMatchObject({
      ...{ method: 'ParallelSearch (instruct)', recorded: true, advantage: null, step: null },
      ...{ rewards: lines[1].rewards, answer: 'Town0', signs: [] },
    });
  });
});

describe('runTrajectories', () => {
  let root: string;
  beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'trajectories-'))));
  afterEach(() => rmSync(root, { recursive: true, force: true }));

  const numParts = (): number =>
    readdirSync(root, { recursive: true }).filter((name) => String(name).endsWith('.json')).length;

  /**
   * Runs with processes that answer here, but for the run named `fails`, which does so once the others are finished;
   * `asked` gets the names of those that answered.
   */
  function experiment(asked: string[], fails?: string): Experiment {
    const model = (): GeneratingWorker<TrajectoriesJob, TrajectoriesReply> => ({
      send: async ({ run }) => {
        if (policyTitle(run) === fails) {
          await vi.waitUntil(() => numParts() === names.length - 1);
          throw new Error('killed');
        }
        asked.push(policyTitle(run));
        return { reply: answers(run).then((lines) => ({ lines, residentBytes: 0 })) };
      },
      stop: () => undefined,
    });
    return {
      ...{ title: 'test', config: () => ({}), estimateSeconds: () => 1 },
      run: (context) => runTrajectories(TRAJECTORIES_CONFIG, context, model),
    };
  }
  const run = (asked: string[], fails?: string) =>
    runExperiment('trajectories', experiment(asked, fails), { root, backend: 'wasm' });
  const names = TRAJECTORIES_CONFIG.runs.map(policyTitle);

  it('writes the trajectories of all runs question by question, each run under its own name', async () => {
    const { file } = await run([]);
    expect(JSON.parse(readFileSync(file, 'utf8'))).toMatchObject({
      ...{ numQuestions: 2, numTrajectories: 2 * names.length, provenance: { seeds: [1] } },
    });
    const text = readFileSync(join(root, 'trajectories', 'trajectories.jsonl'), 'utf8');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as TrajectoryLine);
    expect(new Set(names).size).toBe(names.length);
    expect(lines.map(({ method, questionId }) => [questionId, method])).toEqual(
      [chain, comparison].flatMap(({ id }) => names.map((name) => [id, name])),
    );
  });

  it('goes on after a kill with the runs that were not answered', async () => {
    const [before, after]: [string[], string[]] = [[], []];
    await expect(run(before, names[2])).rejects.toThrow('killed');
    await run(after);
    expect(before.sort()).toEqual(names.filter((name) => name !== names[2]).sort());
    expect(after).toEqual([names[2]]);
  });
});
