/** Requests for chat completions, answered as a whole or as a stream. */
import type { z } from 'zod';
import { splitCredentials } from '../../../io/credentials.js';
import { AnswerError, parseAnswer, requestEvents, requestJson } from '../../../io/http.js';
import { tryParseJson } from '../../../io/json.js';
import type { ReplyOptions } from '../../chat-policy.js';
import {
  addDelta,
  completionSchema,
  messageSchema,
  parseChunk,
  refusal,
  THOUGHT_FIELDS,
  type RawReply,
} from './chat-replies.js';
import { endpointUrl, type requestLimits } from './server.js';

interface Sent {
  body: object;
  signal?: AbortSignal;
  maxResponseBytes?: number;
}

const replyFrom = ({ choices, model, usage }: z.infer<typeof completionSchema>): RawReply => ({
  ...choices[0],
  model,
  usage: usage ?? undefined,
});

/**
 * @param base the API's address, such as `https://HOST/v1`
 * @param limits of each request
 */
export function createChatEndpoint(
  base: string,
  limits: ReturnType<typeof requestLimits> & { server: string },
) {
  const url = endpointUrl(base, '/chat/completions');
  const { shown } = splitCredentials(base);
  const post = async (sent: Sent): Promise<RawReply> => {
    const answer = await requestJson(url, { ...limits, ...sent });
    return replyFrom(parseAnswer(completionSchema, answer, `a chat completion from ${shown}`));
  };

  /** Passes on thoughts, in tags, and text as they arrive. */
  const stream = async (
    sent: Sent,
    onText: NonNullable<ReplyOptions['onText']>,
  ): Promise<RawReply> => {
    const reply: RawReply = { message: messageSchema.parse({}), finish_reason: null };
    let hasBegun = false;
    let isThinking = false;
    /** A thought that the server returns separately gets the tags of the transcript. */
    const show = async (part: Omit<RawReply['message'], 'tool_calls'>): Promise<void> => {
      const thought = THOUGHT_FIELDS.map((name) => part[name]).find(Boolean);
      if (thought) await onText(isThinking ? thought : `<think> ${thought.trimStart()}`);
      isThinking ||= Boolean(thought);
      const text = part.content || part.refusal;
      if (!text) return;
      await onText(isThinking ? ` </think>\n${text.trimStart()}` : text);
      isThinking = false;
    };
    const onData = async (data: string): Promise<void> => {
      const { choices, usage } = parseChunk(data);
      if (usage) reply.usage = usage;
      for (const choice of choices ?? []) {
        if (choice.finish_reason) reply.finish_reason = choice.finish_reason;
        if (!choice.delta) continue;
        hasBegun = true;
        addDelta(reply.message, choice.delta);
        await show(choice.delta);
      }
    };
    const isDone = await requestEvents(url, {
      ...limits,
      ...sent,
      body: { ...sent.body, stream: true, stream_options: { include_usage: true } },
      onData,
    }).catch(async (error: unknown) => {
      // Some servers do not stream.
      const whole = error instanceof AnswerError ? tryParseJson(error.body ?? '') : undefined;
      const { data } = completionSchema.safeParse(whole);
      const isRefused = /\bstream/i.test(refusal(error)?.message ?? '');
      if (!data && !isRefused) throw error;
      Object.assign(reply, data ? replyFrom(data) : await post(sent));
      await show(reply.message);
      return (hasBegun = true);
    });
    const hasEnd = isDone || reply.finish_reason;
    if (hasBegun && hasEnd) return reply;
    throw new AnswerError(
      `Expected a stream of events from ${shown} with ${hasEnd ? 'parts of a reply (delta), but got none' : 'a finish_reason or [DONE], but got no end'}.`,
    );
  };

  return { post, stream };
}
