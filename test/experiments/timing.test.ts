import { sum } from 'd3-array';
import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/figures.js';
import { summariseResults } from '../../lib/evaluation/table.js';
import { addTiming, generationTime, loadTiming } from '../../lib/experiments/timing.js';
import { timeAnswers, timedQuestions, timing } from '../../lib/experiments/timing.js';
import type { Contestant } from '../../lib/experiments/timing.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  loadPolicy,
  rolloutForRun,
  type PolicyRun,
} from '../../lib/experiments/running/policy-runs.js';
import { temporaryFolder } from '../folder.js';
import { result, writeSyntheticTiming } from './synthetic.js';

describe('timeAnswers', () => {
  it('times every answer of every policy alone, in turn', async () => {
    await useBackend('auto');
    const { questions, retriever } = await loadWorld();
    const sample = timedQuestions(questions).slice(0, 2);
    const runOf = (method: string): PolicyRun => {
      return { method, model: 'instruct', initSeed: 1, seed: 1 };
    };
    const policy = await loadPolicy(runOf('r1'));
    const { tokenizer, maxLength } = policy;
    const asked: string[] = [];
    const contestant = (name: string): Contestant => {
      const generate: typeof policy.generate = (prompts, options) => {
        expect(prompts).toHaveLength(1);
        asked.push(name);
        return policy.generate(prompts, options);
      };
      const release = () => policy.release();
      const run = runOf(name);
      const spied = { name, tokenizer, maxLength, release, generate };
      return { run, rollout: rolloutForRun(run), policy: spied };
    };
    let clock = 0;
    const fractions: number[] = [];
    const contestants = [contestant('r1'), contestant('search-r1')];
    const answers = await timeAnswers(contestants, retriever, sample, {
      now: () => (clock += 250),
      onFraction: (fraction) => fractions.push(fraction),
    });
    policy.dispose();
    expect(answers.map(({ method }) => method)).toEqual(['r1', 'search-r1', 'search-r1', 'r1']);
    const ids = [0, 0, 1, 1].map((i) => sample[i].id);
    expect(answers.map(({ questionId }) => questionId)).toEqual(ids);
    expect(answers.every(({ seconds }) => seconds === 0.25)).toBe(true);
    // The first question is answered once more, to warm up.
    const all = [...answers.slice(0, 2), ...answers];
    expect(asked).toHaveLength(sum(all, ({ modelCalls }) => modelCalls));
    expect(fractions).toEqual([0.25, 0.5, 0.75, 1]);
  });
});

describe('timing', () => {
  it('times both methods in pairs, one job at a time', async () => {
    const computation = timing.computation!;
    expect((await computation.jobs()).map(({ key }) => key)).toEqual(
      [1, 2, 3].flatMap((initSeed) => [`timing/base-${initSeed}`, `timing/instruct-${initSeed}`]),
    );
    expect(computation.processes).toBe(1);
  });

  it('gives seconds with intervals and their ratio', async () => {
    const folder = temporaryFolder();
    await writeSyntheticTiming(folder);
    const timed = await loadTiming(folder);
    expect(timed.provenance).toMatchObject({ warmUps: [1, 2, 3] });
    const tidy = summariseResults([result()], { resamples: 1 });
    addTiming(tidy, timed, { resamples: 20 });
    const { rows, contrasts, provenance } = tidy;
    expect(provenance.timing).toBe(timed.provenance);
    const cell = { benchmark: 'hotpotqa', subset: 'parallelizable', model: 'base' };
    // One search and the answer for any number of entities.
    const ours = matching(rows, { ...cell, method: 'parallelsearch', metric: 'seconds' });
    expect(ours).toMatchObject([{ value: 0.02, low: 0.02, high: 0.02 }]);
    const [ratio] = matching(contrasts, { ...cell, against: 'search-r1', kind: 'ratio' });
    expect(ratio.high).toBeLessThan(0.7);
  });

  it('derives the time of a model call from ParallelSearch’s answers', () => {
    const answer = (method: string, modelCalls: number, seconds: number) => {
      return { ...result({ method, modelCalls }), seconds };
    };
    const ours = [answer('parallelsearch', 2, 0.3), answer('parallelsearch', 4, 0.9)];
    const { msPerCall } = generationTime([...ours, answer('search-r1', 4, 100)], 'wasm');
    expect(msPerCall).toBeCloseTo(200);
  });
});
