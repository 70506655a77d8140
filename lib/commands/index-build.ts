/** `parallelsearch index build`: indexes a corpus on disk or in a vector database. */
import { Command, Option } from 'commander';
import { loadPassages, passageFile } from '../data/flashrag.js';
import { ENCODER, shortPath } from '../io/paths.js';
import { startProgress } from '../io/progress.js';
import { ANALYZERS, DEFAULT_ANALYZER } from '../retrieval/analyzers.js';
import { defaultBm25Folder, openBm25Files } from '../retrieval/bm25-files.js';
import { buildMilvusCollection } from '../retrieval/milvus.js';
import { bm25Corpus, openEncoder } from '../retrieval/retrievers.js';
import { choice, exitWith, interruptible, log, parseCount, shellWord } from './common/cli-utils.js';
import { warnOfEncoder } from './common/setup.js';

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
      const option = index === undefined ? '' : ` Use it with --index ${shellWord(index)}`;
      log(`${numPassages} passages are indexed in ${shortPath(folder)}.${option}`);
    },
    { stopped: 'Stopped. Nothing was kept.' },
  );
}

async function buildCollection(settings: IndexSettings & { to: string }): Promise<number> {
  const { to, data, encoder, m, efConstruction } = settings;
  const graph = { m, efConstruction };
  const passages = await loadPassages(data);
  await warnOfEncoder({ encoder, data });
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
