/**
 * Recorded transcripts, one JSON object each. Two layouts are read: this project's
 * trajectories (a line of `trajectories.jsonl`) and plain transcripts (`id`, `question`,
 * `golden_answers`, `response`).
 */
import { sum } from 'd3-array';
import { z } from 'zod';
import { questionShape, subQuestionSchema, type QuestionShape } from '../data/question.js';
import { ambiguity, splitTranscript } from '../text/response.js';

/**
 * The benchmarks' own types; any other type leaves the shape unknown. `na` is the
 * authors' type of NQ's questions.
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

export const shapeSchema = z.enum(['single_hop', 'parallelizable', 'sequential', 'hybrid']);
const idSchema = z.union([z.string(), z.number()]).transform(String);

/**
 * Something to look at only: absent in one recording, of another form in another, and no
 * reason to refuse a line.
 */
const optional = <T extends z.ZodType>(schema: T) => schema.nullish().catch(undefined);

/** What both layouts say under the same names. */
const sharedFields = {
  question: optional(z.string()),
  benchmark: optional(z.string()),
  /** The benchmark's own type of the question. */
  type: z.string().nullish(),
  shape: shapeSchema.nullish(),
  metadata: z
    .object({
      benchmark: optional(z.string()),
      type: z.string().nullish(),
      shape: shapeSchema.nullish(),
      graph: z.array(subQuestionSchema).nullish(),
    })
    .nullish(),
  method: optional(z.string()),
  /** The training step that it belongs to. */
  step: optional(z.int()),
};

/**
 * The shape is said outright, else computed from the dependency graph, else it follows
 * from the type.
 */
function withMetadata<Line extends z.infer<z.ZodObject<typeof sharedFields>>>({
  metadata,
  ...line
}: Line) {
  const graph = metadata?.graph;
  const type = line.type ?? metadata?.type;
  const said = line.shape ?? metadata?.shape;
  const shape = said ?? (graph?.length ? questionShape(graph) : shapeOfType(type ?? ''));
  return { ...line, type, graph, shape, benchmark: line.benchmark ?? metadata?.benchmark };
}

const resultSchema = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('ok'),
    passages: z.array(z.object({ id: idSchema, title: z.string(), score: z.number() })),
    isUnlike: z.literal(true).optional(),
  }),
  z.object({ status: z.literal('failed'), reason: z.string(), detail: z.string().optional() }),
]);

const trajectorySchema = z
  .object({
    ...sharedFields,
    questionId: idSchema,
    goldenAnswers: z.array(z.string()),
    segments: z.array(
      z.object({ kind: z.enum(['prompt', 'policy', 'information', 'notice']), text: z.string() }),
    ),
    /** What was searched, and which passages came back with which scores. */
    searchTurns: optional(
      z.array(z.object({ queries: z.array(z.string()), results: z.array(resultSchema) })),
    ),
    /**
     * `answer`, `budget` or `length`; in a plain transcript the engine's `stop_reason`.
     */
    finish: optional(z.string()),
    coverage: optional(z.number()),
    /** Components by their names, whatever a run rewarded. */
    rewards: optional(z.object({ total: z.number() }).catchall(z.number())),
    advantage: optional(z.number()),
    /** Why a recording that was text alone does not tell who wrote what. */
    ambiguous: optional(z.string()),
  })
  .transform(({ questionId: id, ...line }) => ({ id, ...withMetadata(line) }));

/**
 * All that a line tells, but for token ids and log-probabilities; undefined or null where
 * it tells nothing.
 */
export type RecordedRun = z.infer<typeof trajectorySchema>;

const transcriptSchema = z
  .object({
    ...sharedFields,
    id: idSchema,
    golden_answers: z.array(z.string()),
    prompt: optional(z.string()),
    response: z.string(),
    stop_reason: optional(z.string()),
  })
  .transform(({ golden_answers, prompt, response, stop_reason, ...line }): RecordedRun => {
    const segments = splitTranscript(response);
    return {
      ...withMetadata(line),
      goldenAnswers: golden_answers,
      segments: [...(prompt ? [{ kind: 'prompt' as const, text: prompt }] : []), ...segments],
      finish: stop_reason,
      ambiguous: ambiguity(segments),
    };
  });

/**
 * The longest transcript that is read, in characters: a context of a million tokens is
 * shorter.
 */
export const MAX_TRANSCRIPT_LENGTH = 10_000_000;

/**
 * Reads one JSON value of either layout; throws an error that says what is missing or
 * wrong, and where.
 */
export function parseTranscript(value: unknown): RecordedRun {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Expected a JSON object.');
  if (!('segments' in value || 'response' in value))
    throw new Error(
      'Expected segments (a trajectory) or response (a transcript), but got neither.',
    );
  const parsed = ('segments' in value ? trajectorySchema : transcriptSchema).safeParse(value);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new Error(`${path.join('.')}: ${message}`);
  }
  const length = sum(parsed.data.segments, ({ text }) => text.length);
  if (length > MAX_TRANSCRIPT_LENGTH)
    throw new Error(
      `Expected a transcript of at most ${MAX_TRANSCRIPT_LENGTH} characters, but got ${length}. Shorten it.`,
    );
  return parsed.data;
}
