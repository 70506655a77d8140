/**
 * The whole chain from nothing to the reports, as `npm start -- --retrain` does it, in a copy of the package with a few dozen
 * questions and one step of each stage and run. It takes less than half an hour: `npm test -- --full retrain`.
 */
import { spawn } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WARM_UP_NAMES } from '../../lib/experiments/runs.js';
import { readPassages, readQuestions } from '../../lib/data/flashrag.js';
import type { Question } from '../../lib/data/question.js';
import { mainRuns } from '../../lib/experiments/main-results/experiment.js';
import { trainedRuns } from '../../lib/mini-wiki/retrain.js';
import { runName } from '../../lib/experiments/runs.js';
import { MINI_WIKI, packagePath } from '../../lib/io/paths.js';

/** Questions of each kind that are kept, by split. */
const KEPT = { train: 6, dev: 2, test: 1 } as const;
/** Every so many passages of those that no kept question needs. */
const ONE_OF = 20;

/** The questions that notebooks name. */
const NAMED = readdirSync(packagePath('notebooks')).flatMap((file) =>
  file.endsWith('.ipynb')
    ? [...readFileSync(packagePath('notebooks', file), 'utf8').matchAll(/let id = '([^']+)'/g)].map(
        (m) => m[1],
      )
    : [],
);

/** A few questions of every benchmark, type and size, and those that notebooks name. */
function someOfEach(questions: readonly Question[]): Question[] {
  const counts = new Map<string, number>();
  return questions.filter(({ id, split, metadata: { benchmark, type, graph } }) => {
    if (NAMED.includes(id)) return true;
    const kind = [split, benchmark, type, graph?.length].join();
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
    return counts.get(kind)! <= KEPT[split as keyof typeof KEPT];
  });
}

const printLines = (rows: readonly object[]): string =>
  rows.map((row) => `${JSON.stringify(row)}\n`).join('');

/** Copies the package without its weights and results, and with a part of its world. */
async function copyPackage(target: string): Promise<void> {
  const parts = ['dist', 'notebooks', 'package.json', 'data/paper', 'data/encoder'];
  for (const part of [...parts, 'data/mini-wiki/README.md', 'data/mini-wiki/card.json'])
    cpSync(packagePath(part), join(target, part), { recursive: true });
  symlinkSync(packagePath('node_modules'), join(target, 'node_modules'));
  const wiki = join(target, 'data', 'mini-wiki');
  const questions = someOfEach(await readQuestions(join(MINI_WIKI, 'questions.jsonl')));
  const evidence = new Set(
    questions.flatMap(({ metadata }) => metadata.graph!.flatMap((node) => node.evidence)),
  );
  const passages = await readPassages(join(MINI_WIKI, 'passages.jsonl'));
  const kept = passages.filter(({ id }, i) => evidence.has(id) || i % ONE_OF === 0);
  mkdirSync(wiki, { recursive: true });
  writeFileSync(join(wiki, 'passages.jsonl'), printLines(kept.map(({ id, contents }) => ({ id, contents }))));
  const lines = readFileSync(join(MINI_WIKI, 'questions.jsonl'), 'utf8').split('\n');
  const ids = new Set(questions.map(({ id }) => id));
  const isKept = (line: string): boolean => line !== '' && ids.has((JSON.parse(line) as Question).id);
  writeFileSync(
    join(wiki, 'questions.jsonl'),
    lines
      .filter(isKept)
      .map((line) => `${line}\n`)
      .join(''),
  );
}

let root: string;
beforeAll(() => void (root = mkdtempSync(join(tmpdir(), 'retrain-'))));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Retrains in the copy; interrupts it, as Ctrl-C does, once it has said something. */
function retrain(interruptAt?: RegExp): Promise<{ code: number | null; log: string }> {
  const args = [join(root, 'dist', 'cli.js'), 'reproduce', '--retrain', '--max-steps', '1'];
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  let isInterrupted = false;
  child.stderr.on('data', (chunk: Buffer) => {
    log += chunk.toString();
    if (isInterrupted || !interruptAt?.test(log)) return;
    isInterrupted = true;
    child.kill('SIGINT');
  });
  return new Promise((resolve) => child.on('close', (code) => resolve({ code, log })));
}

const checkpoint = (...parts: string[]): string => join(root, 'data', 'checkpoints', ...parts);
const linesIn = (path: string): number => readFileSync(path, 'utf8').trimEnd().split('\n').length;
const finishedIn = (log: string): string[] =>
  [...log.matchAll(/^(\S+): finished$/gm)].map(([, name]) => name);
const trainedIn = (log: string): string[] => [...log.matchAll(/^(\S+): training$/gm)].map(([, name]) => name);

describe.skipIf(!process.env.PARALLELSEARCH_TEST_FULL)('npm start -- --retrain', () => {
  it(
    'trains all, goes on after an interruption, evaluates all and writes every report',
    async () => {
      await copyPackage(root);
      const first = await retrain(/: finished$/m);
      expect(first.code, first.log).toBe(130);
      expect(first.log).toContain('How long this takes is not known');
      const done = finishedIn(first.log);
      expect(done.length).toBeGreaterThan(0);

      const second = await retrain();
      expect(second.code, second.log).toBe(0);
      const names = trainedRuns().map(runName);
      expect(trainedIn(second.log)).not.toContain('encoder');
      for (const name of done) expect(trainedIn(second.log)).not.toContain(name);
      expect(new Set(finishedIn(second.log))).toEqual(new Set(names));

      for (const name of WARM_UP_NAMES) {
        expect(existsSync(checkpoint(name, 'model.safetensors')), name).toBe(true);
        expect(readFileSync(checkpoint(name, 'README.md'), 'utf8')).toContain('## What it can do');
      }
      for (const name of names) {
        expect(linesIn(checkpoint(name, 'metrics.jsonl')), name).toBe(1);
        expect(readFileSync(checkpoint(name, 'README.md'), 'utf8')).toContain(name);
      }
      expect(readdirSync(join(root, 'runs'))).toContain('retrain-1-steps-finished');
      expect(readdirSync(join(root, 'runs'))).not.toContain('retrain-1-steps');

      const { provenance } = JSON.parse(readFileSync(join(root, 'reports', 'main-results.json'), 'utf8')) as {
        provenance: { computedHere: string[]; takenFromRecords: string[] };
      };
      expect(new Set(provenance.computedHere)).toEqual(
        new Set(mainRuns().map((run) => `answers/${runName(run)}`)),
      );
      expect(provenance.takenFromRecords).toEqual([]);
      const reports = readdirSync(join(root, 'reports')).filter((file) => file.endsWith('.html'));
      const notebooks = readdirSync(packagePath('notebooks')).flatMap(
        (file) => /^\d\d-(.+)\.ipynb$/.exec(file)?.[1] ?? [],
      );
      const pages = [...notebooks, 'trajectories', 'playground', 'index'];
      expect(reports.sort()).toEqual(pages.map((name) => `${name}.html`).sort());
    },
    45 * 60_000,
  );
});
