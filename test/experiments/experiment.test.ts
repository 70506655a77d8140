import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { experimentState, runExperiment, type Experiment } from '../../lib/experiments/experiment.js';

let root: string;
beforeEach(() => void (root = mkdtempSync(join(tmpdir(), 'experiment-'))));
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Squares numbers, each as a part; `computed` lists what was not read. */
function squares(numbers: number[], onPart: (x: number) => void = () => undefined) {
  const computed: number[] = [];
  const experiment: Experiment = {
    title: 'squares',
    config: () => ({ numbers }),
    estimateSeconds: () => numbers.length,
    run: async ({ part, onProgress, signal }) => {
      const found: number[] = [];
      for (const [i, x] of numbers.entries()) {
        signal.throwIfAborted();
        found.push(
          await part(`square-${x}`, async () => {
            onPart(x);
            computed.push(x);
            return x * x;
          }),
        );
        onProgress((i + 1) / numbers.length);
      }
      return { found, provenance: { seeds: [7] } };
    },
  };
  return { experiment, computed };
}

interface Written {
  config: object;
  found: number[];
  provenance: Record<string, unknown>;
}
const read = (file: string): Written => JSON.parse(readFileSync(file, 'utf8')) as Written;

describe('runExperiment', () => {
  it('writes results with configuration and provenance', async () => {
    const { experiment } = squares([2, 3]);
    const fractions: number[] = [];
    const done = await runExperiment('squares', experiment, { root, onProgress: (x) => fractions.push(x) });
    expect(done).toMatchObject({
      isComputed: true,
      isDone: true,
      file: join(root, 'squares', 'results.json'),
    });
    const { config, found, provenance } = read(done.file);
    expect([config, found]).toEqual([{ numbers: [2, 3] }, [4, 9]]);
    expect(provenance).toMatchObject({ seeds: [7], configHash: done.hash, node: process.version });
    expect(Object.keys(provenance)).toEqual(
      expect.arrayContaining(['commit', 'hardware', 'durationSeconds']),
    );
    expect(fractions).toEqual([0.5, 1]);
  });

  it('computes nothing when the results are there, and all of it when forced', async () => {
    const { experiment, computed } = squares([2, 3]);
    await runExperiment('squares', experiment, { root });
    expect((await experimentState('squares', experiment, root)).isDone).toBe(true);
    expect((await runExperiment('squares', experiment, { root })).isComputed).toBe(false);
    expect(computed).toEqual([2, 3]);
    expect((await runExperiment('squares', experiment, { root, force: true })).isComputed).toBe(true);
    expect(computed).toEqual([2, 3, 2, 3]);
  });

  it('computes again with another configuration or under another name', async () => {
    const [some, more] = [squares([2]), squares([2, 3])];
    const { hash } = await runExperiment('squares', some.experiment, { root });
    expect((await experimentState('squares', more.experiment, root)).isDone).toBe(false);
    expect((await experimentState('others', some.experiment, root)).hash).not.toBe(hash);
    await runExperiment('squares', more.experiment, { root });
    expect(more.computed).toEqual([2, 3]);
  });

  it('knows results by the configuration that it left behind, and puts large ones beside them', async () => {
    let weights = 'none';
    const training: Experiment = {
      ...squares([]).experiment,
      config: () => ({ weights }),
      run: async ({ outputFolder }) => {
        weights = 'trained';
        expect(outputFolder).toBe(join(root, 'training'));
        return { provenance: {} };
      },
    };
    const { hash, config, file } = await runExperiment('training', training, { root });
    expect(config).toEqual({ weights: 'trained' });
    expect(read(file)).toMatchObject({ config, provenance: { configHash: hash } });
    expect(await experimentState('training', training, root)).toMatchObject({ hash, isDone: true });
  });

  it('goes on from finished parts after a stop, and leaves no results before the end', async () => {
    const controller = new AbortController();
    const stopping = squares([2, 3, 4], (x) => x === 3 && controller.abort(new Error('stopped')));
    const run = runExperiment('squares', stopping.experiment, { root, signal: controller.signal });
    await expect(run).rejects.toThrow('stopped');
    expect(existsSync(join(root, 'squares', 'results.json'))).toBe(false);
    const { experiment, computed } = squares([2, 3, 4]);
    const { file } = await runExperiment('squares', experiment, { root });
    expect(computed).toEqual([4]);
    expect(read(file).found).toEqual([4, 9, 16]);
  });

  it('keeps no part that failed', async () => {
    const failing = squares([2], () => {
      throw new Error('no memory');
    });
    await expect(runExperiment('squares', failing.experiment, { root })).rejects.toThrow('no memory');
    const { experiment, computed } = squares([2]);
    await runExperiment('squares', experiment, { root });
    expect(computed).toEqual([2]);
  });

  it('refuses names of parts that are no file names', async () => {
    const experiment: Experiment = {
      ...squares([]).experiment,
      run: async ({ part }) => ({ provenance: {}, x: await part('../x', async () => 1) }),
    };
    await expect(runExperiment('squares', experiment, { root })).rejects.toThrow("Expected a part's name");
  });
});
