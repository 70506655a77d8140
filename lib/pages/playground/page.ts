/**
 * The playground as one self-contained page: policies, small world and rollout in the
 * browser.
 */
import { statSync } from 'node:fs';
import path from 'node:path';
import { writeFileSafely } from '../../io/files.js';
import { citationHtml } from '../../report/citation.js';
import { bundleScript } from '../../html/bundle.js';
import { packedElement, pageHtml } from '../../html/page.js';
import { KIND_STYLE } from '../../html/styles.js';
import { readPlayground, type OwnParts, type PlaygroundFiles } from './contents.js';
import { WORKER_FILE } from './setup.js';
import { PLAYGROUND_STYLE } from './styles.js';

const TITLE = 'Playground: ask both methods';
const OWN_TITLE = 'Playground';
const DESCRIPTION =
  'The trained small policies and the small world in the browser: ask a question and watch ParallelSearch and Search-R1 think, search and answer, token by token.';

/** Workers and WebAssembly, both out of the page itself. */
const POLICY = { 'script-src': "'wasm-unsafe-eval'", 'worker-src': 'blob:' };

const INTRODUCTION = `
<p>Two small policies answer the same question in this page, each by itself: <strong>ParallelSearch</strong> may send several sub-queries in one turn, <strong>Search-R1</strong> sends one. The sub-queries of a turn wait for the retriever together: the slower it is, the more searching in parallel gains.</p>`;

const OWN_INTRODUCTION = `
<p>Ask what the passages of this page know. The sub-queries of a turn wait for the retriever together: the slower it is, the more searching in parallel gains.</p>`;

const NO_SCRIPT =
  '<noscript><p>The playground needs JavaScript, WebAssembly and a browser that knows <code>DecompressionStream</code> (any since 2023). The other reports work without.</p></noscript>';

const ABOUT = `
<h2>How to read this</h2>
<p>Pick a question or type one about what the small world knows: the policies have learnt nothing else, and to questions of other forms they write nonsense. Point at a token, or go through a turn’s tokens by arrow keys, for the probability that the policy gave it; a wavy line marks those below 90&nbsp;%. Other weights answer the question anew: those before GRPO, after a few of its steps and at its end show what training by reinforcement has changed, and when.</p>
<h2>What runs here</h2>
<p>Transformers of about a million parameters with BM25 over the small world. Questions to pick are those that the reports ask, which no policy was trained on. As everywhere here, the figures are of a small world.</p>`;

const OWN_ABOUT = `
<h2>How to read this</h2>
<p>Point at a token, or go through a turn’s tokens by arrow keys, for the probability that the policy gave it; a wavy line marks those below 90&nbsp;%. Where a search has found nothing alike, the passages know nothing of what was asked.</p>
<h2>What runs here</h2>`;

const MACHINERY = `
<p>Nothing is loaded from a network. The rollout, the transformer, the tokenizer, BM25 and the parser of actions are the modules that the training and the tables of this project use, not copies; on WebAssembly they write the same tokens here as in Node. Answers are greedy. The delay of the retriever is artificial, and so is the pace of the models unless they write as fast as this computer; all other times are measured.</p>
<p>The page contains TensorFlow.js and Tokenizers.js (Apache-2.0) and zod (MIT).</p>`;

const scriptOf = (name: 'main' | 'worker'): Promise<string> =>
  bundleScript(new URL(`./browser/${name}.js`, import.meta.url));

/**
 * The whole page. @param isOwn whether policies or passages are not the committed ones
 */
export async function playgroundHtml(files: PlaygroundFiles, isOwn = false): Promise<string> {
  const title = isOwn ? OWN_TITLE : TITLE;
  const carried = new Map(files).set(WORKER_FILE, await scriptOf('worker'));
  const body = [
    '<a class="skip" href="#content">Skip to the content</a>',
    `<div class="layout"><main id="content"><h1>${title}</h1>`,
    isOwn ? OWN_INTRODUCTION : INTRODUCTION,
    NO_SCRIPT,
    '<div id="playground" hidden><p role="status">Unpacking policies and passages …</p></div>',
    isOwn ? OWN_ABOUT : ABOUT,
    MACHINERY,
    `${citationHtml(title)}</main></div>`,
    ...[...carried].map(([name, content]) => packedElement(name, content)),
  ].join('\n');
  return pageHtml({
    title,
    description: isOwn ? 'Policies and passages in the browser: ask a question.' : DESCRIPTION,
    body,
    styles: `${KIND_STYLE}${PLAYGROUND_STYLE}`,
    scripts: [await scriptOf('main')],
    policy: POLICY,
  });
}

export interface ExportPlaygroundOptions extends OwnParts {
  outDir: string;
  /** The folder of the checkpoints. */
  checkpoints?: string;
  /** Lines for people; default none. */
  log?: (line: string) => void;
}

/**
 * Writes `playground.html` into `outDir` and returns its name.
 * @throws Error naming weights that are missing, or what is too large
 */
export async function exportPlayground({
  outDir,
  checkpoints,
  log,
  ...own
}: ExportPlaygroundOptions): Promise<string> {
  log?.('playground: packing policies, passages and scripts');
  const file = path.join(outDir, 'playground.html');
  const isOwn = own.data !== undefined || own.adapter !== undefined;
  await writeFileSafely(file, await playgroundHtml(await readPlayground(checkpoints, own), isOwn));
  log?.(`playground: ${(statSync(file).size / 1e6).toFixed(1)} MB`);
  return file;
}
