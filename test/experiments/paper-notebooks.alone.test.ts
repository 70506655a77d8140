/** Every notebook through the real kernel, on made-up results of known effects. */
import { existsSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { matching, type TidyResults } from '../../lib/evaluation/table.js';
import { EXPERIMENTS } from '../../lib/experiments/list.js';
import type { Prediction } from '../../lib/report/opening.js';
import type { JudgedClaim } from '../../lib/experiments/verdicts.js';
import type { Parameters } from '../../lib/notebook/parameters.js';
import { escapeHtml } from '../../lib/html/markup.js';
import { chromiumPath } from '../browser/chromium.js';
import { complaintsAboutReport } from '../browser/page-checks.js';
import { temporaryFolder } from '../folder.js';
import { exportNotebook } from './export-notebook.js';
import { writeSyntheticLambdaAblation } from './synthetic-lambda-ablation.js';
import { writeSyntheticLatency } from './synthetic-latency.js';
import { SECONDS_A_CALL, writeMadeUpAnswers } from './made-up-answers.js';
import { writeSyntheticRealModel } from './synthetic-real-model.js';
import { writeSyntheticTopK } from './synthetic-top-k.js';

interface Report {
  /** The folder of the main comparison's answers if left out. */
  parameters?: Parameters;
  numCharts: number;
  numTables?: number;
  /** What one of its findings says, for each. */
  findings: RegExp[];
  /** What else is on the page. */
  shows?: string[];
  /** What its predictions are about, each of them. */
  predictions: RegExp[];
}

const folder = temporaryFolder();
// Before the settings are read, here and by the notebooks' kernel: the real model's
// made-up adapters lie nowhere else.
const adapters = vi.hoisted(
  () =>
    (process.env.PARALLELSEARCH_ADAPTERS = `${process.env.TMPDIR ?? '/tmp'}/parallelsearch-adapters-${process.pid}`),
);
afterAll(() => rmSync(adapters, { recursive: true, force: true }));
const answered = join(folder, 'answered');
const varied = join(folder, 'varied');

/** The predictions on each initial model. */
const fromEach = (...about: string[]): RegExp[] =>
  ['base', 'instruct'].flatMap((model) =>
    about.map((text) => new RegExp(`${text}.*\\(${model}\\)`)),
  );
const ON_UNTRAINED = ['ParallelSearch', 'Search-R1'].flatMap((method) =>
  ['Search-R1’s', 'parallel', 'practice'].map(
    (prompt) => `${method} answers more .*, ${prompt} prompt`,
  ),
);

const REPORTS: Record<string, Report> = {
  '00-first-steps': {
    parameters: { steps: 1 },
    numCharts: 3,
    numTables: 4,
    predictions: [],
    // What the weights do is theirs.
    findings: [
      /Search turns for the same question: ParallelSearch \d and Search-R1 \d\./,
      /In a group of these two, ParallelSearch’s rollout is ahead by −?\d\.\d\d\./,
      /is ahead by −?\d\.\d\d \(λ_d\), −?\d\.\d\d \(λ_s\) and −?\d\.\d\d \(λ_f\)\./,
    ],
  },
  '01-main-results': {
    numCharts: 15,
    findings: [
      /of 22 predictions hold/,
      /Beside the best prompt: .* ParallelSearch is ahead of Untrained, .* \(average of seven benchmarks, both models pooled\)/,
      /ParallelSearch takes less: .* \(comparisons of 2, both models pooled\)/,
      /Lookup of wordings 0\.\d+ .* \(questions worded as never before, average of seven benchmarks, base\)/,
    ],
    shows: ['Test questions drawn by the hash of commit', 'which froze the weights'],
    predictions: [
      ...fromEach(...ON_UNTRAINED),
      /as many questions as Search-R1/,
      /more parallelizable questions than Search-R1/,
      /at most 70 % of the model calls/,
      /at most 55 % of the model calls/,
      ...fromEach('90 % of parallelizable', '10 % of sequential', 'at most 5 % of its sub-queries'),
    ],
  },
  '02-lambda-ablation': {
    parameters: { folder: varied },
    numCharts: 8,
    predictions: Array<RegExp>(3).fill(/model calls/),
    findings: [
      /ahead of 0 of 7 other settings and behind 0/,
      /3 of 3 savings are there\./,
      /Rank correlation of calls and exact match: −?\d\.\d\d; of 7 settings/,
    ],
  },
  '03-base-vs-instruct': {
    numCharts: 7,
    predictions: [],
    findings: [
      /ParallelSearch from base .* ParallelSearch from instruct/,
      /In the last tenth of training/,
    ],
  },
  '04-top-k': {
    parameters: { folder: varied },
    numCharts: 6,
    predictions: [/Ten passages per query/],
    findings: [
      /The lowest recall is 0\.600, of BM25 at k = 1\./,
      /in points of exact match: ParallelSearch \+\d/,
      /Training with three in place of one, in points: ParallelSearch .* at k = 1/,
    ],
  },
  '05-parallel-vs-sequential': {
    numCharts: 6,
    predictions: [/at most 55 % of the model calls/],
    findings: [
      /12\.7 is 1 of 12 figures: the difference from instruct, every data set counted once/,
      /Seconds: .*ParallelSearch 0\.02/,
      /takes less: 0\.\d\d .* of what Search-R1 takes in seconds/,
    ],
  },
  '06-decomposition': {
    numCharts: 8,
    predictions: fromEach('F1 of parallelizing', '95 % of the sub-questions'),
    findings: [
      /Decomposing every question would give 0\.\d{3}/,
      /questions worded as never before, base/,
      /Between ParallelSearch and Search-R1 repeated queries is undecided/,
    ],
  },
  '07-latency': {
    numCharts: 4,
    numTables: 11,
    predictions: [/less than half the time in one turn/],
    findings: [
      // (8 * 3 + 50) / (8 * 53) and (8 * 3 + 200) / (8 * 203)
      /0\.175 \[0\.175, 0\.175\] \(HTTP, 50 ms delay\) and 0\.138 \[0\.138, 0\.138\] \(HTTP, 200 ms delay\)/,
      /8 sub-queries take 1624 \[1462, 1949\] ms \(one turn, 1 at a time\)/,
      /the model gives 1\.00 to 1\.00 of what was measured/,
      // (4 * 10 + 3 * 203) / (2 * 10 + 9 + 200)
      /2\.83 \(HTTP, 200 ms delay\)/,
    ],
    shows: ['<dt>Costs of a request (ms)</dt>', '1.00 before, 2.00 after'],
  },
  '08-baselines': {
    numCharts: 10,
    predictions: [/OTC needs fewer/, /OTC loses at most/, ...Array<RegExp>(5).fill(/./)],
    findings: [/The best mean place is that of/, /Of \d+ cells, ParallelSearch is ahead in/],
    shows: ['Seconds'],
  },
  '09-scale': {
    numCharts: 3,
    numTables: 9,
    predictions: [/take less time than Search-R1/],
    findings: [
      /16 sub-queries in one turn take this part of their time in turns: .*BM25/,
      /rollouts on the mix that is trained on take [\d.]+ \[[\d.]+, [\d.]+\] s turn by turn/,
      /The simulation gives \d\.\d\d to \d\.\d\d of what was measured/,
      /Whatever is halved or doubled, ParallelSearch’s rollouts take/,
    ],
    shows: ['Dimensions', 'vLLM'],
  },
  '10-failures': {
    numCharts: 7,
    predictions: [],
    findings: [
      /ParallelSearch \(instruct\) fails most often so/,
      /Over-parallelized: \d cases of ParallelSearch/,
    ],
  },
  '11-real-model': {
    numCharts: 8,
    numTables: 8,
    predictions: [
      /well formed/,
      /answers \.40/,
      /than the model without search/,
      /to decompose comparisons/,
      /\.1 at most/,
      /\.70 of Search-R1’s model calls/,
      /at most 5 points below/,
    ],
    findings: [
      /of 7 predictions hold/,
      /Exact match in points: ParallelSearch minus Search-R1/,
      /Average of seven benchmarks: .*ParallelSearch 0\.\d+/,
      /ParallelSearch’s model calls as a share of Search-R1’s: 0\.\d+/,
      /\d+ questions to read, 3 of them with calls saved/,
    ],
    shows: ['Seconds', 'SmolLM2-135M-Instruct'],
  },
};

/** The page that a browser looks at in `npm test`; in the full run it looks at all. */
const SEEN = '11-real-model';
const isFull = process.env.PARALLELSEARCH_TEST_FULL === '1';

let numQuestions: number;
beforeAll(async () => {
  numQuestions = await writeMadeUpAnswers(answered);
  await writeSyntheticLatency(answered);
  await writeSyntheticLambdaAblation(varied);
  await writeSyntheticTopK(varied);
  await writeSyntheticRealModel(answered);
}, 120_000);

const nameOf = (file: string): string => file.replace(/^\d+-/, '');
const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const numbersOf = (name: string): TidyResults => JSON.parse(read(`${name}.json`)) as TidyResults;
const textOf = (html: string): string => html.replace(/<[^>]+>/g, '');
const countOf = (html: string, pattern: RegExp): number => [...html.matchAll(pattern)].length;

it('all of them are here', () => {
  const notebooks = readdirSync(new URL('../../notebooks/', import.meta.url));
  expect(Object.keys(REPORTS)).toEqual(
    notebooks
      .filter((file) => file.endsWith('.ipynb'))
      .map((file) => file.slice(0, -'.ipynb'.length)),
  );
});

describe.each(Object.entries(REPORTS))('the notebook %s', (file, report) => {
  const name = nameOf(file);

  it('says what it has found, in charts and in sentences, on one page below 3 MB', async () => {
    const { html: page, json } = await exportNotebook(
      file,
      folder,
      report.parameters ?? { folder: answered },
    );
    expect(statSync(page).size).toBeLessThan(3e6);
    const html = readFileSync(page, 'utf8');
    expect(countOf(html, /<figure class="chart"/g)).toBe(report.numCharts);
    // First the finding with its interval, then the chart that shows it.
    const head = html.slice(html.indexOf('<h1'), html.indexOf('<h2', html.indexOf('<h1')));
    const headline =
      /^<h1[^>]*>[^<]*<\/h1>\s*<header class="opening"><p class="headline">[^<–]*\d \[[^<–]*\d\][^<–]*<\/p>/;
    if (json) expect(head).toMatch(headline);
    if (json) expect(head).toContain('<figure class="chart"');
    if (report.numTables) expect(countOf(html, /<table class="ps-table"/g)).toBe(report.numTables);
    const found = [...html.matchAll(/<p class="finding">(.*?)<\/p>/gs)].map(([, text]) =>
      textOf(text),
    );
    expect(found.length).toBeGreaterThanOrEqual(Math.floor(countOf(html, /<h2/g) / 2));
    for (const pattern of report.findings)
      expect(found).toContainEqual(expect.stringMatching(pattern));
    expect(found.join()).not.toMatch(/NaN|undefined|null/);
    for (const text of report.shows ?? []) expect(html.includes(text), text).toBe(true);
  }, 600_000);

  it('has its own predictions in its JSON, and stands with them in the index', () => {
    const [, title] = /<title>([^<]*)<\/title>/.exec(read(`${name}.html`))!;
    const index = read('index.html');
    expect(index.includes(`<a href="${name}.html">${title}</a>`), title).toBe(true);
    const isTidy = existsSync(join(folder, `${name}.json`));
    const predictions = ((isTidy && numbersOf(name).provenance.predictions) || []) as Prediction[];
    expect(predictions.map(({ prediction }) => prediction)).toEqual(
      report.predictions.map((pattern) => expect.stringMatching(pattern) as string),
    );
    for (const { prediction, found } of predictions) {
      expect(found).toMatch(/^[+−]?\d+\.\d+ \[/);
      for (const text of [prediction, found])
        expect(index.includes(escapeHtml(text)), text).toBe(true);
    }
  });

  it.skipIf(!chromiumPath || !(isFull || file === SEEN))(
    'is a page that works for every reader',
    async () => expect(await complaintsAboutReport(join(folder, `${name}.html`))).toEqual([]),
    300_000,
  );
});

it('the lesson of first steps shows rollouts, rewards and a probability that follows the reward', () => {
  const html = read('first-steps.html');
  expect(countOf(html, /<div class="ps-transcript"/g)).toBe(3);
  expect(existsSync(join(folder, 'first-steps.json'))).toBe(false);
  const [up, down] = [
    /probability of (0\.\d+) to (0\.\d+)/,
    /reward “all at once” went from (0\.\d+) to (0\.\d+)/,
  ].map((pattern) => pattern.exec(html)!.slice(1).map(Number));
  // A single step may move less than the last decimal.
  expect(up[1]).toBeGreaterThanOrEqual(up[0]);
  expect(down[0]).toBe(up[0]);
  expect(down[1]).toBeLessThanOrEqual(down[0]);
});

describe('the numbers beside a report', () => {
  it.each(['main-results', 'base-vs-instruct', 'parallel-vs-sequential', 'decomposition'])(
    'of %s are those of all questions that were asked',
    (name) => {
      const { rows, contrasts, provenance } = numbersOf(name);
      const whole = matching(rows, { benchmark: 'all', subset: 'all', metric: 'em' });
      expect(new Set(whole.map(({ n }) => n))).toEqual(new Set([numQuestions]));
      expect(contrasts.length).toBeGreaterThan(0);
      expect(provenance.backend).toBe('a made-up backend');
    },
  );

  it.each([
    { name: 'lambda-ablation', field: 'lambda_d', numContrasts: 700 },
    { name: 'top-k', field: 'retriever', numContrasts: 1 },
  ])('of $name name $field in every row and contrast', ({ name, field, numContrasts }) => {
    const { rows, contrasts } = numbersOf(name);
    expect(contrasts.length).toBeGreaterThanOrEqual(numContrasts);
    for (const item of [...rows, ...contrasts]) expect(item).toHaveProperty(field);
  });

  it('take seconds from the timing', () => {
    const { rows } = numbersOf('parallel-vs-sequential');
    const cell = {
      method: 'parallelsearch',
      model: 'base',
      benchmark: 'hotpotqa',
      subset: 'parallelizable',
    };
    const [calls, seconds] = ['model_calls', 'seconds'].map(
      (metric) => matching(rows, { ...cell, metric })[0],
    );
    expect(seconds.value).toBeCloseTo(SECONDS_A_CALL * calls.value, 5);
    const { rows: measured, provenance } = numbersOf('latency');
    expect(measured).toHaveLength(4 * 8 * 6 * 2);
    const msPerCall = expect.closeTo(1000 * SECONDS_A_CALL) as number;
    expect(provenance).toMatchObject({ commit: '<0000000>', generation: { msPerCall } });
  });
});

describe('the claims of the paper', () => {
  const claims = (): JudgedClaim[] =>
    (JSON.parse(read('index.json')) as { claims: JudgedClaim[] }).claims;
  const claim = (id: string): JudgedClaim => claims().find((one) => one.id === id)!;

  it('are judged, all that can be, and lead to cells that are there', () => {
    const testable = EXPERIMENTS.flatMap(({ claims = [] }) => claims).filter(
      ({ evidence }) => 'cell' in evidence,
    );
    const linked = claims().filter(({ link }) => link !== null);
    expect(linked.map(({ id }) => id)).toEqual(testable.map(({ id }) => id));
    for (const { link, verdict } of linked) {
      const [page, anchor] = link!.split('#');
      expect(read(page).includes(`id="${anchor}"`), link!).toBe(true);
      expect(verdict).not.toMatch(/not computed/);
    }
  });

  it('are decided by the effects of made-up results', () => {
    const best = claim('lambda-best');
    expect(best.verdict).toBe('not shown');
    expect(best.parts).toHaveLength(6);
    expect(best.tables).toContain('the rows (0.5, 0.35) and (0.15, 0.5) are identical');
    expect(claim('lambda-calls')).toMatchObject({
      verdict: 'shown',
      parts: ['beside the other', 'alone'].map((of) => ({ of, found: { value: -2 } })),
    });
    expect(claim('top-k').verdict).toBe('shown');
    expect(claim('top-k').parts).toHaveLength(1);
  });
});
