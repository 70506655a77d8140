/**
 * Recorded transcripts, one JSON object each. Two layouts are read: this project's trajectories (a line of
 * `trajectories.jsonl`) and plain transcripts (`id`, `question`, `golden_answers`, `response`).
 */
import { z } from 'zod';
import {
  questionShape,
  subQuestionSchema,
  type QuestionGraph,
  type QuestionShape,
} from '../data/question.js';
import { splitTranscript, type TextSegment } from '../text/response.js';

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
      benchmark: z.string().nullish().catch(undefined),
      graph: z.array(subQuestionSchema).nullish(),
    })
    .nullish(),
};
const idSchema = z.union([z.string(), z.number()]).transform(String);

/** Something to look at only: absent in one recording, of another form in another, and no reason to refuse a line. */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().catch(undefined);

/** Components by their names, whatever a run rewarded. */
const rewardsSchema = z.object({ total: z.number() }).catchall(z.number());

const resultSchema = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('ok'),
    passages: z.array(z.object({ id: idSchema, title: z.string(), score: z.number() })),
  }),
  z.object({ status: z.literal('failed'), reason: z.string() }),
]);

const runFields = {
  question: optional(z.string()),
  benchmark: optional(z.string()),
  method: optional(z.string()),
  step: optional(z.int()),
};

const trajectorySchema = z.looseObject({
  ...hintFields,
  ...runFields,
  questionId: idSchema,
  goldenAnswers: z.array(z.string()),
  segments: z.array(
    z.looseObject({ kind: z.enum(['prompt', 'policy', 'information', 'notice']), text: z.string() }),
  ),
  searchTurns: optional(z.array(z.object({ queries: z.array(z.string()), results: z.array(resultSchema) }))),
  finish: optional(z.string()),
  coverage: optional(z.number()),
  rewards: optional(rewardsSchema),
  advantage: optional(z.number()),
});

const transcriptSchema = z.looseObject({
  ...hintFields,
  ...runFields,
  id: idSchema,
  golden_answers: z.array(z.string()),
  prompt: optional(z.string()),
  response: z.string(),
  stop_reason: optional(z.string()),
});

/** As much as the scores need of a transcript of either layout. */
export interface RecordedTranscript {
  id: string;
  goldenAnswers: string[];
  segments: TextSegment[];
  shape: QuestionShape | undefined;
}

type Trajectory = z.infer<typeof trajectorySchema>;

/** Everything that a line tells beside; undefined or null where it doesn't. */
export interface RecordedRun extends RecordedTranscript {
  question?: string | null;
  benchmark?: string | null;
  /** The benchmark's own type of the question. */
  type?: string | null;
  graph?: QuestionGraph | null;
  method?: string | null;
  /** The training step that it belongs to. */
  step?: number | null;
  /** What was searched, and which passages came back with which scores; this project's trajectories only. */
  searchTurns?: Trajectory['searchTurns'];
  /** `answer`, `budget` or `length`; in a plain transcript the engine's `stop_reason`. */
  finish?: string | null;
  coverage?: number | null;
  rewards?: z.infer<typeof rewardsSchema> | null;
  advantage?: number | null;
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

/** What both layouts say under the same names. */
function runOf(line: ShapeHints & Pick<Trajectory, keyof typeof runFields>) {
  const { question, method, step, metadata } = line;
  const benchmark = line.benchmark ?? metadata?.benchmark;
  const type = line.type ?? metadata?.type;
  return { question, method, step, benchmark, type, graph: metadata?.graph, shape: recordedShape(line) };
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

function runOfTrajectory(value: object): RecordedRun {
  const line = checked(trajectorySchema, value);
  const { questionId, goldenAnswers, searchTurns, finish, coverage, rewards, advantage } = line;
  const segments = line.segments.map(({ kind, text }) => ({ kind, text }));
  const recorded = { searchTurns, finish, coverage, rewards, advantage };
  return { ...runOf(line), ...recorded, id: questionId, goldenAnswers, segments };
}

function runOfTranscript(value: object): RecordedRun {
  const line = checked(transcriptSchema, value);
  const prompt: TextSegment[] = line.prompt ? [{ kind: 'prompt', text: line.prompt }] : [];
  const segments = [...prompt, ...splitTranscript(line.response)];
  return {
    ...runOf(line),
    id: line.id,
    goldenAnswers: line.golden_answers,
    segments,
    finish: line.stop_reason,
  };
}

/** Reads one JSON value of either layout; throws an error that says what is missing or wrong. */
export function parseTranscript(value: unknown): RecordedRun {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new Error('Expected a JSON object.');
  }
  if ('segments' in value) return runOfTrajectory(value);
  if ('response' in value) return runOfTranscript(value);
  throw new Error('Expected segments (a trajectory) or response (a transcript), but got neither.');
}
