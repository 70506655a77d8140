/** Starts the playground: unpacks the files and loads the first weights. */
import './no-eval.js';
import { parseQuestions } from '../../../data/flashrag-text.js';
import { offerCopies } from '../../../html/browser/copy.js';
import { h } from '../../../html/browser/dom.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  WORKER_FILE,
  type PlaygroundSetup,
} from '../setup.js';
import { readBytes, readJson, readText } from './files.js';
import { startPlayground } from './playground.js';

async function start(root: HTMLElement): Promise<void> {
  root.hidden = false;
  const setup = await readJson<PlaygroundSetup>(SETUP_FILE);
  const questions = parseQuestions(await readText(QUESTIONS_FILE), QUESTIONS_FILE);
  const code = new Blob([await readText(WORKER_FILE)], { type: 'text/javascript' });
  const [wasm, passages] = await Promise.all([readBytes(WASM_FILE), readText(PASSAGES_FILE)]);
  await startPlayground(root, {
    ...{ setup, questions, script: URL.createObjectURL(code) },
    world: { kind: 'world', wasm, passages, titleWeight: setup.titleWeight },
  });
}

const root = document.getElementById('playground')!;
start(root).catch((error: unknown) => {
  root.replaceChildren(h('p', { role: 'alert' }, `The playground could not start: ${String(error)}`));
  throw error;
});
offerCopies();
