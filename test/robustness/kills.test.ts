/** Work killed at random moments and run again gives the same result (test:full). */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join, relative } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { gunzipSync } from 'node:zlib';
import { range } from 'd3-array';
import { beforeAll, describe, expect, it } from 'vitest';
import { formatPassages, formatQuestions } from '../../lib/data/flashrag.js';
import { packagePath } from '../../lib/io/paths.js';
import { notebookFigures } from '../../lib/pages/notebook/page.js';
import { saveModel } from '../../lib/policy/folders/model-folder.js';
import { createRandom } from '../../lib/random.js';
import { isBuilt, words } from '../commands/command-line.js';
import { writeTinyWorld } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { isFull } from '../full.js';
import { syntheticNotebook } from '../report/fixtures.js';
import { chattyModel, PASSAGES, QUESTIONS, tinyTraining } from '../training/tiny.js';

/** Over all kinds of work. */
const NUM_KILLS = 50;

const root = temporaryFolder();
const given = join(root, 'given');
const CLI = packagePath('dist', 'cli.js');
/** A copy of the package with a tiny world and model, for experiments. */
const tinyPackage = join(root, 'package');
/** Node arguments for work that no command does. */
const WORK = [
  '--import',
  pathToFileURL(packagePath('node_modules', 'tsx', 'dist', 'loader.mjs')).href,
  fileURLToPath(new URL('../fixtures/killed-work.ts', import.meta.url)),
];

const asked = ['--model', 'model', '--data', 'data', '--backend', 'wasm'];
/**
 * Node arguments, for a folder with a model, data, a configuration and a report. The work
 * writes into `out`.
 */
const KINDS: Record<string, string[]> = {
  training: [CLI, 'train', '--config', 'config.json', ...asked, '--out', 'out'],
  'warm-up': [...WORK, 'warm-up', 'out'],
  evaluation: [
    ...words`${CLI} evaluate --method search-r1 --split train --batch-size 1`,
    ...words`--out out/results.jsonl --trajectories out/trajectories.jsonl`,
    ...asked,
  ],
  experiment: words`${join(tinyPackage, 'dist', 'cli.js')} experiment main-results --no-train --backend wasm --out out`,
  index: [...WORK, 'index', 'out'],
  export: [CLI, 'export', 'report', '--reports', '.', '--out', 'out'],
};

interface Ended {
  /** Since the first file. */
  workMs: number;
  isKilled: boolean;
}

/** Runs to the end, or kills the process some time after its first file. */
async function run(args: readonly string[], cwd: string, killAfterMs = Infinity): Promise<Ended> {
  const env = { ...process.env, PARALLELSEARCH_CHECKPOINTS: join(tinyPackage, 'checkpoints') };
  const child = spawn(process.execPath, args, { cwd, env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const ended = once(child, 'close') as Promise<[code: number | null, signal: string | null]>;
  while (!existsSync(join(cwd, 'out')) && child.exitCode === null)
    await Promise.race([ended, sleep(2)]);
  const start = performance.now();
  if (killAfterMs < Infinity) {
    await Promise.race([ended, sleep(killAfterMs)]);
    child.kill('SIGKILL');
  }
  const [code, signal] = await ended;
  if (signal === null) expect(code, said).toBe(0);
  return { workMs: performance.now() - start, isKilled: signal === 'SIGKILL' };
}

/** All results without times. */
function results(folder: string): Record<string, string> {
  const files = readdirSync(join(folder, 'out'), { recursive: true, encoding: 'utf8' })
    .map((name) => join(folder, 'out', name))
    // A run's page shows its pace; partial files are not results.
    .filter((file) => statSync(file).isFile() && !/report\.html$|\d\.partial$/.test(file));
  return Object.fromEntries(
    files.map((file) => {
      const bytes = readFileSync(file);
      const text = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('latin1');
      return [relative(folder, file), text.replace(/"(\w+_)?seconds":[\d.e-]+/g, '')];
    }),
  );
}

/** A package with small experiments: random weights, six passages, a few questions. */
async function writeTinyPackage(): Promise<void> {
  cpSync(packagePath('dist'), join(tinyPackage, 'dist'), { recursive: true });
  for (const name of ['package.json', 'package-lock.json', 'node_modules'])
    symlinkSync(packagePath(name), join(tinyPackage, name));
  const world = join(tinyPackage, 'data', 'small-world');
  mkdirSync(world, { recursive: true });
  const questions = range(40).map((i) => {
    const question = QUESTIONS[i % QUESTIONS.length];
    return { ...question, id: `q${i}`, split: i % 2 ? 'dev' : 'train' };
  });
  writeFileSync(join(world, 'questions.jsonl'), formatQuestions(questions));
  writeFileSync(join(world, 'passages.jsonl'), formatPassages(PASSAGES));
  const model = chattyModel();
  const config = { ...model.config, maxPositionEmbeddings: 320 };
  const checkpoints = join(tinyPackage, 'checkpoints');
  const trained = join(root, 'trained');
  cpSync(given, trained, { recursive: true });
  await run(KINDS.training, trained);
  // The weights that the compared methods need.
  for (const name of ['base-1', 'instruct-1']) {
    await saveModel(join(checkpoints, name), { ...model, config }, { storage: 'F32' });
    for (const method of ['search-r1', 'parallelsearch'])
      cpSync(join(trained, 'out', 'adapter'), join(checkpoints, `${name}-${method}-seed1`), {
        recursive: true,
      });
  }
}

describe.skipIf(!isFull || !isBuilt)('killed work (needs test:full)', () => {
  beforeAll(async () => {
    mkdirSync(given);
    await writeTinyWorld(given);
    const grpo = { steps: 5, questionsPerStep: 1, groupSize: 2 };
    const config = tinyTraining({ model: 'model', checkpointEvery: 1, grpo });
    writeFileSync(join(given, 'config.json'), JSON.stringify(config));
    await writeTinyPackage();
    const figures = notebookFigures(await syntheticNotebook());
    writeFileSync(join(given, 'report.page.json'), JSON.stringify({ name: 'report', figures }));
  });

  it.each(Object.entries(KINDS))(
    'resumes with the same result: %s',
    async (kind, args) => {
      const makeFolder = (name: string): string => {
        const folder = join(root, `${kind}-${name}`);
        cpSync(given, folder, { recursive: true });
        return folder;
      };
      const whole = makeFolder('whole');
      const { workMs } = await run(args, whole);
      const expected = results(whole);
      const numKinds = Object.keys(KINDS).length;
      const numKills = Math.ceil((NUM_KILLS - Object.keys(KINDS).indexOf(kind)) / numKinds);
      const random = createRandom(kind);
      const moments: number[] = [];
      for (let i = 0; i < numKills; i++) {
        // If the work was done before the kill, kill earlier.
        for (
          let at = workMs * random.uniform(), attempt = 0;
          moments.length === i;
          at /= 2, attempt++
        ) {
          const folder = makeFolder(`${i}-${attempt}`);
          if ((await run(args, folder, at)).isKilled) moments.push(Math.round(at));
          await run(args, folder);
          expect(results(folder), `killed after ${at} ms, ${folder}`).toEqual(expected);
        }
      }
      console.log(`${kind}: ${Math.round(workMs)} ms, killed after ${moments.join(', ')} ms`);
    },
    3_600_000,
  );
});
