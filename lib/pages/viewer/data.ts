/**
 * What the viewer's page holds: recorded trajectories with their scores, in a form that
 * compresses well. Texts and search turns that repeat, as prompts and passages do within
 * a group, are kept once.
 */
import {
  questionShape,
  type Operation,
  type Question,
  type QuestionShape,
  type SubQuestion,
} from '../../data/question.js';
import type { ShownTurn } from '../../html/passages.js';
import { coverage } from '../../rewards/coverage.js';
import { rewardOptions } from '../../rewards/presets.js';
import { scoreTranscript, type TranscriptScore } from '../../rewards/score.js';
import { shapeOfType, type RecordedRun } from '../../rollout/recorded.js';
import type { SegmentKind } from '../../rollout/trajectory.js';
import { executedSearches, joinPolicySegments, type TextSegment } from '../../text/response.js';
import { parseInformation } from '../../text/tags.js';
import { failureSigns, type FailureSign } from './signs.js';

/** A node of a dependency graph as it is drawn. */
export type ViewerNode = Pick<SubQuestion, 'id' | 'entity' | 'attribute' | 'dependsOn' | 'answers'>;

export interface ViewerQuestion extends Pick<Question, 'id' | 'question' | 'goldenAnswers'> {
  benchmark: string;
  /** The benchmark's own type. */
  type: string;
  shape: QuestionShape | null;
  /** Null where unknown. */
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
  /** Indices into `turns`, one an information segment. */
  turns: number[];
  /** Search turns that count: those with a query of the policy's. */
  numTurns: number;
  finish: string | null;
  coverage: number | null;
  /** Whether `rewards` were recorded, not computed for the page. */
  recorded: boolean;
  advantage: number | null;
  /** Why the transcript does not tell who wrote what; null where it does. */
  ambiguous: string | null;
  signs: FailureSign[];
}

export interface ViewerData {
  /** Name of the reward options with which unrecorded rewards were computed. */
  preset: string;
  questions: ViewerQuestion[];
  texts: string[];
  turns: ShownTurn[];
  trajectories: ViewerTrajectory[];
}

export interface ViewerOptions {
  /** Name of the reward options for lines without recorded rewards. */
  preset: string;
  /** Questions with their types and graphs, found by id and text. */
  questions: readonly Question[];
}

/** A list without repetitions. */
class Table<T> {
  readonly values: T[] = [];
  readonly #places = new Map<string, number>();

  /** Where a value is, which is added where it is new. */
  index(value: T): number {
    const key = JSON.stringify(value);
    if (!this.#places.has(key)) this.#places.set(key, this.values.push(value) - 1);
    return this.#places.get(key)!;
  }
}

/**
 * The known question that a line is about: by its id where the text agrees (ids repeat
 * across benchmarks), else by its text.
 */
function knownQuestion(
  run: RecordedRun,
  known: ReadonlyMap<string, Question>,
): Question | undefined {
  const question = known.get(run.id);
  if (!run.question || run.question === question?.question) return question;
  return known.get(run.question);
}

function viewerQuestion(run: RecordedRun, known: Question | undefined): ViewerQuestion {
  const { benchmark, operation, ...metadata } = known?.metadata ?? {};
  const nodes = run.graph ?? metadata.graph ?? [];
  const graph = nodes.map(({ id, entity, attribute, dependsOn, answers }) => {
    return { id, entity, attribute, dependsOn, answers };
  });
  const type = run.type ?? metadata.type;
  return {
    id: run.id,
    question: run.question ?? known?.question ?? run.id,
    goldenAnswers: run.goldenAnswers,
    benchmark: run.benchmark ?? benchmark ?? 'unknown',
    type: type ?? 'unknown',
    shape: run.shape ?? (graph.length > 0 ? questionShape(nodes) : shapeOfType(type ?? '')) ?? null,
    graph: graph.length > 0 ? graph : null,
    operation: operation ?? null,
  };
}

/** The turns of a transcript without a record of its own, one an information segment. */
export function turnsOfSegments(segments: readonly TextSegment[]): ShownTurn[] {
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
 * The share of independent sub-questions asked, as recorded or as the known graph tells.
 */
function coverageOf(run: RecordedRun, known: Question | undefined): number | null {
  if (run.coverage !== undefined && run.coverage !== null) return run.coverage;
  return known?.metadata.graph?.length ? coverage(known, executedSearches(run.segments)) : null;
}

/**
 * Prepares recorded lines for the page, in their order. Token ids and log-probabilities
 * are left out.
 */
export function viewerData(
  runs: readonly RecordedRun[],
  { preset, questions: known }: ViewerOptions,
): ViewerData {
  const byIdOrText = new Map([
    ...known.map((q) => [q.question, q] as const),
    ...known.map((q) => [q.id, q] as const),
  ]);
  const options = rewardOptions(preset);
  const questions = new Table<ViewerQuestion>();
  const texts = new Table<string>();
  const turns = new Table<ShownTurn>();
  const trajectories = runs.map((run): ViewerTrajectory => {
    const about = knownQuestion(run, byIdOrText);
    const question = viewerQuestion(run, about);
    const score = scoreTranscript({ ...run, shape: question.shape ?? undefined }, options);
    const { answer, exactMatch, f1, formatReason } = score;
    const searched: ShownTurn[] = run.searchTurns ?? turnsOfSegments(run.segments);
    const ambiguous = run.ambiguous ?? null;
    const ending = { finish: run.finish ?? null, coverage: coverageOf(run, about) };
    return {
      question: questions.index(question),
      method: run.method ?? 'unknown',
      step: run.step ?? null,
      segments: run.segments.map(({ kind, text }) => [kind, texts.index(text)]),
      turns: searched.map((turn) => turns.index(turn)),
      numTurns: score.turns,
      answer,
      exactMatch,
      f1,
      formatReason,
      ...ending,
      rewards: run.rewards ?? score.rewards,
      recorded: Boolean(run.rewards),
      advantage: run.advantage ?? null,
      ambiguous,
      signs: failureSigns({
        ...score,
        ...ending,
        ambiguous,
        shape: question.shape,
        turns: searched,
      }),
    };
  });
  return {
    preset,
    questions: questions.values,
    texts: texts.values,
    turns: turns.values,
    trajectories,
  };
}
