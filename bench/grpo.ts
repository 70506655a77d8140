/**
 * Compares GRPO steps of the small policy with TRL's GRPOTrainer, on the same weights and
 * cores: `npm run bench -- grpo PYTHON [BACKEND]`, where PYTHON has trl, peft and
 * datasets. TRL does not search: its completions are as long as what the policy writes
 * here, its prompts as long as what it reads. Each side has its own process; they take
 * turns, and the first step of each is ignored. Prints one JSON object: minimum, median
 * and maximum of rollouts per second and of the ratio of ours to theirs (above 1: this
 * project is slower), and peak memory.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { mean, sum } from 'd3-array';
import { packagePath } from '../lib/io/paths.js';
import { trainingEnvironment } from '../lib/tensor/backend-names.js';
import { readTokenizer } from '../lib/policy/folders/limited-tokenizer.js';
import { loadWorld } from '../lib/retrieval/small-world.js';
import type { Trajectory } from '../lib/rollout/trajectory.js';
import { trainerSettings } from '../lib/training/config.js';
import { trainingPreset } from '../lib/training/presets.js';
import { modelPath } from '../lib/training/models.js';
import { speeds } from './support/peer.js';

const [TURNS, STEPS, THREADS] = [3, 4, 2];
const MODEL = 'instruct-1';
const environment = { ...process.env, ...trainingEnvironment(THREADS) };

interface Measured {
  seconds: number[];
  bytes: number;
}
interface Ours extends Measured {
  written: number;
  read: number;
}

const readLines = <Line>(file: string): Line[] =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Line);

/** Kilobytes of a process. On Linux, pages that n processes share count 1/n. */
function residentKilobytes(pid: number, rss: number): number {
  try {
    const memory = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8');
    return Number(/^Pss:\s+(\d+)/m.exec(memory)?.[1] ?? rss);
  } catch {
    // Another system, or the process has ended.
    return rss;
  }
}

/** Kilobytes that a process and its children use now. */
function familyKilobytes(parent: number): number {
  const listed = execFileSync('ps', ['-eo', 'ppid=,pid=,rss='], { encoding: 'utf8' });
  const processes = listed.split('\n').map((line) => line.trim().split(/\s+/).map(Number));
  const family = processes.filter(([ppid, pid]) => pid === parent || ppid === parent);
  return sum(family, ([, pid, rss]) => residentKilobytes(pid, rss));
}

/** Interval of memory measurements, in milliseconds. */
const EVERY_MS = 500;

/** Our side: training steps with the preset, in as many processes as it uses. */
async function measure(backend: string): Promise<Ours> {
  const out = mkdtempSync(join(tmpdir(), 'parallelsearch-bench-'));
  try {
    const child = spawn(process.execPath, [
      packagePath('dist', 'cli.js'),
      'train',
      `--model=${MODEL}`,
      `--steps=${STEPS}`,
      `--out=${out}`,
      `--backend=${backend}`,
    ]);
    let peak = 0;
    const watch = setInterval(() => (peak = Math.max(peak, familyKilobytes(child.pid!))), EVERY_MS);
    const stderr = text(child.stderr);
    const [code] = (await once(child, 'close')) as [number | null];
    clearInterval(watch);
    if (code !== 0) throw new Error(await stderr);
    const steps = readLines<{ rollout_seconds: number; update_seconds: number }>(
      join(out, 'metrics.jsonl'),
    );
    const trajectories = readLines<Trajectory>(join(out, 'trajectories.jsonl'));
    const numTokens = (isWritten: boolean): number =>
      mean(trajectories, ({ segments }) =>
        sum(segments, ({ kind, tokenIds }) =>
          (kind === 'policy') === isWritten ? tokenIds.length : 0,
        ),
      )!;
    return {
      seconds: steps.map((step) => step.rollout_seconds + step.update_seconds),
      bytes: peak * 1024,
      written: Math.round(numTokens(true)),
      read: Math.round(numTokens(false)),
    };
  } finally {
    rmSync(out, { recursive: true, force: true });
  }
}

function measurePeer(python: string, request: object): Measured {
  const printed = execFileSync(python, [packagePath('bench', 'trl_peer.py')], {
    input: JSON.stringify(request),
    env: environment,
    maxBuffer: 1 << 28,
  });
  return JSON.parse(printed.toString()) as Measured;
}

async function compare(python: string, backend: string): Promise<object> {
  const config = trainingPreset('parallelsearch', MODEL, 1);
  const { questionsPerStep, groupSize } = trainerSettings(config);
  const { passages } = await loadWorld();
  const tokenizer = await readTokenizer(modelPath(MODEL));
  const corpus = passages.flatMap(({ contents }) => tokenizer.encode(`${contents}\n`));
  const seconds: [number, number][] = [];
  let [own, peer]: [Ours | undefined, Measured | undefined] = [undefined, undefined];
  for (let turn = 0; turn < TURNS; turn++) {
    own = await measure(backend);
    const { written, read } = own;
    const prompts = Array.from({ length: questionsPerStep }, (_, i) =>
      tokenizer.decode(corpus.slice(i * read, (i + 1) * read)),
    );
    const request = { model: modelPath(MODEL), prompts, groupSize, newTokens: written };
    peer = measurePeer(python, {
      ...request,
      steps: STEPS,
      rank: config.lora.rank,
      threads: THREADS,
    });
    for (let step = 1; step < STEPS; step++) seconds.push([own.seconds[step], peer.seconds[step]]);
    console.error(JSON.stringify({ own, peer }));
  }
  const numRollouts = questionsPerStep * groupSize;
  const gigabytes = ({ bytes }: Measured): number => Number((bytes / 1e9).toFixed(2));
  return {
    work: 'GRPO step',
    batch: numRollouts,
    written: own!.written,
    read: own!.read,
    ...speeds(seconds, numRollouts),
    peakGigabytes: gigabytes(own!),
    peerPeakGigabytes: gigabytes(peer!),
  };
}

const [python, backend = 'auto'] = process.argv.slice(2);
if (!python)
  throw new Error(
    'Expected a Python with trl, peft and datasets. Try: npm run bench -- grpo PYTHON [BACKEND]',
  );
console.log(JSON.stringify({ turns: TURNS, rows: [await compare(python, backend)] }));
