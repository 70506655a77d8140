/**
 * Chat templates: how a model was taught to tell a user's message from its own answer.
 */
import { Template } from '@huggingface/jinja';
import { z } from 'zod';

/** A special token's text, by itself or with how it is matched. */
const tokenSchema = z
  .union([z.string(), z.object({ content: z.string() }).transform(({ content }) => content)])
  .nullish();

const configSchema = z.looseObject({
  chat_template: z
    .union([z.string(), z.array(z.object({ name: z.string(), template: z.string() }))])
    .optional(),
  bos_token: tokenSchema,
  eos_token: tokenSchema,
  pad_token: tokenSchema,
  unk_token: tokenSchema,
  sep_token: tokenSchema,
  cls_token: tokenSchema,
  mask_token: tokenSchema,
  additional_special_tokens: z.array(tokenSchema).nullish(),
  /** The same as transformers 5 calls it, where an older one has names for some more. */
  extra_special_tokens: z
    .union([z.array(tokenSchema), z.record(z.string(), tokenSchema)])
    .nullish(),
});

function parseConfig(tokenizerConfig: unknown): z.infer<typeof configSchema> {
  const parsed = configSchema.safeParse(tokenizerConfig);
  if (parsed.success) return parsed.data;
  throw new Error(
    `Expected the JSON of a tokenizer_config.json, but ${z.prettifyError(parsed.error)}`,
  );
}

/**
 * The tokens that a `tokenizer_config.json` names as special, whatever `tokenizer.json`
 * says of them, but for that of unknown characters. A single character is none: texts are
 * to keep it.
 */
export function specialTokens(tokenizerConfig: unknown): string[] {
  const config = parseConfig(tokenizerConfig);
  const { bos_token, eos_token, pad_token, sep_token, cls_token, mask_token } = config;
  const more = [config.additional_special_tokens, config.extra_special_tokens];
  return [bos_token, eos_token, pad_token, sep_token, cls_token, mask_token]
    .concat(more.flatMap((tokens) => Object.values(tokens ?? {})))
    .filter((token) => typeof token === 'string')
    .filter((token) => [...token].length > 1);
}

/** A user's message in the template, up to where the model answers. */
export type ChatTemplate = (message: string) => string;

/**
 * The chat template of a `tokenizer_config.json`, with that of `chat_template.jinja` in
 * it where the folder has one; null where there is none. It is rendered as transformers
 * does with `apply_chat_template(.., add_generation_prompt=True)`.
 * @throws Error when the file is no tokenizer_config.json, or the template none that can
 * be read
 */
export function chatTemplate(tokenizerConfig: unknown): ChatTemplate | null {
  const { chat_template: templates, ...config } = parseConfig(tokenizerConfig);
  const { bos_token, eos_token, pad_token, unk_token } = config;
  const source = Array.isArray(templates)
    ? templates.find(({ name }) => name === 'default')?.template
    : templates;
  if (source === undefined) return null;
  /** What goes wrong in a template, as what was expected of it. */
  const orSay = <T>(make: () => T): T => {
    try {
      return make();
    } catch (cause) {
      throw new Error(
        `Expected a chat template that can be read, but ${(cause as Error).message}`,
        { cause },
      );
    }
  };
  const template = orSay(() => new Template(source));
  const tokens = { bos_token, eos_token, pad_token, unk_token };
  const known = Object.fromEntries(
    Object.entries(tokens).map(([name, token]) => [name, token ?? '']),
  );
  const rest = { ...known, add_generation_prompt: true };
  return (content) =>
    orSay(() => template.render({ ...rest, messages: [{ role: 'user', content }] }));
}
