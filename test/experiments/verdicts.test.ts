import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import { claimsHtml } from '../../lib/experiments/reports.js';
import { tidyJson, writeIndex } from '../../lib/experiments/reports.js';
import {
  holm,
  judgeClaims,
  verdictOn,
  type PaperClaim,
  type Part,
} from '../../lib/experiments/verdicts.js';
import { temporaryFolder } from '../folder.js';

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
    expect(verdictOn([part(0.01, 0.02)])).toBe('shown');
    expect(verdictOn([part(-0.01, 0.02)])).toBe('not shown');
    expect(verdictOn([part(0, 0.02)])).toBe('not shown');
    expect(verdictOn([part(-0.02, -0.01)])).toBe('contradicted');
    expect(verdictOn([part(-0.02, -0.01, 'below')])).toBe('shown');
    expect(verdictOn([part(0.01, 0.02, 'below')])).toBe('contradicted');
  });

  it('wants all figures of a claim, and is contradicted by one', () => {
    expect(verdictOn([part(0.01, 0.02), part(-0.01, 0.02)])).toBe('not shown');
    expect(verdictOn([part(0.01, 0.02), part(-0.02, -0.01)])).toBe('contradicted');
    expect(verdictOn([])).toBe('not computed yet');
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
    writeFileSync(
      path.join(folder, 'many.json'),
      tidyJson({ rows: [], contrasts: [], provenance: {} }),
    );
    return judgeClaims([{ name: 'many', claims }], folder).map(({ verdict, p }) => [
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
const writeNumbers = (...contrasts: object[]): void =>
  writeFileSync(
    path.join(folder, 'main-results.json'),
    tidyJson({ rows: [], contrasts, provenance: {} }),
  );
const averageEm = () => judgeClaims(EXPERIMENTS, folder).find(({ id }) => id === 'average-em')!;

describe('the claims', () => {
  it('have ids of their own, and say what the paper’s tables give', () => {
    expect(new Set(PAPER_CLAIMS.map(({ id }) => id)).size).toBe(PAPER_CLAIMS.length);
    const tables = Object.fromEntries(
      judgeClaims(EXPERIMENTS, folder).map(({ id, tables }) => [id, tables]),
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

  it('are not computed where the report is not there, or lacks a model', () => {
    expect(averageEm()).toMatchObject({ verdict: 'not computed yet', found: '–', link: null });
    writeNumbers(gain('base', 0.05));
    expect(averageEm()).toMatchObject({
      verdict: 'not computed yet',
      link: 'main-results.html#cell-gap-table',
    });
  });

  it('are judged by the numbers beside the report', () => {
    writeNumbers(gain('base', 0.05), gain('instruct', 0.02));
    expect(averageEm()).toMatchObject({
      verdict: 'shown',
      found: 'base: +5.0 [+4.0, +6.0] points; instruct: +2.0 [+1.0, +3.0] points',
      figure: 'base: +5.0 [+4.0, +6.0] points; instruct: +2.0 [+1.0, +3.0] points',
    });
    // Both together come last, and must hold as well.
    writeNumbers(gain('base', 0.05), gain('instruct', 0.02), { ...gain('all', 0.03), low: -0.01 });
    expect(averageEm()).toMatchObject({
      verdict: 'not shown',
      figure:
        'base: +5.0 [+4.0, +6.0] points; instruct: +2.0 [+1.0, +3.0] points; both, pooled: +3.0 [−1.0, +4.0] points',
    });
    writeNumbers(gain('base', 0.05), gain('instruct', -0.02));
    expect(averageEm().verdict).toBe('contradicted');
  });

  it('are told by the figure that decides where there are many', () => {
    const onNq = gain('base', -0.05);
    writeNumbers(
      { ...onNq, benchmark: 'nq' },
      ...['hotpotqa', 'bamboogle', 'musique'].map((benchmark) => ({
        ...onNq,
        benchmark,
        value: 0.01,
        low: 0.005,
        high: 0.02,
      })),
    );
    const every = judgeClaims(EXPERIMENTS, folder).find(({ id }) => id === 'every-benchmark')!;
    expect(every.figure).toBe('NQ (base): −5.0 [−6.0, −4.0] points, the most against it of 4');
  });

  it('refuse a file without rows', () => {
    writeFileSync(path.join(folder, 'main-results.json'), '{}');
    expect(() => judgeClaims(EXPERIMENTS, folder)).toThrow('to hold rows and contrasts');
  });
});

describe('the cards', () => {
  it('have picture, title and finding of every report, in the order of the experiments; what has no finding comes last', async () => {
    const own = temporaryFolder();
    const page = (name: string, title: string, chart = ''): void =>
      writeFileSync(
        path.join(own, `${name}.html`),
        `<title>${title}</title><meta name="description" content="To try.">${chart}`,
      );
    const spec = {
      data: { values: [{ a: 'x', b: 1 }] },
      mark: 'point',
      encoding: { y: { field: 'b', type: 'quantitative' } },
    };
    page('playground', 'Play');
    page('top-k', 'k');
    page(
      'main-results',
      'A &amp; B',
      `<script type="application/json" data-chart="1" data-name="c">${JSON.stringify(spec)}</script>`,
    );
    for (const name of ['main-results', 'top-k']) {
      const provenance = {
        finding: `Found: <0.5> [0.4, 0.6] in ${name}.`,
        predictions: [{ prediction: 'P', found: '0', holds: false }],
      };
      writeFileSync(
        path.join(own, `${name}.json`),
        tidyJson({ rows: [], contrasts: [], provenance }),
      );
    }
    const html = readFileSync(await writeIndex(own), 'utf8');
    const [cards] = /<ul class="cards".*?<\/ul>(?=\n<section)/s.exec(html)!;
    expect(
      [...cards.matchAll(/<h2><a href="([^"]+)">([^<]*)<\/a><\/h2><p>([^<]*)<\/p>/g)].map((found) =>
        found.slice(1),
      ),
    ).toEqual([
      ['main-results.html', 'A &amp; B', 'Found: &lt;0.5&gt; [0.4, 0.6] in main-results.'],
      ['top-k.html', 'k', 'Found: &lt;0.5&gt; [0.4, 0.6] in top-k.'],
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
      path.join(folder, 'nowhere'),
    );
    const html = claimsHtml([claim]);
    expect(html).toContain('1 claims: 1 not computed yet.');
    expect(html).toContain('<span class="claim">&lt;b&gt;</span>');
  });

  it('stands below the reports, with its numbers beside it', async () => {
    writeNumbers(gain('base', 0.05), gain('instruct', 0.02));
    const html = readFileSync(await writeIndex(folder), 'utf8');
    expect(html.match(/<li id="claim-/g)).toHaveLength(PAPER_CLAIMS.length);
    expect(html).toContain('<a href="main-results.html#cell-gap-table">');
    const { claims } = JSON.parse(readFileSync(path.join(folder, 'index.json'), 'utf8')) as {
      claims: { id: string }[];
    };
    expect(claims.map(({ id }) => id)).toEqual(PAPER_CLAIMS.map(({ id }) => id));
  });
});
