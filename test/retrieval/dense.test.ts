import { readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { corpusHash, embedCorpus } from '../../lib/retrieval/dense.js';
import type { Encoder } from '../../lib/retrieval/encoder.js';
import { loadHnswIndex } from '../../lib/retrieval/hnsw.js';
import { createRetriever } from '../../lib/retrieval/retrievers.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { folderForEach } from '../folder.js';
import { FILMS, hasHnswlib, makePassages } from './passages.js';

const inFolder = folderForEach();
const source = { corpus: 'c', encoder: 'e' };

/** Encodes each text as its number and counts calls; can fail at a given text. */
function countingEncoder(failAt?: string): Encoder & { asked: string[] } {
  const asked: string[] = [];
  return {
    name: 'counting',
    dimensions: 2,
    asked,
    encode: async (texts) => {
      if (failAt && texts.includes(failAt)) throw new Error('The power is gone.');
      asked.push(...texts);
      return texts.map((text) => Float32Array.of(Number(text), 1));
    },
  };
}

it('reports what an encoder lacks', async () => {
  await expect(createRetriever('exact', [], { encoder: inFolder('none') })).rejects.toThrow(
    /config\.json in .*none\. To get one:/,
  );
});

it.each(['exact', 'hnsw'])('stops making an index for %s at its signal', async (name) => {
  const signal = AbortSignal.abort(new Error('Interrupted.'));
  const passages = makePassages(['a', 'b']);
  await expect(createRetriever(name, passages, { signal })).rejects.toThrow('Interrupted.');
});

describe('embedCorpus', () => {
  const passages = makePassages(Array.from({ length: 1300 }, (_, i) => String(i)));
  const kept = () => ({ folder: inFolder('index'), source });

  it('resumes without encoding anything twice', async () => {
    const first = embedCorpus(countingEncoder('1100'), passages, kept());
    await expect(first).rejects.toThrow('The power');
    const second = countingEncoder();
    const vectors = await embedCorpus(second, passages, kept());
    expect(second.asked.length).toBe(1300 - 1024);
    expect(vectors.map(([first]) => first)).toEqual(passages.map((_, i) => i));
    const third = countingEncoder();
    expect(await embedCorpus(third, passages, kept())).toEqual(vectors);
    expect(third.asked).toEqual([]);
  });

  it('stops at its signal, and keeps the shards', async () => {
    const controller = new AbortController();
    const encoder = countingEncoder();
    const encode: Encoder['encode'] = (texts, options) => {
      if (texts.includes('600')) controller.abort(new Error('Interrupted.'));
      return encoder.encode(texts, options);
    };
    const stopped = { ...kept(), signal: controller.signal };
    await expect(embedCorpus({ ...encoder, encode }, passages, stopped)).rejects.toThrow('Interr');
    expect(encoder.asked.length).toBe(1024);
    const rest = countingEncoder();
    await embedCorpus(rest, passages, kept());
    expect(rest.asked.length).toBe(1300 - 1024);
  });

  it('encodes missing shards again, and rejects a truncated one', async () => {
    await embedCorpus(countingEncoder(), passages, kept());
    const shard = inFolder('index', 'embeddings-000001.safetensors');
    rmSync(shard);
    const encoder = countingEncoder();
    await embedCorpus(encoder, passages, kept());
    expect(encoder.asked[0]).toBe('512');
    writeFileSync(shard, '');
    await expect(embedCorpus(encoder, passages, kept())).rejects.toThrow('embeddings-000001.');
  });

  it.each([
    [{ corpus: 'other' }, 'corpus c'],
    [{ encoder: 'other' }, 'encoder e'],
  ])('rejects a folder made from another source: %o', async (change, message) => {
    await embedCorpus(countingEncoder(), passages, kept());
    const other = { ...kept(), source: { ...source, ...change } };
    await expect(embedCorpus(countingEncoder(), passages, other)).rejects.toThrow(message);
    const fewer = embedCorpus(countingEncoder(), passages.slice(1), kept());
    await expect(fewer).rejects.toThrow('size 1299');
  });
});

it('corpusHash depends on ids, texts and order', () => {
  const hashes = [
    FILMS,
    FILMS.toReversed(),
    FILMS.slice(1),
    FILMS.map((film) => ({ ...film, id: `${film.id}x` })),
  ];
  expect(new Set(hashes.map(corpusHash)).size).toBe(4);
  expect(corpusHash(FILMS.map((film) => ({ ...film })))).toBe(corpusHash(FILMS));
});

describe.skipIf(!hasHnswlib)(
  'a retriever with an encoder in Hugging Face format (needs hnswlib-node)',
  () => {
    beforeAll(() => useBackend('cpu'));
    const options = (): { encoder: string; index: string } => ({
      encoder: packagePath('test', 'fixtures', 'encoders', 'minilm'),
      index: inFolder('index'),
    });

    it('gives the same results from stored vectors and graph', async () => {
      const queries = FILMS.map(({ contents }) => contents);
      const ask = async (name: string): Promise<string[][]> => {
        const retriever = await createRetriever(name, FILMS, options());
        const lists = await retriever.retrieve(queries, { topK: 3 });
        return lists.map((list) => list.map(({ passage }) => passage.id));
      };
      const exact = await ask('exact');
      expect(exact.map(([first]) => first)).toEqual(FILMS.map(({ id }) => id));
      expect(await ask('hnsw')).toEqual(exact);
      expect(readdirSync(inFolder('index')).sort().join(' ')).toBe(
        'embeddings-000000.safetensors embeddings.json graph.hnsw graph.hnsw.json',
      );
      const written = statSync(inFolder('index', 'graph.hnsw')).mtimeMs;
      rmSync(inFolder('index', 'embeddings-000000.safetensors'));
      expect(await ask('hnsw')).toEqual(exact);
      expect(statSync(inFolder('index', 'graph.hnsw')).mtimeMs).toBe(written);
    });

    it('rejects a graph of other passages, another encoder or other settings', async () => {
      const open = (passages = FILMS, more = {}) =>
        createRetriever('hnsw', passages, { ...options(), ...more });
      await open();
      await expect(open(FILMS.slice(1))).rejects.toThrow(/of corpus \w+, but/);
      const encoder = packagePath('test', 'fixtures', 'encoders', 'xlm-roberta');
      await expect(open(FILMS, { encoder })).rejects.toThrow(/of encoder \w+, but/);
      const expected = { corpus: corpusHash(FILMS), encoder: 'any', m: 32 };
      await expect(loadHnswIndex(inFolder('index', 'graph.hnsw'), { expected })).rejects.toThrow(
        'encoder any',
      );
    });
  },
);
