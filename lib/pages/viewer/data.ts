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
import { joinPolicySegments, type TextSegment } from '../../text/format.js';
import { parseInformation } from '../../text/information.js';
import { executedSearches } from '../../text/turns.js';
import { failureSigns, type FailureSign } from './signs.js';

/** A node of a dependency graph as it is drawn. */
export interface ViewerNode {
  id: string;
  entity: string;
  attribute: string;
  dependsOn: string[];
  answers: string[];
}

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

/** A list without repetitions; `index` adds what is new and tells where it is. */
interface Table<T> {
  values: T[];
  index(value: T): number;
}

function createTable<T>(): Table<T> {
  const values: T[] = [];
  const places = new Map<string, number>();
  const index = (value: T): number => {
    const key = JSON.stringify(value);
    const known = places.get(key);
    if (known !== undefined) return known;
    places.set(key, values.length);
    return values.push(value) - 1;
  };
  return { values, index };
}

/** Questions by id and by text. */
function questionIndex(questions: readonly Question[]): Map<string, Question> {
  return new Map([
    ...questions.map((q) => [q.question, q] as const),
    ...questions.map((q) => [q.id, q] as const),
  ]);
}

/** The known question that a line is about: by its id where the text agrees (ids repeat across benchmarks), else by its text. */
function knownQuestion(run: RecordedRun, known: ReadonlyMap<string, Question>): Question | undefined {
  const question = known.get(run.id);
  if (!run.question || run.question === question?.question) return question;
  return known.get(run.question);
}

function viewerQuestion(run: RecordedRun, known: Question | undefined): ViewerQuestion {
  const { benchmark, type, graph, operation } = known?.metadata ?? {};
  const nodes = run.graph ?? graph;
  const named = run.type ?? type;
  return {
    id: run.id,
    question: run.question ?? known?.question ?? run.id,
    goldenAnswers: run.goldenAnswers,
    benchmark: run.benchmark ?? benchmark ?? 'unknown',
    type: named ?? 'unknown',
    shape: run.shape ?? (nodes?.length ? questionShape(nodes) : shapeOfType(named ?? '')) ?? null,
    graph: nodes?.length ? nodes.map(viewerNode) : null,
    operation: operation ?? null,
  };
}

const viewerNode = ({ id, entity, attribute, dependsOn, answers }: SubQuestion): ViewerNode => ({
  id,
  entity,
  attribute,
  dependsOn,
  answers,
});

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

interface Tables {
  questions: Table<ViewerQuestion>;
  texts: Table<string>;
  turns: Table<ShownTurn>;
}

function viewerTrajectory(
  { run, method }: ViewerLine,
  known: Question | undefined,
  tables: Tables,
  options: ViewerOptions,
): ViewerTrajectory {
  const question = viewerQuestion(run, known);
  const score = scoreTranscript({ ...run, shape: question.shape ?? undefined }, options.rewards);
  const turns: ShownTurn[] = run.searchTurns ?? turnsOfSegments(run.segments);
  const [finish, covered] = [run.finish ?? null, coverageOf(run, known)];
  return {
    question: tables.questions.index(question),
    method: run.method ?? method,
    step: run.step ?? null,
    segments: run.segments.map(({ kind, text }) => [kind, tables.texts.index(text)]),
    turns: turns.map((turn) => tables.turns.index(turn)),
    numTurns: score.turns,
    answer: score.answer,
    exactMatch: score.exactMatch,
    f1: score.f1,
    formatReason: score.formatReason,
    finish,
    coverage: covered,
    rewards: run.rewards ?? score.rewards,
    recorded: Boolean(run.rewards),
    advantage: run.advantage ?? null,
    signs: failureSigns({ ...score, shape: question.shape, finish, turns, coverage: covered }),
  };
}

/** Prepares recorded lines for the page, in their order. Token ids and log-probabilities are left out. */
export function viewerData(lines: readonly ViewerLine[], options: ViewerOptions): ViewerData {
  const known = questionIndex(options.questions ?? []);
  const tables: Tables = { questions: createTable(), texts: createTable(), turns: createTable() };
  const trajectories = lines.map((line) =>
    viewerTrajectory(line, knownQuestion(line.run, known), tables, options),
  );
  return {
    preset: options.preset,
    questions: tables.questions.values,
    texts: tables.texts.values,
    turns: tables.turns.values,
    trajectories,
  };
}
