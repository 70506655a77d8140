import { expect, it } from 'vitest';
import { isLocalRequest } from '../../lib/io/local-server.js';

it.each([
  ['127.0.0.1:8000', 8000, true],
  ['localhost', 80, true],
  ['[::1]:80', 80, true],
  ['localhost', 8000, false],
  ['localhost:80', 8000, false],
  ['evil.example', 80, false],
  [undefined, 80, false],
])('takes a request to %s at port %i for its own: %s', (host, localPort, isOwn) => {
  expect(isLocalRequest({ headers: { host }, socket: { localPort } })).toBe(isOwn);
});
