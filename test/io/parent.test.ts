import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, it, vi } from 'vitest';
import { WATCH_PARENT } from '../../lib/io/parent.js';

const isBuilt = existsSync(new URL('../../dist/io/parent.js', import.meta.url));
const isPosix = process.platform !== 'win32';

/** Process ids that there are, with those of their parents. */
const processes = (): number[][] =>
  execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));

it.skipIf(!isBuilt || !isPosix)(
  'a worker, a training and a kernel end with the process that started them, killed, while they are too busy to listen',
  async () => {
    const script = fileURLToPath(new URL('../fixtures/parent.mjs', import.meta.url));
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(parent.stdout, 'data');
    const children = processes().flatMap(([pid, ppid]) => (ppid === parent.pid ? [pid] : []));
    expect(children).toHaveLength(3);
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    const alive = (): number[] =>
      processes().flatMap(([pid]) => (children.includes(pid) ? [pid] : []));
    await vi.waitFor(() => expect(alive()).toEqual([]), { timeout: 30_000, interval: 200 });
  },
  120_000,
);

it.skipIf(!isPosix)('a process whose parent has ended before it looks ends, too', async () => {
  const program = `new (require('node:worker_threads').Worker)(${JSON.stringify(WATCH_PARENT)}, { eval: true }); setTimeout(() => {}, 60_000)`;
  // Nobody has the number of init for a parent that started it.
  const env = { ...process.env, PARALLELSEARCH_PARENT: '1' };
  const child = spawn(process.execPath, ['-e', program], { env, stdio: 'ignore' });
  expect(await once(child, 'exit')).toEqual([null, 'SIGKILL']);
});
