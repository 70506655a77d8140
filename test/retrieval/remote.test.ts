import { afterEach, describe, expect, it } from 'vitest';
import { serveLocally } from '../../lib/io/local-server.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { startRetrievalServer, type RetrievalServerOptions } from '../../lib/retrieval/server.js';
import { echoRetriever, FILMS, makePassage } from './passages.js';

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((server) => server.close()));
});

async function serve(retriever: Retriever, options?: RetrievalServerOptions) {
  const server = await startRetrievalServer(retriever, options);
  opened.push(server);
  return server;
}

/** A server that answers everything with one status and text. */
async function fixedServer(status: number, text: string): Promise<string> {
  const server = await serveLocally(0, async () => new Response(text, { status }));
  opened.push(server);
  return `${server.url}retrieve`;
}

async function post(url: string, body: unknown, method = 'POST') {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  const response = await fetch(url, { method, ...(method === 'POST' ? { body: text } : {}) });
  return { status: response.status, json: (await response.json()) as { error: { message: string } } };
}

describe('remote retriever and server', () => {
  it('answer over HTTP as the retriever does itself', async () => {
    const local = createBm25Retriever(FILMS);
    const { url } = await serve(local);
    const queries = ['Tarkovsky film', 'capital of Estonia', 'zzz', 'Amélie'];
    const found = await createRemoteRetriever({ url }).retrieve(queries, { topK: 2 });
    expect(found).toEqual(await local.retrieve(queries, { topK: 2 }));
  });
  it('ask nothing for no queries', async () => {
    const remote = createRemoteRetriever({ url: 'http://127.0.0.1:1/retrieve' });
    expect(await remote.retrieve([], { topK: 3 })).toEqual([]);
  });
  it('close while a request waits', async () => {
    const server = await serve(echoRetriever(), { delayMs: 60_000 });
    const waiting = createRemoteRetriever({ url: server.url }).retrieve(['a'], { topK: 1 });
    const rejected = expect(waiting).rejects.toThrow('Expected a retrieval server at');
    await new Promise((resume) => setTimeout(resume, 30));
    await opened.pop()!.close();
    await rejected;
  });
});

describe('startRetrievalServer', () => {
  it("speaks Search-R1's protocol to the letter", async () => {
    const { url } = await serve(echoRetriever());
    const document = { id: 'a', contents: 'a' };
    const scored = await post(url, { queries: ['a'], topk: 3, return_scores: true });
    expect(scored).toEqual({ status: 200, json: { result: [[{ document, score: 1 }]] } });
    const bare = await post(url, { queries: ['a'] });
    expect(bare).toEqual({ status: 200, json: { result: [[document]] } });
  });
  it('waits for the artificial delay', async () => {
    const { url } = await serve(echoRetriever(), { delayMs: 50 });
    const start = performance.now();
    await createRemoteRetriever({ url }).retrieve(['a'], { topK: 1 });
    expect(performance.now() - start).toBeGreaterThanOrEqual(49);
  });
  it.each([
    ['not JSON', '{', 400, 'Expected the body to be JSON.'],
    ['queries of another type', { queries: 'a' }, 400, 'queries'],
    ['no queries', { queries: [] }, 400, 'queries'],
    ['topk below 1', { queries: ['a'], topk: 0 }, 400, 'topk'],
    [
      'topk above the limit',
      { queries: ['a'], topk: 11 },
      400,
      'Expected topk to be at most 10, but got 11.',
    ],
    ['too many queries', { queries: ['a', 'b', 'c'] }, 400, 'Expected at most 2 queries, but got 3.'],
    ['too large a body', { queries: ['a'.repeat(5000)] }, 413, 'Expected a body of at most 1000 bytes.'],
  ])('refuses %s', async (_, body, status, message) => {
    const { url } = await serve(echoRetriever(), { maxTopK: 10, maxQueries: 2, maxBodyBytes: 1000 });
    const answer = await post(url, body);
    expect(answer.status).toBe(status);
    expect(answer.json.error.message).toContain(message);
  });
  it('refuses other paths and methods, and reports a failing retriever', async () => {
    const failing = echoRetriever(() => {
      throw new Error('index gone');
    });
    const { url } = await serve(failing);
    expect((await post(url.replace('retrieve', 'other'), {})).status).toBe(404);
    expect((await post(url, {}, 'GET')).status).toBe(405);
    expect(await post(url, { queries: ['a'] })).toMatchObject({
      status: 500,
      json: { error: { message: 'index gone' } },
    });
  });
  it('tells the retriever when the client has gone', async () => {
    let gone: () => void;
    const seen = new Promise<void>((resolve) => (gone = resolve));
    const { url } = await serve(
      echoRetriever((_, signal) => new Promise(() => signal!.addEventListener('abort', () => gone()))),
    );
    const remote = createRemoteRetriever({ url, timeoutMs: 500 });
    await expect(remote.retrieve(['a'], { topK: 1 })).rejects.toThrow('within 500 ms');
    await seen;
  });
  it('rejects settings out of range and a port in use', async () => {
    await expect(startRetrievalServer(echoRetriever(), { maxTopK: 0 })).rejects.toThrow('maxTopK');
    const { port } = await serve(echoRetriever());
    await expect(startRetrievalServer(echoRetriever(), { port })).rejects.toThrow('EADDRINUSE');
  });
});

describe('createRemoteRetriever', () => {
  const ask = (url: string, topK = 3) => createRemoteRetriever({ url }).retrieve(['a'], { topK });

  it.each([
    ['another status', 503, 'busy', 'Expected status 200 from'],
    ['no JSON', 200, '<html>', 'Expected JSON from'],
    ['another protocol', 200, '{"results": []}', "Expected Search-R1's retrieval protocol from"],
    ['too few results', 200, '{"result": []}', 'Expected 1 results from'],
  ])('rejects an answer with %s', async (_, status, text, message) => {
    await expect(ask(await fixedServer(status, text))).rejects.toThrow(message);
  });
  it('reads documents with numeric or missing ids and missing scores, at most topK', async () => {
    const documents = [{ document: { id: 7, contents: 'T\nx' } }, { document: { contents: 'U\ny' } }];
    const url = await fixedServer(200, JSON.stringify({ result: [documents] }));
    expect(await ask(url)).toEqual([
      [
        { passage: makePassage('7', 'T\nx'), score: 1 },
        { passage: makePassage('U', 'U\ny'), score: 0.5 },
      ],
    ]);
    expect((await ask(url, 1))[0]).toHaveLength(1);
  });
  it('says where nothing listens, and refuses other addresses', async () => {
    await expect(ask('http://127.0.0.1:1/retrieve')).rejects.toThrow('Is it running?');
    expect(() => createRemoteRetriever({ url: 'localhost' })).toThrow('Expected url to be an http or https');
  });
  it("rejects with the caller's reason when aborted", async () => {
    const { url } = await serve(echoRetriever(), { delayMs: 1000 });
    const controller = new AbortController();
    const waiting = createRemoteRetriever({ url }).retrieve(['a'], { topK: 1, signal: controller.signal });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(waiting).rejects.toThrow('enough');
  });
});
