/** Model cards: what a start has been trained on and what it can do, measured on the questions kept for tuning. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseTrainConfig } from '../methods/config.js';
import { rolloutConfigOf } from '../methods/index.js';
import type { RolloutConfig } from '../rollout/options.js';
import type { WarmUpName } from '../experiments/runs.js';
import { evaluatePolicy } from '../evaluation/evaluate.js';
import type { Measurement } from '../evaluation/result.js';
import { LocalPolicy } from '../policy/local-policy.js';
import { loadModel } from '../policy/model-folder.js';
import { readJson, writeFileSafely } from '../io/files.js';
import { numParameters } from '../policy/model-config.js';
import { disposeWeights } from '../policy/weights.js';
import { TRAIN_CONFIG_FILE } from '../training/run-grpo.js';
import { totalSteps, type WarmUpRun } from './warm-up/run-warm-up.js';
import { keptSteps, runName, modelFolder, stepFolder, type PolicyRun } from '../experiments/runs.js';
import type { World } from '../experiments/world.js';

interface CardOptions {
  seed: number;
  recipe: Pick<WarmUpRun, 'supervised' | 'stages'>;
  checkpoints?: string;
}

const mean = (values: readonly number[]): number =>
  values.reduce((a, b) => a + b, 0) / Math.max(1, values.length);

/** One way of asking a start. */
interface Trial {
  title: string;
  rollout: RolloutConfig;
  temperature: number;
}

/** The drill prompt shows the skill, the others the habit; sampling shows what reinforcement can find. */
const TRIALS: readonly Trial[] = [
  {
    title: 'drill prompt, greedy',
    rollout: { ...rolloutConfigOf('parallelsearch'), prompt: 'drill' },
    temperature: 0,
  },
  ...['search-r1', 'parallelsearch'].flatMap((method) =>
    [0, 1].map((temperature) => ({
      title: `${rolloutConfigOf(method).prompt} prompt, ${temperature === 0 ? 'greedy' : 'sampled'}`,
      rollout: rolloutConfigOf(method),
      temperature,
    })),
  ),
  { title: 'r1 prompt, greedy', rollout: rolloutConfigOf('r1'), temperature: 0 },
];

/** One dev question of so many is tried: enough to see what a start can do, and a minute's work. */
const ONE_OF = 3;

/** Kinds of question, in the order of the card. */
const KINDS: readonly { title: string; has: (m: Measurement) => boolean }[] = [
  { title: 'one hop', has: (m) => m.subset === 'single_hop' },
  { title: 'sequential', has: (m) => m.subset === 'sequential' },
  ...[2, 3, 4, 5].map((size) => ({
    title: `compare ${size}`,
    has: (m: Measurement) => m.entitiesCompared === size,
  })),
  { title: 'hybrid', has: (m) => m.subset === 'hybrid' },
];

const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`;

/** A table of one trial: a line a kind of question. */
function trialTable(measurements: readonly Measurement[]): string {
  const lines = KINDS.map(({ title, has }) => {
    const some = measurements.filter(has);
    const share = (value: (m: Measurement) => number): string => mean(some.map(value)).toFixed(2);
    return row([
      title,
      String(some.length),
      share((m) => m.em),
      share((m) => Number(m.formatOk)),
      share((m) => Number(m.decomposed)),
      share((m) => m.modelCalls),
    ]);
  });
  return [
    row(['questions', 'n', 'EM', 'valid', 'decomposed', 'model calls']),
    row(Array<string>(6).fill('---')),
    ...lines,
  ].join('\n');
}

const percent = (share: number): string => `${Math.round(100 * share)} %`;

/** The recipe's stages, with the share of each kind of row in percent. */
function stageTable({ stages }: CardOptions['recipe']): string {
  const kinds = Object.keys(stages[0].options.mix) as (keyof (typeof stages)[0]['options']['mix'])[];
  const lines = stages.map(({ steps, learningRate, finalLearningRate, options }, i) =>
    row([
      String(i + 1),
      String(steps),
      `${learningRate} to ${finalLearningRate}`,
      String(options.rowsPerStep),
      ...kinds.map((kind) => percent(options.mix[kind])),
      percent(options.unusualShare ?? 0),
    ]),
  );
  const head = ['stage', 'steps', 'learning rate', 'rows a step', ...kinds, 'unusual names'];
  return [row(head), row(head.map(() => '---')), ...lines].join('\n');
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
    'The base start, trained on with demonstrations under the prompts that reinforcement learning uses: all of them one by one under ' +
    'Search-R1’s prompt, and a fifth of the parallelizable ones decomposed under the parallel prompt.',
};

const ROWS = `Kinds of rows: *passages* of the mini-wiki that no held-out question needs; *repeat*, a list of names twice, and *words*, the same
with words of all passages; *read*, passages and their facts one by one; *copy*, question to first search; *verdict*, recap to
conclusion; *practice*, whole transcripts under the drill prompt; *sequentialHabit* and
*parallelHabit*, transcripts under Search-R1’s and the parallel prompt; *direct*, question and answer without search;
*ramble*, one of those prompts followed by a passage. Seven in ten rows under the drill prompt are about invented names and
numbers. *Unusual names* is the share of those names, and of the words to copy, that are made of any tokens of the vocabulary, of words of
questions and of marks, or that begin alike. No row holds a question of the dev or test split, or
a passage about an entity of theirs; passages about others mention some of them.`;

/** A sentence on the adapters that are kept beside the last one; empty where there are none. */
function keptSentence(run: PolicyRun, numSteps: number): string {
  const folders = keptSteps(run, numSteps).map((step) => `\`${stepFolder(step)}\``);
  return folders.length > 0 ? ` In ${folders.join(', ')} is the adapter as it was after so many steps.` : '';
}

/** First and last steps that a card takes the mean of, since each has few questions. */
const STEPS_AVERAGED = 5;

/** Writes an adapter's `README.md` from its configuration and metrics. */
export async function writeAdapterCard(run: PolicyRun, folder: string): Promise<void> {
  const config = parseTrainConfig(await readJson(join(folder, TRAIN_CONFIG_FILE)));
  const lines = (await readFile(join(folder, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  const metrics = lines.map((line) => JSON.parse(line) as Record<string, number>);
  const names = ['reward', 'rewards/outcome', 'turns', 'decomposition_ratio/parallelizable', 'kl', 'entropy'];
  const over = (some: typeof metrics, name: string): string => mean(some.map((m) => m[name])).toFixed(3);
  const [first, last] = [metrics.slice(0, STEPS_AVERAGED), metrics.slice(-STEPS_AVERAGED)];
  const { grpo, lora, rewards } = config;
  const card = `---
license: apache-2.0
base_model: ../${run.model}
library_name: peft
---

# ${runName(run)}

A LoRA adapter (rank ${lora.rank}, alpha ${lora.alpha}, PEFT's format) over [${run.model}](../${run.model}/README.md), trained with GRPO: ${grpo.steps} steps of
${grpo.questionsPerStep} questions with ${grpo.groupSize} rollouts each, learning rate ${grpo.learningRate}, clip ${grpo.clip}, beta ${grpo.beta}, seed ${run.seed}.
Rewards: ${JSON.stringify(rewards)}. Prompt: ${config.rollout.prompt}. Everything is in \`train_config.json\`, every step in \`metrics.jsonl\`.${keptSentence(run, grpo.steps)}

| training metric | first ${STEPS_AVERAGED} steps | last ${STEPS_AVERAGED} steps |
| --- | --- | --- |
${names.map((name) => row([name, over(first, name), over(last, name)])).join('\n')}

Results on the test questions are in the reports. Made for experiments in a small world; it knows nothing else.
`;
  await writeFileSafely(join(folder, 'README.md'), card);
}

/** Measures a start on the dev split and writes its `README.md`. */
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
      clearCache: () => policy.clearCache(),
    });
    sections.push(`### ${title}\n\n${trialTable(measurements)}`);
  }
  policy.dispose();
  disposeWeights(model.weights);
  const card = `---
license: apache-2.0
language: en
pipeline_tag: text-generation
---

# ${name}: a starting point of the embedded scale

${INTRODUCTIONS[name]}

A Llama-type decoder of ${numParameters(model.config).toLocaleString('en')} parameters (${model.config.numLayers} layers, width ${model.config.hiddenSize}), with a byte-level BPE tokenizer of
${model.config.vocabSize} tokens trained on the training text. \`transformers\` loads the folder.

## Training

${totalSteps(options.recipe.stages)} steps of AdamW, seed ${options.seed}.

${stageTable(options.recipe)}

${ROWS}

## What it can do

On ${questions.length} questions of the dev split (one of ${ONE_OF}), at most ${rolloutConfigOf('search-r1').maxSearchTurns} search turns, one passage a query.

${sections.join('\n\n')}

Made for experiments on reinforcement learning in a small world; it knows nothing else.
`;
  await writeFileSafely(join(folder, 'README.md'), card);
}
