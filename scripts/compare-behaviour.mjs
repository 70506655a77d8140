/**
 * Checks whether two versions of the project behave the same: the JSON of every report,
 * 300 fresh answers and two GRPO steps.
 *
 *   node scripts/compare-behaviour.mjs snapshot CHECKOUT FOLDER # after `npm start` there
 *   node scripts/compare-behaviour.mjs compare BEFORE AFTER # two such folders
 *
 * It only uses the command line, so it works for versions whose modules have other names.
 */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const NUM_QUESTIONS = 300;
const NUM_STEPS = 2;
/** Depends on the machine, not on the version. */
const IGNORED = new Set([
  'commit',
  'durationSeconds',
  'hardware',
  'node',
  'configHash',
  'load',
  'recorded',
]);
/** Times of training differ from run to run. */
const TIMES = /seconds$/i;

const readLines = (file) =>
  readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line));
const hashOf = (bytes) => createHash('sha256').update(bytes).digest('hex').slice(0, 16);

/** Writes every n-th dev question as a folder of data. */
function writeSample(checkout, folder) {
  const data = join(checkout, 'data', 'small-world');
  const dev = readLines(join(data, 'questions.jsonl')).filter(({ split }) => split === 'dev');
  const every = dev.length / NUM_QUESTIONS;
  const sample = Array.from({ length: NUM_QUESTIONS }, (_, i) => dev[Math.floor(i * every)]);
  mkdirSync(folder, { recursive: true });
  cpSync(join(data, 'passages.jsonl'), join(folder, 'passages.jsonl'));
  writeFileSync(
    join(folder, 'questions.jsonl'),
    sample.map((q) => `${JSON.stringify(q)}\n`).join(''),
  );
}

function run(checkout, args) {
  execFileSync(process.execPath, [join(checkout, 'dist', 'cli.js'), ...args], {
    cwd: checkout,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}

/** Writes the behaviour of a checkout to a folder. */
function snapshot(checkout, folder) {
  const reports = join(checkout, 'reports');
  const names = readdirSync(reports).filter(
    (name) => name.endsWith('.json') && !name.endsWith('.page.json'),
  );
  if (names.length === 0)
    throw new Error(`Expected reports in ${reports}, but found none. Run "npm start" there.`);
  for (const name of names) cpSync(join(reports, name), join(folder, 'reports', name));
  const sample = join(folder, 'sample');
  writeSample(checkout, sample);
  for (const method of ['parallelsearch', 'search-r1']) {
    const out = join(folder, `answers-${method}.jsonl`);
    const how = [
      '--data',
      sample,
      '--split',
      'dev',
      '--out',
      out,
      '--backend',
      'wasm',
      '--batch-size',
      '16',
    ];
    run(checkout, ['evaluate', '--method', method, ...how]);
  }
  const training = join(folder, 'training');
  run(checkout, ['train', '--steps', String(NUM_STEPS), '--out', training, '--backend', 'wasm']);
}

const isObject = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Sorts fields at every depth, and drops those that depend on the machine. */
function normalised(value) {
  if (Array.isArray(value)) return value.map(normalised);
  if (!isObject(value)) return value;
  const entries = Object.entries(value)
    .filter(([name]) => !IGNORED.has(name))
    .map(([name, inner]) => [name, normalised(inner)]);
  return Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Rows as a set, because their order has no meaning. */
const asSet = (rows) => new Set(normalised(rows).map((row) => JSON.stringify(row)));
const missing = (a, b) => [...a].filter((row) => !b.has(row));

let numDifferent = 0;
function report(what, before, after) {
  const [gone, added] = [missing(before, after), missing(after, before)];
  const same = before.size - gone.length;
  console.log(
    `${what}: ${same} equal${gone.length + added.length > 0 ? `, ${gone.length} gone, ${added.length} new` : ''}`,
  );
  for (const row of gone.slice(0, 3)) console.log(`  - ${row.slice(0, 300)}`);
  for (const row of added.slice(0, 3)) console.log(`  + ${row.slice(0, 300)}`);
  numDifferent += gone.length + added.length;
}

/**
 * The rows, contrasts or claims of a report. Version 0.1.0 mixed rows of training with
 * the others, and did not have the paper's figures in contrasts.
 */
function items(result, part) {
  if (part === 'rows') return [...(result.rows ?? []), ...(result.frames?.training ?? [])];
  if (part === 'contrasts') return (result.contrasts ?? []).map(({ paper: _, ...rest }) => rest);
  return result.claims ?? [];
}

function compareReports(before, after) {
  const names = new Set([before, after].flatMap((folder) => readdirSync(join(folder, 'reports'))));
  for (const name of [...names].sort()) {
    const [a, b] = [before, after].map((folder) => {
      const file = join(folder, 'reports', name);
      return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : {};
    });
    for (const part of ['rows', 'contrasts', 'claims'])
      if (a[part] || b[part])
        report(`${name} ${part}`, asSet(items(a, part)), asSet(items(b, part)));
  }
}

function compareTraining(before, after) {
  const read = (folder) => {
    const steps = readLines(join(folder, 'training', 'metrics.jsonl')).map((step) =>
      Object.fromEntries(Object.entries(step).filter(([name]) => !TIMES.test(name))),
    );
    const file = readFileSync(join(folder, 'training', 'adapter', 'adapter_model.safetensors'));
    // Everything after the header, which also names configuration and reward.
    const weights = hashOf(file.subarray(8 + Number(file.readBigUInt64LE(0))));
    return { steps, weights };
  };
  const [a, b] = [before, after].map(read);
  for (const [i, step] of a.steps.entries())
    report(
      `step ${i}`,
      asSet(Object.entries(step).map(([name, value]) => ({ name, value }))),
      asSet(Object.entries(b.steps[i] ?? {}).map(([name, value]) => ({ name, value }))),
    );
  report('weights after the last step', new Set([a.weights]), new Set([b.weights]));
}

function compare(before, after) {
  compareReports(before, after);
  for (const method of ['parallelsearch', 'search-r1']) {
    const [a, b] = [before, after].map((folder) =>
      asSet(readLines(join(folder, `answers-${method}.jsonl`))),
    );
    report(`answers of ${method}`, a, b);
  }
  compareTraining(before, after);
  console.log(numDifferent === 0 ? 'Equal.' : `${numDifferent} differences.`);
  process.exitCode = numDifferent === 0 ? 0 : 1;
}

const [verb, ...folders] = process.argv.slice(2);
if (folders.length !== 2 || !['snapshot', 'compare'].includes(verb)) {
  console.error('usage: compare-behaviour.mjs snapshot CHECKOUT FOLDER | compare BEFORE AFTER');
  process.exitCode = 2;
} else if (verb === 'snapshot') snapshot(...folders);
else compare(...folders);
