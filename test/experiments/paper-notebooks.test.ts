/** The notebooks that read the main comparison's answers, through the real kernel on a sample of the recorded ones. */
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { matching, type TidyResults } from '../../lib/evaluation/table.js';
import type { Prediction } from '../../lib/experiments/report.js';
import type { JudgedClaim } from '../../lib/experiments/verdicts.js';
import { chromiumPath } from '../browser/chromium.js';
import { complaintsAboutReport } from '../browser/page-checks.js';
import { exportNotebook } from './export-notebook.js';
import { SECONDS_A_CALL, writeRecordedSample } from './recorded-sample.js';

interface Report {
  file: string;
  name: string;
  numCharts: number;
  /** What its findings say, among other things. */
  findings: RegExp[];
  /** What its predictions are about, each of them. */
  predictions: RegExp[];
}

const REPORTS: Report[] = [
  {
    ...{ file: '03-base-vs-instruct', name: 'base-vs-instruct', numCharts: 6, predictions: [] },
    findings: [/ParallelSearch from base .* ParallelSearch from instruct/, /In the last tenth of training/],
  },
  {
    ...{ file: '05-parallel-vs-sequential', name: 'parallel-vs-sequential', numCharts: 2 },
    predictions: [/at most 60 % of the model calls/],
    findings: [
      /12\.7 is 1 of 12 figures: the difference from instruct, every data set counted once/,
      /Seconds: ParallelSearch 0\.02/,
      /takes less: 0\.\d\d .* of what Search-R1 takes in seconds/,
    ],
  },
  {
    ...{ file: '06-decomposition', name: 'decomposition', numCharts: 7 },
    predictions: [
      ...[/F1 of parallelizing .*\(base\)/, /95 % of the sub-questions .*\(base\)/],
      ...[/F1 of parallelizing .*\(instruct\)/, /95 % of the sub-questions .*\(instruct\)/],
    ],
    findings: [/Decomposing every question would give 0\.\d{3}/, /names were left out at least once/],
  },
];

const folder = mkdtempSync(join(tmpdir(), 'paper-notebooks-'));
let numQuestions: number;
beforeAll(async () => {
  numQuestions = await writeRecordedSample(join(folder, 'results'));
}, 120_000);
afterAll(() => rmSync(folder, { recursive: true }));

const textOf = (html: string): string => html.replace(/<[^>]+>/g, '');

describe.each(REPORTS)('the notebook $file', ({ file, name, numCharts, findings, predictions }) => {
  it('says what it has found, in charts and in sentences, on one page below 3 MB', async () => {
    const report = await exportNotebook(file, folder, { folder: join(folder, 'results') });
    expect(statSync(report.html).size).toBeLessThan(3e6);
    const html = readFileSync(report.html, 'utf8');
    expect(html.match(/<figure class="chart"/g)).toHaveLength(numCharts);
    const found = [...html.matchAll(/<p class="finding">(.*?)<\/p>/gs)].map(([, text]) => textOf(text));
    const sections = html.match(/<h2/g)!.length;
    expect(found.length).toBeGreaterThanOrEqual(sections / 2);
    for (const pattern of findings) expect(found).toContainEqual(expect.stringMatching(pattern));
    expect(found.join()).not.toMatch(/NaN|undefined|null/);
  }, 300_000);

  it('has the numbers and its own predictions in its JSON', () => {
    const { rows, contrasts, provenance } = JSON.parse(
      readFileSync(join(folder, `${name}.json`), 'utf8'),
    ) as TidyResults;
    const whole = matching(rows, { benchmark: 'all', subset: 'all', metric: 'em' });
    expect(new Set(whole.map(({ n }) => n))).toEqual(new Set([numQuestions]));
    expect(contrasts.length).toBeGreaterThan(0);
    const own = (provenance.predictions ?? []) as Prediction[];
    expect(own.map(({ prediction }) => prediction)).toEqual(
      predictions.map((pattern) => expect.stringMatching(pattern) as string),
    );
    for (const { found } of own) expect(found).toMatch(/^\d\.\d+ \[/);
  });

  it.skipIf(!chromiumPath)(
    'is a page that works for every reader',
    async () => expect(await complaintsAboutReport(join(folder, `${name}.html`))).toEqual([]),
    300_000,
  );
});

it('seconds are those of the timing', () => {
  const { rows } = JSON.parse(
    readFileSync(join(folder, 'parallel-vs-sequential.json'), 'utf8'),
  ) as TidyResults;
  const cell = { method: 'parallelsearch', model: 'base', benchmark: 'hotpotqa', subset: 'parallelizable' };
  const [calls, seconds] = ['model_calls', 'seconds'].map((metric) => matching(rows, { ...cell, metric })[0]);
  expect(seconds.value).toBeCloseTo(SECONDS_A_CALL * calls.value, 5);
});

it('the claims that these reports decide are judged, and lead to cells that are there', () => {
  const { claims } = JSON.parse(readFileSync(join(folder, 'index.json'), 'utf8')) as {
    claims: JudgedClaim[];
  };
  const linked = claims.filter(({ link }) => link !== null);
  expect(linked.map(({ id }) => id)).toEqual([
    ...['base-over-instruct', 'parallel-em', 'calls', 'seconds', 'sequential-em'],
    ...['learns-to-decompose', 'prompt-not-enough', 'recognises'],
  ]);
  for (const { link, verdict } of linked) {
    const [page, anchor] = link!.split('#');
    expect(readFileSync(join(folder, page), 'utf8')).toContain(`id="${anchor}"`);
    expect(verdict).not.toMatch(/not computed/);
  }
});
