/**
 * Model cards: what an initial model was trained on, and what it does under each prompt,
 * measured on dev questions.
 */
import { join } from 'node:path';
import { group, mean, sort } from 'd3-array';
import type { DataSet } from '../../lib/data/flashrag.js';
import { evaluatePolicy } from '../../lib/evaluation/evaluate.js';
import type { Measurement } from '../../lib/evaluation/result.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { numParameters } from '../../lib/policy/families.js';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { loadModel } from '../../lib/policy/model-folder.js';
import { disposeWeights } from '../../lib/policy/weights.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../lib/retrieval/retrievers.js';
import { UNTRAINED } from '../../lib/training/methods.js';
import { rolloutSchema } from '../../lib/rollout/options.js';
import { markdownTable } from '../markdown.js';
import type { InitialModelName } from '../../lib/training/checkpoints.js';
import type { Recipe } from './recipes.js';
import { ROW_KINDS } from './rows.js';
import { totalSteps } from './run-warm-up.js';

const INTRODUCTIONS: Record<InitialModelName, string> = {
  base: 'A small language model that has practised, mostly under a prompt of its own ("Practice."), to copy names, to read facts, to compare and to go through whole transcripts. It has seen few transcripts under the prompts of reinforcement, and sometimes plain text after them.',
  instruct:
    'The base model of the same seed, trained on with demonstrations under the prompts of reinforcement: all of them one by one under Search-R1’s prompt, a quarter of the parallelizable ones decomposed under the parallel prompt.',
};

const ROWS = `Rows are about practice worlds, made anew every 50 steps; nothing of the small world itself is among them. Kinds: *passages*, plain text; *repeat*, a list of names
twice; *sort*, numbers and the same in order; *read*, passages and what they say of some facts; *copy*, question to first search; *verdict*, recap to
conclusion; *skill*, whole transcripts under the drill prompt in which whatever is asked is found; *drillHabit*, *sequentialHabit* and *parallelHabit*, transcripts
with real retrieval under the drill, Search-R1’s and the parallel prompt; *direct*, question and answer; *continuation*, a prompt followed by a passage.
Queries are worded at random (the name alone in three of ten), and one miss in three is searched for again: which words find a fact, and that a miss is worth another search, is
left to reinforcement.`;

/** How it is asked under each prompt that it has seen. */
const ROLLOUTS = UNTRAINED.map(({ rollout }) => rolloutSchema.parse(rollout));
/** One dev question of so many is asked under each prompt. */
const ONE_OF = 2;

const kindOf = ({ subset, entitiesCompared }: Measurement): string =>
  entitiesCompared > 0 ? `compares ${entitiesCompared}` : subset.replace('_', ' ');

function resultTable(measured: readonly Measurement[]): string {
  const share = (some: readonly Measurement[], value: (m: Measurement) => number): string =>
    mean(some, value)!.toFixed(2);
  const kinds = sort([...group(measured, kindOf)], ([kind]) => kind);
  return markdownTable(
    ['questions', 'n', 'EM', 'valid', 'decomposed', 'model calls'],
    kinds.map(([kind, some]) => [
      kind,
      String(some.length),
      share(some, ({ em }) => em),
      share(some, ({ formatOk }) => Number(formatOk)),
      share(some, ({ decomposed }) => Number(decomposed)),
      share(some, ({ modelCalls }) => modelCalls),
    ]),
  );
}

function stageTable({ stages }: Recipe): string {
  const used = ROW_KINDS.filter((kind) => stages.some(({ options }) => options.mix[kind]));
  return markdownTable(
    ['steps', 'learning rate', 'rows a step', ...used],
    stages.map(({ steps, learningRate, finalLearningRate, options: { rowsPerStep, mix } }) => [
      String(steps),
      `${learningRate} to ${finalLearningRate}`,
      String(rowsPerStep),
      ...used.map((kind) => `${Math.round(100 * (mix[kind] ?? 0))} %`),
    ]),
  );
}

/** Asks a model dev questions under each prompt and writes its `README.md`. */
export async function writeModelCard(
  folder: string,
  { passages, questions }: DataSet,
  { name, seed, recipe }: { name: InitialModelName; seed: number; recipe: Recipe },
): Promise<void> {
  const model = await loadModel(folder);
  const policy = new LocalPolicy(name, model.weights, model.config, model.tokenizer);
  const retriever = createBm25Retriever(passages, { titleWeight: TITLE_WEIGHT });
  const dev = questions.filter(({ split }) => split === 'dev').filter((_, i) => i % ONE_OF === 0);
  const sections: string[] = [];
  for (const rollout of ROLLOUTS) {
    const measured = await evaluatePolicy(policy, retriever, dev, { rollout, batchSize: 48 });
    sections.push(`### ${rollout.prompt} prompt\n\n${resultTable(measured)}`);
  }
  policy.dispose();
  disposeWeights(model.weights);
  const { config } = model;
  const card = `---
license: apache-2.0
language: en
pipeline_tag: text-generation
---

# ${name}, seed ${seed}: a policy of the embedded scale before reinforcement learning

${INTRODUCTIONS[name]}

A Llama-type decoder of ${numParameters(config).toLocaleString('en')} parameters (${config.numLayers} layers, width ${config.hiddenSize}) with a byte-level BPE tokenizer of ${config.vocabSize} tokens. \`transformers\` loads the folder.

## Training

${totalSteps(recipe.stages)} steps of AdamW${name === 'base' ? '' : ', from the base model'}.

${stageTable(recipe)}
${ROWS}

## What it does

Greedy, on ${dev.length} dev questions (one of ${ONE_OF}), at most ${ROLLOUTS[0].maxSearchTurns} search turns, ${ROLLOUTS[0].topK} passages a query.

${sections.join('\n')}`;
  await writeFileSafely(join(folder, 'README.md'), card);
}
