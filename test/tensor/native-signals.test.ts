/** Signals during products of libtensorflow, whose kernel may lend its stack to them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { HAS_NATIVE } from './has-backend.js';

const NUM_SIGNALS = 200;
/** Node's profiler, which interrupts the products 5,000 times a second. */
const profiler = (): string[] => [
  '--cpu-prof',
  '--cpu-prof-interval=200',
  `--cpu-prof-dir=${temporaryFolder()}`,
];
const PRODUCTS = fileURLToPath(new URL('../fixtures/products.ts', import.meta.url));
const TSX = pathToFileURL(packagePath('node_modules', 'tsx', 'dist', 'loader.mjs')).href;

describe.skipIf(!HAS_NATIVE)('products on the native backend (needs libtensorflow)', () => {
  it.each([
    [84, '1', 'one by one'],
    [128, '1', 'one by one'],
    [512, '1', 'one by one'],
    [128, '0', 'one by one'],
    [84, '1', 'graph'],
    [512, '1', 'graph'],
    [128, '0', 'graph'],
  ])(
    `survive ${NUM_SIGNALS} signals and a profiler with an inner size of %i and oneDNN set to %s, as %s`,
    async (inner, oneDnn, kind) => {
      const child = spawn(
        process.execPath,
        [...profiler(), '--import', TSX, PRODUCTS, String(inner), kind],
        { env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2', TF_ENABLE_ONEDNN_OPTS: oneDnn } },
      );
      const [printed, complaints] = [text(child.stdout), text(child.stderr)];
      const closed = once(child, 'close') as Promise<[number | null, string | null]>;
      await Promise.race([once(child.stdout, 'data'), closed]);
      for (let i = 0; i < NUM_SIGNALS && child.exitCode === null; i++) {
        child.kill(i % 2 ? 'SIGWINCH' : 'SIGCHLD');
        await sleep(5);
      }
      child.stdin.on('error', () => undefined).end();
      expect(await closed, await complaints).toEqual([0, null]);
      const { numRounds, numWrong } = JSON.parse((await printed).replace('ready\n', '')) as {
        numRounds: number;
        numWrong: number;
      };
      expect(numRounds).toBeGreaterThan(1);
      expect(numWrong).toBe(0);
    },
    120_000,
  );
});
