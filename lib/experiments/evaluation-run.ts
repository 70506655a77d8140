/** One run's evaluation as a file: computed once, recognised by a hash of everything that it depends on. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { z } from 'zod';
import { configHash, rolloutConfigOf } from '../config.js';
import { evaluatePolicy, type Measurement } from '../evaluation/evaluate.js';
import { writeFileSafely } from '../policy/model-folder.js';
import {
  contentHash,
  loadPolicy,
  MINI_WIKI,
  requireFolders,
  runName,
  weightFolders,
  type PolicyRun,
  type World,
} from './world.js';

export const EVALUATION_BATCH_SIZE = 64;

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

/** Answers the test questions with a run's policy. */
export async function evaluateRun(
  run: PolicyRun,
  world: World,
  options: { backend: string; onBatch?: (done: number, total: number) => void },
): Promise<EvaluationRecord> {
  const questions = world.questions.filter(({ split }) => split === 'test');
  const policy = await loadPolicy(run);
  const start = performance.now();
  const measurements = await evaluatePolicy(policy, world.retriever, questions, {
    rollout: rolloutConfigOf(run.method),
    batchSize: EVALUATION_BATCH_SIZE,
    clearCache: () => policy.clearCache(),
    onBatch: (done) => options.onBatch?.(done, questions.length),
  });
  policy.dispose();
  const seconds = (performance.now() - start) / 1000;
  return { run, hash: await evaluationHash(run), backend: options.backend, seconds, measurements };
}
