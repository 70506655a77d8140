/** What the files of a Hugging Face folder hold, before they are written. */
import { join } from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { createBreather, startProgress } from '../io/progress.js';
import {
  type NamedArray,
  type StoredTensor,
  toStored,
  printStored,
} from '../tensor/safetensors.js';

export interface FolderContents {
  config: object;
  tokenizer: object;
  tokenizerConfig: object;
  /** What an encoder puts before texts, by their kind. */
  prompts?: Record<string, string>;
  tensors: { name: string; read: () => NamedArray }[];
}

/** An entry of `added_tokens` in tokenizer.json. */
export const specialToken = (id: number, content: string): object => ({
  id,
  content,
  single_word: false,
  lstrip: false,
  rstrip: false,
  normalized: false,
  special: true,
});

/** Writes a folder that `transformers` loads, its weights in half precision. */
export async function writeContents(
  folder: string,
  { config, tokenizer, tokenizerConfig, prompts, tensors }: FolderContents,
  signal: AbortSignal,
): Promise<void> {
  const json = (value: object): string => `${JSON.stringify(value, null, 2)}\n`;
  await writeFileSafely(join(folder, 'config.json'), json(config));
  await writeFileSafely(join(folder, 'tokenizer.json'), `${JSON.stringify(tokenizer)}\n`);
  await writeFileSafely(join(folder, 'tokenizer_config.json'), json(tokenizerConfig));
  if (prompts)
    await writeFileSafely(join(folder, 'config_sentence_transformers.json'), json({ prompts }));
  const progress = startProgress('Converting tensors', tensors.length);
  const breathe = createBreather();
  const stored = new Map<string, StoredTensor>();
  try {
    for (const [i, { name, read }] of tensors.entries()) {
      await breathe();
      signal.throwIfAborted();
      stored.set(name, toStored(name, read(), 'F16'));
      progress.update(i + 1, name);
    }
  } finally {
    progress.stop();
  }
  const file = printStored({ metadata: { format: 'pt' }, tensors: stored });
  await writeFileSafely(join(folder, 'model.safetensors'), file);
}
