import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadDataSet } from '../../lib/data/flashrag.js';
import { packagePath } from '../../lib/io/paths.js';
import { ANALYZERS } from '../../lib/retrieval/words.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';

it('english drops stop words and stems the rest; plain does neither', () => {
  const text = 'The directors of these films were singing, and no film is archaeology.';
  const [plain, english] = ['plain', 'english'].map((name) =>
    ANALYZERS.get(name).analyze(text).join(' '),
  );
  expect(plain).toBe('the directors of these films were singing and no film is archaeology');
  expect(english).toBe('director film were sing film archaeolog');
});

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';
type Rankings = Record<string, Record<string, { places: number[][]; scores: number[][] }>>;

describe.skipIf(!existsSync(benchmarks))(
  `BM25 beside bm25s on real passages (skipped without ${benchmarks}; PARALLELSEARCH_BENCHMARKS names another)`,
  () => {
    // Made by scripts/fixtures/bm25s.py.
    const file = packagePath('test', 'fixtures', 'bm25s.json');
    const expected = Object.entries(JSON.parse(readFileSync(file, 'utf8')) as Rankings);

    it.each(expected)(
      '%s: the same ten passages, the same scores (tolerance 1e-4)',
      async (name, rankings) => {
        const { passages, questions } = await loadDataSet(join(benchmarks, name));
        for (const [analyzer, { places, scores }] of Object.entries(rankings)) {
          const retriever = createBm25Retriever(passages, ANALYZERS.get(analyzer));
          for (const [q, wanted] of places.entries()) {
            const found = retriever.search(questions[q].question, wanted.length);
            const last = scores[q].at(-1)!;
            for (const [i, { index, score }] of found.entries()) {
              expect(Math.abs(score - scores[q][i]), questions[q].id).toBeLessThan(1e-4);
              // Equal scores may come in another order, and the last ones be others.
              if (score > last + 1e-4) expect(wanted).toContain(index);
            }
          }
        }
      },
    );
  },
);
