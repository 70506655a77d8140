import { appendFile, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  EVALUATION_BATCH_SIZE,
  evaluateRun,
  evaluationHash,
  readPart,
  readRecord,
} from '../../lib/experiments/evaluation-run.js';
import { loadWorld, type World } from '../../lib/experiments/world.js';
import type { PolicyRun } from '../../lib/experiments/runs.js';
import { useBackend } from '../../lib/tensor/backend.js';

const RUN: PolicyRun = { method: 'r1', model: 'instruct', seed: 1 };
/** Three batches, and on a backend that takes smaller ones more. */
const NUM_QUESTIONS = 2 * EVALUATION_BATCH_SIZE + 5;

describe('evaluateRun', () => {
  let world: World;
  let folder: string;
  let hash: string;

  beforeAll(async () => {
    await useBackend('wasm');
    const whole = await loadWorld();
    const tests = whole.questions.filter(({ split }) => split === 'test');
    world = { ...whole, questions: tests.filter((_, i) => i % 17 === 0).slice(0, NUM_QUESTIONS) };
    folder = await mkdtemp(join(tmpdir(), 'evaluation-'));
    hash = await evaluationHash(RUN);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it('goes on after a kill from what was answered, to the same record as without one', async () => {
    const [killed, whole] = [join(folder, 'killed'), join(folder, 'whole')];
    const die = (): never => {
      throw new Error('killed');
    };
    const runAndDie = (): Promise<void> =>
      expect(evaluateRun(RUN, world, { backend: 'wasm', folder: killed, onBatch: die })).rejects.toThrow(
        'killed',
      );
    await runAndDie();
    const part = await readPart(killed, RUN, hash);
    expect(part).toHaveLength(1);
    // A kill in the middle of writing leaves half a line.
    await appendFile(join(killed, 'instruct-r1-seed1.part.jsonl'), '{"hash":"');
    expect(await readPart(killed, RUN, hash)).toEqual(part);
    expect(await readPart(killed, RUN, 'another hash')).toEqual([]);

    await runAndDie();
    const [first, second] = await readPart(killed, RUN, hash);
    expect(first).toEqual(part[0]);
    expect(second.measurements.length).toBeGreaterThan(0);

    const counts: number[] = [];
    const onBatch = (done: number): void => void counts.push(done);
    expect(await evaluateRun(RUN, world, { backend: 'wasm', folder: killed, onBatch })).toBe(true);
    expect(counts.at(-1)).toBe(NUM_QUESTIONS);
    expect(counts[0]).toBeGreaterThan(first.measurements.length + second.measurements.length);
    expect(await readdir(killed)).toEqual(['instruct-r1-seed1.json.gz']);

    expect(await evaluateRun(RUN, world, { backend: 'wasm', folder: whole })).toBe(true);
    const [resumed, atOnce] = [await readRecord(killed, RUN, hash), await readRecord(whole, RUN, hash)];
    expect(resumed!.measurements).toEqual(atOnce!.measurements);
    expect(resumed!.measurements.map(({ questionId }) => questionId)).toEqual(
      world.questions.map(({ id }) => id),
    );
  });

  it('stops when its time is over and keeps what it has', async () => {
    const late = join(folder, 'late');
    const until = performance.now();
    expect(await evaluateRun(RUN, world, { backend: 'wasm', folder: late, until })).toBe(false);
    expect(await readRecord(late, RUN, hash)).toBeNull();
    expect(await readPart(late, RUN, hash)).toEqual([]);
  });
});
