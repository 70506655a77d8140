/**
 * Rollouts in the format of verifiers (Prime Intellect), version 1: `traces.jsonl`, one
 * episode per line with a graph of messages, each with the token ids that it adds. Serves
 * `import` and `export verifiers`; `audit` reads the same files with `token-rows.ts`.
 */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { sum } from 'd3-array';
import { z } from 'zod';
import { questionTypeSchema } from '../data/question.js';
import { readJsonLines } from '../io/files.js';
import { presetRewards } from '../rewards/presets.js';
import { contentSchema, messagesSchema, splitConversation } from '../rollout/recorded-chat.js';
import type { RewardComponents, Trajectory } from '../rollout/trajectory.js';
import { tokenAdvantages } from '../training/advantages.js';
import { METHODS, rewardPreset } from '../training/methods.js';
import type { RecordedRollout, RecordedSegment, RecordedStep } from './import.js';
import { answersSchema } from './rows.js';

export const TRACES_FILE = 'traces.jsonl';
const TRACE_VERSION = 1;

/** The weighted rewards if they add up to the recorded total, else only the total. */
function weightedRewards({ total, ...components }: RewardComponents, method: string | undefined) {
  const isKnown = method !== undefined && METHODS.has(method);
  const rewards = presetRewards(isKnown ? rewardPreset(method) : undefined);
  const named = rewards.map(({ name, weight = 1 }) => ({ name, weight, score: components[name] }));
  const added = named.reduce((all, { weight, score }) => all + weight * score, 0);
  if (!(Math.abs(added - total) < 1e-9)) return { total: { score: total, weight: 1 } };
  return Object.fromEntries(named.map(({ name, weight, score }) => [name, { score, weight }]));
}

/**
 * Converts a trajectory to an episode with one trace. Everything the policy wrote is a
 * sampled message; results and notices are the user's. Ids, masks, log-probs and
 * advantages are as recorded.
 * @param id unique in the file
 * @param run begins the group's id, since runs share steps and questions
 */
export function toEpisode(trajectory: Trajectory, id: string, run = ''): object {
  const { questionId, question, goldenAnswers, questionType, finish, metadata } = trajectory;
  const { segments, rewards, advantage, method, step, modelCalls } = trajectory;
  const prompt = segments.filter(({ kind }) => kind === 'prompt').map(({ text }) => text);
  const perToken =
    advantage === undefined ? [] : tokenAdvantages({ ...trajectory, advantage, rewards: rewards! });
  let numRead = 0;
  const nodes = segments.map(({ kind, text, tokenIds, logProbs }, i) => {
    const sampled = kind === 'policy';
    const start = numRead;
    if (sampled) numRead += tokenIds.length;
    return {
      ...(i > 0 && { parent: i - 1 }),
      message: { role: sampled ? 'assistant' : 'user', content: text },
      sampled,
      token_ids: tokenIds,
      mask: tokenIds.map(() => sampled),
      ...(sampled && logProbs && { logprobs: logProbs }),
      ...(sampled && perToken.length > 0 && { advantages: perToken.slice(start, numRead) }),
    };
  });
  const task = {
    type: 'Question',
    data: {
      id: questionId,
      prompt: prompt.join(''),
      question,
      golden_answers: goldenAnswers,
      question_type: questionType ?? null,
      benchmark: metadata?.benchmark ?? null,
    },
  };
  const { total: _, ...metrics } = rewards ?? { total: 0 };
  return {
    id,
    env: { id: 'parallelsearch', ...(method && { name: method }) },
    task,
    ...(step !== undefined && {
      group: { id: `${run}${step}/${questionId}` },
      run: { type: 'train', id: 'parallelsearch', work: { type: 'train', step } },
    }),
    ok: true,
    traces: [
      {
        version: TRACE_VERSION,
        id: `${id}/trace`,
        task,
        agent: { config: {}, name: 'policy' },
        nodes,
        calls: segments.flatMap(({ kind, tokenIds }, node) => {
          if (kind !== 'policy' || tokenIds.length === 0) return [];
          const prompt_tokens = sum(segments.slice(0, node), (before) => before.tokenIds.length);
          return [{ node, usage: { prompt_tokens, completion_tokens: tokenIds.length } }];
        }),
        ...(rewards && { rewards: weightedRewards(rewards, method) }),
        metrics: { ...metrics, model_calls: modelCalls },
        is_completed: true,
        ok: true,
        ...(finish && { stop_condition: finish }),
      },
    ],
  };
}

const nodeSchema = z.object({
  parent: z.int().min(0).nullish(),
  message: z.looseObject({ role: z.string(), content: contentSchema.nullish() }),
  sampled: z.boolean().default(false),
  token_ids: z.array(z.int().min(0)).default([]),
  mask: z.array(z.boolean()).default([]),
  logprobs: z.array(z.number()).default([]),
  advantages: z.array(z.number()).nullish(),
});
type Node = z.infer<typeof nodeSchema>;

const taskSchema = z.looseObject({
  id: z.union([z.string(), z.number()]).transform(String).nullish(),
  question: z.string().nullish(),
  question_type: questionTypeSchema.nullish(),
  golden_answers: answersSchema.nullish(),
  answer: answersSchema.nullish(),
});
const traceSchema = z.object({
  nodes: z.array(nodeSchema).min(1),
  task: z.object({ data: taskSchema }),
  rewards: z
    .record(z.string(), z.object({ score: z.number(), weight: z.number().default(1) }).nullable())
    .default({}),
});
const episodeSchema = z.object({
  run: z.object({ work: z.object({ step: z.int().nullish() }).nullish() }).nullish(),
  group: z.object({ id: z.string() }).nullish(),
  traces: z.array(traceSchema).min(1),
});

/** The messages from the root to the last one. */
function mainPath(nodes: readonly Node[]): Node[] {
  const nodesOnPath: Node[] = [];
  for (
    let i: number | null | undefined = nodes.length - 1;
    typeof i === 'number';
    i = nodes[i].parent
  ) {
    if (nodesOnPath.includes(nodes[i])) throw new Error('Expected parents without a cycle.');
    nodesOnPath.unshift(nodes[i]);
  }
  return nodesOnPath;
}

/** A message's segment; template tokens before a generation belong to the environment. */
function toSegments(node: Node): RecordedSegment[] {
  const { message, sampled, token_ids, mask, logprobs } = node;
  const text = message.content ?? '';
  if (!sampled) {
    const isResult = message.role === 'tool' || text.includes('<information>');
    return [{ kind: isResult ? 'information' : 'notice', text, tokenIds: token_ids }];
  }
  const start = Math.max(0, mask.indexOf(true));
  const before = token_ids.slice(0, start);
  return [
    ...(before.length > 0 ? [{ kind: 'notice' as const, text: '', tokenIds: before }] : []),
    {
      kind: 'policy',
      text,
      tokenIds: token_ids.slice(start),
      ...(logprobs.length > 0 && { logProbs: logprobs }),
    },
  ];
}

/** Nests tool calls as OpenAI does; verifiers' are flat. */
function toOpenAiMessage({ message }: Node): object {
  const calls = message.tool_calls as { id: string; name: string; arguments: string }[] | null;
  if (!calls) return message;
  const nested = calls.map(({ id, name, arguments: json }) => ({
    id,
    function: { name, arguments: json },
  }));
  return { ...message, tool_calls: nested };
}

function toRollout({ nodes, task, rewards }: z.infer<typeof traceSchema>): RecordedRollout {
  const { data } = task;
  const main = mainPath(nodes);
  const first = main.findIndex(({ sampled }) => sampled);
  if (first < 0) throw new Error('Expected a message that the policy wrote, but there is none.');
  // Tool calls and reasoning become tags, which have other tokens.
  const isConverted = main.some(({ message }) => message.tool_calls || message.reasoning_content);
  const opening = main.slice(0, first);
  const written = main.slice(first).flatMap(toSegments);
  const segments: RecordedSegment[] = isConverted
    ? splitConversation(messagesSchema.parse(main.map(toOpenAiMessage))).segments.filter(
        ({ kind }) => kind !== 'prompt',
      )
    : written;
  const scored = Object.values(rewards).filter((reward) => reward !== null);
  const advantage = main.flatMap(({ advantages }) => advantages ?? []).at(0);
  return {
    prompt: opening.map(({ message }) => message.content ?? '').join('\n'),
    ...(!isConverted && { promptIds: opening.flatMap(({ token_ids }) => token_ids) }),
    question: data.question ?? undefined,
    segments,
    truth: {
      target: data.golden_answers ?? data.answer ?? [],
      shape: data.question_type,
      id: data.id,
    },
    score: scored.length > 0 ? sum(scored, ({ score, weight }) => score * weight) : null,
    ...(advantage !== undefined && { advantage }),
  };
}

/** `traces.jsonl` in a folder, if there is one. */
export const verifiersRolloutFiles = (folder: string): string[] =>
  existsSync(path.join(folder, TRACES_FILE)) ? [TRACES_FILE] : [];

/**
 * The rollouts by training step; those without a step belong to step 0.
 * @throws Error naming a line that is not an episode
 */
export async function* readVerifiersRollouts(folder: string): AsyncGenerator<RecordedStep> {
  const steps = new Map<number, RecordedRollout[]>();
  const parse = (value: unknown): { step: number; rollouts: RecordedRollout[] } => {
    const { run, group, traces } = episodeSchema.parse(value);
    const rollouts = traces.map((trace) => ({ ...toRollout(trace), group: group?.id }));
    return { step: run?.work?.step ?? 0, rollouts };
  };
  const file = path.join(folder, TRACES_FILE);
  for await (const { step, rollouts } of readJsonLines(file, parse, 'episodes of verifiers'))
    steps.set(step, [...(steps.get(step) ?? []), ...rollouts]);
  for (const [step, rollouts] of [...steps].sort(([a], [b]) => a - b)) yield { step, rollouts };
}
