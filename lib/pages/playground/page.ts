/** The playground: policies, passages and rollout in one HTML file. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../../io/files.js';
import { markup, type Content } from '../../report/markup.js';
import { KIND_STYLE, readStyles, SEGMENT_STYLE } from '../../report/styles.js';
import { bundleScript, packedElement, pageHtml } from '../page.js';
import { citationSection, layout, sectionMarkup } from '../sections.js';
import { readPlayground, type CustomParts } from './contents.js';
import { WORKER_FILE } from './setup.js';

/** Allows workers and WebAssembly, both from the page itself. */
const POLICY = { 'script-src': "'wasm-unsafe-eval'", 'worker-src': 'blob:' };

const WAITING =
  'The sub-queries of a turn are retrieved together: the slower the retriever, the more parallel search saves.';
const TOKENS =
  'Point at a token, or use the arrow keys within a turn, to see its probability; a wavy line marks tokens below 90 %.';

/** The playground of the committed policies, as listed in the index. */
export const PLAYGROUND = {
  name: 'playground',
  title: 'Playground: ask both methods',
  description:
    'Ask a question and watch ParallelSearch and Search-R1 think, search and answer, token by token, in the browser.',
};

const COMMITTED = {
  ...PLAYGROUND,
  introduction: [
    'Two small policies answer the same question. ',
    markup('strong', 'ParallelSearch'),
    ' may send several sub-queries per turn, ',
    markup('strong', 'Search-R1'),
    ` sends one. ${WAITING}`,
  ] as Content,
  usage: `Pick a question, or type one about the small world: the policies know no other kind of question. ${TOKENS} Select another checkpoint to see what training changed, and when.`,
  models:
    'The policies are transformers with about a million parameters; the retriever is BM25 over the small world. The questions are those of the reports, and none was used in training.',
};

const CUSTOM = {
  title: 'Playground',
  description: 'Ask a question and watch a policy think, search and answer in the browser.',
  introduction: `Ask about the passages in this page. ${WAITING}`,
  usage: TOKENS,
  models: '',
};

const DETAILS = [
  'Nothing is loaded from a network. Rollout, transformer, tokenizer and BM25 are the same code as in training and evaluation; with WebAssembly, tokens are the same as in Node. Answers are greedy. The retrieval delay and the generation speed are simulated; all other times are measured.',
  'The page contains TensorFlow.js and Tokenizers.js (Apache-2.0) and zod (MIT).',
];

const NEEDS = [
  'The playground needs JavaScript, WebAssembly and ',
  markup('code', 'DecompressionStream'),
  ' (any browser since 2023).',
];

export interface ExportPlaygroundOptions extends CustomParts {
  outDir: string;
  checkpoints?: string;
  log?: (line: string) => void;
}

/**
 * Writes `playground.html` to `outDir` and returns its path.
 * @throws Error naming missing weights, or files too large for a page
 */
export async function exportPlayground({
  outDir,
  checkpoints,
  log,
  ...custom
}: ExportPlaygroundOptions): Promise<string> {
  log?.('playground: packing policies, passages and scripts');
  const texts = custom.data === undefined && custom.adapter === undefined ? COMMITTED : CUSTOM;
  const script = bundleScript(new URL('./browser/main.js', import.meta.url));
  const worker = bundleScript(new URL('./browser/worker.js', import.meta.url));
  const files = await readPlayground(checkpoints, custom);
  files.set(WORKER_FILE, await worker);
  const loading = 'Unpacking policies and passages …';
  const main = [
    markup('h1', texts.title),
    markup('p', texts.introduction),
    markup('noscript', markup('p', NEEDS)),
    markup('div', { id: 'playground', hidden: true }, markup('p', { role: 'status' }, loading)),
    markup('h2', 'How to use it'),
    markup('p', texts.usage),
    markup('h2', 'What runs here'),
    [texts.models, ...DETAILS].filter(Boolean).map((text) => markup('p', text)),
    sectionMarkup(citationSection(texts.title)),
  ];
  const packed = [...files].map(([name, content]) => packedElement(name, content));
  const body = [layout([], main), packed];
  const html = pageHtml({
    title: texts.title,
    description: texts.description,
    body,
    styles: KIND_STYLE + SEGMENT_STYLE + readStyles('page.css', import.meta.url),
    scripts: [await script],
    policy: POLICY,
  });
  const file = path.join(outDir, 'playground.html');
  await writeFileSafely(file, html);
  log?.(`playground: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  return file;
}
