/** Who answers in `evaluate` and `ask`, and where it searches. */
import { basename } from 'node:path';
import { Option, type Command } from 'commander';
import { loadPassages } from '../data/flashrag.js';
import {
  adapterBase,
  DEFAULT_METHOD,
  DEFAULT_MODEL,
  loadPolicy,
  modelPath,
  parseModelName,
  trainConfigOf,
  weightFolders,
} from '../experiments/runs.js';
import { CHECKPOINTS } from '../io/paths.js';
import type { TrainConfig } from '../methods/config.js';
import { METHODS, rolloutConfigOf } from '../methods/index.js';
import { isPolicyAddress, openPolicy } from '../policy/policies.js';
import type { Policy } from '../policy/policy.js';
import type { Retriever } from '../retrieval/retriever.js';
import {
  createRetriever,
  DEFAULT_RETRIEVER,
  isAddress,
  type RetrieverOptions,
} from '../retrieval/retrievers.js';
import type { RolloutConfig } from '../rollout/options.js';
import { parseCount } from './frame.js';
import { withPolicyOptions, type PolicySettings } from './options.js';

/** Who is asked: a committed run, a model or an adapter of one's own, a policy elsewhere. */
export interface SubjectSettings extends PolicySettings {
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
 * A committed run, or a model and an adapter of the user's, which is asked as it was trained unless a method is named.
 * @throws Error for an unknown model, or a folder that is missing
 */
export async function loadSubject(settings: SubjectSettings): Promise<Subject> {
  const subject = await findSubject(settings);
  const { trained, policy, rollout } = subject;
  const ofModel = policy.tokenizer.encodeChat ? 'chat' : rollout.promptForm;
  const promptForm = settings.promptForm ?? trained?.rollout.promptForm ?? ofModel;
  return { ...subject, rollout: { ...rollout, promptForm } };
}

async function findSubject(settings: SubjectSettings): Promise<Subject> {
  const { method, model, seed, checkpoints, adapter, topK } = settings;
  const run = { method: method ?? DEFAULT_METHOD, model: model ?? DEFAULT_MODEL, seed };
  const rollout = { ...rolloutConfigOf(run.method), ...(topK && { topK }) };
  const initial = parseModelName(run.model);
  if (!adapter && initial) {
    const weights = { ...run, ...initial };
    const folders = weightFolders(weights, checkpoints);
    const trained = await trainConfigOf(folders[1]);
    return { run, policy: await loadPolicy(weights, checkpoints), rollout, trained, folders };
  }
  if (isPolicyAddress(run.model))
    return { run, policy: await openPolicy(run.model, { adapter }), rollout, trained: null, folders: [] };
  const trained = await trainConfigOf(adapter);
  const base = model === undefined ? await adapterBase(adapter!, checkpoints) : modelPath(model, checkpoints);
  const asked =
    method === undefined && trained
      ? { method: trained.method, rollout: { ...trained.rollout, ...(topK && { topK }) } }
      : { method: run.method, rollout };
  return {
    run: { method: asked.method, model: basename(base), seed: trained?.seed ?? seed },
    ...{ policy: await openPolicy(base, { adapter }), rollout: asked.rollout, trained },
    folders: [base, ...(adapter === undefined ? [] : [adapter])],
  };
}

/** The retriever that the command line names, else the one that an adapter was trained with, and its options. */
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

/** A retriever over the passages of a folder; a server has passages of its own. */
export const openRetriever = async (
  { data, index }: Pick<PolicySettings, 'data' | 'index'>,
  { name, options }: ReturnType<typeof searchOf>,
): Promise<Retriever> =>
  createRetriever(name, isAddress(name) ? [] : await loadPassages(data), { ...options, index });

/** Adds the options of {@link SubjectSettings} to a command. */
export function withSubjectOptions(command: Command): Command {
  const orElse = (byDefault: string): string => `; an adapter’s own by default, else ${byDefault}`;
  command
    .addOption(
      new Option('--method <name>', `who answers, and under which prompt${orElse(DEFAULT_METHOD)}`).choices(
        METHODS.names(),
      ),
    )
    .option('--seed <n>', 'seed it was trained with', parseCount, 1)
    .option('--checkpoints <folder>', 'folder of models and adapters', CHECKPOINTS)
    .option('--adapter <folder>', 'an adapter (PEFT format) instead of the committed one; see `train`')
    .option('--top-k <n>', 'passages per query', parseCount);
  return withPolicyOptions(command, orElse);
}
