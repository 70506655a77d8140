/**
 * Readers of external files on nearly valid inputs: they accept them or explain what they
 * expected. Earlier failures in test/fixtures/fuzz are tried first; a full run adds new
 * ones. Readers of models and indexes are in model-readers.test.ts.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import fc from 'fast-check';
import { afterAll, expect } from 'vitest';
import { parsePassages, parseQuestions } from '../../lib/data/flashrag-text.js';
import { PassageCollector } from '../../lib/data/formats/format.js';
import { readBenchmark } from '../../lib/data/formats/read.js';
import { loadAnswerFiles } from '../../lib/experiments/results/own-answers.js';
import { importRollouts, type RecordedStep } from '../../lib/interop/import.js';
import { readRows } from '../../lib/interop/rows.js';
import { readTrlRollouts } from '../../lib/interop/trl.js';
import { readVerlRollouts } from '../../lib/interop/verl.js';
import { serveLocally } from '../../lib/io/local-server.js';
import { writeParquet } from '../../lib/io/parquet.js';
import { openJournal, recordStore } from '../../lib/io/records.js';
import { readNotebook } from '../../lib/notebook/nbformat.js';
import { compareHtml } from '../../lib/pages/runs/comparison-page.js';
import { viewerData } from '../../lib/pages/viewer/data.js';
import { openChatPolicy } from '../../lib/policy/api/openai/chat.js';
import { openCompletionsPolicy } from '../../lib/policy/api/openai/completions.js';
import { createRandom } from '../../lib/random.js';
import { readComparedRuns } from '../../lib/report/compared-runs.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';
import {
  ambiguity,
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
} from '../../lib/text/response.js';
import {
  nextAction,
  parseBlocks,
  parseInformation,
  parsePieces,
  STOP_STRINGS,
} from '../../lib/text/tags.js';
import { readRun } from '../../lib/training/run-folder.js';
import {
  HOTPOT_BRIDGE,
  HOTPOT_COMPARISON,
  MUSIQUE_TWO_AND_ONE,
  TWO_WIKI_BRIDGE_COMPARISON,
} from '../data/formats/rows.js';
import { result } from '../experiments/synthetic.js';
import { temporaryFolder } from '../folder.js';
import { code, markdown, notebookOf } from '../notebook/notebooks.js';
import { syntheticQuestion, trajectoryLine } from '../pages/viewer/synthetic.js';
import { COMPARISON, PASSAGES, QUESTIONS, TOKENIZER_JSON } from '../training/tiny.js';
import { jsonBytes, nearlyBytes, nearlyJson, nearlyJsonLines, textBytes } from './inputs.js';
import { parsed, tryReaders } from './reader.js';

const folder = temporaryFolder();
const inFolder = (name: string): string => join(folder, name);
const place = (name: string, bytes: Uint8Array): string => {
  mkdirSync(join(folder, name, '..'), { recursive: true });
  writeFileSync(inFolder(name), bytes);
  return inFolder(name);
};

const transcript = trajectoryLine(syntheticQuestion(0), [{ queries: ['a', 'b'] }], 'c');
const plain = {
  id: 'q',
  question: 'Who?',
  golden_answers: ['c'],
  type: 'comparison',
  response:
    '<think>t</think><search>a ## b</search>\n<information>Doc 1(Title: x) y</information>\n<answer>c</answer>',
};
const record = { hash: 'h', provenance: { seed: 1 }, value: { a: [1, 2] } };
const METRICS = { step: 0, reward: 1, alarms: [] };
const TAG_NAMES = ['think', 'search', 'information', 'answer'];
const TAGS = TAG_NAMES.flatMap((tag) => [`<${tag}>`, `</${tag}>`]);
const LOGPROBS = { token_logprobs: [-1] };
const CHOICE = { text: 'A', finish_reason: 'stop', token_ids: [40], logprobs: LOGPROBS };
const CALL = { id: 'c', function: { name: 'search', arguments: '{"query":"x"}' } };
const MESSAGE = { content: 'A', reasoning_content: 'B', tool_calls: [CALL] };
const SAMPLING = { temperature: 1, topP: 1, maxNewTokens: 5, stop: STOP_STRINGS };
const PARTS = [...TAGS, '##', 'Doc 1(Title: a) b', '\n'];
const TRUTH = { target: COMPARISON.goldenAnswers, shape: 'parallelizable', id: COMPARISON.id };
const PROMPT = `Question: ${COMPARISON.question}\n`;

const imported = (steps: AsyncIterable<RecordedStep>): Promise<object> =>
  importRollouts(steps, {
    folder: inFolder('imported'),
    questions: QUESTIONS,
    method: 'parallelsearch',
    trainer: 'any',
  });

let answers: (path: string) => Buffer;
const own = await startRetrievalServer(createBm25Retriever(PASSAGES));
const answer = (path: string): Response => new Response(new Uint8Array(answers(path)));
const strange = await serveLocally(0, async ({ url: path }) => answer(path!));
/** Our retrieval server, and one that returns given answers. */
const [url, strangeUrl] = [own.url, strange.url];
place('policy/tokenizer.json', jsonBytes(TOKENIZER_JSON));
// Loads data frames once, which takes seconds.
await loadAnswerFiles({ a: place('own-answers.jsonl', jsonBytes(result())) }, { resamples: 10 });
afterAll(() => Promise.all([own, strange].map((server) => server.close())));

tryReaders({
  passages: {
    inputs: nearlyJsonLines(...PASSAGES.map(({ id, contents }) => ({ id, contents }))),
    read: (bytes) => parsePassages(bytes.toString()),
  },
  questions: {
    inputs: nearlyJsonLines(
      ...QUESTIONS.map(({ goldenAnswers: golden_answers, ...rest }) => ({
        ...rest,
        golden_answers,
      })),
    ),
    read: (bytes) => parseQuestions(bytes.toString()),
  },
  trajectories: {
    inputs: nearlyJson(transcript, plain),
    read: (bytes) =>
      viewerData([parseTrajectory(parsed(bytes))], { preset: 'paper', questions: [] }),
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
      place('run/metrics.jsonl', bytes);
      return readRun(inFolder('run'));
    },
  },
  grammar: {
    inputs: fc
      .array(fc.oneof(fc.constantFrom(...PARTS), fc.string({ maxLength: 4 })), { maxLength: 24 })
      .map((parts) => textBytes(parts.join(''))),
    read: (bytes) => {
      const text = bytes.toString();
      const segments = splitTranscript(text);
      expect(segments.map((segment) => segment.text).join('')).toBe(text);
      for (const read of [nextAction, parseBlocks, parsePieces, parseInformation]) read(text);
      for (const read of [ambiguity, executedSearches, finalAnswer, formatFault]) read(segments);
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
  benchmarks: {
    inputs: fc.oneof(
      nearlyJson(
        [HOTPOT_BRIDGE, HOTPOT_COMPARISON],
        [TWO_WIKI_BRIDGE_COMPARISON],
        [MUSIQUE_TWO_AND_ONE],
      ),
      nearlyJsonLines(MUSIQUE_TWO_AND_ONE, HOTPOT_COMPARISON),
    ),
    read: async (bytes) => {
      const read = readBenchmark(place('train.json', bytes), new PassageCollector());
      for await (const question of read) expect(question).not.toBeUndefined();
    },
  },
  parquet: {
    inputs: nearlyBytes(readFileSync('test/fixtures/search-r1.parquet')),
    read: (bytes) => readRows(place('train.parquet', bytes)),
  },
  verl: {
    inputs: nearlyJsonLines({ input: PROMPT, output: plain.response, gts: TRUTH, score: 1 }),
    read: (bytes) => {
      place('verl/1.jsonl', bytes);
      return imported(readVerlRollouts(inFolder('verl')));
    },
  },
  trl: {
    inputs: nearlyJson({ segments: [['policy', plain.response]], truth: TRUTH }),
    read: async (bytes) => {
      const { segments, truth } = (parsed(bytes) ?? {}) as Record<string, unknown>;
      const texts = { segments: JSON.stringify(segments), ground_truth: JSON.stringify(truth) };
      const sent = [{ role: 'user', content: PROMPT }];
      const row = { prompt: sent, ...texts, reward: 1, advantage: 0 };
      const prompt = [{ role: 'text', content: 'text' }] as const;
      const columns = { prompt, segments: 'text', ground_truth: 'text' } as const;
      const numbers = { reward: 'integer', advantage: 'integer' } as const;
      await writeParquet(inFolder('trl/completions_1.parquet'), [row], { ...columns, ...numbers });
      return imported(readTrlRollouts(inFolder('trl')));
    },
  },
  answers: {
    inputs: nearlyJsonLines(result(), { ...result({ coverage: NaN }), answer: null }, plain),
    read: async (bytes) => {
      const path = place('answers.jsonl', bytes);
      return compareHtml(await readComparedRuns(['a', 'b'].map((name) => ({ name, path }))));
    },
  },
  'answer-files': {
    inputs: nearlyJsonLines(result(), { ...result({ coverage: NaN }), answer: null }),
    read: (bytes) => {
      const path = place('own-answers.jsonl', bytes);
      return loadAnswerFiles({ a: path, b: path }, { resamples: 10 });
    },
  },
  retrieval: {
    inputs: nearlyJson({
      result: ['a', 'b'].map((id) => [
        { document: { id, contents: 'T\nt' }, score: 2 },
        { document: { contents: 'U\nu' }, score: 1 },
      ]),
    }),
    read: (bytes) => {
      answers = () => bytes;
      return createRemoteRetriever({ url: strangeUrl }).retrieve(['a', 'b'], { topK: 2 });
    },
  },
  completions: {
    inputs: nearlyJson({
      models: { data: [{ id: 'm', root: '/none', max_model_len: 100 }] },
      completion: { choices: [CHOICE] },
    }),
    read: async (bytes) => {
      const { models, completion } = (parsed(bytes) ?? {}) as Record<string, unknown>;
      answers = (path) => jsonBytes(path.endsWith('models') ? models : completion);
      const options = { tokenizer: inFolder('policy'), retries: 0 };
      const policy = await openCompletionsPolicy(strangeUrl, options);
      return policy.generate([[2, 3]], { ...SAMPLING, randoms: [createRandom(1)] });
    },
  },
  'chat-completions': {
    inputs: nearlyJson({
      choices: [{ message: MESSAGE, finish_reason: 'tool_calls' }],
      usage: { prompt_tokens: 1, completion_tokens: 1 },
    }),
    read: async (bytes) => {
      answers = () => bytes;
      const policy = await openChatPolicy(strangeUrl, { model: 'm', retries: 0 });
      return policy.reply([], { ...SAMPLING, tools: [], parallelToolCalls: true });
    },
  },
});
