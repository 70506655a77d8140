/** Starts the playground: unpacks the files and loads the first weights. */
import './no-eval.js';
import { parseQuestions } from '../../../data/flashrag-text.js';
import { element } from '../../viewer/page/dom.js';
import {
  PASSAGES_FILE,
  QUESTIONS_FILE,
  SETUP_FILE,
  WASM_FILE,
  WORKER_FILE,
  type PlaygroundSetup,
} from '../setup.js';
import { readBytes, readJson, readText } from './files.js';
import { Playground } from './playground.js';

async function buildPlayground(root: HTMLElement): Promise<void> {
  const setup = await readJson<PlaygroundSetup>(SETUP_FILE);
  const questions = parseQuestions(await readText(QUESTIONS_FILE), QUESTIONS_FILE);
  const code = new Blob([await readText(WORKER_FILE)], { type: 'text/javascript' });
  const [wasm, passages] = await Promise.all([readBytes(WASM_FILE), readText(PASSAGES_FILE)]);
  const playground = new Playground(root, {
    ...{ setup, questions, script: URL.createObjectURL(code) },
    world: { kind: 'world', wasm, passages, titleWeight: setup.titleWeight },
  });
  await playground.load();
}

const root = document.getElementById('playground')!;
root.hidden = false;
buildPlayground(root).catch((error: unknown) => {
  root.replaceChildren(element('p', { role: 'alert' }, `The playground could not model: ${String(error)}`));
  throw error;
});
