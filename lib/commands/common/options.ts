/** The options of commands that use a policy, a retriever and data. */
import { Option, type Command } from 'commander';
import { CHECKPOINTS } from '../../io/paths.js';
import { TRAINED_MODELS } from '../../policy/folders/trained-models.js';
import { ANALYZERS, DEFAULT_ANALYZER } from '../../retrieval/analyzers.js';
import { DEFAULT_RETRIEVER, RETRIEVERS } from '../../retrieval/retrievers.js';
import { BACKEND_NAMES, type BackendName } from '../../tensor/backend-names.js';
import { PROMPT_FORMS, TAG_FORMS, type PromptForm } from '../../text/prompts.js';
import { METHODS } from '../../training/methods.js';
import { DEFAULT_METHOD, DEFAULT_MODEL, modelNames } from '../../training/models.js';
import { choice, collect, parseCount } from './cli-utils.js';

export interface RetrieverSettings {
  retriever?: string;
  analyzer?: string;
  encoder?: string;
  index?: string;
  data?: string;
  backend: BackendName | 'auto';
}

export interface ModelSettings extends RetrieverSettings {
  model?: string;
  promptForm?: PromptForm;
  force?: boolean;
}

/** Options that name a policy: a committed run, a folder, or a server. */
export interface PolicySpec extends ModelSettings {
  policy?: string;
  tokenizer?: string;
  config?: string;
  method?: string;
  seed: number;
  checkpoints: string;
  adapter?: string;
  topK?: number;
  set?: string[];
  /** Number of processes that answer together; only for `evaluate`. */
  processes?: number;
}

export const limitOption = (): Option =>
  new Option(
    '--limit <n>',
    'only a fixed sample of n questions, stratified by benchmark and question type',
  ).argParser(parseCount);

export const checkpointsOption = (): Option =>
  new Option('--checkpoints <folder>', 'folder of models and adapters').default(
    CHECKPOINTS,
    'data/checkpoints',
  );

export const backendOption = (): Option =>
  choice('--backend <name>', 'tensor backend', ['auto', ...BACKEND_NAMES], 'auto');

/** Adds the options of {@link RetrieverSettings}, except `--data`. */
export const withSearchOptions = (command: Command): Command =>
  command
    .option(
      '--retriever <name>',
      `${RETRIEVERS.names().join(', ')}, a Search-R1 server (http://...) or milvus://HOST:PORT/COLLECTION (default: the configuration’s, else ${DEFAULT_RETRIEVER})`,
    )
    .addOption(
      choice(
        '--analyzer <name>',
        `how BM25 splits text; english removes stop words and stems like Lucene (default: the configuration’s, else ${DEFAULT_ANALYZER})`,
        ANALYZERS.names(),
      ),
    )
    .option(
      '--encoder <folder>',
      'encoder of a dense retriever, such as MiniLM or E5 in Hugging Face format (default: the small world’s)',
    )
    .option(
      '--index <folder>',
      'folder for vectors, the HNSW graph or a large corpus’s BM25 index (default: in runs/indexes)',
    )
    .addOption(backendOption());

export const withRetrieverOptions = (command: Command): Command =>
  withSearchOptions(
    command.option(
      '--data <folder>',
      'questions and passages in FlashRAG layout, see `data check` (default: the small world)',
    ),
  );

export const withModelOptions = (
  command: Command,
  {
    modelHelp = `initial model of the small world: ${modelNames().join(', ')}, or a folder in Hugging Face format (default: the configuration’s, else ${DEFAULT_MODEL})`,
    hasTools = false,
  } = {},
): Command =>
  withRetrieverOptions(
    command
      .option('--model <name>', modelHelp)
      .option(
        '--force',
        'accept a model that was not trained for the data, and an adapter of another model',
      )
      .addOption(
        choice(
          '--prompt-form <form>',
          `short: a short prompt; full: the paper’s; chat: the paper’s in the model’s chat template${hasTools ? '; tools: tool calls, only with --policy chat:' : ''} (default: the configuration’s, else by the model)`,
          hasTools ? PROMPT_FORMS : TAG_FORMS,
        ),
      ),
  );

export const withPolicyOptions = (command: Command): Command =>
  withModelOptions(
    command
      .option(
        '--policy <url>',
        'remote policy: chat:https://HOST/v1 for chat completions with tool calls, http://HOST/v1 for completions; --model is its name there, POLICY_TOKEN in the environment its key',
      )
      .option('--tokenizer <folder>', 'tokenizer of the remote policy (default: in its folder)')
      .option(
        '--config <file>',
        'training configuration with prompt and limits (default: the adapter’s)',
      )
      .addOption(
        choice(
          '--method <name>',
          `method, which sets prompt and adapter (default: the adapter’s, else ${DEFAULT_METHOD})`,
          METHODS.names(),
        ),
      )
      .option('--seed <n>', 'seed of the committed adapter', parseCount, 1)
      .addOption(checkpointsOption())
      .option('--adapter <folder>', 'your own adapter in PEFT format, see `train`')
      .option('--top-k <n>', 'passages per query (default: the configuration’s)', parseCount)
      .option(
        '--set <path=value>',
        'a setting of the rollout, such as rollout.informationCut=query; repeatable',
        collect,
      ),
    {
      modelHelp: `a trained language model: ${TRAINED_MODELS.names().join(', ')} (default with --data); an initial model of the small world: ${modelNames().join(', ')} (default without --data: ${DEFAULT_MODEL}); or a folder in Hugging Face format`,
      hasTools: true,
    },
  );
