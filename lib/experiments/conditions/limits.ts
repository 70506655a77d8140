/**
 * Answers of trained policies under limits on search turns, tokens and seconds. A policy
 * does not know its limit, so it behaves the same until the limit stops it: one rollout
 * with the largest limit shows the outcome under every smaller one.
 */
import { sum } from 'd3-array';
import type { Question } from '../../data/question.js';
import { mapAnswers } from '../../evaluation/evaluate.js';
import { mainMeasure, type Measure } from '../../evaluation/metrics.js';
import { measure, type Measurement, type QuestionResult } from '../../evaluation/measurement.js';
import { CONDITIONS } from '../../io/paths.js';
import { configHash } from '../../io/provenance.js';
import type { LocalPolicy } from '../../policy/local-policy.js';
import { createRandom } from '../../random.js';
import { tokenIds, type Trajectory } from '../../rollout/trajectory.js';
import { exactMatch } from '../../text/answer-match.js';
import { nextAction } from '../../text/tags.js';
import { loadPolicy, rolloutForRun, type PolicyRun } from '../running/policy-runs.js';
import type { Job, WorkContext } from '../experiment.js';
import { evaluationBatchSize, listRunJobs } from '../running/answers.js';
import { freshTestHash, type FreshTest } from '../running/fresh-test.js';
import { instructRuns } from '../running/runs.js';
import type { TimedAnswer } from '../timing.js';

/** Limits on search turns; the policies were trained with 6. */
const TURNS = [1, 2, 3, 4, 6, 8] as const;
const MOST_TURNS = Math.max(...TURNS);
/** Limits after which policies are also forced to answer. */
export const FORCED_AFTER = [2] as const;
/** Limits on the tokens of the whole transcript; the policies read 1,024. */
const TOKENS = [150, 200, 250, 300, 400, 500, 600, 800] as const;
/** Limits on the seconds per question. */
const SECONDS = [0.3, 0.4, 0.5, 0.6, 0.8, 1, 1.2, 1.5, 2, 2.5] as const;
/** Latencies of a request in ms; one turn's queries wait for it together. */
const REQUEST_MS = [50, 200] as const;

interface ForcedAnswer {
  turns: number;
  answer: string | null;
  em: 0 | 1;
}

/** An answer with up to {@link MOST_TURNS} search turns. */
export interface LimitedAnswer extends Measurement {
  evidenceByTurn: number[];
  /** Length of the whole transcript, including prompt and passages. */
  transcriptTokens: number;
  /** One for each limit of {@link FORCED_AFTER} that the policy exceeded. */
  forced: ForcedAnswer[];
}
type LimitedResult = QuestionResult & LimitedAnswer;

export const LIMITS_TEST: FreshTest = { name: 'budget', folder: CONDITIONS };

/** Room for an answer after `<answer>`. */
const FORCED_TOKENS = 24;

/**
 * The context that forces an answer after the last allowed turn: the thought that led to
 * the next search, then `<answer>`. Null if there is no such thought, because the policy
 * has answered or its context is full.
 */
export function forcedContext(
  { segments }: Pick<Trajectory, 'segments'>,
  { turns, encode }: { turns: number; encode: (text: string) => number[] },
): number[] | null {
  const written = segments.flatMap(({ kind }, i) => (kind === 'policy' ? [i] : []));
  const next = segments[written[turns]];
  if (next === undefined || nextAction(next.text).kind === 'answer') return null;
  const [thought] = next.text.split('<search>');
  const before = segments.slice(0, written[turns]);
  return [...tokenIds({ segments: before }), ...encode(`${thought}<answer>`)];
}

interface AnsweredQuestion {
  question: Question;
  trajectory: Trajectory;
}

async function forceAnswers(
  policy: LocalPolicy,
  answered: readonly AnsweredQuestion[],
  { turns, batchSize }: { turns: number; batchSize: number },
): Promise<Map<string, ForcedAnswer>> {
  const encode = (text: string): number[] => policy.tokenizer.encode(text);
  const open = answered.flatMap(({ question, trajectory }) => {
    const context = forcedContext(trajectory, { turns, encode });
    return context && context.length + FORCED_TOKENS < policy.maxLength
      ? [{ question, context }]
      : [];
  });
  const forced = new Map<string, ForcedAnswer>();
  for (let start = 0; start < open.length; start += batchSize) {
    const batch = open.slice(start, start + batchSize);
    const generations = await policy.generate(
      batch.map(({ context }) => context),
      {
        temperature: 0,
        topP: 1,
        maxNewTokens: FORCED_TOKENS,
        stop: ['</answer>'],
        randoms: batch.map(({ question }) => createRandom(question.id)),
      },
    );
    policy.release?.();
    batch.forEach(({ question }, i) => {
      const action = nextAction(`<answer>${generations[i].text}`);
      const answer = action.kind === 'answer' ? action.answer : null;
      forced.set(question.id, { turns, answer, em: exactMatch(answer, question.goldenAnswers) });
    });
  }
  return forced;
}

const evidenceByTurn = ({ question, trajectory }: AnsweredQuestion): number[] =>
  trajectory.searchTurns.map((_, turn) => {
    const searchTurns = trajectory.searchTurns.slice(0, turn + 1);
    return Number(measure(question, { ...trajectory, searchTurns }).evidenceSeen.toFixed(4));
  });

/** Answers questions with the most search turns, and by force after fewer. */
export async function answerWithinLimits(
  run: PolicyRun,
  {
    world,
    backend,
    onFraction,
    questions,
  }: Pick<WorkContext, 'world' | 'backend' | 'onFraction'> & { questions: readonly Question[] },
): Promise<LimitedAnswer[]> {
  const policy = await loadPolicy(run);
  const batchSize = evaluationBatchSize(backend);
  const answered = await mapAnswers(policy, world.retriever, questions, {
    rollout: { ...rolloutForRun(run), maxSearchTurns: MOST_TURNS },
    batchSize,
    toResult: (question, trajectory): AnsweredQuestion => ({ question, trajectory }),
    onBatch: (done) => onFraction(done / questions.length),
  });
  const forced: Map<string, ForcedAnswer>[] = [];
  for (const turns of FORCED_AFTER)
    forced.push(await forceAnswers(policy, answered, { turns, batchSize }));
  policy.dispose();
  return answered.map(({ question, trajectory }) => ({
    ...measure(question, trajectory),
    evidenceByTurn: evidenceByTurn({ question, trajectory }),
    transcriptTokens: tokenIds(trajectory).length,
    forced: forced.flatMap((answers) => answers.get(question.id) ?? []),
  }));
}

/** For the fresh test on one core, for estimates only. */
const ROUGH_SECONDS = 80;

export async function listLimitJobs(): Promise<Job<PolicyRun>[]> {
  const draw = await freshTestHash(LIMITS_TEST);
  const forced = { after: FORCED_AFTER, maxNewTokens: FORCED_TOKENS };
  return listRunJobs(instructRuns(), {
    name: 'conditions',
    seconds: ROUGH_SECONDS,
    hash: (policy) => configHash({ policy, draw, maxSearchTurns: MOST_TURNS, forced }),
  });
}

/** A limit, and how to count an answer that comes too late. */
export interface Limit {
  limit: 'turns' | 'tokens' | 'seconds';
  at_most: number;
  /** For limits on seconds: the latency of a request. */
  request_ms?: number;
  /**
   * `wrong`; `forced`: the answer given after a forced `<answer>`; or `best_seen`: the
   * probability of being right when naming the best of the entities whose evidence has
   * been shown.
   */
  late: 'wrong' | 'forced' | 'best_seen';
}

export const LIMITS: readonly Limit[] = [
  ...TURNS.map((at_most): Limit => ({ limit: 'turns', at_most, late: 'wrong' })),
  ...FORCED_AFTER.map((at_most): Limit => ({ limit: 'turns', at_most, late: 'forced' })),
  ...TURNS.map((at_most): Limit => ({ limit: 'turns', at_most, late: 'best_seen' })),
  ...TOKENS.map((at_most): Limit => ({ limit: 'tokens', at_most, late: 'wrong' })),
  ...REQUEST_MS.flatMap((request_ms) =>
    SECONDS.map((at_most): Limit => ({ limit: 'seconds', at_most, request_ms, late: 'wrong' })),
  ),
];

export function isWithin(
  answer: LimitedAnswer,
  { limit, at_most, request_ms = 0 }: Limit,
  msPerToken = NaN,
): boolean {
  if (answer.answer === null) return false;
  // The last generation may answer without a search.
  if (limit === 'turns') return answer.modelCalls <= at_most + 1;
  if (limit === 'tokens') return answer.transcriptTokens <= at_most;
  return answer.responseTokens * msPerToken + answer.turns * request_ms <= 1000 * at_most;
}

/** The probability of being right when naming the best of the entities seen so far. */
function bestSeen({ entitiesCompared, evidenceByTurn }: LimitedAnswer, turns: number): number {
  if (entitiesCompared === 0) return 0;
  const seen = evidenceByTurn[Math.min(turns, evidenceByTurn.length) - 1] ?? 0;
  return Math.max(1 / entitiesCompared, seen);
}

export function emWithin(answer: LimitedAnswer, limit: Limit, msPerToken?: number): number {
  if (isWithin(answer, limit, msPerToken)) return answer.em;
  if (limit.late === 'best_seen') return bestSeen(answer, limit.at_most);
  if (limit.late === 'wrong') return 0;
  return answer.forced.find(({ turns }) => turns === limit.at_most)?.em ?? 0;
}

/** The name of a metric under a limit, which {@link readLimit} takes apart. */
const limitName = (metric: string, limit: Limit): string => `${metric}/${JSON.stringify(limit)}`;

/** Moves the limit from the metric's name to fields. */
export function readLimit<Row extends { metric: string }>(row: Row): Row & Limit {
  const [metric, limit] = row.metric.split('/');
  return { ...row, metric, ...(JSON.parse(limit) as Limit) };
}

/** Measures exact match under each limit, and model calls under limits on turns. */
export function limitMeasures(limits: readonly Limit[], msPerToken: number): Measure[] {
  const calls = mainMeasure('model_calls');
  return limits.flatMap((limit): Measure[] => {
    const em: Measure = {
      metric: limitName('em', limit),
      numerator: (answer) => emWithin(answer as LimitedResult, limit, msPerToken),
    };
    if (limit.limit !== 'turns' || limit.late !== 'wrong') return [em];
    const most = limit.at_most + 1;
    return [
      em,
      {
        metric: limitName('model_calls', limit),
        numerator: (answer) => Math.min(most, calls.numerator(answer)),
        byRatio: true,
      },
    ];
  });
}

/** Milliseconds per written token, from answers timed one question at a time. */
export const timePerToken = (answers: readonly TimedAnswer[]): number =>
  (1000 * sum(answers, ({ seconds }) => seconds)) /
  sum(answers, ({ responseTokens }) => responseTokens);
