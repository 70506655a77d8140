import { onTestFinished } from 'vitest';
import { serveLocally } from '../lib/io/local-server.js';

/** Closes a server when the test that opened it ends. */
export function closing<T extends { close(): unknown }>(server: T): T {
  onTestFinished(async () => void (await server.close()));
  return server;
}

/** A local port on which nothing listens. */
export async function freePort(): Promise<number> {
  const server = await serveLocally(0, async () => new Response());
  await server.close();
  return server.port;
}
