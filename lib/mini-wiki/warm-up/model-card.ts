/** Model cards: what a model has been trained on and what it can do, measured on the questions kept for tuning. */
import { join } from 'node:path';
import { mean } from 'd3-array';
import { evaluatePolicy } from '../../evaluation/evaluate.js';
import type { Measurement } from '../../evaluation/result.js';
import { modelFolder, type WarmUpName } from '../../experiments/runs.js';
import type { World } from '../../experiments/world.js';
import { writeFileSafely } from '../../io/files.js';
import { rolloutConfigOf } from '../../methods/index.js';
import { LocalPolicy } from '../../policy/local-policy.js';
import { numParameters } from '../../policy/families/index.js';
import type { ModelConfig } from '../../policy/model-config.js';
import { loadModel } from '../../policy/model-folder.js';
import { disposeWeights } from '../../policy/weights.js';
import type { RolloutConfig } from '../../rollout/options.js';
import { markdownTable } from '../markdown.js';
import type { Recipe } from './recipes.js';
import { ROW_KINDS } from './rows.js';
import { totalSteps } from './run-warm-up.js';

/** One way of asking a model. */
interface Trial {
  title: string;
  rollout: RolloutConfig;
  temperature: number;
}

const trialOf = (rollout: RolloutConfig, temperature: 0 | 1): Trial => ({
  title: `${rollout.prompt} prompt, ${temperature === 0 ? 'greedy' : 'sampled'}`,
  rollout,
  temperature,
});

/** The drill prompt shows the skill, the others the habit; sampling shows what reinforcement can find. */
const TRIALS: readonly Trial[] = [
  trialOf({ ...rolloutConfigOf('parallelsearch'), prompt: 'drill' }, 0),
  ...(['search-r1', 'parallelsearch'] as const).flatMap((method) =>
    ([0, 1] as const).map((temperature) => trialOf(rolloutConfigOf(method), temperature)),
  ),
  trialOf(rolloutConfigOf('r1'), 0),
];

/** One dev question of so many is tried: enough to see what a model can do, and a minute's work. */
const ONE_OF = 3;

/** Kinds of question, in the order of the card. */
const QUESTION_KINDS: readonly { title: string; has: (m: Measurement) => boolean }[] = [
  { title: 'one hop', has: (m) => m.subset === 'single_hop' },
  { title: 'sequential', has: (m) => m.subset === 'sequential' },
  ...[2, 3, 4, 5].map((size) => ({
    title: `compare ${size}`,
    has: (m: Measurement) => m.entitiesCompared === size,
  })),
  { title: 'hybrid', has: (m) => m.subset === 'hybrid' },
];

/** A table of one trial: a line a kind of question. */
function trialTable(measurements: readonly Measurement[]): string {
  const rows = QUESTION_KINDS.map(({ title, has }) => {
    const some = measurements.filter(has);
    const share = (value: (m: Measurement) => number): string => (mean(some, value) ?? 0).toFixed(2);
    return [
      title,
      String(some.length),
      share((m) => m.em),
      share((m) => Number(m.formatOk)),
      share((m) => Number(m.decomposed)),
      share((m) => m.modelCalls),
    ];
  });
  return markdownTable(['questions', 'n', 'EM', 'valid', 'decomposed', 'model calls'], rows);
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** The recipe's stages, with the share of each kind of row in percent. */
function stageTable({ stages }: Recipe): string {
  const rows = stages.map(({ steps, learningRate, finalLearningRate, options }, i) => [
    String(i + 1),
    String(steps),
    `${learningRate} to ${finalLearningRate}`,
    String(options.rowsPerStep),
    ...ROW_KINDS.map((kind) => percent(options.mix[kind] ?? 0)),
    percent(options.unusualShare),
  ]);
  return markdownTable(
    ['stage', 'steps', 'learning rate', 'rows a step', ...ROW_KINDS, 'unusual names'],
    rows,
  );
}

const INTRODUCTIONS: Record<WarmUpName, string> = {
  foundation:
    'A small language model that has read passages and practised, under a prompt of its own ("Practice."), to copy names, to read ' +
    'facts, to compare and to go through whole transcripts. Of transcripts under the prompts that reinforcement learning uses it has ' +
    'seen little, and as often as not those prompts were followed by plain text.',
  base:
    'The foundation, trained on with names of all kinds to copy: its own practice left it at a loss with held-out names that ' +
    'hold tokens which training text always merges with others, that begin alike, or that look like a part of the question.',
  instruct:
    'The base model, trained on with demonstrations under the prompts that reinforcement learning uses: all of them one by one under ' +
    'Search-R1’s prompt, and a fifth of the parallelizable ones decomposed under the parallel prompt.',
};

const ROWS = `Kinds of rows: *passages* of the mini-wiki that no held-out question needs; *repeat*, a list of names twice, and *words*, the same
with words of all passages; *read*, passages and their facts one by one; *copy*, question to first search; *verdict*, recap to
conclusion; *practice*, whole transcripts under the drill prompt; *sequentialHabit* and
*parallelHabit*, transcripts under Search-R1’s and the parallel prompt; *direct*, question and answer without search;
*continuation*, one of those prompts followed by a passage. Seven in ten rows under the drill prompt are about invented names and
numbers. *Unusual names* is the share of those names, and of the words to copy, that are made of any tokens of the vocabulary, of words of
questions and of marks, or that begin alike. No row holds a question of the dev or test split. Some hold
a passage about an entity of theirs, found beside others: 53 to 74 of 1,440 rows that were counted.`;

interface CardOptions {
  seed: number;
  recipe: Recipe;
  checkpoints?: string;
}

/** The card up to what the model can do: all that follows from its recipe. */
export function describeTraining(
  name: WarmUpName,
  config: ModelConfig,
  { seed, recipe }: Pick<CardOptions, 'seed' | 'recipe'>,
): string {
  return `---
license: apache-2.0
language: en
pipeline_tag: text-generation
---

# ${name}: a policy of the embedded scale before reinforcement learning

${INTRODUCTIONS[name]}

A Llama-type decoder of ${numParameters(config).toLocaleString('en')} parameters (${config.numLayers} layers, width ${config.hiddenSize}), with a byte-level BPE tokenizer of
${config.vocabSize} tokens trained on the training text. \`transformers\` loads the folder.

## Training

${totalSteps(recipe.stages)} steps of AdamW, seed ${seed}.

${stageTable(recipe)}

${ROWS}
`;
}

/** Measures a model on the dev split and writes its `README.md`. */
export async function writeModelCard(name: WarmUpName, world: World, options: CardOptions): Promise<void> {
  const folder = modelFolder(name, options.checkpoints);
  const model = await loadModel(folder);
  const policy = new LocalPolicy(name, model.weights, model.config, model.tokenizer);
  const questions = world.questions.filter(({ split }, i) => split === 'dev' && i % ONE_OF === 0);
  const sections: string[] = [];
  for (const { title, rollout, temperature } of TRIALS) {
    const measurements = await evaluatePolicy(policy, world.retriever, questions, {
      rollout,
      temperature,
      batchSize: 64,
    });
    sections.push(`### ${title}\n\n${trialTable(measurements)}`);
  }
  policy.dispose();
  disposeWeights(model.weights);
  const card = `${describeTraining(name, model.config, options)}
## What it can do

On ${questions.length} questions of the dev split (one of ${ONE_OF}), at most ${rolloutConfigOf('search-r1').maxSearchTurns} search turns, one passage a query.

${sections.join('\n\n')}

Made for experiments on reinforcement learning in a small world; it knows nothing else.
`;
  await writeFileSafely(join(folder, 'README.md'), card);
}
