import { existsSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { OTHERS_TEST, testFile } from '../../../lib/experiments/real-model/answering.js';
import { loadRealWorld } from '../../../lib/experiments/real-model/settings.js';
import { drawOthers } from '../../../tools/reader/draw-others.js';

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';

it.skipIf(!existsSync(benchmarks))(
  `the commit draws the test of other benchmarks (needs ${benchmarks} or PARALLELSEARCH_BENCHMARKS)`,
  async () => {
    const { drawnFrom, questions } = JSON.parse(readFileSync(testFile(OTHERS_TEST), 'utf8')) as {
      drawnFrom: string;
      questions: string[];
    };
    const { fresh } = await loadRealWorld(benchmarks);
    expect(drawOthers(drawnFrom, fresh)).toEqual(questions);
  },
  60_000,
);
