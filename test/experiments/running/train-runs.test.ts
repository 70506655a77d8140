import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { planTraining, recordedSeconds } from '../../../lib/experiments/running/train-runs.js';
import { adapterFolder, type PolicyRun } from '../../../lib/experiments/running/policy-runs.js';
import { folderForEach } from '../../folder.js';

const inFolder = folderForEach();
const KEPT: PolicyRun = { method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 };

describe('planTraining', () => {
  it('plans only untrained runs, with an estimate from trained ones', async () => {
    expect(await planTraining(() => [KEPT]).plan()).toBeNull();
    const file = join(adapterFolder(KEPT), 'metrics.jsonl');
    const seconds = await recordedSeconds(file, ['rollout_seconds', 'update_seconds']);
    expect(seconds).toBeGreaterThan(0);
    const plan = await planTraining(() => [KEPT, { ...KEPT, seed: 99 }]).plan();
    expect(plan).toEqual({ work: '1 of 2 runs to train (200 steps)', seconds: seconds / 2 });
  });

  it('plans a search simulator only for runs that need it', async () => {
    const untrained = { ...KEPT, seed: 99 };
    const simulator = { ...untrained, method: 'zerosearch:simulator' };
    const needsIt = { ...untrained, method: 'zerosearch' };
    const plan = (run: PolicyRun) => planTraining(() => [simulator, run]).plan();
    expect((await plan(needsIt))?.work).toContain('2 of 2 runs');
    expect((await plan(untrained))?.work).toContain('1 of 2 runs');
    expect(await plan(KEPT)).toBeNull();
  });

  it('sums recorded seconds without pauses; 0 without a file', async () => {
    writeFileSync(inFolder('metrics.jsonl'), '{"a":1,"b":2,"c":100}\n{"a":0.5}\n');
    expect(await recordedSeconds(inFolder('metrics.jsonl'), ['a', 'b'])).toBe(3.5);
    writeFileSync(inFolder('metrics.jsonl'), '{"a":1,"b":2}\n{"a":0.5}\n{"a":3600}\n');
    expect(await recordedSeconds(inFolder('metrics.jsonl'), ['a', 'b'])).toBe(9);
    expect(await recordedSeconds(inFolder('none'), ['a'])).toBe(0);
  });
});
