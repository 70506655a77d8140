import { afterAll, describe, expect, it, vi } from 'vitest';
import { loadDataSet } from '../../lib/data/flashrag.js';
import type { LocalServer } from '../../lib/io/local-server.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import {
  createRetriever,
  RETRIEVERS,
  retrieverNameSchema,
} from '../../lib/retrieval/retrievers.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { FILMS } from './passages.js';

let server: LocalServer | undefined;
afterAll(() => server?.close());

const idsOf = async (name: string, options = {}): Promise<string[]> => {
  const retriever = await createRetriever(name, FILMS, options);
  const [found] = await retriever.retrieve(['film Tallinn'], { topK: 3 });
  return found.map(({ passage }) => passage.id);
};

describe('createRetriever', () => {
  it.each(RETRIEVERS.names())('finds a small-world passage by its title with %s', async (name) => {
    const passages = (await loadDataSet()).passages.slice(0, 50);
    const retriever = await createRetriever(name, passages);
    const titles = passages.map(({ title }) => title);
    const found = await retriever.retrieve(titles, { topK: 1 });
    const right = found.filter(([{ passage }], i) => passage.title === passages[i].title);
    expect(right.length).toBeGreaterThan(40);
  });

  it('applies the title weight', async () => {
    const found = createBm25Retriever(FILMS, { titleWeight: 0 }).search('film Tallinn', 3);
    const expected = found.map(({ index }) => FILMS[index].id);
    expect(await idsOf('bm25', { titleWeight: 0 })).toEqual(expected);
    expect(await idsOf('bm25')).not.toEqual(expected);
  });

  it("queries a server by address with the environment's token", async () => {
    server = await startRetrievalServer(createBm25Retriever(FILMS), { token: 'secret' });
    await expect(idsOf(server.url)).rejects.toThrow('got 401');
    vi.stubEnv('RETRIEVAL_TOKEN', 'secret');
    expect(retrieverNameSchema.parse(server.url)).toBe(server.url);
    const shouted = server.url.replace('http', 'HTTP');
    expect(retrieverNameSchema.parse(shouted)).toBe(shouted);
    expect((await idsOf(server.url))[0]).toBe('p2');
  });

  it('lists the known names for an unknown one', async () => {
    const message = 'Expected a retriever of bm25, exact, hnsw';
    await expect(createRetriever('bm52', FILMS)).rejects.toThrow(message);
    expect(() => retrieverNameSchema.parse('bm52')).toThrow(message);
  });
});
