import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { configDifferences } from '../../lib/training/overrides.js';
import { readDescription, readRollouts, readRun } from '../../lib/training/run-folder.js';
import { runVersion, sampleSteps } from '../../lib/training/run-folder.js';
import { temporaryFolder } from '../folder.js';
import { RUN, writeStep } from './synthetic-run.js';

const root = temporaryFolder();

describe('readRun', () => {
  it('is empty before the run starts', async () => {
    const empty = { version: '0-0', steps: [], rollouts: new Map() };
    expect(await readRun(path.join(root, 'absent'))).toEqual(empty);
  });

  it('reads all steps and the newest rollouts, with a version that changes with every step', async () => {
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
    expect([...rollouts].map(([step, { length }]) => [step, length])).toEqual([[1, 4]]);
    expect([...(await readRun(folder, { numSteps: 5 })).rollouts.keys()]).toEqual([0, 1]);
    expect([...(await readRollouts(folder, [0, 7])).keys()]).toEqual([0]);
  });

  it('leaves out metrics without a value', async () => {
    const folder = path.join(root, 'null');
    mkdirSync(folder);
    writeFileSync(path.join(folder, 'metrics.jsonl'), '{"step": 1, "kl": null, "reward": 0.5}\n');
    expect((await readRun(folder)).steps).toEqual([{ step: 1, metrics: { reward: 0.5 } }]);
  });

  it.each([
    ['{"step": 2}\n{"step": 10}\n{"step": 1}\n', [1, 2, 10]],
    ['{"step": 0, "validation": true}\n{"step": 1}\n{"step": 1, "validation": true}', [1]],
    ['{"step": 2}\n{"step": 1}\n{"step": 2}\n', /metrics\.jsonl.*step 2 has several/],
    ['{"step": 2}\n{"epoch": 1}\n', /metrics\.jsonl.*"epoch"/],
  ])('orders steps, and rejects repeated and missing ones: %j', async (lines, expected) => {
    const folder = path.join(root, 'foreign');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'metrics.jsonl'), lines);
    const steps = readRun(folder).then((run) => run.steps.map(({ step }) => step));
    if (Array.isArray(expected)) expect(await steps).toEqual(expected);
    else await expect(steps).rejects.toThrow(expected);
  });

  it('skips an unfinished line', async () => {
    const folder = path.join(root, 'writing');
    writeStep(folder, 0);
    for (const name of ['metrics.jsonl', 'trajectories.jsonl'])
      appendFileSync(path.join(folder, name), '{"step":1,"rew');
    const { steps, rollouts } = await readRun(folder);
    expect([steps.length, rollouts.get(0)?.length]).toEqual([1, 4]);
  });

  it('reads a last line without a line feed', async () => {
    const folder = path.join(root, 'unended');
    writeStep(folder, 0);
    for (const name of ['metrics.jsonl', 'trajectories.jsonl']) {
      const file = path.join(folder, name);
      writeFileSync(file, readFileSync(file, 'utf8').trimEnd());
    }
    const { steps, rollouts } = await readRun(folder);
    expect([steps.length, rollouts.get(0)?.length]).toEqual([1, 4]);
  });
});

describe('sampleSteps', () => {
  const steps = Array.from({ length: 30 }, (_, step) => ({ step, metrics: {} }));

  it('spreads samples from the first to the newest step', () => {
    expect(sampleSteps(steps, 4)).toEqual([0, 10, 19, 29]);
    expect(sampleSteps(steps, 1)).toEqual([29]);
    expect(sampleSteps(steps.slice(0, 2), 4)).toEqual([0, 1]);
    expect(sampleSteps([], 4)).toEqual([]);
  });
});

describe('readDescription', () => {
  it('reads run.json and resolves its data folder', async () => {
    const folder = path.join(root, 'described');
    mkdirSync(folder);
    const { config, provenance } = RUN;
    const content = { config, provenance, data: '../my-data' };
    writeFileSync(path.join(folder, 'run.json'), JSON.stringify(content));
    expect(await readDescription(folder)).toEqual({ ...content, data: path.join(root, 'my-data') });
  });

  it("falls back on the adapter's configuration and preset for an older run", async () => {
    const recorded = packagePath('data', 'checkpoints', 'instruct-1-parallelsearch-d0-s0-seed1');
    const { config, preset, data } = (await readDescription(recorded))!;
    expect(data).toBeUndefined();
    const differing = configDifferences(config, preset!).map(({ name }) => name);
    expect(differing).toEqual(['rewards.lambdaD', 'rewards.lambdaS']);
    expect(await readDescription(path.join(root, 'absent'))).toBeNull();
  });
});
