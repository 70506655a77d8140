import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import type { ExperimentResult } from '../../lib/experiments/experiment.js';
import { claimsHtml, writeIndex } from '../../lib/experiments/reports.js';
import {
  holm,
  judgeClaims,
  judgeParts,
  type PaperClaim,
  type Part,
} from '../../lib/experiments/verdicts.js';
import { packagePath } from '../../lib/io/paths.js';
import { readNotebook } from '../../lib/notebook/nbformat.js';
import { temporaryFolder } from '../folder.js';
import { emptyResult, writeReport } from './made-up-results.js';

const PAPER_CLAIMS = EXPERIMENTS.flatMap(({ claims = [] }) => claims);
const folder = temporaryFolder();

const part = (low: number, high: number, side: Part['side'] = 'above'): Part => {
  return {
    of: '',
    found: { value: (low + high) / 2, low, high },
    unit: 'points',
    side,
    threshold: 0,
  };
};

describe('the rule', () => {
  it('goes by the whole interval', () => {
    expect(judgeParts([part(0.01, 0.02)])).toBe('shown');
    expect(judgeParts([part(-0.01, 0.02)])).toBe('not shown');
    expect(judgeParts([part(0, 0.02)])).toBe('not shown');
    expect(judgeParts([part(-0.02, -0.01)])).toBe('contradicted');
    expect(judgeParts([part(-0.02, -0.01, 'below')])).toBe('shown');
    expect(judgeParts([part(0.01, 0.02, 'below')])).toBe('contradicted');
  });

  it('wants all figures of a claim, and is contradicted by one', () => {
    expect(judgeParts([part(0.01, 0.02), part(-0.01, 0.02)])).toBe('not shown');
    expect(judgeParts([part(0.01, 0.02), part(-0.02, -0.01)])).toBe('contradicted');
    expect(judgeParts([])).toBe('not computed yet');
  });
});

describe('many claims at once', () => {
  /** The verdicts on claims with these figures, and their corrected p. */
  const judged = (...figures: Part[][]) => {
    const claims = figures.map((parts, i): PaperClaim => ({
      id: String(i),
      claim: '',
      paper: '',
      tables: () => '',
      evidence: { cell: '', rule: '', parts: () => parts },
    }));
    const results = new Map([['many', emptyResult('many')]]);
    return judgeClaims([{ name: 'many', claims }], results).map(({ verdict, p }) => [
      verdict,
      Number(p!.toFixed(3)),
    ]);
  };
  const SURE = part(1, 1.2);
  /**
   * With p = 0.04 by itself: 2.05 standard errors, 1.96 of which are half of the
   * interval.
   */
  const BARELY = part(2.05 - 1.96, 2.05 + 1.96);
  const OPPOSITE = part(-2.05 - 1.96, -2.05 + 1.96);

  it('are corrected step by step: 4 times 0.01, 3 times 0.02, and never less than the one before', () => {
    const corrected = holm([0.02, 0.01, 0.03, 0.9]).map((p) => Number(p.toFixed(12)));
    expect(corrected).toEqual([0.06, 0.04, 0.06, 0.9]);
    expect(holm([0.6, 0.7])).toEqual([1, 1]);
  });

  it('are each less certain than one by itself', () => {
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

  it('are as certain as the figure that decides: the least certain, or the one against them', () => {
    expect(judged([SURE, BARELY])).toEqual([['shown', 0.04]]);
    expect(judged([SURE, OPPOSITE])).toEqual([['contradicted', 0.04]]);
    expect(judged([SURE, OPPOSITE], [part(-1, 2)]).map(([verdict]) => verdict)).toEqual([
      'not shown',
      'not shown',
    ]);
  });
});

const gain = (model: string, value: number) => ({
  method: 'parallelsearch',
  against: 'search-r1',
  model,
  benchmark: 'average',
  subset: 'all',
  metric: 'em',
  kind: 'difference',
  value,
  low: value - 0.01,
  high: value + 0.01,
});
const resultsWith = (...contrasts: object[]): Map<string, ExperimentResult> =>
  new Map([['main-results', { ...emptyResult('main-results'), contrasts }]]);
const judgeGains = (...contrasts: object[]) => judgeClaims(EXPERIMENTS, resultsWith(...contrasts));
const averageEm = (...contrasts: object[]) =>
  judgeGains(...contrasts).find(({ id }) => id === 'average-em')!;

describe('the claims', () => {
  it('have ids of their own, and say what the paper’s tables give', () => {
    expect(new Set(PAPER_CLAIMS.map(({ id }) => id)).size).toBe(PAPER_CLAIMS.length);
    const tables = Object.fromEntries(
      judgeClaims(EXPERIMENTS, new Map()).map(({ id, tables }) => [id, tables]),
    );
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

  it('are not computed without a result, or when it lacks a model', () => {
    const [claim] = judgeClaims(EXPERIMENTS, new Map());
    expect(claim).toMatchObject({ verdict: 'not computed yet', found: '–', link: null });
    expect(averageEm(gain('base', 0.05))).toMatchObject({
      verdict: 'not computed yet',
      link: 'main-results.html#cell-gap-table',
    });
  });

  it('are judged by the result', () => {
    const both = [gain('base', 0.05), gain('instruct', 0.02)];
    const found = 'base: +5.0 [+4.0, +6.0] points; instruct: +2.0 [+1.0, +3.0] points';
    expect(averageEm(...both)).toMatchObject({ verdict: 'shown', found, figure: found });
    // Both together come last, and must hold as well.
    expect(averageEm(...both, { ...gain('all', 0.03), low: -0.01 })).toMatchObject({
      verdict: 'not shown',
      figure: `${found}; both, pooled: +3.0 [−1.0, +4.0] points`,
    });
    expect(averageEm(gain('base', 0.05), gain('instruct', -0.02)).verdict).toBe('contradicted');
  });

  it('show the deciding figure if there are many', () => {
    const onNq = { ...gain('base', -0.05), benchmark: 'nq' };
    const others = ['hotpotqa', 'bamboogle', 'musique'].map((benchmark) => ({
      ...onNq,
      benchmark,
      value: 0.01,
      low: 0.005,
      high: 0.02,
    }));
    const every = judgeGains(onNq, ...others).find(({ id }) => id === 'every-benchmark')!;
    expect(every.figure).toMatch(/^NQ \(base\): −5\.0 \[−6\.0, −4\.0\] points.* of 4$/);
  });
});

it('claims name cells that the notebooks have', () => {
  const notebooks = readdirSync(packagePath('notebooks')).filter((file) => file.endsWith('.ipynb'));
  for (const { name, claims = [] } of EXPERIMENTS) {
    const cells = claims.flatMap(({ evidence }) => ('cell' in evidence ? [evidence.cell] : []));
    if (cells.length === 0) continue;
    const file = notebooks.find((one) => one.endsWith(`-${name}.ipynb`))!;
    const ids = readNotebook(packagePath('notebooks', file)).cells.map(({ id }) => id);
    expect(ids).toEqual(expect.arrayContaining(cells));
  }
});

describe('the cards', () => {
  it('show chart and finding of each result, in the order of experiments, then other pages', async () => {
    const own = temporaryFolder();
    for (const [name, title] of [
      ['top-k', 'k'],
      ['main-results', 'A & B'],
    ])
      writeReport(own, title, {
        ...emptyResult(name),
        finding: `Found: <0.5> in ${name}.`,
        predictions: [{ prediction: 'P', found: '0', holds: false }],
        ...(name === 'top-k' && { figures: {} }),
      });
    const playground = { name: 'playground', title: 'Play', description: 'To try.' };
    const html = readFileSync(await writeIndex(own, [playground]), 'utf8');
    const [cards] = /<ul class="cards".*?<\/ul>(?=\n<section)/s.exec(html)!;
    const shown = cards.matchAll(/<h2><a href="([^"]+)">([^<]*)<\/a><\/h2><p>([^<]*)<\/p>/g);
    expect([...shown].map(([, ...parts]) => parts)).toEqual([
      ['main-results.html', 'A &amp; B', 'Found: &lt;0.5&gt; in main-results.'],
      ['top-k.html', 'k', 'Found: &lt;0.5&gt; in top-k.'],
      ['playground.html', 'Play', 'To try.'],
    ]);
    expect(cards.match(/<div class="picture" aria-hidden="true"><svg/g)).toHaveLength(1);
    expect(cards).toContain('<summary>0 of 1 predictions hold</summary>');
  });
});

describe('the page of claims', () => {
  it('shows every claim with its verdict, and the count of them; text is escaped', () => {
    const [claim] = judgeClaims(
      [{ name: 'x', claims: [{ ...PAPER_CLAIMS[0], claim: '<b>' }] }],
      new Map(),
    );
    const html = claimsHtml([claim]);
    expect(html).toContain('1 claims: 1 not computed yet.');
    expect(html).toContain('<span class="claim">&lt;b&gt;</span>');
  });

  it('stands below the reports, with its numbers beside it', async () => {
    const contrasts = [gain('base', 0.05), gain('instruct', 0.02)];
    writeReport(folder, 'Main', { ...emptyResult('main-results'), contrasts });
    const html = readFileSync(await writeIndex(folder), 'utf8');
    expect(html.match(/<li id="claim-/g)).toHaveLength(PAPER_CLAIMS.length);
    expect(html).toContain('<a href="main-results.html#cell-gap-table">');
    const { claims } = JSON.parse(readFileSync(path.join(folder, 'index.json'), 'utf8')) as {
      claims: { id: string }[];
    };
    expect(claims.map(({ id }) => id)).toEqual(PAPER_CLAIMS.map(({ id }) => id));
  });
});
