/**
 * The data in the viewer's page: recorded trajectories and their scores. Repeated texts
 * and search turns (prompts, passages) are stored once.
 */
import {
  questionType,
  type Operation,
  type Question,
  type QuestionType,
  type SubQuestion,
} from '../../data/question.js';
import type { ShownTurn } from '../../html/passages.js';
import { subQuestionRecall } from '../../rewards/sub-questions.js';
import { rewardOptions } from '../../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../../rewards/score.js';
import type { SegmentKind, Trajectory } from '../../rollout/trajectory.js';
import { executedSearches, joinPolicySegments, type TextSegment } from '../../text/response.js';
import { parseInformation } from '../../text/tags.js';

/** A node of a dependency graph, as drawn. */
export type ViewerNode = Pick<SubQuestion, 'id' | 'entity' | 'attribute' | 'dependsOn' | 'answers'>;

export interface ViewerQuestion extends Pick<Question, 'id' | 'question' | 'goldenAnswers'> {
  benchmark: string;
  /** The benchmark's own type. */
  type: string;
  questionType: QuestionType | null;
  graph: ViewerNode[] | null;
  operation: Operation | null;
}

export interface ViewerTrajectory extends Pick<
  TranscriptScore,
  'answer' | 'exactMatch' | 'f1' | 'formatReason' | 'rewards'
> {
  /** Index into `questions`. */
  question: number;
  method: string;
  step: number | null;
  /** Kind, and index into `texts`. */
  segments: [kind: SegmentKind, text: number][];
  /** Indices into `turns`, one per information segment. */
  turns: number[];
  /** Search turns with at least one query of the policy. */
  numTurns: number;
  finish: string | null;
  coverage: number | null;
  /** Whether `rewards` were recorded rather than computed for the page. */
  recorded: boolean;
  advantage: number | null;
  /** Why the transcript does not say who wrote what; null if it does. */
  ambiguous: string | null;
  signs: FailureSign[];
}

export interface ViewerData {
  /** Reward preset for trajectories without recorded rewards. */
  preset: string;
  questions: ViewerQuestion[];
  texts: string[];
  turns: ShownTurn[];
  trajectories: ViewerTrajectory[];
  /** Titles of the failure signs. */
  signTitles: Record<string, string>;
}

export interface SignInput extends Pick<
  TranscriptScore,
  'formatOk' | 'answer' | 'decomposed' | 'questionType'
> {
  /** As recorded; `budget` and `length` mean that turns or tokens ran out. */
  finish: string | null;
  turns: readonly Pick<ShownTurn, 'results'>[];
  /** Fraction of independent sub-questions asked; null without a graph. */
  coverage: number | null;
  ambiguous?: string | null;
}

/** What went wrong in a trajectory, apart from a wrong answer. */
const FAILURE_SIGNS = {
  ambiguous: {
    title: 'Ambiguous transcript, scores are estimates',
    isShown: ({ ambiguous }) => Boolean(ambiguous),
  },
  badFormat: { title: 'Bad format', isShown: ({ formatOk }) => !formatOk },
  noAnswer: { title: 'No answer', isShown: ({ answer }) => answer === null },
  budgetReached: {
    title: 'Budget used up',
    isShown: ({ finish }) => finish === 'budget' || finish === 'length',
  },
  failedRetrieval: {
    title: 'Retrieval failed',
    isShown: ({ turns }) =>
      turns.some(({ results }) => results.some(({ status }) => status === 'failed')),
  },
  decomposedSequential: {
    title: 'Decomposed a sequential question',
    isShown: ({ decomposed, questionType }) => decomposed && questionType === 'sequential',
  },
  // Several sub-queries in one turn, but an independent sub-question was never asked.
  halfDecomposition: {
    title: 'Incomplete decomposition',
    isShown: ({ decomposed, questionType, coverage }) =>
      decomposed &&
      (questionType === 'parallelizable' || questionType === 'hybrid') &&
      (coverage ?? 1) < 1,
  },
} satisfies Record<string, { title: string; isShown: (input: SignInput) => boolean }>;

export type FailureSign = keyof typeof FAILURE_SIGNS;
const SIGNS = Object.keys(FAILURE_SIGNS) as FailureSign[];

export const failureSigns = (input: SignInput): FailureSign[] =>
  SIGNS.filter((sign) => FAILURE_SIGNS[sign].isShown(input));

/** A list without duplicates. */
class Table<T> {
  readonly values: T[] = [];
  readonly #places = new Map<string, number>();

  /** Index of a value, added if new. */
  index(value: T): number {
    const key = JSON.stringify(value);
    if (!this.#places.has(key)) this.#places.set(key, this.values.push(value) - 1);
    return this.#places.get(key)!;
  }
}

function viewerQuestion(run: Trajectory, question: Question | undefined): ViewerQuestion {
  const { benchmark, operation, ...metadata } = question?.metadata ?? {};
  const nodes = run.metadata?.graph ?? metadata.graph ?? [];
  const graph = nodes.map(({ id, entity, attribute, dependsOn, answers }) => {
    return { id, entity, attribute, dependsOn, answers };
  });
  const type = run.metadata?.type ?? metadata.type;
  return {
    id: run.questionId,
    question: run.question || question?.question || run.questionId,
    goldenAnswers: run.goldenAnswers,
    benchmark: run.metadata?.benchmark ?? benchmark ?? 'unknown',
    type: type ?? 'unknown',
    questionType: run.questionType ?? questionType({ metadata: { graph: nodes, type } }) ?? null,
    graph: graph.length > 0 ? graph : null,
    operation: operation ?? null,
  };
}

/** The turns of a plain transcript, one per information segment. */
export function turnsFromSegments(segments: readonly TextSegment[]): ShownTurn[] {
  const runs = joinPolicySegments(segments);
  return runs.flatMap((run, i) => {
    if (run.kind !== 'information') return [];
    const results = parseInformation(run.text).map((result) =>
      result.status === 'failed' ? result : { status: 'unscored' as const },
    );
    return [{ queries: executedSearches(runs.slice(Math.max(0, i - 1), i + 1))[0] ?? [], results }];
  });
}

/**
 * Prepares recorded lines for the page, in order, without token ids and log-probs.
 * @param preset rewards of lines that record none
 * @param questions with types and graphs; found by id if the text agrees (ids repeat
 * across benchmarks), else by text
 */
export function viewerData(
  runs: readonly Trajectory[],
  { preset, questions: library }: { preset: string; questions: readonly Question[] },
): ViewerData {
  const [byId, byText] = (['id', 'question'] as const).map(
    (key) => new Map(library.map((question) => [question[key], question])),
  );
  const findQuestion = ({ questionId, question: text }: Trajectory): Question | undefined => {
    const question = byId.get(questionId);
    return !text || text === question?.question ? question : byText.get(text);
  };
  const options = rewardOptions(preset);
  const questions = new Table<ViewerQuestion>();
  const texts = new Table<string>();
  const turns = new Table<ShownTurn>();
  const trajectories = runs.map((run): ViewerTrajectory => {
    const known = findQuestion(run);
    const question = viewerQuestion(run, known);
    const score = scoreTranscript(
      { ...run, questionType: question.questionType ?? undefined },
      options,
    );
    const { answer, exactMatch, f1, formatReason } = score;
    const searchTurns: ShownTurn[] = run.searchTurns.some(({ results }) => results.length > 0)
      ? run.searchTurns
      : turnsFromSegments(run.segments);
    const hasGraph = Boolean(known?.metadata.graph?.length);
    const shared = {
      finish: run.finish ?? null,
      coverage:
        run.subQuestionRecall ??
        (hasGraph ? subQuestionRecall(known!, executedSearches(run.segments)) : null),
      ambiguous: run.ambiguous ?? null,
    };
    return {
      question: questions.index(question),
      method: run.method ?? 'unknown',
      step: run.step ?? null,
      segments: run.segments.map(({ kind, text }) => [kind, texts.index(text)]),
      turns: searchTurns.map((turn) => turns.index(turn)),
      numTurns: score.turns,
      answer,
      exactMatch,
      f1,
      formatReason,
      ...shared,
      rewards: run.rewards ?? score.rewards,
      recorded: Boolean(run.rewards),
      advantage: run.advantage ?? null,
      signs: failureSigns({
        ...score,
        ...shared,
        questionType: question.questionType,
        turns: searchTurns,
      }),
    };
  });
  return {
    preset,
    questions: questions.values,
    texts: texts.values,
    turns: turns.values,
    trajectories,
    signTitles: Object.fromEntries(SIGNS.map((sign) => [sign, FAILURE_SIGNS[sign].title])),
  };
}
