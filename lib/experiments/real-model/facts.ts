/**
 * Comparing apart from searching and reading: an expert searches for what each comparison
 * needs and states the facts, and the model concludes and answers.
 */
import { questionType, type Question } from '../../data/question.js';
import { where } from '../../evaluation/figures.js';
import { mainMeasure } from '../../evaluation/metrics.js';
import type { QuestionKey } from '../../evaluation/selections.js';
import { loadLocalPolicy } from '../../policy/folders/model-folder.js';
import type { Generation, Policy, SamplingOptions } from '../../policy/policy.js';
import { createExpert } from '../../training/expert.js';
import type { WorkContext } from '../experiment.js';
import { splitNames, summarise, type Answered } from '../results/summary.js';
import type { Answers } from '../running/answers.js';
import {
  answerBatches,
  findQuestions,
  freshExperiment,
  freshName,
  freshRollout,
  makeEdition,
  MULTI_HOP_TEST,
  openWorld,
  type FreshRun,
} from './answering.js';
import { decodeMethod, encodeMethod, type FreshAnswer } from './second-edition.js';

const PARALLEL = 'untrained:parallel';
const RUNS: readonly FreshRun[] = [
  { edition: 'none', method: PARALLEL, seed: 1 },
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

/** Comparisons of the fresh test, and of the held-out training questions. */
async function comparisons(): Promise<Question[]> {
  const world = await openWorld();
  return [...world.dev, ...findQuestions(MULTI_HOP_TEST, world)].filter(
    (question) => questionType(question) === 'parallelizable',
  );
}

async function answerFromFacts(
  run: FreshRun,
  context: WorkContext,
): Promise<Answers<FreshRun> | undefined> {
  const questions = await comparisons();
  const { model, adapter } = await makeEdition(run);
  const policy = await loadLocalPolicy(model, { adapter });
  const { tokenizer, maxLength } = policy;
  const options = { tokenizer, maxLength, questions, parallelShare: 1, isFactual: true };
  const expert = createExpert(options);
  const rollout = freshRollout(run);
  const asking = { policy: concludingPolicy(policy, expert), questions, rollout };
  return answerBatches(run, { name: `facts-${freshName(run)}`, ...asking }, context);
}

export const realModelFacts = freshExperiment({
  name: 'real-model-facts',
  title: 'what a language model concludes from facts that are stated for it',
  test: { file: MULTI_HOP_TEST.file, runs: RUNS },
  secondsEach: 0.6,
  work: answerFromFacts,
});

export function compareFacts({ answers, provenance }: Answered<FreshAnswer>) {
  const named = answers.map((one) => ({ ...one, method: encodeMethod(one.edition, one.method) }));
  const em = mainMeasure('em');
  const settings = {
    measures: [
      em,
      { ...em, metric: 'em_choice', includes: ({ isYesNo }: QuestionKey) => !isYesNo },
      { ...em, metric: 'em_yes_no', includes: ({ isYesNo }: QuestionKey) => isYesNo },
    ],
    filter: where({ benchmark: 'all', subset: 'all' }),
    pairs: [[encodeMethod('second', 'parallelsearch'), encodeMethod('second', PARALLEL)] as const],
  };
  const tidy = summarise({ answers: named, provenance }, settings);
  return splitNames(tidy, decodeMethod);
}
