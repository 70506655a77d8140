import { describe, expect, it } from 'vitest';
import {
  addUp,
  startRenewedWorker,
  workSideBySide,
  type WorkerMemory,
} from '../../lib/experiments/renewed-worker.js';
import type { Worker } from '../../lib/io/worker.js';

interface Fake extends Worker<number, WorkerMemory & { answer: number }, number> {
  isStopped: boolean;
}

/** Workers that double a number; the job 7 makes them grow, the job 13 fails. */
function fakes() {
  const started: Fake[] = [];
  const start = (): Fake => {
    const worker: Fake = {
      isStopped: false,
      send: (job) => {
        const reply = Promise.resolve({ answer: 2 * job, residentBytes: job === 7 ? 4e9 : 1e6 });
        return Promise.resolve({ reply: job === 13 ? Promise.reject(new Error('unlucky')) : reply });
      },
      stop: () => void (worker.isStopped = true),
    };
    started.push(worker);
    return worker;
  };
  return { started, start };
}

describe('startRenewedWorker', () => {
  it('replaces a worker whose memory has grown', async () => {
    const { started, start } = fakes();
    const worker = startRenewedWorker(start);
    expect((await worker.work(1)).answer).toBe(2);
    expect(started).toHaveLength(1);
    expect((await worker.work(7)).answer).toBe(14);
    expect(started.map(({ isStopped }) => isStopped)).toEqual([true, false]);
    worker.stop();
    expect(started[1].isStopped).toBe(true);
  });
});

describe('workSideBySide', () => {
  const doAll = async (jobs: number[], signal?: AbortSignal) => {
    const { started, start } = fakes();
    const answers: number[] = [];
    const done = workSideBySide(start, { numJobs: jobs.length, numWorkers: 2, signal }, async (i, worker) => {
      answers[i] = (await worker.work(jobs[i])).answer;
    });
    return { started, answers, done };
  };

  it('does every job once and stops the workers', async () => {
    const { started, answers, done } = await doAll([1, 2, 3, 4, 5]);
    await done;
    expect(answers).toEqual([2, 4, 6, 8, 10]);
    expect(started.every(({ isStopped }) => isStopped)).toBe(true);
    expect(started).toHaveLength(2);
  });

  it('ends with what a job throws, and begins no other', async () => {
    const { started, answers, done } = await doAll([13, 1, 2, 3, 4, 5, 6]);
    await expect(done).rejects.toThrow('unlucky');
    expect(answers.filter(Boolean).length).toBeLessThan(6);
    expect(started[0].isStopped).toBe(true);
  });

  it('ends with the reason of the signal', async () => {
    const { done } = await doAll([1, 2, 3], AbortSignal.abort(new Error('enough')));
    await expect(done).rejects.toThrow('enough');
  });
});

describe('addUp', () => {
  it('weighs what is done of each job', () => {
    const seen: [number, number][] = [];
    const report = addUp([1, 3], (fraction, i) => seen.push([fraction, i]));
    report(1, 0.5);
    report(0, 1);
    report(1, 1);
    expect(seen).toEqual([
      [0.375, 1],
      [0.625, 0],
      [1, 1],
    ]);
  });
});
