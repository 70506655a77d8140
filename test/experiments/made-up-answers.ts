/**
 * Made-up answers of every run to a few questions of every kind, scored against their
 * real graphs. Never shown as results.
 */
import {
  graphDepth,
  graphQuestionType,
  type Question,
  stratifiedSample,
} from '../../lib/data/question.js';
import type { Measurement } from '../../lib/evaluation/measurement.js';
import { matching } from '../../lib/evaluation/figures.js';
import { baselines, baselinesTiming } from '../../lib/experiments/baselines/experiment.js';
import { lambdaAblation } from '../../lib/experiments/lambda-ablation.js';
import { mainResults } from '../../lib/experiments/main-results.js';
import { loadAnswers } from '../../lib/experiments/running/load-answers.js';
import { timing } from '../../lib/experiments/timing.js';
import { createRandom, type Random } from '../../lib/random.js';
import { loadWorld } from '../../lib/retrieval/small-world.js';
import { isDecomposed } from '../../lib/rewards/parallelsearch.js';
import { subQuestionRecall } from '../../lib/rewards/sub-questions.js';
import { runName, type PolicyRun } from '../../lib/experiments/running/policy-runs.js';
import { SKILL, writeRecords, writeTimes } from './synthetic.js';

/** How likely each method is to search in parallel where possible. */
const AT_ONCE: Readonly<Record<string, number>> = {
  parallelsearch: 0.95,
  'search-r1-parallel-prompt': 0.4,
};

/** Sub-queries by turn: independent ones at once or one by one, sometimes repeated. */
function searchesOf({ metadata }: Question, { method }: PolicyRun, random: Random): string[][] {
  const { graph = [] } = metadata;
  if (['r1', 'r1:trained', 'sft', 'lookup'].includes(method)) return [];
  const queries = graph.map(({ entity, query }) =>
    random.uniform() < 0.05 ? 'somebody else' : `${entity} ${query}`,
  );
  const again = random.uniform() < 0.1 ? queries.slice(0, 1) : [];
  const isParallel = graphQuestionType(graph) === 'parallelizable';
  if (isParallel && random.uniform() < (AT_ONCE[method] ?? 0)) return [[...queries, ...again]];
  return [...queries, ...again].slice(0, method === 'search-r1:b4' ? 4 : 6).map((query) => [query]);
}

function madeUpAnswer(question: Question, run: PolicyRun): Measurement {
  const { graph = [], benchmark = '', type = '', wording } = question.metadata;
  const random = createRandom(`${question.id} ${runName(run)}`);
  // Seeds search equally: times are the first seed's, calls are all seeds'.
  const ofSearches = createRandom(`${question.id} ${runName({ ...run, seed: 1 })}`);
  const searches = searchesOf(question, run, ofSearches);
  const [subset, turns] = [graphQuestionType(graph), searches.length];
  const ease = createRandom(question.id).normal() * 0.15;
  const em = random.uniform() < (SKILL[run.method] ?? 0.5) + ease ? 1 : 0;
  const asked = subQuestionRecall(question, searches);
  const asking = { questionId: question.id, benchmark, type, subset, wording, isYesNo: false };
  const scores = { em, f1: em, formatOk: true, coverage: asked, evidenceSeen: asked } as const;
  return {
    ...asking,
    ...scores,
    entitiesCompared: subset === 'parallelizable' ? graph.length : 0,
    hops: graphDepth(graph),
    turns,
    modelCalls: turns + 1,
    decomposed: isDecomposed(searches),
    criticalPathRatio: (turns + 1) / (graphDepth(graph) + 1),
    responseTokens: 20 + 15 * searches.flat().length,
    searches,
    answer: em ? question.goldenAnswers[0] : 'x',
  };
}

/**
 * Writes answers of the main comparison, the baselines and the lambda settings to one in
 * twelve evaluated questions of every kind, and the times of some.
 */
export async function writeMadeUpAnswers(folder: string): Promise<void> {
  const { questions } = await loadWorld();
  const sample = stratifiedSample(questions, { oneOf: 12, seed: 'reports' });
  for (const experiment of [mainResults, baselines, lambdaAblation])
    await writeRecords(folder, experiment, (run: PolicyRun) => ({
      run,
      measurements: sample.map((question) => madeUpAnswer(question, run)),
    }));
  for (const [answered, timer] of [
    [mainResults, timing],
    [baselines, baselinesTiming],
  ]) {
    const { answers } = await loadAnswers(answered, folder);
    const timed = matching(answers, { benchmark: ['hotpotqa', '2wikimultihopqa'] });
    await writeTimes(folder, timer, timed);
  }
}
