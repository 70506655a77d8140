/** Loads the policy, the retriever and the data that a command's options name. */
import { availableParallelism } from 'node:os';
import { basename, resolve } from 'node:path';
import { passageFile, readPassages, type Passage, isSmallWorld } from '../../data/flashrag.js';
import { sampleQuestions, type Question } from '../../data/question.js';
import { readJson } from '../../io/files.js';
import { describeFaults, parseUniqueJson } from '../../io/json.js';
import { CHECKPOINTS, ENCODER, shortPath } from '../../io/paths.js';
import { openRemotePolicy } from '../../policy/api/remote.js';
import { isChatPolicy, type AnyPolicy } from '../../policy/chat-policy.js';
import {
  listFolders,
  readModelConfig,
  requireFolders,
  type PolicyFolders,
} from '../../policy/folders/policy-folders.js';
import { TRAINED_MODELS } from '../../policy/folders/trained-models.js';
import { isLarge, type ModelConfig } from '../../policy/model/families.js';
import type { Retriever } from '../../retrieval/retriever.js';
import {
  createRetriever,
  openIndex,
  DEFAULT_RETRIEVER,
  isAddress,
  isDense,
  type RetrieverOptions,
} from '../../retrieval/retrievers.js';
import { rolloutSchema, type RolloutConfig } from '../../rollout/options.js';
import { limitThreads, type BackendName } from '../../tensor/backend-names.js';
import type { BackendReport } from '../../tensor/backend.js';
import { formatList } from '../../text/english.js';
import { mergeOptions, type ConfigOverrides } from '../../training/overrides.js';
import { resolveRollout, trainedBy } from '../../training/methods.js';
import {
  adapterBase,
  DEFAULT_METHOD,
  DEFAULT_MODEL,
  isSmallWorldModel,
  isSmallWorldPolicy,
  modelPath,
  parseModelName,
  resolveTrainConfig,
  readTrainConfig,
} from '../../training/models.js';
import { weightFolders } from '../../experiments/running/policy-runs.js';
import { log } from './cli-utils.js';
import type { PolicySpec, RetrieverSettings } from './options.js';

type RolloutChanges = Partial<RolloutConfig>;
type ConfigFile = ConfigOverrides & { rollout?: RolloutChanges };

/** Reads a training configuration. @throws Error unless it is a JSON object */
export async function readConfigFile(file: string): Promise<ConfigFile> {
  const json = await readJson(file, parseUniqueJson);
  if (typeof json === 'object' && json !== null && !Array.isArray(json)) return json as ConfigFile;
  throw new Error(
    `Expected settings such as {"method": "parallelsearch"} in ${shortPath(file)}, but got ${String(JSON.stringify(json)).slice(0, 40)}.`,
  );
}

interface Search {
  name: string;
  options: RetrieverOptions;
}

export interface Setup {
  policy: AnyPolicy;
  /** Identifies the results. */
  run: { method: string; model: string; seed: number };
  rollout: RolloutConfig;
  /** Folders of its weights; absent for a remote policy. */
  folders?: PolicyFolders;
  /** Absent for a remote policy that searches without an encoder. */
  backend?: BackendName;
  search: Search;
  retriever: Retriever;
  /** Empty if the retriever is a server, or reads them from disk. */
  passages: Passage[];
}

/**
 * Loads a policy and its retriever. An adapter answers as it was trained unless the
 * options differ. A remote policy loads no TensorFlow.js.
 * @param options.isBrief for one question, which a small model has answered on wasm
 * before the native library has loaded
 * @throws Error for an unknown model or a missing folder
 */
export async function setUp(
  spec: PolicySpec,
  signal?: AbortSignal,
  { isBrief = false } = {},
): Promise<Setup> {
  const { method, seed, adapter, topK } = spec;
  const isRemote = spec.policy !== undefined;
  const rollout = { topK, promptForm: spec.promptForm };
  const options = parseRolloutSettings(mergeOptions({ rollout }, spec.set));
  requireConsistent(spec, options);
  const file = spec.config === undefined ? null : await readConfigFile(spec.config);
  // A remote policy's model has no folder here.
  const named = { model: isRemote ? DEFAULT_MODEL : spec.model };
  const given = file && (await resolveTrainConfig(file, named)).config;
  const folders = isRemote
    ? undefined
    : await policyFolders({ ...spec, method: method ?? given?.method }, signal);
  const trained =
    given ?? (folders ? await readTrainConfig(folders.adapter ?? folders.model) : null);
  const search = {
    name: spec.retriever ?? trained?.retriever ?? DEFAULT_RETRIEVER,
    options: {
      titleWeight: trained?.titleWeight,
      analyzer: spec.analyzer ?? trained?.analyzer,
      encoder: spec.encoder ?? trained?.encoder,
    },
  };
  const backend =
    folders || search.options.encoder !== undefined
      ? await loadBackend(spec, { folders, isBrief })
      : undefined;
  const usedMethod = method ?? trained?.method ?? DEFAULT_METHOD;
  // For a remote policy, only the file's part of the configuration: the preset's limits
  // belong to a model that is not used.
  const isInFile = isRemote && trained?.method === usedMethod;
  const changes: RolloutChanges = { ...(isInFile && file?.rollout), ...options };
  const policy = await openPolicy({ ...spec, signal, promptForm: changes.promptForm }, folders);
  if (policy.note !== undefined) log(policy.note);
  const isSmall = !isChatPolicy(policy) && (await isSmallWorldPolicy(policy));
  return {
    policy,
    run: {
      method: usedMethod,
      model: folders ? basename(folders.model) : policy.name,
      seed: adapter === undefined ? seed : (trained?.seed ?? seed),
    },
    rollout: resolveRollout(usedMethod, isSmall ? 'small-world' : policy, {
      trained: folders && trained,
      changes: { ...changes, ...(isChatPolicy(policy) && { promptForm: policy.promptForm }) },
    }),
    folders,
    backend,
    search,
    ...(await openRetriever({ ...spec, signal }, search)),
  };
}

/** @throws Error for an adapter, tokenizer or prompt form that the policy can't use */
function requireConsistent(
  { policy: address, adapter, tokenizer }: PolicySpec,
  { promptForm }: RolloutChanges,
): void {
  if (address !== undefined && adapter !== undefined)
    throw new Error(
      `Expected ${address} to serve its own adapter, but got ${adapter}. Serve the adapter there and name it with --model.`,
    );
  if (tokenizer !== undefined && /^(chat:|$)/i.test(address ?? ''))
    throw new Error(
      `Expected --policy http://HOST/v1 with --tokenizer, but got ${address ?? 'a local model, which has its own'}. Leave out --tokenizer.`,
    );
  if (promptForm === 'tools' && /^(https?:|$)/i.test(address ?? ''))
    throw new Error(
      `Expected --policy chat:https://HOST/v1 with --prompt-form tools, but got ${address ?? 'a local model'}, which can't call tools. Use --prompt-form chat or full.`,
    );
}

async function loadBackend(
  { backend, processes }: PolicySpec,
  { folders, isBrief }: { folders?: PolicyFolders; isBrief: boolean },
): Promise<BackendName> {
  if (folders) requireFolders(listFolders(folders));
  const model = folders && (await readModelConfig(folders.model));
  if (model) shareCores(model, processes);
  const isOnWasm = model && !isLarge(model) && isBrief && backend === 'auto';
  return (await announceBackend(isOnWasm ? 'wasm' : backend)).name;
}

async function openPolicy(
  spec: PolicySpec & { signal?: AbortSignal },
  folders?: PolicyFolders,
): Promise<AnyPolicy> {
  if (!folders) {
    const wait = setTimeout(() => log('Waiting for the policy’s server to answer.'), 5000);
    return openRemotePolicy(spec.policy!, spec).finally(() => clearTimeout(wait));
  }
  const { loadLocalPolicy } = await import('../../policy/folders/model-folder.js');
  return loadLocalPolicy(folders.model, { adapter: folders.adapter, force: spec.force });
}

/**
 * Limits threads before the backend loads: one for a small model; for a large one, an
 * equal share of the cores for each process.
 */
export function shareCores(model: ModelConfig, processes?: number): void {
  if (!isLarge(model)) limitThreads(1);
  else if (processes) limitThreads(Math.max(1, Math.floor(availableParallelism() / processes)));
}

/**
 * Returns the rollout's settings.
 * @param instead how to set others, for the message
 * @throws RangeError naming a setting that is invalid or not the rollout's
 */
export function parseRolloutSettings(
  { rollout = {}, ...others }: ConfigOverrides,
  instead = 'with `train --set`',
): RolloutChanges {
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw new RangeError(
      `Expected settings of the rollout, such as rollout.maxSearchTurns=4, but got ${other}. Set others ${instead}.`,
    );
  const changes = rollout as object;
  const parsed = rolloutSchema.safeParse({ prompt: 'parallel', splitQueries: true, ...changes });
  if (parsed.success) return changes;
  throw new RangeError(`Expected settings of the rollout, but:\n${describeFaults(parsed.error)}`);
}

/** Options that name a model for any data. */
const ASK_INSTEAD = `--model ${TRAINED_MODELS.names()[0]} or --policy chat:https://HOST/v1`;

/**
 * @param instead options that work, for the message
 * @throws Error if a model of the small world is used on other data, unless forced
 */
export async function requireKnownData(
  model: string,
  { data, force }: { data?: string; force?: boolean },
  instead = ASK_INSTEAD,
): Promise<void> {
  if (force || data === undefined) return;
  if (!(await isSmallWorldModel(model)) || (await isSmallWorld(data))) return;
  throw new Error(
    `Expected a model that can read ${shortPath(data)}, but ${basename(model)} only knows the words of the small world: use ${instead} (--force tries it anyway).`,
  );
}

/** The default model: a language model, except for the small world's data. */
async function defaultModel({ data, method }: Pick<PolicySpec, 'data' | 'method'>) {
  if (await isSmallWorld(data)) return DEFAULT_MODEL;
  const named = TRAINED_MODELS.names();
  return named.find((name) => name === `smollm2-${method}`) ?? named[0];
}

/** Options that name a local policy. */
export type WeightsSpec = Pick<
  PolicySpec,
  'method' | 'model' | 'seed' | 'checkpoints' | 'adapter' | 'data' | 'force'
> & { backend?: PolicySpec['backend'] };

/**
 * The folders of a local policy; makes the base of a trained model if it is missing.
 * @throws Error for an unknown model, a missing adapter, or a model that does not know
 * the data
 */
export async function policyFolders(
  spec: WeightsSpec,
  signal = new AbortController().signal,
): Promise<PolicyFolders> {
  const { adapter, data, checkpoints } = spec;
  const isNamed = spec.model !== undefined || adapter !== undefined || checkpoints !== CHECKPOINTS;
  const model = isNamed ? spec.model : await defaultModel(spec);
  if (model === undefined || !TRAINED_MODELS.has(model)) {
    const folders = await localFolders({ ...spec, model });
    await requireKnownData(folders.model, { data, force: spec.force });
    return folders;
  }
  if (adapter !== undefined)
    throw new Error(
      `Expected ${model} to have its own adapter, but got ${adapter}. Leave out --model: the adapter names its base.`,
    );
  const { prepareTrainedModel } = await import('../../policy/folders/model-folder.js');
  const { useBackend } = await import('../../tensor/backend.js');
  await useBackend(spec.backend ?? 'auto');
  const folders = await prepareTrainedModel(model, { log, signal });
  const isUntrained = spec.method !== undefined && trainedBy(spec.method) === null;
  return isUntrained ? { model: folders.model } : folders;
}

/** The folders of a policy that is not a trained model's name. */
async function localFolders(spec: WeightsSpec): Promise<PolicyFolders> {
  const { method = DEFAULT_METHOD, model, seed, checkpoints, adapter } = spec;
  const initial = adapter === undefined && parseModelName(model ?? DEFAULT_MODEL);
  if (initial) return weightFolders({ ...initial, method, seed }, checkpoints);
  if (adapter === undefined)
    return { model: modelPath(model!, checkpoints, TRAINED_MODELS.names()) };
  const base =
    model === undefined ? adapterBase(adapter, checkpoints) : modelPath(model, checkpoints);
  return { model: await base, adapter };
}

/** Warns if the small world's encoder, the default, encodes other data. */
export async function warnOfEncoder({
  retriever = 'exact',
  encoder = ENCODER,
  data,
}: Pick<RetrieverSettings, 'retriever' | 'encoder' | 'data'>): Promise<void> {
  const isDefault = resolve(encoder) === resolve(ENCODER);
  if (isDense(retriever) && isDefault && !(await isSmallWorld(data)))
    log(
      'encoder: the small world’s, which compares spellings rather than meanings; name a better one with --encoder',
    );
}

/** @throws Error for an option that the retriever would ignore */
export function requireSearchOptions(
  { analyzer, encoder }: Pick<RetrieverSettings, 'analyzer' | 'encoder'>,
  name: string,
): void {
  if (encoder !== undefined && (name === 'bm25' || (isAddress(name) && !isDense(name))))
    throw new Error(
      `Expected a dense retriever with --encoder, but got ${name}. Add --retriever exact, or leave out --encoder.`,
    );
  if (analyzer !== undefined && (isDense(name) || isAddress(name)))
    throw new Error(`Expected bm25 with --analyzer, but got ${name}. Leave out --analyzer.`);
}

/**
 * Opens a retriever over the passages of `data`; a server has its own passages.
 * @param signal stops indexing
 */
export async function openRetriever(
  { data, index, signal, ...given }: Omit<RetrieverSettings, 'backend'> & { signal?: AbortSignal },
  { name, options }: Search,
): Promise<Pick<Setup, 'retriever' | 'passages'>> {
  requireSearchOptions(given, name);
  await warnOfEncoder({ retriever: name, encoder: options.encoder, data });
  if (isAddress(name)) return { retriever: await createRetriever(name, [], options), passages: [] };
  const file = passageFile(data);
  const indexed = await openIndex(name, file, { ...options, index, signal });
  if (indexed) return { retriever: indexed, passages: [] };
  const passages = await readPassages(file);
  return {
    retriever: await createRetriever(name, passages, { ...options, index, signal }),
    passages,
  };
}

/** Loads the tensor backend, and logs which one and why. */
export async function announceBackend(requested: BackendName | 'auto'): Promise<BackendReport> {
  const { describeBackend, useBackend } = await import('../../tensor/backend.js');
  const report = await useBackend(requested);
  log(describeBackend(report));
  return report;
}

/** Samples n questions, and logs how many there are of each benchmark and type. */
export function sampleAndLog(questions: readonly Question[], n: number): Question[] {
  const sample = sampleQuestions(questions, n);
  if (sample.questions.length < questions.length) {
    const parts = Array.from(sample.strata, ([name, size]) => `${size} ${name}`);
    log(`Sample of ${n} of ${questions.length} questions: ${formatList(parts)}.`);
  }
  return sample.questions;
}
