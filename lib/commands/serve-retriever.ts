/** `parallelsearch serve-retriever`: serves passages over Search-R1's protocol. */
import { once } from 'node:events';
import { Command } from 'commander';
import { DEFAULT_RETRIEVER } from '../retrieval/retrievers.js';
import { startRetrievalServer } from '../retrieval/server.js';
import { exitWith, interruptible, log, parseCount, parsePort } from './common/cli-utils.js';
import { withRetrieverOptions, type RetrieverSettings } from './common/options.js';
import { announceBackend, openRetriever } from './common/setup.js';

interface ServeSettings extends RetrieverSettings {
  port: number;
  host: string;
  topK: number;
  maxRequests: number;
}

/** Time in ms for the requests in flight when the server stops. */
const GRACE_MS = 5000;

async function runServe(settings: ServeSettings): Promise<number> {
  const { retriever: name = DEFAULT_RETRIEVER, analyzer, encoder, port, host } = settings;
  if (encoder) await announceBackend(settings.backend);
  return interruptible(
    async (signal) => {
      const search = { name, options: { analyzer, encoder } };
      const { retriever } = await openRetriever({ ...settings, signal }, search);
      const server = await startRetrievalServer(retriever, {
        port,
        host,
        token: process.env.RETRIEVAL_TOKEN,
        defaultTopK: settings.topK,
        maxConcurrency: settings.maxRequests,
      });
      log(`Serving ${retriever.name} at ${server.url}; stop with Ctrl-C.`);
      if (!signal.aborted) await once(signal, 'abort');
      await server.close(GRACE_MS);
    },
    { stopping: 'Finishing requests in flight.', stopped: 'Stopped.' },
  );
}

export function serveRetrieverCommand(): Command {
  const command = new Command('serve-retriever')
    .description(
      'serve passages over Search-R1’s retrieval protocol, for --retriever http://..., Search-R1 or verl; other machines need the token in RETRIEVAL_TOKEN',
    )
    .option('--port <n>', 'port to listen on', parsePort, 8000)
    .option(
      '--host <address>',
      'address to listen on; one that others can reach needs RETRIEVAL_TOKEN',
      '127.0.0.1',
    )
    .option('--top-k <n>', 'passages per query for requests without topk', parseCount, 3)
    .option(
      '--max-requests <n>',
      'maximum concurrent requests; further ones get status 429',
      parseCount,
      64,
    );
  return withRetrieverOptions(command).action(exitWith(runServe));
}
