/**
 * What rollouts cost beyond one machine: measured on existing engines and servers, and
 * simulated for the paper's run.
 */
import { mean, sum } from 'd3-array';
import { matching, findValue } from '../../evaluation/figures.js';
import type { QuestionResult } from '../../evaluation/measurement.js';
import { createRandom } from '../../random.js';
import { stackedChart } from '../../report/charts/stacked.js';
import { shareWords } from '../../report/text.js';
import { BOTH_METHODS } from '../../training/methods.js';
import type { Experiment } from '../experiment.js';
import { mainResults } from '../main-results.js';
import { checkPredictions, percent, type Predicted } from '../results/summary.js';
import { loadAnswers } from '../running/load-answers.js';
import {
  AGENT,
  checkSimulation,
  PAPER_RUN,
  readMeasured,
  simulatePaper,
  type MeasuredScale,
} from './paper-run.js';
import type { RolloutShape } from './simulation.js';

/** The training mix of the paper, half and half, and comparisons of two. */
const QUESTIONS = {
  training: ({ benchmark }: QuestionResult) => benchmark === 'nq' || benchmark === 'hotpotqa',
  parallelizable: ({ subset, entitiesCompared }: QuestionResult) =>
    subset === 'parallelizable' && entitiesCompared === 2,
};

/** Each rollout at its own pace, searching an HNSW graph in memory. */
const USUAL = { schedule: 'overlapping', search: 'hnsw' };
const PREDICTED: readonly Predicted[] = [
  {
    prediction: 'Rollouts take less time than Search-R1’s on parallelizable questions',
    figure: { ...USUAL, questions: 'parallelizable', metric: 'rollout_seconds', kind: 'ratio' },
    holds: ({ high }) => high < 1,
  },
];

/** Throughput by engine, schedule and batch size, if searches take no time. */
const throughputRows = ({ engines }: MeasuredScale): object[] =>
  engines.flatMap(({ engine, rows }) =>
    matching(rows, { delayMs: 0 }).flatMap(({ schedule, rows, ...measured }) => {
      const name = schedule === 'overlapping' ? `${engine}, overlapping` : engine;
      const rates = {
        questions_per_second: measured.questionsPerSecond,
        tokens_per_second: measured.tokensPerSecond,
      };
      return Object.entries(rates).map(([metric, [low, value, high]]) => {
        return { engine: name, rows, metric, value, low, high };
      });
    }),
  );

/** Times of each index at the paper's size, by power laws through the measured sizes. */
function rowsAtPaperSize({ indexes }: MeasuredScale): object[] {
  const byDimensions = PAPER_RUN.dimensions / indexes.dimensions;
  return [...new Set(indexes.rows.map(({ engine }) => engine))].map((engine) => {
    const findFit = (what: string) => matching(indexes.fits, { engine, what }).at(0);
    const memory = findFit('memoryMb');
    const build = findFit('buildSeconds');
    const query = findFit('oneQueryMs');
    return {
      engine,
      gigabytes: memory ? (memory.atPaperSize * byDimensions) / 1024 : null,
      build_hours: (build!.atPaperSize * byDimensions) / 3600,
      query_ms: query!.atPaperSize * byDimensions,
      build_exponent: build!.exponent,
      query_exponent: query!.exponent,
    };
  });
}

/** The model calls of an answer, with `tokenScale` times the tokens. */
function rolloutShape(answer: QuestionResult, tokenScale: number): RolloutShape {
  const written = (answer.responseTokens / answer.modelCalls) * tokenScale;
  const searches = answer.searches.map((queries) => ({ written, subQueries: queries.length }));
  return [...searches, { written, subQueries: 0 }];
}

export const scale: Experiment = {
  name: 'scale',
  title: 'rollouts beyond one machine: engines, retrieval servers, a simulation of the paper’s run',
  reads: [mainResults.name],
  /**
   * Measurements of engines, retrieval servers and indexes, and the paper's run simulated
   * from them.
   * @param folder this machine's results; recorded results fill the gaps
   */
  async result(folder) {
    const measured = await readMeasured();
    const read = await loadAnswers(mainResults, folder);
    const answers = matching(read.answers, { method: BOTH_METHODS }).filter(
      ({ modelCalls }) => modelCalls > 0,
    );
    const tokensPerCall = mean(
      matching(answers, { method: 'search-r1' }),
      ({ responseTokens, modelCalls }) => responseTokens / modelCalls,
    )!;
    const shapes = Object.fromEntries(
      Object.entries(QUESTIONS).map(([questions, isAsked]) => {
        const [ours, theirs] = BOTH_METHODS.map((method) =>
          matching(answers, { method })
            .filter(isAsked)
            .map((answer) => rolloutShape(answer, AGENT.writtenPerCall / tokensPerCall)),
        );
        return [questions, { parallelsearch: ours, 'search-r1': theirs }];
      }),
    );
    const { rows, contrasts, parts, sensitivity } = simulatePaper(shapes, measured);
    // The benchmark of rollouts asks this policy questions of every type.
    const policy = { method: 'parallelsearch', model: 'instruct', initSeed: 1, seed: 1 };
    const asked = createRandom('rollouts')
      .shuffle(matching(answers, policy))
      .map((answer) => rolloutShape(answer, 1));
    const [onParallel, onMix] = ['parallelizable', 'training'].map((questions) => {
      const figure = { ...USUAL, questions, metric: 'step_seconds', kind: 'ratio' };
      return shareWords(1 - findValue({ rows, contrasts }, figure));
    });
    const seconds = (part: object): number =>
      sum(
        matching(parts, { ...USUAL, method: 'search-r1', questions: 'training', ...part }),
        ({ value }) => value,
      );
    const update = percent(seconds({ part: 'updating the weights' }) / seconds({}));
    const { engines, turns, indexes } = measured;
    const provenance = {
      ...read.provenance,
      engines: engines.map(({ engine, provenance }) => ({ engine, ...provenance })),
      turns: turns.provenance,
      indexes: indexes.provenance,
    };
    return {
      rows,
      contrasts,
      provenance,
      predictions: checkPredictions({ rows, contrasts }, PREDICTED),
      finding: `Simulated at the paper’s size, a training step takes ${onParallel} less time than Search-R1’s on parallelizable questions and ${onMix} less on the training mix; ${update} of it is updating the weights.`,
      card: { parts: 'parallelizable' },
      summary: `${engines.length} engines and ${new Set(turns.rows.map(({ retriever }) => retriever)).size} retrievers measured, indexes of ${new Set(indexes.rows.map(({ size }) => size)).size} sizes; steps of ${PAPER_RUN.questions} x ${PAPER_RUN.groupSize} rollouts simulated.`,
      frames: {
        throughput: throughputRows(measured),
        turns: turns.rows.map((row) => ({ metric: 'wall_ms', ...row })),
        indexes: indexes.rows.map(({ oneQueryMs: [query_ms], fourQueriesMs: _, ...row }) => {
          return { ...row, query_ms };
        }),
        atPaperSize: rowsAtPaperSize(measured),
        // How the time of a step splits up, in seconds.
        parts,
        checks: checkSimulation(measured, asked),
        sensitivity,
      },
      figures: {
        parts: stackedChart(matching(parts, USUAL), {
          title: 'A simulated step of the paper’s run: time by component',
          subtitle: 'Eight GPUs, 512 x 5 rollouts, 21 million passages in a graph in memory',
          y: 'method',
          panel: 'questions',
          xTitle: 'Time of a step (seconds)',
          shared: true,
        }),
      },
    };
  },
};
