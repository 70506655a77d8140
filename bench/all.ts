/**
 * Every comparison with another implementation: `npm run bench -- all PYTHON [--quick]`,
 * where PYTHON has what the others import; what is missing is named and left out.
 * Comparisons run one after another, each with its two sides in turns. Writes
 * docs/performance.md, with its chart and, as JSON, its figures. `--quick` takes ten
 * minutes: it leaves out wasm, the language model and a million passages.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';
import { writeFileSafely } from '../lib/io/files.js';
import { packagePath } from '../lib/io/paths.js';
import { writeChart } from '../lib/report/publication.js';
import { createChart } from '../lib/report/vega-lite.js';
import { readCommit } from '../lib/io/provenance.js';

/** Least, median and most. */
type Spread = [number, number, number];

interface Row {
  work: string;
  /** Rows, rollouts or passages. */
  size: string;
  backend: string;
  peer: string;
  unit: string;
  ours: Spread;
  theirs: Spread;
  /** Seconds, ours to theirs. */
  ratio: Spread;
  /** Peak memory, ours and theirs. */
  gigabytes?: [number, number];
}

interface Printed {
  rows: {
    work: string;
    peer?: string;
    batch: number;
    perSecond: Spread;
    peerPerSecond: Spread;
    ratioOfSeconds: Spread;
    peakGigabytes?: number;
    peerPeakGigabytes?: number;
  }[];
}

interface PrintedBm25 {
  numPassages: number;
  own: Record<'indexSeconds' | 'queryMs' | 'indexMegabytes', number>;
  bm25s: Record<'indexSeconds' | 'queryMs' | 'indexMegabytes', number> | string;
}

interface Part {
  /** Of `bench/`, with its arguments after the Python. */
  command: [name: string, ...args: string[]];
  /** Python modules of the other side. */
  needs: string[];
  backend: string;
  peer: string;
  /** What a row counts, as in `8 rows`, and amounts per second. */
  counted: string;
  unit: string;
  isSlow?: true;
}

const PARTS: readonly Part[] = [
  ...['native', 'wasm'].flatMap((backend): Part[] => {
    const isSlow = backend === 'wasm' ? { isSlow: true as const } : {};
    return [
      {
        command: ['policy', backend],
        needs: ['torch', 'transformers'],
        backend,
        peer: 'transformers',
        counted: 'rows',
        unit: 'tokens/s',
        ...isSlow,
      },
      {
        command: ['grpo', backend],
        needs: ['torch', 'trl', 'peft', 'datasets'],
        backend,
        peer: 'TRL',
        counted: 'rollouts',
        unit: 'rollouts/s',
        ...isSlow,
      },
    ];
  }),
  {
    command: ['real-model', packagePath('models', 'smollm2-135m-instruct'), 'native'],
    needs: ['torch', 'transformers', 'peft'],
    backend: 'native',
    peer: 'PyTorch',
    counted: 'rows',
    unit: 'tokens/s',
    isSlow: true,
  },
];
const BM25_SIZES = { quick: '10000,100000', all: '10000,100000,1000000' };

const [python, ...options] = process.argv.slice(2);
const isQuick = options.includes('--quick');
if (!python || python.startsWith('-'))
  throw new Error('Expected a Python. Try: npm run bench -- all PYTHON [--quick]');

/** Versions of installed Python packages; those that are missing are left out. */
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
  const { stdout } = spawnSync(python, ['-c', script, ...names], { encoding: 'utf8' });
  return JSON.parse(stdout) as Record<string, string>;
}

/** What a benchmark prints, or why it failed. */
function runBenchmark(name: string, ...args: readonly string[]): string | Error {
  console.error(`${name} ${args.join(' ')}`);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [packagePath('scripts', 'bench.mjs'), name, python, ...args],
    { encoding: 'utf8', maxBuffer: 1 << 28, stdio: ['ignore', 'pipe', 'pipe'] },
  );
  const lines = stderr.trim().split('\n');
  const reason = lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1);
  return status === 0 ? stdout : new Error(`${name} ${args.join(' ')}: ${reason}`);
}

const missing: string[] = [];
const versions = pythonVersions([...new Set([...PARTS.flatMap(({ needs }) => needs), 'bm25s'])]);

/** Rows of a comparison; none, with a note, where something is missing. */
function comparePart({ command, needs, backend, peer, counted, unit }: Part): Row[] {
  const [name, ...args] = command;
  const lacks = needs.filter((module) => !(module in versions));
  const printed =
    lacks.length > 0
      ? new Error(`${name} ${args.join(' ')}: ${lacks.join(', ')} not installed`)
      : runBenchmark(name, ...args);
  if (printed instanceof Error) {
    missing.push(printed.message);
    return [];
  }
  const { rows } = JSON.parse(printed) as Printed;
  return rows.map((row) => ({
    work: row.work === 'generate' ? 'generation' : row.work,
    size: `${row.batch} ${row.batch === 1 ? counted.replace(/s$/, '') : counted}`,
    backend,
    peer: row.peer ? `${peer}, ${row.peer}` : peer,
    unit,
    ours: row.perSecond,
    theirs: row.peerPerSecond,
    ratio: row.ratioOfSeconds,
    ...(row.peakGigabytes !== undefined &&
      row.peerPeakGigabytes !== undefined && {
        gigabytes: [row.peakGigabytes, row.peerPeakGigabytes] as [number, number],
      }),
  }));
}

const once = (value: number): Spread => {
  const rounded = Number(value.toPrecision(3));
  return [rounded, rounded, rounded];
};

function compareBm25(): Row[] {
  const printed =
    'bm25s' in versions
      ? runBenchmark('bm25', isQuick ? BM25_SIZES.quick : BM25_SIZES.all)
      : new Error('bm25: bm25s not installed');
  if (printed instanceof Error) {
    missing.push(printed.message);
    return [];
  }
  return printed
    .trim()
    .split('\n')
    .flatMap((line) => {
      const { numPassages, own, bm25s } = JSON.parse(line) as PrintedBm25;
      if (typeof bm25s === 'string') return [];
      const shared = {
        size: `${numPassages.toLocaleString('en')} passages`,
        backend: '–',
        peer: 'bm25s',
        gigabytes: [own, bm25s].map(({ indexMegabytes }) =>
          Number((indexMegabytes / 1000).toPrecision(2)),
        ) as [number, number],
      };
      return [
        {
          work: 'BM25 index',
          ...shared,
          unit: 'passages/s',
          ours: once(numPassages / own.indexSeconds),
          theirs: once(numPassages / bm25s.indexSeconds),
          ratio: once(own.indexSeconds / bm25s.indexSeconds),
        },
        {
          work: 'BM25 query',
          ...shared,
          unit: 'queries/s',
          ours: once(1000 / own.queryMs),
          theirs: once(1000 / bm25s.queryMs),
          ratio: once(own.queryMs / bm25s.queryMs),
        },
      ];
    });
}

const spreadText = ([least, median, most]: Spread): string =>
  least === most ? `${median}` : `${median} [${least}, ${most}]`;

function tableText(rows: readonly Row[]): string {
  const header =
    '| work | size | backend | beside | ours | theirs | our seconds / theirs | peak, GB: ours / theirs |';
  const lines = rows.map(
    ({ work, size, backend, peer, unit, ours, theirs, ratio, gigabytes }) =>
      `| ${work} | ${size} | ${backend} | ${peer} | ${ours[1]} ${unit} | ${theirs[1]} ${unit} | **${spreadText(ratio)}** | ${gigabytes?.join(' / ') ?? ''} |`,
  );
  return [header, `|${'---|'.repeat(8)}`, ...lines].join('\n');
}

function ratioChart(rows: readonly Row[]) {
  const values = rows.map(({ work, size, backend, peer, ratio: [low, value, high] }) => {
    const on = backend === '–' ? '' : `, ${backend}`;
    return { work: `${work}, ${size}${on} (${peer})`, low, value, high };
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
    title: 'Time beside other implementations, with least and most',
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

const rows = [
  ...PARTS.filter(({ isSlow }) => !isQuick || !isSlow).flatMap(comparePart),
  ...compareBm25(),
];
const commit = readCommit();
const packages = Object.entries(versions).map(([name, version]) => `${name} ${version}`);
const machine = `${cpus().length} cores of ${cpus()[0].model.trim()}, ${Math.round(totalmem() / 2 ** 30)} GB, Node ${process.versions.node}`;
const page = `# Performance

Written by \`npm run bench -- all PYTHON${isQuick ? ' --quick' : ''}\`: speed beside other implementations, on the same weights,
inputs and cores, in turns. A ratio is our seconds over theirs, so below 1 this project is faster. Brackets hold the least and the most of
the repeats; figures without them were measured once. TRL does not search: its completions are as long as what the policy writes here,
its prompts as long as what it reads.

${machine}; ${packages.join(', ')}; commit ${commit}.

![Our time as a multiple of theirs](performance.svg)

${tableText(rows)}
${missing.length > 0 ? `\nNot measured: ${missing.join('; ')}.\n` : ''}`;
/** What follows this line of the page was measured by hand, and stays. */
const KEPT = '<!-- measured apart -->';
const file = packagePath('docs', 'performance.md');
const before = existsSync(file) ? readFileSync(file, 'utf8') : '';
const kept = before.includes(KEPT) ? `\n${before.slice(before.indexOf(KEPT))}` : '';
const about = { machine, versions, commit, quick: isQuick, missing };
await writeFileSafely(
  packagePath('docs', 'performance.json'),
  `${JSON.stringify({ ...about, rows }, null, 1)}\n`,
);
await writeChart(ratioChart(rows), packagePath('docs', 'performance.svg'));
await writeFileSafely(file, `${page}${kept}`);
console.log(page);
