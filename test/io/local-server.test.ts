import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { isLocalRequest, serveLocally } from '../../lib/io/local-server.js';
import { isFull } from '../full.js';

it.each([
  ['127.0.0.1:8000', 8000, true],
  ['localhost', 80, true],
  ['[::1]:80', 80, true],
  ['localhost', 8000, false],
  ['localhost:80', 8000, false],
  ['evil.example', 80, false],
  [undefined, 80, false],
])('accepts a request to %s at port %i: %s', (host, localPort, isOwn) => {
  expect(isLocalRequest({ headers: { host }, socket: { localPort } })).toBe(isOwn);
});

const answer = (): Promise<Response> => Promise.resolve(new Response('hello'));

it('listens on an IPv6 address with or without brackets', async () => {
  for (const host of ['[::1]', '::1']) {
    const server = await serveLocally(0, answer, host);
    expect(server.url).toBe(`http://[::1]:${server.port}/`);
    expect(await (await fetch(server.url)).text()).toBe('hello');
    await server.close();
  }
});

it('keeps idle connections longer than it says, so that no request meets their end', async () => {
  const server = await serveLocally(0, answer);
  const socket = connect(server.port, '127.0.0.1');
  const ask = async (more = ''): Promise<string> => {
    socket.write(`GET / HTTP/1.1\r\nHost: 127.0.0.1:${server.port}\r\n${more}\r\n`);
    const [bytes] = (await once(socket, 'data')) as [Buffer];
    return bytes.toString();
  };
  const first = await ask();
  expect(first).toMatch(/^connection: keep-alive\r$/im);
  expect(first).not.toMatch(/^keep-alive:/im);
  // Node's own servers close after 5 s, and 1 s.
  if (isFull) await delay(7000);
  expect(await ask('Connection: close\r\n')).toMatch(/^connection: close\r$/im);
  await server.close();
});

it('reports why it cannot listen', async () => {
  const server = await serveLocally(0, answer);
  await expect(serveLocally(server.port, answer)).rejects.toThrow(
    new RegExp(`port ${server.port}.*taken.*EADDRINUSE`),
  );
  await server.close();
});
