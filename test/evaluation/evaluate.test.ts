import { describe, expect, it } from 'vitest';
import { evaluatePolicy } from '../../lib/evaluation/evaluate.js';
import { measure } from '../../lib/evaluation/measurement.js';
import type { Policy } from '../../lib/policy/policy.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import type { Segment, Trajectory } from '../../lib/rollout/trajectory.js';
import { executedSearches } from '../../lib/text/response.js';
import { formatInformation } from '../../lib/text/tags.js';
import { resolveRollout } from '../../lib/training/methods.js';
import { scriptedPolicy } from '../rollout/scripted-policy.js';
import { COMPARISON, PASSAGES, SEQUENTIAL, SINGLE } from '../training/tiny.js';

const INFORMATION = formatInformation([{ status: 'ok', passages: [{ title: 'T', text: 'x' }] }]);
const search = (...queries: string[]): string =>
  `<think> a </think><search> ${queries.join(' ## ')} </search>`;
const answer = (text: string): string => `<think> b </think><answer> ${text} </answer>`;

/** A trajectory in which every text but the last is an executed search. */
function trajectoryOf(
  { id, question, goldenAnswers }: typeof SINGLE,
  ...texts: string[]
): Trajectory {
  const information: Segment = { kind: 'information', text: INFORMATION, tokenIds: [9, 9] };
  const segments = texts.flatMap((text): Segment[] => [
    information,
    { kind: 'policy' as const, text, tokenIds: [1, 2, 3], logProbs: [0, 0, 0] },
  ]);
  const searches = executedSearches(segments.slice(1));
  return {
    questionId: id,
    question,
    goldenAnswers,
    searchTurns: searches.map((queries) => ({ queries, results: [] })),
    answer: null,
    modelCalls: texts.length,
    finish: 'answer',
    segments: [{ kind: 'prompt', text: 'P', tokenIds: [5] }, ...segments.slice(1)],
  };
}

describe('measure', () => {
  it('measures a comparison searched in parallel: two model calls, the minimum', () => {
    const queries = ['Ada Stone', 'Bo Reed', 'Cy Hill'];
    const asked = trajectoryOf(COMPARISON, search(...queries), answer('the Bo Reed.'));
    expect(measure(COMPARISON, asked)).toEqual({
      questionId: 'comparison',
      benchmark: 'hotpotqa',
      type: 'comparison',
      subset: 'parallelizable',
      entitiesCompared: 3,
      hops: 1,
      isYesNo: false,
      em: 1,
      f1: 1,
      formatOk: true,
      turns: 1,
      modelCalls: 2,
      decomposed: true,
      coverage: 1,
      evidenceSeen: 0,
      criticalPathRatio: 1,
      responseTokens: 6,
      searches: [queries],
      answer: 'the Bo Reed.',
    });
  });

  it('has no number of tokens if a server counted none', () => {
    const trajectory = trajectoryOf(COMPARISON, answer('x'));
    const segments = trajectory.segments.map((segment) => ({ ...segment, tokenIds: [] }));
    expect(measure(COMPARISON, { ...trajectory, segments }).responseTokens).toBeNaN();
  });

  it('measures evidence recall', () => {
    const [first, second] = COMPARISON.metadata.graph!.map(({ evidence }) => evidence[0]);
    const found = (id: string) => ({
      status: 'ok' as const,
      passages: [{ id, title: '', score: 1 }],
    });
    const failed = { status: 'failed' as const, reason: 'slow' };
    const searchTurns = [
      { queries: ['a', 'b'], results: [found(first), failed] },
      { queries: ['c', 'd'], results: [found(second), found(first)] },
    ];
    const trajectory = { ...trajectoryOf(COMPARISON, answer('x')), searchTurns };
    expect(measure(COMPARISON, trajectory).evidenceSeen).toBeCloseTo(2 / 3);
  });

  it('counts the queries that were run, not those beyond maxSubQueries', () => {
    const asked = trajectoryOf(COMPARISON, search('Ada Stone', 'Bo Reed', 'Cy Hill'), answer('x'));
    const searchTurns = [{ queries: ['Ada Stone', 'Bo Reed'], results: [] }];
    const { searches, coverage, decomposed } = measure(COMPARISON, { ...asked, searchTurns });
    expect(searches).toEqual([['Ada Stone', 'Bo Reed']]);
    expect(coverage).toBeCloseTo(2 / 3);
    expect(decomposed).toBe(true);
  });

  it('records wording and yes/no answers', () => {
    const metadata = { ...COMPARISON.metadata, wording: 'unseen' as const };
    const trajectory = trajectoryOf(COMPARISON, answer('yes'));
    const question = { ...COMPARISON, metadata, goldenAnswers: ['Yes'] };
    expect(measure(question, trajectory)).toMatchObject({ wording: 'unseen', isYesNo: true });
    expect(measure(COMPARISON, trajectory)).toMatchObject({ isYesNo: false });
  });

  it.each([
    [
      'a comparison searched one by one: four calls, twice the minimum',
      COMPARISON,
      [search('Ada Stone'), search('Bo Reed'), search('Cy Hill'), answer('Cy Hill')],
      { em: 0, turns: 3, modelCalls: 4, decomposed: false, coverage: 1, criticalPathRatio: 2 },
    ],
    [
      'a chain of two: three calls, the minimum',
      SEQUENTIAL,
      [search('Red River'), search('Bo Reed'), answer('1904')],
      { subset: 'sequential', entitiesCompared: 0, em: 1, criticalPathRatio: 1 },
    ],
    [
      'neither unexecuted searches nor text of the environment',
      SINGLE,
      [search('Cy Hill'), search('Cy Hill', 'more')],
      { answer: null, em: 0, f1: 0, formatOk: false, turns: 1, modelCalls: 2, decomposed: false },
    ],
  ])('measures %s', (_, question, texts, expected) => {
    expect(measure(question, trajectoryOf(question, ...texts))).toMatchObject(expected);
  });

  it('measures a question without a graph, with the question type from its metadata', () => {
    const { coverage, evidenceSeen, criticalPathRatio, ...known } = measure(
      { ...SINGLE, metadata: { type: 'bridge' } },
      trajectoryOf(SINGLE, search('Cy Hill'), answer('1960')),
    );
    expect([coverage, evidenceSeen, criticalPathRatio]).toEqual([NaN, NaN, NaN]);
    expect(known).toMatchObject({ subset: 'sequential', em: 1, f1: 1, turns: 1, modelCalls: 2 });
    expect(measure({ ...SINGLE, metadata: {} }, trajectoryOf(SINGLE)).subset).toBe('unknown');
  });
});

const retriever = createBm25Retriever(PASSAGES);
const scripts = {
  [COMPARISON.question]: [search('Ada Stone', 'Bo Reed', 'Cy Hill'), answer('Bo Reed')],
  [SINGLE.question]: [answer('1960')],
  [SEQUENTIAL.question]: [search('Red River'), search('Bo Reed'), answer('1904')],
};
const rollout = { ...resolveRollout('parallelsearch', 'small-world'), maxNewTokens: 50 };

describe('evaluatePolicy', () => {
  const questions = [COMPARISON, SINGLE, SEQUENTIAL];

  it.each([1, 2, 10])(
    'gives one measurement per question in order, greedily, in batches of %i',
    async (batchSize) => {
      let released = 0;
      const policy = { ...scriptedPolicy(scripts), release: () => void released++ };
      const done: number[] = [];
      const onBatch = (count: number) => done.push(count);
      const options = { rollout, batchSize, onBatch };
      expect(await evaluatePolicy(policy, retriever, questions, options)).toMatchObject([
        { questionId: 'comparison', em: 1, modelCalls: 2 },
        { questionId: 'single', em: 1, modelCalls: 1 },
        { questionId: 'sequential', em: 1, modelCalls: 3 },
      ]);
      expect(done.at(-1)).toBe(3);
      expect(released).toBe(Math.ceil(3 / batchSize));
      expect(new Set(policy.options.map(({ temperature }) => temperature))).toEqual(new Set([0]));
    },
  );

  it("stops with the signal's reason", async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    const options = { rollout, batchSize: 2, signal };
    const evaluating = evaluatePolicy(scriptedPolicy(scripts), retriever, questions, options);
    await expect(evaluating).rejects.toThrow('enough');
  });
});

describe('a policy with overlapping calls', () => {
  const questions = [SINGLE, SEQUENTIAL, COMPARISON];
  /** A scripted policy whose calls wait for `until`. */
  const overlapping = (until: (context: string) => Promise<unknown>): Policy => {
    const policy = scriptedPolicy(scripts);
    return {
      ...policy,
      isConcurrent: true,
      generate: async (contexts, options) => {
        await until(policy.tokenizer.decode(contexts[0]));
        return policy.generate(contexts, options);
      },
    };
  };

  it('answers a question while another one is searching', async () => {
    const others: string[] = [];
    let letGo = (): void => undefined;
    const othersAreDone = new Promise<void>((resolve) => (letGo = resolve));
    const policy = overlapping(
      async (context) => context.includes(SINGLE.question) && othersAreDone,
    );
    const onBatch = (done: number, [{ questionId }]: readonly Trajectory[]): void => {
      others.push(questionId);
      if (done === 2) letGo();
    };
    const options = { rollout, batchSize: 3 };
    const measured = await evaluatePolicy(policy, retriever, questions, { ...options, onBatch });
    expect(others).toHaveLength(3);
    expect(others[2]).toBe('single');
    const inTurns = await evaluatePolicy(scriptedPolicy(scripts), retriever, questions, options);
    expect(measured).toEqual(inTurns);
  });

  it('answers at most `batchSize` questions at a time', async () => {
    let [numActive, most] = [0, 0];
    const policy = overlapping(async () => {
      most = Math.max(most, ++numActive);
      await new Promise((resolve) => setImmediate(resolve));
      numActive--;
    });
    await evaluatePolicy(policy, retriever, questions, { rollout, batchSize: 2 });
    expect(most).toBe(2);
  });

  it('gets no more requests after a failure', async () => {
    let calls = 0;
    const policy = overlapping(async (context) => {
      calls++;
      if (context.includes(SINGLE.question)) throw new Error('no power');
      await new Promise((resolve) => setImmediate(resolve));
    });
    const run = evaluatePolicy(policy, retriever, questions, { rollout, batchSize: 3 });
    await expect(run).rejects.toThrow('no power');
    expect(calls).toBe(3);
  });
});
