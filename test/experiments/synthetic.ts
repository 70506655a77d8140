/** Made-up results for tests of statistics and reports, never shown as results. */
import { cross, range } from 'd3-array';
import type { QuestionResult } from '../../lib/evaluation/measurement.js';
import { MANY } from '../../lib/evaluation/selections.js';
import { matching } from '../../lib/evaluation/figures.js';
import type { Experiment } from '../../lib/experiments/experiment.js';
import { mainResults } from '../../lib/experiments/main-results.js';
import { timing } from '../../lib/experiments/timing.js';
import { recordStore } from '../../lib/io/records.js';
import { createRandom } from '../../lib/random.js';
import type { CurvePoint } from '../../lib/report/training-rows.js';
import type { PolicyRun } from '../../lib/experiments/running/policy-runs.js';

type Template = Pick<QuestionResult, 'benchmark' | 'subset' | 'type'> & {
  compared?: number[];
  isYesNo?: boolean;
};
const TWO_OF_WIKI = {
  benchmark: '2wikimultihopqa',
  subset: 'parallelizable',
  type: 'comparison',
} as const;
const OF_MANY = { benchmark: MANY, subset: 'parallelizable', type: 'comparison_many' } as const;
const TEMPLATES: Template[] = [
  { benchmark: 'nq', subset: 'single_hop', type: 'single_hop' },
  { benchmark: 'triviaqa', subset: 'single_hop', type: 'single_hop' },
  { benchmark: 'popqa', subset: 'single_hop', type: 'single_hop' },
  { benchmark: 'hotpotqa', subset: 'sequential', type: 'bridge' },
  { benchmark: 'hotpotqa', subset: 'parallelizable', type: 'comparison', compared: [2] },
  { ...TWO_OF_WIKI, compared: [2], isYesNo: true },
  { benchmark: '2wikimultihopqa', subset: 'sequential', type: 'compositional' },
  { benchmark: '2wikimultihopqa', subset: 'hybrid', type: 'bridge_comparison' },
  { benchmark: 'musique', subset: 'sequential', type: '3hop' },
  { benchmark: 'bamboogle', subset: 'sequential', type: '2hop' },
  { ...OF_MANY, compared: range(2, 9) },
];

/** How likely each method is to be right. */
export const SKILL: Readonly<Record<string, number>> = {
  lookup: 0.45,
  r1: 0.15,
  'untrained:search-r1': 0.3,
  'untrained:parallel': 0.32,
  'untrained:drill': 0.34,
  'search-r1': 0.6,
  'search-r1:b4': 0.55,
  'search-r1-parallel-prompt': 0.62,
  parallelsearch: 0.7,
};
/** Methods with two RL seeds; the others have one. */
const SEEDED = ['search-r1', 'search-r1-parallel-prompt', 'parallelsearch'];
const MODELS = ['base', 'instruct'] as const;

/** A plain result, for tests that set only the fields they are about. */
export function result(fields: Partial<QuestionResult> = {}): QuestionResult {
  return {
    questionId: 'q0',
    method: 'search-r1',
    model: 'base',
    initSeed: 1,
    seed: 1,
    benchmark: 'nq',
    type: 'na',
    subset: 'single_hop',
    entitiesCompared: 0,
    wording: 'seen' as const,
    isYesNo: false,
    evidenceSeen: 1,
    em: 1,
    f1: 1,
    formatOk: true,
    turns: 1,
    modelCalls: 2,
    decomposed: false,
    coverage: 1,
    criticalPathRatio: 1,
    responseTokens: 40,
    searches: [['x']],
    answer: 'x',
    ...fields,
  };
}

/** The methods of most experiments. */
export const TRAINED = ['search-r1', 'parallelsearch'];

/** `perTemplate` questions of each kind, by the methods and `warmUps` of two models. */
export function syntheticResults({
  perTemplate = 12,
  warmUps = 3,
  methods = Object.keys(SKILL),
} = {}): QuestionResult[] {
  const random = createRandom('synthetic');
  const questions = cross(
    TEMPLATES,
    range(perTemplate),
    ({ compared, isYesNo = false, ...template }, i) => ({
      ...template,
      isYesNo,
      questionId: `${template.benchmark}-${template.type}-${i}`,
      wording: (['seen', 'unseen'] as const)[i % 2],
      entitiesCompared: compared?.[i % compared.length] ?? 0,
      ease: random.normal() * 0.15,
    }),
  );
  const runs = cross(methods, MODELS).flatMap(([method, model]) =>
    cross(range(method === 'lookup' ? 1 : warmUps), range(SEEDED.includes(method) ? 2 : 1)).map(
      ([w, s]) => ({ method, model, initSeed: w + 1, seed: s + 1 }),
    ),
  );
  return cross(runs, questions, (run, { ease, ...question }) => {
    const em = random.uniform() < SKILL[run.method] + ease ? 1 : 0;
    const decomposed = run.method === 'parallelsearch' && question.subset === 'parallelizable';
    const numEntities = ['r1', 'lookup'].includes(run.method) ? 0 : question.entitiesCompared || 2;
    const entities = range(numEntities).map((i) => `${question.questionId} e${i}`);
    const searches = decomposed ? [entities] : entities.map((entity) => [entity]);
    const turns = searches.length;
    const scores = { em, f1: em, coverage: em, decomposed } as const;
    const costs = { turns, modelCalls: turns + 1, responseTokens: 20 + 15 * turns };
    const criticalPathRatio = (turns + 1) / 2;
    return result({ ...run, ...question, ...scores, ...costs, searches, criticalPathRatio });
  });
}

/** Training curves of the two trained methods: rewards that rise towards 1. */
export function syntheticCurves({ steps = 80, seeds = 3 } = {}): CurvePoint[] {
  const random = createRandom('synthetic curves');
  const runs = cross(cross(TRAINED, MODELS), range(1, seeds + 1));
  return cross(runs, range(steps), ([[method, model], seed], step) => ({
    method,
    model,
    seed,
    step,
    reward: 1 - Math.exp(-step / 20) + random.normal() * 0.1,
  }));
}

/** Provenance of synthetic results. */
const MADE_UP = { commit: '<0000000>', backend: 'a made-up backend', hardware: 'none' };
export const SYNTHETIC = { ...MADE_UP, seconds: 61 };

/**
 * Writes results of an experiment's jobs into a folder of records, under the keys and
 * hashes that its reports read.
 *
 * @param valueOf a job's result
 */
export async function writeRecords<Input>(
  folder: string,
  experiment: Experiment,
  valueOf: (input: Input, key: string) => unknown,
): Promise<void> {
  const store = recordStore(folder);
  for (const { key, hash, input } of await experiment.computation!.jobs())
    await store.write(key, { hash, provenance: SYNTHETIC, value: valueOf(input as Input, key) });
}

/** Synthetic answers of the main comparison. */
export async function writeSyntheticAnswers(
  folder: string,
  options: { perTemplate?: number } = {},
): Promise<void> {
  const results = syntheticResults(options);
  await writeRecords(folder, mainResults, (run: PolicyRun) => ({
    run,
    measurements: matching(results, { ...run }),
  }));
}

/** Made-up times of answers: a model call takes 10 ms. */
export const writeTimes = (
  folder: string,
  experiment: Experiment,
  results: readonly QuestionResult[],
): Promise<void> =>
  writeRecords(folder, experiment, (runs: readonly PolicyRun[]) => ({
    answers: runs
      .flatMap((run) => matching(results, { ...run }))
      .map((answer) => ({ ...answer, seconds: 0.01 * answer.modelCalls })),
  }));

export const writeSyntheticTiming = (folder: string): Promise<void> =>
  writeTimes(folder, timing, syntheticResults({ perTemplate: 4 }));
