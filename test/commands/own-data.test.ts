/** A stranger's data, from the command line: no graphs, a file for each split, a compressed corpus. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, it } from 'vitest';
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
