import { readdirSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { holm } from '../../../lib/evaluation/significance.js';
import { EXPERIMENTS } from '../../../lib/experiments/list.js';
import type { ClaimPart, Evidence, PaperClaim } from '../../../lib/experiments/results/claims.js';
import { packagePath } from '../../../lib/io/paths.js';
import { readNotebook } from '../../../lib/notebook/nbformat.js';
import { judgeClaims, judgeParts } from '../../../tools/reports/claims.js';
import { emptyResult, lead } from '../made-up-results.js';

const PAPER_CLAIMS = EXPERIMENTS.flatMap(({ claims = [] }) => claims);

const part = (low: number, high: number, side: ClaimPart['side'] = 'above'): ClaimPart => {
  const estimate = { value: (low + high) / 2, low, high };
  return { label: '', estimate, unit: 'points', side, threshold: 0 };
};

describe('judgeParts', () => {
  it('needs the whole interval on one side', () => {
    expect(judgeParts([part(0.01, 0.02)])).toBe('shown');
    expect(judgeParts([part(-0.01, 0.02)])).toBe('not shown');
    expect(judgeParts([part(0, 0.02)])).toBe('not shown');
    expect(judgeParts([part(-0.02, -0.01)])).toBe('contradicted');
    expect(judgeParts([part(-0.02, -0.01, 'below')])).toBe('shown');
    expect(judgeParts([part(0.01, 0.02, 'below')])).toBe('contradicted');
  });

  it('corrects the figures that may contradict a claim for their number', () => {
    // p = 0.03 alone, 0.06 as the smallest of two: 2.17 standard errors from 0.
    const opposite = part(-2.17 - 1.96, -2.17 + 1.96);
    const unclear = part(-1, 2);
    expect(judgeParts([opposite])).toBe('contradicted');
    expect(judgeParts([opposite, unclear])).toBe('not shown');
    // R: p.adjust(2 * pnorm(-c(2.17, 5)), "holm") is 0.0300 for the first.
    expect(judgeParts([opposite, part(5 - 1.96, 5 + 1.96)])).toBe('contradicted');
  });

  it('needs every figure to show a claim, but one to contradict it', () => {
    expect(judgeParts([part(0.01, 0.02), part(-0.01, 0.02)])).toBe('not shown');
    expect(judgeParts([part(0.01, 0.02), part(-0.02, -0.01)])).toBe('contradicted');
    expect(judgeParts([])).toBe('not computed yet');
  });
});

const madeUpClaim = (id: string, evidence: Pick<Evidence, 'parts' | 'findReason'>): PaperClaim => ({
  id,
  claim: '',
  paper: '',
  tables: () => '',
  cell: '',
  rule: '',
  ...evidence,
});
const judgeMany = (claims: PaperClaim[]) =>
  judgeClaims([{ name: 'many', claims }], new Map([['many', emptyResult('many')]]));

describe('many claims at once', () => {
  /** The verdicts on claims with these figures, and their corrected p-values. */
  const judged = (...figures: ClaimPart[][]) => {
    const claims = figures.map((parts, i) => madeUpClaim(String(i), { parts: () => parts }));
    return judgeMany(claims).map(({ verdict, p }) => [verdict, Number(p!.toFixed(3))]);
  };
  const SURE = part(1, 1.2);
  /** p = 0.04: 2.05 standard errors from the threshold. */
  const BARELY = part(2.05 - 1.96, 2.05 + 1.96);
  const OPPOSITE = part(-2.05 - 1.96, -2.05 + 1.96);

  it('are corrected by Holm’s method', () => {
    const corrected = holm([0.02, 0.01, 0.03, 0.9]).map((p) => Number(p.toFixed(12)));
    expect(corrected).toEqual([0.06, 0.04, 0.06, 0.9]);
    expect(holm([0.6, 0.7])).toEqual([1, 1]);
  });

  it('are corrected within a claim first, then over claims', () => {
    // Two figures of three: p = 0.0027 (3 errors) times 3 is 0.0081, then times 2 claims.
    const against = part(-3 - 1.96, -3 + 1.96);
    const unclear = part(-2, 2.1);
    const [first] = judged([against, unclear, unclear], [part(-1, 1.1)]);
    expect(first).toEqual(['contradicted', 0.016]);
    // All figures must show a claim: the weakest counts, uncorrected.
    expect(judged([BARELY, SURE, SURE])).toEqual([['shown', 0.04]]);
  });

  it('make each other less certain', () => {
    expect(judged([BARELY])).toEqual([['shown', 0.04]]);
    expect(judged([BARELY], [OPPOSITE])).toEqual([
      ['not shown', 0.081],
      ['not shown', 0.081],
    ]);
    expect(judged([BARELY], [SURE])).toEqual([
      ['shown', 0.04],
      ['shown', 0],
    ]);
  });

  it('use the p of the deciding figure', () => {
    expect(judged([SURE, BARELY])).toEqual([['shown', 0.04]]);
    expect(judged([SURE, OPPOSITE])).toEqual([['contradicted', 0.04]]);
    const verdicts = judged([SURE, OPPOSITE], [part(-1, 2)]).map(([verdict]) => verdict);
    expect(verdicts).toEqual(['not shown', 'not shown']);
  });
});

const judgeGains = (...contrasts: object[]) => {
  const result = { ...emptyResult('main-results'), contrasts };
  return judgeClaims(EXPERIMENTS, new Map([[result.name, result]]));
};
const averageEm = (...contrasts: object[]) =>
  judgeGains(...contrasts).find(({ id }) => id === 'average-em')!;

describe('the claims', () => {
  it('have unique ids and figures from the paper’s tables', () => {
    expect(new Set(PAPER_CLAIMS.map(({ id }) => id)).size).toBe(PAPER_CLAIMS.length);
    const claims = judgeClaims(EXPERIMENTS, new Map());
    const tables = Object.fromEntries(claims.map(({ id, tables }) => [id, tables]));
    expect(tables).toMatchObject({
      'average-em': 'base +2.4, instruct +3.4, mean +2.9 points (printed averages of Table 2)',
      'every-benchmark': 'ahead in 13 of 14 cells of Table 2',
      'parallel-em': 'instruct +12.7, base +3.4, both +8.1 points (plain means of Table 3)',
      calls: '69.7 % (means of Table 3)',
      'base-over-instruct': '+3.3 points (printed averages of Table 2)',
    });
    expect(tables['lambda-best']).toContain('(0.15, 0.35)');
    expect(tables['lambda-best']).toContain('the rows (0.5, 0.35) and (0.15, 0.5) are identical');
    for (const text of Object.values(tables)) expect(text).not.toMatch(/NaN|undefined|null/);
  });

  it('are not computed without a result, or if it lacks a model', () => {
    const [claim] = judgeClaims(EXPERIMENTS, new Map());
    expect(claim).toMatchObject({ verdict: 'not computed yet', found: '–', link: null });
    const link = 'main-results.html#cell-gap-table';
    const half = averageEm(lead('base', 0.05));
    expect(half).toMatchObject({ verdict: 'not computed yet', link });
  });

  it('are judged by the result', () => {
    const both = [lead('base', 0.05), lead('instruct', 0.02)];
    const found = 'base: +5.0 [+4.0, +6.0] points; instruct: +2.0 [+1.0, +3.0] points';
    expect(averageEm(...both)).toMatchObject({ verdict: 'shown', found, figure: found });
    // The pooled figure comes last and must hold too.
    expect(averageEm(...both, { ...lead('all', 0.03), low: -0.01 })).toMatchObject({
      verdict: 'not shown',
      figure: `${found}; both, pooled: +3.0 [−1.0, +4.0] points`,
    });
    expect(averageEm(lead('base', 0.05), lead('instruct', -0.02)).verdict).toBe('contradicted');
  });

  it('show only the deciding figure if there are many', () => {
    const onNq = { ...lead('base', -0.05), benchmark: 'nq' };
    const ahead = { ...onNq, value: 0.01, low: 0.005, high: 0.02 };
    const names = ['hotpotqa', 'bamboogle', 'musique'];
    const others = names.map((benchmark) => ({ ...ahead, benchmark }));
    const every = judgeGains(onNq, ...others).find(({ id }) => id === 'every-benchmark')!;
    expect(every.figure).toMatch(/^NQ \(base\): −5\.0 \[−6\.0, −4\.0\] points \(worst of 4\)$/);
  });
});

it('gives no verdict if the result has a reason, and leaves that claim out of the correction', () => {
  const parts = () => [part(-1.1, -1)];
  const [a, b, c] = judgeMany([
    madeUpClaim('a', { parts, findReason: () => 'no room' }),
    madeUpClaim('b', { parts, findReason: () => null }),
    madeUpClaim('c', { parts }),
  ]);
  expect(a).toMatchObject({ verdict: 'not testable', rule: 'no room', parts: [], p: null });
  expect(a.figure).toMatch(/^−105.*but no room$/);
  expect([b.verdict, c.verdict]).toEqual(['contradicted', 'contradicted']);
});

it('claims name existing notebook cells', () => {
  const notebooks = readdirSync(packagePath('notebooks')).filter((file) => file.endsWith('.ipynb'));
  for (const { name, claims = [] } of EXPERIMENTS) {
    const cells = claims.flatMap((claim) => ('cell' in claim ? [claim.cell] : []));
    if (cells.length === 0) continue;
    const file = notebooks.find((one) => one.endsWith(`-${name}.ipynb`))!;
    const ids = readNotebook(packagePath('notebooks', file)).cells.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(cells));
  }
});
