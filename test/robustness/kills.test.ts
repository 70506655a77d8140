/** Work that is killed at random moments and called again ends as if it had never been killed (test:full). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { createRandom } from '../../lib/random.js';
import { reportHtml } from '../../lib/report/html.js';
import { isBuilt } from '../commands/command-line.js';
import { writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { syntheticNotebook } from '../report/fixtures.js';
import { tinyTraining } from '../training/tiny.js';

/** In all, over the kinds of work. */
const NUM_KILLS = 50;

const root = temporaryFolder();
const given = join(root, 'given');
const CLI = packagePath('dist', 'cli.js');
const WORK = fileURLToPath(new URL('../fixtures/killed-work.mjs', import.meta.url));

const asked = ['--model', 'model', '--data', 'data', '--backend', 'wasm'];
/** Arguments of Node, in a folder that holds a model, data, a configuration and a report. */
const KINDS: Record<string, string[]> = {
  training: [CLI, 'train', '--config', 'config.json', ...asked, '--out', 'out'],
  evaluation: [
    ...[CLI, 'evaluate', '--method', 'search-r1', ...asked, '--split', 'train', '--batch-size', '1'],
    ...['--out', 'out/results.jsonl', '--trajectories', 'out/trajectories.jsonl'],
  ],
  export: [CLI, 'export', 'report', '--reports', '.', '--out', 'out'],
  'warm-up': [WORK, 'warm-up', 'out'],
  records: [WORK, 'records', 'out'],
};

/** Runs to its end, or kills it after so long. */
async function run(args: readonly string[], cwd: string, killAfterMs = Infinity): Promise<number> {
  const child = spawn(process.execPath, args, { cwd, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const start = performance.now();
  const ended = once(child, 'close') as Promise<[number | null]>;
  if (killAfterMs < Infinity) {
    await Promise.race([ended, sleep(killAfterMs)]);
    child.kill('SIGKILL');
    await ended;
  } else {
    const [code] = await ended;
    expect(code, said).toBe(0);
  }
  return performance.now() - start;
}

/** Everything that came of it, without what is of the clock. */
function results(folder: string): Record<string, string> {
  const files = readdirSync(join(folder, 'out'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, 'out', name))
    // Half a file that a kill has left aside is nobody's result.
    .filter((file) => statSync(file).isFile() && !/report\.html$|\d\.partial$/.test(file));
  return Object.fromEntries(
    files.map((file) => {
      const text = readFileSync(file, 'latin1').replace(/"(\w+_)?seconds":[\d.e-]+/g, '');
      return [relative(folder, file), text];
    }),
  );
}

const isFull = process.env.PARALLELSEARCH_TEST_FULL === '1';

describe.skipIf(!isFull || !isBuilt)('work that is killed (test:full)', () => {
  beforeAll(async () => {
    mkdirSync(given);
    await writeTinyWorld(given);
    const config = tinyTraining({ model: 'model', checkpointEvery: 1, grpo: { steps: 6 } });
    writeFileSync(join(given, 'config.json'), JSON.stringify(config));
    writeFileSync(join(given, 'report.html'), (await reportHtml(await syntheticNotebook())).html);
  });

  it.each(Object.entries(KINDS))(
    'goes on to the same end: %s',
    async (kind, args) => {
      const folderOf = (name: string): string => {
        const folder = join(root, `${kind}-${name}`);
        cpSync(given, folder, { recursive: true });
        return folder;
      };
      const whole = folderOf('whole');
      const wallMs = await run(args, whole);
      const numKills = NUM_KILLS / Object.keys(KINDS).length;
      const random = createRandom(kind);
      for (let i = 0; i < numKills; i++) {
        const folder = folderOf(String(i));
        const killAfterMs = wallMs * random.uniform();
        await run(args, folder, killAfterMs);
        await run(args, folder);
        expect(results(folder), `killed after ${killAfterMs} ms`).toEqual(results(whole));
      }
    },
    3_600_000,
  );
});
