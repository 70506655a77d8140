import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { matching } from '../../lib/evaluation/table.js';
import { loadAnswerFiles } from '../../lib/experiments/result-file.js';
import { toRows } from '../../lib/report/frame.js';
import { temporaryFolder } from '../folder.js';
import { result } from './synthetic.js';

const folder = temporaryFolder();
const write = (name: string, lines: readonly object[]): string => {
  const file = join(folder, `${name}.jsonl`);
  writeFileSync(file, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return file;
};
const answer = (questionId: string, em: 0 | 1, benchmark = 'nq'): object =>
  result({ method: 'whoever', questionId, em, benchmark });

describe('loadAnswerFiles', () => {
  it('has figures over common questions, and differences from the first file', async () => {
    const a = write('a', [
      answer('1', 0),
      answer('2', 1),
      answer('h', 1, 'hotpotqa'),
      answer('only a', 1),
    ]);
    const b = write('b', [
      answer('2', 1),
      answer('1', 1),
      answer('h', 0, 'hotpotqa'),
      answer('h', 1, 'hotpotqa'),
    ]);
    const { rows, contrasts, summary } = await loadAnswerFiles({ here: a, api: b });
    const em = (method: string, benchmark: string): unknown =>
      matching(toRows(rows), { method, benchmark, subset: 'all', metric: 'em' })[0].value;
    expect(['nq', 'hotpotqa', 'all'].map((name) => em('here', name))).toEqual([0.5, 1, 0.666667]);
    expect(['nq', 'hotpotqa', 'all'].map((name) => em('api', name))).toEqual([1, 1, 1]);
    const of = {
      method: 'api',
      against: 'here',
      benchmark: 'nq',
      subset: 'all',
      metric: 'em',
      kind: 'difference',
    };
    expect(matching(toRows(contrasts), of)[0].value).toBe(0.5);
    expect(toRows(rows).every(({ paper }) => paper === null)).toBe(true);
    expect(summary).toMatch(/6 answers .*3 questions/);
  });

  it('rejects files without answers or without common questions', async () => {
    const [a, b] = [write('a', [answer('1', 0)]), write('b', [answer('2', 1)])];
    await expect(loadAnswerFiles({ a, b })).rejects.toThrow(
      /every file .*a\.jsonl has 1, .*b\.jsonl has 1/,
    );
    await expect(loadAnswerFiles({ a: write('c', [{ step: 1 }]) })).rejects.toThrow(
      /evaluate --out.*c\.jsonl/s,
    );
  });
});
