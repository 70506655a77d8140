/**
 * What the rollout costs past one machine: measured on engines and servers that exist,
 * and simulated for the paper's run.
 */
import { mean, sum } from 'd3-array';
import { matching } from '../../evaluation/table.js';
import type { QuestionResult } from '../../evaluation/result.js';
import { createRandom } from '../../random.js';
import { figureText } from '../../report/text.js';
import { loadAnswers } from '../answers.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results.js';
import { reportOf, told, type Predicted } from '../report.js';
import { checksOf } from './simulation.js';
import { atPaperSizeOf, readMeasured, throughputOf } from './simulation.js';
import { DRAWS, METHODS, simulatePaper, type Method } from './simulation.js';
import { AGENT, PAPER_RUN } from './simulation.js';
import type { RolloutShape } from './simulation.js';

export const scale: Experiment = {
  name: 'scale',
  title:
    'rollouts past one machine: engines, retrieval servers, and a simulation of the paper’s run',
  reads: [mainResults.name],
};

/**
 * Which questions: those that the paper trains on, half and half, and those whose
 * sub-questions are independent.
 */
const QUESTIONS = {
  training: ({ benchmark }: QuestionResult) => benchmark === 'nq' || benchmark === 'hotpotqa',
  parallelizable: ({ subset, entitiesCompared }: QuestionResult) =>
    subset === 'parallelizable' && entitiesCompared === 2,
} as const;
type QuestionKind = keyof typeof QUESTIONS;

const PREDICTED: readonly Predicted[] = [
  {
    prediction:
      'On parallelizable questions the rollouts of a step take less time than Search-R1’s',
    figure: {
      questions: 'parallelizable',
      metric: 'rollout_seconds',
      schedule: 'overlapping',
      search: 'hnsw',
      kind: 'ratio',
    },
    holds: ({ high }) => high < 1,
  },
];

/**
 * The calls of an answer, with the tokens that an agent of the paper's size would write.
 */
function shapeOf(answer: QuestionResult, tokensPerToken: number): RolloutShape {
  const written = (answer.responseTokens / answer.modelCalls) * tokensPerToken;
  const searches = answer.searches.map((queries) => ({ written, subQueries: queries.length }));
  return [...searches, { written, subQueries: 0 }];
}

/**
 * What most of the page is about: each rollout at its own pace, over a graph in memory.
 */
const USUAL = { schedule: 'overlapping', search: 'hnsw' };

/**
 * What was measured of engines, retrieval servers and indexes, and what the simulation
 * makes of it at the paper's size.
 * @param folder of this machine's results, from which the rollouts' shapes are; what is
 * not there is taken from the recorded ones
 */
export async function loadScale(folder?: string) {
  const measured = await readMeasured();
  const { answers: all, provenance } = await loadAnswers(mainResults, folder);
  const answers = all.filter(
    ({ method, modelCalls }) => METHODS.includes(method as Method) && modelCalls > 0,
  );
  const perCall = mean(
    matching(answers, { method: 'search-r1' }),
    ({ responseTokens, modelCalls }) => responseTokens / modelCalls,
  )!;
  const shapesOf = (kind: QuestionKind, method: Method): RolloutShape[] =>
    matching(answers, { method })
      .filter(QUESTIONS[kind])
      .map((answer) => shapeOf(answer, AGENT.writtenPerCall / perCall));
  const both = (kind: QuestionKind): Record<Method, RolloutShape[]> => ({
    parallelsearch: shapesOf(kind, 'parallelsearch'),
    'search-r1': shapesOf(kind, 'search-r1'),
  });
  const shapes = { training: both('training'), parallelizable: both('parallelizable') };
  const { rows, contrasts, parts, sensitivity } = simulatePaper(shapes, measured);
  // The benchmark of rollouts asks this policy questions of every kind.
  const ofOne = matching(answers, {
    method: 'parallelsearch',
    model: 'instruct',
    warmUp: 1,
    seed: 1,
  });
  const asked = createRandom('rollouts').shuffle(ofOne);
  const ratio = (questions: QuestionKind, metric: string): string =>
    told(contrasts, { ...USUAL, questions, metric }).text;
  const secondsOf = (of: object): number =>
    sum(
      matching(parts, { ...USUAL, method: 'search-r1', questions: 'training', ...of }),
      ({ value }) => value,
    );
  const update = figureText((100 * secondsOf({ part: 'updating the weights' })) / secondsOf({}), 0);
  return reportOf({
    finding: `At the paper’s size, as it is simulated here, the rollouts of ParallelSearch take ${ratio('parallelizable', 'rollout_seconds')} of the time of Search-R1’s on parallelizable questions and ${ratio('training', 'rollout_seconds')} on the mix that is trained on; a whole step takes ${ratio('parallelizable', 'step_seconds')} and ${ratio('training', 'step_seconds')}, for ${update} % of Search-R1’s is updating the weights (medians and ranges of ${DRAWS} draws).`,
    summary: `${measured.engines.length} engines and ${new Set(measured.turns.rows.map(({ retriever }) => retriever)).size} retrievers measured, indexes of ${new Set(measured.indexes.rows.map(({ size }) => size)).size} sizes; steps of ${PAPER_RUN.questions} x ${PAPER_RUN.groupSize} rollouts simulated.`,
    tidy: {
      rows,
      contrasts,
      provenance: {
        ...provenance,
        engines: measured.engines.map(({ engine, provenance: of }) => ({ engine, ...of })),
        turns: measured.turns.provenance,
        indexes: measured.indexes.provenance,
      },
    },
    predicted: PREDICTED,
    frames: {
      // Questions and tokens a second, by engine and rows at a time.
      throughput: throughputOf(measured),
      // Milliseconds of a turn, by retriever and sub-queries.
      turns: measured.turns.rows.map((row) => ({ metric: 'wall_ms', ...row })),
      // Indexes as they were measured, and what their power laws say of the paper's size.
      indexes: measured.indexes.rows.map(({ oneQueryMs: [query_ms], ...row }) => ({
        ...row,
        query_ms,
      })),
      atPaperSize: atPaperSizeOf(measured),
      // Where the time of a step goes, seconds.
      parts,
      // Simulated beside measured.
      checks: checksOf(
        measured,
        asked.map((answer) => shapeOf(answer, 1)),
      ),
      // Each assumption halved and doubled.
      sensitivity,
    },
  });
}
export type ScaleResults = Awaited<ReturnType<typeof loadScale>>;
