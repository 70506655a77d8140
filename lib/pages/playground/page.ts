/** The playground: policies, passages and rollout in one HTML file. */
import { statSync } from 'node:fs';
import path from 'node:path';
import { bundleScript, layoutHtml, packedElement, pageHtml } from '../../html/page.js';
import { KIND_STYLE, SEGMENT_STYLE } from '../../html/styles.js';
import { writeFileSafely } from '../../io/files.js';
import { citationHtml } from '../../report/citation.js';
import { readPlayground, type CustomParts } from './contents.js';
import { WORKER_FILE } from './setup.js';

/** Workers and WebAssembly, both from the page itself. */
const POLICY = { 'script-src': "'wasm-unsafe-eval'", 'worker-src': 'blob:' };

const WAITING =
  'The sub-queries of a turn are retrieved together: the slower the retriever, the more parallel search saves.';
const TOKENS =
  'Point at a token, or use the arrow keys within a turn, to see its probability; a wavy line marks tokens below 90&nbsp;%.';

/** The playground of the committed policies, as the index lists it. */
export const PLAYGROUND = {
  name: 'playground',
  title: 'Playground: ask both methods',
  description:
    'Ask a question and watch ParallelSearch and Search-R1 think, search and answer, token by token, in the browser.',
};

/** Texts for the committed policies. */
const COMMITTED = {
  ...PLAYGROUND,
  introduction: `Two small policies answer the same question. <strong>ParallelSearch</strong> may send several sub-queries per turn, <strong>Search-R1</strong> sends one. ${WAITING}`,
  usage: `Pick a question, or type one about the small world: the policies know no other kind of question. ${TOKENS} Select another checkpoint to see what training changed, and when.`,
  models:
    'The policies are transformers with about a million parameters; the retriever is BM25 over the small world. The questions are those of the reports, and none was used in training.',
};

/** Texts for other policies or passages. */
const CUSTOM = {
  title: 'Playground',
  description: 'Ask a question and watch a policy think, search and answer in the browser.',
  introduction: `Ask about the passages in this page. ${WAITING}`,
  usage: TOKENS,
  models: '',
};

const DETAILS = `
<p>Nothing is loaded from a network. Rollout, transformer, tokenizer and BM25 are the same code as in training and evaluation; with WebAssembly, tokens are the same as in Node. Answers are greedy. The retrieval delay and the generation speed are simulated; all other times are measured.</p>
<p>The page contains TensorFlow.js and Tokenizers.js (Apache-2.0) and zod (MIT).</p>`;

export interface ExportPlaygroundOptions extends CustomParts {
  outDir: string;
  /** Folder of the checkpoints. */
  checkpoints?: string;
  log?: (line: string) => void;
}

/**
 * Writes `playground.html` into `outDir` and returns its path.
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
  const [script, worker] = ['main', 'worker'].map((name) =>
    bundleScript(new URL(`./browser/${name}.js`, import.meta.url)),
  );
  const files = await readPlayground(checkpoints, custom);
  files.set(WORKER_FILE, await worker);
  const main = [
    `<h1>${texts.title}</h1><p>${texts.introduction}</p>`,
    '<noscript><p>The playground needs JavaScript, WebAssembly and <code>DecompressionStream</code> (any browser since 2023).</p></noscript>',
    '<div id="playground" hidden><p role="status">Unpacking policies and passages …</p></div>',
    `<h2>How to use it</h2><p>${texts.usage}</p>`,
    `<h2>What runs here</h2>${texts.models && `<p>${texts.models}</p>`}${DETAILS}`,
    citationHtml(texts.title),
  ].join('\n');
  const packed = [...files].map(([name, content]) => packedElement(name, content));
  const body = [layoutHtml([], main), ...packed].join('\n');
  const html = pageHtml({
    title: texts.title,
    description: texts.description,
    body,
    styles: `${KIND_STYLE}${SEGMENT_STYLE}${STYLES}`,
    scripts: [await script],
    policy: POLICY,
  });
  const file = path.join(outDir, 'playground.html');
  await writeFileSafely(file, html);
  log?.(`playground: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  return file;
}

/** Styles of the playground. Tags, counts and words repeat what colours say. */
const STYLES = `
#playground[hidden] { display: none; }
.controls { display: flex; flex-wrap: wrap; gap: .7rem 1rem; align-items: end; background: var(--panel); border: 1px solid var(--line); border-radius: 8px; padding: .8rem 1rem; font-size: .9rem; }
.controls label { display: grid; gap: .2rem; flex: 1 1 11rem; min-width: 0; }
.controls label > span { color: var(--soft); font-size: .85rem; }
.controls label.type { flex: 1 1 13rem; }
.controls label.question { flex: 8 1 55%; }
.controls label.weights { flex-grow: 2; }
.controls input, .controls select { font: inherit; color: var(--fg); background: var(--bg); border: 1px solid var(--soft); border-radius: 4px; padding: .35rem .5rem; width: 100%; min-width: 0; height: 2.4rem; }
.controls input[type=range] { padding: 0; margin: 0; accent-color: var(--accent); }
.controls button { padding: .35rem .9rem; height: 2.4rem; border-color: var(--soft); }
.controls button:disabled { color: var(--soft); cursor: default; }
.controls button.ask:enabled { background: var(--accent); color: var(--bg); border-color: var(--accent); font-weight: 600; }
#status { min-height: 1.6em; margin: .6rem 0; max-width: none; }
.time-line { margin: .8rem 0; }
.time-line figcaption { display: flex; flex-wrap: wrap; gap: .3rem .6rem; align-items: center; color: var(--soft); font-size: .86rem; }
.key .work { position: static; display: inline-block; padding: 0 .5rem; }
.lane { display: grid; grid-template-columns: minmax(5rem, 8rem) minmax(0, 1fr) 3.5rem; gap: .6rem; align-items: center; margin: .3rem 0; font-size: .86rem; }
.lane-title { overflow-wrap: anywhere; }
.lane-total { font-variant-numeric: tabular-nums; text-align: right; }
.track { position: relative; height: 1.6rem; background: var(--panel); border-radius: 3px; overflow: hidden; }
@media (max-width: 40rem) {
  .lane { grid-template-columns: minmax(0, 1fr) auto; gap: .1rem .6rem; }
  .lane-title { grid-column: 1 / -1; }
}
.axis { color: var(--soft); }
.axis .track { background: none; overflow: visible; height: 1.2rem; }
.tick { position: absolute; border-left: 1px solid var(--soft); padding-left: .2rem; line-height: 1.2; font-size: .75rem; }
.work { position: absolute; top: 0; bottom: 0; overflow: hidden; color: var(--fg); font-size: .8rem; line-height: 1.6rem; text-align: center; border-radius: 2px; }
.work.model { background: color-mix(in srgb, var(--think) 35%, var(--bg)); border-left: 2px solid var(--think); }
.work.search { background: repeating-linear-gradient(135deg, transparent 0 5px, color-mix(in srgb, var(--search) 22%, transparent) 5px 8px), color-mix(in srgb, var(--search) 18%, var(--bg)); border-left: 2px solid var(--search); }
.comparison td, .comparison th { white-space: normal; }
.columns { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 24rem), 1fr)); gap: 0 1.5rem; align-items: start; }
.column { min-width: 0; }
.column h2 { margin: 1.2rem 0 .5rem; }
.prompt { color: var(--soft); font-size: .85rem; white-space: pre-wrap; overflow-wrap: anywhere; margin: .3rem 0; }
ol.turns { list-style: none; counter-reset: turn; margin: 0; padding: 0; }
.turn { counter-increment: turn; border-left: 3px solid var(--line); padding: 0 0 .6rem .8rem; margin-top: .6rem; }
.turn::before { content: 'Turn ' counter(turn); font-size: .75rem; color: var(--soft); }
.tokens { white-space: pre-wrap; overflow-wrap: anywhere; line-height: 1.75; border-radius: 4px; }
.token { border-radius: 2px; cursor: default; }
.token.think { color: var(--think); }
.token.search { color: var(--search); }
.token.answer { color: var(--answer); font-weight: 600; }
.token.tag { font-size: .75rem; font-weight: 400; }
.token.unsure { text-decoration: underline wavy var(--bad) 1px; text-underline-offset: 3px; }
.token.current, .token:hover { outline: 1px solid currentcolor; }
.tip { position: fixed; z-index: 1; background: var(--fg); color: var(--bg); border-radius: 4px; padding: .15rem .5rem; font-size: .85rem; white-space: pre; pointer-events: none; }
.tip:empty { padding: 0; }
.turn .results { margin-top: .5rem; grid-template-columns: repeat(auto-fit, minmax(min(100%, 8.5rem), 1fr)); gap: .5rem; }
.turn .result { border: 1px solid var(--search); border-radius: 6px; padding: .3rem .6rem .5rem; background: color-mix(in srgb, var(--search) var(--tint), var(--bg)); min-width: 0; overflow-wrap: anywhere; font-size: .88rem; }
.turn .result p { margin: 0; }
.turn .passages { list-style: none; padding: 0; line-height: 1.45; }
.turn .waiting { border-style: dashed; animation: waiting 1.2s ease-in-out infinite alternate; }
.notice { color: var(--bad); }
.answer { font-size: 1.05rem; }
@keyframes waiting { to { border-color: transparent; } }
@media (prefers-reduced-motion: reduce) { .turn .waiting { animation: none; } }
@media print { .controls { display: none; } .work { print-color-adjust: exact; } }
`;
