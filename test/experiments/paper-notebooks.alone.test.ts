/**
 * Notebooks in the real kernel on made-up results: one of them, or all in the full run.
 */
import { readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { loadResult } from '../../lib/experiments/results/result-file.js';
import type { Parameters } from '../../lib/notebook/parameters.js';
import { readResults } from '../../lib/pages/notebook/reports.js';
import { testsPages } from '../browser/chromium.js';
import { complaintsAboutReport } from '../browser/page-checks.js';
import { temporaryFolder } from '../folder.js';
import { isFull, slow } from '../full.js';
import { exportNotebook } from './export-notebook.js';
import { writeMadeUpAnswers } from './made-up-answers.js';
import { writeSyntheticConditions } from './synthetic-conditions.js';
import { writeSyntheticLambdaAblation } from './synthetic-lambda-ablation.js';
import { writeSyntheticLatency } from './synthetic-latency.js';
import { writeSyntheticRealModel } from './synthetic-real-model.js';
import { writeSyntheticTopK } from './synthetic-top-k.js';
import { writeSyntheticTraining } from './synthetic-training.js';

const folder = temporaryFolder();
// Set before anything reads it, here and in the kernel: the language model's made-up
// adapters only exist there.
const adapters = vi.hoisted(
  () =>
    (process.env.PARALLELSEARCH_ADAPTERS = `${process.env.TMPDIR ?? '/tmp'}/parallelsearch-adapters-${process.pid}`),
);
afterAll(() => rmSync(adapters, { recursive: true, force: true }));
const answered = path.join(folder, 'answered');
const varied = path.join(folder, 'varied');

/** Parameters in place of the folder of made-up answers. */
const PARAMETERS: Record<string, Parameters> = {
  '00-first-steps': { steps: 1 },
  '02-lambda-ablation': { folder: varied },
  '04-top-k': { folder: varied },
};
const ALL = readdirSync(new URL('../../notebooks/', import.meta.url))
  .filter((file) => file.endsWith('.ipynb'))
  .map((file) => file.slice(0, -'.ipynb'.length));
const NOTEBOOKS = isFull ? ALL : ['07-latency'];

beforeAll(async () => {
  await writeSyntheticLatency(answered);
  if (!isFull) return;
  await writeMadeUpAnswers(answered);
  await writeSyntheticLambdaAblation(varied);
  await writeSyntheticTopK(varied);
  await writeSyntheticRealModel(answered);
  await writeSyntheticConditions(answered);
  await writeSyntheticTraining(answered);
}, 120_000);

const countOf = (html: string, pattern: RegExp): number => [...html.matchAll(pattern)].length;

describe.each(NOTEBOOKS)('the notebook %s', (file) => {
  const name = file.replace(/^\d+-/, '');
  const parameters = PARAMETERS[file] ?? { folder: answered };
  const source = typeof parameters.folder === 'string' ? parameters.folder : answered;
  let html = '';
  let page = '';

  it('is one page of charts and tables under 3 MB', async () => {
    page = await exportNotebook(file, source, parameters);
    expect(statSync(page).size).toBeLessThan(3e6);
    html = readFileSync(page, 'utf8');
    expect(countOf(html, /<figure class="chart"/g)).toBeGreaterThanOrEqual(2);
    const findings = [...html.matchAll(/<p class="finding">(.*?)<\/p>/gs)].map(([, text]) => text);
    expect(findings.join()).not.toMatch(/NaN|undefined|null/);
  }, 600_000);

  it('starts with the finding of its result, then a chart', () => {
    const result = readResults(source).get(name);
    if (!result) return expect(name).toBe('first-steps');
    const texts = [result.finding, ...result.predictions.map((one) => JSON.stringify(one))];
    expect(texts.join()).not.toMatch(/NaN|undefined|null/);
    const head = html.slice(html.indexOf('<h1'), html.indexOf('<h2', html.indexOf('<h1')));
    expect(head.includes('<header class="opening"><p class="headline">')).toBe(true);
    expect(head.includes('<figure class="chart"')).toBe(true);
    expect(result.rows.length).toBeGreaterThan(0);
  });

  it.skipIf(!testsPages)(
    'is accessible to every reader (needs Chromium and test:full)',
    async () => expect(await complaintsAboutReport(page)).toEqual([]),
    300_000,
  );
});

it('a result is kept while answers and code do not change', async () => {
  const { mtimeMs } = statSync(path.join(answered, 'latency.json'));
  await loadResult('latency', answered);
  expect(statSync(path.join(answered, 'latency.json')).mtimeMs).toBe(mtimeMs);
});

slow(
  'the first steps show rollouts, rewards and a probability that follows the reward (needs test:full)',
  () => {
    const html = readFileSync(path.join(answered, 'first-steps.html'), 'utf8');
    expect(countOf(html, /<div class="ps-transcript"/g)).toBe(3);
  },
);
