import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeStepsLeft, stepsLeft } from '../../../lib/commands/common/training-estimates.js';
import { withSettings } from '../../../lib/training/config.js';
import { trainingPreset } from '../../../lib/training/presets.js';
import { temporaryFolder } from '../../folder.js';

const root = temporaryFolder();

/** A training of ten steps; each of the first ones took the given seconds. */
function training(name: string, seconds: readonly number[], model = 'instruct-1') {
  const preset = trainingPreset('parallelsearch', model, 1);
  const config = withSettings(preset, { steps: 10, questionsPerStep: 2, groupSize: 5 });
  mkdirSync(join(root, name, 'checkpoint'), { recursive: true });
  const lines = seconds.map((each, step) =>
    JSON.stringify({ step, rollout_seconds: each - 1, update_seconds: 1 }),
  );
  writeFileSync(join(root, name, 'metrics.jsonl'), lines.map((line) => `${line}\n`).join(''));
  return { config, folder: join(root, name) };
}

it('estimates the remaining time from the steps done', async () => {
  const begun = [training('begun', [20, 40]), training('new', [])];
  expect(await stepsLeft(begun)).toEqual([8, 10]);
  expect(await describeStepsLeft(begun)).toBe('18 steps to do, about 9 min');
  rmSync(join(root, 'begun', 'checkpoint'), { recursive: true });
  expect(await stepsLeft(begun)).toEqual([10, 10]);
});

it('falls back on the committed run of the same model and method', async () => {
  expect(await describeStepsLeft([training('first', [])])).toMatch(
    /^10 steps to do, about \d+ s on the native backend$/,
  );
  expect(await describeStepsLeft([training('elsewhere', [], 'models/mine')])).toBe(
    '10 steps to do',
  );
});

it('gives no time if nothing remains', async () => {
  for (const numDone of [10, 11]) {
    const steps = Array<number>(numDone).fill(3);
    expect(await describeStepsLeft([training(`done-${numDone}`, steps)])).toBe('0 steps to do');
  }
});

it('knows the pace of two backends, and notes that it is not that of another', async () => {
  const first = [training('other', [])];
  const [native, wasm] = await Promise.all(
    (['native', 'wasm'] as const).map(async (name) => {
      const words = await describeStepsLeft(first, name);
      return Number(/about (\d+) s$/.exec(words)![1]);
    }),
  );
  expect(wasm / native).toBeCloseTo(2.2, 1);
  expect(await describeStepsLeft(first, 'cpu')).toMatch(
    /about \d+ s on the native backend; the first step corrects this for cpu$/,
  );
  expect(await describeStepsLeft([training('here', [20])], 'wasm')).toMatch(/about \d min$/);
});
