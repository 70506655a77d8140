import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { createServer } from 'node:https';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { splitCredentials } from '../../lib/io/credentials.js';
import { HttpError, requestEvents, requestJson, type JsonRequest } from '../../lib/io/http.js';
import { serveLocally, type LocalServer, type ServedRequest } from '../../lib/io/local-server.js';
import { findProgram } from '../../lib/io/paths.js';
import { words } from '../commands/command-line.js';
import { temporaryFolder } from '../folder.js';
import { closing, freePort } from '../servers.js';

const folder = temporaryFolder();
const REQUEST: JsonRequest = {
  retries: 0,
  backOffMs: 1,
  maxResponseBytes: 1000,
  server: 'a clock',
};

let server: LocalServer;

/** A server that gives these answers in order, then repeats the last. */
async function serveAnswers(...answers: (() => Response)[]): Promise<ServedRequest[]> {
  const asked: ServedRequest[] = [];
  server = closing(
    await serveLocally(0, async (request) => {
      asked.push(request);
      return answers[Math.min(asked.length, answers.length) - 1]();
    }),
  );
  return asked;
}
const ask = (more: Partial<JsonRequest> = {}): Promise<unknown> =>
  requestJson(server.url, { ...REQUEST, ...more });
const busy = (headers = {}) => new Response('busy', { status: 503, headers });

describe('requestJson', () => {
  it('sends GET, or POST with JSON and the token', async () => {
    const asked = await serveAnswers(() => Response.json({ time: 12 }));
    expect(await ask()).toEqual({ time: 12 });
    await ask({ body: { zone: 'UTC' }, token: 'secret' });
    expect(asked.map(({ method }) => method)).toEqual(['GET', 'POST']);
    expect(asked[1].headers).toMatchObject({
      'content-type': 'application/json',
      authorization: 'Bearer secret',
    });
  });

  it('rejects answers that are not UTF-8 or JSON, and drops a byte order mark', async () => {
    const events = Buffer.from('data: "Århus"\n\n', 'latin1');
    const bodies = [
      events,
      Buffer.from('"Århus"', 'latin1'),
      Buffer.from('\uFEFF"Århus"'),
      '[NaN]',
    ];
    const raw = createHttpServer((_, response) => void response.end(bodies.shift()));
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}/`;
    const streamed = requestEvents(url, { ...REQUEST, onData: () => undefined });
    await expect(streamed).rejects.toThrow('events in UTF-8');
    await expect(requestJson(url, REQUEST)).rejects.toThrow('JSON in UTF-8');
    expect(await requestJson(url, REQUEST)).toBe('Århus');
    await expect(requestJson(url, REQUEST)).rejects.toThrow('but it has NaN');
    raw.close();
  });

  it('retries the given number of times', async () => {
    const asked = await serveAnswers(busy, busy, () => Response.json(1));
    expect(await ask({ retries: 2 })).toBe(1);
    expect(asked).toHaveLength(3);
    const others = await serveAnswers(busy);
    const refused = /^Expected status 200 from .*, but got 503: busy$/;
    await expect(ask({ retries: 2 })).rejects.toThrow(refused);
    expect(others).toHaveLength(3);
  });

  it('reports status and Retry-After', async () => {
    await serveAnswers(() => busy({ 'retry-after': '2' }));
    const error = await ask().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(HttpError);
    expect(error).toMatchObject({ status: 503, waitMs: 2000 });
  });

  it('announces a long wait once, and rejects an endless one', async () => {
    const told = vi.spyOn(console, 'error').mockReturnValue();
    await serveAnswers(() => busy({ 'retry-after': '7' }));
    for (let i = 0; i < 2; i++) {
      const signal = AbortSignal.timeout(100);
      await expect(ask({ retries: 1, signal })).rejects.toThrow('timeout');
    }
    expect(told).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(
        /^Waiting 7 s before try 2 of 2: .* status 200 from .*, but got 503: busy$/,
      ),
    );
    const asked = await serveAnswers(() => busy({ 'retry-after': '999999' }));
    await expect(ask({ retries: 9 })).rejects.toThrow(/got 503: busy .*999999 s \(Retry-After\)/);
    expect(asked).toHaveLength(1);
    told.mockRestore();
  });

  it.each([
    ['br', '{"a": 1}', 'Decompression failed'],
    ['br', 'x', 'content-encoding br'],
    ['gzip', '{"a": 1}', 'header'],
  ])(
    'reports that an answer with encoding %s cannot be decompressed: %j',
    async (encoding, sent, reason) => {
      await serveAnswers(() => new Response(sent, { headers: { 'content-encoding': encoding } }));
      await expect(ask()).rejects.toThrow(reason);
    },
  );

  it('stops waiting when aborted', async () => {
    await serveAnswers(busy);
    const signal = AbortSignal.timeout(20);
    await expect(ask({ retries: 9, backOffMs: 60_000, signal })).rejects.toMatchObject({
      name: 'TimeoutError',
    });
  });

  it('rejects long or invalid responses and unreachable servers', async () => {
    await serveAnswers(() => new Response('x'.repeat(1001)));
    await expect(ask()).rejects.toThrow('1000 bytes');
    await serveAnswers(() => new Response('noon'));
    await expect(ask()).rejects.toThrow('noon');
    await server.close();
    const away = /^Expected a clock at .*, but it can't be reached. Is it running\?$/;
    await expect(ask()).rejects.toThrow(away);
  });

  it('waits for a server that goes away, but not for one that was never there', async () => {
    const told = vi.spyOn(console, 'error').mockReturnValue();
    await serveAnswers(() => Response.json(1));
    await ask();
    await server.close();
    const signal = AbortSignal.timeout(50);
    await expect(ask({ retries: 1, backOffMs: 1000, signal })).rejects.toThrow('timeout');
    expect(told).toHaveBeenCalledExactlyOnceWith(
      expect.stringMatching(/^Waiting 1 s before try 2 of 2: .*Is it running\?$/),
    );
    told.mockRestore();
    const tries = { ...REQUEST, retries: 9, backOffMs: 60_000 };
    // By name: an earlier test may have had a server at the same address.
    const url = `http://localhost:${await freePort()}`;
    await expect(requestJson(url, tries)).rejects.toThrow('Is it running?');
  });

  it('fails at once if a retry cannot help', async () => {
    const tries = { retries: 9, backOffMs: 60_000 };
    await serveAnswers(() => new Response('', { status: 307, headers: { location: '/' } }));
    await expect(ask(tries)).rejects.toThrow('redirects without end');
    await serveAnswers(() => new Response('', { status: 302, headers: { location: 'file:///' } }));
    await expect(ask(tries)).rejects.toThrow('an address that is not http');
    const reserved = 'http://127.0.0.1:6000';
    await expect(requestJson(reserved, { ...REQUEST, ...tries })).rejects.toThrow('is reserved');
    const url = server.url.replace('http:', 'https:');
    await expect(requestJson(url, { ...REQUEST, ...tries })).rejects.toThrow('https');
    await serveAnswers(() => new Response('', { headers: { 'x-trace': 'a'.repeat(20_000) } }));
    await expect(ask(tries)).rejects.toThrow('headers of its answer have more than 16384 bytes');
  });

  it('names what to encode in a password', async () => {
    const asked = requestJson('http://me:a/b@127.0.0.1:8000/v1', {
      ...REQUEST,
      server: 'a server',
    });
    await expect(asked).rejects.toThrow(
      'Expected the address of a server, but got http://127.0.0.1:8000/v1. In a password, write / as %2F',
    );
  });

  it('shows no queries, which may hold keys', async () => {
    await serveAnswers(
      () => new Response('', { status: 307, headers: { location: '/b?key=SECRET' } }),
      () => new Response('no', { status: 404 }),
    );
    const asked = requestJson(`${server.url}/a?key=SECRET`, REQUEST);
    await expect(asked).rejects.toThrow(
      /\/a\?\.\.\., which redirects to .*\/b\?\.\.\., but got 404/,
    );
  });

  it('accepts a bare percent sign in a password', () => {
    const { url, authorization } = splitCredentials('http://me:1%+%40@host/');
    expect(url).toBe('http://host/');
    expect(authorization).toBe(`Basic ${Buffer.from('me:1%+%40').toString('base64')}`);
  });

  it.each([
    ['HTTP/1.1 200 OK\r\ncontent-length: 99\r\n\r\n{', 'closed the connection before the end'],
    ['', 'closed the connection before the end'],
    ['220 mail.example ESMTP\r\n', 'does not speak HTTP'],
  ])('explains the invalid answer %j', async (sent, reason) => {
    const raw = createTcpServer((socket) => {
      socket.on('error', () => undefined).once('data', () => socket.end(sent));
    });
    await once(raw.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(raw.address() as AddressInfo).port}`;
    await expect(requestJson(url, REQUEST)).rejects.toThrow(reason);
    raw.close();
  });

  it('hangs up when an event is rejected', async () => {
    const streaming = createHttpServer((_, response) => {
      response.write('data: bad\n\n');
      const timer = setInterval(() => response.write('data: more\n\n'), 5);
      response.on('close', () => {
        clearInterval(timer);
        streaming.close();
        // Else an unused connection stays open for three seconds.
        streaming.closeAllConnections();
      });
    });
    await once(streaming.listen(0, '127.0.0.1'), 'listening');
    const closed = once(streaming, 'close');
    const url = `http://127.0.0.1:${(streaming.address() as AddressInfo).port}`;
    const onData = (data: string): never => {
      throw new Error(`not ${data}`);
    };
    await expect(requestEvents(url, { ...REQUEST, onData })).rejects.toThrow('not bad');
    await closed;
  });

  it('ends at the end mark, though the connection stays open and more follows', async () => {
    const open = createHttpServer((_, response) => {
      response.write('data: a\n\ndata: [DONE]\n\ndata: b\n\n');
    });
    await once(open.listen(0, '127.0.0.1'), 'listening');
    const url = `http://127.0.0.1:${(open.address() as AddressInfo).port}`;
    const seen: string[] = [];
    const onData = (data: string): number => seen.push(data);
    expect(await requestEvents(url, { ...REQUEST, onData })).toBe(true);
    expect(seen).toEqual(['a']);
    open.close();
  });

  it.each([
    ['data: a\n\ndata: b', false],
    ['data: a\r\n\r\ndata: b\r\n', false],
    ['data: a\n\ndata: b\n\ndata: [DONE]', true],
    ['data: a\n\ndata: b\n\ndata:  [DONE] \n\n', true],
  ])('reads the last event without an empty line after it: %j', async (sent, isDone) => {
    await serveAnswers(() => new Response(sent));
    const seen: string[] = [];
    const onData = (data: string): number => seen.push(data);
    expect(await requestEvents(server.url, { ...REQUEST, onData })).toBe(isDone);
    expect(seen).toEqual(['a', 'b']);
  });

  it('shows what it received instead of events', async () => {
    await serveAnswers(() => Response.json({ error: { message: 'quota exceeded' } }));
    const asked = requestEvents(server.url, { ...REQUEST, onData: () => undefined });
    await expect(asked).rejects.toThrow(/stream of events.*quota exceeded/);
  });

  it.each([
    ['a status', new Response('use POST', { status: 405 }), /got 405/],
    ['an HTML page', new Response('<html>'), /got: <html>/],
  ])('reports a redirect that led to %s because POST became GET', async (_, answer, reason) => {
    const moved = () => new Response('', { status: 301, headers: { location: '/moved' } });
    const asked = await serveAnswers(moved, () => answer);
    const error = ask({ body: {} }).catch(({ message }: Error) => message);
    expect(await error).toMatch(/which redirects to .*\/moved, but /);
    expect(await error).toMatch(reason);
    expect(asked.map(({ method }) => method)).toEqual(['POST', 'GET']);
  });

  it.each(['a\nb', 'a€'])('rejects a key that is invalid in a header: %j', async (token) => {
    await serveAnswers(() => Response.json(1));
    const error = (await ask({ token, retries: 9 }).catch((reason: unknown) => reason)) as Error;
    expect(error.message).toMatch(/Expected a key/);
    expect(error.message).not.toContain(token);
  });

  it('reports an unknown host', async () => {
    const cause = Object.assign(new Error('getaddrinfo'), { code: 'ENOTFOUND' });
    const unknown = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('', { cause }));
    const asked = requestJson('http://nowhere/', { ...REQUEST, retries: 0 });
    await expect(asked).rejects.toThrow('no host of this name');
    unknown.mockRestore();
  });

  // As undici words it, in Node 20 to 24.
  it('reports a proxy that asks for a login', async () => {
    const refusal = new Error('Proxy response (407) !== 200 when HTTP Tunneling');
    const cause = new Error('Request was cancelled.', { cause: refusal });
    const asking = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('', { cause }));
    const asked = requestJson('http://nowhere/', { ...REQUEST, retries: 9 });
    await expect(asked).rejects.toThrow('the proxy asks for a login');
    asking.mockRestore();
  });

  // As Node words them.
  it.each([
    ['CERT_HAS_EXPIRED', 'certificate has expired'],
    ['CERT_NOT_YET_VALID', 'certificate is not yet valid'],
    ['ERR_TLS_CERT_ALTNAME_INVALID', "Host: a. is not in the cert's altnames: DNS:b"],
  ])('reports a certificate that trust does not make valid: %s', async (code, words) => {
    const cause = Object.assign(new Error(words), { code });
    const asking = vi.spyOn(globalThis, 'fetch').mockRejectedValue(new TypeError('', { cause }));
    const asked = requestJson('https://a/', { ...REQUEST, retries: 9 });
    await expect(asked).rejects.toThrow(`its certificate is not valid (${words}). Renew it`);
    asking.mockRestore();
  });

  it.skipIf(!findProgram('openssl'))('reports an untrusted certificate', async () => {
    const [key, cert] = ['key.pem', 'cert.pem'].map((name) => join(folder, name));
    execFileSync(
      'openssl',
      words`req -x509 -newkey rsa:2048 -nodes -subj /CN=localhost -out ${cert} -keyout ${key}`,
      { stdio: 'pipe' },
    );
    const secure = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
    await once(secure.listen(0, '127.0.0.1'), 'listening');
    const url = `https://127.0.0.1:${(secure.address() as AddressInfo).port}/`;
    const asked = requestJson(url, { ...REQUEST, retries: 9, backOffMs: 60_000 });
    await expect(asked.finally(() => secure.close())).rejects.toThrow(
      /certificate.*self.signed.*NODE_EXTRA_CA_CERTS/,
    );
  });
});
