/**
 * Every reader of what others may have written, on inputs that are nearly right: it takes them or says what it expected. It
 * neither fails in another way nor runs on. What once failed is in test/fixtures/fuzz and tried first; what a full run finds is
 * added there.
 */
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import * as tf from '@tensorflow/tfjs-core';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parsePassages, parseQuestions } from '../../lib/data/flashrag-text.js';
import { openJournal, recordStore } from '../../lib/io/records.js';
import { parseTrainConfig } from '../../lib/methods/config.js';
import { readNotebook } from '../../lib/notebook/nbformat.js';
import { readRun } from '../../lib/pages/run/run-folder.js';
import { viewerData } from '../../lib/pages/viewer/data.js';
import { parseModelConfig, printModelConfig } from '../../lib/policy/families/index.js';
import { parsePeftConfig, peftConfig } from '../../lib/policy/lora.js';
import { parseSafetensors, printSafetensors } from '../../lib/tensor/safetensors.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { parseTranscript } from '../../lib/rollout/recorded.js';
import { useBackend } from '../../lib/tensor/backend.js';
import {
  ambiguity,
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
} from '../../lib/text/response.js';
import { nextAction, parseBlocks, parseInformation, parsePieces } from '../../lib/text/tags.js';
import { createTokenizer } from '../../lib/text/tokenizer.js';
import { AdamW } from '../../lib/training/adamw.js';
import { resumeCheckpoint, saveCheckpoint } from '../../lib/training/checkpoint.js';
import { disposeWeights } from '../../lib/policy/weights.js';
import { temporaryFolder } from '../folder.js';
import { code, markdown, notebookOf } from '../notebook/notebooks.js';
import { syntheticQuestion, trajectoryLine } from '../pages/viewer/synthetic.js';
import { CONFIG, PASSAGES, QUESTIONS, tinyTraining, TOKENIZER_JSON } from '../training/tiny.js';
import { jsonBytes, nearlyBytes, nearlyJson, nearlyJsonLines, textBytes } from './inputs.js';

const isFull = process.env.PARALLELSEARCH_TEST_FULL === '1';
const folder = temporaryFolder();
const inFolder = (name: string): string => join(folder, name);
const place = (name: string, bytes: Uint8Array): string => {
  writeFileSync(inFolder(name), bytes);
  return inFolder(name);
};
const parsed = (bytes: Buffer): unknown => JSON.parse(bytes.toString());

const transcript = trajectoryLine(syntheticQuestion(0), [{ queries: ['a', 'b'] }], 'c');
const plain = {
  ...{ id: 'q', question: 'Who?', golden_answers: ['c'], type: 'comparison' },
  response:
    '<think>t</think><search>a ## b</search>\n<information>Doc 1(Title: x) y</information>\n<answer>c</answer>',
};
const record = { hash: 'h', provenance: { seed: 1 }, value: { a: [1, 2] } };
const SAFETENSORS = printSafetensors(
  new Map([
    ['a', { shape: [2, 2], values: Float32Array.of(1, 2, 3, 4) }],
    ['b', { shape: [1], values: Float32Array.of(5) }],
  ]),
  { storage: 'F32' },
);
const METRICS = { step: 0, reward: 1, alarms: [] };
const TAGS = ['think', 'search', 'information', 'answer'].flatMap((tag) => [`<${tag}>`, `</${tag}>`]);

interface Reader {
  inputs: fc.Arbitrary<Buffer>;
  /** @throws Error that says what was expected */
  read: (bytes: Buffer) => unknown;
}

let url: string;
let close: () => Promise<void>;
beforeAll(async () => {
  await useBackend('cpu');
  const server = await startRetrievalServer(createBm25Retriever(PASSAGES));
  ({ url } = server);
  close = () => server.close();
  const weights = { a: tf.tensor1d([1, 2]) };
  await saveCheckpoint(inFolder('checkpoint'), weights, new AdamW(), { nextStep: 3, hash: 'h' });
  disposeWeights(weights);
});
afterAll(() => close());

const READERS: Record<string, Reader> = {
  safetensors: { inputs: nearlyBytes(SAFETENSORS), read: parseSafetensors },
  tokenizer: {
    inputs: nearlyJson(TOKENIZER_JSON),
    read: (bytes) => {
      const tokenizer = createTokenizer(parsed(bytes) as object);
      return tokenizer.decode(tokenizer.encode('Ada <eos> Stone'));
    },
  },
  model: {
    inputs: nearlyJson(printModelConfig(CONFIG)),
    read: (bytes) => parseModelConfig(parsed(bytes)),
  },
  adapter: {
    inputs: nearlyJson(peftConfig({ rank: 2, alpha: 4 }, { config: CONFIG, base: 'x' })),
    read: (bytes) => parsePeftConfig(parsed(bytes)),
  },
  training: { inputs: nearlyJson(tinyTraining()), read: (bytes) => parseTrainConfig(parsed(bytes)) },
  passages: {
    inputs: nearlyJsonLines(...PASSAGES.map(({ id, contents }) => ({ id, contents }))),
    read: (bytes) => parsePassages(bytes.toString()),
  },
  questions: {
    inputs: nearlyJsonLines(
      ...QUESTIONS.map(({ goldenAnswers, ...rest }) => ({ ...rest, golden_answers: goldenAnswers })),
    ),
    read: (bytes) => parseQuestions(bytes.toString()),
  },
  trajectories: {
    inputs: nearlyJson(transcript, plain),
    read: (bytes) => viewerData([parseTranscript(parsed(bytes))], { preset: 'paper', questions: [] }),
  },
  notebook: {
    inputs: nearlyJson(notebookOf(markdown('# T'), code('1 + 1'))),
    read: (bytes) => readNotebook(place('fuzzed.ipynb', bytes)),
  },
  records: {
    inputs: fc.oneof(
      nearlyJson(record).map((bytes) => gzipSync(bytes)),
      nearlyBytes(gzipSync(jsonBytes(record))),
    ),
    read: async (bytes) => {
      place('key.json.gz', bytes);
      return recordStore(folder).read('key', 'h');
    },
  },
  archives: {
    inputs: fc.oneof(
      nearlyJson(record).map((bytes) => brotliCompressSync(`key\t${bytes.toString()}\n`)),
      nearlyBytes(brotliCompressSync(`key\t${JSON.stringify(record)}\n`)),
    ),
    read: async (bytes) => {
      place('key.jsonl.br', bytes);
      return recordStore(inFolder('none'), folder).read('key', 'h');
    },
  },
  journal: {
    inputs: nearlyJsonLines({ hash: 'h', item: 1 }),
    read: async (bytes) => openJournal(place('journal.jsonl', bytes), 'h'),
  },
  metrics: {
    inputs: nearlyJsonLines(METRICS),
    read: async (bytes) => {
      mkdirSync(inFolder('run'), { recursive: true });
      place(join('run', 'metrics.jsonl'), bytes);
      return readRun(inFolder('run'));
    },
  },
  checkpoint: {
    inputs: fc
      .constant(null)
      .chain(() => nearlyJson(parsed(readFileSync(inFolder('checkpoint/3/state.json'))))),
    read: async (bytes) => {
      const whole = readFileSync(inFolder('checkpoint/3/state.json'));
      place('checkpoint/3/state.json', bytes);
      try {
        const found = await resumeCheckpoint(inFolder('checkpoint'), 'h', { log: () => undefined });
        if (found) disposeWeights(found.trainable);
        // Only the same values are the same checkpoint.
        expect(parsed(bytes)).toEqual(parsed(whole));
      } finally {
        place('checkpoint/3/state.json', whole);
      }
    },
  },
  grammar: {
    inputs: fc
      .array(
        fc.oneof(fc.constantFrom(...TAGS, '##', 'Doc 1(Title: a) b', '\n'), fc.string({ maxLength: 4 })),
        {
          maxLength: 24,
        },
      )
      .map((parts) => textBytes(parts.join(''))),
    read: (bytes) => {
      const text = bytes.toString();
      const segments = splitTranscript(text);
      expect(segments.map((segment) => segment.text).join('')).toBe(text);
      return [nextAction, parseBlocks, parsePieces, parseInformation]
        .map((read) => read(text))
        .concat([
          [ambiguity, executedSearches, finalAnswer, formatFault].map((read) => read(segments)) as never,
        ]);
    },
  },
  http: {
    inputs: nearlyJson({ queries: ['Ada Stone', 'Tallinn'], topk: 2, return_scores: true }),
    read: async (bytes) => {
      const headers = { 'content-type': 'application/json' };
      const response = await fetch(url, { method: 'POST', headers, body: new Uint8Array(bytes) });
      const body = (await response.json()) as { result?: unknown[]; error?: { message: string } };
      expect([200, 400, 413]).toContain(response.status);
      if (response.status !== 200) throw new Error(body.error?.message);
      expect(body.result).toHaveLength((parsed(bytes) as { queries: unknown[] }).queries.length);
    },
  },
};

/** Inputs in all, shared by the readers. */
const NUM_INPUTS = isFull ? 100_000 : 5_000;
const numRuns = Math.ceil(NUM_INPUTS / Object.keys(READERS).length);

/** Whether an error is one that a reader means. */
function isMeant(error: unknown): boolean {
  if (!(error instanceof Error) || error instanceof TypeError || error instanceof ReferenceError)
    return false;
  return /expected|could not|invalid|JSON/i.test(error.message);
}

describe.each(Object.entries(READERS))('the reader of %s', (name, { inputs, read }) => {
  const file = fileURLToPath(new URL(`../fixtures/fuzz/${name}.json`, import.meta.url));
  const found = existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as string[]) : [];
  const takesOrSays = async (bytes: Buffer): Promise<void> => {
    try {
      await read(bytes);
    } catch (error) {
      if (!isMeant(error)) throw error;
    }
  };

  it(
    `takes what is nearly right or says what it expected`,
    async () => {
      const examples = found.map((base64): [Buffer] => [Buffer.from(base64, 'base64')]);
      const options = { numRuns, examples, ...(isFull ? {} : { seed: 1 }) };
      const result = await fc.check(fc.asyncProperty(inputs, takesOrSays), options);
      if (result.failed && isFull) {
        const worst = result.counterexample![0].toString('base64');
        writeFileSync(file, `${JSON.stringify([...new Set([...found, worst])], null, 2)}\n`);
      }
      if (result.failed)
        throw new Error(`seed ${result.seed}: ${result.counterexample![0].toString().slice(0, 2000)}`, {
          cause: result.errorInstance,
        });
    },
    isFull ? 3_600_000 : 120_000,
  );
});
