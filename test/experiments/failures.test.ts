import { describe, expect, it } from 'vitest';
import { labelAnswer } from '../../lib/evaluation/behaviour.js';
import { matching } from '../../lib/evaluation/figures.js';
import { behaviourRates, pickCases } from '../../lib/experiments/failures.js';
import { scoredLine } from '../../lib/experiments/trajectories.js';
import type { Segment } from '../../lib/rollout/trajectory.js';
import { SEQUENTIAL } from '../training/tiny.js';
import { syntheticResults } from './synthetic.js';
import { withResamples } from './resamples.js';

describe('behaviour rates', () => {
  it('are shares of the questions that can show the behaviour', async () => {
    const ours = matching(syntheticResults({ perTemplate: 4 }), { method: 'parallelsearch' });
    const answers = ours.map((answer) => ({ ...answer, behaviour: labelAnswer(answer) }));
    const { rows } = await withResamples(20, () => behaviourRates({ answers, provenance: {} }));
    const [row] = matching(rows, { metric: 'over_parallelized', model: 'base' });
    const chains = matching(answers, { subset: 'sequential', model: 'base' });
    expect(row.n).toBe(new Set(chains.map(({ questionId }) => questionId)).size);
    const share = chains.filter(({ decomposed }) => decomposed).length / chains.length;
    expect(row.value).toBeCloseTo(share, 5);
  });
});

it("cases are a method's first answers with a failure", () => {
  const segment = (kind: Segment['kind'], text: string): Segment => ({ kind, tokenIds: [], text });
  const lineOf = (method: string) =>
    scoredLine({ method, model: 'base', initSeed: 1, seed: 1 }, SEQUENTIAL, {
      ...SEQUENTIAL,
      questionId: SEQUENTIAL.id,
      segments: [segment('policy', '<think> t </think><answer> 1904 </answer>')],
      searchTurns: [],
      answer: '1904',
      modelCalls: 1,
      finish: 'answer',
    });
  const lines = ['search-r1', ...Array<string>(4).fill('parallelsearch')].map(lineOf);
  const cases = pickCases(lines, [SEQUENTIAL]);
  expect(cases.map(({ failure }) => failure)).toEqual([
    ...Array<string>(3).fill('no_search'),
    ...Array<string>(3).fill('incomplete_evidence'),
  ]);
  expect(new Set(cases.map(({ line }) => line.run.method))).toEqual(new Set(['parallelsearch']));
  const [page, criteria] = cases[0].address.split('#');
  expect(page).toBe('trajectories.html');
  expect(Object.fromEntries(new URLSearchParams(criteria))).toEqual({
    search: `"${SEQUENTIAL.question}"`,
    method: cases[0].line.method,
    partner: lines[0].method,
  });
});
