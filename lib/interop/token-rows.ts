/**
 * Reads recorded rollouts with token ids, masks and log-probs in the formats of four
 * trainers. Serves `audit`: lengths are as recorded, right or wrong, and nothing is
 * padded or cut.
 */
import { z } from 'zod';
import { parseAs, parsePlainJson } from '../io/json.js';
import type { TemplateMessage } from '../text/tokenizer/chat-template.js';

/** Consecutive tokens with the same origin. */
export interface TokenPiece {
  /** `response`: text of policy and environment, distinguished only by the mask. */
  kind: 'prompt' | 'policy' | 'environment' | 'response';
  ids: number[];
  /** 1 = contributes to the loss. */
  mask: number[];
  /** In nats; for each trained token, or for each token. */
  logProbs?: (number | null)[];
  /** By name, such as advantages; for each token or each trained token. */
  weights?: Record<string, (number | null)[]>;
  text?: string;
  /** Who wrote what in a response, if recorded. */
  segments?: { isPolicy: boolean; text: string }[];
}

export interface TokenRow {
  format: TokenFormat;
  /** The trained sequence, or several if the rollout forked. */
  sequences: TokenPiece[][];
  /** The policy's input and output in each turn, if recorded by turn. */
  turns?: { context: number[]; generation: number[] }[];
  /** The turn, counted from 1, at which the history forks into several sequences. */
  forkTurn?: number;
  /** The conversation, if recorded as messages. */
  messages?: TemplateMessage[];
}

type UnnamedRow = Omit<TokenRow, 'format'>;

/** Formats by the fields unique to each. */
const FORMATS = {
  trl: ['completion_ids'],
  verl: ['responses', 'response_ids'],
  verifiers: ['traces', 'nodes', 'trajectory'],
  parallelsearch: ['segments'],
  messages: ['messages', 'completion'],
} as const;
type TokenFormat = keyof typeof FORMATS;

const ids = z.array(z.union([z.int(), z.bigint()]).transform(Number));
const flags = z.array(
  z
    .union([z.boolean(), z.number(), z.bigint()])
    .transform(Number)
    .refine((flag) => flag === 0 || flag === 1, 'Expected a mask of 0 and 1'),
);
/** JSON has no NaN: it is null, or the name that Python prints. */
const numbers = z.array(
  z.union([z.number(), z.null(), z.enum(['NaN', 'Infinity', '-Infinity']).transform(Number)]),
);
/** A list, or its JSON, as in columns of a Parquet file. */
const orJson = <T extends z.ZodType>(schema: T) =>
  z.union([schema, z.string().transform(parsePlainJson).pipe(schema)]);
const optionalList = <T extends z.ZodType>(schema: T) =>
  orJson(schema)
    .nullish()
    .transform((value) => value ?? undefined);

const content = z.string().nullish();
const messagesSchema = z.array(
  z.looseObject({ role: z.string(), content: content.transform((text) => text ?? null) }),
);

const ones = (length: number, value: number): number[] => Array.from({ length }, () => value);

const trajectorySchema = z
  .object({
    segments: z.array(
      z.object({
        kind: z.enum(['prompt', 'policy', 'information', 'notice']),
        text: z.string(),
        tokenIds: ids,
        logProbs: numbers.optional(),
      }),
    ),
  })
  .transform(({ segments }): UnnamedRow => {
    const pieces = segments.map(
      ({ kind, text, tokenIds, logProbs }): TokenPiece => ({
        kind: kind === 'information' || kind === 'notice' ? 'environment' : kind,
        ids: tokenIds,
        mask: ones(tokenIds.length, Number(kind === 'policy')),
        logProbs,
        text,
      }),
    );
    return { sequences: [pieces] };
  });

/** Who wrote what, as the exported setups record it. */
const segmentsSchema = z
  .array(z.tuple([z.enum(['policy', 'information', 'notice']), z.string()]))
  .transform((segments) => segments.map(([kind, text]) => ({ isPolicy: kind === 'policy', text })));

/** A prompt and a response in one sequence, with the trainer's names of weights. */
const sequence = (
  prompt: number[],
  response: Omit<TokenPiece, 'kind' | 'weights'> & {
    weights: Record<string, TokenPiece['logProbs']>;
  },
): UnnamedRow => {
  const given = Object.entries(response.weights).filter(([, values]) => values);
  const weights = Object.fromEntries(given) as TokenPiece['weights'];
  const context: TokenPiece = { kind: 'prompt', ids: prompt, mask: ones(prompt.length, 0) };
  return { sequences: [[context, { ...response, kind: 'response', weights }]] };
};
/** One weight for a rollout, or one per token. */
const weight = optionalList(z.union([z.number().transform((one) => [one]), numbers]));

/** Columns of TRL's rollout functions and batches. */
const trlSchema = z
  .object({
    prompt_ids: orJson(ids),
    completion_ids: orJson(ids),
    env_mask: optionalList(flags),
    tool_mask: optionalList(flags),
    completion_mask: optionalList(flags),
    logprobs: optionalList(numbers),
    sampling_per_token_logps: optionalList(numbers),
    importance_sampling_ratio: weight,
    advantages: weight,
    segments: optionalList(segmentsSchema),
  })
  .transform(({ completion_ids: ids, completion_mask: attends, ...row }) => {
    // Without a mask, TRL trains every token. Its tool_mask is 1 in the padding.
    const mask = row.env_mask ?? row.tool_mask ?? attends ?? ones(ids.length, 1);
    return sequence(row.prompt_ids, {
      ids,
      mask: mask.map((flag, i) => flag * (attends?.[i] ?? 1)),
      logProbs: row.logprobs ?? row.sampling_per_token_logps,
      segments: row.segments,
      weights: {
        importance_sampling_ratio: row.importance_sampling_ratio,
        advantages: row.advantages,
      },
    });
  });

/** Fields of verl's agent loops, or tensors of a `DataProto`. */
const verlSchema = z
  .object({
    prompts: optionalList(ids),
    prompt_ids: optionalList(ids),
    responses: optionalList(ids),
    response_ids: optionalList(ids),
    response_mask: orJson(flags),
    attention_mask: optionalList(flags),
    response_logprobs: optionalList(numbers),
    rollout_log_probs: optionalList(numbers),
    rollout_is_weights: weight,
    advantages: weight,
    segments: optionalList(segmentsSchema),
  })
  .transform((row) => {
    const prompt = row.prompts ?? row.prompt_ids ?? [];
    const response = row.responses ?? row.response_ids!;
    const { attention_mask: attention, response_mask: mask } = row;
    // Tensors are padded on both sides.
    const isPadded = attention?.length === prompt.length + response.length;
    const attends = <T>(values: T[], start: number): T[] =>
      isPadded ? values.filter((_, i) => attention[i + start] !== 0) : values;
    const numPadded = response.length - attends(response, prompt.length).length;
    // A list of a wrong length is kept, unless it has one value for the rollout.
    const inResponse = <T>(values: T[]): T[] => {
      if (values.length === response.length) return attends(values, prompt.length);
      return values.slice(0, Math.max(1, values.length - numPadded));
    };
    const logProbs = row.rollout_log_probs ?? row.response_logprobs;
    return sequence(attends(prompt, 0), {
      ids: inResponse(response),
      mask: inResponse(mask),
      logProbs: logProbs && inResponse(logProbs),
      segments: row.segments,
      weights: {
        rollout_is_weights: row.rollout_is_weights && inResponse(row.rollout_is_weights),
        advantages: row.advantages && inResponse(row.advantages),
      },
    });
  });

const nodeSchema = z.object({
  parent: z.int().nullish(),
  semantic_parents: z.array(z.unknown()).default([]),
  message: z.looseObject({ role: z.string(), content: z.unknown() }),
  sampled: z.boolean().default(false),
  token_ids: ids.default([]),
  mask: flags.default([]),
  logprobs: numbers.nullish(),
  advantages: numbers.nullish(),
  trainer_logprobs: numbers.nullish(),
});
type Node = z.infer<typeof nodeSchema>;

/** A node's tokens: an answer begins with the template's start of a message. */
function nodePieces({
  message,
  sampled,
  token_ids,
  mask,
  logprobs,
  advantages,
}: Node): TokenPiece[] {
  const weights = advantages ? { advantages } : undefined;
  const isPolicy = sampled && message.role === 'assistant';
  const logProbs = logprobs?.length ? logprobs : undefined;
  if (!isPolicy) return [{ kind: 'environment', ids: token_ids, mask, logProbs }];
  const start = Math.max(0, mask.indexOf(1));
  const ids = token_ids.slice(start);
  const ownMask = mask.slice(start);
  return [
    { kind: 'environment', ids: token_ids.slice(0, start), mask: mask.slice(0, start) },
    { kind: 'policy', ids, mask: ownMask, logProbs, weights },
  ];
}

/** A trace of verifiers: a graph of messages; each path to a leaf is a sequence. */
const traceSchema = z
  .object({ nodes: z.array(nodeSchema).min(1) })
  .transform(({ nodes }): UnnamedRow => {
    const parents = new Set(nodes.map(({ parent }) => parent));
    const paths = nodes.flatMap((_, leaf) => {
      if (parents.has(leaf)) return [];
      const path: number[] = [];
      let i: number | null | undefined = leaf;
      for (; typeof i === 'number' && !path.includes(i); i = nodes[i]?.parent) path.unshift(i);
      return [path];
    });
    // A semantic link means that the harness started another agent.
    const isIntended = paths.some((path) => path.some((i) => nodes[i].semantic_parents.length > 0));
    const [first, second] = paths;
    const fork = second?.findIndex((node, i) => node !== first[i]) ?? -1;
    const turnsBefore = first.slice(0, Math.max(0, fork)).filter((i) => nodes[i].sampled).length;
    // Recorded without a trainer.
    const hasIds = nodes.some(({ token_ids }) => token_ids.length > 0);
    const sequences = hasIds ? paths : [];
    return {
      sequences: sequences.map((path) => {
        const pieces = path.flatMap((i) => nodePieces(nodes[i]));
        const turn = pieces.findIndex(({ kind }) => kind === 'policy');
        return pieces.map((piece, i) => (i < turn ? { ...piece, kind: 'prompt' as const } : piece));
      }),
      forkTurn: sequences.length > 1 && !isIntended ? turnsBefore + 1 : undefined,
      messages: first.map((i) => {
        const { content, ...message } = nodes[i].message;
        return { ...message, content: typeof content === 'string' ? content : null };
      }),
    };
  });

/** Turns of verifiers in the legacy format, each with its whole context. */
const stepsSchema = z
  .array(
    z.object({
      tokens: z.object({
        prompt_ids: ids,
        prompt_mask: flags.optional(),
        completion_ids: ids,
        completion_mask: flags,
        completion_logprobs: numbers.optional(),
      }),
    }),
  )
  .min(1)
  .transform((steps): UnnamedRow => {
    let length = 0;
    const pieces = steps.flatMap(({ tokens }, i): TokenPiece[] => {
      const added = tokens.prompt_ids.slice(length);
      const mask = tokens.prompt_mask?.slice(length) ?? ones(added.length, 0);
      const { completion_ids: ids, completion_mask, completion_logprobs: logProbs } = tokens;
      length = tokens.prompt_ids.length + ids.length;
      return [
        { kind: i === 0 ? 'prompt' : 'environment', ids: added, mask },
        { kind: 'policy', ids, mask: completion_mask, logProbs },
      ];
    });
    const turns = steps.map(({ tokens }) => ({
      context: tokens.prompt_ids,
      generation: tokens.completion_ids,
    }));
    return { sequences: [pieces], turns };
  });

/** A conversation without token ids, as recorded by chat servers and verifiers. */
const conversationSchema = z
  .object({
    prompt: messagesSchema.nullish(),
    completion: messagesSchema.optional(),
    messages: messagesSchema.optional(),
  })
  .transform(
    ({ prompt, completion, messages }): UnnamedRow => ({
      sequences: [],
      messages: messages ?? [...(prompt ?? []), ...(completion ?? [])],
    }),
  );

const WITHOUT_IDS =
  'Expected token ids, but this row has only texts, which do not show what was trained. Record prompt and response ids with their mask (docs/verl.md), or pass a file that has them.';

/** Schemas by format; the fields of a row distinguish verifiers' two. */
const SCHEMAS = {
  parallelsearch: trajectorySchema,
  trl: trlSchema,
  verl: verlSchema,
  messages: conversationSchema,
};

function parseRows(format: TokenFormat, value: Record<string, unknown>): UnnamedRow[] {
  const parse = <T>(schema: z.ZodType<T>, part: unknown): T =>
    parseAs(schema, part, `a row of ${format}`);
  if (format !== 'verifiers') return [parse(SCHEMAS[format], value)];
  const { traces, nodes, trajectory } = value;
  if (Array.isArray(traces)) return traces.map((trace: unknown) => parse(traceSchema, trace));
  return [nodes ? parse(traceSchema, value) : parse(stepsSchema, trajectory)];
}

/**
 * Reads a recorded row, whose fields tell the format.
 * @throws Error naming the field that is wrong, or a row without token ids
 */
export function readTokenRows(value: unknown): TokenRow[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error('Expected a JSON object.');
  // The exported train.py logs them in one column.
  const { tokens, ...row } = value as Record<string, unknown>;
  const inner = typeof tokens === 'string' ? (JSON.parse(tokens) as object) : {};
  const fields: Record<string, unknown> = { ...row, ...inner };
  const isPresent = (name: string): boolean => fields[name] !== undefined && fields[name] !== null;
  const format = (Object.keys(FORMATS) as TokenFormat[]).find((name) =>
    FORMATS[name].some(isPresent),
  );
  if (!format || (format === 'messages' && !Array.isArray(fields.messages ?? fields.completion)))
    throw new Error(WITHOUT_IDS);
  // A chat policy's segments have empty lists.
  if (format === 'parallelsearch' && !/"tokenIds":\[[^\]]/.test(JSON.stringify(fields.segments)))
    throw new Error(WITHOUT_IDS);
  return parseRows(format, fields).map((one) => ({ ...one, format }));
}
