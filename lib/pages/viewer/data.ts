/**
 * What the viewer's page holds: recorded trajectories with their scores, in a form that compresses well. Texts and
 * search turns that repeat, as prompts and passages do within a group, are kept once.
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
import type { RewardOptions } from '../../rewards/options.js';
import type { RewardComponents } from '../../rewards/reward.js';
import { scoreTranscript } from '../../rewards/score.js';
import { shapeOfType, type RecordedRun } from '../../rollout/recorded.js';
import type { SegmentKind } from '../../rollout/trajectory.js';
import { executedSearches, joinPolicySegments, type TextSegment } from '../../text/response.js';
import { parseInformation } from '../../text/tags.js';
import { failureSigns, type FailureSign } from './signs.js';

/** A node of a dependency graph as it is drawn. */
export type ViewerNode = Pick<SubQuestion, 'id' | 'entity' | 'attribute' | 'dependsOn' | 'answers'>;

export interface ViewerQuestion {
  id: string;
  question: string;
  goldenAnswers: string[];
  benchmark: string;
  /** The benchmark's own type. */
  type: string;
  shape: QuestionShape | null;
  /** Null where unknown. */
  graph: ViewerNode[] | null;
  operation: Operation | null;
}

export interface ViewerTrajectory {
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
  answer: string | null;
  exactMatch: 0 | 1;
  f1: number;
  formatReason: string | null;
  finish: string | null;
  coverage: number | null;
  rewards: RewardComponents;
  /** Whether `rewards` were recorded, not computed for the page. */
  recorded: boolean;
  advantage: number | null;
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

/** A recorded line and the method it is shown under where it names none. */
export interface ViewerLine {
  run: RecordedRun;
  method: string;
}

export interface ViewerOptions {
  /** Name and values of the reward options for lines without recorded rewards. */
  preset: string;
  rewards: RewardOptions;
  /** Questions with their types and graphs, found by id and text. */
  questions?: readonly Question[];
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

/** The known question that a line is about: by its id where the text agrees (ids repeat across benchmarks), else by its text. */
function knownQuestion(run: RecordedRun, known: ReadonlyMap<string, Question>): Question | undefined {
  const question = known.get(run.id);
  if (!run.question || run.question === question?.question) return question;
  return known.get(run.question);
}

function viewerQuestion(run: RecordedRun, known: Question | undefined): ViewerQuestion {
  const { benchmark, type, operation, ...metadata } = known?.metadata ?? {};
  const nodes = run.graph ?? metadata.graph;
  const graph = nodes?.map(({ id, entity, attribute, dependsOn, answers }) => {
    return { id, entity, attribute, dependsOn, answers };
  });
  const named = run.type ?? type;
  return {
    id: run.id,
    question: run.question ?? known?.question ?? run.id,
    goldenAnswers: run.goldenAnswers,
    benchmark: run.benchmark ?? benchmark ?? 'unknown',
    type: named ?? 'unknown',
    shape: run.shape ?? (nodes?.length ? questionShape(nodes) : shapeOfType(named ?? '')) ?? null,
    graph: graph?.length ? graph : null,
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

/** The share of independent sub-questions asked, as recorded or as the known graph tells. */
function coverageOf(run: RecordedRun, known: Question | undefined): number | null {
  if (run.coverage !== undefined && run.coverage !== null) return run.coverage;
  return known?.metadata.graph?.length ? coverage(known, executedSearches(run.segments)) : null;
}

/** Prepares recorded lines for the page, in their order. Token ids and log-probabilities are left out. */
export function viewerData(lines: readonly ViewerLine[], options: ViewerOptions): ViewerData {
  const { preset, questions: known = [] } = options;
  const byIdOrText = new Map([
    ...known.map((q) => [q.question, q] as const),
    ...known.map((q) => [q.id, q] as const),
  ]);
  const [questions, texts, turns] = [
    new Table<ViewerQuestion>(),
    new Table<string>(),
    new Table<ShownTurn>(),
  ];
  const trajectories = lines.map(({ run, method }): ViewerTrajectory => {
    const about = knownQuestion(run, byIdOrText);
    const question = viewerQuestion(run, about);
    const score = scoreTranscript({ ...run, shape: question.shape ?? undefined }, options.rewards);
    const { answer, exactMatch, f1, formatReason } = score;
    const searched: ShownTurn[] = run.searchTurns ?? turnsOfSegments(run.segments);
    const shown = { shape: question.shape, finish: run.finish ?? null, coverage: coverageOf(run, about) };
    return {
      question: questions.index(question),
      method: run.method ?? method,
      step: run.step ?? null,
      segments: run.segments.map(({ kind, text }) => [kind, texts.index(text)]),
      turns: searched.map((turn) => turns.index(turn)),
      numTurns: score.turns,
      ...{ answer, exactMatch, f1, formatReason, finish: shown.finish, coverage: shown.coverage },
      rewards: run.rewards ?? score.rewards,
      recorded: Boolean(run.rewards),
      advantage: run.advantage ?? null,
      signs: failureSigns({ ...score, ...shown, turns: searched }),
    };
  });
  return { preset, questions: questions.values, texts: texts.values, turns: turns.values, trajectories };
}
