/**
 * Measures how `score`, `audit`, `view` and its page in Chromium scale with the number of
 * trajectories: `npm run bench -- trajectories - SIZES`, such as `1000,10000,100000`.
 * Recorded trajectories are repeated under new names. Prints one JSON object with
 * trajectories per second and peak memory.
 */
import { spawnSync } from 'node:child_process';
import { createWriteStream, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { brotliDecompressSync } from 'node:zlib';
import { packagePath } from '../lib/io/paths.js';
import { spread, timed, type Comparison } from './support/peer.js';

const [, sizes = '1000,10000,100000'] = process.argv.slice(2);

/** Makes a command print its peak memory, in kilobytes, as its last line. */
const PRINTS_MEMORY =
  'data:text/javascript,process.on("exit",()=>console.error(`\\n${process.resourceUsage().maxRSS}`))';

const recorded = brotliDecompressSync(
  readFileSync(packagePath('data', 'results', 'trajectories.jsonl.br')),
)
  .toString()
  .trim()
  .split('\n')
  .flatMap((record) => {
    const json = record.slice(record.indexOf('\t') + 1);
    return (JSON.parse(json) as { value: { lines: { questionId: string }[] } }).value.lines;
  });

const rows: Comparison[] = [];
const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
const [file, page] = ['trajectories.jsonl', 'page.html'].map((name) => join(folder, name));
let failure: string | undefined;
const addRow = (work: string, batch: number, seconds: number, bytes?: number): void => {
  rows.push({
    work,
    batch,
    perSecond: spread([batch / seconds]),
    ...(bytes && { peakGigabytes: Number((bytes / 1e9).toPrecision(2)) }),
  });
  console.error(JSON.stringify(rows.at(-1)));
};
try {
  for (const size of sizes.split(',').map(Number)) {
    function* lines() {
      for (let i = 0; i < size; i++) {
        const { questionId, ...line } = recorded[i % recorded.length];
        yield `${JSON.stringify({ ...line, questionId: `${questionId}-${i}` })}\n`;
      }
    }
    await pipeline(Readable.from(lines()), createWriteStream(file));
    for (const command of ['score', 'audit', 'view']) {
      const args = command === 'view' ? ['--out', page] : ['--json'];
      const { seconds, bytes } = await timed(async () => ({ bytes: run(command, ...args) }));
      addRow(command, size, seconds, bytes);
    }
    const bench = [packagePath('scripts', 'bench.mjs'), 'viewer', page];
    const { status, stdout } = spawnSync(process.execPath, bench, { encoding: 'utf8' });
    if (status === 0) {
      const { readyMs, searchMs } = JSON.parse(stdout) as Record<string, number>;
      addRow('viewer: open', size, readyMs / 1000);
      addRow('viewer: search', size, searchMs / 1000);
    } else failure = 'viewer: no Chromium, or it failed';
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}
console.log(JSON.stringify({ rows, failure }));

/** Runs a command on the file. Returns its peak memory in bytes. */
function run(command: string, ...args: readonly string[]): number {
  const { status, stderr } = spawnSync(
    process.execPath,
    ['--import', PRINTS_MEMORY, packagePath('dist', 'cli.js'), command, file, ...args],
    { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const lines = stderr.trim().split('\n');
  if (status !== 0) throw new Error(`${command} failed: ${lines.slice(0, -1).join(' ')}`);
  return Number(lines.at(-1)) * 1024;
}
