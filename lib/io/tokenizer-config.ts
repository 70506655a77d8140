/** Settings of a tokenizer in Hugging Face format. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { decodeText, readJson, readJsonIfExists } from './files.js';
import { shortPath } from './paths.js';

/** Reads `tokenizer.json`. @throws Error with the remedy if it is missing */
export async function readTokenizerJson(folder: string): Promise<object> {
  const file = join(folder, 'tokenizer.json');
  if (existsSync(file)) return (await readJson(file)) as object;
  const path = shortPath(folder);
  throw new Error(
    `Expected tokenizer.json in ${path}, but it is missing. Write it with transformers: AutoTokenizer.from_pretrained("${path}").save_pretrained("${path}").`,
  );
}

const CLASSES: ReadonlyMap<unknown, string> = new Map([
  ['bert', 'BertTokenizer'],
  ['roberta', 'RobertaTokenizer'],
  ['xlm-roberta', 'XLMRobertaTokenizer'],
]);

/**
 * `tokenizer_config.json`, else empty, with `chat_template.jinja` if there is one. An
 * encoder's tokenizer has the class of its model, unless another is named.
 */
export async function readTokenizerConfig(folder: string): Promise<object> {
  const template = join(folder, 'chat_template.jinja');
  const read = (name: string): Promise<object> => readJsonIfExists(join(folder, name));
  const config = await read('tokenizer_config.json');
  const { model_type: type } = (await read('config.json')) as { model_type?: unknown };
  return {
    ...(CLASSES.has(type) && { tokenizer_class: CLASSES.get(type) }),
    ...config,
    ...('added_tokens_decoder' in config ? {} : await readOldTokens(read)),
    ...(existsSync(template)
      ? { chat_template: decodeText(await readFile(template), template) }
      : {}),
  };
}

/** Special tokens in the files of transformers before 4.34, which win there. */
async function readOldTokens(read: (name: string) => Promise<object>): Promise<object> {
  const ids = Object.entries((await read('added_tokens.json')) as Record<string, number>);
  return {
    ...(await read('special_tokens_map.json')),
    added_tokens_decoder: Object.fromEntries(ids.map(([content, id]) => [id, { content }])),
  };
}
