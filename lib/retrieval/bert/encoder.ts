/**
 * Sentence encoders in Hugging Face format: of BERT's kind, mean pooling, unit length.
 */
import { existsSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { z } from 'zod';
import { readJson, readJsonIfThere } from '../../io/files.js';
import { configHash, contentHash } from '../../io/hash.js';
import { shortPath } from '../../io/paths.js';
import { weightFiles, withWeights } from '../../tensor/weight-files.js';
import { createTokenizer } from '../../text/tokenizer.js';
import type { Encoder } from '../encoder.js';
import type { TextKind } from '../features.js';
import { parseBertConfig } from './config.js';
import { bertWeights, embedTexts } from './model.js';

/** Padded tokens in a pass. */
const TOKENS_AT_ONCE = 4096;

/** What sentence-transformers writes beside the model, as far as it is read here. */
const promptsSchema = z.object({ prompts: z.record(z.string(), z.string()).nullish() });
const lengthSchema = z.object({ max_seq_length: z.int().min(1).nullish() });
const poolingSchema = z.record(z.string(), z.unknown());

/** What E5 was trained with (Wang et al. 2022, arXiv 2212.03533). */
const E5_PROMPTS = { query: 'query: ', passage: 'passage: ' };

/**
 * What goes before a text of each kind: as the folder says, and for a model of E5's name,
 * whose folder says nothing, E5's, as FlashRAG does.
 */
async function readPrompts(folder: string, config: unknown): Promise<Record<TextKind, string>> {
  const { prompts } = promptsSchema.parse(
    await readJsonIfThere(join(folder, 'config_sentence_transformers.json')),
  );
  if (prompts?.query !== undefined)
    return { query: prompts.query, passage: prompts.passage ?? prompts.document ?? '' };
  const names = [
    basename(resolve(folder)),
    String((config as { _name_or_path?: unknown })._name_or_path),
  ];
  return names.some((name) => /(^|[-_/])e5([-_]|$)/i.test(name))
    ? E5_PROMPTS
    : { query: '', passage: '' };
}

/** @throws Error where the model pools in another way than by the mean */
async function requireMeanPooling(folder: string): Promise<void> {
  const pooling = poolingSchema.parse(
    await readJsonIfThere(join(folder, '1_Pooling', 'config.json')),
  );
  const other = Object.entries(pooling).find(
    ([name, isUsed]) =>
      /^pooling_mode_/.test(name) && name !== 'pooling_mode_mean_tokens' && isUsed === true,
  );
  if (other)
    throw new Error(
      `Expected an encoder that takes the mean of its tokens, but 1_Pooling/config.json in ${shortPath(folder)} says ${other[0]}. Serve it by Search-R1's protocol (--retriever http://...).`,
    );
}

/** An encoder from files, with a hash of all that decides its vectors. */
export interface FileEncoder extends Encoder {
  readonly hash: string;
}

/** Whether a folder holds a model in Hugging Face format. */
export const isHuggingFaceFolder = (folder: string): boolean =>
  existsSync(join(folder, 'config.json'));

/**
 * Loads an encoder on the current backend; it stays in memory. Texts are cut to the
 * model's longest.
 * @throws Error naming the file that is missing, or what is not supported
 */
export async function loadBertEncoder(folder: string): Promise<FileEncoder> {
  const json = await readJson(join(folder, 'config.json'));
  const config = parseBertConfig(json);
  const tokenizerFile = join(folder, 'tokenizer.json');
  const tokenizer = createTokenizer((await readJson(tokenizerFile)) as object);
  await requireMeanPooling(folder);
  const prompts = await readPrompts(folder, json);
  const { max_seq_length } = lengthSchema.parse(
    await readJsonIfThere(join(folder, 'sentence_bert_config.json')),
  );
  const maxTokens = Math.min(config.maxTokens, max_seq_length ?? Infinity);
  const weights = await withWeights(folder, (arrays) => bertWeights(arrays, config));
  const files = await contentHash([
    ...(await weightFiles(folder)),
    tokenizerFile,
    join(folder, 'config.json'),
  ]);

  const { before, after } = tokenizer.around;
  const idsOf = (text: string, kind: TextKind): number[] => {
    const ids = tokenizer
      .encode(prompts[kind] + text)
      .slice(0, maxTokens - before.length - after.length);
    return [...before, ...ids, ...after];
  };
  return {
    name: basename(resolve(folder)),
    dimensions: config.hiddenSize,
    hash: configHash({ files, prompts, maxTokens }),
    encode: async (texts, { kind }) => {
      const ids = texts.map((text) => idsOf(text, kind));
      const vectors = new Array<Float32Array>(texts.length);
      for (const group of batchesOf(ids)) {
        const tensor = embedTexts(
          weights,
          group.map((i) => ids[i]),
          config,
        );
        const values = (await tensor.data()) as Float32Array;
        tensor.dispose();
        group.forEach((i, row) => {
          vectors[i] = values.slice(row * config.hiddenSize, (row + 1) * config.hiddenSize);
        });
      }
      return vectors;
    },
  };
}

/**
 * Places of texts of similar length, of at most {@link TOKENS_AT_ONCE} padded tokens
 * together.
 */
function batchesOf(texts: readonly (readonly number[])[]): number[][] {
  const order = texts.map((_, i) => i).sort((a, b) => texts[a].length - texts[b].length);
  const batches: number[][] = [];
  for (const i of order) {
    const batch = batches.at(-1);
    if (batch && (batch.length + 1) * texts[i].length <= TOKENS_AT_ONCE) batch.push(i);
    else batches.push([i]);
  }
  return batches;
}
