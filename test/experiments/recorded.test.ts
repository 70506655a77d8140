import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { experimentState, runExperiment, type Experiment } from '../../lib/experiments/experiment.js';
import { recallExperiment, recordExperiment } from '../../lib/experiments/recorded.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'recorded-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));
const here = () => ({ root: join(folder, 'here'), recorded: join(folder, 'recorded') });
const elsewhere = () => ({ ...here(), root: join(folder, 'elsewhere') });

/** Writes lines and a provenance beside its results, as the evaluation of runs does. */
const experimentOf = (config: object): Experiment => ({
  title: 'lines',
  config: () => config,
  estimateSeconds: () => 1,
  run: async ({ outputFolder }) => {
    mkdirSync(join(outputFolder, 'training'), { recursive: true });
    writeFileSync(join(outputFolder, 'results.jsonl'), '{"em":1}\n');
    writeFileSync(join(outputFolder, 'provenance.json'), '{"seeds":[1]}');
    return { found: 42, provenance: { seeds: [1] } };
  },
});
const one = experimentOf({ k: 1 });
const readIn = (root: string, name: string): unknown =>
  JSON.parse(readFileSync(join(root, 'lines', name), 'utf8'));

describe('recorded results', () => {
  it('come back elsewhere, and say that they were recorded', async () => {
    await runExperiment('lines', one, here());
    await recordExperiment('lines', one, here());
    expect(await recallExperiment('lines', one, elsewhere())).toBe(true);
    const { root } = elsewhere();
    expect(readdirSync(join(root, 'lines')).sort()).toEqual([
      ...['provenance.json', 'results.json', 'results.jsonl'],
    ]);
    const recorded = expect.stringContaining('data/results') as string;
    expect(readIn(root, 'results.jsonl')).toEqual({ em: 1 });
    expect(readIn(root, 'results.json')).toMatchObject({ found: 42, provenance: { seeds: [1], recorded } });
    expect(readIn(root, 'provenance.json')).toEqual({ seeds: [1], recorded });
    expect(await experimentState('lines', one, root)).toMatchObject({ isDone: false, isRecorded: true });
  });

  it('count only with the same configuration', async () => {
    await runExperiment('lines', one, here());
    await recordExperiment('lines', one, here());
    expect(await recallExperiment('lines', experimentOf({ k: 2 }), elsewhere())).toBe(false);
    expect(await recallExperiment('others', one, elsewhere())).toBe(false);
  });

  it('never replace what was computed, and are replaced by it', async () => {
    await runExperiment('lines', one, here());
    await recordExperiment('lines', one, here());
    expect(await recallExperiment('lines', one, here())).toBe(true);
    expect(await experimentState('lines', one, here().root)).toMatchObject({ isDone: true });
    await recallExperiment('lines', one, elsewhere());
    expect((await runExperiment('lines', one, elsewhere())).isComputed).toBe(true);
    expect(await experimentState('lines', one, elsewhere().root)).toMatchObject({ isRecorded: false });
  });

  it('are not recorded a second time', async () => {
    await runExperiment('lines', one, here());
    await recordExperiment('lines', one, here());
    await recallExperiment('lines', one, elsewhere());
    await expect(recordExperiment('lines', one, elsewhere())).rejects.toThrow('computed here');
    await expect(recordExperiment('others', one, here())).rejects.toThrow(
      'npx parallelsearch experiment others',
    );
  });
});
