/**
 * Generation and gradients of the small policy compared with PyTorch and transformers, on
 * the same weights, prompts and cores, in turns: `npm run bench -- policy PYTHON
 * [BACKEND]`, where PYTHON has scripts/fixtures/requirements.txt. Both must give the same
 * tokens and loss. Prints one JSON object: least, median and most of each figure, and
 * ratios of ours to theirs (above 1: this project is slower).
 */
import { modelPath } from '../lib/training/stored-policies.js';
import { loadWorld } from '../lib/retrieval/small-world.js';
import { loadLocalPolicy, loadModel } from '../lib/policy/model-folder.js';
import { rotaryTable } from '../lib/policy/transformer.js';
import { disposeWeights } from '../lib/policy/weights.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
} from '../lib/tensor/backend.js';
import { limitThreads } from '../lib/tensor/backend-names.js';
import { buildPrompt } from '../lib/text/prompts.js';
import { supervisedGradients } from '../lib/training/gradients.js';
import { totalWeight } from '../lib/training/sequences.js';
import { generate, inTurns, sameRows, speeds, startPeer, timed } from './support/peer.js';

const REPEATS = 7;
const NEW_TOKENS = 32;
const ROW_LENGTH = 192;
const BATCHES = [1, 8, 32];

const [python, backend = 'auto'] = process.argv.slice(2);
if (!python || ![...BACKEND_NAMES, 'auto'].includes(backend))
  throw new Error(
    'Expected a Python with PyTorch and transformers. Try: npm run bench -- policy PYTHON [BACKEND]',
  );
limitThreads(1);
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

const peer = startPeer(python, 'transformers_peer.py', folder);

const gradients = (rows: readonly number[][]) =>
  timed(async () => {
    const sequences = rows.map((tokenIds) => ({ tokenIds, lossMask: tokenIds.map(() => 1) }));
    const options = { config, maxTokensPerPass: 4096, table, totalWeight: totalWeight(sequences) };
    const { loss, gradients } = await supervisedGradients(weights, sequences, options);
    disposeWeights(gradients);
    return { loss };
  });

const rows: object[] = [];
for (const batch of BATCHES) {
  const contexts = prompts.slice(0, batch);
  const request = { do: 'generate', contexts, tokens: NEW_TOKENS };
  const theirs = () => peer.ask<{ seconds: number; tokenIds: number[][] }>(request);
  const { own, other, seconds } = await inTurns(
    REPEATS,
    () => generate(policy, contexts, NEW_TOKENS),
    theirs,
  );
  const same = sameRows(own.tokenIds, other.tokenIds);
  rows.push({ work: 'generate', batch, ...speeds(seconds, batch * NEW_TOKENS), sameRows: same });
}
for (const batch of BATCHES) {
  const some = Array.from({ length: batch }, (_, i) =>
    text.slice(i * ROW_LENGTH, (i + 1) * ROW_LENGTH),
  );
  const theirs = () => peer.ask<{ seconds: number; loss: number }>({ do: 'gradients', rows: some });
  const { own, other, seconds } = await inTurns(REPEATS, () => gradients(some), theirs);
  const lossDifference = Math.abs(own.loss - other.loss);
  rows.push({ work: 'gradients', batch, ...speeds(seconds, batch * ROW_LENGTH), lossDifference });
}
peer.stop();
const print = (row: object): string => `  ${JSON.stringify(row)}`;
console.log(
  `{"repeats": ${REPEATS}, "newTokens": ${NEW_TOKENS}, "rowLength": ${ROW_LENGTH}, "rows": [\n${rows.map(print).join(',\n')}\n]}`,
);
