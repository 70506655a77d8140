import { mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { lambdaRuns, lambdasOf } from '../../../lib/experiments/lambda-ablation/run.js';
import { mainRuns } from '../../../lib/experiments/main-results/runs.js';
import { trainedRuns } from '../../../lib/mini-wiki/retrain.js';
import { recordedSeconds, stepsOf } from '../../../lib/experiments/train-runs.js';
import { runName } from '../../../lib/experiments/runs.js';

describe('the runs of the ablation', () => {
  it('are ten settings with three seeds; the paper’s own is that of the main comparison', () => {
    const names = lambdaRuns().map(runName);
    expect(new Set(names).size).toBe(10 * 3);
    const main = new Set(mainRuns().map(runName));
    expect(names.filter((name) => main.has(name))).toEqual(
      [1, 2, 3].map((seed) => `instruct-parallelsearch-seed${seed}`),
    );
    expect(names).toContain('instruct-parallelsearch-d0-s0.35-seed2');
    expect(names).toContain('instruct-parallelsearch-d0-s0-seed2');
    expect(lambdasOf({ method: 'parallelsearch', model: 'instruct', seed: 1 })).toEqual({
      ...{ lambdaD: 0.15, lambdaS: 0.35 },
    });
  });

  it('are trained with the others, each once', () => {
    const names = trainedRuns().map(runName);
    expect(new Set(names).size).toBe(names.length);
    for (const run of lambdaRuns()) {
      expect(names).toContain(runName(run));
      expect(stepsOf(run)).toBeGreaterThan(0);
    }
    expect(() => stepsOf({ method: 'r1', model: 'base', seed: 1 })).toThrow('but got r1');
  });
});

describe('recordedSeconds', () => {
  it('adds up what the lines of metrics say, and is 0 where there are none', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'metrics-'));
    mkdirSync(folder, { recursive: true });
    const file = join(folder, 'metrics.jsonl');
    writeFileSync(file, '{"a":1,"b":2,"c":100}\n{"a":0.5}\n');
    expect(await recordedSeconds(file, ['a', 'b'])).toBe(3.5);
    expect(await recordedSeconds(join(folder, 'none'), ['a'])).toBe(0);
    rmSync(folder, { recursive: true });
  });
});
