/**
 * ZeroSearch (Sun et al. 2025, arXiv 2505.04588): a policy learns to search while another
 * one simulates the search engine and writes useful or noisy documents; the share of
 * noisy ones grows during training. The update is GRPO's. Evaluation uses real search.
 * Departures:
 *
 * 1. As many documents per query as our retrievers return, where the paper has five.
 * 2. The simulator is an adapter on the policy's own initial model, where the paper uses
 *    a larger model; its prompt contains the part of the larger model's knowledge that
 *    the graph has.
 * 3. The adapter is trained step by step on rollouts of the initial model with real
 *    search; the paper samples all of them first. Only the order differs.
 * 4. Documents count as useful if they state what the query asks for, where the paper
 *    takes the documents of correct answers: small policies answer too few questions
 *    correctly. For the same reason, the passage that states it comes first.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { sort } from 'd3-array';
import { joinContents, type Passage } from '../data/passage.js';
import type { Question } from '../data/question.js';
import { CHECKPOINTS } from '../io/paths.js';
import { ADAPTER_WEIGHTS } from '../policy/folders/files.js';
import { readPeftConfig, requireFolders } from '../policy/folders/policy-folders.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { disposeMerged, mergePeftArrays } from '../policy/model/lora.js';
import type { Weights } from '../policy/model/weights.js';
import type { Random } from '../random.js';
import type { SearchOutcome } from '../retrieval/search.js';
import type { SimulatedQuery } from '../rollout/options.js';
import type { With } from '../rollout/trajectory.js';
import { readSafetensors } from '../tensor/weight-files.js';
import { paddedWords } from '../text/answer-match.js';
import type { PromptForm } from '../text/prompts.js';
import { parseInformation, formatInformation } from '../text/tags.js';
import type { TrainConfig } from './config.js';
import { grpoParts } from './grpo.js';
import { strictMean, type Metrics } from './metrics.js';
import { isCorrect, isTimedOut, splitIntoGroups } from './rollout-groups.js';
import { encodePieces, type Sequence } from './sequences.js';
import { imitation } from './supervised.js';
import {
  buildTrainer,
  TrainingSession,
  assignAdvantages,
  type Step,
  type Trainer,
  type TrainingTask,
} from './trainer.js';
import { grpoVariant } from './variants.js';

type ZeroSearchOptions = NonNullable<TrainConfig['zerosearch']>;

/** @throws Error if the adapter that simulates the search engine is missing */
export function createZeroSearch(task: TrainingTask): Trainer {
  const options = task.config.zerosearch!;
  if (options.simulator === undefined)
    throw new Error(
      'Expected zerosearch.simulator to name an adapter that simulates the search engine. Train one with --method zerosearch:simulator and pass its folder as --simulator.',
    );
  const session = new TrainingSession(task, 'grpo');
  const simulator = new SearchSimulator(task, options);
  const { prepare, ...update } = grpoParts(session, grpoVariant(options));
  const noiseAt = ({ index }: Step): number => noiseProbability(index, options.steps, options);
  return buildTrainer(session, {
    isOnPolicy: true,
    sampling: (step) => {
      const noise = noiseAt(step);
      const random = step.random.fork('search');
      return { search: (queries) => simulator.search(queries, { noise, random }) };
    },
    prepare: async (sampled, step) => {
      const lesson = await prepare(sampled);
      const noise = noiseAt(step);
      return { ...lesson, metrics: { ...lesson.metrics, noise, ...simulator.drainMetrics() } };
    },
    ...update,
    dispose: () => simulator.dispose(),
  });
}

/** Trains the simulated search engine (Sec. 3.2) by imitating real results. */
export function createSimulatorTraining(task: TrainingTask): Trainer {
  const session = new TrainingSession(task, 'zerosearch-simulator');
  const { groupSize } = session.settings;
  return buildTrainer(session, {
    isOnPolicy: false,
    sampling: () => ({ policy: session.trained.useInitialPolicy() }),
    prepare: ({ trajectories }, { questions }) => ({
      trajectories: assignAdvantages(trajectories, () => 1),
      rows: splitIntoGroups(trajectories, groupSize).flatMap((group, g) =>
        group
          .filter((trajectory) => !isTimedOut(trajectory))
          .flatMap((trajectory) => documentRows(trajectory, questions[g], task)),
      ),
    }),
    ...imitation(session),
  });
}

/** One row per query of a rollout, with the retrieved documents. */
function documentRows(
  trajectory: With<'rewards'>,
  question: Question,
  { model: { tokenizer }, config }: TrainingTask,
): Sequence[] {
  return answeredQueries(trajectory).map(({ query, passages }) => {
    const isTrue = (documents: readonly PrintedPassage[]): boolean | null =>
      stateAnswer(query, documents, question);
    const kind = (isTrue(passages) ?? isCorrect(trajectory)) ? 'useful' : 'noisy';
    const prompt = documentsPrompt(kind, query, question, config.rollout.promptForm);
    const ordered = sort(passages, (passage) => Number(!isTrue([passage])));
    const pieces = [
      { text: prompt, weight: 0 },
      { text: formatDocuments(ordered), weight: 1 },
    ];
    return encodePieces(pieces, tokenizer);
  });
}

type PrintedPassage = Pick<Passage, 'title' | 'text'>;

/** The queries of a trajectory that had results, with the passages shown. */
function answeredQueries({ segments, searchTurns }: With<'rewards'>) {
  const shown = segments.filter(({ kind }) => kind === 'information');
  return searchTurns.flatMap(({ queries }, turn) => {
    const results = parseInformation(shown[turn].text);
    return queries.flatMap((query, i) => {
      const result = results[i];
      return result?.status === 'ok' && result.passages.length > 0
        ? [{ query, passages: result.passages }]
        : [];
    });
  });
}

/** Maximum tokens per document; the paper has 30 words. */
const TOKENS_PER_DOCUMENT = 64;

/**
 * The share of queries that get noisy documents at a step of `numSteps` (Eq. 1): p_s +
 * (b^(i/m) - 1) / (b - 1) (p_e - p_s).
 */
export function noiseProbability(
  step: number,
  numSteps: number,
  options: Pick<ZeroSearchOptions, 'startNoise' | 'endNoise' | 'noiseBase'>,
): number {
  const { startNoise, endNoise, noiseBase } = options;
  const progress = (noiseBase ** (step / numSteps) - 1) / (noiseBase - 1);
  return startNoise + progress * (endNoise - startNoise);
}

/** The policy that simulates the search engine; loaded on first use. */
class SearchSimulator {
  private opened: { policy: LocalPolicy; weights: Weights } | null = null;
  /** Kind and truth of the documents, for queries that name an entity of the graph. */
  private written: { kind: DocumentKind; isTrue: boolean }[] = [];

  constructor(
    private readonly task: TrainingTask,
    private readonly options: ZeroSearchOptions,
  ) {}

  /**
   * Writes documents for each query.
   * @param options.noise share of queries that get noisy documents
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
    const contexts = prompts.map((prompt) => policy.tokenizer.encode(prompt));
    const generations = await policy.generate(contexts, {
      temperature: this.options.simulatorTemperature,
      topP: 1,
      stop: [END_OF_DOCUMENTS],
      maxNewTokens: topK * TOKENS_PER_DOCUMENT,
      randoms: queries.map((_, i) => random.fork(`query ${i}`)),
    });
    policy.release();
    return generations.map(({ text }, i) => {
      const passages = parseDocuments(text, kinds[i], topK);
      const { query, question } = queries[i];
      const isTrue = stateAnswer(query, passages, question);
      if (isTrue !== null) this.written.push({ kind: kinds[i], isTrue });
      if (passages.length === 0)
        return { status: 'failed', reason: 'The simulator wrote no document.' };
      return {
        status: 'ok',
        passages: passages.map((passage, rank) => ({ passage, score: topK - rank })),
      };
    });
  }

  /** Share of searches with true documents, by kind; 0 if there were none. */
  drainMetrics(): Metrics {
    const { written } = this;
    this.written = [];
    const shares = KINDS.map((kind) => {
      const ofKind = written.filter((documents) => documents.kind === kind);
      return [`documents/true_${kind}`, strictMean(ofKind.map(({ isTrue }) => Number(isTrue)))];
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
    const folder = simulatorFolder(this.options.simulator!);
    requireFolders([folder]);
    const arrays = await readSafetensors(join(folder, ADAPTER_WEIGHTS));
    const weights = mergePeftArrays(base, arrays, config, await readPeftConfig(folder));
    this.opened = { weights, policy: new LocalPolicy('simulator', weights, config, tokenizer) };
    return this.opened.policy;
  }
}

export function simulatorFolder(simulator: string): string {
  const committed = join(CHECKPOINTS, simulator);
  return existsSync(committed) ? committed : simulator;
}

/** Useful documents help to answer the question, noisy ones do not. */
export const KINDS = ['useful', 'noisy'] as const;
export type DocumentKind = (typeof KINDS)[number];

export const END_OF_DOCUMENTS = '</information>';

/**
 * The prompt for a query's documents. As in the paper it contains the question and its
 * answer, and also, from the graph, the answers to sub-questions, which the paper's
 * larger model would know.
 */
export function documentsPrompt(
  kind: DocumentKind,
  query: string,
  { question, goldenAnswers: [answer], metadata: { graph = [] } }: Question,
  form: PromptForm,
): string {
  const facts = graph
    .map(({ attribute, entity, answers }) => `${attribute}: ${entity} = ${answers[0]}`)
    .join('; ');
  if (form === 'short') return `Practice. ${kind} ${question} ${answer}\n${facts}\n${query}\n`;
  return (
    `You are a search engine. Write ${kind} documents for a query.\n` +
    `The user wants to answer the question "${question}", whose answer is ${answer}.\n` +
    (facts && `What is known: ${facts}.\n`) +
    `The documents should hold ${kind} information, each in about 30 words.\nQuery: ${query}\n`
  );
}

export const formatDocuments = (passages: readonly PrintedPassage[]): string =>
  formatInformation([{ status: 'ok', passages }]);

/** Parses documents, with ids that tell their kind; empty if there are none. */
export function parseDocuments(text: string, kind: DocumentKind, topK: number): Passage[] {
  const [result] = parseInformation(text);
  const written = result?.status === 'ok' ? result.passages.slice(0, topK) : [];
  return written.map(({ title, text }, i) => ({
    id: `${kind}-${i + 1}`,
    contents: joinContents(title, text),
    title,
    text,
  }));
}

/**
 * Whether documents truthfully state what a query asks for: the answer to a sub-question
 * about an entity named in the query. Null if it names no entity of the graph.
 */
export function stateAnswer(
  query: string,
  passages: readonly PrintedPassage[],
  { metadata: { graph = [] } }: Question,
): boolean | null {
  const matches = graph.filter(({ entity }) => paddedWords(query).includes(paddedWords(entity)));
  if (matches.length === 0) return null;
  const texts = passages.map(({ title, text }) => paddedWords(`${title} ${text}`));
  return matches.some(({ answers }) =>
    answers.some((answer) => texts.some((text) => text.includes(paddedWords(answer)))),
  );
}
