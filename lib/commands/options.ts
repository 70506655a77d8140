/** Options that several commands share. */
import { Option, type Command } from 'commander';
import { DEFAULT_MODEL, modelNames } from '../methods/checkpoints.js';
import { ANALYZERS, DEFAULT_ANALYZER } from '../retrieval/words.js';
import { DEFAULT_RETRIEVER, RETRIEVERS } from '../retrieval/retrievers.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
  type BackendReport,
} from '../tensor/backend.js';
import { PROMPT_FORMS, type PromptForm } from '../text/prompts.js';
import { log } from './cli-utils.js';

/** What is told of a retriever and of what it searches. */
export interface RetrieverSettings {
  retriever?: string;
  analyzer?: string;
  encoder?: string;
  index?: string;
  data?: string;
  backend: BackendName | 'auto';
}

/** What is told of a policy and of where it searches. */
export interface PolicySettings extends RetrieverSettings {
  /** A committed initial model, or a folder. */
  model?: string;
  promptForm?: PromptForm;
}

export const backendOption = (): Option =>
  new Option('--backend <name>', 'where tensors are computed')
    .choices(['auto', ...BACKEND_NAMES])
    .default('auto');

/** Words that say what holds without an option, given the default. */
type OrElse = (byDefault: string) => string;

/** Adds the options of {@link RetrieverSettings} to a command. */
export const withRetrieverOptions = (command: Command, orElse: OrElse): Command =>
  command
    .option(
      '--retriever <name>',
      `${RETRIEVERS.names().join(', ')}, the address of a server with Search-R1’s protocol, or milvus://HOST:PORT/COLLECTION${orElse(DEFAULT_RETRIEVER)}`,
    )
    .addOption(
      new Option(
        '--analyzer <name>',
        `how BM25 makes words of texts: english leaves out stop words and stems, as Lucene does${orElse(DEFAULT_ANALYZER)}`,
      ).choices(ANALYZERS.names()),
    )
    .option(
      '--encoder <folder>',
      'folder of the encoder of a dense retriever, such as MiniLM or E5 in Hugging Face format; by default the small world’s',
    )
    .option(
      '--index <folder>',
      'where vectors of such an encoder and their HNSW graph are kept; by default in runs/indexes',
    )
    .option(
      '--data <folder>',
      'a folder in the FlashRAG layout (see `data check`); by default the small world',
    )
    .addOption(backendOption());

/** Adds the options of {@link PolicySettings} to a command. */
export const withPolicyOptions = (command: Command, orElse: OrElse): Command =>
  withRetrieverOptions(
    command
      .option(
        '--model <name>',
        `initial model: ${modelNames().join(', ')}, or a folder in Hugging Face format${orElse(DEFAULT_MODEL)}`,
      )
      .addOption(
        new Option(
          '--prompt-form <form>',
          'the short prompt of the small policies, the paper’s in full, or that in the model’s chat template' +
            '; an adapter’s own by default, else chat for a model with a template, and short for others',
        ).choices(PROMPT_FORMS),
      ),
    orElse,
  );

/** Loads the backend and says on stderr which one it is and why. */
export async function announceBackend(requested: BackendName | 'auto'): Promise<BackendReport> {
  const report = await useBackend(requested);
  log(describeBackend(report));
  return report;
}
