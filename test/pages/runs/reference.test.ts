/** What to expect of a run: bands over recorded runs, and which runs they apply to. */
import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../../lib/io/paths.js';
import type { StepMetrics } from '../../../lib/training/run-folder.js';
import { findReference, incomparableSettings, ownMean } from '../../../lib/pages/runs/reference.js';
import { REFERENCE_FILE, type Reference } from '../../../lib/pages/runs/reference.js';
import { parseTrainConfig } from '../../../lib/training/config.js';
import { mergeOverrides } from '../../../lib/training/overrides.js';
import { trainingPreset } from '../../../lib/training/presets.js';
import { makeReferences, referenceBands } from '../../../tools/reference/reference-curves.js';

const PRESET = trainingPreset('parallelsearch', 'instruct-1', 1);
const change = (overrides: object) =>
  parseTrainConfig(mergeOverrides(PRESET, overrides as Record<string, unknown>));

const steps = (length: number, metrics: (step: number) => Record<string, number>): StepMetrics[] =>
  Array.from({ length }, (_, step) => ({ step, metrics: metrics(step) }));

describe('reference bands', () => {
  it('are percentiles of all values within five steps, over all runs', () => {
    // Around step 10 a run has the values 5 to 15; three runs at distances of 100.
    const runs = [0, 100, 200].map((base) => steps(21, (step) => ({ reward: base + step })));
    const { reward } = referenceBands(runs);
    expect(reward.map(([step]) => step)).toEqual([0, 5, 10, 15, 20]);
    // 33 values: the 10th and the 90th percentile lie between two of them.
    expect(reward[2]).toEqual([10, expect.closeTo(8.2, 1), 110, expect.closeTo(211.8, 1)]);
  });

  it('leave out steps without questions of the type, and need at least three runs', () => {
    const run = steps(11, (step) => ({
      'decomposition_ratio/sequential': step === 3 ? 1 : 0,
      'share/sequential': step === 3 ? 0.25 : 0,
    }));
    const bands = referenceBands([run, run, run]);
    const atOne = [0, 5].map((step) => [step, 1, 1, 1]);
    expect(bands['decomposition_ratio/sequential']).toEqual(atOne);
    expect(bands.reward).toEqual([]);
    expect(referenceBands([run, run])).toEqual({});
  });

  it('are compared with the mean of a run around the same step', () => {
    const run = steps(12, (step) => ({ reward: step }));
    expect(ownMean(run, 'reward', 8)).toBe(7); // 3 to 11
    expect(ownMean(run, 'reward', 12)).toBeUndefined();
  });
});

describe('a run is compared with the reference', () => {
  it.each([
    [{}, []],
    [{ seed: 9, model: 'instruct-3', checkpointEvery: 5, retrievalDeadlineMs: 100 }, []],
    [{ grpo: { steps: 40, maxTokensPerPass: 512 }, guards: { kl: { limit: 9 } } }, []],
    [{ grpo: { learningRate: 1e-4 } }, ['grpo.learningRate']],
    [{ rewards: { lambdaD: 0.5 }, rollout: { topK: 1 } }, ['rollout.topK', 'rewards.lambdaD']],
  ])('unless relevant settings differ: %j', (overrides, names) => {
    expect(incomparableSettings(change(overrides))).toEqual(names);
  });

  it('only in the small world', async () => {
    expect(incomparableSettings(change({ model: 'models/mine' }))).toBeNull();
    expect(await findReference({ config: PRESET, data: 'my-data' }, [])).toEqual({});
  });

  it('only with the same rewards; other differences are listed', async () => {
    const { reference } = await findReference({ config: PRESET }, []);
    expect(reference).toMatchObject({ method: 'parallelsearch', initialModel: 'instruct' });
    const own = steps(1, () => ({ 'rewards/outcome': 1, 'rewards/mine': 1 }));
    const { reason, ...others } = await findReference({ config: PRESET }, own);
    expect(reason).toContain('rewards/mine');
    expect(others).toEqual({});
    const slow = change({ grpo: { learningRate: 1e-4 } });
    expect((await findReference({ config: slow }, [])).reason).toContain('grpo.learningRate');
  });
});

it('the committed file matches the recorded runs (else: npm run tools -- reference-curves)', async () => {
  const committed = JSON.parse(readFileSync(REFERENCE_FILE, 'utf8')) as Reference[];
  expect(committed).toEqual(await makeReferences(packagePath('data', 'checkpoints')));
  const methods = committed.map(({ method, initialModel }) => `${method} ${initialModel}`);
  expect(methods).toContain('search-r1 base');
  for (const { numRuns, bands } of committed) {
    expect(numRuns).toBeGreaterThanOrEqual(3);
    for (const [, low, median, high] of Object.values(bands).flat())
      expect(low <= median && median <= high).toBe(true);
  }
});
