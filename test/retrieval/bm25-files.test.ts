import { readdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { mkdir, open, rm } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { beforeEach, describe, expect, it, vi } from 'vitest';
import { formatPassages } from '../../lib/data/flashrag.js';
import { ANALYZERS } from '../../lib/retrieval/analyzers.js';
import { hasBm25Index, openBm25Files, type OpenOptions } from '../../lib/retrieval/bm25-files.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { folderForEach } from '../folder.js';
import { cases } from '../full.js';
import { FILMS, makePassage, makePassages } from './passages.js';

const inFolder = folderForEach();
beforeEach(() => void vi.spyOn(console, 'error').mockReturnValue());

const openFilms = (options: OpenOptions = {}, analyzer = 'plain') =>
  openBm25Files(
    { file: inFolder('corpus.jsonl'), titleWeight: 5, analyzer },
    { folder: inFolder('index'), ...options },
  );
const writeFilms = (passages = FILMS): void =>
  writeFileSync(inFolder('corpus.jsonl'), formatPassages(passages));
const find = async (query: string, options?: OpenOptions): Promise<string[]> => {
  const [results] = await (await openFilms(options)).retrieve([query], { topK: 9 });
  return results.map(({ passage }) => passage.title);
};

it('finds the same passages with the same scores as in memory', async () => {
  const list = 'ant Bee cats the élan 青石 ハス เมืองหลวง 😀'.split(' ');
  const words = (maxLength: number) =>
    fc.array(fc.constantFrom(...list), { maxLength }).map((parts) => parts.join(' '));
  const passage = fc.tuple(words(2), words(9)).map((lines) => lines.join('\n'));
  const query = words(6).map((text) => `${text} zebra`);
  const options = fc.record({
    titleWeight: fc.constantFrom(0, 0.3, 1, 5),
    analyzer: fc.constantFrom(...ANALYZERS.names()),
    shardSize: fc.constantFrom(1, 7, 1000),
    topK: fc.constantFrom(1, 3, 30),
  });
  const some = <T>(item: fc.Arbitrary<T>, maxLength: number) =>
    fc.array(item, { minLength: 1, maxLength });
  const isSame = fc.asyncProperty(
    some(passage, 20),
    some(query, 5),
    options,
    async (contents, queries, { topK, shardSize, ...settings }) => {
      const [file, folder] = [inFolder('corpus.jsonl'), inFolder('index')];
      await rm(folder, { recursive: true, force: true });
      const passages = makePassages(contents);
      writeFilms(passages);
      const onDisk = await openBm25Files({ file, ...settings }, { folder, shardSize });
      const { analyze } = ANALYZERS.get(settings.analyzer);
      const inMemory = createBm25Retriever(passages, { ...settings, analyze });
      for (const query of queries) expect(onDisk.fullScore(query)).toBe(inMemory.fullScore(query));
      const expected = await inMemory.retrieve(queries, { topK });
      expect(await onDisk.retrieve(queries, { topK })).toEqual(expected);
    },
  );
  await fc.assert(isSame, { numRuns: cases(12, 40) });
});

it('names the folder that a full disk prevents writing', async () => {
  writeFilms();
  const handle = await open(inFolder('corpus.jsonl'));
  const prototype = Object.getPrototypeOf(handle) as typeof handle;
  await handle.close();
  const full = new Error('ENOSPC: no space left on device, write'); // as Node writes it
  const spy = vi.spyOn(prototype, 'writeFile').mockRejectedValue(full);
  await expect(openFilms()).rejects.toThrow(`device, write '${inFolder('index')}'`);
  spy.mockRestore();
});

it('writes the same index with one process and with two', async () => {
  const texts = Array.from({ length: 90 }, (_, i) => `Title ${i % 7}\nmoss ${i} ${i % 11} moss`);
  writeFilms(makePassages(texts));
  const indexed = async (options: OpenOptions): Promise<Record<string, string>> => {
    await rm(inFolder('index'), { recursive: true, force: true });
    await openFilms(options);
    const folder = inFolder('index', 'bm25');
    const names = readdirSync(folder);
    return Object.fromEntries(
      names.map((name) => [name, readFileSync(`${folder}/${name}`).toString('hex')]),
    );
  };
  expect(await indexed({ processes: 2, shardSize: 100 })).toEqual(await indexed({ processes: 1 }));
});

it('reads a compressed file, blank lines and a byte order mark', async () => {
  const [first, ...others] = FILMS.map((film) => formatPassages([film]));
  writeFileSync(inFolder('corpus.jsonl'), `\uFEFF${first}\n \r\n${others.join('')}\n`);
  expect(await find('Amelie Solaris')).toEqual(['Amélie', 'Solaris']);
  writeFileSync(inFolder('corpus.jsonl'), gzipSync(readFileSync(inFolder('corpus.jsonl'))));
  expect(await find('Amelie Solaris')).toEqual(['Amélie', 'Solaris']);
});

it('names a cut compressed file', async () => {
  writeFileSync(inFolder('corpus.jsonl'), gzipSync(formatPassages(FILMS)).subarray(0, -9));
  await expect(openFilms()).rejects.toThrow(/corpus\.jsonl to be a complete gzip file/);
});

describe('a changed corpus', () => {
  it.each([
    ['size', formatPassages([...FILMS, makePassage('x', 'Moss\nSolaris')])],
    ['mtimeMs', formatPassages(FILMS)],
    ['sample', formatPassages(FILMS).replaceAll('Solaris', 'Polaris')],
  ])('is detected by its %s', async (what, text) => {
    writeFilms();
    const file = inFolder('corpus.jsonl');
    utimesSync(file, new Date(), new Date(1e12));
    await openFilms();
    await openFilms();
    expect(console.error).toHaveBeenCalledTimes(1);
    writeFileSync(file, text);
    utimesSync(file, new Date(), new Date(what === 'mtimeMs' ? 2e12 : 1e12));
    const changed = await openFilms();
    expect(vi.mocked(console.error).mock.lastCall![0]).toContain(what);
    expect(changed.search('Solaris', 9)).toHaveLength({ size: 2, sample: 0 }[what] ?? 1);
  });
});

describe('an unsuitable index', () => {
  it('is rejected with the file that is truncated, damaged or missing', async () => {
    writeFilms();
    await openFilms();
    const folder = inFolder('index', 'bm25');
    const search = async (): Promise<unknown> => find('Solaris film of Tallinn');
    for (const name of readdirSync(folder)) {
      const path = `${folder}/${name}`;
      const bytes = readFileSync(path);
      for (const damaged of [bytes.subarray(1), bytes.map((byte, i) => (i === 0 ? ~byte : byte))]) {
        writeFileSync(path, damaged);
        await expect(search(), name).rejects.toThrow(name);
      }
      await rm(path);
      if (name !== 'index.json') await expect(search(), name).rejects.toThrow(name);
      writeFileSync(path, bytes);
    }
    await search();
  });

  it('is kept if it belongs to another program', async () => {
    writeFilms();
    await mkdir(inFolder('index', 'bm25'), { recursive: true });
    writeFileSync(inFolder('index', 'bm25', 'vocab.index.json'), '{}');
    await expect(openFilms()).rejects.toThrow(/bm25 to be an index .* --index/);
    expect(readdirSync(inFolder('index', 'bm25'))).toEqual(['vocab.index.json']);
  });

  it('is rejected if made with another analyzer', async () => {
    writeFilms();
    await openFilms();
    await expect(openFilms({}, 'english')).rejects.toThrow(/analyzer english.*analyzer plain/);
  });
});

it('leaves nothing behind when interrupted or killed', async () => {
  writeFilms(makePassages(Array.from({ length: 600 }, (_, i) => `Title\nText ${i}`)));
  await expect(openFilms({ signal: AbortSignal.abort(new Error('stop')) })).rejects.toThrow('stop');
  expect(readdirSync(inFolder('index'))).toEqual([]);
  await mkdir(inFolder('index', 'bm25.1-0.partial'));
  await openFilms();
  expect(readdirSync(inFolder('index'))).toEqual(['bm25']);
  expect(readdirSync(inFolder('index', 'bm25')).join()).not.toContain('shard');
});

it('keeps a small file in memory unless there is an index', async () => {
  writeFilms();
  const options = { index: inFolder('index') };
  const search = async () => {
    const retriever = await createRetriever('bm25', inFolder('corpus.jsonl'), options);
    return retriever.retrieve(['Tallinn'], { topK: 5 });
  };
  const found = await search();
  expect(hasBm25Index(inFolder('index'))).toBe(false);
  await openFilms();
  writeFileSync(inFolder('corpus.jsonl'), formatPassages(FILMS.slice(1)));
  expect(await search()).not.toEqual(found);
  expect(vi.mocked(console.error).mock.lastCall![0]).toContain('size');
});

it.each([
  ['{"id":"a","contents":"x"}\n{oops', /corpus\.jsonl, line 2: .*JSON/],
  ['{"id":"a","contents":"x"}\n\n{"id":"a","contents":"y"}', /line 3: .*unique.*line 1/],
  ['\n', /corpus\.jsonl: .*none/],
  [Buffer.from([0x22, 0xff, 0x22]), /line 1: .*UTF-8/],
])('reports an invalid line %#', async (text, message) => {
  writeFileSync(inFolder('corpus.jsonl'), text);
  await expect(openFilms()).rejects.toThrow(message);
  await expect(openFilms({ processes: 2 })).rejects.toThrow(message);
});
