import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import {
  formatPassages,
  formatQuestions,
  parsePassages,
  parseQuestions,
  readPassages,
  readQuestions,
} from '../../lib/data/flashrag.js';

describe('parsePassages', () => {
  it('splits contents into title and text', () => {
    const [passage] = parsePassages('{"id": 7, "contents": "Oslo\\nOslo is a city.\\nIt is old."}\n\n');
    expect(passage).toEqual({
      id: '7',
      contents: 'Oslo\nOslo is a city.\nIt is old.',
      title: 'Oslo',
      text: 'Oslo is a city.\nIt is old.',
    });
  });

  it("drops the quotes of the Wikipedia dump's titles and allows a passage without a title", () => {
    const passages = parsePassages(
      '{"id":"a","contents":"\\"Oslo\\"\\nA city."}\n{"id":"b","contents":"No title"}',
    );
    expect(passages.map(({ title, text }) => [title, text])).toEqual([
      ['Oslo', 'A city.'],
      ['', 'No title'],
    ]);
  });

  it('names file, line and remedy in its errors', () => {
    const good = '{"id":"a","contents":"T\\nx"}\n';
    expect(() => parsePassages(`${good}{oops`, 'c.jsonl')).toThrow(
      /c\.jsonl, line 2: expected JSON, but got "\{oops".*each line must be/,
    );
    expect(() => parsePassages(`${good}\n{"id":"b"}`, 'c.jsonl')).toThrow(
      /c\.jsonl, line 3: contents: .*each line must be/,
    );
    expect(() => parsePassages(good + good, 'c.jsonl')).toThrow(
      'c.jsonl: expected unique ids, but a names row 1 and row 2',
    );
    expect(() => parsePassages('\n', 'c.jsonl')).toThrow('c.jsonl: expected at least one row');
  });
});

describe('parseQuestions', () => {
  it('reads questions without metadata and keeps unknown metadata', () => {
    const text =
      '{"id":"a","question":"Q?","golden_answers":["x","y"]}\n' +
      '{"id":"b","question":"Q?","golden_answers":["x"],"metadata":{"type":"bridge","supporting":["p1"]},"split":"dev"}';
    expect(parseQuestions(text)).toEqual([
      { id: 'a', question: 'Q?', goldenAnswers: ['x', 'y'], metadata: {} },
      {
        id: 'b',
        question: 'Q?',
        goldenAnswers: ['x'],
        metadata: { type: 'bridge', supporting: ['p1'] },
        split: 'dev',
      },
    ]);
  });

  it('refuses a question without answers and a malformed graph', () => {
    const row = (extra: string): string => `{"id":"a","question":"Q?","golden_answers":["x"],${extra}}`;
    expect(() => parseQuestions('{"id":"a","question":"Q?","golden_answers":[]}', 'q.jsonl')).toThrow(
      /q\.jsonl, line 1: golden_answers: .*each line must be/,
    );
    expect(() => parseQuestions(row('"metadata":{"graph":[{"id":"q1"}]}'), 'q.jsonl')).toThrow(
      /line 1: metadata\.graph\.0/,
    );
    expect(() => parseQuestions(row('"metadata":{"operation":{"kind":"sum","attribute":"year"}}'))).toThrow(
      'metadata.operation.kind',
    );
  });
});

describe('formatting', () => {
  it('is read back unchanged', () => {
    const questions = parseQuestions(
      '{"id":"a","question":"Q?","golden_answers":["x"],"metadata":{"operation":null},"split":"test"}',
    );
    expect(parseQuestions(formatQuestions(questions))).toEqual(questions);
    const passages = parsePassages('{"id":"a","contents":"T\\nx"}');
    expect(parsePassages(formatPassages(passages))).toEqual(passages);
  });
});

it.each([readPassages, readQuestions])('reading says which file is missing and what to do', async (read) => {
  await expect(read('/none.jsonl')).rejects.toThrow('Could not read /none.jsonl (ENOENT). Check the path');
});

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';

describe.skipIf(!existsSync(benchmarks))(
  `benchmark folders (${benchmarks}; PARALLELSEARCH_BENCHMARKS names another)`,
  () => {
    const folders = existsSync(benchmarks)
      ? readdirSync(benchmarks).filter((name) => existsSync(join(benchmarks, name, 'questions.jsonl')))
      : [];

    it.each(folders)('reads %s', async (name) => {
      const passages = await readPassages(join(benchmarks, name, 'corpus.jsonl'));
      const questions = await readQuestions(join(benchmarks, name, 'questions.jsonl'));
      expect(passages.every(({ title }) => title !== '')).toBe(true);
      expect(questions.some(({ metadata }) => typeof metadata.type === 'string')).toBe(true);
    });
  },
);
