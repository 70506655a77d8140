/** A search agent on the OpenAI SDK: the model calls the tool `search`. */
import type OpenAI from 'openai';
import { toolPolicy, type ChatPolicy } from 'parallelsearch';

/** @param client with the key and, for another server, its `baseURL` */
export const openAiPolicy = (client: OpenAI, model: string): ChatPolicy =>
  toolPolicy(
    async (messages, { tools, signal }) => {
      const body = { model, messages: [...messages], tools: [...tools] };
      const { choices, usage } = await client.chat.completions.create(body, { signal });
      return {
        message: choices[0].message,
        usage: usage && { read: usage.prompt_tokens, written: usage.completion_tokens },
      };
    },
    { name: model },
  );
