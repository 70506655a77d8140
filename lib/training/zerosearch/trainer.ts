/**
 * ZeroSearch (Sun et al. 2025, arXiv 2505.04588): a policy learns to search while
 * another one plays the search engine, which writes useful or noisy documents as it is
 * told; in the course of training more of them are noisy. The update is GRPO's; what is
 * tested is real search.
 *
 * Departures: as many documents a query as our retrievers give, where the paper has five;
 * the simulator is an adapter on the policy's own initial model, where the paper takes a
 * larger model, and is told what that one knows (`documents.ts`).
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { CHECKPOINTS } from '../../io/paths.js';
import { LocalPolicy } from '../../policy/local-policy.js';
import { disposeMerged, mergePeftArrays } from '../../policy/lora.js';
import { readPeftConfig, requireFolders } from '../../policy/model-files.js';
import type { Weights } from '../../policy/weights.js';
import type { Random } from '../../random.js';
import type { SearchOutcome } from '../../retrieval/search.js';
import type { SimulatedQuery } from '../../rollout/rollout.js';
import { readSafetensors } from '../../tensor/weight-files.js';
import { grpo, type GrpoRow } from '../grpo/trainer.js';
import { mean, type Metrics } from '../metrics.js';
import { OnPolicyTrainer, type Algorithm } from '../on-policy.js';
import type { TrainingTask } from '../trainer.js';
import {
  areTrue,
  documentsPrompt,
  END_OF_DOCUMENTS,
  KINDS,
  parseDocuments,
  type DocumentKind,
} from './documents.js';
import type { ZeroSearchOptions } from './options.js';

/** Most tokens of a document: 30 words in the paper. */
const TOKENS_PER_DOCUMENT = 64;

/**
 * Share of queries that get noisy documents at a step of `numSteps` (Eq. 1): p_s +
 * (b^(i/m) - 1) / (b - 1) (p_e - p_s).
 */
export function noiseProbability(
  step: number,
  numSteps: number,
  {
    startNoise,
    endNoise,
    noiseBase,
  }: Pick<ZeroSearchOptions, 'startNoise' | 'endNoise' | 'noiseBase'>,
): number {
  const course = (noiseBase ** (step / numSteps) - 1) / (noiseBase - 1);
  return startNoise + course * (endNoise - startNoise);
}

/**
 * The policy that plays the search engine, opened at its first query; its weights are the
 * task's model's but for what the adapter changes.
 */
class SearchSimulator {
  private opened: { policy: LocalPolicy; weights: Weights } | null = null;
  /**
   * Of the queries since {@link takeMetrics} that name an entity of the graph: whether
   * what was written is true.
   */
  private told: { kind: DocumentKind; isTrue: boolean }[] = [];

  constructor(
    private readonly task: TrainingTask,
    private readonly options: ZeroSearchOptions,
  ) {}

  /**
   * Writes documents for each query. @param options.noise share of the queries that get
   * noisy ones
   */
  async search(
    queries: readonly SimulatedQuery[],
    { noise, random }: { noise: number; random: Random },
  ): Promise<SearchOutcome[]> {
    if (queries.length === 0) return [];
    const policy = await this.policy();
    const { promptForm, topK } = this.task.config.rollout;
    const kinds = queries.map((): DocumentKind => (random.uniform() < noise ? 'noisy' : 'useful'));
    const prompts = queries.map(({ query, question }, i) =>
      documentsPrompt(kinds[i], query, question, promptForm),
    );
    const generations = await policy.generate(
      prompts.map((prompt) => policy.tokenizer.encode(prompt)),
      {
        temperature: this.options.temperature,
        topP: 1,
        stop: [END_OF_DOCUMENTS],
        maxNewTokens: topK * TOKENS_PER_DOCUMENT,
        randoms: queries.map((_, i) => random.fork(`query ${i}`)),
      },
    );
    policy.release();
    return generations.map(({ text }, i) => {
      const passages = parseDocuments(text, kinds[i], topK);
      const { query, question } = queries[i];
      const isTrue = areTrue(query, passages, question);
      if (isTrue !== null) this.told.push({ kind: kinds[i], isTrue });
      if (passages.length === 0)
        return { status: 'failed', reason: 'The simulator wrote no document.' };
      return {
        status: 'ok',
        passages: passages.map((passage, rank) => ({ passage, score: topK - rank })),
      };
    });
  }

  /** Shares of searches whose documents were true, by kind; 0 where there were none. */
  takeMetrics(): Metrics {
    const { told } = this;
    this.told = [];
    const shares = KINDS.map((kind) => {
      const own = told.filter((one) => one.kind === kind);
      return [`documents/true_${kind}`, mean(own.map(({ isTrue }) => Number(isTrue)))];
    });
    return Object.fromEntries(shares) as Metrics;
  }

  dispose(): void {
    if (!this.opened) return;
    this.opened.policy.dispose();
    disposeMerged(this.opened.weights, this.task.model.weights);
    this.opened = null;
  }

  private async policy(): Promise<LocalPolicy> {
    if (this.opened) return this.opened.policy;
    const { config, tokenizer, weights: base } = this.task.model;
    const folder = simulatorFolder(this.options);
    requireFolders([folder]);
    const arrays = await readSafetensors(join(folder, 'adapter_model.safetensors'));
    const weights = mergePeftArrays(base, arrays, config, await readPeftConfig(folder));
    this.opened = { weights, policy: new LocalPolicy('simulator', weights, config, tokenizer) };
    return this.opened.policy;
  }
}

/** Where the adapter lies that plays the search engine. */
export function simulatorFolder({ simulator }: Pick<ZeroSearchOptions, 'simulator'>): string {
  const committed = join(CHECKPOINTS, simulator);
  return existsSync(committed) ? committed : simulator;
}

function zeroSearch(task: TrainingTask): Algorithm<GrpoRow> {
  const {
    zerosearch: options,
    grpo: { steps },
  } = task.config;
  if (!options)
    throw new Error(
      'Expected the adapter that plays the search engine, but the configuration names none. Train one with --method zerosearch:simulator, and name its folder with --simulator.',
    );
  const simulator = new SearchSimulator(task, options);
  return {
    ...grpo,
    search: (queries, { step, random }) =>
      simulator.search(queries, { noise: noiseProbability(step, steps, options), random }),
    assess: async (rewarded, context) => ({
      ...(await grpo.assess(rewarded, context)),
      metrics: {
        noise: noiseProbability(context.step, steps, options),
        ...simulator.takeMetrics(),
      },
    }),
    dispose: () => simulator.dispose(),
  };
}

/** @throws Error for a configuration without a simulator */
export const createZeroSearch = (task: TrainingTask): OnPolicyTrainer<GrpoRow> =>
  new OnPolicyTrainer(task, zeroSearch(task));
