import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { serveLocally } from '../../lib/io/local-server.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { startRetrievalServer, type RetrievalServerOptions } from '../../lib/retrieval/server.js';
import { closing, freePort } from '../servers.js';
import { echoRetriever, FILMS, makePassage } from './passages.js';

const serve = async (retriever: Retriever, options?: RetrievalServerOptions) =>
  closing(await startRetrievalServer(retriever, options));

/** A server with a fixed answer. */
async function fixedServer(status: number, text: string): Promise<string> {
  const server = closing(await serveLocally(0, async () => new Response(text, { status })));
  return `${server.url}retrieve`;
}

const JSON_TYPE: Record<string, string> = { 'content-type': 'application/json' };

async function post(url: string, body: unknown, { method = 'POST', headers = JSON_TYPE } = {}) {
  const isRaw = typeof body === 'string' || body instanceof Uint8Array;
  const text = isRaw ? (body as string) : JSON.stringify(body);
  const response = await fetch(url, { method, headers, ...(method === 'POST' && { body: text }) });
  const json = (await response.json()) as { error: { message: string } };
  return { status: response.status, json };
}

/** A retriever that answers once released, and its number of waiting calls. */
function slowRetriever() {
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const waiting = { count: 0 };
  const retriever = echoRetriever(async () => {
    waiting.count++;
    await released;
  });
  return { retriever, waiting, release };
}

describe('remote retriever and server', () => {
  it('give the same answers as the retriever itself', async () => {
    const local = createBm25Retriever(FILMS);
    const { url } = await serve(local);
    const queries = ['Tarkovsky film', 'capital of Estonia', 'zzz', 'Amélie'];
    const found = await createRemoteRetriever({ url }).retrieve(queries, { topK: 2 });
    expect(found).toEqual(await local.retrieve(queries, { topK: 2 }));
  });
  it('send no request for no queries', async () => {
    const remote = createRemoteRetriever({ url: 'http://127.0.0.1:1/retrieve' });
    expect(await remote.retrieve([], { topK: 3 })).toEqual([]);
  });
  it('can be closed during a request', async () => {
    const server = await serve(echoRetriever(), { delayMs: 60_000 });
    const waiting = createRemoteRetriever({ url: server.url }).retrieve(['a'], { topK: 1 });
    const rejected = expect(waiting).rejects.toThrow('retrieval server');
    await new Promise((resume) => setTimeout(resume, 30));
    await server.close();
    await rejected;
  });
});

describe('startRetrievalServer', () => {
  it("speaks Search-R1's protocol", async () => {
    const { url } = await serve(echoRetriever());
    const document = { id: 'a', contents: 'a' };
    const unset = await post(url, { queries: ['a'], topk: null, return_scores: null });
    expect(unset.status).toBe(200);
    const scored = await post(url, { queries: ['a'], topk: 3, return_scores: true });
    expect(scored).toEqual({ status: 200, json: { result: [[{ document, score: 1 }]] } });
    const bare = await post(url, { queries: ['a'] });
    expect(bare).toEqual({ status: 200, json: { result: [[document]] } });
  });
  it('applies the artificial delay', async () => {
    const { url } = await serve(echoRetriever(), { delayMs: 50 });
    const start = performance.now();
    await createRemoteRetriever({ url }).retrieve(['a'], { topK: 1 });
    expect(performance.now() - start).toBeGreaterThanOrEqual(49);
  });
  it.each([
    ['not JSON', '{', 400, 'JSON'],
    ['not UTF-8', Buffer.from('{"queries": ["Århus"]}', 'latin1'), 400, 'UTF-8'],
    ['queries of the wrong type', { queries: 'a' }, 400, 'queries'],
    ['no queries', { queries: [] }, 400, 'queries'],
    ['another name of topk', { queries: ['a'], top_k: 1 }, 400, 'only queries, topk and'],
    ['topk below 1', { queries: ['a'], topk: 0 }, 400, 'topk'],
    ['topk above the limit', { queries: ['a'], topk: 11 }, 400, 'at most 10'],
    ['too many queries', { queries: ['a', 'b', 'c'] }, 400, 'at most 2'],
    ['too many passages', { queries: ['a', 'b'], topk: 8 }, 400, 'at most 15'],
    ['an overlong query', { queries: ['a'.repeat(101)] }, 400, 'at most 100'],
    ['an oversized body', { queries: ['a'.repeat(5000)] }, 413, 'at most 1000 bytes'],
  ])('rejects %s', async (_, body, status, message) => {
    const { url } = await serve(echoRetriever(), {
      maxTopK: 10,
      maxQueries: 2,
      maxPassages: 15,
      maxQueryLength: 100,
      maxBodyBytes: 1000,
    });
    const answer = await post(url, body);
    expect(answer.status).toBe(status);
    expect(answer.json.error.message).toContain(message);
  });
  it('rejects other paths and methods, and reports retriever errors', async () => {
    const failing = echoRetriever(() => {
      throw new Error('index gone');
    });
    const { url } = await serve(failing);
    expect((await post(url.replace('retrieve', 'other'), {})).status).toBe(404);
    expect((await post(url, {}, { method: 'GET' })).status).toBe(405);
    expect(await post(url, { queries: ['a'] })).toMatchObject({
      status: 500,
      json: { error: { message: 'index gone' } },
    });
  });
  it.each(['evil.example', '127.0.0.1', 'localhost:1'])(
    'rejects the host name %s, also against DNS rebinding',
    async (host) => {
      const { url } = await serve(echoRetriever());
      // Not fetch, which sets the Host header itself.
      const sent = request(url, { method: 'POST', headers: { ...JSON_TYPE, host } }).end(
        '{"queries": ["a"]}',
      );
      const [response] = (await once(sent, 'response')) as [IncomingMessage];
      expect(response.statusCode).toBe(403);
      response.resume();
    },
  );
  it('rejects a compressed body', async () => {
    const { url } = await serve(echoRetriever());
    const headers = { ...JSON_TYPE, 'content-encoding': 'gzip' };
    const { status, json } = await post(url, gzipSync('{"queries": ["a"]}'), { headers });
    expect(status).toBe(415);
    expect(json.error.message).toContain('gzip');
  });

  it.each([undefined, 'text/plain', 'application/x-www-form-urlencoded'])(
    'rejects the content type %s',
    async (type) => {
      const { url } = await serve(echoRetriever());
      const ask = async (headers: Record<string, string>) =>
        (await post(url, { queries: ['a'] }, { headers })).status;
      expect(await ask(type ? { 'content-type': type } : {})).toBe(415);
      expect(await ask({ 'content-type': 'Application/JSON; charset=utf-8' })).toBe(200);
    },
  );
  it('checks the token, and needs one on a public address', async () => {
    const open = startRetrievalServer(echoRetriever(), { host: '0.0.0.0' });
    await expect(open).rejects.toThrow('token');
    const { port } = await serve(echoRetriever(), { host: '0.0.0.0', token: 'secret' });
    const url = `http://127.0.0.1:${port}/retrieve`;
    const ask = (token?: string) =>
      createRemoteRetriever({ url, token }).retrieve(['a'], { topK: 1 });
    for (const wrong of [undefined, 'Secret', 'secret2', ''])
      await expect(ask(wrong)).rejects.toThrow('got 401');
    expect(await ask('secret')).toHaveLength(1);
  });
  it('rejects requests over the limit without reading them, also after clients have disconnected', async () => {
    const { retriever, waiting, release } = slowRetriever();
    const { url } = await serve(retriever, { maxConcurrency: 2, timeoutMs: 100 });
    const late = [post(url, { queries: ['a'] }), post(url, { queries: ['b'] })];
    await expect.poll(() => waiting.count).toBe(2);
    expect((await post(url, '{')).json.error).toMatchObject({
      code: 429,
      message: expect.stringContaining('at most 2') as string,
    });
    for (const { status, json } of await Promise.all(late)) {
      expect(status).toBe(503);
      expect(json.error.message).toContain('100 ms');
    }
    expect((await post(url, { queries: ['c'] })).status).toBe(429);
    release();
    await expect.poll(async () => (await post(url, { queries: ['c'] })).status).toBe(200);
  });
  it('frees the slots of clients whose bodies never end', async () => {
    const { url, port } = await serve(echoRetriever(), { maxConcurrency: 2, timeoutMs: 100 });
    const head = `POST /retrieve HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`;
    for (const framing of [
      'Content-Length: 1000\r\n\r\n{',
      'Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n',
    ]) {
      const clients = [0, 1].map(() => connect(port, '127.0.0.1').on('error', () => undefined));
      const drip = setInterval(() => {
        for (const client of clients)
          if (client.writable) client.write(framing.includes('chunked') ? '1\r\n \r\n' : ' ');
      }, 20);
      for (const client of clients) client.write(head + framing);
      const answers = await Promise.all(
        clients.map((client) => once(client, 'data') as Promise<[Buffer]>),
      );
      for (const [answer] of answers) expect(answer.toString()).toContain(' 503 ');
      await expect.poll(async () => (await post(url, { queries: ['c'] })).status).toBe(200);
      clearInterval(drip);
      for (const client of clients) client.destroy();
    }
  });
  it('reports only the first of a million errors', async () => {
    const { url } = await serve(echoRetriever(), { maxBodyBytes: 1 << 24 });
    const queries = Array.from({ length: 1_000_000 }, (_, i) => i);
    const { status, json } = await post(url, { queries });
    expect(status).toBe(400);
    expect(json.error.message).toContain('queries[0]');
    expect(json.error.message.length).toBeLessThan(500);
  });
  it('stops at a signal, after the requests in flight', async () => {
    const before = process.listeners('SIGTERM');
    const { retriever, waiting, release } = slowRetriever();
    const server = await serve(retriever, { stopOnSignals: true });
    const { url } = server;
    const asked = post(url, { queries: ['a'] });
    await expect.poll(() => waiting.count).toBe(1);
    for (const stop of process
      .listeners('SIGTERM')
      .filter((listener) => !before.includes(listener)))
      stop('SIGTERM');
    await expect.poll(() => post(url, { queries: ['b'] }).catch(() => 'gone')).toBe('gone');
    release();
    expect((await asked).status).toBe(200);
    await server.close();
    expect(process.listeners('SIGTERM')).toEqual(before);
  });
  it('aborts the retriever when the client disconnects', async () => {
    let gone: () => void;
    const seen = new Promise<void>((resolve) => (gone = resolve));
    const { url } = await serve(
      echoRetriever(
        (_, signal) => new Promise(() => signal!.addEventListener('abort', () => gone())),
      ),
    );
    const remote = createRemoteRetriever({ url, timeoutMs: 500 });
    await expect(remote.retrieve(['a'], { topK: 1 })).rejects.toThrow('within 500 ms');
    await seen;
  });
  it('rejects invalid options and a port in use', async () => {
    await expect(startRetrievalServer(echoRetriever(), { maxTopK: 0 })).rejects.toThrow('maxTopK');
    const more = startRetrievalServer(echoRetriever(), { defaultTopK: 101 });
    await expect(more).rejects.toThrow('at most 100, but got 101');
    const { port } = await serve(echoRetriever());
    await expect(startRetrievalServer(echoRetriever(), { port })).rejects.toThrow('EADDRINUSE');
  });
});

/** An answer to one query with passages of these scores. */
const answerOf = (...scores: number[]): string =>
  JSON.stringify({ result: [scores.map((score) => ({ document: { contents: 'T' }, score }))] });

describe('createRemoteRetriever', () => {
  const ask = (url: string, topK = 3) =>
    createRemoteRetriever({ url, maxResponseBytes: 1000, backOffMs: 1 }).retrieve(['a'], { topK });

  it.each([
    ['another status', 503, 'busy', 'status'],
    ['no JSON', 200, '<html>', 'JSON'],
    ['another protocol', 200, '{"results": []}', 'protocol'],
    ['an error', 200, '{"detail": "loading"}', 'error: loading'],
    ['too few results', 200, '{"result": []}', 'got 0'],
    ['too many results', 200, '{"result": [[], []]}', 'got 2'],
    ['too many passages', 200, answerOf(1, 1, 1, 1), 'query 0'],
    ['passages in the wrong order', 200, answerOf(3, 1, 2), 'score 2 comes after 1'],
    ['too many bytes', 200, ' '.repeat(1001), '1000 bytes'],
  ])('rejects an answer with %s', async (_, status, text, message) => {
    await expect(ask(await fixedServer(status, text))).rejects.toThrow(message);
  });
  it('accepts numeric or missing ids, missing scores and titles in a field', async () => {
    const documents = [
      { document: { id: 7, contents: 'x', title: 'T' } },
      { document: { contents: 'U\ny' } },
    ];
    const url = await fixedServer(200, JSON.stringify({ result: [documents] }));
    expect(await ask(url)).toEqual([
      [
        { passage: makePassage('7', 'T\nx'), score: 1 },
        { passage: makePassage('U', 'U\ny'), score: 0.5 },
      ],
    ]);
  });
  it.each([
    ['a single query if the server is busy', ['a'], 429, 3],
    ['no single query after a permanent error', ['a'], 400, 1],
    ['no batch, which the caller splits', ['a', 'b'], 503, 1],
  ])('retries %s', async (_, queries, status, numTries) => {
    let tries = 0;
    const server = closing(
      await serveLocally(0, async () => {
        tries++;
        return tries < 3 ? new Response('busy', { status }) : new Response(answerOf(1));
      }),
    );
    const asked = createRemoteRetriever({ url: server.url, backOffMs: 1 }).retrieve(queries, {
      topK: 1,
    });
    if (numTries === 3) expect(await asked).toHaveLength(1);
    else await expect(asked).rejects.toThrow(`got ${status}: busy`);
    expect(tries).toBe(numTries);
  });
  it('rejects unreachable servers and other addresses', async () => {
    await expect(ask(`http://127.0.0.1:${await freePort()}/retrieve`)).rejects.toThrow(
      'Is it running?',
    );
    expect(() => createRemoteRetriever({ url: 'localhost' })).toThrow('url');
  });
  it("rejects with the caller's reason when aborted", async () => {
    const { url } = await serve(echoRetriever(), { delayMs: 1000 });
    const controller = new AbortController();
    const waiting = createRemoteRetriever({ url }).retrieve(['a'], {
      topK: 1,
      signal: controller.signal,
    });
    setTimeout(() => controller.abort(new Error('enough')), 20);
    await expect(waiting).rejects.toThrow('enough');
  });
});
