/**
 * `parallelsearch serve-retriever` and `index build`: serves a corpus over Search-R1's
 * retrieval protocol; indexes it on disk or in a vector database.
 */
import { once } from 'node:events';
import { Command, Option } from 'commander';
import { DEFAULT_RETRIEVER, bm25Corpus, openEncoder } from '../retrieval/retrievers.js';
import { startRetrievalServer } from '../retrieval/server.js';
import { exitWith, interruptible, parseCount, parsePort, log, choice } from './common/cli-utils.js';
import { withRetrieverOptions, type RetrieverSettings } from './common/options.js';
import { announceBackend, openRetriever } from './common/setup.js';
import { loadPassages, passageFile } from '../data/flashrag.js';
import { startProgress } from '../io/progress.js';
import { ENCODER, shortPath } from '../io/paths.js';
import { ANALYZERS, DEFAULT_ANALYZER } from '../retrieval/analyzers.js';
import { defaultBm25Folder, openBm25Files } from '../retrieval/bm25-files.js';
import { buildMilvusCollection } from '../retrieval/milvus.js';

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

interface IndexSettings {
  to?: string;
  data?: string;
  analyzer?: string;
  index?: string;
  encoder: string;
  m: number;
  efConstruction: number;
}

/** Builds an index for BM25, or in the database `to`; exit code 130 after Ctrl-C. */
const runIndexBuild = ({ to, ...settings }: IndexSettings): Promise<number> =>
  to === undefined ? buildBm25(settings) : buildCollection({ ...settings, to });

function buildBm25({ data, analyzer, index }: IndexSettings): Promise<number> {
  const corpus = bm25Corpus(passageFile(data), { analyzer });
  const folder = index ?? defaultBm25Folder(corpus);
  return interruptible(
    async (signal) => {
      const { numPassages } = await openBm25Files(corpus, { folder, signal });
      const option = index === undefined ? '' : ` Use it with --index ${index}`;
      log(`${numPassages} passages are indexed in ${shortPath(folder)}.${option}`);
    },
    { stopped: 'Stopped. Nothing was kept.' },
  );
}

async function buildCollection(settings: IndexSettings & { to: string }): Promise<number> {
  const { to, data, encoder, m, efConstruction } = settings;
  const graph = { m, efConstruction };
  const passages = await loadPassages(data);
  const loaded = await openEncoder(encoder);
  const progress = startProgress('Indexing', passages.length);
  const token = process.env.RETRIEVAL_TOKEN;
  return interruptible(async (signal) => {
    const onRows = (numRows: number): void => progress.update(numRows);
    await buildMilvusCollection(to, passages, loaded, { ...graph, token, signal, onRows }).finally(
      () => progress.stop(),
    );
    log(`${passages.length} passages, encoded by ${loaded.name}. Use them with --retriever ${to}`);
  });
}

export const indexCommand = (): Command =>
  new Command('index')
    .description('index a corpus on disk or in a vector database (index build)')
    .addCommand(
      new Command('build')
        .description(
          'index passages for BM25, so that a corpus of any size opens instantly; with --to, encode them into a vector database (resumes if interrupted)',
        )
        .option('--to <address>', 'vector database, milvus://HOST:PORT/COLLECTION')
        .option('--data <folder>', 'folder in the FlashRAG layout (default: the small world)')
        .addOption(
          choice(
            '--analyzer <name>',
            `how BM25 splits text (default: ${DEFAULT_ANALYZER})`,
            ANALYZERS.names(),
          ),
        )
        .option('--index <folder>', 'folder of BM25’s index (default: in runs/indexes)')
        .addOption(
          new Option('--encoder <folder>', 'encoder in Hugging Face format, with --to').default(
            ENCODER,
            'the small world’s',
          ),
        )
        .option('--m <n>', 'links per node and layer of the HNSW graph', parseCount, 16)
        .option(
          '--ef-construction <n>',
          'candidates kept while building the HNSW graph',
          parseCount,
          200,
        )
        .action(exitWith(runIndexBuild)),
    );
