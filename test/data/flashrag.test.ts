import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import {
  dataSetFiles,
  formatPassages,
  formatQuestions,
  loadDataSet,
  parsePassages,
  parseQuestions,
  readPassages,
  readQuestions,
} from '../../lib/data/flashrag.js';
import { questionsOfSplit } from '../../lib/data/question.js';
import { folderForEach } from '../folder.js';

describe('parsePassages', () => {
  it('splits contents into title and text', () => {
    const [passage] = parsePassages(
      '{"id": 7, "contents": "Oslo\\nOslo is a city.\\nIt is old."}\n\n',
    );
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
      'c.jsonl, line 2: expected unique ids, but a names line 1 too',
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
    const row = (extra: string): string =>
      `{"id":"a","question":"Q?","golden_answers":["x"],${extra}}`;
    expect(() =>
      parseQuestions('{"id":"a","question":"Q?","golden_answers":[]}', 'q.jsonl'),
    ).toThrow(/q\.jsonl, line 1: golden_answers: .*each line must be/);
    expect(() => parseQuestions(row('"metadata":{"graph":[{"id":"q1"}]}'), 'q.jsonl')).toThrow(
      /line 1: metadata\.graph\.0/,
    );
    expect(() =>
      parseQuestions(row('"metadata":{"operation":{"kind":"sum","attribute":"year"}}')),
    ).toThrow('metadata.operation.kind');
  });
});

describe('a graph that cannot be', () => {
  it('is refused with file, line and reason', () => {
    const node = {
      id: 'q1',
      question: 'a?',
      entity: 'a',
      attribute: 'x',
      query: 'a',
      answers: ['y'],
    };
    const graph = [{ ...node, dependsOn: ['q1'], evidence: [] }];
    const row = { id: 'a', question: 'Q?', golden_answers: ['x'], metadata: { graph } };
    expect(() => parseQuestions(JSON.stringify(row), 'q.jsonl')).toThrow(
      /^q\.jsonl, line 1: metadata\.graph: Expected an acyclic graph/,
    );
  });
});

describe('loadDataSet', () => {
  const inFolder = folderForEach();
  const passage = '{"id":"a","contents":"Oslo\\nA city."}\n';
  const row = (id: string, more = ''): string =>
    `{"id":"${id}","question":"Q?","golden_answers":["x"]${more}}\n`;
  const write = (name: string, content: string | Uint8Array): void => {
    mkdirSync(dirname(inFolder(name)), { recursive: true });
    writeFileSync(inFolder(name), content);
  };

  it('reads FlashRAG’s own files: compressed, with a byte order mark, a file for each split', async () => {
    write('corpus.jsonl.gz', gzipSync(passage));
    write('train.jsonl', `\uFEFF${row('train_0')}`);
    write('test.jsonl.gz', gzipSync(row('test_0') + row('own', ',"split":"dev"')));
    const { passages, questions } = await loadDataSet(inFolder());
    expect(passages.map(({ title }) => title)).toEqual(['Oslo']);
    expect(questions.map(({ id, split }) => [id, split])).toEqual([
      ['train_0', 'train'],
      ['test_0', 'test'],
      ['own', 'dev'],
    ]);
  });

  it('reads questions without a split, which are of every split', async () => {
    write('passages.jsonl', passage);
    write('questions.jsonl', row('a') + row('b', ',"split":"train"'));
    const { questions } = await loadDataSet(inFolder());
    const idsOf = (split: string): string[] =>
      questionsOfSplit(questions, split).map(({ id }) => id);
    expect([idsOf('train'), idsOf('test')]).toEqual([['a', 'b'], ['a']]);
  });

  it('names the files that it expects, and the remedy for one that is broken', async () => {
    await expect(loadDataSet(inFolder())).rejects.toThrow(
      'Expected corpus.jsonl or passages.jsonl (also with .gz) in',
    );
    write('corpus.jsonl.gz', 'no gzip');
    await expect(loadDataSet(inFolder())).rejects.toThrow(
      /corpus\.jsonl\.gz \(Z_DATA_ERROR\)\. Check the path/,
    );
    write('corpus.jsonl', passage); // the plain file comes first
    await expect(loadDataSet(inFolder())).rejects.toThrow('Expected questions.jsonl, train.jsonl');
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

it.each([readPassages, readQuestions])(
  'reading says which file is missing and what to do',
  async (read) => {
    await expect(read('/none.jsonl')).rejects.toThrow(
      'Could not read /none.jsonl (ENOENT). Check the path',
    );
  },
);

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';
const folders = existsSync(benchmarks)
  ? readdirSync(benchmarks).filter((name) => dataSetFiles(join(benchmarks, name)).passages)
  : [];

describe.skipIf(folders.length === 0)(
  `benchmark folders (skipped without ${benchmarks}; PARALLELSEARCH_BENCHMARKS names another)`,
  () => {
    it.each(folders)('reads %s as it is', async (name) => {
      const { passages, questions } = await loadDataSet(join(benchmarks, name));
      expect(passages.every(({ title }) => title !== '')).toBe(true);
      expect(questionsOfSplit(questions, 'test').length).toBeGreaterThan(10);
    });
  },
);
