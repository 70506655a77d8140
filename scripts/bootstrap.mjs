#!/usr/bin/env node
/**
 * Runs `npm start` and `npm test` after installing and building what is missing. Plain
 * Node without dependencies, because it runs before anything is installed.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants, tmpdir } from 'node:os';
import { dirname, join, relative, sep } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = dirname(dirname(fileURLToPath(import.meta.url)));
const BUILD_STAMP = 'dist/.source-hash';
/** So that a second run only checks the types of changed files. */
const TYPES_CACHE = 'node_modules/.cache/checks/tsc';
const TOOLS = {
  // The native compiler, several times faster; the other one provides the API. Never
  // node_modules/.bin/tsc, which is tslab's own TypeScript.
  tsc: 'node_modules/typescript7/bin/tsc',
  depcruise: 'node_modules/dependency-cruiser/bin/dependency-cruise.mjs',
  rolldown: 'node_modules/rolldown/bin/cli.mjs',
  oxlint: 'node_modules/oxlint/bin/oxlint',
  oxfmt: 'node_modules/oxfmt/bin/oxfmt',
  vitest: 'node_modules/vitest/vitest.mjs',
};
const HELP = `Installs and builds what is missing or out of date, then runs.

  npm start [-- ARGS]            evaluate, execute the notebooks, export the reports
                                 (ARGS go to \`parallelsearch reproduce\`: --retrain, --full, --backend NAME, ...)
  npm test                       lint, layers, format, types and quick tests
  npm test -- FILTER ...         only the tests that vitest finds with FILTER; no lint, layers, format, types
  npm test -- --full             with the slow tests (npm run test:full)
  node scripts/bootstrap.mjs build          only install and build
`;

/** What does not work without an optional dependency, and how to install it. */
const OPTIONAL_PARTS = {
  '@tensorflow/tfjs-node-gpu': {
    effect: 'no native backend; everything runs on wasm, training several times slower',
    remedy: 'run `npm ci` where storage.googleapis.com can be reached (Linux or Windows, x64)',
  },
  'hnswlib-node': {
    effect: 'no HNSW index; BM25 and exact search work',
    remedy: 'install a C++ compiler, make and Python, then run `npm ci`',
  },
};

const inRoot = (path) => join(ROOT, path);
const readText = (path) => readFileSync(inRoot(path), 'utf8');
const readJson = (path) => JSON.parse(readText(path));
const seconds = (startMs) => `${((Date.now() - startMs) / 1000).toFixed(1)} s`;

function filesIn(folder) {
  if (!existsSync(inRoot(folder))) return [];
  return readdirSync(inRoot(folder), { recursive: true, withFileTypes: true })
    .filter((entry) => !entry.isDirectory())
    .map((entry) => relative(ROOT, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort();
}

// Processes

const children = new Set();
let interruptedBy = null;

/**
 * Passes signals on. A terminal's Ctrl-C reaches the children directly, and a second one
 * could mean "at once, without saving".
 */
function forwardSignals() {
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    process.on(signal, () => {
      interruptedBy = signal;
      if (signal === 'SIGTERM' || !process.stdin.isTTY)
        for (const child of children) child.kill(signal);
    });
  }
}

/**
 * Runs a program in the project's folder. Resolves to its exit code, or 128 + n if signal
 * n ended it.
 * @param say receives its output. Default: this script's own output
 */
function run(program, args, { env = {}, shell = false, say } = {}) {
  return new Promise((resolve, reject) => {
    const stdio = say ? ['inherit', 'pipe', 'pipe'] : 'inherit';
    const child = spawn(program, args, {
      cwd: ROOT,
      stdio,
      env: { ...process.env, ...env },
      shell,
    });
    children.add(child);
    for (const stream of say ? [child.stdout, child.stderr] : []) stream.on('data', say);
    child.on('error', reject);
    child.on('close', (code, signal) => {
      children.delete(child);
      resolve(signal ? 128 + constants.signals[signal] : code);
    });
  });
}

const runNode = (args, env) => run(process.execPath, args, { env });

/**
 * Runs one phase between two lines that name it. Returns its exit code; ends the process
 * after a signal.
 */
async function phase(name, what, action) {
  const startMs = Date.now();
  console.log(`[${name}] ${what}`);
  const code = await action();
  console.log(
    `[${name}] ${code === 0 ? 'ok' : `failed with exit code ${code}`}, ${seconds(startMs)}`,
  );
  if (interruptedBy) process.exit(code || 128 + constants.signals[interruptedBy]);
  return code;
}

async function required(name, what, action) {
  const code = await phase(name, what, action);
  if (code !== 0) process.exit(code);
}

// Node, packages, build

/** Whether this Node is in a range such as `>=20.19` or `^20.19 || >=22.12`. */
function isNodeIn(range) {
  const [hasMajor, hasMinor] = process.versions.node.split('.').map(Number);
  return range.split('||').some((part) => {
    const [, sign, major, minor] = /(\^|>=)\s*(\d+)\.(\d+)/.exec(part);
    return hasMajor === Number(major)
      ? hasMinor >= Number(minor)
      : sign === '>=' && hasMajor > Number(major);
  });
}

function checkNode() {
  const range = readJson('package.json').engines.node;
  if (isNodeIn(range)) return;
  console.error(
    `Expected Node ${range}, but this is ${process.version}. Install a current one from https://nodejs.org`,
  );
  process.exit(1);
}

/** Whether node_modules matches package-lock.json; optional packages may be absent. */
function isInstalled() {
  if (!existsSync(inRoot('node_modules/.package-lock.json'))) return false;
  const installed = readJson('node_modules/.package-lock.json').packages;
  return Object.entries(readJson('package-lock.json').packages).every(([path, wanted]) => {
    if (path === '' || (wanted.optional && !installed[path])) return true;
    return (
      installed[path]?.version === wanted.version && installed[path]?.integrity === wanted.integrity
    );
  });
}

/** The npm that started this script, or else the one on the PATH. */
function runNpm(args) {
  const cli = process.env.npm_execpath ?? '';
  if (/npm-cli\.js$/.test(cli)) return runNode([cli, ...args]);
  return run('npm', args, { shell: process.platform === 'win32' });
}

function reportMissingParts() {
  for (const [name, { effect, remedy }] of Object.entries(OPTIONAL_PARTS)) {
    if (filesIn(`node_modules/${name}`).some((file) => file.endsWith('.node'))) continue;
    console.log(`[install] optional part ${name} not installed: ${effect}; to get it, ${remedy}`);
  }
}

async function install() {
  if (isInstalled()) return;
  // loglevel: hides deprecations and peer warnings of other packages, which do not help
  // users.
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'];
  await required('install', 'npm ci (a minute or two)', () => runNpm(args));
  reportMissingParts();
}

/** One hash of everything that the build reads. */
function sourceHash() {
  const hash = createHash('sha256');
  for (const file of [
    ...filesIn('lib'),
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'tsconfig.build.json',
    'scripts/bootstrap.mjs',
  ]) {
    hash
      .update(`${file}\0`)
      .update(readFileSync(inRoot(file)))
      .update('\0');
  }
  return hash.digest('hex');
}

/** Copies the styles of pages, which the compiler ignores. */
function copyStyles() {
  for (const file of filesIn('lib'))
    if (file.endsWith('.css')) copyFileSync(inRoot(file), inRoot(file.replace('lib', 'dist')));
}

/** Deletes styles, source maps, and the output of deleted sources. */
function removeStaleOutputs() {
  for (const file of filesIn('dist')) {
    const [, base, map] = /^dist\/(.+?)(?:\.d\.ts|\.js)(\.map)?$/.exec(file) ?? [];
    const isStale = base ? map || !existsSync(inRoot(`lib/${base}.ts`)) : file.endsWith('.css');
    if (isStale) rmSync(inRoot(file));
  }
}

/**
 * Replaces TensorFlow.js's types in declarations; lib/tensor/declared.ts explains why.
 */
function detachDeclarations() {
  for (const file of filesIn('dist')) {
    if (!file.endsWith('.d.ts') || file.startsWith('dist/tensor/')) continue;
    const declared = `${relative(dirname(file), 'dist/tensor').replaceAll(sep, '/')}/declared.js`;
    const text = readText(file);
    const detached = text.replace(
      "import * as tf from '@tensorflow/tfjs-core';",
      `import type * as tf from '${declared}';`,
    );
    if (detached !== text) writeFileSync(inRoot(file), detached);
  }
}

async function build() {
  const hash = sourceHash();
  if (existsSync(inRoot(BUILD_STAMP)) && readText(BUILD_STAMP) === hash) return;
  await required('build', 'tsc -p tsconfig.build.json', () =>
    runNode([TOOLS.tsc, '-p', 'tsconfig.build.json']),
  );
  removeStaleOutputs();
  copyStyles();
  detachDeclarations();
  // tfjs-core has gradients only in files that Node cannot load; the package with
  // loadable ones, @tensorflow/tfjs, has 141 MB.
  const gradients = 'node_modules/@tensorflow/tfjs-core/dist/register_all_gradients.js';
  const output = [
    '--file',
    'dist/tensor/tfjs-gradients.cjs',
    '--format',
    'cjs',
    '--platform',
    'node',
  ];
  await required('build', 'rolldown, gradients', () =>
    runNode([TOOLS.rolldown, gradients, ...output]),
  );
  if (existsSync(inRoot('dist/cli.js'))) chmodSync(inRoot('dist/cli.js'), 0o755);
  writeFileSync(inRoot(BUILD_STAMP), hash);
}

// Tests

/**
 * Numbers of tests in vitest's JSON report; a file that could not be loaded counts as one
 * failed test.
 */
function countTests(report) {
  const unloadable = report.testResults.filter(
    (f) => f.status === 'failed' && f.assertionResults.length === 0,
  );
  return {
    passed: report.numPassedTests,
    failed: report.numFailedTests + unloadable.length,
    skipped: report.numPendingTests + report.numTodoTests,
  };
}

/**
 * Runs vitest; returns its exit code and the counts, null if it died before writing them.
 */
async function runVitest(args, env) {
  const folder = mkdtempSync(join(tmpdir(), 'parallelsearch-test-'));
  const output = join(folder, 'report.json');
  const reporters = ['--reporter=./test/reporter.ts', '--reporter=json'];
  reporters.push(`--outputFile.json=${output}`);
  try {
    const about =
      args.length > 0 || env.PARALLELSEARCH_TEST_FULL ? '' : ' (about five minutes on two cores)';
    const code = await phase('tests', ['vitest run', ...args].join(' ') + about, () =>
      runNode([TOOLS.vitest, 'run', ...reporters, ...args], env),
    );
    return {
      code,
      counts: existsSync(output) ? countTests(JSON.parse(readFileSync(output, 'utf8'))) : null,
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Prints the output of a check at once, because another one runs at the same time. */
async function runCheck([name, what, args]) {
  const startMs = Date.now();
  const said = [];
  const env = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const code = await run(process.execPath, args, { env, say: (chunk) => said.push(chunk) });
  console.log(`[${name}] ${what}`);
  for (const chunk of said) process.stdout.write(chunk);
  console.log(
    `[${name}] ${code === 0 ? 'ok' : `failed with exit code ${code}`}, ${seconds(startMs)}`,
  );
  return [name, code];
}

/**
 * Runs lint and, in parallel, layers, format and types: all of them, so that one run
 * shows everything. Returns `[name, exit code]` of each.
 */
async function runChecks() {
  const lanes = [
    [['lint', 'oxlint', [TOOLS.oxlint]]],
    [
      [
        'layers',
        'depcruise lib tools',
        [TOOLS.depcruise, 'lib', 'tools', '--config', '.dependency-cruiser.mjs'],
      ],
      ['format', 'oxfmt --check', [TOOLS.oxfmt, '--check']],
      [
        'types',
        'tsc -p tsconfig.json',
        [TOOLS.tsc, '-p', 'tsconfig.json', '--incremental', '--tsBuildInfoFile', TYPES_CACHE],
      ],
    ],
  ];
  console.log('[checks] lint, layers, format, types (half a minute)');
  const inTurn = async (checks) => {
    const results = [];
    for (const check of checks) if (!interruptedBy) results.push(await runCheck(check));
    return results;
  };
  const results = (await Promise.all(lanes.map(inTurn))).flat();
  if (interruptedBy) process.exit(128 + constants.signals[interruptedBy]);
  return results;
}

async function test(args) {
  const isFull = args.includes('--full');
  const filters = args.filter((arg) => arg !== '--full');
  const results = filters.length > 0 ? [] : await runChecks();
  const { code, counts } = await runVitest(
    filters,
    isFull ? { PARALLELSEARCH_TEST_FULL: '1' } : {},
  );
  results.push(['tests', code]);
  const failures = results.filter(([, exitCode]) => exitCode !== 0);
  if (failures.length > 0) console.error(`failed: ${failures.map(([name]) => name).join(', ')}`);
  if (counts)
    console.log(`${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped`);
  process.exitCode = failures[0]?.[1] ?? 0;
}

async function start(args) {
  process.exitCode = await runNode(['dist/cli.js', 'reproduce', ...args]);
}

const COMMANDS = { start, test, build: async () => {} };

async function main([command, ...args]) {
  if (!Object.hasOwn(COMMANDS, command ?? '') || args.includes('--help')) {
    process.stdout.write(HELP);
    const isKnown =
      command === undefined ||
      command === '--help' ||
      command === 'help' ||
      args.includes('--help');
    if (!isKnown) console.error(`Expected start, test or build, but got ${command}.`);
    process.exitCode = isKnown ? 0 : 1;
    return;
  }
  forwardSignals();
  await install();
  await build();
  await COMMANDS[command](args);
}

checkNode();
await main(process.argv.slice(2));
