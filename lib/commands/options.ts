/** Options that several commands share. */
import { Option, type Command } from 'commander';
import { DEFAULT_MODEL, modelNames } from '../experiments/runs.js';
import { DEFAULT_RETRIEVER, RETRIEVERS } from '../retrieval/retrievers.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
  type BackendReport,
} from '../tensor/backend.js';
import { PROMPT_FORMS, type PromptForm } from '../text/prompts.js';
import { say } from './frame.js';

/** What is told of a policy and of where it searches. */
export interface PolicySettings {
  /** A committed initial model, or a folder. */
  model?: string;
  retriever?: string;
  encoder?: string;
  data?: string;
  promptForm?: PromptForm;
  backend: BackendName | 'auto';
}

export const backendOption = (): Option =>
  new Option('--backend <name>', 'where tensors are computed')
    .choices(['auto', ...BACKEND_NAMES])
    .default('auto');

/**
 * Adds the options of {@link PolicySettings} to a command.
 * @param orElse words that say what holds without an option, given the default
 */
export const withPolicyOptions = (command: Command, orElse: (byDefault: string) => string): Command =>
  command
    .option(
      '--model <name>',
      `initial model: ${modelNames().join(', ')}, or a folder in Hugging Face format${orElse(DEFAULT_MODEL)}`,
    )
    .option(
      '--retriever <name>',
      `${RETRIEVERS.names().join(', ')}, the address of a server with Search-R1’s protocol, or milvus://HOST:PORT/COLLECTION${orElse(DEFAULT_RETRIEVER)}`,
    )
    .option('--encoder <folder>', 'folder of the encoder of a dense retriever; by default the small world’s')
    .option(
      '--data <folder>',
      'a folder in the FlashRAG layout (see `data check`); by default the small world',
    )
    .addOption(
      new Option(
        '--prompt-form <form>',
        'the short prompt of the small policies, the paper’s in full, or that in the model’s chat template' +
          '; an adapter’s own by default, else chat for a model with a template, and short for others',
      ).choices(PROMPT_FORMS),
    )
    .addOption(backendOption());

/** Loads the backend and says on stderr which one it is and why. */
export async function announceBackend(requested: BackendName | 'auto'): Promise<BackendReport> {
  const report = await useBackend(requested);
  say(describeBackend(report));
  return report;
}
