/** Options that several commands share. */
import { Option } from 'commander';
import { INITIAL_MODELS } from '../experiments/runs.js';
import { RETRIEVERS } from '../retrieval/retrievers.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
  type BackendReport,
} from '../tensor/backend.js';
import { say } from './frame.js';

export const DEFAULT_METHOD = 'parallelsearch';
export const DEFAULT_MODEL = 'instruct';

/** What `--model` takes. */
export const MODEL_HELP = `initial model: ${INITIAL_MODELS.join(' or ')}, or a folder in Hugging Face format`;
/** What `--retriever` takes. */
export const retrieverHelp = (): string =>
  `${RETRIEVERS.names().join(', ')}, or the address of a server with Search-R1’s protocol`;

export const ENCODER_HELP = 'folder of the encoder of a dense retriever; by default the small world’s';
export const DATA_HELP = 'a folder with passages.jsonl and questions.jsonl (FlashRAG layout with graphs)';

export const backendOption = (): Option =>
  new Option('--backend <name>', 'where tensors are computed')
    .choices(['auto', ...BACKEND_NAMES])
    .default('auto');

/** Loads the backend and says on stderr which one it is and why. */
export async function announceBackend(requested: BackendName | 'auto'): Promise<BackendReport> {
  const report = await useBackend(requested);
  say(describeBackend(report));
  return report;
}
