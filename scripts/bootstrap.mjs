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
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
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

const inRoot = (path) => join(ROOT, path);
const readText = (path) => readFileSync(inRoot(path), 'utf8');
const readJson = (path) => JSON.parse(readText(path));

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

function printEnd(name, code, startMs) {
  const outcome = code === 0 ? 'ok' : `failed with exit code ${code}`;
  console.log(`[${name}] ${outcome}, ${((Date.now() - startMs) / 1000).toFixed(1)} s`);
}

/**
 * Runs one phase between two lines that name it. Returns its exit code; ends the process
 * after a signal.
 */
async function phase(name, what, action) {
  const startMs = Date.now();
  console.log(`[${name}] ${what}`);
  const code = await action();
  printEnd(name, code, startMs);
  if (interruptedBy) process.exit(code || 128 + constants.signals[interruptedBy]);
  return code;
}

async function required(name, what, action) {
  const code = await phase(name, what, action);
  if (code !== 0) process.exit(code);
}

// Node, packages, build

function checkNode() {
  const minimum = readJson('package.json').engines.node.replace('>=', '');
  if (process.versions.node.localeCompare(minimum, 'en', { numeric: true }) >= 0) return;
  console.error(
    `Expected Node ${minimum} or later, but this is ${process.version}. Install a current one from https://nodejs.org`,
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

async function install() {
  if (isInstalled()) return;
  // loglevel: hides deprecations and peer warnings of other packages, which do not help
  // users.
  const args = ['ci', '--include=dev', '--loglevel=error', '--no-audit', '--no-fund'];
  await required('install', 'npm ci (a minute or two)', () => runNpm(args));
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
  const output = '--file dist/tensor/tfjs-gradients.cjs --format cjs --platform node';
  await required('build', 'rolldown, gradients', () =>
    runNode([TOOLS.rolldown, gradients, ...output.split(' ')]),
  );
  if (existsSync(inRoot('dist/cli.js'))) chmodSync(inRoot('dist/cli.js'), 0o755);
  writeFileSync(inRoot(BUILD_STAMP), hash);
}

// Tests

const CHECKS = [
  ['lint', 'oxlint', [TOOLS.oxlint]],
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
];

/** Prints the output of a check in one piece, because others run at the same time. */
async function runCheck([name, what, args]) {
  const startMs = Date.now();
  const said = [];
  const env = process.stdout.isTTY ? { FORCE_COLOR: '1' } : {};
  const code = await run(process.execPath, args, { env, say: (chunk) => said.push(chunk) });
  console.log(`[${name}] ${what}`);
  for (const chunk of said) process.stdout.write(chunk);
  printEnd(name, code, startMs);
  return [name, code];
}

/** Runs all checks even if one fails. Returns `[name, exit code]` of each. */
async function runChecks() {
  console.log('[checks] lint, layers, format, types (half a minute)');
  const results = await Promise.all(CHECKS.map(runCheck));
  if (interruptedBy) process.exit(128 + constants.signals[interruptedBy]);
  return results;
}

async function test(args) {
  const isFull = args.includes('--full');
  const filters = args.filter((arg) => arg !== '--full');
  const results = filters.length > 0 ? [] : await runChecks();
  const vitest = [TOOLS.vitest, 'run', '--reporter=./test/reporter.ts', ...filters];
  const about = filters.length > 0 || isFull ? '' : ' (about four minutes on two cores)';
  const env = isFull ? { PARALLELSEARCH_TEST_FULL: '1' } : {};
  const code = await phase('tests', ['vitest run', ...filters].join(' ') + about, () =>
    runNode(vitest, env),
  );
  results.push(['tests', code]);
  const failures = results.filter(([, exitCode]) => exitCode !== 0);
  if (failures.length > 0) console.error(`failed: ${failures.map(([name]) => name).join(', ')}`);
  process.exitCode = failures[0]?.[1] ?? 0;
}

async function start(args) {
  process.exitCode = await runNode(['dist/cli.js', 'reproduce', ...args]);
}

const COMMANDS = { start, test, build: async () => {} };

async function main([command, ...args]) {
  const isKnown = Object.hasOwn(COMMANDS, command ?? '');
  if (!isKnown || args.includes('--help')) {
    process.stdout.write(HELP);
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
