/** Settings of a tokenizer in Hugging Face format. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeText, readJsonIfExists } from './files.js';

/** `tokenizer_config.json`, with `chat_template.jinja` if there is one; else empty. */
export async function readTokenizerConfig(folder: string): Promise<object> {
  const template = join(folder, 'chat_template.jinja');
  const read = (name: string): Promise<object> => readJsonIfExists(join(folder, name));
  const config = await read('tokenizer_config.json');
  return {
    ...('added_tokens_decoder' in config ? {} : await readOldTokens(read)),
    ...config,
    ...(existsSync(template)
      ? { chat_template: decodeText(await readFile(template), template) }
      : {}),
  };
}

/** Special tokens in the files of transformers before 4.34. */
async function readOldTokens(read: (name: string) => Promise<object>): Promise<object> {
  const ids = Object.entries((await read('added_tokens.json')) as Record<string, number>);
  return {
    ...(await read('special_tokens_map.json')),
    added_tokens_decoder: Object.fromEntries(ids.map(([content, id]) => [id, { content }])),
  };
}
