/**
 * One run's evaluation as a file: computed once, recognised by a hash of everything that it depends on. A stopped one goes on
 * from the questions that it had answered.
 */
import { existsSync } from 'node:fs';
import { appendFile, mkdir, readFile, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { rolloutConfigOf } from '../methods/index.js';
import { configHash, contentHash } from '../io/hash.js';
import { batchesOf, evaluatePolicy } from '../evaluation/evaluate.js';
import type { Measurement } from '../evaluation/result.js';
import { writeFileSafely } from '../io/files.js';
import { requireFolders } from '../policy/model-folder.js';
import { createRandom } from '../random.js';
import { loadPolicy, runName, weightFolders, type PolicyRun } from './runs.js';
import type { World } from './world.js';
import { MINI_WIKI } from '../io/paths.js';

export const EVALUATION_BATCH_SIZE = 64;
/** A wasm heap ends at 2 GB, and what is freed in it stays in pieces. */
const WASM_BATCH_SIZE = 16;
/** Questions answered side by side. */
export const evaluationBatchSize = (backend: string): number =>
  backend === 'wasm' ? WASM_BATCH_SIZE : EVALUATION_BATCH_SIZE;

export interface EvaluationRecord {
  run: PolicyRun;
  /** Changes with the rollout's settings, the questions, the passages and the weights. */
  hash: string;
  backend: string;
  seconds: number;
  measurements: Measurement[];
}

const recordSchema = z.object({ hash: z.string(), backend: z.string(), seconds: z.number() });

/** Identifies what an evaluation would compute. */
export async function evaluationHash(run: PolicyRun): Promise<string> {
  const folders = weightFolders(run);
  requireFolders(folders);
  const files = folders.map((folder, i) =>
    join(folder, i === 0 ? 'model.safetensors' : 'adapter_model.safetensors'),
  );
  const data = ['passages.jsonl', 'questions.jsonl'].map((name) => join(MINI_WIKI, name));
  return configHash({ rollout: rolloutConfigOf(run.method), inputs: await contentHash([...files, ...data]) });
}

const fileOf = (folder: string, run: PolicyRun): string => join(folder, `${runName(run)}.json.gz`);

/** Reads a record when the folder has one of this hash, else null. */
export async function readRecord(
  folder: string,
  run: PolicyRun,
  hash: string,
): Promise<EvaluationRecord | null> {
  const path = fileOf(folder, run);
  if (!existsSync(path)) return null;
  const json: unknown = JSON.parse(gunzipSync(await readFile(path)).toString());
  const parsed = recordSchema.safeParse(json);
  if (!parsed.success)
    throw new Error(`Expected ${basename(path)} to be an evaluation's record. Remove it and run again.`);
  return parsed.data.hash === hash ? (json as EvaluationRecord) : null;
}

export async function writeRecord(folder: string, record: EvaluationRecord): Promise<void> {
  await writeFileSafely(fileOf(folder, record.run), gzipSync(JSON.stringify(record), { level: 9 }));
}

/** What a batch of questions gave, a line of a file that grows while an evaluation goes on. */
interface AnsweredBatch {
  hash: string;
  backend: string;
  seconds: number;
  measurements: Measurement[];
}

const partFileOf = (folder: string, run: PolicyRun): string => join(folder, `${runName(run)}.part.jsonl`);

/** What an evaluation that is not finished has answered so far. */
export async function readPart(folder: string, run: PolicyRun, hash: string): Promise<AnsweredBatch[]> {
  const path = partFileOf(folder, run);
  if (!existsSync(path)) return [];
  const lines = (await readFile(path, 'utf8')).split('\n');
  // What follows the last line break was cut off by a kill.
  return lines
    .slice(0, -1)
    .map((line) => JSON.parse(line) as AnsweredBatch)
    .filter((batch) => batch.hash === hash);
}

export interface EvaluateRunOptions {
  backend: string;
  /** Where the record goes, and what is answered until then. */
  folder: string;
  /** When to stop before all is answered, as a time of `performance.now()`. */
  until?: number;
  onBatch?: (done: number, total: number) => void;
}

/**
 * Answers the test questions with a run's policy, those first that an earlier call left, in batches of mixed kinds. Writes the
 * run's record and returns true once all are answered.
 */
export async function evaluateRun(
  run: PolicyRun,
  world: World,
  options: EvaluateRunOptions,
): Promise<boolean> {
  const { backend, folder, until = Infinity } = options;
  const questions = world.questions.filter(({ split }) => split === 'test');
  const hash = await evaluationHash(run);
  // A record names one backend.
  const answered = (await readPart(folder, run, hash)).filter((batch) => batch.backend === backend);
  const known = new Map(
    answered.flatMap(({ measurements }) =>
      measurements.map((measurement) => [measurement.questionId, measurement]),
    ),
  );
  const policy = await loadPolicy(run);
  await mkdir(folder, { recursive: true });
  // Half a line that a kill has left would spoil the next.
  await writeFileSafely(
    partFileOf(folder, run),
    answered.map((batch) => `${JSON.stringify(batch)}\n`).join(''),
  );
  const batchSize = evaluationBatchSize(backend);
  const batches = createRandom('batches').shuffle(batchesOf(questions, batchSize));
  for (const batch of batches) {
    const left = batch.map((i) => questions[i]).filter(({ id }) => !known.has(id));
    if (left.length === 0) continue;
    if (performance.now() >= until) break;
    const start = performance.now();
    const measurements = await evaluatePolicy(policy, world.retriever, left, {
      rollout: rolloutConfigOf(run.method),
      batchSize,
    });
    measurements.forEach((measurement) => known.set(measurement.questionId, measurement));
    answered.push({ hash, backend, seconds: (performance.now() - start) / 1000, measurements });
    await appendFile(partFileOf(folder, run), `${JSON.stringify(answered[answered.length - 1])}\n`);
    options.onBatch?.(known.size, questions.length);
  }
  policy.dispose();
  if (known.size < questions.length) return false;
  const seconds = answered.reduce((sum, batch) => sum + batch.seconds, 0);
  const measurements = questions.map(({ id }) => known.get(id)!);
  await writeRecord(folder, { run, hash, backend, seconds, measurements });
  await rm(partFileOf(folder, run), { force: true });
  return true;
}
