/**
 * A training among hostile neighbours: readers that exit, removed folders and locks, a
 * second process, signals.
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { isBuilt, runProcess } from '../commands/command-line.js';
import { linesOf, writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { tinyTraining } from '../training/tiny.js';

const root = temporaryFolder();
const CLI = packagePath('dist', 'cli.js');
const STEPS = 12;

describe.skipIf(!isFull || !isBuilt || process.platform === 'win32')(
  'a training with hostile neighbours (needs test:full)',
  { timeout: 600_000 },
  () => {
    beforeAll(async () => {
      await writeTinyWorld(root);
      const grpo = { steps: STEPS, questionsPerStep: 2, groupSize: 2 };
      const config = tinyTraining({ model: 'model', checkpointEvery: 3, grpo });
      writeFileSync(join(root, 'config.json'), JSON.stringify(config));
    });

    const args = (out: string): string[] =>
      `train --config config.json --model model --data data --backend wasm --out ${out}`.split(' ');
    /** @param redirection of the shell, such as `2>&1 | head -1` */
    const startInShell = (out: string, redirection: string): ChildProcess =>
      spawn('bash', ['-c', `node ${CLI} ${args(out).join(' ')} ${redirection}`], {
        cwd: root,
        stdio: ['ignore', 'pipe', 'pipe'],
      });
    const metrics = (out: string): object[] =>
      existsSync(join(root, out, 'metrics.jsonl')) ? linesOf(join(root, out, 'metrics.jsonl')) : [];
    const untilStep = async (out: string, step: number): Promise<void> =>
      expect.poll(() => metrics(out).length, { timeout: 120_000 }).toBeGreaterThanOrEqual(step);
    const adapter = (out: string): string =>
      join(root, out, 'adapter', 'adapter_model.safetensors');

    it.each(['2>&1 | head -1', '2>/dev/full', '2>&-', '>&- 2>&-'])(
      'ends normally with %s',
      async (redirection) => {
        const out = `run${redirection.replace(/\W/g, '')}`;
        const child = startInShell(out, redirection);
        await once(child, 'close');
        await untilStep(out, STEPS);
        expect(existsSync(adapter(out))).toBe(true);
      },
    );

    it('rejects a second process, and can be resumed after a signal', async () => {
      // Long enough for the second process to start before the first one ends.
      const long = (out: string): string[] => [...args(out), '--steps', '150'];
      const whole = await runProcess(long('whole'), root);
      expect(whole.code, whole.stderr).toBe(0);
      for (const signal of ['SIGINT', 'SIGTERM'] as const) {
        const child = spawn(process.execPath, [CLI, ...long(signal)], {
          cwd: root,
          stdio: 'ignore',
        });
        await untilStep(signal, 2);
        for (let i = 0; i < 50; i++) child.kill(i % 2 ? 'SIGWINCH' : 'SIGCHLD');
        const second = await runProcess(long(signal), root);
        expect([second.code, second.stderr]).toEqual([
          1,
          expect.stringContaining(`locked by process ${child.pid}`),
        ]);
        child.kill(signal);
        const [code] = (await once(child, 'close')) as [number];
        expect([0, 130]).toContain(code);
        expect((await runProcess(long(signal), root)).code).toBe(0);
        expect(readFileSync(adapter(signal))).toEqual(readFileSync(adapter('whole')));
      }
    });

    it.each([
      ['folder', '', 'was removed'],
      ['lock', 'run.lock', 'Lost the lock'],
    ])('ends with a short error if the %s is removed', async (name, part, sentence) => {
      const out = `removed-${name}`;
      const long = [...args(out), '--steps', '100000'];
      const child = spawn(process.execPath, [CLI, ...long], { cwd: root });
      let said = '';
      child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
      await untilStep(out, 4);
      rmSync(join(root, out, part), { recursive: true });
      const [code] = (await once(child, 'close')) as [number];
      expect([code, said]).toEqual([1, expect.stringContaining(sentence)]);
      expect(said).not.toContain('    at ');
    });
  },
);
