/** `parallelsearch index build --to ADDRESS`: writes a corpus into a vector database. */
import { Command } from 'commander';
import { loadPassages } from '../data/flashrag.js';
import { startProgress } from '../io/progress.js';
import { ENCODER } from '../io/paths.js';
import { buildMilvusCollection } from '../retrieval/milvus.js';
import { openEncoder } from '../retrieval/retrievers.js';
import { interruptible, parseCount, log } from './cli-utils.js';

interface IndexSettings {
  to: string;
  data?: string;
  encoder: string;
  m: number;
  efConstruction: number;
}

/** Encodes all passages and writes them; the exit code is 130 after Ctrl-C. */
export async function runIndexBuild({
  to,
  data,
  encoder,
  ...graph
}: IndexSettings): Promise<number> {
  const passages = await loadPassages(data);
  const loaded = await openEncoder(encoder);
  const progress = startProgress('Indexing', passages.length);
  const token = process.env.RETRIEVAL_TOKEN;
  return interruptible('Stopping.', async (signal) => {
    const onRows = (numRows: number): void => progress.update(numRows);
    await buildMilvusCollection(to, passages, loaded, { ...graph, token, signal, onRows }).finally(
      () => progress.stop(),
    );
    log(`${passages.length} passages, encoded by ${loaded.name}. Use them with --retriever ${to}`);
  });
}

/** The `index` command. */
export const indexCommand = (): Command =>
  new Command('index')
    .description('write a corpus into a vector database (index build)')
    .addCommand(
      new Command('build')
        .description('encode all passages and write them; resumes if interrupted')
        .requiredOption('--to <address>', 'milvus://HOST:PORT/COLLECTION')
        .option('--data <folder>', 'folder in the FlashRAG layout (default: the small world)')
        .option('--encoder <folder>', 'folder of the encoder', ENCODER)
        .option('--m <n>', 'links per node and layer of the HNSW graph', parseCount, 16)
        .option('--ef-construction <n>', 'candidates kept while building', parseCount, 200)
        .action(async (settings: IndexSettings) => {
          process.exitCode = await runIndexBuild(settings);
        }),
    );
