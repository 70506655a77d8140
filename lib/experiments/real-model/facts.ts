/**
 * Comparing apart from searching and reading: an expert searches for what each comparison
 * needs and states the facts, and the model concludes and answers.
 */
import { questionType, type Question } from '../../data/question.js';
import { mainMeasure } from '../../evaluation/metrics.js';
import type { QuestionResult } from '../../evaluation/result.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import { where, type SummaryOptions } from '../../evaluation/table.js';
import { configHash } from '../../io/provenance.js';
import { loadLocalPolicy } from '../../policy/folders/model-folder.js';
import type { Generation, Policy, SamplingOptions } from '../../policy/policy.js';
import { createExpert } from '../../training/expert.js';
import { defineComputation, type Experiment, type Job, type WorkContext } from '../experiment.js';
import { splitNames, summarise, type Answered } from '../results/summary.js';
import type { Answers } from '../running/answers.js';
import {
  answerBatches,
  editionFolders,
  findQuestions,
  freshName,
  freshRollout,
  hashAdapters,
  makeEdition,
  mergeRecorded,
  MULTI_HOP_TEST,
  openWorld,
  readQuestionIds,
  type FreshRun,
} from './answering.js';
import { missingInputs, MODEL, RETRIEVER } from './settings.js';

export interface FactsRun extends FreshRun {
  /** Whether the model without any training answers, within the edition's limits. */
  isUntrained?: boolean;
}

const PARALLEL = 'untrained:parallel';
const RUNS: readonly FactsRun[] = [
  { edition: 'second', method: PARALLEL, seed: 1, isUntrained: true },
  { edition: 'first', method: PARALLEL, seed: 1 },
  { edition: 'second', method: PARALLEL, seed: 1 },
  { edition: 'second', method: 'parallelsearch', seed: 1 },
  { edition: 'second', method: 'parallelsearch', seed: 2 },
];

/** Lets the expert write everything up to the facts, and the model what follows. */
export function concludingPolicy(model: Policy, expert: Policy): Policy {
  const generate = async (
    contexts: readonly (readonly number[])[],
    options: SamplingOptions,
  ): Promise<Generation[]> => {
    const turns = await expert.generate(contexts, options);
    const rows = turns.flatMap(({ text }, i) => {
      if (!text.includes('<answer>')) return [];
      return [{ i, stated: model.tokenizer.encode(text.slice(0, text.indexOf(' </think>'))) }];
    });
    if (rows.length === 0) return turns;
    const written = await model.generate(
      rows.map(({ i, stated }) => [...contexts[i], ...stated]),
      { ...options, randoms: rows.map(({ i }) => options.randoms[i]) },
    );
    for (const [j, { i, stated }] of rows.entries()) {
      const tokenIds = [...stated, ...written[j].tokenIds];
      turns[i] = { tokenIds, text: model.tokenizer.decode(tokenIds), finish: written[j].finish };
    }
    return turns;
  };
  const { name, tokenizer, maxLength } = model;
  return { name, tokenizer, maxLength, generate, release: () => model.release?.() };
}

/** Names a run among all of the test. */
const runName = ({ isUntrained, ...run }: FactsRun): string =>
  isUntrained ? 'no-training' : freshName(run);

/** Comparisons of the fresh test, and of the held-out training questions. */
async function comparisons(): Promise<Question[]> {
  const world = await openWorld();
  return [...world.dev, ...findQuestions(MULTI_HOP_TEST, world)].filter(
    (question) => questionType(question) === 'parallelizable',
  );
}

async function answerFromFacts(
  run: FactsRun,
  context: WorkContext,
): Promise<Answers<FactsRun> | undefined> {
  const questions = await comparisons();
  const { model, adapter } = run.isUntrained
    ? { model: MODEL, adapter: undefined }
    : await makeEdition(run);
  const policy = await loadLocalPolicy(model, { adapter });
  const { tokenizer, maxLength } = policy;
  const options = { tokenizer, maxLength, questions, parallelShare: 1, isFactual: true };
  const expert = createExpert(options);
  const rollout = freshRollout(run);
  const asking = { policy: concludingPolicy(policy, expert), questions, rollout };
  return answerBatches(run, { name: `facts-${runName(run)}`, ...asking }, context);
}

async function factsJob(run: FactsRun): Promise<Job<FactsRun>> {
  const { warmUp, adapter } = editionFolders(run);
  const inputs = run.isUntrained ? 'none' : await hashAdapters(warmUp, adapter);
  const questions = readQuestionIds(MULTI_HOP_TEST);
  return {
    key: `real-model-facts/${runName(run)}`,
    hash: configHash({ rollout: freshRollout(run), retriever: RETRIEVER, questions, inputs }),
    input: run,
    seconds: 0.6 * questions.length,
  };
}

export const realModelFacts: Experiment = {
  name: 'real-model-facts',
  title: 'what a language model concludes from facts that are stated for it',
  computation: defineComputation<FactsRun, Answers<FactsRun>>({
    missing: missingInputs,
    jobs: () => Promise.all(RUNS.map(factsJob)),
    work: answerFromFacts,
    merge: mergeRecorded,
  }),
};

/** An answer to a fresh question; `edition` is `none` without training. */
export type FactsAnswer = QuestionResult & { edition: FreshRun['edition'] | 'none' };

const nameOf = (edition: FactsAnswer['edition'], method: string): string =>
  JSON.stringify([edition, method]);

/** Computes what each model concludes, and what RL changes. */
export function compareFacts(
  { answers, provenance }: Answered<FactsAnswer>,
  options: SummaryOptions,
) {
  const named = answers.map((one) => ({ ...one, method: nameOf(one.edition, one.method) }));
  const em = mainMeasure('em');
  const settings = {
    measures: [
      em,
      { ...em, metric: 'em_choice', includes: ({ isYesNo }: QuestionKey) => !isYesNo },
      { ...em, metric: 'em_yes_no', includes: ({ isYesNo }: QuestionKey) => isYesNo },
    ],
    filter: where({ benchmark: 'all', subset: 'all' }),
    pairs: [[nameOf('second', 'parallelsearch'), nameOf('second', PARALLEL)] as const],
  };
  const tidy = summarise({ answers: named, provenance }, settings, options);
  return splitNames(tidy, (name) => {
    const [edition, method] = JSON.parse(name) as [string, string];
    return { edition, method };
  });
}
