/**
 * Reads recorded trajectories, one JSON object each, in three formats: this project's
 * `trajectories.jsonl`, plain transcripts (`id`, `question`, `golden_answers`,
 * `response`), and conversations with OpenAI's `messages` instead of `response`. Serves
 * `score`, `view`, `export` and run folders. `audit` reads token ids
 * (`interop/token-rows.ts`), `import` other trainers' files (`interop/verl.ts`, `trl.ts`,
 * `verifiers.ts`).
 */
import { sum } from 'd3-array';
import { z } from 'zod';
import {
  goldenAnswersSchema,
  questionType,
  questionTypeSchema,
  subQuestionSchema,
} from '../data/question.js';
import { parseAs } from '../io/json.js';
import { formatList } from '../text/english.js';
import { openThought } from '../text/messages.js';
import { ambiguity, executedSearches, finalAnswer, splitTranscript } from '../text/response.js';
import { TURN_MARKS, withoutEndTokens } from '../text/template-marks.js';
import { contentSchema, messagesSchema, splitConversation } from './recorded-chat.js';
import type { Segment, Trajectory } from './trajectory.js';

const idSchema = z.union([z.string(), z.number()], 'expected text or a number').transform(String);

/** For fields that are only displayed: a malformed value counts as missing. */
const optional = <T extends z.ZodType>(schema: T) =>
  schema
    .nullish()
    .catch(undefined)
    .transform((value) => value ?? undefined);

/** For fields that scores and labels use: a malformed value is rejected. */
const strict = <T extends z.ZodType>(schema: T) =>
  schema.nullish().transform((value) => value ?? undefined);

/** Earlier versions called the question type `shape`. */
const typeFields = {
  type: z.string().nullish(),
  questionType: questionTypeSchema.nullish(),
  shape: questionTypeSchema.nullish(),
};

/** Fields that have the same names in all formats. */
const sharedFields = {
  ...typeFields,
  question: optional(z.string()),
  benchmark: optional(z.string()),
  metadata: z
    .object({
      ...typeFields,
      benchmark: optional(z.string()),
      graph: z.array(subQuestionSchema).nullish(),
    })
    .nullish(),
  method: optional(z.string()),
  step: optional(z.int()),
};

const resultSchema = z.discriminatedUnion('status', [
  z.object({
    status: z.literal('ok'),
    passages: z.array(
      z.object({
        id: idSchema,
        title: z.string(),
        score: z.number(),
        isCut: z.literal(true).optional(),
      }),
    ),
    numLeftOut: z.number().optional(),
    isUnlike: z.literal(true).optional(),
  }),
  z.object({
    status: z.literal('failed'),
    reason: z.string(),
    detail: z.string().optional(),
    isTimeout: z.literal(true).optional(),
  }),
]);

/** A line of `trajectories.jsonl`. */
export const trajectorySchema = z.object({
  ...sharedFields,
  questionId: idSchema,
  goldenAnswers: goldenAnswersSchema,
  segments: z.array(
    z.object({ kind: z.enum(['prompt', 'policy', 'information', 'notice']), text: z.string() }),
  ),
  searchTurns: optional(
    z.array(z.object({ queries: z.array(z.string()), results: z.array(resultSchema) })),
  ),
  finish: optional(z.string()),
  maxSearchTurns: strict(z.int()),
  querySeparator: strict(z.string().min(1)),
  subQuestionRecall: strict(z.number()),
  /** Name of `subQuestionRecall` in earlier versions. */
  coverage: strict(z.number()),
  rewards: optional(z.object({ total: z.number() }).catchall(z.number())),
  advantage: optional(z.number()),
  ambiguous: optional(z.string()),
});
type Line = z.infer<typeof trajectorySchema>;

/** Fields that transcripts and conversations share. */
const recordingSchema = z.object({
  ...sharedFields,
  id: idSchema,
  golden_answers: goldenAnswersSchema,
  stop_reason: optional(z.string()),
  max_search_turns: strict(z.int()),
});

const renameFields = <T extends z.infer<typeof recordingSchema>>({
  id,
  golden_answers: goldenAnswers,
  stop_reason: finish,
  max_search_turns: maxSearchTurns,
  ...line
}: T) => ({ ...line, questionId: id, goldenAnswers, finish, maxSearchTurns });

/** Marks before and after the results of a search. */
const MARKS_AT_RESULTS = new RegExp(
  `(?<=</search>)${TURN_MARKS.source}(?=<information>)|(?<=</information>)${TURN_MARKS.source}`,
  'g',
);
/**
 * Drops end tokens, and a chat template's marks around results, if turns were decoded as
 * one text.
 */
export const joinTurns = (response: string): string =>
  withoutEndTokens(response).replace(MARKS_AT_RESULTS, (marks) =>
    marks.trim() === '' ? marks : '\n',
  );

/**
 * Length of the prompt that a response repeats, after padding and a begin token; in a
 * chat template if it is messages.
 */
function repeatedLength(prompt: string | readonly string[], response: string): number {
  const skipMarks = (from: number): number => {
    TURN_MARKS.lastIndex = from;
    return from + TURN_MARKS.exec(response)![0].length;
  };
  if (typeof prompt === 'string') {
    const text = prompt.trimStart();
    const start = response.indexOf(text);
    return start >= 0 && start <= skipMarks(0) ? start + text.length : 0;
  }
  let end = 0;
  for (const text of prompt.map((content) => content.trim())) {
    const start = response.startsWith(text, end) ? end : skipMarks(end);
    if (!response.startsWith(text, start)) return 0;
    end = start + text.length;
  }
  return skipMarks(end);
}

/** Text, or the texts of messages. */
const promptSchema = z.union([
  z.string(),
  z.array(
    z.looseObject({ content: contentSchema.nullish() }).transform((one) => one.content ?? ''),
  ),
]);

/** A response that uses the paper's tags. */
export const transcriptSchema = recordingSchema
  .extend({ prompt: optional(promptSchema), response: z.string() })
  .transform(({ prompt, response: recorded, ...line }) => {
    const response = joinTurns(recorded);
    const prompts = [prompt ?? []].flat().filter(Boolean);
    const segments = splitTranscript(
      response.slice(prompt ? repeatedLength(prompt, response) : 0),
      prompts.at(-1) ?? line.question,
    );
    const [first] = segments;
    // The chat template may have opened a thought at the end of a prompt not recorded.
    if (first?.kind === 'policy' && typeof prompt !== 'string')
      first.text = openThought(first.text);
    return {
      ...renameFields(line),
      segments: [...prompts.map((text) => ({ kind: 'prompt' as const, text })), ...segments],
      ambiguous: ambiguity(segments) ?? undefined,
    };
  });

const SEVERAL_ANSWERS =
  'the messages have several answers, such as with examples before the question';

/** A conversation with a model that calls a search tool, or writes the paper's tags. */
export const conversationSchema = recordingSchema
  .extend({ messages: messagesSchema })
  .transform(({ messages, ...line }) => {
    const { question, segments } = splitConversation(messages);
    const answers = segments.filter((segment) => finalAnswer([segment]) !== null);
    return {
      ...renameFields(line),
      question: line.question ?? question,
      segments,
      ambiguous: answers.length > 1 ? SEVERAL_ANSWERS : undefined,
    };
  });

const LAYOUTS = {
  segments: trajectorySchema,
  response: transcriptSchema,
  messages: conversationSchema,
};

function toTrajectory(
  line: Partial<Line> & Pick<Line, 'questionId' | 'goldenAnswers' | 'segments'>,
): Trajectory {
  const { questionId, goldenAnswers, question = '', finish = null } = line;
  const { type, benchmark, shape, coverage, metadata: inner, segments, ...rest } = line;
  const metadata = {
    benchmark: benchmark ?? inner?.benchmark,
    type: type ?? inner?.type ?? undefined,
    graph: inner?.graph ?? undefined,
  };
  const stated = line.questionType ?? shape ?? inner?.questionType ?? inner?.shape;
  // Also rejects a graph with a cycle.
  const derived = questionType({ metadata });
  return {
    ...rest,
    questionId,
    goldenAnswers,
    question,
    finish,
    metadata,
    segments: segments.map((segment): Segment => ({ ...segment, tokenIds: [] })),
    searchTurns:
      line.searchTurns ??
      executedSearches(segments, line.querySeparator).map((queries) => ({ queries, results: [] })),
    answer: finalAnswer(segments),
    modelCalls: segments.filter(({ kind }) => kind === 'policy').length,
    questionType: stated ?? derived,
    subQuestionRecall: line.subQuestionRecall ?? coverage,
  };
}

/** Maximum length of a transcript in characters: more than a million tokens. */
export const MAX_TRANSCRIPT_LENGTH = 10_000_000;

/**
 * Reads a JSON value in any of the formats; token ids and log-probabilities are dropped.
 * The question type is the recorded one, else it is computed from the graph, else derived
 * from the benchmark's type.
 * @throws Error naming the field that is missing or wrong
 */
export function parseTrajectory(value: unknown): Trajectory {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Expected a JSON object.');
  if ('custom_id' in value && 'response' in value && typeof value.response === 'object')
    throw new Error(
      "Expected a conversation, but got OpenAI's batch output. Append each reply to the messages of its request.",
    );
  const layout = Object.entries(LAYOUTS).find(([field]) => field in value);
  if (!layout)
    throw new Error(
      `Expected segments (a trajectory), response (a transcript) or messages (a conversation), but got ${formatList(Object.keys(value).slice(0, 8)) || 'an empty object'}.`,
    );
  const parsed = layout[1].safeParse(value);
  if (!parsed.success) {
    const [{ path, message }] = parsed.error.issues;
    throw new Error(`${path.join('.')}: ${message}`);
  }
  const length = sum(parsed.data.segments, ({ text }) => text.length);
  if (length > MAX_TRANSCRIPT_LENGTH)
    throw new Error(
      `Expected a transcript of at most ${MAX_TRANSCRIPT_LENGTH} characters, but got ${length}.`,
    );
  return toTrajectory(parsed.data);
}

/** Fields of a line that {@link parseTrajectory} ignores. */
const tokensSchema = z.object({
  segments: z
    .array(
      z.object({
        tokenIds: z.array(z.int().min(0)).default([]),
        logProbs: z.array(z.number()).optional(),
      }),
    )
    .optional(),
  turnAdvantages: z.array(z.number()).optional(),
});

/** A line of `trajectories.jsonl` with its token ids. @throws Error naming a field */
export function parseTokens(value: unknown): Trajectory {
  const trajectory = parseTrajectory(value);
  const { segments = [], turnAdvantages } = parseAs(tokensSchema, value, 'token ids');
  return {
    ...trajectory,
    turnAdvantages,
    segments: trajectory.segments.map((segment, i) => ({ ...segment, ...segments[i] })),
  };
}
