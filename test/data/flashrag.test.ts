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
import { selectSplit } from '../../lib/data/question.js';
import { folderForEach } from '../folder.js';
import { graphOf } from './questions.js';

describe('parsePassages', () => {
  it('splits contents into title and text', () => {
    const text = 'Oslo is a city.\nIt is old.';
    const contents = `Oslo\n${text}`;
    const [passage] = parsePassages(`${JSON.stringify({ id: 7, contents })}\n\n`);
    expect(passage).toEqual({ id: '7', contents, title: 'Oslo', text });
  });

  it('drops quotes around titles and allows passages without a title', () => {
    const passages = parsePassages(
      '{"id":"a","contents":"\\"Oslo\\"\\nA city."}\n{"id":"b","contents":"No title"}',
    );
    expect(passages.map(({ title, text }) => [title, text])).toEqual([
      ['Oslo', 'A city.'],
      ['', 'No title'],
    ]);
  });

  it.each([
    ['City', 'A city.', 'City\nA city.'],
    ['City', 'City\nA city.', 'City\nA city.'],
    ['"City"', '"City"\nA city.', '"City"\nA city.'],
    ['', 'A city.', 'A city.'],
    [null, 'A city.', 'A city.'],
    [1984, 'A novel.', '1984\nA novel.'],
    [1984, '1984\nA novel.', '1984\nA novel.'],
  ])('puts a title of its own, %j, before contents without it: %j', (title, contents, joined) => {
    const [passage] = parsePassages(JSON.stringify({ id: 1, title, contents }));
    expect(passage.contents).toBe(joined);
  });

  it('rejects a title that is neither text nor a number', () => {
    const row = JSON.stringify({ id: 1, title: ['City'], contents: 'A city.' });
    expect(() => parsePassages(row, 'c.jsonl')).toThrow(
      'c.jsonl, line 1: title: expected text or a number',
    );
  });

  it('reports file and line', () => {
    const good = '{"id":"a","contents":"T\\nx"}\n';
    expect(() => parsePassages(`${good}{oops`, 'c.jsonl')).toThrow(/c\.jsonl, line 2: .*JSON/);
    expect(() => parsePassages(`${good}\n{"id":"b"}`, 'c.jsonl')).toThrow(
      /c\.jsonl, line 3: contents/,
    );
    expect(() => parsePassages(good + good, 'c.jsonl')).toThrow(
      /c\.jsonl, line 2: .*unique.*line 1/,
    );
    expect(() => parsePassages('\n', 'c.jsonl')).toThrow(/c\.jsonl: .*empty/);
  });
});

describe('parseQuestions', () => {
  it('keeps unknown metadata, and needs none', () => {
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

  it('rejects missing answers, and malformed or invalid graphs', () => {
    const parse = (more: object) => () => {
      const row = { id: 'a', question: 'Q?', golden_answers: ['x'], ...more };
      return parseQuestions(JSON.stringify(row), 'q.jsonl');
    };
    expect(parse({ golden_answers: [] })).toThrow(/q\.jsonl, line 1: golden_answers/);
    expect(parse({ golden_answers: ['', ' '] })).toThrow(/q\.jsonl, line 1: golden_answers/);
    const [{ goldenAnswers }] = parse({ golden_answers: ['Paris', ' ', ''] })();
    expect(goldenAnswers).toEqual(['Paris']);
    const graph = [{ id: 'q1' }];
    expect(parse({ metadata: { graph } })).toThrow(/line 1: metadata\.graph\.0/);
    const operation = { kind: 'sum', attribute: 'year' };
    expect(parse({ metadata: { operation } })).toThrow('metadata.operation.kind');
    const circle = { metadata: { graph: graphOf({ q1: ['q1'] }) } };
    expect(parse(circle)).toThrow(/^q\.jsonl, line 1: metadata\.graph: .*acyclic/);
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

  it('reads compressed files, byte order marks, and one file per split', async () => {
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

  it('puts questions without a split into every split', async () => {
    write('passages.jsonl', passage);
    write('questions.jsonl', row('a') + row('b', ',"split":"train"'));
    const { questions } = await loadDataSet(inFolder());
    const idsOf = (split: string): string[] => selectSplit(questions, split).map(({ id }) => id);
    expect([idsOf('train'), idsOf('test')]).toEqual([['a', 'b'], ['a']]);
  });

  it('names missing and broken files', async () => {
    await expect(loadDataSet(inFolder())).rejects.toThrow('corpus.jsonl');
    write('corpus.jsonl.gz', gzipSync(passage).subarray(0, 20));
    await expect(loadDataSet(inFolder())).rejects.toThrow(/corpus\.jsonl\.gz.*complete gzip/);
    write('corpus.jsonl', passage); // the plain file comes first
    await expect(loadDataSet(inFolder())).rejects.toThrow('questions.jsonl');
  });
});

describe('formatting', () => {
  it('round-trips', () => {
    const questions = parseQuestions(
      '{"id":"a","question":"Q?","golden_answers":["x"],"metadata":{"operation":null},"split":"test"}',
    );
    expect(parseQuestions(formatQuestions(questions))).toEqual(questions);
    const passages = parsePassages('{"id":"a","contents":"T\\nx"}');
    expect(parsePassages(formatPassages(passages))).toEqual(passages);
  });
});

it.each([readPassages, readQuestions])('reports a missing file', async (read) => {
  await expect(read('/none.jsonl')).rejects.toThrow(/none\.jsonl.*ENOENT/);
});

const benchmarks = process.env.PARALLELSEARCH_BENCHMARKS ?? '../shared/benchmarks';
const folders = existsSync(benchmarks)
  ? readdirSync(benchmarks).filter((name) => dataSetFiles(join(benchmarks, name)).passages)
  : [];

describe.skipIf(folders.length === 0)('benchmark folders (needs PARALLELSEARCH_BENCHMARKS)', () => {
  it.each(folders)('reads %s', async (name) => {
    const { passages, questions } = await loadDataSet(join(benchmarks, name));
    expect(passages.every(({ title }) => title !== '')).toBe(true);
    expect(selectSplit(questions, 'test').length).toBeGreaterThan(10);
  });
});
