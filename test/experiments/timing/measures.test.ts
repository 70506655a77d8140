import { describe, expect, it } from 'vitest';
import type { Question } from '../../../lib/data/question.js';
import {
  generationTimeOf,
  timeAnswers,
  timedQuestions,
  type Contestant,
} from '../../../lib/experiments/timing.js';
import { loadPolicy, rolloutOf } from '../../../lib/experiments/runs.js';
import { evaluatedSplit, loadWorld } from '../../../lib/experiments/world.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { result } from '../synthetic.js';

describe('the questions', () => {
  it('are of both kinds and of the two data sets that the paper times', async () => {
    const world = await loadWorld();
    const questions = timedQuestions(world.questions, 15);
    expect(new Set(questions.map(({ split }) => split))).toEqual(
      new Set([evaluatedSplit(world.questions)]),
    );
    expect(new Set(questions.map(({ metadata }) => metadata.benchmark))).toEqual(
      new Set(['hotpotqa', '2wikimultihopqa']),
    );
    expect(questions.length).toBeGreaterThan(20);
    expect(questions.length).toBeLessThan(200);
  });
});

describe('timeAnswers', () => {
  it('lets every policy answer every question by itself, in turn, and times each answer', async () => {
    await useBackend('auto');
    const { questions, retriever } = await loadWorld();
    const sample: Question[] = timedQuestions(questions, 100).slice(0, 2);
    const policy = await loadPolicy({ method: 'r1', model: 'instruct', warmUp: 1, seed: 1 });
    const asked: string[] = [];
    const contestant = (method: 'r1' | 'search-r1'): Contestant => ({
      run: { method, model: 'instruct', warmUp: 1, seed: 1 },
      rollout: rolloutOf({ method, model: 'instruct', warmUp: 1, seed: 1 }),
      policy: {
        name: method,
        tokenizer: policy.tokenizer,
        maxLength: policy.maxLength,
        release: () => policy.release(),
        generate: async (prompts, options) => {
          expect(prompts).toHaveLength(1);
          asked.push(method);
          return policy.generate(prompts, options);
        },
      },
    });
    let clock = 0;
    const done: number[] = [];
    const answers = await timeAnswers(
      [contestant('r1'), contestant('search-r1')],
      retriever,
      sample,
      { now: () => (clock += 250), onAnswer: (count) => done.push(count) },
    );
    policy.dispose();
    expect(answers.map(({ method }) => method)).toEqual(['r1', 'search-r1', 'search-r1', 'r1']);
    expect(answers.map(({ questionId }) => questionId)).toEqual(
      [0, 0, 1, 1].map((i) => sample[i].id),
    );
    expect(answers.every(({ seconds }) => seconds === 0.25)).toBe(true);
    // The first question is answered once more, to warm up.
    const calls = [...answers.slice(0, 2), ...answers].reduce(
      (sum, { modelCalls }) => sum + modelCalls,
      0,
    );
    expect(asked).toHaveLength(calls);
    expect(done).toEqual([1, 2, 3, 4]);
  });
});

describe('generationTimeOf', () => {
  it('is the seconds over the model calls of ParallelSearch', () => {
    const answer = (method: string, modelCalls: number, seconds: number) => ({
      ...result({ method, modelCalls }),
      seconds,
    });
    const ours = [answer('parallelsearch', 2, 0.3), answer('parallelsearch', 4, 0.9)];
    const { msPerCall, source } = generationTimeOf([...ours, answer('search-r1', 4, 100)], 'wasm');
    expect(msPerCall).toBeCloseTo(200);
    expect(source).toBe(
      '2 answers of ParallelSearch, one question at a time, on wasm: seconds over model calls',
    );
  });
});
