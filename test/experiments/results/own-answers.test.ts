import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { matching } from '../../../lib/evaluation/figures.js';
import { loadAnswerFiles } from '../../../lib/experiments/results/own-answers.js';
import { toRows } from '../../../lib/report/frame.js';
import { temporaryFolder } from '../../folder.js';
import { result } from '../synthetic.js';

const folder = temporaryFolder();
const write = (name: string, lines: readonly object[]): string => {
  const file = join(folder, `${name}.jsonl`);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
};
const answer = (questionId: string, em: 0 | 1, benchmark = 'nq'): object =>
  result({ method: 'whoever', questionId, em, benchmark });

describe('loadAnswerFiles', () => {
  it('has figures over common questions, and differences to the first file', async () => {
    const ofA = [answer('1', 0), answer('2', 1), answer('h', 1, 'hotpotqa'), answer('only a', 1)];
    const a = write('a', ofA);
    const b = write('b', [answer('2', 1), answer('1', 1), answer('h', 1, 'hotpotqa')]);
    const { rows, contrasts, summary } = await loadAnswerFiles({ here: a, api: b });
    const em = (method: string, benchmark: string): unknown =>
      matching(toRows(rows), { method, benchmark, subset: 'all', metric: 'em' })[0].value;
    expect(['nq', 'hotpotqa', 'all'].map((name) => em('here', name))).toEqual([0.5, 1, 0.666667]);
    expect(['nq', 'hotpotqa', 'all'].map((name) => em('api', name))).toEqual([1, 1, 1]);
    const cell = { benchmark: 'nq', subset: 'all', metric: 'em', kind: 'difference' };
    const [gap] = matching(toRows(contrasts), { ...cell, method: 'api', against: 'here' });
    expect(gap.value).toBe(0.5);
    expect(toRows(rows).every(({ paper }) => paper === null)).toBe(true);
    expect(summary).toMatch(/6 answers .*3 questions/);
  });

  it('rejects files without answers or without common questions', async () => {
    const [a, b] = [write('a', [answer('1', 0)]), write('b', [answer('2', 1)])];
    const apart = /every file .*a\.jsonl has 1, .*b\.jsonl has 1/;
    await expect(loadAnswerFiles({ a, b })).rejects.toThrow(apart);
    const twice = write('twice', [answer('1', 0), answer('1', 1)]);
    await expect(loadAnswerFiles({ a, twice })).rejects.toThrow(/in twice, but 1 has several/);
    const steps = loadAnswerFiles({ a: write('c', [{ step: 1 }]) });
    await expect(steps).rejects.toThrow(/evaluate --out.*c\.jsonl/s);
  });
});
