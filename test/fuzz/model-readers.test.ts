/**
 * Readers of models, encoders and indexes on nearly valid inputs; see readers.test.ts.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { expect } from 'vitest';
import { parsePeftConfig, peftConfig } from '../../lib/policy/folders/peft.js';
import { parseModelConfig, formatModelConfig } from '../../lib/policy/model/families.js';
import { disposeWeights } from '../../lib/policy/model/weights.js';
import { createRandom } from '../../lib/random.js';
import { bertWeights, loadBertEncoder, parseBertConfig } from '../../lib/retrieval/bert.js';
import { embedCorpus } from '../../lib/retrieval/dense.js';
import { createHashedEncoder, encoderFromBytes } from '../../lib/retrieval/encoder.js';
import { buildHnswIndex, loadHnswIndex } from '../../lib/retrieval/hnsw.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { parseSafetensors, encodeSafetensors } from '../../lib/tensor/safetensors.js';
import { withWeights } from '../../lib/tensor/weight-files.js';
import { createTokenizer } from '../../lib/text/tokenizer/tokenizer.js';
import { AdamW } from '../../lib/training/adamw.js';
import { resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { parseTrainConfig } from '../../lib/training/config.js';
import { encoderToBytes, randomWeights } from '../../tools/encoder/hashed-weights.js';
import { temporaryFolder } from '../folder.js';
import { hasHnswlib } from '../retrieval/passages.js';
import { CONFIG, PASSAGES, tinyTraining, TOKENIZER_JSON } from '../training/tiny.js';
import { jsonBytes, nearlyBytes, nearlyJson } from './inputs.js';
import { parsed, tryReaders } from './reader.js';

const folder = temporaryFolder();
const inFolder = (name: string): string => join(folder, name);
const place = (name: string, bytes: Uint8Array): string => {
  writeFileSync(inFolder(name), bytes);
  return inFolder(name);
};
/** Inputs near the content of a written file. */
const nearlyFile = (name: string): fc.Arbitrary<Buffer> =>
  fc.constant(null).chain(() => nearlyJson(parsed(readFileSync(inFolder(name)))));

const SAFETENSORS = encodeSafetensors(
  new Map([
    ['a', { shape: [2, 2], values: Float32Array.of(1, 2, 3, 4) }],
    ['b', { shape: [1], values: Float32Array.of(5) }],
  ]),
  { storage: 'F32' },
);
const ENCODER = 'test/fixtures/encoders/minilm';
const BERT: unknown = parsed(readFileSync(join(ENCODER, 'config.json')));
const HASHED = randomWeights(
  PASSAGES.map(({ contents }) => contents),
  createRandom('encoder'),
  { dimensions: 2, wordBuckets: 8, gramBuckets: 8 },
);
const CHAT = {
  eos_token: '<eos>',
  pad_token: { content: '<pad>' },
  additional_special_tokens: ['<think>'],
  chat_template:
    "{{ bos_token }}{% for m in messages %}{% if m['role'] == 'user' %}{{ m.content | trim + eos_token }}{% endif %}{% endfor %}",
};
const SOURCE = { corpus: 'c', encoder: 'e' };
const embed = (): Promise<Float32Array[]> => {
  const encode = async (texts: readonly string[]) => texts.map(() => Float32Array.of(1, 1));
  const options = { folder: inFolder('embeddings'), source: SOURCE };
  return embedCorpus({ name: 'ones', dimensions: 2, encode }, PASSAGES, options);
};

/** Reads while a file holds these bytes, then restores it. */
async function withFile<T>(name: string, bytes: Uint8Array, read: () => Promise<T>): Promise<T> {
  const whole = readFileSync(inFolder(name));
  place(name, bytes);
  return read().finally(() => place(name, whole));
}

/** Disposes of tensors that were read. */
function withoutTensors(read: () => Promise<unknown>): Promise<unknown> {
  tf.engine().startScope();
  return read().finally(() => tf.engine().endScope());
}

await useBackend('cpu');
const weights = { a: tf.tensor1d([1, 2]) };
await saveCheckpoint(inFolder('checkpoint'), weights, new AdamW(), { nextStep: 3, hash: 'h' });
disposeWeights(weights);
const state = parsed(readFileSync(inFolder('checkpoint/3/state.json')));
await cp(ENCODER, inFolder('encoder'), { recursive: true });
await cp(ENCODER, inFolder('weights'), { recursive: true });
mkdirSync(inFolder('shards'));
place('shards/a.safetensors', SAFETENSORS);
await embed();
const vectors = PASSAGES.map((_, i) => Float32Array.of(i, 1));
if (hasHnswlib) await (await buildHnswIndex(vectors)).save(inFolder('graph'), SOURCE);

tryReaders({
  safetensors: { inputs: nearlyBytes(SAFETENSORS), read: parseSafetensors },
  shards: {
    inputs: nearlyJson({ metadata: {}, weight_map: { a: 'a.safetensors', b: 'a.safetensors' } }),
    read: (bytes) => {
      place('shards/model.safetensors.index.json', bytes);
      return withWeights(inFolder('shards'), (tensors) =>
        Array.from(tensors.keys(), (name) => tensors.get(name)),
      );
    },
  },
  tokenizer: {
    inputs: nearlyJson(TOKENIZER_JSON),
    read: (bytes) => {
      const tokenizer = createTokenizer(parsed(bytes) as object);
      return tokenizer.decodeForOthers(tokenizer.encode('Ada <eos> Stone'));
    },
  },
  chat: {
    inputs: nearlyJson(CHAT),
    read: (bytes) => {
      const { encodeChat } = createTokenizer(TOKENIZER_JSON, parsed(bytes) as object);
      return encodeChat?.('Ada <eos> Stone');
    },
  },
  model: {
    inputs: nearlyJson(formatModelConfig(CONFIG)),
    read: (bytes) => parseModelConfig(parsed(bytes)),
  },
  adapter: {
    inputs: nearlyJson(peftConfig({ rank: 2, alpha: 4 }, { config: CONFIG, base: 'x' })),
    read: (bytes) => parsePeftConfig(parsed(bytes)),
  },
  training: {
    inputs: nearlyJson(tinyTraining()),
    read: (bytes) => parseTrainConfig(parsed(bytes)),
  },
  checkpoint: {
    inputs: nearlyFile('checkpoint/3/state.json'),
    read: (bytes) =>
      withFile('checkpoint/3/state.json', bytes, async () => {
        const found = await resumeCheckpoint(inFolder('checkpoint'), 'h', { log: () => undefined });
        if (found) disposeWeights(found.trainable);
        // Checkpoints are equal only if their values are.
        expect(parsed(bytes)).toEqual(state);
      }),
  },
  encoder: {
    inputs: nearlyJson({
      config: BERT,
      prompts: { prompts: { query: 'query: ', passage: 'passage: ' } },
      pooling: { pooling_mode_mean_tokens: true, pooling_mode_cls_token: false },
      length: { max_seq_length: 20 },
    }),
    read: (bytes) => {
      const { config, prompts, pooling, length } = (parsed(bytes) ?? {}) as Record<string, unknown>;
      place('encoder/config.json', jsonBytes(config));
      place('encoder/config_sentence_transformers.json', jsonBytes(prompts));
      place('encoder/1_Pooling/config.json', jsonBytes(pooling));
      place('encoder/sentence_bert_config.json', jsonBytes(length));
      return withoutTensors(async () =>
        (await loadBertEncoder(inFolder('encoder'))).encode(['Ada Stone'], { kind: 'query' }),
      );
    },
  },
  'encoder-weights': {
    inputs: nearlyBytes(readFileSync(join(ENCODER, 'model.safetensors'))),
    read: (bytes) => {
      place('weights/model.safetensors', bytes);
      const read = () =>
        withWeights(inFolder('weights'), (arrays) => bertWeights(arrays, parseBertConfig(BERT)));
      return withoutTensors(read);
    },
  },
  'hashed-encoder': {
    inputs: nearlyBytes(encoderToBytes(createHashedEncoder(HASHED))),
    read: (bytes) => encoderFromBytes(bytes).encode(['Ada Stone'], { kind: 'query' }),
  },
  embeddings: {
    inputs: nearlyFile('embeddings/embeddings.json'),
    read: (bytes) => withFile('embeddings/embeddings.json', bytes, embed),
  },
  ...(hasHnswlib && {
    hnsw: {
      inputs: nearlyFile('graph.json'),
      read: (bytes: Buffer) =>
        withFile('graph.json', bytes, async () =>
          (await loadHnswIndex(inFolder('graph'))).search(Float32Array.of(1, 1), 3),
        ),
    },
  }),
});
