/** The page in a real browser: it answers as Node does, and asks nobody. */
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadLocalPolicy } from '../../../lib/policy/policies.js';
import { rolloutConfigOf } from '../../../lib/methods/index.js';
import { adapterFolder, modelFolder, stepFolder } from '../../../lib/experiments/runs.js';
import { loadWorld, type World } from '../../../lib/experiments/world.js';
import { exportPlayground } from '../../../lib/pages/playground/html.js';
import { createRandom } from '../../../lib/random.js';
import { rollOut } from '../../../lib/rollout/rollout.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { finalAnswer } from '../../../lib/text/turns.js';
import { chromiumPath, startChromium, type Browser, type BrowserPage } from '../../browser/chromium.js';
import { accessibilityComplaints } from '../../browser/page-checks.js';

const METHODS = ['parallelsearch', 'search-r1'] as const;
type Method = (typeof METHODS)[number];

/** Milliseconds, for a machine that is busy with other things; a free one needs a few seconds. */
const PATIENCE_MS = 100_000;

/** The ids of the tokens that a policy has written. */
const writtenIds = ({ segments }: Trajectory): number[] =>
  segments.filter(({ kind }) => kind === 'policy').flatMap((segment) => segment.tokenIds);

/** Resolves when `condition` holds in the page. */
const until = (condition: string): string => `new Promise((resolve, reject) => {
  const start = performance.now();
  (function look() {
    if (${condition}) resolve(true);
    else if (performance.now() - start > ${PATIENCE_MS}) reject(new Error(document.getElementById('playground').innerText));
    else setTimeout(look, 20);
  })();
})`;
const ready = (checkpoint: string): string =>
  until(`document.getElementById('playground').dataset.ready === '${checkpoint}'`);
const set = (name: string, value: string): string => `(() => {
  const control = document.querySelector('[name=${name}]');
  control.value = ${JSON.stringify(value)};
  control.dispatchEvent(new Event(control.type === 'range' ? 'input' : 'change', { bubbles: true }));
})()`;
const ASK = `document.querySelector('button.ask').click()`;
const ANSWERED = until(`document.querySelector('.results table')`);
const QUESTION = `document.querySelector('[name=question]').value`;
const STATUS = `document.getElementById('status').textContent`;
/** The ids of the tokens that a method has written. */
const tokenIds = (method: Method): string =>
  `[...document.querySelectorAll('[data-method=${method}] .token')].map((token) => Number(token.dataset.id))`;
const texts = (selector: string): string =>
  `[...document.querySelectorAll(${JSON.stringify(selector)})].map((node) => node.textContent)`;

describe.skipIf(!chromiumPath)('the playground in Chromium', { timeout: 2 * PATIENCE_MS }, () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'playground-'));
  let file: string;
  let browser: Browser;
  let page: BrowserPage;
  let world: World;

  beforeAll(async () => {
    file = await exportPlayground({ outDir: folder });
    [browser, world] = await Promise.all([startChromium(), loadWorld()]);
    await useBackend('wasm');
    page = await browser.newPage();
    await page.open(file);
  }, 2 * PATIENCE_MS);
  afterAll(async () => {
    await browser?.close();
    rmSync(folder, { recursive: true });
  });

  /** @param part the folder of an earlier adapter in the run's */
  const answerInNode = async (method: Method, text: string, part = ''): Promise<Trajectory> => {
    const run = { method, model: 'instruct', seed: 1 } as const;
    const policy = await loadLocalPolicy(modelFolder('instruct'), {
      adapter: path.join(adapterFolder(run), part),
    });
    const question = { id: 'q', question: text, goldenAnswers: [], metadata: {} };
    const options = { ...rolloutConfigOf(method), temperature: 0, randoms: [createRandom(1)] };
    const { trajectories } = await rollOut(policy, world.retriever, [question], options);
    policy.dispose();
    return trajectories[0];
  };

  it('is one file under 15 MB', () => {
    expect(statSync(file).size).toBeLessThan(15e6);
  });

  it('writes the same tokens as Node does on the same backend', async () => {
    await page.evaluate(ready('instruct-step-30'));
    expect(await page.evaluate<string>(STATUS)).toContain('WebAssembly');
    const question = await page.evaluate<string>(QUESTION);
    await page.evaluate(set('delay', '300'));
    await page.evaluate(set('pace', '0'));
    await page.evaluate(ASK);
    await page.evaluate(ANSWERED);
    for (const method of METHODS) {
      const expected = await answerInNode(method, question);
      const column = `[data-method=${method}]`;
      expect(await page.evaluate(tokenIds(method)), method).toEqual(writtenIds(expected));
      const queries = expected.searchTurns.flatMap((turn) => turn.queries);
      expect(await page.evaluate(texts(`${column} .query-text`))).toEqual(queries);
      expect(await page.evaluate(texts(`${column} .found strong`))).toEqual(
        expected.searchTurns.flatMap(({ results }) =>
          results.flatMap((result) =>
            result.status === 'ok' ? result.passages.map(({ title }) => title) : [],
          ),
        ),
      );
      expect(await page.evaluate(texts(`${column} .answer strong`))).toEqual([
        finalAnswer(expected.segments) ?? '',
      ]);
    }
  });

  it('draws every search with its delay, and tells the probability of each token', async () => {
    const lanes = await page.evaluate<string>(`document.querySelector('.lanes').getAttribute('aria-label')`);
    const delays = [...lanes.matchAll(/searched, ([\d.]+) s/g)].map(([, seconds]) => Number(seconds));
    expect(delays).toHaveLength(
      await page.evaluate<number>(`document.querySelectorAll('ul.queries').length`),
    );
    for (const seconds of delays) expect(seconds).toBeGreaterThanOrEqual(0.3);
    await page.evaluate(`document.querySelector('.tokens').focus()`);
    await page.press('ArrowRight');
    await page.press('ArrowRight');
    expect(await page.evaluate(`document.querySelector('.tip').textContent`)).toMatch(
      /^“.+” [<> ]*[\d.]+ %$/s,
    );
    await page.press('Escape');
    expect(await page.evaluate(`document.querySelector('.tip').textContent`)).toBe('');
  });

  it('has the weights in the order of training', async () => {
    const ids = `[...document.querySelector('[name=checkpoint]').options].map(({ value }) => value)`;
    expect(await page.evaluate(ids)).toEqual([
      ...['instruct', ...[3, 6, 10, 30].map((step) => `instruct-step-${step}`)],
      ...['base', 'base-step-30'],
    ]);
  });

  it('answers the question anew when the weights change, with the last ones that were chosen', async () => {
    const question = await page.evaluate<string>(QUESTION);
    await page.evaluate(set('checkpoint', 'base'));
    expect(await page.evaluate(`document.querySelectorAll('.token, .lane .stretch, table').length`)).toBe(0);
    await page.evaluate(set('checkpoint', 'instruct-step-3'));
    await page.evaluate(ready('instruct-step-3'));
    await page.evaluate(ANSWERED);
    expect(await page.evaluate(QUESTION)).toBe(question);
    const expected = await answerInNode('parallelsearch', question, stepFolder(3));
    expect(await page.evaluate(tokenIds('parallelsearch'))).toEqual(writtenIds(expected));
  });

  it('is accessible', async () => {
    expect(await accessibilityComplaints(page)).toEqual([]);
  });

  it('goes back to the model of the training in the middle of an answer', async () => {
    await page.evaluate(set('delay', '3000'));
    await page.evaluate(ASK);
    await page.evaluate(until(`document.querySelector('.query.waiting')`));
    await page.evaluate(set('checkpoint', 'instruct'));
    expect(await page.evaluate(`document.querySelectorAll('.query').length`)).toBe(0);
    await page.evaluate(ready('instruct'));
    await page.evaluate(until(`document.querySelector('.query.waiting')`));
  });

  it('stops, and then leaves asking to the reader', async () => {
    await page.evaluate(`document.querySelector('[name=stop]').click()`);
    expect(await page.evaluate(`document.querySelectorAll('.query.waiting').length`)).toBe(0);
    expect(await page.evaluate(`document.querySelector('button.ask').disabled`)).toBe(false);
    await page.evaluate(set('checkpoint', 'instruct-step-30'));
    await page.evaluate(ready('instruct-step-30'));
    expect(await page.evaluate(STATUS)).toMatch(/^Ready/);
    expect(await page.evaluate(`document.querySelectorAll('.token').length`)).toBe(0);
  });

  it('asks nothing of a network and leaves nothing on the console', () => {
    expect(page.requests.filter((url) => !url.startsWith('blob:'))).toEqual([]);
    expect(page.complaints).toEqual([]);
  });
});
