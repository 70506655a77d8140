/** Reads chat templates and special tokens from `tokenizer_config.json`. */
import { z } from 'zod';
import { parseAs } from '../../io/json.js';
import { compileTemplate } from './python-jinja.js';

const tokenSchema = z
  .union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
  .nullish();

const configSchema = z.looseObject({
  tokenizer_class: z.string().nullish(),
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .nullish(),
  bos_token: tokenSchema,
  add_bos_token: z.boolean().nullish(),
  eos_token: tokenSchema,
  pad_token: tokenSchema,
  unk_token: tokenSchema,
  sep_token: tokenSchema,
  cls_token: tokenSchema,
  mask_token: tokenSchema,
  additional_special_tokens: z.array(tokenSchema).nullish(),
  /** The additional tokens in transformers 5; in older versions, named tokens. */
  extra_special_tokens: z
    .union([z.array(tokenSchema), z.record(z.string(), tokenSchema)])
    .nullish(),
  /** The named tokens in transformers 5. */
  model_specific_special_tokens: z.record(z.string(), tokenSchema).nullish(),
});

const TOKEN_NAMES = [
  'bos_token',
  'eos_token',
  'pad_token',
  'unk_token',
  'sep_token',
  'cls_token',
  'mask_token',
] as const;

export const parseTokenizerConfig = (tokenizerConfig: unknown): z.infer<typeof configSchema> =>
  parseAs(configSchema, tokenizerConfig, 'the JSON of a tokenizer_config.json');

/** The special tokens, except the unknown token and single characters. */
export function specialTokens(tokenizerConfig: unknown): string[] {
  const config = parseTokenizerConfig(tokenizerConfig);
  const more = [
    config.additional_special_tokens,
    config.extra_special_tokens,
    config.model_specific_special_tokens,
  ];
  return TOKEN_NAMES.filter((name) => name !== 'unk_token')
    .map((name) => config[name])
    .concat(more.flatMap((tokens) => Object.values(tokens ?? {})))
    .filter((token) => typeof token === 'string')
    .filter((token) => [...token].length > 1);
}

/**
 * The begin token, and whether texts get it, if that is configured: transformers 4 and
 * llama.cpp apply `add_bos_token`, transformers 5 only the post-processor.
 */
export function beginToken(tokenizerConfig: unknown): { name?: string; isAdded?: boolean } {
  const { bos_token: name, add_bos_token: isAdded } = parseTokenizerConfig(tokenizerConfig);
  return { name: name ?? undefined, isAdded: isAdded ?? undefined };
}

/** A message as templates see it; other fields, such as tool calls, are passed on. */
export interface TemplateMessage {
  role: string;
  content: string | null;
}

/** Renders a conversation and, if asked, the start of the next reply. */
export type ConversationTemplate = (
  messages: readonly TemplateMessage[],
  options: { addGenerationPrompt: boolean },
) => string;

/**
 * Compiles the chat template, or returns null if there is none. Renders as transformers'
 * `apply_chat_template`; throws what the template raises, such as for an unknown role.
 * @param tokenizerConfig includes the content of `chat_template.jinja`, if any
 * @throws Error for an invalid config or template
 */
export function conversationTemplate(tokenizerConfig: unknown): ConversationTemplate | null {
  const { chat_template: templates, ...config } = parseTokenizerConfig(tokenizerConfig);
  const { extra_special_tokens: extra, additional_special_tokens: additional, ...rest } = config;
  if (!templates?.length) return null;
  const source = Array.isArray(templates)
    ? templates.find(({ name }) => name === 'default')?.template
    : templates;
  if (source === undefined)
    throw new Error(
      `Expected a chat template named default in tokenizer_config.json, but there are only ${(templates as { name: string }[]).map(({ name }) => name).join(', ')}.`,
    );
  const rethrow = <T>(make: () => T): T => {
    try {
      return make();
    } catch (cause) {
      throw new Error(`Expected a valid chat template, but ${(cause as Error).message}`, { cause });
    }
  };
  const template = rethrow(() => compileTemplate(source));
  // Unset tokens stay undefined.
  const tokens = Object.entries({
    ...Object.fromEntries(TOKEN_NAMES.map((name) => [name, rest[name]])),
    ...(Array.isArray(extra) ? {} : extra),
    ...rest.model_specific_special_tokens,
    additional_special_tokens: additional ?? (Array.isArray(extra) ? extra : null),
  }).filter(([, token]) => token !== null && token !== undefined);
  const variables = { ...Object.fromEntries(tokens), tools: null, documents: null };
  return (messages, { addGenerationPrompt }) =>
    rethrow(() =>
      template({
        ...variables,
        add_generation_prompt: addGenerationPrompt,
        messages: [...messages],
      }),
    );
}

/** Renders a user message and the start of the model's reply. */
type ChatTemplate = (message: string) => string;

export function chatTemplate(tokenizerConfig: unknown): ChatTemplate | null {
  const render = conversationTemplate(tokenizerConfig);
  return (
    render && ((content) => render([{ role: 'user', content }], { addGenerationPrompt: true }))
  );
}
