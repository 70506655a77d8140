/**
 * Generation and gradients of the small policy beside PyTorch with Hugging Face transformers, on the same weights, prompts and
 * cores, in turns: `npm run bench -- policy PYTHON [BACKEND]`, where PYTHON has scripts/fixtures/requirements.txt. Both must
 * write the same tokens and find the same loss. Prints one JSON object: least, median
 * and most of each figure; ratios are ours over theirs, above 1 where this project is slower.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { modelPath } from '../lib/experiments/runs.js';
import { loadWorld } from '../lib/experiments/world.js';
import { packagePath } from '../lib/io/paths.js';
import { loadLocalPolicy } from '../lib/policy/policies.js';
import { loadModel } from '../lib/policy/model-folder.js';
import { rotaryTable } from '../lib/policy/transformer.js';
import { disposeWeights } from '../lib/policy/weights.js';
import { createRandom } from '../lib/random.js';
import { BACKEND_NAMES, describeBackend, useBackend, type BackendName } from '../lib/tensor/backend.js';
import { buildPrompt } from '../lib/text/prompts.js';
import { supervisedGradients, totalWeight } from '../lib/training/supervised.js';

const REPEATS = 7;
const NEW_TOKENS = 32;
const ROW_LENGTH = 192;
const BATCHES = [1, 8, 32];

const [python, backend = 'auto'] = process.argv.slice(2);
if (!python || ![...BACKEND_NAMES, 'auto'].includes(backend))
  throw new Error(
    'Expected a Python with PyTorch and transformers. Try: npm run bench -- policy PYTHON [BACKEND]',
  );
console.error(describeBackend(await useBackend(backend as BackendName | 'auto')));

const folder = modelPath('instruct-1');
const policy = await loadLocalPolicy(folder);
const { weights, config, tokenizer } = await loadModel(folder);
const table = rotaryTable(config, ROW_LENGTH);
const world = await loadWorld();
const prompts = world.questions
  .filter(({ split }) => split === 'dev')
  .map(({ question }) => tokenizer.encode(buildPrompt('parallel', question, { form: 'short' })));
const text = world.passages.flatMap(({ contents }) => tokenizer.encode(`${contents}\n`));

const script = packagePath('bench', 'policy_peer.py');
const peer = spawn(python, [script, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
const replies = createInterface(peer.stdout)[Symbol.asyncIterator]();

interface Timed {
  seconds: number;
  tokenIds?: number[][];
  loss?: number;
}

async function theirs(request: object): Promise<Timed> {
  peer.stdin.write(`${JSON.stringify(request)}\n`);
  const reply = await replies.next();
  if (reply.done) throw new Error(`${python} stopped; its error stands above.`);
  return JSON.parse(reply.value) as Timed;
}

async function ours(work: () => Promise<Omit<Timed, 'seconds'>>): Promise<Timed> {
  const start = performance.now();
  const result = await work();
  return { ...result, seconds: (performance.now() - start) / 1000 };
}

async function generate(contexts: readonly number[][]): Promise<Omit<Timed, 'seconds'>> {
  policy.release();
  const rows = await policy.generate(contexts, {
    ...{ temperature: 0, topP: 1, maxNewTokens: NEW_TOKENS, stop: [] },
    randoms: contexts.map(() => createRandom(0)),
  });
  return { tokenIds: rows.map(({ tokenIds }) => tokenIds) };
}

function gradients(rows: readonly number[][]): Omit<Timed, 'seconds'> {
  const sequences = rows.map((tokenIds) => ({ tokenIds, lossMask: tokenIds.map(() => 1) }));
  const options = { config, maxTokensPerPass: 4096, table, totalWeight: totalWeight(sequences) };
  const { loss, gradients } = supervisedGradients(weights, sequences, options);
  disposeWeights(gradients);
  return { loss };
}

/** Least, median and most. */
function spread(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return [0, Math.floor(sorted.length / 2), sorted.length - 1].map((i) => Number(sorted[i].toPrecision(3)));
}

/** The share of rows that are the same up to the end of the shorter one: ours stop at the end token. */
function sameRows(a: readonly number[][], b: readonly number[][]): number {
  const same = a.filter((row, i) => row.every((id, t) => id === b[i][t]));
  return same.length / a.length;
}

/** Both in turns, after one warm-up each. */
async function compare(
  work: () => Promise<Omit<Timed, 'seconds'>>,
  request: object,
  perSecond: number,
): Promise<object> {
  let [a, b] = [await ours(work), await theirs(request)];
  const seconds: [number, number][] = [];
  for (let i = 0; i < REPEATS; i++) {
    [a, b] = [await ours(work), await theirs(request)];
    seconds.push([a.seconds, b.seconds]);
  }
  return {
    tokensPerSecond: spread(seconds.map(([own]) => perSecond / own)),
    peerTokensPerSecond: spread(seconds.map(([, peer]) => perSecond / peer)),
    ratioOfSeconds: spread(seconds.map(([own, peer]) => own / peer)),
    ...(a.tokenIds && b.tokenIds ? { sameRows: sameRows(a.tokenIds, b.tokenIds) } : {}),
    ...(a.loss !== undefined && b.loss !== undefined ? { lossDifference: Math.abs(a.loss - b.loss) } : {}),
  };
}

const rows = [];
for (const batch of BATCHES) {
  const contexts = prompts.slice(0, batch);
  const request = { do: 'generate', contexts, tokens: NEW_TOKENS };
  rows.push({
    work: 'generate',
    batch,
    ...(await compare(() => generate(contexts), request, batch * NEW_TOKENS)),
  });
}
for (const batch of BATCHES) {
  const some = Array.from({ length: batch }, (_, i) => text.slice(i * ROW_LENGTH, (i + 1) * ROW_LENGTH));
  const request = { do: 'gradients', rows: some };
  const work = (): Promise<Omit<Timed, 'seconds'>> => Promise.resolve(gradients(some));
  rows.push({ work: 'gradients', batch, ...(await compare(work, request, batch * ROW_LENGTH)) });
}
peer.stdin.end();
const print = (row: object): string => `  ${JSON.stringify(row)}`;
console.log(
  `{"repeats": ${REPEATS}, "newTokens": ${NEW_TOKENS}, "rowLength": ${ROW_LENGTH}, "rows": [\n${rows.map(print).join(',\n')}\n]}`,
);
