/** The page in a real browser: it answers as Node does, and asks nobody. */
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { rolloutConfigOf } from '../../lib/config.js';
import { loadPolicy, loadWorld, type World } from '../../lib/experiments/world.js';
import { exportPlayground } from '../../lib/playground/html.js';
import { createRandom } from '../../lib/random.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { finalAnswer } from '../../lib/text/turns.js';
import { chromiumPath, startChromium, type Browser, type BrowserPage } from '../browser/chromium.js';
import { accessibilityComplaints, firstPaintMs } from '../browser/page-checks.js';

const METHODS = ['parallelsearch', 'search-r1'] as const;
type Method = (typeof METHODS)[number];

/** Milliseconds, for a machine that is busy with other things; a free one needs a few seconds. */
const PATIENCE_MS = 100_000;

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

  const answerInNode = async (method: Method, text: string): Promise<Trajectory> => {
    const policy = await loadPolicy({ method, start: 'instruct', seed: 1 });
    const question = { id: 'q', question: text, goldenAnswers: [], metadata: {} };
    const options = { ...rolloutConfigOf(method), temperature: 0, randoms: [createRandom(1)] };
    const { trajectories } = await rollOut(policy, world.retriever, [question], options);
    policy.dispose();
    return trajectories[0];
  };

  it('is one file under 15 MB that paints within a second', async () => {
    expect(statSync(file).size).toBeLessThan(15e6);
    expect(await firstPaintMs(page)).toBeLessThan(1000);
  });

  it('writes the same tokens as Node does on the same backend', async () => {
    await page.evaluate(ready('instruct-trained'));
    expect(await page.evaluate<string>(`document.getElementById('status').textContent`)).toContain(
      'WebAssembly',
    );
    const question = await page.evaluate<string>(`document.querySelector('[name=question]').value`);
    await page.evaluate(set('delay', '300'));
    await page.evaluate(set('pace', '0'));
    await page.evaluate(ASK);
    await page.evaluate(ANSWERED);
    for (const method of METHODS) {
      const expected = await answerInNode(method, question);
      const column = `[data-method=${method}]`;
      const ids = `[...document.querySelectorAll('${column} .token')].map((token) => Number(token.dataset.id))`;
      const written = expected.segments.filter(({ kind }) => kind === 'policy');
      expect(await page.evaluate(ids), method).toEqual(written.flatMap(({ tokenIds }) => tokenIds));
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

  it('goes back to the start of the training, and stops', async () => {
    await page.evaluate(set('checkpoint', 'instruct'));
    await page.evaluate(ready('instruct'));
    await page.evaluate(set('delay', '3000'));
    await page.evaluate(ASK);
    await page.evaluate(until(`document.querySelector('.query.waiting')`));
    await page.evaluate(`document.querySelector('[name=stop]').click()`);
    expect(await page.evaluate(`document.querySelectorAll('.query.waiting').length`)).toBe(0);
    expect(await page.evaluate(`document.querySelector('button.ask').disabled`)).toBe(false);
  });

  it('is accessible, asks nothing of a network and leaves nothing on the console', async () => {
    if (process.env.PLAYGROUND_PICTURE)
      writeFileSync(process.env.PLAYGROUND_PICTURE, await page.screenshot());
    expect(await accessibilityComplaints(page)).toEqual([]);
    expect(page.requests.filter((url) => !url.startsWith('blob:'))).toEqual([]);
    expect(page.complaints).toEqual([]);
  });
});
