/** Signals during libtensorflow's products, whose kernel may use the stack below them. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { temporaryFolder } from '../folder.js';
import { cases, isFull } from '../full.js';
import { HAS_NATIVE } from './has-backend.js';

const NUM_SIGNALS = cases(30, 200);
/** Node's profiler, which interrupts the products 5,000 times a second. */
const profiler = (): string[] => [
  '--cpu-prof',
  '--cpu-prof-interval=200',
  `--cpu-prof-dir=${temporaryFolder()}`,
];
const PRODUCTS = fileURLToPath(new URL('../fixtures/products.ts', import.meta.url));
const TSX = pathToFileURL(packagePath('node_modules', 'tsx', 'dist', 'loader.mjs')).href;

// One process per library: starting one takes longer than sending its signals.
describe.skipIf(!HAS_NATIVE)('products on the native backend (needs libtensorflow)', () => {
  const all: [oneDnn: string, products: string[]][] = [
    ['1', ['84:one by one', '84:graph', '128:one by one', '512:one by one', '512:graph']],
    ['0', ['128:one by one', '128:graph']],
  ];
  it.each(isFull ? all : [['1', all[0][1].slice(0, 2)] as const])(
    `survive ${NUM_SIGNALS} signals each and a profiler with oneDNN set to %s: inner sizes %j`,
    async (oneDnn, products) => {
      const child = spawn(
        process.execPath,
        [...profiler(), '--import', TSX, PRODUCTS, ...products],
        { env: { ...process.env, TF_CPP_MIN_LOG_LEVEL: '2', TF_ENABLE_ONEDNN_OPTS: oneDnn } },
      );
      onTestFinished(() => void child.kill('SIGKILL'));
      child.stdin.on('error', () => undefined);
      const complaints = text(child.stderr);
      const closed = once(child, 'close') as Promise<[number | null, string | null]>;
      const input = createInterface({ input: child.stdout });
      const lines: AsyncIterator<string, undefined> = input[Symbol.asyncIterator]();
      for (const product of products) {
        const ready = await lines.next();
        expect(ready.value, `${product}: ${child.exitCode}, ${child.signalCode}`).toBe('ready');
        for (let i = 0; i < NUM_SIGNALS && child.exitCode === null; i++) {
          child.kill(i % 2 ? 'SIGWINCH' : 'SIGCHLD');
          await sleep(5);
        }
        child.stdin.write('\n');
        const report = (await lines.next()).value ?? 'null';
        const rounds = JSON.parse(report) as { numRounds: number; numWrong: number } | null;
        expect(rounds, `${product}: ${child.exitCode}, ${child.signalCode}`).not.toBeNull();
        expect(rounds!.numRounds, product).toBeGreaterThan(1);
        expect(rounds!.numWrong, product).toBe(0);
      }
      expect(await closed, await complaints).toEqual([0, null]);
    },
    120_000,
  );
});
