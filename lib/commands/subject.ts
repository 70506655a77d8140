/** Who answers in `evaluate` and `ask`, and where it searches. */
import { basename } from 'node:path';
import { Option, type Command } from 'commander';
import { loadPassages, type Passage } from '../data/flashrag.js';
import {
  adapterBase,
  DEFAULT_METHOD,
  DEFAULT_MODEL,
  modelPath,
  parseModelName,
  trainConfigOf,
  weightFolders,
} from '../methods/checkpoints.js';
import { readJson } from '../io/files.js';
import { CHECKPOINTS } from '../io/paths.js';
import { parseTrainConfig, type TrainConfig } from '../methods/config.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { loadLocalPolicy } from '../policy/model-folder.js';
import { openRemotePolicy } from '../policy/remote.js';
import type { Policy } from '../policy/policy.js';
import type { Retriever } from '../retrieval/retriever.js';
import {
  createRetriever,
  DEFAULT_RETRIEVER,
  isAddress,
  type RetrieverOptions,
} from '../retrieval/retrievers.js';
import type { RolloutConfig } from '../rollout/options.js';
import { parseCount, log } from './cli-utils.js';
import { withPolicyOptions, type PolicySettings } from './options.js';

/**
 * Who is asked: a committed run, a model or an adapter of one's own, a policy elsewhere.
 */
export interface SubjectSettings extends PolicySettings {
  /** The address of a policy elsewhere; `model` is then its name there. */
  policy?: string;
  tokenizer?: string;
  /** A configuration of `train`, by which it is asked. */
  config?: string;
  method?: string;
  seed: number;
  checkpoints: string;
  adapter?: string;
  topK?: number;
}

/** Who answers, and how it is asked. */
export interface Subject {
  policy: Policy;
  /** What its results are marked with. */
  run: { method: string; model: string; seed: number };
  rollout: RolloutConfig;
  /** What an adapter was trained with. */
  trained: TrainConfig | null;
  /** Folders of its weights; none where they are elsewhere. */
  folders: string[];
}

/**
 * A committed run, or a model and an adapter of the user's, which is asked as it was
 * trained unless a method is named.
 * @throws Error for an unknown model, or a folder that is missing
 */
export async function loadSubject(settings: SubjectSettings): Promise<Subject> {
  const subject = await findSubject(settings);
  const { trained, policy, rollout } = subject;
  if (policy.note !== undefined) log(policy.note);
  const ofModel = policy.tokenizer.encodeChat ? 'chat' : rollout.promptForm;
  const promptForm = settings.promptForm ?? trained?.rollout.promptForm ?? ofModel;
  return { ...subject, rollout: { ...rollout, promptForm } };
}

/**
 * Folders of weights on this machine: the model's, and the adapter's where there is one.
 * @throws Error for an unknown model, or an adapter that is missing
 */
export async function weightsOf({
  method = DEFAULT_METHOD,
  model,
  seed,
  checkpoints,
  adapter,
}: Pick<SubjectSettings, 'method' | 'model' | 'seed' | 'checkpoints' | 'adapter'>): Promise<
  string[]
> {
  const initial = adapter === undefined && parseModelName(model ?? DEFAULT_MODEL);
  if (initial) return weightFolders({ ...initial, method, seed }, checkpoints);
  if (adapter === undefined) return [modelPath(model!, checkpoints)];
  const base =
    model === undefined ? adapterBase(adapter, checkpoints) : modelPath(model, checkpoints);
  return [await base, adapter];
}

async function findSubject(settings: SubjectSettings): Promise<Subject> {
  const { policy: address, method, seed, adapter, topK, config } = settings;
  if (address !== undefined && adapter !== undefined)
    throw new Error(
      `Expected ${address} to have its adapter, but got ${adapter}. Serve the adapter there, and name it by --model.`,
    );
  const given = config === undefined ? null : parseTrainConfig(await readJson(config));
  const folders =
    address === undefined ? await weightsOf({ ...settings, method: method ?? given?.method }) : [];
  const trained = given ?? (await trainConfigOf(folders[1]));
  const asTrained = method === undefined ? trained : null;
  const asked = asTrained?.method ?? method ?? DEFAULT_METHOD;
  const rollout = { ...(asTrained?.rollout ?? rolloutConfigOf(asked)), ...(topK && { topK }) };
  const policy =
    address === undefined
      ? await loadLocalPolicy(folders[0], { adapter: folders[1] })
      : await openRemotePolicy(address, settings);
  const model = address === undefined ? basename(folders[0]) : policy.name;
  const run = {
    method: asked,
    model,
    seed: adapter === undefined ? seed : (trained?.seed ?? seed),
  };
  return { policy, run, rollout, trained, folders };
}

/**
 * The retriever that the command line names, else the one that an adapter was trained
 * with, and its options.
 */
export function searchOf(
  { retriever, analyzer, encoder }: SubjectSettings,
  { trained }: Pick<Subject, 'trained'>,
): { name: string; options: RetrieverOptions } {
  return {
    name: retriever ?? trained?.retriever ?? DEFAULT_RETRIEVER,
    options: {
      titleWeight: trained?.titleWeight,
      analyzer: analyzer ?? trained?.analyzer,
      encoder: encoder ?? trained?.encoder,
    },
  };
}

/**
 * A retriever over the passages of a folder, and those; a server has passages of its own.
 */
export async function openRetriever(
  { data, index }: Pick<PolicySettings, 'data' | 'index'>,
  { name, options }: ReturnType<typeof searchOf>,
): Promise<{ retriever: Retriever; passages: Passage[] }> {
  const passages = isAddress(name) ? [] : await loadPassages(data);
  return { retriever: await createRetriever(name, passages, { ...options, index }), passages };
}

/** Adds the options of {@link SubjectSettings} to a command. */
export function withSubjectOptions(command: Command): Command {
  const orElse = (byDefault: string): string => `; an adapter’s own by default, else ${byDefault}`;
  command
    .option(
      '--policy <address>',
      'a policy elsewhere: a server with OpenAI’s completions API, http://HOST/v1; --model is then its name there',
    )
    .option(
      '--tokenizer <folder>',
      'tokenizer of such a policy; by default that of the folder it is served from',
    )
    .option(
      '--config <file>',
      'ask as this configuration of `train` says; by default an adapter’s own',
    )
    .addOption(
      new Option(
        '--method <name>',
        `who answers, and under which prompt${orElse(DEFAULT_METHOD)}`,
      ).choices(METHODS.names()),
    )
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .option(
      '--adapter <folder>',
      'an adapter (PEFT format) instead of the committed one; see `train`',
    )
    .option('--top-k <n>', 'passages per query', parseCount);
  return withPolicyOptions(command, orElse);
}
