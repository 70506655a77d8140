/**
 * Scoring of recorded transcripts, one JSON object at a time. Two layouts are read: this project's
 * trajectories (a line of `trajectories.jsonl`) and plain transcripts (`id`, `question`, `golden_answers`,
 * `response`).
 */
import { z } from 'zod';
import { questionShape, subQuestionSchema, type QuestionShape } from '../data/question.js';
import { checkTrajectoryFormat, splitTranscript, type TextSegment } from '../text/format.js';
import { tokenF1 } from '../text/normalize.js';
import { isDecomposed } from './decomposition.js';
import { rewardInputFromSegments } from './input.js';
import type { RewardOptions } from './options.js';
import { totalReward, type RewardComponents } from './total.js';

/** The scores of one transcript. */
export interface TranscriptScore extends RewardComponents {
  id: string;
  /** Null where the line doesn't tell it: not parallelizable and not single-hop for the rewards. */
  shape: QuestionShape | null;
  answer: string | null;
  exactMatch: 0 | 1;
  f1: number;
  formatOk: boolean;
  /** Why the format is not right, else null. */
  formatReason: string | null;
  /** Executed search turns. */
  turns: number;
  /** Decomposed in the sense of the options: in any search turn, or in the first. */
  decomposed: boolean;
}

/**
 * The benchmarks' own types; any other type leaves the shape unknown. `na` is the authors' type of NQ's
 * questions.
 */
const SHAPES_OF_TYPES: Readonly<Record<string, QuestionShape>> = {
  comparison: 'parallelizable',
  comparison_query: 'parallelizable',
  bridge: 'sequential',
  compositional: 'sequential',
  inference: 'sequential',
  inference_query: 'sequential',
  '2hop': 'sequential',
  bridge_comparison: 'hybrid',
  single_hop: 'single_hop',
  na: 'single_hop',
};

/** The shape that a benchmark's type of question stands for, where it is known. */
export function shapeOfType(type: string): QuestionShape | undefined {
  return Object.hasOwn(SHAPES_OF_TYPES, type) ? SHAPES_OF_TYPES[type] : undefined;
}

const shapeSchema = z.enum(['single_hop', 'parallelizable', 'sequential', 'hybrid']);
const hintFields = {
  shape: shapeSchema.nullish(),
  type: z.string().nullish(),
  metadata: z
    .looseObject({
      shape: shapeSchema.nullish(),
      type: z.string().nullish(),
      graph: z.array(subQuestionSchema).nullish(),
    })
    .nullish(),
};
const idSchema = z.union([z.string(), z.number()]).transform(String);

const trajectorySchema = z.looseObject({
  ...hintFields,
  questionId: idSchema,
  goldenAnswers: z.array(z.string()),
  segments: z.array(
    z.looseObject({ kind: z.enum(['prompt', 'policy', 'information', 'notice']), text: z.string() }),
  ),
});

const transcriptSchema = z.looseObject({
  ...hintFields,
  id: idSchema,
  golden_answers: z.array(z.string()),
  response: z.string(),
});

/** A transcript of either layout. */
export interface RecordedTranscript {
  id: string;
  goldenAnswers: string[];
  segments: TextSegment[];
  shape: QuestionShape | undefined;
}

type ShapeHints = z.infer<z.ZodObject<typeof hintFields>>;

/**
 * The shape as a line tells it: said outright, else computed from the dependency graph, else from the type.
 */
function recordedShape({ shape, type, metadata }: ShapeHints): QuestionShape | undefined {
  const said = shape ?? metadata?.shape;
  if (said) return said;
  if (metadata?.graph?.length) return questionShape(metadata.graph);
  const name = type ?? metadata?.type;
  return name ? shapeOfType(name) : undefined;
}

/** What is wrong with a value, in one line: the first issue and its place. */
function firstIssue(error: z.ZodError): string {
  const [{ path, message }] = error.issues;
  return path.length > 0 ? `${path.join('.')}: ${message}` : message;
}

function checked<T>(schema: z.ZodType<T>, value: unknown): T {
  const result = schema.safeParse(value);
  if (!result.success) throw new Error(firstIssue(result.error));
  return result.data;
}

/** Reads one JSON value of either layout; throws an error that says what is missing or wrong. */
export function parseTranscript(value: unknown): RecordedTranscript {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('Expected a JSON object.');
  }
  if ('segments' in value) {
    const line = checked(trajectorySchema, value);
    const { questionId, goldenAnswers, segments } = line;
    return { id: questionId, goldenAnswers, segments, shape: recordedShape(line) };
  }
  if (!('response' in value)) {
    throw new Error('Expected segments (a trajectory) or response (a transcript), but got neither.');
  }
  const line = checked(transcriptSchema, value);
  const segments = splitTranscript(line.response);
  return { id: line.id, goldenAnswers: line.golden_answers, segments, shape: recordedShape(line) };
}

/** Exact match, F1, format, turns and every reward component of a transcript. */
export function scoreTranscript(transcript: RecordedTranscript, options: RewardOptions): TranscriptScore {
  const input = rewardInputFromSegments(transcript.segments, transcript);
  const components = totalReward(input, options);
  const verdict = checkTrajectoryFormat(transcript.segments);
  return {
    id: transcript.id,
    shape: transcript.shape ?? null,
    answer: input.answer,
    exactMatch: components.outcome === 1 ? 1 : 0,
    f1: tokenF1(input.answer, input.goldenAnswers),
    formatOk: verdict.ok,
    formatReason: verdict.reason ?? null,
    turns: input.searchTurns.length,
    decomposed: isDecomposed(input.searchTurns, options.decomposedBy),
    ...components,
  };
}

/** Scores one line of a JSONL file; throws where the line can't be read. */
export function scoreLine(line: string, options: RewardOptions): TranscriptScore {
  return scoreTranscript(parseTranscript(JSON.parse(line)), options);
}
