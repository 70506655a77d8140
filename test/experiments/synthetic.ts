/** Made-up results for tests of statistics and reports. They are never shown as results. */
import type { Question, SubQuestion } from '../../lib/data/question.js';
import type { QuestionResult } from '../../lib/evaluation/result.js';
import { matching } from '../../lib/evaluation/table.js';
import type { Experiment } from '../../lib/experiments/experiment.js';
import { mainResults } from '../../lib/experiments/main-results/experiment.js';
import { timing } from '../../lib/experiments/timing/experiment.js';
import type { PolicyRun } from '../../lib/experiments/runs.js';
import { recordStore } from '../../lib/io/records.js';
import type { CurvePoint } from '../../lib/report/curves.js';
import { createRandom } from '../../lib/random.js';

type Shape = QuestionResult['subset'];
interface Template {
  benchmark: string;
  subset: Shape;
  type: string;
  compared?: number[];
}

const TEMPLATES: Template[] = [
  { benchmark: 'nq', subset: 'single_hop', type: 'na' },
  { benchmark: 'triviaqa', subset: 'single_hop', type: 'na' },
  { benchmark: 'popqa', subset: 'single_hop', type: 'na' },
  { benchmark: 'hotpotqa', subset: 'sequential', type: 'bridge' },
  { benchmark: 'hotpotqa', subset: 'parallelizable', type: 'comparison', compared: [2, 3, 4, 5] },
  { benchmark: '2wikimultihopqa', subset: 'parallelizable', type: 'comparison', compared: [2, 5] },
  { benchmark: '2wikimultihopqa', subset: 'sequential', type: 'compositional' },
  { benchmark: '2wikimultihopqa', subset: 'hybrid', type: 'bridge_comparison', compared: [2] },
  { benchmark: 'musique', subset: 'sequential', type: '3hop' },
  { benchmark: 'bamboogle', subset: 'sequential', type: '2hop' },
];

const METHODS = ['r1', 'search-r1', 'search-r1-parallel-prompt', 'parallelsearch'];
const SKILL: Record<string, number> = {
  r1: 0.15,
  'search-r1': 0.6,
  'search-r1-parallel-prompt': 0.62,
  parallelsearch: 0.7,
};

/** A plain result, for tests which set the few fields that they are about. */
export function result(fields: Partial<QuestionResult> = {}): QuestionResult {
  return {
    ...{ questionId: 'q0', method: 'search-r1', model: 'base', seed: 1 },
    ...{ benchmark: 'nq', type: 'na', subset: 'single_hop', entitiesCompared: 0 },
    ...{ em: 1, f1: 1, formatOk: true, turns: 1, modelCalls: 2, decomposed: false },
    ...{ coverage: 1, criticalPathRatio: 1, responseTokens: 40, searches: [['x']], answer: 'x' },
    ...fields,
  };
}

/** `perTemplate` questions of each kind, answered by four methods from two models with `seeds` seeds. */
export function syntheticResults({ perTemplate = 12, seeds = 3 } = {}): QuestionResult[] {
  const random = createRandom('synthetic');
  const questions = TEMPLATES.flatMap((template) =>
    Array.from({ length: perTemplate }, (_, i) => ({
      ...template,
      questionId: `${template.benchmark}-${template.type}-${i}`,
      entitiesCompared: template.compared ? template.compared[i % template.compared.length] : 0,
      ease: random.normal() * 0.15,
    })),
  );
  const seedNumbers = Array.from({ length: seeds }, (_, i) => i + 1);
  return METHODS.flatMap((method) =>
    (['base', 'instruct'] as const).flatMap((model) =>
      (method === 'r1' ? [1] : seedNumbers).flatMap((seed) =>
        questions.map((question) => {
          const em = random.uniform() < SKILL[method] + question.ease ? 1 : 0;
          const decomposed = method === 'parallelsearch' && question.subset === 'parallelizable';
          const turns = method === 'r1' ? 0 : decomposed ? 1 : Math.max(1, question.entitiesCompared || 2);
          const { questionId, benchmark, type, subset, entitiesCompared } = question;
          const entities = entitiesOf(question);
          const searches =
            method === 'r1'
              ? []
              : decomposed
                ? [entities]
                : entities.map((entity) => [entity]).slice(0, turns);
          const identity = { questionId, method, model, seed, benchmark, type, subset, entitiesCompared };
          const measured = { em, f1: em, turns, modelCalls: turns + 1, decomposed, coverage: em } as const;
          return result({
            ...identity,
            ...measured,
            ...{ searches, responseTokens: 20 + 15 * turns },
            criticalPathRatio: (turns + 1) / 2,
          });
        }),
      ),
    ),
  );
}

const entitiesOf = (q: Pick<QuestionResult, 'questionId' | 'subset' | 'entitiesCompared'>): string[] =>
  Array.from(
    { length: q.subset === 'parallelizable' ? q.entitiesCompared : 2 },
    (_, i) => `${q.questionId} e${i}`,
  );

/** The questions of synthetic results, with graphs of their shape. */
export function syntheticQuestions(results: readonly QuestionResult[]): Question[] {
  const first = new Map(results.map((r) => [r.questionId, r]));
  return [...first.values()].map((r) => {
    const entities = entitiesOf(r).slice(0, r.subset === 'single_hop' ? 1 : undefined);
    const graph = entities.map((entity, i): SubQuestion => {
      const dependsOn = r.subset === 'sequential' && i > 0 ? [`q${i - 1}`] : [];
      return {
        ...{ id: `q${i}`, question: '?', entity, attribute: 'x', query: entity, dependsOn },
        ...{ answers: ['x'], evidence: [] },
      };
    });
    const { questionId: id, benchmark, type } = r;
    return { id, question: '?', goldenAnswers: ['x'], metadata: { benchmark, type, graph } };
  });
}

const CURVES = [
  ...['reward', 'rewards/outcome', 'turns', 'completions/mean_length', 'decomposition_ratio'],
  ...['kl', 'entropy'],
];
const SHARES = [
  ...['share/parallelizable', 'decomposition_ratio/parallelizable', 'decomposition_ratio/sequential'],
  'coverage/parallelizable',
];

/** Training curves of the two trained methods. */
export function syntheticCurves({ steps = 80, seeds = 3 } = {}): CurvePoint[] {
  const random = createRandom('synthetic curves');
  return ['search-r1', 'parallelsearch'].flatMap((method) =>
    ['base', 'instruct'].flatMap((model) =>
      Array.from({ length: seeds }, (_, seed) =>
        Array.from({ length: steps }, (_, step): CurvePoint => {
          const point: CurvePoint = { method, model, seed: seed + 1, step };
          CURVES.forEach((name, i) => {
            point[name] = (i + 1) * (1 - Math.exp(-step / 20)) + random.normal() * 0.1;
          });
          for (const name of SHARES) point[name] = 0.2 + 0.6 * random.uniform();
          return point;
        }),
      ).flat(),
    ),
  );
}

/** Where synthetic results say that they come from. */
export const SYNTHETIC = { commit: '<0000000>', backend: 'a made-up backend', hardware: 'none', seconds: 61 };

/**
 * Writes results of an experiment's jobs into a folder of records, under the keys and hashes that its reports look for.
 * @param valueOf a job's result
 */
export async function writeRecords<Input>(
  folder: string,
  experiment: Experiment,
  valueOf: (input: Input, key: string) => unknown,
): Promise<void> {
  const store = recordStore([folder]);
  for (const { key, hash, input } of await experiment.computation!.jobs())
    await store.write(key, { hash, provenance: SYNTHETIC, value: valueOf(input as Input, key) });
}

/** Synthetic answers of the main comparison. */
export async function writeSyntheticAnswers(
  folder: string,
  options: { perTemplate?: number } = {},
): Promise<void> {
  const results = syntheticResults({ ...options, seeds: 3 });
  await writeRecords(folder, mainResults, (run: PolicyRun) => {
    const own = matching(results, { ...run });
    return {
      run,
      measurements: own.map(({ method: _m, model: _n, seed: _s, ...measurement }) => measurement),
    };
  });
}

/** Synthetic timings: a call of the model takes 10 ms. */
export async function writeSyntheticTiming(folder: string, { perTemplate = 4 } = {}): Promise<void> {
  const results = syntheticResults({ perTemplate, seeds: 3 });
  await writeRecords(folder, timing, (runs: readonly PolicyRun[]) => ({
    answers: runs
      .flatMap((run) => matching(results, { ...run }))
      .map((answer) => ({ ...answer, seconds: 0.01 * answer.modelCalls })),
  }));
}
