/**
 * A user's data on the command line: no graphs, one file per split, a compressed corpus.
 */
import { existsSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { closeChromium, openPage, testsPages } from '../browser/chromium.js';
import { temporaryFolder } from '../folder.js';
import { isBuilt, refusal, runCommand, words } from './command-line.js';
import { linesOf, writeOwnData, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const data = join(root, 'own');
const { model } = await writeTinyWorld(root);
writeOwnData(data);

describe.skipIf(!isBuilt)('evaluate (needs dist/)', () => {
  const asked = () => words`evaluate --backend wasm --model ${model}`;
  const evaluate = (more: readonly string[]) => runCommand([...asked(), ...more]);

  it('measures everything that needs no graph, and lists what does', async () => {
    const out = join(root, 'results.jsonl');
    const { code, stdout } = await evaluate(words`--data ${data} --out ${out}`);
    expect(code).toBe(0);
    expect(linesOf(out)).toMatchObject(
      [0, 1, 2, 3].map((i) => ({ questionId: `test_${i}`, subset: 'unknown', coverage: null })),
    );
    expect(stdout).toMatch(
      /^mean of +EM +F1 +format +turns +calls +decomposed +queries +critical steps +tokens written\n/,
    );
    expect(stdout).toMatch(/^all +n = 4( +\d+\.\d{3}){9}$/m);
    expect(
      stdout.match(/graphs.*sub-question recall, evidence recall and critical path/g),
    ).toHaveLength(1);
    expect(stdout).toMatch(/\ntime +\d+\.\d s, \d+\.\d\d s a question\n/);
  });

  it('lists the existing splits', async () => {
    const said = await refusal([...asked(), ...words`--data ${data} --split dev`]);
    expect(said).toMatch(/split dev.*train and test/);
  });
});

describe.skipIf(!isBuilt)('train (needs dist/)', () => {
  const typed = join(root, 'typed');
  const train = (folder: string, out: string, ...more: string[]): ReturnType<typeof runCommand> =>
    runCommand([
      ...words`train --backend wasm --model ${model} --data ${folder} --out ${join(root, out)}`,
      ...more,
    ]);
  const trajectoriesOf = (out: string): Partial<Trajectory>[] =>
    linesOf<Partial<Trajectory>>(join(root, out, 'trajectories.jsonl'));
  beforeAll(() => writeOwnData(typed, { type: 'comparison' }));

  it('reports what the rewards of ParallelSearch need before computing anything', async () => {
    const { code, stderr } = await train(data, 'refused');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Expected questions with a type or a dependency graph, .* but none of 4 has either\. Add .* --method search-r1\.\n$/,
    );
    expect(existsSync(join(root, 'refused'))).toBe(false);
  });

  it('derives parallelizable questions from the type', async () => {
    const config = tinyConfig('parallelsearch', 'paper');
    const { code } = await train(typed, 'typed-run', '--config', config);
    expect(code).toBe(0);
    const [first, ...others] = trajectoriesOf('typed-run');
    for (const { questionType, subQuestionRecall } of [first, ...others])
      expect([questionType, subQuestionRecall]).toEqual(['parallelizable', undefined]);
    expect(Object.keys(first.rewards!)).toEqual([
      'outcome',
      'decomposition',
      'search_count',
      'format',
      'total',
    ]);
  });

  it("uses Search-R1's reward for questions with neither type nor graph", async () => {
    const config = tinyConfig('search-r1', 'search-r1');
    const { code } = await train(data, 'untyped-run', '--config', config);
    expect(code).toBe(0);
    for (const { questionType, rewards } of trajectoriesOf('untyped-run')) {
      expect(questionType).toBeUndefined();
      expect(rewards!.total).toBe(rewards!.outcome);
    }
  });

  /** Writes the configuration of one small step. */
  function tinyConfig(method: string, preset: string): string {
    const file = join(root, `${method}.json`);
    const rollout = {
      prompt: method === 'search-r1' ? method : 'parallel',
      splitQueries: true,
      // The tiny model's context has no room for the full prompt.
      promptForm: 'short',
      maxSearchTurns: 1,
      maxNewTokens: 10,
    };
    const grpo = { steps: 1, questionsPerStep: 2, groupSize: 2 };
    const lora = { rank: 2, alpha: 4 };
    const config = { method, model: 'overruled', rollout, rewards: { preset }, lora, grpo };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }
});

describe.skipIf(!isBuilt)('ask (needs dist/)', () => {
  it('prints the rollout as plain text without a terminal, with passages as the only data', async () => {
    const passagesOnly = join(root, 'passages');
    mkdirSync(passagesOnly);
    writeFileSync(join(passagesOnly, 'passages.jsonl'), '{"id":"p","contents":"Oslo\\nA city."}\n');
    const { code, stdout, stderr } = await runCommand(
      words`ask ${'Who was born first?'} --backend wasm --model ${model} --data ${passagesOnly} --prompt-form short`,
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^Answer with search, split parts with ##\. Question: Who was born first\?\n/,
    );
    expect(stdout).toMatch(/\n(Answer: .*|No answer(\.|: .*))\n$/);
    expect(stripVTControlCharacters(stdout)).toBe(stdout);
    expect(stderr).toMatch(
      /\d+ search turns?, \d+ sub-quer(y|ies), \d+ model calls?, \d+\.\d s\n$/,
    );
  });

  it('reports a folder without passages', async () => {
    const args = words`ask Who? --backend wasm --model ${model} --data ${model}`;
    expect(await refusal(args)).toContain('Expected corpus.jsonl or passages.jsonl');
  });
});

describe.skipIf(!isBuilt)('playground (needs dist/)', () => {
  const adapter = join(root, 'typed-run', 'adapter'); // of the training above
  afterAll(closeChromium);

  it.skipIf(!testsPages)(
    'answers in the browser with a custom adapter and passages (needs Chromium and test:full)',
    async () => {
      const { code, stderr } = await runCommand(
        words`playground --data ${data} --adapter ${adapter} --out-dir ${root}`,
      );
      expect([code, stderr]).toEqual([0, expect.stringMatching(/playground\.html\n$/)]);
      const { page, complaints } = await openPage(join(root, 'playground.html'));
      await page.locator('#playground[data-ready=after]').waitFor();
      expect(await page.locator('[name=checkpoint] option').allTextContents()).toEqual([
        'model, before training',
        'model, after training',
      ]);
      await page.locator('[name=pace]').selectOption('0');
      await page.locator('[name=delay]').fill('0');
      await page.locator('[name=question]').fill('Who was born before Tom Thumb?');
      await page.getByRole('button', { name: 'Ask', exact: true }).click();
      await page.locator('.comparison table').waitFor();
      expect(await page.locator('#status').textContent()).toContain('“Tom Thumb”');
      expect(await page.locator('article.column').count()).toBe(1);
      expect(await page.locator('article.column .token').count()).toBeGreaterThan(0);
      expect(complaints).toEqual([]);
    },
  );

  it('rejects data too large for a page, with a remedy', async () => {
    const large = join(root, 'large');
    mkdirSync(large);
    writeFileSync(join(large, 'corpus.jsonl'), '');
    truncateSync(join(large, 'corpus.jsonl'), 250e6);
    const said = await refusal(words`playground --force --data ${large} --out-dir ${root}`);
    expect(said).toMatch(/at most 100 MB.*corpus\.jsonl has 250 MB/);
  });
});
