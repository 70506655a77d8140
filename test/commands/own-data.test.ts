/** A stranger's data, from the command line: no graphs, a file for each split, a compressed corpus. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ScoredTrajectory } from '../../lib/training/advantages.js';
import { temporaryFolder } from '../folder.js';
import { isBuilt, runCommand, startCommand } from './command-line.js';
import { linesOf, writeOwnData, writeTinyWorld } from './tiny-world.js';

const root = temporaryFolder();
const data = join(root, 'own');
let model: string;
beforeAll(async () => {
  ({ model } = await writeTinyWorld(root));
  writeOwnData(data);
});

describe.skipIf(!isBuilt)('evaluate (skipped without dist/: npm run build)', () => {
  const evaluate = ['evaluate', '--backend', 'wasm'];

  it('measures what needs no graph, and says what needs one', async () => {
    const out = join(root, 'results.jsonl');
    const { code, stdout } = await runCommand([...evaluate, '--model', model, '--data', data, '--out', out]);
    expect(code).toBe(0);
    expect(linesOf(out)).toMatchObject(
      [0, 1, 2, 3].map((i) => ({ questionId: `test_${i}`, subset: 'unknown', coverage: null })),
    );
    expect(stdout).toMatch(/^all +n +4 +em \d\.\d{3} +f1 \d\.\d{3} +turns \d\.\d{3} +model_calls \d\.\d{3} /);
    expect(stdout).toContain('coverage needs graphs');
    expect(stdout).toMatch(/\ntime +\d+\.\d s, \d+\.\d\d s a question\n/);
  });

  it('loses no answer that was there when it was killed, and goes on with the next one', async () => {
    const many = join(root, 'many');
    writeOwnData(many, { numTest: 8 });
    const out = join(root, 'killed.jsonl');
    const trajectories = join(root, 'killed-trajectories.jsonl');
    const args = [
      ...evaluate,
      '--model',
      model,
      '--data',
      many,
      '--method',
      'r1',
      '--batch-size',
      '1',
      '--out',
      out,
    ];
    const child = startCommand([...args, '--trajectories', trajectories]);
    const partial = (): string =>
      existsSync(`${out}.partial`) ? readFileSync(`${out}.partial`, 'utf8') : '';
    while (!partial().includes('\n')) await sleep(10);
    child.kill('SIGKILL');
    const numKept = partial().split('\n').length - 1;
    expect(numKept).toBeLessThan(8);
    const { stderr } = await runCommand([...args, '--trajectories', trajectories]);
    expect(Number(/Going on after (\d+) answers/.exec(stderr)?.[1])).toBeGreaterThanOrEqual(numKept);
    for (const file of [out, trajectories])
      expect(linesOf<{ questionId: string }>(file).map(({ questionId }) => questionId)).toEqual(
        Array.from({ length: 8 }, (_, i) => `test_${i}`),
      );
    expect(existsSync(`${out}.partial`)).toBe(false);
  });

  it('names the splits that there are', async () => {
    const { code, stderr } = await runCommand([
      ...evaluate,
      '--model',
      model,
      '--data',
      data,
      '--split',
      'dev',
    ]);
    expect(code).toBe(1);
    expect(stderr).toContain(
      'Expected questions of split dev, but there are none. Name another by --split: there is train and test.',
    );
  });
});

describe.skipIf(!isBuilt)('train (skipped without dist/: npm run build)', () => {
  const typed = join(root, 'typed');
  const train = (folder: string, out: string, ...more: string[]): ReturnType<typeof runCommand> =>
    runCommand([
      ...['train', '--backend', 'wasm', '--model', model, '--data', folder, '--out', join(root, out)],
      ...more,
    ]);
  const trajectoriesOf = (out: string): Partial<ScoredTrajectory>[] =>
    linesOf<Partial<ScoredTrajectory>>(join(root, out, 'trajectories.jsonl'));
  beforeAll(() => writeOwnData(typed, { type: 'comparison' }));

  it('names what the rewards of ParallelSearch need, before anything is computed', async () => {
    const { code, stderr } = await train(data, 'refused');
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^Expected questions with a type or a dependency graph, .* but none of 4 has either\. Add .* --method search-r1\.\n$/,
    );
    expect(existsSync(join(root, 'refused'))).toBe(false);
  });

  it('takes what is parallelizable from the type', async () => {
    const { code } = await train(typed, 'typed-run', '--config', tinyConfig('parallelsearch', 'paper'));
    expect(code).toBe(0);
    const [first, ...others] = trajectoriesOf('typed-run');
    for (const { shape, coverage } of [first, ...others])
      expect([shape, coverage]).toEqual(['parallelizable', undefined]);
    expect(Object.keys(first.rewards!)).toEqual([
      'outcome',
      'decomposition',
      'search_count',
      'format',
      'total',
    ]);
  });

  it('runs Search-R1’s reward on questions with neither type nor graph', async () => {
    const { code } = await train(data, 'untyped-run', '--config', tinyConfig('search-r1', 'search-r1'));
    expect(code).toBe(0);
    for (const { shape, rewards } of trajectoriesOf('untyped-run')) {
      expect(shape).toBeUndefined();
      expect(rewards!.total).toBe(rewards!.outcome);
    }
  });

  /** Writes the configuration of one small step. */
  function tinyConfig(method: string, preset: string): string {
    const file = join(root, `${method}.json`);
    const rollout = {
      prompt: method === 'search-r1' ? method : 'parallel',
      splitQueries: true,
      maxSearchTurns: 1,
      maxNewTokens: 10,
    };
    const grpo = { steps: 1, questionsPerStep: 2, groupSize: 2 };
    const config = {
      method,
      model: 'overruled',
      rollout,
      rewards: { preset },
      lora: { rank: 2, alpha: 4 },
      grpo,
    };
    writeFileSync(file, JSON.stringify(config));
    return file;
  }
});
