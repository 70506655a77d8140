/** Metrics of trainings for TensorBoard, as a user exports them. */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { maskedCrc } from '../../lib/interop/tensorboard.js';
import { temporaryFolder } from '../folder.js';
import { writeStep } from '../training/synthetic-run.js';
import { isBuilt, refusal, runCommand } from './command-line.js';

const root = temporaryFolder();
const FILE = 'events.out.tfevents.0000000000.parallelsearch';

/** The records of an event file, whose checksums have to be right. */
function recordsOf(file: string): Buffer[] {
  const bytes = readFileSync(file);
  const records: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const length = Number(bytes.readBigUInt64LE(at));
    expect(bytes.readUInt32LE(at + 8)).toBe(maskedCrc(bytes.subarray(at, at + 8)));
    const record = bytes.subarray(at + 12, at + 12 + length);
    expect(bytes.readUInt32LE(at + 12 + length)).toBe(maskedCrc(record));
    records.push(record);
    at += 16 + length;
  }
  return records;
}

describe.skipIf(!isBuilt)('export tensorboard (needs dist/)', () => {
  it('writes one record per step with the names of TRL’s trainer, timed by step', async () => {
    const [a, b] = ['a', 'b'].map((name) => join(root, name));
    for (const folder of [a, b]) for (const step of [0, 1, 2]) writeStep(folder, step);
    const { code, stderr } = await runCommand(['export', 'tensorboard', a, b]);
    expect(stderr).toContain(`3 steps of ${a}: ${join(a, FILE)}`);
    expect(code).toBe(0);
    const [version, ...steps] = recordsOf(join(b, FILE));
    expect(version.toString()).toContain('brain.Event:2');
    expect(steps).toHaveLength(3);
    for (const tag of ['train/reward', 'train/rewards/outcome', 'train/completions/mean_length'])
      expect(steps[0].toString()).toContain(tag);
    const times = steps.map((record) => record.readDoubleLE(1));
    expect(times[2] - times[0]).toBeCloseTo(10, 3);
  });

  it('writes a folder per run and replaces an earlier export', async () => {
    const [a, logs] = ['a', 'logs'].map((name) => join(root, name));
    await runCommand(['export', 'tensorboard', a, '-o', logs]);
    const before = readFileSync(join(logs, 'a', FILE));
    await runCommand(['export', 'tensorboard', a, '-o', logs]);
    expect(readFileSync(join(logs, 'a', FILE))).toEqual(before);
  });

  it('rejects a folder without a training', async () => {
    expect(await refusal(['export', 'tensorboard', root])).toContain('no metrics.jsonl');
    mkdirSync(join(root, 'nan'));
    writeFileSync(join(root, 'nan', 'metrics.jsonl'), '{"step": 0, "reward": NaN}\n');
    const nan = await refusal(['export', 'tensorboard', join(root, 'nan')]);
    expect(nan).toMatch(/it has NaN.*Write null/);
    const report = await refusal(['export', 'no-report', '--out', join(root, 'out')]);
    expect(report).toContain('Expected a report no-report');
    expect(existsSync(join(root, 'out'))).toBe(false);
  });
});
