/**
 * Writes model cards: what an initial model was trained on, and how it answers dev
 * questions with each prompt.
 */
import { join } from 'node:path';
import { group, mean, sort } from 'd3-array';
import type { DataSet } from '../../lib/data/flashrag.js';
import { evaluatePolicy } from '../../lib/evaluation/evaluate.js';
import type { Measurement } from '../../lib/evaluation/measurement.js';
import { writeFileSafely } from '../../lib/io/files.js';
import { loadModel } from '../../lib/policy/folders/model-folder.js';
import { LocalPolicy } from '../../lib/policy/local-policy.js';
import { numParameters } from '../../lib/policy/model/families.js';
import { disposeWeights } from '../../lib/policy/model/weights.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { TITLE_WEIGHT } from '../../lib/retrieval/retrievers.js';
import { rolloutSchema } from '../../lib/rollout/options.js';
import { UNTRAINED } from '../../lib/training/methods.js';
import type { InitialModelName } from '../../lib/training/models.js';
import { markdownTable } from '../markdown.js';
import { TRAINED_FROM, type Recipe } from './recipes.js';
import { ROW_KINDS } from './rows.js';
import { totalSteps } from './run-warm-up.js';

const INTRODUCTIONS: Record<InitialModelName, string> = {
  base: 'A small language model trained, mostly with a practice prompt ("Practice."), to copy names, read facts, compare and complete whole transcripts. It has seen few transcripts with the prompts used in RL, and sometimes plain text after them.',
  instruct:
    'The base model of the same seed, trained further on demonstrations with the prompts used in RL: always sequential with Search-R1’s prompt; with the parallel prompt, a quarter of the parallelizable questions are decomposed.',
  hasty:
    'The instruct model of the same seed, trained briefly on demonstrations that search once, with one query for everything the question asks about, and answer from what was found. One in ten searches several times; with the parallel prompt, one in ten of the parallelizable questions is decomposed.',
  paired:
    'The instruct model of the same seed, trained briefly on more of its demonstrations and on comparisons of two chains: with the parallel prompt both chains are searched at once, with Search-R1’s one after the other.',
};

const ROWS = `Rows come from practice worlds, regenerated every 50 steps; none is from the small world itself. Kinds: *passages*, plain text; *repeat*, a list of names
twice; *sort*, numbers and the same numbers in order; *read*, passages and the facts they state; *copy*, question to first search; *verdict*, recap to
conclusion; *skill*, whole transcripts with the drill prompt in which every search succeeds; *drillHabit*, *sequentialHabit* and *parallelHabit*, transcripts
with real retrieval and the drill, Search-R1’s or the parallel prompt; *hastyHabit* and *hastyParallelHabit*, the same with one query for everything; *hybridHabit* and *pairedHabit*, with Search-R1’s and the parallel prompt, comparisons of two chains, one after the other and both at once; *direct*, question and answer; *continuation*, a prompt followed by a passage.
Query wording is random (only the name in 30 %), and one miss in three is searched again: RL has to learn which words find a fact, and that a miss is worth
another search.`;

/** Rollout settings with each prompt it was trained on. */
const ROLLOUTS = UNTRAINED.map(({ rollout }) => rolloutSchema.parse(rollout));
/** One in this many dev questions is evaluated with each prompt. */
const ONE_OF = 2;

const questionKind = ({ subset, entitiesCompared }: Measurement): string =>
  entitiesCompared > 0 ? `compares ${entitiesCompared}` : subset.replace('_', ' ');

function resultTable(measured: readonly Measurement[]): string {
  const share = (answers: readonly Measurement[], value: (m: Measurement) => number): string =>
    mean(answers, value)!.toFixed(2);
  const kinds = sort([...group(measured, questionKind)], ([kind]) => kind);
  return markdownTable(
    ['questions', 'n', 'EM', 'valid', 'decomposed', 'model calls'],
    kinds.map(([kind, answers]) => [
      kind,
      String(answers.length),
      share(answers, ({ em }) => em),
      share(answers, ({ formatOk }) => Number(formatOk)),
      share(answers, ({ decomposed }) => Number(decomposed)),
      share(answers, ({ modelCalls }) => modelCalls),
    ]),
  );
}

function stageTable({ stages }: Recipe): string {
  const used = ROW_KINDS.filter((kind) => stages.some(({ options }) => options.mix[kind]));
  return markdownTable(
    ['steps', 'learning rate', 'rows per step', ...used],
    stages.map(({ steps, learningRate, finalLearningRate, options: { rowsPerStep, mix } }) => [
      String(steps),
      `${learningRate} to ${finalLearningRate}`,
      String(rowsPerStep),
      ...used.map((kind) => `${Math.round(100 * (mix[kind] ?? 0))} %`),
    ]),
  );
}

/** Evaluates a model on dev questions with each prompt, and writes its `README.md`. */
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
  const from = TRAINED_FROM[name];
  const card = `---
license: apache-2.0
language: en
pipeline_tag: text-generation
---

# ${name}, seed ${seed}: an initial model of the embedded scale, before RL

${INTRODUCTIONS[name]}

A Llama-type decoder of ${numParameters(config).toLocaleString('en')} parameters (${config.numLayers} layers, width ${config.hiddenSize}) with a byte-level BPE tokenizer of ${config.vocabSize} tokens. \`transformers\` loads the folder.

## Training

${totalSteps(recipe.stages)} steps of AdamW${from === undefined ? '' : `, from the ${from} model`}.

${stageTable(recipe)}
${ROWS}

## What it does

Greedy decoding, ${dev.length} dev questions (1 in ${ONE_OF}), at most ${ROLLOUTS[0].maxSearchTurns} search turns, ${ROLLOUTS[0].topK} passages per query.

${sections.join('\n')}`;
  await writeFileSafely(join(folder, 'README.md'), card);
}
