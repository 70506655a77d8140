/**
 * Compares LoRA gradients and generation of a language model with PyTorch, transformers
 * and peft, on the same weights, rows and two cores, in turns: `npm run bench --
 * real-model PYTHON [MODEL] [BACKEND]`, where PYTHON has
 * scripts/fixtures/requirements.txt and peft, and MODEL is a folder in Hugging Face
 * format (default: models/smollm2-135m-instruct). Prints one JSON object: minimum, median
 * and maximum of each figure, and ratios of ours to theirs (above 1: this project is
 * slower). Peak memory is the process's maximum so far, so small work comes first.
 */
import * as tf from '@tensorflow/tfjs-core';
import { packagePath } from '../lib/io/paths.js';
import { loadModel } from '../lib/policy/folders/model-folder.js';
import { LocalPolicy } from '../lib/policy/local-policy.js';
import { createRandom } from '../lib/random.js';
import { loadWorld } from '../lib/retrieval/small-world.js';
import { trainingEnvironment } from '../lib/tensor/backend-names.js';
import {
  BACKEND_NAMES,
  describeBackend,
  useBackend,
  type BackendName,
} from '../lib/tensor/backend.js';
import { buildPrompt } from '../lib/text/prompts.js';
import { TrainedAdapter } from '../lib/training/adapter.js';
import { trainerSettings } from '../lib/training/config.js';
import { trainingPreset } from '../lib/training/presets.js';
import { generate, inTurns, sameRows, speeds, startPeer, timed } from './support/peer.js';

const REPEATS = 3;
const THREADS = 2;
const RANK = 8;
const ROW_LENGTH = 556;
const NEW_TOKENS = 32;
const GRADIENT_ROWS = [1, 4];
const GENERATED_ROWS = [8, 32];

const usage = 'npm run bench -- real-model PYTHON [MODEL] [BACKEND]';
const [python, folder = packagePath('models', 'smollm2-135m-instruct'), backend = 'auto'] =
  process.argv.slice(2);
if (!python || ![...BACKEND_NAMES, 'auto'].includes(backend))
  throw new Error(`Expected a Python with PyTorch, transformers and peft. Try: ${usage}`);
// As in a training's process; read when the backend loads.
Object.assign(process.env, trainingEnvironment(THREADS));
console.error(describeBackend(await useBackend(backend as BackendName | 'auto')));

const world = await loadWorld();
const load = await timed(async () => ({ model: await loadModel(folder) }));
const { model } = load;
const text = world.passages.flatMap(({ contents }) => model.tokenizer.encode(`${contents}\n`));
const prompts = world.questions
  .filter(({ split }) => split === 'dev')
  .map(({ question }) =>
    model.tokenizer.encode(buildPrompt('parallel', question, { form: 'full' })),
  );
const preset = trainingPreset('parallelsearch', folder, 1, { scale: 'language-model' });

const adapter = new TrainedAdapter(model, {
  name: 'bench',
  lora: { rank: RANK, alpha: 2 * RANK },
  random: createRandom(0),
  temperature: 1,
  maxTokensPerPass: trainerSettings(preset).maxTokensPerPass,
});

/** One optimizer step with learning rate 0, so that every repeat has the same loss. */
const gradients = (rows: readonly number[][]) =>
  timed(async () => {
    const sequences = rows.map((tokenIds) => ({ tokenIds, lossMask: tokenIds.map(() => 1) }));
    const numTokens = rows.length * (ROW_LENGTH - 1);
    const { loss } = await adapter.update(
      sequences,
      { learningRate: 0, maxGradNorm: 1 },
      (logProbs) => ({ loss: tf.mul<tf.Scalar>(tf.sum(logProbs), -1 / numTokens) }),
    );
    return { loss };
  });
const peakBytes = (): number => process.resourceUsage().maxRSS * 1024;
const gigabytes = (bytes: number): number => Number((bytes / 1e9).toFixed(2));

const lora = ['--lora', String(RANK)];
const threads = ['--threads', String(THREADS)];
const rows: object[] = [];
for (const dtype of ['float32', 'bfloat16']) {
  const peer = startPeer(
    python,
    'transformers_peer.py',
    folder,
    '--dtype',
    dtype,
    ...lora,
    ...threads,
  );
  for (const batch of GRADIENT_ROWS) {
    const some = Array.from({ length: batch }, (_, i) =>
      text.slice(i * ROW_LENGTH, (i + 1) * ROW_LENGTH),
    );
    const theirs = () =>
      peer.ask<{ seconds: number; loss: number }>({ do: 'gradients', rows: some });
    const { own, other, seconds } = await inTurns(REPEATS, () => gradients(some), theirs);
    const { bytes } = await peer.ask<{ bytes: number }>({ do: 'memory' });
    rows.push({
      work: 'LoRA gradients',
      peer: dtype,
      batch,
      ...speeds(seconds, batch * ROW_LENGTH),
      peakGigabytes: gigabytes(peakBytes()),
      peerPeakGigabytes: gigabytes(bytes),
      lossDifference: Math.abs(own.loss - other.loss),
    });
    console.error(JSON.stringify(rows.at(-1)));
  }
  peer.stop();
}
adapter.dispose();

const policy = new LocalPolicy('bench', model.weights, model.config, model.tokenizer);
const peer = startPeer(python, 'transformers_peer.py', folder, ...threads);
for (const batch of GENERATED_ROWS) {
  const contexts = prompts.slice(0, batch);
  const request = { do: 'generate', contexts, tokens: NEW_TOKENS };
  const theirs = () => peer.ask<{ seconds: number; tokenIds: number[][] }>(request);
  const { own, other, seconds } = await inTurns(
    REPEATS,
    () => generate(policy, contexts, NEW_TOKENS),
    theirs,
  );
  rows.push({
    work: 'generation',
    batch,
    ...speeds(seconds, batch * NEW_TOKENS),
    sameRows: sameRows(own.tokenIds, other.tokenIds),
  });
  console.error(JSON.stringify(rows.at(-1)));
}
peer.stop();
const print = (row: object): string => `  ${JSON.stringify(row)}`;
const about = {
  repeats: REPEATS,
  rowLength: ROW_LENGTH,
  newTokens: NEW_TOKENS,
  loadSeconds: load.seconds,
};
console.log(`${JSON.stringify(about).slice(0, -1)}, "rows": [\n${rows.map(print).join(',\n')}\n]}`);
