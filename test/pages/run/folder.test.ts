import { appendFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { readRun, runVersion } from '../../../lib/pages/run/folder.js';
import { temporaryFolder } from '../../folder.js';
import { writeStep } from './run.js';

const root = temporaryFolder();

describe('readRun', () => {
  it('is empty before the run starts', async () => {
    expect(await readRun(path.join(root, 'absent'))).toEqual({
      version: '0-0',
      steps: [],
      rollouts: [],
    });
  });

  it('reads all steps and the newest rollouts, with a version that changes at every step', async () => {
    const folder = path.join(root, 'two');
    writeStep(folder, 0);
    const before = await runVersion(folder);
    writeStep(folder, 1);
    const { version, steps, rollouts } = await readRun(folder);
    expect(version).not.toBe(before);
    expect(version).toBe(await runVersion(folder));
    expect(steps.map(({ step, metrics }) => [step, metrics.reward])).toEqual([
      [0, 0.5],
      [1, 0.6],
    ]);
    expect(steps[0].metrics).not.toHaveProperty('alarms');
    expect(rollouts.map(({ step }) => step)).toEqual([1, 1, 1, 1]);
  });

  it('skips an unfinished line', async () => {
    const folder = path.join(root, 'writing');
    writeStep(folder, 0);
    for (const name of ['metrics.jsonl', 'trajectories.jsonl'])
      appendFileSync(path.join(folder, name), '{"step":1,"rew');
    const { steps, rollouts } = await readRun(folder);
    expect([steps.length, rollouts.length]).toEqual([1, 4]);
  });
});
