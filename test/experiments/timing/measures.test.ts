import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { generationTimeOf, readTiming, summariseTiming } from '../../../lib/experiments/timing/measures.js';
import { result, writeSyntheticTiming } from '../synthetic.js';

let folder: string;
beforeEach(() => void (folder = mkdtempSync(path.join(tmpdir(), 'timing-'))));
afterEach(() => rmSync(folder, { recursive: true, force: true }));

describe('readTiming', () => {
  it('is null where nothing was timed, and names a file that does not fit', () => {
    expect(readTiming(folder)).toBeNull();
    writeFileSync(path.join(folder, 'results.json'), '{"answers": []}');
    expect(() => readTiming(folder)).toThrow(/results\.json to be a timing[^]*experiment timing --force/);
  });
});

describe('summariseTiming', () => {
  it('gives seconds with intervals, and their ratio', () => {
    writeSyntheticTiming(folder);
    const { rows, contrasts } = summariseTiming(readTiming(folder)!, { resamples: 50 });
    expect(new Set(rows.map(({ metric }) => metric))).toEqual(new Set(['seconds']));
    const cell = { benchmark: 'hotpotqa', subset: 'parallelizable', model: 'base' };
    expect(rows).toContainEqual(
      // One search and the answer, whatever is compared.
      expect.objectContaining({ ...cell, method: 'parallelsearch', value: 0.02, low: 0.02, high: 0.02 }),
    );
    const ratio = contrasts.find(
      (c) =>
        c.kind === 'ratio' && c.model === 'base' && c.benchmark === 'hotpotqa' && c.subset === cell.subset,
    )!;
    expect(ratio).toMatchObject({ method: 'parallelsearch', against: 'search-r1' });
    expect(ratio.high).toBeLessThan(0.7);
  });
});

describe('generationTimeOf', () => {
  it('is the seconds over the model calls of ParallelSearch', () => {
    const answer = (method: string, modelCalls: number, seconds: number) => ({
      ...result({ method, modelCalls }),
      seconds,
    });
    const answers = [
      ...[answer('parallelsearch', 2, 0.3), answer('parallelsearch', 4, 0.9)],
      answer('search-r1', 4, 100),
    ];
    const { msPerCall, source } = generationTimeOf({ answers, provenance: { backend: 'wasm' } });
    expect(msPerCall).toBeCloseTo(200);
    expect(source).toBe(
      '2 answers of ParallelSearch, one question at a time, on wasm: seconds over model calls',
    );
  });
});
