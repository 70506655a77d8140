/**
 * Policies that read and write chat messages: any model behind an API, or any function.
 * Without token ids, they can answer and be measured, but not trained.
 */
import pLimit from 'p-limit';
import type { AssistantMessage, Message, TextMessage, Tool } from '../text/messages.js';
import type { Policy } from './policy.js';

/** Tokens as servers count and charge them: every call reads the whole context. */
export interface TokenUsage {
  read: number;
  written: number;
}

export interface ReplyOptions {
  /** 0 means greedy. */
  temperature: number;
  topP: number;
  maxNewTokens: number;
  /** Strings that end a reply, which includes them. */
  stop: readonly string[];
  /** The tools that the model may call; empty if it writes the paper's tags. */
  tools: readonly Tool[];
  parallelToolCalls: boolean;
  /** Absent for greedy decoding. */
  seed?: number;
  signal?: AbortSignal;
  /** Called with parts of the reply as they arrive, if the model streams. */
  onText?: (text: string) => void | Promise<void>;
}

export interface Reply {
  message: AssistantMessage;
  usage?: TokenUsage;
}

export interface ChatPolicy {
  readonly name: string;
  /** Whether the model calls the tool `search` or writes the paper's tags. */
  readonly promptForm: 'tools' | 'chat';
  /** One-line description for the log: where the policy is, and its limitations. */
  readonly note?: string;
  readonly isConcurrent: true;
  /** @throws ContextFullError; ReplyError for an unusable reply */
  reply(messages: readonly Message[], options: ReplyOptions): Promise<Reply>;
  release?(): void;
  dispose?(): void;
}

export type AnyPolicy = Policy | ChatPolicy;

export const isChatPolicy = (policy: AnyPolicy): policy is ChatPolicy => 'reply' in policy;

/** Thrown if the conversation exceeds the model's context. */
export class ContextFullError extends Error {}

/** Thrown for one unusable reply; replies to other conversations may be fine. */
export class ReplyError extends Error {}

interface FunctionPolicyOptions {
  /** Name in results. Default: `function`. */
  name?: string;
  /** Maximum number of concurrent calls. Default: 8. */
  maxConcurrency?: number;
}

/**
 * Makes a policy from a function that continues a conversation with text in the paper's
 * tags: `<think>`, `<search>` with sub-queries separated by `##`, `<answer>`. Text after
 * the first `</search>` or `</answer>` is dropped.
 */
export const textPolicy = (
  complete: (messages: readonly TextMessage[], options: ReplyOptions) => Promise<string>,
  options: FunctionPolicyOptions = {},
): ChatPolicy =>
  functionPolicy(
    'chat',
    async (messages, replyOptions) => {
      // A rollout with tags has only text messages.
      const content = await complete(messages as TextMessage[], replyOptions);
      if (typeof content !== 'string')
        throw new TypeError(`Expected the policy to return text, but got ${String(content)}.`);
      return { message: { role: 'assistant', content } };
    },
    options,
  );

/** A model's message as SDKs return it, with more fields and other kinds of calls. */
interface SdkMessage {
  content?: string | null;
  tool_calls?: readonly {
    id: string;
    /** `arguments` as text, or parsed, as some SDKs do. */
    function?: { name: string; arguments: string | object };
  }[];
}

/**
 * Makes a policy from a function that may call the tool `search`. It receives messages
 * and `options.tools` in OpenAI's format and returns the model's message, with usage if
 * known. A message without tool calls is the answer.
 */
export const toolPolicy = (
  complete: (
    messages: readonly Message[],
    options: ReplyOptions,
  ) => Promise<{ message: SdkMessage; usage?: TokenUsage }>,
  options: FunctionPolicyOptions = {},
): ChatPolicy =>
  functionPolicy(
    'tools',
    async (messages, replyOptions) => {
      const reply = await complete(messages, replyOptions);
      if (!(reply as Partial<Reply> | undefined)?.message)
        throw new TypeError(
          `Expected the policy to return { message }, but got ${JSON.stringify(reply)}.`,
        );
      const { message, usage } = reply;
      const calls = (message.tool_calls ?? []).flatMap(({ id, function: called }) => {
        if (!called) return [];
        const { name, arguments: given } = called;
        const json = typeof given === 'string' ? given : JSON.stringify(given);
        return [{ id, type: 'function' as const, function: { name, arguments: json } }];
      });
      const { content = null } = message;
      return {
        message: { role: 'assistant', content, ...(calls.length > 0 && { tool_calls: calls }) },
        ...(usage && { usage }),
      };
    },
    options,
  );

function functionPolicy(
  promptForm: ChatPolicy['promptForm'],
  complete: ChatPolicy['reply'],
  { name = 'function', maxConcurrency = 8 }: FunctionPolicyOptions,
): ChatPolicy {
  const limit = pLimit(maxConcurrency);
  const reply: ChatPolicy['reply'] = (messages, options) =>
    limit(() => complete(messages, options));
  return { name, promptForm, isConcurrent: true, reply };
}
