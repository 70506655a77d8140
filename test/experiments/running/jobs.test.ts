import { writeFile } from 'node:fs/promises';
import { beforeEach, describe, expect, it } from 'vitest';
import { defineComputation, type Experiment } from '../../../lib/experiments/experiment.js';
import { runJobs, type JobWorker, type Reply } from '../../../lib/experiments/running/jobs.js';
import type { RunJobsOptions, Task } from '../../../lib/experiments/running/jobs.js';
import {
  mergeProvenance,
  requireResults,
  readRecords,
} from '../../../lib/experiments/running/records.js';
import { recordStore } from '../../../lib/io/records.js';
import { recordResults } from '../../../tools/runs/record-results.js';
import { folderForEach } from '../../folder.js';

const inFolder = folderForEach();
let folder: string;
beforeEach(() => void (folder = inFolder('results')));

const squares = (numbers: readonly number[], hash = 'h'): Experiment => ({
  name: 'squares',
  title: 'squares',
  computation: defineComputation<number, number>({
    jobs: async () => numbers.map((x) => ({ key: `squares/${x}`, hash, input: x, seconds: x })),
    work: async () => undefined,
    merge: (recorded, kept) => ({ value: recorded, note: `${kept.length} anew` }),
  }),
});

/** Workers that square: 7 grows their memory, 13 fails, a time limit returns a part. */
function fakeWorkers() {
  const tasks: Task[] = [];
  const workers: { isStopped: boolean }[] = [];
  const start = (): JobWorker => {
    const worker = { isStopped: false };
    workers.push(worker);
    const answer = async (task: Task): Promise<Reply> => {
      tasks.push(task);
      const x = task.input as number;
      if (x === 13) throw new Error('unlucky');
      if (task.seconds === undefined)
        return { value: x * x, seconds: 2, residentBytes: x === 7 ? 4e9 : 1e6 };
      await writeFile(task.journal, `${JSON.stringify({ hash: task.hash, item: x })}\n`);
      return { value: undefined, seconds: 1, residentBytes: 1e6 };
    };
    return {
      send: async (task, onFraction) => {
        onFraction?.(0.5);
        return answer(task);
      },
      stop: () => void (worker.isStopped = true),
    };
  };
  return { tasks, workers, start };
}

const begin = (experiment: Experiment, options: Partial<RunJobsOptions> = {}) => {
  const fakes = fakeWorkers();
  const progress: [number, string][] = [];
  const backend = { name: 'wasm', detail: 'made up', rejected: [] } as unknown;
  const done = runJobs(experiment, {
    backend: backend as RunJobsOptions['backend'],
    folder,
    signal: new AbortController().signal,
    start: fakes.start,
    onProgress: (fraction, note) => progress.push([fraction, note]),
    ...options,
  });
  return { ...fakes, progress, done };
};
const run = async (...given: Parameters<typeof begin>) => {
  const begun = begin(...given);
  await begun.done;
  return begun;
};
const valuesIn = async (experiment: Experiment): Promise<unknown[]> =>
  (await requireResults(experiment, folder)).map(({ record }) => record.value);
const inputs = (tasks: readonly Task[]): unknown[] => tasks.map(({ input }) => input);

describe('runJobs', () => {
  it('runs every job once, records provenance, and stops the workers', async () => {
    const { tasks, workers } = await run(squares([1, 2, 3, 4, 5]));
    expect(inputs(tasks)).toEqual([1, 2, 3, 4, 5]);
    expect(await valuesIn(squares([1, 2, 3, 4, 5]))).toEqual([1, 4, 9, 16, 25]);
    expect(workers.map(({ isStopped }) => isStopped)).toEqual([true, true]);
    const [{ record }] = await requireResults(squares([1]), folder);
    const provenance = { backend: 'made up', seconds: 2, node: process.version };
    expect(record.provenance).toMatchObject(provenance);
  });

  it('computes only what is missing, changed, or forced', async () => {
    await run(squares([1, 2]));
    expect(inputs((await run(squares([1, 2, 3]))).tasks)).toEqual([3]);
    expect(inputs((await run(squares([1, 2], 'other'))).tasks)).toEqual([1, 2]);
    expect(inputs((await run(squares([3]), { force: true })).tasks)).toEqual([3]);
  });

  it('replaces a worker that uses too much memory', async () => {
    const experiment = squares([7, 1]);
    experiment.computation!.processes = 1;
    const { workers } = await run(experiment);
    expect(workers).toHaveLength(2);
    expect(workers.every(({ isStopped }) => isStopped)).toBe(true);
  });

  it('weights progress by the duration of jobs', async () => {
    const experiment = squares([1, 3]);
    experiment.computation!.processes = 1;
    const { progress } = await run(experiment);
    expect(progress).toEqual([
      [0.125, 'squares/1'],
      [0.25, 'squares/1'],
      [0.625, 'squares/3'],
      [1, 'squares/3'],
    ]);
  });

  it('stops at the first error and keeps finished jobs', async () => {
    const failing = begin(squares([1, 13, 2, 3, 4, 5, 6]));
    await expect(failing.done).rejects.toThrow('unlucky');
    expect(failing.tasks.length).toBeLessThan(6);
    expect((await readRecords(squares([1]), folder))[0].done).not.toBeNull();
  });

  it('throws the reason of the signal', async () => {
    const signal = AbortSignal.abort(new Error('enough'));
    await expect(run(squares([1, 2]), { signal })).rejects.toThrow('enough');
  });

  it('keeps records with their recomputed part when the budget runs out', async () => {
    const experiment = squares([2, 3]);
    const recorded = { hash: 'h', provenance: { recorded: 'earlier' }, value: 99 };
    for (const key of ['squares/2', 'squares/3']) await recordStore(folder).write(key, recorded);
    const { tasks } = await run(experiment, { budgetSeconds: 100 });
    expect(tasks.every(({ seconds }) => seconds! > 0)).toBe(true);
    const [two] = await requireResults(experiment, folder);
    const kept = { value: 99, provenance: { recorded: '1 anew' } };
    expect(two).toMatchObject({ isOwn: false, record: kept });
    expect(mergeProvenance([two]).takenFromRecords).toEqual(['squares/2 (1 anew)']);
    expect((await run(experiment, { budgetSeconds: 0 })).tasks).toEqual([]);
    // Without a budget, everything is computed.
    await run(experiment);
    expect(await valuesIn(experiment)).toEqual([4, 9]);
  });

  it('ignores the budget if nothing is recorded', async () => {
    const { tasks } = await run(squares([2]), { budgetSeconds: 0 });
    expect(tasks.map(({ seconds }) => seconds)).toEqual([undefined]);
  });
});

describe('requireResults', () => {
  it('names the missing job and a command that computes it', async () => {
    const missing = requireResults(squares([2]), folder);
    await expect(missing).rejects.toThrow(/squares\/2.*experiment squares/);
    // None of its runs is trained.
    await expect(requireResults(squares([]), folder)).rejects.toThrow(/squares has/);
  });
});

describe('recordResults', () => {
  it('merges the records of this machine into the repository’s', async () => {
    const into = inFolder('kept');
    await expect(recordResults(squares([2]), { folder, into })).rejects.toThrow(/squares\/2/);
    await run(squares([2]));
    await recordResults(squares([2]), { folder, into });
    const elsewhere = inFolder('elsewhere');
    const kept = await recordStore(elsewhere, into).read('squares/2', 'h');
    expect(kept).toMatchObject({ value: 4, folder: into });
    // Another machine computes the rest.
    await recordStore(elsewhere).write('squares/3', { hash: 'h', provenance: {}, value: 9 });
    await recordResults(squares([2, 3]), { folder: elsewhere, into });
    const both = await requireResults(squares([2, 3]), inFolder('a third'), into);
    expect(both.map(({ record }) => record.value)).toEqual([4, 9]);
  });
});
