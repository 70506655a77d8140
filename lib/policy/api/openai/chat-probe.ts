/** Probes what a server with OpenAI's chat completions API supports. */
import type { Message } from '../../../text/messages.js';
import { refusal, type RawReply, type THOUGHT_FIELDS } from './chat-replies.js';

/**
 * Parameters that some servers reject; the server's defaults then apply. Claude takes
 * either `top_p` or `temperature`, which matters more.
 */
const OPTIONAL_PARAMS = [
  'top_p',
  'temperature',
  'stop',
  'seed',
  'parallel_tool_calls',
  'tool_choice',
];

/**
 * For servers that refuse `required`, which is newer. Not tried first: with it,
 * llama-cpp-python forces a call, but ignores tools otherwise.
 */
const SEARCH_CHOICE = { type: 'function', function: { name: 'search' } } as const;
export const PROBE: Message[] = [{ role: 'user', content: 'Search for the capital of France.' }];

/** What a server supports, probed at startup. */
export interface Capabilities {
  hasTools: boolean;
  /** How the first of these requests demands a call. */
  toolChoice: 'required' | typeof SEARCH_CHOICE;
  /** `max_completion_tokens` for OpenAI's reasoning models. */
  lengthParam: 'max_tokens' | 'max_completion_tokens';
  dropped: Set<string>;
  /** Groq and Mistral reject thoughts under another name than their own. */
  thoughtField: (typeof THOUGHT_FIELDS)[number];
}

interface ProbeRequest {
  hasTools: boolean;
  maxNewTokens: number;
  /** Without `tool_choice`, as in all later requests. */
  mayAnswer?: boolean;
}

/**
 * Varies a request until the server accepts it. A server ignores tools if it makes no
 * call where one is required, or if the prompt is as long without them: the model's chat
 * template leaves them out.
 */
export async function probe(
  capabilities: Capabilities,
  { send, isRequired }: { send: (request: ProbeRequest) => Promise<RawReply>; isRequired: boolean },
): Promise<void> {
  for (let numTries = 0; numTries < 4 + OPTIONAL_PARAMS.length; numTries++) {
    const { hasTools, dropped, toolChoice } = capabilities;
    try {
      const reply = await send({ hasTools, maxNewTokens: 256 });
      if (!hasTools) return;
      // Without a parser of calls, vLLM accepts tools only if a call is required.
      if (!dropped.has('tool_choice')) await send({ hasTools, maxNewTokens: 256, mayAnswer: true });
      if (isRequired) return;
      const makesNoCall = !reply.message.tool_calls?.length && reply.finish_reason !== 'length';
      if (makesNoCall && !dropped.has('tool_choice')) capabilities.hasTools = false;
      else {
        const bare = await send({ hasTools: false, maxNewTokens: 16 }).catch(() => null);
        if (bare?.usage?.read && bare.usage.read === reply.usage?.read)
          capabilities.hasTools = false;
      }
      return;
    } catch (error) {
      const refused = refusal(error);
      if (!refused) throw error;
      const { message = '', param } = refused;
      const named = OPTIONAL_PARAMS.find(
        (name) =>
          !dropped.has(name) && (param === name || new RegExp(`\\b${name}\\b`).test(message)),
      );
      if (hasTools && toolChoice === 'required') capabilities.toolChoice = SEARCH_CHOICE;
      else if (
        capabilities.lengthParam === 'max_tokens' &&
        message.includes('max_completion_tokens')
      )
        capabilities.lengthParam = 'max_completion_tokens';
      else if (named !== undefined) dropped.add(named);
      else if (hasTools && !isRequired && /tool|function/i.test(`${param} ${message}`))
        capabilities.hasTools = false;
      else throw error;
    }
  }
}
