/**
 * `parallelsearch serve-retriever`: a folder's passages behind Search-R1's retrieval
 * protocol.
 */
import { once } from 'node:events';
import { Command } from 'commander';
import { DEFAULT_RETRIEVER } from '../retrieval/retrievers.js';
import { startRetrievalServer } from '../retrieval/server.js';
import { interruptible, parseCount, parsePort, log } from './cli-utils.js';
import {
  announceBackend,
  withRetrieverOptions,
  type RetrieverSettings,
  openRetriever,
} from './setup.js';

interface ServeSettings extends RetrieverSettings {
  port: number;
  host: string;
  topK: number;
  maxRequests: number;
}

/** What requests in flight are given to end when the server is stopped, milliseconds. */
const GRACE_MS = 5000;

/** Serves until it is stopped; the exit code is then 130. */
async function runServe(settings: ServeSettings): Promise<number> {
  const { retriever: name = DEFAULT_RETRIEVER, analyzer, encoder, port, host } = settings;
  if (encoder) await announceBackend(settings.backend);
  return interruptible(
    'Ending the requests in flight.',
    async (signal) => {
      const { retriever } = await openRetriever(settings, { name, options: { analyzer, encoder } });
      const server = await startRetrievalServer(retriever, {
        port,
        host,
        token: process.env.RETRIEVAL_TOKEN,
        defaultTopK: settings.topK,
        maxConcurrency: settings.maxRequests,
      });
      log(`${retriever.name} is at ${server.url}; Ctrl-C stops it.`);
      if (!signal.aborted) await once(signal, 'abort');
      await server.close(GRACE_MS);
    },
    'Stopped.',
  );
}

/** The `serve-retriever` command. */
export function serveRetrieverCommand(): Command {
  const command = new Command('serve-retriever')
    .description(
      'serve passages by Search-R1’s retrieval protocol, for --retriever http://... here, in Search-R1 or in verl; to this machine only, or to who brings the environment’s RETRIEVAL_TOKEN',
    )
    .option('--port <n>', 'port', parsePort, 8000)
    .option(
      '--host <address>',
      'address to listen at; any that others reach needs RETRIEVAL_TOKEN',
      '127.0.0.1',
    )
    .option('--top-k <n>', 'passages per query where a request does not say', parseCount, 3)
    .option(
      '--max-requests <n>',
      'most requests at a time; others are told to try again',
      parseCount,
      64,
    );
  return withRetrieverOptions(command).action(async (settings: ServeSettings) => {
    process.exitCode = await runServe(settings);
  });
}
