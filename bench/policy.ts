/**
 * Compares generation and gradients of the small policy with PyTorch and transformers, on
 * the same weights, prompts and cores, in turns: `npm run bench -- policy PYTHON
 * [BACKEND] [all]`, where PYTHON has scripts/fixtures/requirements.txt, and `all`
 * measures more sizes. Both must give the same tokens and loss. Prints one JSON object:
 * minimum, median and maximum of each figure, and ratios of ours to theirs (above 1: this
 * project is slower).
 */
import { range, sum } from 'd3-array';
import { loadLocalPolicy, loadModel } from '../lib/policy/folders/model-folder.js';
import { rotaryTable } from '../lib/policy/model/transformer.js';
import { disposeWeights } from '../lib/policy/model/weights.js';
import { loadWorld } from '../lib/retrieval/small-world.js';
import { limitThreads } from '../lib/tensor/backend-names.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
} from '../lib/tensor/backend.js';
import { buildPrompt } from '../lib/text/prompts.js';
import { modelPath } from '../lib/training/models.js';
import { totalWeight } from '../lib/training/sequences.js';
import { supervisedGradients } from '../tools/warm-up/supervised-gradients.js';
import {
  generate,
  inTurns,
  sameRows,
  speeds,
  startPeer,
  timed,
  type Comparison,
} from './support/peer.js';

type Work = Pick<Comparison, 'work' | 'batch' | 'counted'>;

const REPEATS = 7;
const NEW_TOKENS = 32;
const ROW_LENGTH = 192;

const [python, backend = 'auto', extent] = process.argv.slice(2);
const isAll = extent === 'all';
const BATCHES = isAll ? [1, 8, 32, 64] : [1, 8, 32];
/** Lengths of eight rows. */
const LENGTHS = isAll ? [256, 512, 1024] : [];
const LONG_ROWS = 8;
if (!python || ![...BACKEND_NAMES, 'auto'].includes(backend))
  throw new Error(
    'Expected a Python with PyTorch and transformers. Try: npm run bench -- policy PYTHON [BACKEND]',
  );
limitThreads(1);
console.error(describeBackend(await useBackend(backend as BackendName | 'auto')));

const folder = modelPath('instruct-1');
const policy = await loadLocalPolicy(folder);
const { weights, config, tokenizer } = await loadModel(folder);
const table = rotaryTable(config, Math.max(ROW_LENGTH, ...LENGTHS));
const world = await loadWorld();
const prompts = world.questions
  .filter(({ split }) => split === 'dev')
  .map(({ question }) => tokenizer.encode(buildPrompt('parallel', question, { form: 'short' })));
const text = world.passages.flatMap(({ contents }) => tokenizer.encode(`${contents}\n`));

const peer = startPeer(python, 'transformers_peer.py', folder);

const gradients = (rows: readonly number[][]) =>
  timed(async () => {
    const sequences = rows.map((tokenIds) => ({ tokenIds, lossMask: tokenIds.map(() => 1) }));
    const options = { config, maxTokensPerPass: 4096, table, totalWeight: totalWeight(sequences) };
    const { loss, gradients } = await supervisedGradients(weights, sequences, options);
    disposeWeights(gradients);
    return { loss };
  });

/** Rows of tokens from the passages' text. */
const textRows = (count: number, length: number): number[][] =>
  range(count).map((i) => text.slice(i * length, (i + 1) * length));

const rows: Comparison[] = [];

async function compareGeneration(contexts: readonly number[][], row: Work): Promise<void> {
  const request = { do: 'generate', contexts, tokens: NEW_TOKENS };
  const theirs = () => peer.ask<{ seconds: number; tokenIds: number[][] }>(request);
  const { own, other, seconds } = await inTurns(
    REPEATS,
    () => generate(policy, contexts, NEW_TOKENS),
    theirs,
  );
  const same = sameRows(own.tokenIds, other.tokenIds);
  rows.push({ ...row, ...speeds(seconds, contexts.length * NEW_TOKENS), sameRows: same });
}

async function compareGradients(inputs: readonly number[][], row: Work): Promise<void> {
  const theirs = () =>
    peer.ask<{ seconds: number; loss: number }>({ do: 'gradients', rows: inputs });
  const { own, other, seconds } = await inTurns(REPEATS, () => gradients(inputs), theirs);
  const lossDifference = Math.abs(own.loss - other.loss);
  rows.push({
    ...row,
    ...speeds(
      seconds,
      sum(inputs, ({ length }) => length),
    ),
    lossDifference,
  });
}

for (const batch of BATCHES)
  await compareGeneration(prompts.slice(0, batch), { work: 'generation', batch });
for (const batch of BATCHES)
  await compareGradients(textRows(batch, ROW_LENGTH), { work: 'gradients', batch });
for (const length of LENGTHS) {
  const row = { batch: length, counted: 'tokens' };
  // The last tokens of each row are generated.
  const contexts = textRows(LONG_ROWS, length - NEW_TOKENS);
  await compareGeneration(contexts, { work: `generation, ${LONG_ROWS} rows`, ...row });
  await compareGradients(textRows(LONG_ROWS, length), {
    work: `gradients, ${LONG_ROWS} rows`,
    ...row,
  });
}
peer.stop();
console.log(
  JSON.stringify({ repeats: REPEATS, newTokens: NEW_TOKENS, rowLength: ROW_LENGTH, rows }),
);
