/**
 * The methods, in the order of the tables: from no search to parallel search. A method
 * defines how to answer and where the weights come from. To add a method, add an entry.
 */
import { createRegistry, nameSchema } from '../registry.js';
import type { RewardPresetName } from '../rewards/presets.js';
import {
  modelLimits,
  rolloutSchema,
  type RolloutConfig,
  type RolloutInput,
} from '../rollout/options.js';
import { PROMPTS, type Prompt } from '../text/prompts.js';

/** Trainers, named after the configuration section they read. */
export const TRAINER_NAMES = [
  'grpo',
  'ppo',
  'sft',
  'rejection-sampling',
  'demonstrations',
  'zerosearch',
  'zerosearch-simulator',
] as const;
export type TrainerName = (typeof TRAINER_NAMES)[number];

export interface Method {
  /** Name on the command line and in files. */
  readonly name: string;
  /** Title in tables and charts. */
  readonly title: string;
  readonly source: string;
  /** Its row in the tables of the ParallelSearch paper, if any. */
  readonly paperName?: string;
  /** A new prompt, to which `rollout` refers by name. */
  readonly prompt?: Prompt;
  readonly rollout: RolloutInput;
  /** Overrides for the small world's models, which only know `##` and passage lines. */
  readonly smallWorldRollout?: Partial<RolloutInput>;
  /**
   * Where the weights come from: a trainer, another method's weights, or the initial
   * model (null).
   */
  readonly training:
    | { readonly trainer: TrainerName; readonly rewards: RewardPresetName }
    | { readonly weightsFrom: string }
    | null;
  /** Trained only for the sake of other methods, and never compared. */
  readonly isPreparation?: boolean;
}

const THIS_PROJECT = 'this project';
const SEARCH_R1_PAPER = 'Search-R1, arXiv 2503.09516';
const ZEROSEARCH_PAPER = 'ZeroSearch, arXiv 2505.04588';
const PARALLELSEARCH_PAPER = 'ParallelSearch, arXiv 2508.09303';

const NO_SEARCH: RolloutInput = { prompt: 'r1', splitQueries: false, maxSearchTurns: 0 };
const SEQUENTIAL: RolloutInput = { prompt: 'search-r1', splitQueries: false };
const PARALLEL: RolloutInput = { prompt: 'parallel', splitQueries: true };

const untrained = (prompt: string, title: string, rollout: RolloutInput): Method => ({
  name: `untrained:${prompt}`,
  title: `Untrained, ${title}`,
  source: 'the initial model, before RL',
  rollout: { ...rollout, prompt },
  training: null,
});

/**
 * The initial model with each prompt it was trained on; the best of them is RL's
 * baseline.
 */
export const UNTRAINED: readonly Method[] = [
  untrained('search-r1', 'Search-R1’s prompt', SEQUENTIAL),
  untrained('parallel', 'parallel prompt', PARALLEL),
  // The exercise prompt of supervised training, unused in RL.
  untrained('drill', 'practice prompt', PARALLEL),
];

/** Without training: a lookup table, and the initial model with and without search. */
const WITHOUT_TRAINING: readonly Method[] = [
  {
    // Not a model: a table of the wordings of training questions and their evidence.
    name: 'lookup',
    title: 'Lookup of wordings',
    source: THIS_PROJECT,
    rollout: PARALLEL,
    training: null,
  },
  {
    // Direct inference: the initial model answers without retrieval.
    name: 'r1',
    title: 'R1 (no search)',
    source: 'DeepSeek-R1, arXiv 2501.12948',
    rollout: NO_SEARCH,
    training: null,
  },
  ...UNTRAINED,
];

/** Supervised warm-up of a language model on an expert's searches. */
const DEMONSTRATIONS: Method = {
  name: 'demonstrations',
  title: 'Demonstrations (before RL)',
  source: THIS_PROJECT,
  rollout: PARALLEL,
  training: { trainer: 'demonstrations', rewards: 'search-r1' },
  isPreparation: true,
};

/** The policy that simulates ZeroSearch's search engine. */
export const zeroSearchSimulator: Method = {
  name: 'zerosearch:simulator',
  title: 'ZeroSearch, simulated search engine',
  source: ZEROSEARCH_PAPER,
  rollout: SEQUENTIAL,
  training: { trainer: 'zerosearch-simulator', rewards: 'search-r1' },
  isPreparation: true,
};

/**
 * Only in the experiment `baselines`: other papers' methods, variants of ParallelSearch.
 */
export const BASELINES: readonly Method[] = [
  {
    // R1 as in the paper's tables, also trained by RL with the outcome reward.
    name: 'r1:trained',
    title: 'R1 (no search), trained',
    source: `${SEARCH_R1_PAPER}, Table 2; DeepSeek-R1, arXiv 2501.12948`,
    paperName: 'R1',
    rollout: NO_SEARCH,
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // Supervised training on gold answers, without search.
    name: 'sft',
    title: 'SFT (no search)',
    source: `${SEARCH_R1_PAPER}, Table 2`,
    rollout: NO_SEARCH,
    training: { trainer: 'sft', rewards: 'search-r1' },
  },
  {
    // Supervised training on the initial model's own correct rollouts.
    name: 'rejection-sampling',
    title: 'Rejection sampling',
    source: `${SEARCH_R1_PAPER}, Table 2`,
    rollout: SEQUENTIAL,
    training: { trainer: 'rejection-sampling', rewards: 'search-r1' },
  },
  {
    // Search-R1, but a correct answer earns less the more searches it took.
    name: 'otc',
    title: 'OTC',
    source: 'OTC, arXiv 2504.14870, GRPO form',
    paperName: 'OTC',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'otc-grpo' },
  },
  {
    name: 'otc:ppo',
    title: 'OTC, PPO',
    source: 'OTC, arXiv 2504.14870, PPO form',
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'otc-ppo' },
  },
  {
    // Search-R1 with a reward per search turn, trained by PPO.
    name: 'stepsearch',
    title: 'StepSearch',
    source: 'StepSearch, arXiv 2505.15107',
    paperName: 'StepSearch',
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'stepsearch' },
  },
  {
    // The same rewards with GRPO: turn rewards become advantages of the turn's tokens.
    name: 'stepsearch:grpo',
    title: 'StepSearch, GRPO',
    source: 'StepSearch, arXiv 2505.15107; turn-level advantages of MT-GRPO, arXiv 2505.11821',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'stepsearch' },
  },
  zeroSearchSimulator,
  {
    // Search-R1 trained with a simulated search engine.
    name: 'zerosearch',
    title: 'ZeroSearch',
    source: ZEROSEARCH_PAPER,
    paperName: 'ZeroSearch',
    rollout: SEQUENTIAL,
    training: { trainer: 'zerosearch', rewards: 'f1' },
  },
  {
    name: 'search-r1:ppo',
    title: 'Search-R1, PPO',
    source: SEARCH_R1_PAPER,
    rollout: SEQUENTIAL,
    training: { trainer: 'ppo', rewards: 'search-r1' },
  },
  {
    name: 'parallelsearch:ppo',
    title: 'ParallelSearch, PPO',
    source: PARALLELSEARCH_PAPER,
    rollout: PARALLEL,
    training: { trainer: 'ppo', rewards: 'paper' },
  },
  {
    // Uses the rewards of the authors' released code, which differ from the equations.
    name: 'parallelsearch:released-code',
    title: 'ParallelSearch, released code',
    source: PARALLELSEARCH_PAPER,
    rollout: PARALLEL,
    training: { trainer: 'grpo', rewards: 'authors-code' },
  },
];

/**
 * RAG-R1 in its multi-query mode: several queries in a search by the prompt alone, the
 * outcome reward, PPO. From the authors' code (github.com/inclusionAI/AWorld-RL,
 * `RAG-R1`: `train_ppo_mq.sh`, `hotpotqa_search_mq.py`, `generation_mq.py`).
 *
 * As in that code: the prompt, commas between queries, JSON that labels each query's
 * documents, and a limit on the documents of each query.
 *
 * Departures:
 * 1. The limit of a query (`max_obs_length`, 1,000 tokens in the script) is its equal
 *    share of the turn's limit.
 * 2. Tags inside passages are escaped. A search without a query is an invalid action (in
 *    the code, it finds nothing), and the notice after it contains no tags.
 * 3. The small world's models read `##` and lines of passages, the only format they have
 *    learned, and the short prompt of ParallelSearch.
 * 4. There is no supervised stage before RL.
 * 5. Six search turns as for all methods here; the script has five. As in the code,
 *    queries beyond three also run (at most 8 per turn).
 */
const RAG_R1: Method = {
  name: 'rag-r1',
  title: 'RAG-R1',
  source: 'RAG-R1, arXiv 2507.02962, multi-query mode; authors’ code',
  rollout: {
    prompt: 'rag-r1',
    splitQueries: true,
    querySeparator: ',',
    informationForm: 'json',
    informationCut: 'query',
  },
  smallWorldRollout: { querySeparator: '##', informationForm: 'lines' },
  training: { trainer: 'ppo', rewards: 'search-r1' },
};

/** Methods of later papers, compared in the experiment `baselines`. */
export const LATER_METHODS: readonly Method[] = [
  {
    ...RAG_R1,
    name: 'rag-r1:grpo',
    title: 'RAG-R1, GRPO',
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    name: 'search-r1:format',
    title: 'Search-R1, format reward',
    source: 'Search-R1’s later study (Jin et al. 2025), arXiv 2505.15117; authors’ code, v0.3',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'search-r1-format' },
  },
];

const COMPARED: readonly Method[] = [
  {
    // Search-R1's prompt, the outcome reward, one query per search.
    name: 'search-r1',
    title: 'Search-R1',
    source: SEARCH_R1_PAPER,
    paperName: 'Search-R1',
    rollout: SEQUENTIAL,
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // The four turns of the authors' code, too few for questions about five entities.
    name: 'search-r1:b4',
    title: 'Search-R1, four search turns',
    source: SEARCH_R1_PAPER,
    rollout: { ...SEQUENTIAL, maxSearchTurns: 4 },
    training: { trainer: 'grpo', rewards: 'search-r1' },
  },
  {
    // Search-R1's weights with the parallel prompt: isolates the effect of the prompt.
    name: 'search-r1-parallel-prompt',
    title: 'Search-R1 + parallel prompt',
    source: `${PARALLELSEARCH_PAPER}, Table 3`,
    paperName: 'Search-R1+Parallel Prompt',
    rollout: PARALLEL,
    training: { weightsFrom: 'search-r1' },
  },
  {
    // The parallel prompt, and the rewards of Eq. 3 to 7.
    name: 'parallelsearch',
    title: 'ParallelSearch',
    source: PARALLELSEARCH_PAPER,
    paperName: 'ParallelSearch',
    rollout: PARALLEL,
    training: { trainer: 'grpo', rewards: 'paper' },
  },
];

/** The methods that every experiment compares, the first with the second. */
export const BOTH_METHODS = ['parallelsearch', 'search-r1'] as const;

/** The methods of the main comparison. */
export const MAIN_METHODS: readonly Method[] = [...WITHOUT_TRAINING, ...COMPARED];

export const METHODS = createRegistry<Method>(
  'method',
  [...WITHOUT_TRAINING, DEMONSTRATIONS, ...BASELINES, RAG_R1, ...LATER_METHODS, ...COMPARED],
  { onAdd: ({ prompt }) => prompt && PROMPTS.add(prompt) },
);

export const methodNameSchema = nameSchema(METHODS);

/** The title of a method; unknown names are returned unchanged. */
export const methodTitle = (name: string): string =>
  METHODS.has(name) ? METHODS.get(name).title : name;

/**
 * Returns the rollout settings for a method: those of the training if the policy was
 * trained by this method, otherwise the method's, within the limits of the training or
 * the model. Models of the small world have a short prompt and short turns (the
 * defaults).
 * @param options.trained the configuration that the policy was trained with
 * @param options.changes override everything else
 * @throws RangeError for an unknown method
 */
export function resolveRollout(
  method: string,
  model: 'small-world' | Parameters<typeof modelLimits>[0],
  options: { trained?: { method: string; rollout: RolloutConfig } | null; changes?: object } = {},
): RolloutConfig {
  const { trained, changes } = options;
  const { rollout, smallWorldRollout } = METHODS.get(method);
  const isAsTrained = trained?.method === method;
  const presets =
    model === 'small-world'
      ? { ...rollout, ...smallWorldRollout }
      : { ...(trained?.rollout ?? modelLimits(model)), ...rollout };
  return rolloutSchema.parse({ ...(isAsTrained ? trained.rollout : presets), ...changes });
}

/** The reward preset that a method is trained with; undefined if it is not trained. */
export function rewardPreset(name: string): RewardPresetName | undefined {
  const { training } = METHODS.get(name);
  return training && 'rewards' in training ? training.rewards : undefined;
}

/** The names of the methods with weights of their own. */
export const trainedMethods = (): string[] =>
  METHODS.all().flatMap(({ name, training }) => (training && 'trainer' in training ? [name] : []));

/**
 * The method whose training produced the weights of `name`; null for the initial model.
 * @throws RangeError for an unknown method
 */
export function trainedBy(name: string): string | null {
  const { training } = METHODS.get(name);
  if (!training) return null;
  return 'weightsFrom' in training ? training.weightsFrom : name;
}
