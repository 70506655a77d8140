/**
 * Runs every comparison with another implementation, and measures how speed changes with
 * size: `npm run bench -- all PYTHON [--quick] [--resume]`, where PYTHON has what the
 * other implementations need. Missing packages are named and their parts skipped, as is a
 * part that fails. Parts run one after another. Writes docs/performance.md with its
 * charts, its figures as JSON, and the README's text on speed. `--quick` takes ten
 * minutes: it skips wasm, the language model and the largest sizes. `--resume` keeps what
 * an earlier run of the same commit has measured.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { group } from 'd3-array';
import { writeFileSafely, writeJson } from '../lib/io/files.js';
import { packagePath } from '../lib/io/paths.js';
import { readCommit } from '../lib/io/provenance.js';
import { createChart } from '../lib/report/charts/spec.js';
import { writeChart } from '../lib/report/publication.js';
import type { Comparison } from './support/peer.js';
import { updateReadme, type Row } from './support/summary.js';

interface Part {
  /** A benchmark in `bench/`, and its arguments after the Python. */
  command: readonly [name: string, ...args: string[]];
  /** Python packages of the other implementation. */
  needs: readonly string[];
  /** Backend of the rows that do not name one. */
  backend?: string;
  peer?: string;
  counted: string;
  unit: string;
  isSlow?: true;
}

/** The rows of a part, or why rows are missing. */
interface Result {
  command: string;
  seconds: number;
  rows?: Row[];
  failure?: string;
}

const [python, ...options] = process.argv.slice(2);
const isQuick = options.includes('--quick');
if (!python || python.startsWith('-'))
  throw new Error('Expected a Python. Try: npm run bench -- all PYTHON [--quick] [--resume]');

/** Versions of the installed Python packages among `names`. */
function pythonVersions(names: readonly string[]): Record<string, string> {
  const script = `import json, sys
from importlib.metadata import PackageNotFoundError, version
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = version(name)
    except PackageNotFoundError:
        pass
print(json.dumps(found))`;
  const { stdout, error } = spawnSync(python, ['-c', script, ...names], { encoding: 'utf8' });
  if (error) throw new Error(`Expected ${python} to be a Python, but: ${error.message}`);
  return JSON.parse(stdout) as Record<string, string>;
}

const BM25_PEERS = ['bm25s', 'tantivy'];
const OTHERS = ['torch', 'transformers', 'peft', 'trl', 'datasets', ...BM25_PEERS, 'faiss-cpu'];
const versions = pythonVersions(OTHERS);
const lacks = (names: readonly string[]): string[] => names.filter((name) => !(name in versions));
const bm25Peers = BM25_PEERS.filter((name) => name in versions).join(',') || '-';

const PARTS: readonly Part[] = [
  ...['native', 'wasm'].flatMap((backend): Part[] => {
    const shared = { backend, ...(backend === 'wasm' && { isSlow: true as const }) };
    return [
      {
        command: ['policy', backend, ...(isQuick ? [] : ['all'])],
        needs: ['torch', 'transformers'],
        peer: 'transformers',
        counted: 'rows',
        unit: 'tokens/s',
        ...shared,
      },
      {
        command: ['grpo', backend],
        needs: ['torch', 'trl', 'peft', 'datasets'],
        peer: 'TRL',
        counted: 'rollouts',
        unit: 'rollouts/s',
        ...shared,
      },
    ];
  }),
  {
    command: ['real-model', 'models/smollm2-135m-instruct', 'native'],
    needs: ['torch', 'transformers', 'peft'],
    backend: 'native',
    peer: 'PyTorch',
    counted: 'rows',
    unit: 'tokens/s',
    isSlow: true,
  },
  ...[10_000, 100_000, 1_000_000, 5_000_000].map(
    (size): Part => ({
      // More would not fit into bm25s' memory.
      command: ['bm25', String(size), size > 1_000_000 ? '-' : bm25Peers],
      needs: [],
      counted: 'passages',
      unit: 'passages/s',
      ...(size > 100_000 && { isSlow: true }),
    }),
  ),
  ...[10_000, 100_000].map(
    (size): Part => ({
      command: ['hnsw', String(size)],
      needs: ['faiss-cpu'],
      peer: 'FAISS',
      counted: 'vectors',
      unit: 'vectors/s',
      ...(size > 10_000 && { isSlow: true }),
    }),
  ),
  {
    command: ['trajectories', isQuick ? '1000,10000' : '1000,10000,100000'],
    needs: [],
    counted: 'trajectories',
    unit: 'trajectories/s',
  },
];

function runPart({ command, needs, backend = '', peer, counted, unit }: Part): Result {
  const [name, ...args] = command;
  const result = { command: command.join(' '), seconds: 0 };
  if (lacks(needs).length > 0)
    return { ...result, failure: `${lacks(needs).join(', ')} not installed` };
  const startMs = performance.now();
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [packagePath('scripts', 'bench.mjs'), name, python, ...args],
    { cwd: packagePath(), encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  result.seconds = Math.round((performance.now() - startMs) / 1000);
  if (status !== 0) {
    console.error(stderr);
    const lines = stderr.trim().split('\n');
    return { ...result, failure: lines.find((line) => /^\S*Error\b/.test(line)) ?? lines.at(-1) };
  }
  const { rows, failure } = JSON.parse(stdout) as { rows: Comparison[]; failure?: string };
  return {
    ...result,
    failure,
    rows: rows.map((row) => {
      // Such as the data type of one side of the same comparison.
      const other = [peer, row.peer].filter(Boolean).join(', ');
      return { backend, counted, unit, ...row, ...(other && { peer: other }) };
    }),
  };
}

const machine = `${cpus().length} cores of ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`;
const about = { machine, versions, commit: readCommit(), quick: isQuick };

/** What has been measured so far. */
const RESULTS = packagePath('runs', 'bench.json');

async function runParts(parts: readonly Part[]): Promise<Result[]> {
  let results: Result[] = [];
  if (options.includes('--resume') && existsSync(RESULTS)) {
    const earlier = JSON.parse(readFileSync(RESULTS, 'utf8')) as { results: Result[] };
    if (JSON.stringify({ ...earlier, results: [] }) === JSON.stringify({ ...about, results: [] }))
      results = earlier.results.filter(({ rows }) => rows);
  }
  for (const [i, part] of parts.entries()) {
    const command = part.command.join(' ');
    if (results.some((result) => result.command === command)) continue;
    console.error(`${i + 1}/${parts.length} ${command}`);
    results.push(runPart(part));
    const { seconds, failure } = results.at(-1)!;
    console.error(failure ?? `${seconds} s`);
    await writeJson(RESULTS, { ...about, results });
  }
  return parts.map(
    ({ command }) => results.find((result) => result.command === command.join(' '))!,
  );
}

const sizeText = ({ batch, counted }: Row): string =>
  `${batch.toLocaleString('en')} ${batch === 1 ? counted.replace(/s$/, '') : counted}`;

const spreadText = ([least, median, most]: readonly number[]): string =>
  least === most ? `${median}` : `${median} [${least}, ${most}]`;

function tableText(rows: readonly Row[]): string {
  const speedText = (unit: string, median?: number, p95Ms?: number): string => {
    if (median === undefined) return '';
    return `${median.toLocaleString('en')} ${unit}${p95Ms === undefined ? '' : ` (p95 ${p95Ms} ms)`}`;
  };
  const header =
    '| work | size | backend | compared with | ours | theirs | our seconds / theirs | peak, GB: ours / theirs |';
  const lines = rows.map((row) =>
    [
      row.work,
      sizeText(row),
      row.backend,
      row.peer ?? '',
      speedText(row.unit, row.perSecond[1], row.p95Ms),
      speedText(row.unit, row.peerPerSecond?.[1], row.peerP95Ms),
      row.ratioOfSeconds ? `**${spreadText(row.ratioOfSeconds)}**` : '',
      [row.peakGigabytes, row.peerPeakGigabytes].filter((value) => value !== undefined).join(' / '),
    ].join(' | '),
  );
  return [header, `|${'---|'.repeat(8)}`, ...lines.map((line) => `| ${line} |`)].join('\n');
}

/** Charts our time as a multiple of theirs. */
function ratioChart(rows: readonly Row[]) {
  const values = rows.flatMap((row) => {
    if (!row.ratioOfSeconds) return [];
    const [low, value, high] = row.ratioOfSeconds;
    const on = row.backend === '' ? '' : `, ${row.backend}`;
    return [{ work: `${row.work}, ${sizeText(row)}${on} (${row.peer})`, low, value, high }];
  });
  const x = {
    type: 'quantitative',
    scale: { type: 'log' },
    title: 'Our time (multiple of theirs)',
  };
  const y = {
    field: 'work',
    type: 'nominal',
    sort: null,
    title: 'Work',
    axis: { labelLimit: 420, titleAngle: 0, titleAlign: 'right', titleX: -6, titleY: -8 },
  };
  const color = { value: '#d95f02' };
  return createChart({
    title: 'Time compared with other implementations, with least and most',
    alt: `${values.map(({ work, value }) => `${work}: ${value}`).join('; ')}.`,
    spec: {
      data: { values },
      width: 420,
      height: { step: 20 },
      layer: [
        {
          mark: { type: 'rule', strokeDash: [3, 3] },
          encoding: { x: { datum: 1, type: 'quantitative' } },
        },
        { mark: 'rule', encoding: { y, x: { ...x, field: 'low' }, x2: { field: 'high' }, color } },
        {
          mark: { type: 'point', filled: true, size: 55, opacity: 1 },
          encoding: { y, x: { ...x, field: 'value' }, color },
        },
      ],
    },
  });
}

const OURS = 'this project';

/** Charts speed by size, for work measured at several sizes. */
function growthChart(rows: readonly Row[]) {
  const kinds = group(rows, ({ work, backend, counted }) =>
    [[work, backend].filter(Boolean).join(', '), `by ${counted}`].join(' '),
  );
  const values = [...kinds].flatMap(([work, all]) =>
    new Set(all.map(({ batch }) => batch)).size < 2
      ? []
      : all.flatMap(({ batch, unit, perSecond, peerPerSecond, peer = '' }) => [
          { work: `${work} (${unit})`, size: batch, side: OURS, speed: perSecond[1] },
          ...(peerPerSecond
            ? [{ work: `${work} (${unit})`, size: batch, side: peer, speed: peerPerSecond[1] }]
            : []),
        ]),
  );
  const sides = [...new Set(values.map(({ side }) => side))];
  const line = { mark: { type: 'line', point: true } };
  return createChart({
    title: 'Speed by size; level where time grows in proportion',
    alt: `${values.map(({ work, size, side, speed }) => `${work}, ${size}, ${side}: ${speed}`).join('; ')}.`,
    spec: {
      data: { values },
      facet: {
        field: 'work',
        type: 'nominal',
        sort: [...new Set(values.map(({ work }) => work))],
        title: null,
      },
      columns: 3,
      spec: {
        ...line,
        width: 190,
        height: 120,
        encoding: {
          x: {
            field: 'size',
            type: 'quantitative',
            scale: { type: 'log', nice: false },
            title: 'Size (number)',
            axis: { tickCount: 3, format: '~s', grid: false, ticks: false },
          },
          y: {
            field: 'speed',
            type: 'quantitative',
            scale: { type: 'log' },
            title: 'Speed (per second)',
            axis: { tickCount: 4, format: '~s', grid: false, ticks: false },
          },
          color: { field: 'side', type: 'nominal', title: null, scale: { domain: sides } },
        },
      },
      resolve: { scale: { x: 'independent', y: 'independent' } },
    },
  });
}

const parts = PARTS.filter(({ isSlow }) => !isQuick || !isSlow);
const results = await runParts(parts);
const rows = results.flatMap((result) => result.rows ?? []);
const missing = [
  ...results.flatMap(({ command, failure }) => (failure ? [`${command}: ${failure}`] : [])),
  ...lacks(BM25_PEERS).map((name) => `bm25: ${name} not installed`),
];
const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
const page = `# Performance

Written by \`npm run bench -- all PYTHON${isQuick ? ' --quick' : ''}\`: speed compared with other implementations, on the same weights,
inputs and cores, alternating between the two. A ratio is our seconds over theirs: below 1, this project is faster. Brackets hold the minimum
and maximum of the repeats; figures without them were measured once. TRL does not search, so its completions are as long as the text that the
policy writes here, and its prompts as long as the text that it reads. BM25 and HNSW are measured in CPU seconds of one process; a query returns
ten passages, and its speed is the median of 500 after a warm-up.

${machine}; ${packages.join(', ')}; commit ${about.commit}.

![Our time as a multiple of theirs](performance.svg)

![Speed by size](performance-growth.svg)

${tableText(rows)}
${missing.length > 0 ? `\nNot measured: ${missing.join('; ')}.\n` : ''}`;
/** The text after this line of the page was measured by hand, and is kept. */
const KEPT = '<!-- measured apart -->';
const file = packagePath('docs', 'performance.md');
const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
const kept = before.includes(KEPT) ? `\n${before.slice(before.indexOf(KEPT))}` : '';
const seconds = Object.fromEntries(results.map((result) => [result.command, result.seconds]));
await writeFileSafely(
  packagePath('docs', 'performance.json'),
  `${JSON.stringify({ ...about, missing, seconds, rows }, null, 1)}\n`,
);
await writeChart(ratioChart(rows), packagePath('docs', 'performance.svg'));
await writeChart(growthChart(rows), packagePath('docs', 'performance-growth.svg'));
await writeFileSafely(file, `${page}${kept}`);
const readme = packagePath('README.md');
await writeFileSafely(readme, updateReadme(readFileSync(readme, 'utf8'), rows));
console.log(page);
