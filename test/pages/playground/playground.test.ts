import { cpSync, statSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatPassages, formatQuestions } from '../../../lib/data/flashrag.js';
import { loadPassages, loadQuestions } from '../../../lib/data/flashrag.js';
import { evaluatedQuestions } from '../../../lib/data/question.js';
import { stepFolder } from '../../../lib/experiments/running/runs.js';
import { CHECKPOINTS } from '../../../lib/io/paths.js';
import { exportPlayground } from '../../../lib/pages/playground/page.js';
import { loadLocalPolicy } from '../../../lib/policy/folders/model-folder.js';
import { createRandom } from '../../../lib/random.js';
import { loadWorld, type World } from '../../../lib/retrieval/small-world.js';
import { rollOut } from '../../../lib/rollout/rollout.js';
import type { Trajectory } from '../../../lib/rollout/trajectory.js';
import { useBackend } from '../../../lib/tensor/backend.js';
import { finalAnswer } from '../../../lib/text/response.js';
import { resolveRollout } from '../../../lib/training/methods.js';
import { INITIAL_MODELS } from '../../../lib/training/models.js';
import { adapterFolder, modelNameForRun } from '../../../lib/experiments/running/policy-runs.js';
import type { PolicyRun } from '../../../lib/experiments/running/policy-runs.js';
import { closeChromium, openPage, testsPages } from '../../browser/chromium.js';
import type { OpenPage, Page } from '../../browser/chromium.js';
import { accessibilityComplaints } from '../../browser/page-checks.js';
import { isCutShort, numTrainedSteps } from '../../experiments/cut-short.js';
import { temporaryFolder } from '../../folder.js';
import { INJECTION } from '../viewer/synthetic.js';

const METHODS = ['parallelsearch', 'search-r1'] as const;
type Method = (typeof METHODS)[number];

/** Milliseconds, for a busy machine; an idle one takes a few seconds. */
const PATIENCE_MS = 100_000;

const runOf = (method: string, model: PolicyRun['model'] = 'instruct'): PolicyRun => {
  return { method, model, initSeed: 1, seed: 1 };
};
const LAST = `instruct-1-step-${numTrainedSteps}`;

/** Copies checkpoints; those of seed 2 stand for the ones after 25 steps. */
function writeCheckpoints(root: string): void {
  for (const model of INITIAL_MODELS) {
    const name = modelNameForRun(runOf('', model));
    symlinkSync(join(CHECKPOINTS, name), join(root, name));
    for (const run of METHODS.map((method) => runOf(method, model))) {
      const [whole, target] = [{ recursive: true, dereference: true }, adapterFolder(run, root)];
      const filter = (file: string): boolean => !basename(file).startsWith('step-');
      cpSync(adapterFolder(run), target, { ...whole, filter });
      if (model === 'instruct')
        cpSync(adapterFolder({ ...run, seed: 2 }), join(target, stepFolder(25)), whole);
    }
  }
}

/** Ids of the tokens a policy generated. */
const writtenIds = ({ segments }: Trajectory): number[] =>
  segments.filter(({ kind }) => kind === 'policy').flatMap((segment) => segment.tokenIds);

describe.skipIf(!testsPages)(
  'the playground in Chromium (needs Chromium and test:full)',
  { timeout: 2 * PATIENCE_MS },
  () => {
    const [folder, root, customData] = [temporaryFolder(), temporaryFolder(), temporaryFolder()];
    let file: string;
    let opened: OpenPage;
    let page: Page;
    let world: World;

    beforeAll(async () => {
      writeCheckpoints(root);
      file = await exportPlayground({ outDir: folder, checkpoints: root });
      world = await loadWorld();
      await useBackend('wasm');
      opened = await openPage(file);
      page = opened.page;
      page.setDefaultTimeout(PATIENCE_MS);
    }, 2 * PATIENCE_MS);
    afterAll(closeChromium);

    const ready = (checkpoint: string): Promise<void> =>
      page.locator(`#playground[data-ready=${checkpoint}]`).waitFor();
    const weigh = (checkpoint: string): Promise<unknown> =>
      page.locator('[name=checkpoint]').selectOption(checkpoint);
    const ask = (): Promise<void> => page.getByRole('button', { name: 'Ask both' }).click();
    const answered = (): Promise<void> => page.locator('.comparison table').waitFor();
    const question = (): Promise<string> => page.locator('[name=question]').inputValue();
    const texts = (selector: string): Promise<string[]> => page.locator(selector).allTextContents();
    const count = (selector: string): Promise<number> => page.locator(selector).count();
    const tokenIds = (method: Method): Promise<number[]> =>
      page
        .locator(`[data-method=${method}] .token`)
        .evaluateAll((tokens: HTMLElement[]) => tokens.map((token) => Number(token.dataset.id)));

    /** @param part folder of an earlier checkpoint */
    const answerInNode = async (method: Method, text: string, part = ''): Promise<Trajectory> => {
      const adapter = join(adapterFolder(runOf(method), root), part);
      const policy = await loadLocalPolicy(join(root, 'instruct-1'), { adapter });
      const question = { id: 'q', question: text, goldenAnswers: [], metadata: {} };
      const greedy = { temperature: 0, randoms: [createRandom(1)] };
      const options = { ...resolveRollout(method, 'small-world'), ...greedy };
      const { trajectories } = await rollOut(policy, world.retriever, [question], options);
      policy.dispose();
      return trajectories[0];
    };

    it('is a single file under 15 MB', () => {
      expect(statSync(file).size).toBeLessThan(15e6);
    });

    it('generates the same tokens as Node', async () => {
      await ready(LAST);
      expect(await page.locator('#status').textContent()).toContain('WebAssembly');
      await page.locator('[name=delay]').fill('300');
      await page.locator('[name=pace]').selectOption('0');
      await ask();
      await answered();
      for (const method of METHODS) {
        const { searchTurns, ...expected } = await answerInNode(method, await question());
        const column = `[data-method=${method}]`;
        expect(await tokenIds(method), method).toEqual(writtenIds({ ...expected, searchTurns }));
        const queries = searchTurns.flatMap((turn) => turn.queries);
        expect(await texts(`${column} .result .query`)).toEqual(queries);
        const results = searchTurns.flatMap((turn) => turn.results);
        const passages = results.flatMap((found) => (found.status === 'ok' ? found.passages : []));
        const titles = passages.map(({ title }) => title);
        expect(await texts(`${column} .passages strong`)).toEqual(titles);
        const answer = finalAnswer(expected.segments) ?? '';
        expect(await texts(`${column} .answer strong`)).toEqual([answer]);
      }
    });

    it('shows markup in a question as text', async () => {
      const before = await question();
      await page.locator('[name=question]').fill(INJECTION);
      await ask();
      await answered();
      expect(await page.evaluate(() => 'injected' in window)).toBe(false);
      expect(await count('#playground :is(script, img)')).toBe(0);
      await page.locator('[name=question]').fill(before);
      await ask();
      await answered();
    });

    it.skipIf(isCutShort)('shows markup in custom passages and questions as text', async () => {
      const [{ id, question: text }] = evaluatedQuestions(await loadQuestions());
      const passages = (await loadPassages()).map(({ id, title, text }) => {
        return { id, contents: `${title} ${INJECTION}\n${INJECTION} ${text}` };
      });
      const hostile = { id, question: INJECTION, goldenAnswers: [INJECTION], metadata: {} };
      writeFileSync(join(customData, 'corpus.jsonl'), formatPassages(passages));
      writeFileSync(join(customData, 'questions.jsonl'), formatQuestions([hostile]));
      const parts = { outDir: customData, checkpoints: root, data: customData };
      const custom = await openPage(await exportPlayground(parts));
      custom.page.setDefaultTimeout(PATIENCE_MS);
      await custom.page.locator(`#playground[data-ready=${LAST}]`).waitFor();
      await custom.page.locator('[name=pace]').selectOption('0');
      await custom.page.locator('[name=question]').fill(text);
      await custom.page.getByRole('button', { name: 'Ask both' }).click();
      await custom.page.locator('.comparison table').waitFor();
      const titles = await custom.page.locator('.passages strong').allTextContents();
      expect(titles.filter((title) => title.endsWith(INJECTION)).length).toBeGreaterThan(0);
      expect(await custom.page.evaluate(() => 'injected' in window)).toBe(false);
      expect(await custom.page.locator('#playground :is(script, img)').count()).toBe(0);
      expect(custom.complaints).toEqual([]);
      await custom.page.close();
    });

    it('draws every search with its delay, and shows token probabilities', async () => {
      const lanes = (await page.locator('.lanes').getAttribute('aria-label')) ?? '';
      const searches = lanes.matchAll(/search ([\d.]+) s/g);
      const delays = Array.from(searches, ([, seconds]) => Number(seconds));
      expect(delays).toHaveLength(await count('.turn .results'));
      for (const seconds of delays) expect(seconds).toBeGreaterThanOrEqual(0.3);
      await page.locator('.tokens').first().press('ArrowRight');
      await page.keyboard.press('ArrowRight');
      expect(await page.locator('.tip').textContent()).toMatch(/^“.+” [<> ]*[\d.]+ %$/s);
      await page.keyboard.press('Escape');
      expect(await page.locator('.tip').textContent()).toBe('');
    });

    it('lists checkpoints in training order, and answers again with the last one selected', async () => {
      const options = page.locator('[name=checkpoint] option');
      const valuesOf = (nodes: HTMLOptionElement[]) => nodes.map(({ value }) => value);
      const base = ['base-1', `base-1-step-${numTrainedSteps}`];
      const ids = ['instruct-1', 'instruct-1-step-25', LAST, ...base];
      expect(await options.evaluateAll(valuesOf)).toEqual(ids);
      const asked = await question();
      await weigh('base-1');
      expect(await count('.token, .lane .work, table')).toBe(0);
      await weigh('instruct-1-step-25');
      await ready('instruct-1-step-25');
      await answered();
      expect(await question()).toBe(asked);
      const expected = await answerInNode('parallelsearch', asked, stepFolder(25));
      expect(await tokenIds('parallelsearch')).toEqual(writtenIds(expected));
    });

    it('is accessible', async () => {
      expect(await accessibilityComplaints(page)).toEqual([]);
    });

    it.skipIf(isCutShort)(
      'changes the checkpoint during an answer (needs weights that search)',
      async () => {
        await page.locator('[name=delay]').fill('3000');
        await ask();
        await page.locator('.result.waiting').first().waitFor();
        await weigh('instruct-1');
        expect(await count('.result')).toBe(0);
        await ready('instruct-1');
        await page.locator('.result.waiting').first().waitFor();
      },
    );

    it.skipIf(isCutShort)(
      'stops, and does not restart by itself (needs weights that search)',
      async () => {
        await page.getByRole('button', { name: 'Stop' }).click();
        expect(await count('.result.waiting')).toBe(0);
        expect(await page.getByRole('button', { name: 'Ask both' }).isEnabled()).toBe(true);
        await weigh(LAST);
        await ready(LAST);
        expect(await page.locator('#status').textContent()).toMatch(/^Ready/);
        expect(await count('.token')).toBe(0);
      },
    );

    it('requests nothing and logs nothing', () => {
      expect(opened.requests.filter((url) => !url.startsWith('blob:'))).toEqual([]);
      expect(opened.complaints).toEqual([]);
    });
  },
);
