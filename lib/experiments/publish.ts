/** Evaluates the adapters of a training on dev questions and publishes the best one. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { greatest, mean } from 'd3-array';
import type { Question } from '../data/question.js';
import { answerQuestions } from '../evaluation/evaluate.js';
import { copySafely, partialPath, readJson, replaceFolder, writeFileSafely } from '../io/files.js';
import { copyAdapter, loadLocalPolicy } from '../policy/model-folder.js';
import type { Retriever } from '../retrieval/retriever.js';
import { presetRewards } from '../rewards/presets.js';
import { scoreRollout, scoringInput } from '../rewards/reward.js';
import {
  parseTrainConfig,
  TRAIN_CONFIG_FILE,
  trainerSettings,
  type TrainConfig,
} from '../training/config.js';
import { keptAdapter } from '../training/run.js';
import { stepFolder } from './runs.js';

/** Lines of a file; none without one. */
export async function readLines(path: string): Promise<string[]> {
  return existsSync(path) ? (await readFile(path, 'utf8')).split('\n').filter(Boolean) : [];
}

const parseLines = async <Row>(path: string): Promise<Row[]> =>
  (await readLines(path)).map((line) => JSON.parse(line) as Row);

const BATCH_SIZE = 48;

/** Means of greedy answers after so many steps; step 0 is the model without adapter. */
export interface DevPoint {
  step: number;
  reward: number;
  outcome: number;
  /** Share of the parallelizable questions that are decomposed. */
  decomposition: number;
  modelCalls: number;
}

type DevCurve = readonly (DevPoint & { chosen: boolean })[];

/** Answers questions greedily and scores the answers by the rewards of the training. */
export async function evaluateAdapter(
  {
    config,
    model,
    adapter,
    step,
  }: { config: TrainConfig; model: string; adapter?: string; step: number },
  questions: readonly Question[],
  { retriever, batchSize = BATCH_SIZE }: { retriever: Retriever; batchSize?: number },
): Promise<DevPoint> {
  const policy = await loadLocalPolicy(model, { adapter });
  const { preset, ...overrides } = config.rewards;
  const rewards = presetRewards(preset, overrides);
  const points = await answerQuestions(policy, retriever, questions, {
    rollout: config.rollout,
    batchSize,
    keep: (question, trajectory) => {
      const rollout = scoringInput(trajectory, question);
      const { components } = scoreRollout(rewards, rollout);
      const isDecomposed = rollout.searchTurns.some((queries) => queries.length > 1);
      return {
        reward: components.total,
        outcome: components.outcome,
        modelCalls: trajectory.modelCalls,
        decomposed: rollout.questionType === 'parallelizable' ? Number(isDecomposed) : undefined,
      };
    },
  });
  policy.dispose();
  return {
    step,
    reward: mean(points, ({ reward }) => reward)!,
    outcome: mean(points, ({ outcome }) => outcome)!,
    decomposition: mean(points, ({ decomposed }) => decomposed) ?? 0,
    modelCalls: mean(points, ({ modelCalls }) => modelCalls)!,
  };
}

/** JSON lines with four digits, which is enough to draw a curve. */
const printLines = (rows: readonly unknown[]): string =>
  rows
    .map((row) => {
      const line = JSON.stringify(row, (_, value: unknown) =>
        typeof value === 'number' ? Number(value.toPrecision(4)) : value,
      );
      return `${line}\n`;
    })
    .join('');

/** What an adapter's card says besides configuration and metrics. */
export interface CardOptions {
  name: string;
  /** Name of the base model, and its folder relative to the adapter's. */
  model: string;
  base: string;
  /** Steps whose adapters are published too. */
  earlier?: readonly number[];
  purpose: string;
}

/**
 * Publishes the adapter with the highest mean dev reward to the folder `to`, with its
 * configuration, metrics, dev curve and card.
 * @param folder of the finished run
 * @param curve of its adapters; step 0, the model without adapter, is never chosen
 */
export async function publishAdapter(
  to: string,
  folder: string,
  curve: readonly DevPoint[],
  card: CardOptions,
): Promise<void> {
  const best = greatest(
    curve.filter(({ step }) => step > 0),
    (a, b) => a.reward - b.reward,
  )!;
  const partial = partialPath(to);
  try {
    const from = join(folder, keptAdapter(best.step));
    await copyAdapter(from, partial, card.base);
    await copySafely(join(from, TRAIN_CONFIG_FILE), join(partial, TRAIN_CONFIG_FILE));
    for (const step of card.earlier ?? []) {
      const target = join(partial, stepFolder(step));
      await copyAdapter(join(folder, keptAdapter(step)), target, join('..', card.base));
    }
    const metrics = printLines(await parseLines(join(folder, 'metrics.jsonl')));
    const dev = printLines(curve.map((point) => ({ ...point, chosen: point === best })));
    await writeFileSafely(join(partial, 'metrics.jsonl'), metrics);
    await writeFileSafely(join(partial, 'dev.jsonl'), dev);
    await writeAdapterCard(partial, card);
    await replaceFolder(partial, to);
  } finally {
    await rm(partial, { recursive: true, force: true });
  }
}

/** First and last steps that a card averages, since each step has few questions. */
const STEPS_AVERAGED = 5;

/** Writes an adapter's `README.md` from its configuration, metrics and dev curve. */
export async function writeAdapterCard(folder: string, options: CardOptions): Promise<void> {
  const { name, model, base, earlier = [], purpose } = options;
  const config = parseTrainConfig(await readJson(join(folder, TRAIN_CONFIG_FILE)));
  const metrics = await parseLines<Record<string, number>>(join(folder, 'metrics.jsonl'));
  const curve: DevCurve = await parseLines(join(folder, 'dev.jsonl'));
  const baseCard = join(base, 'README.md');
  const baseText = existsSync(join(folder, baseCard)) ? `[${model}](${baseCard})` : model;
  const { rank, alpha } = config.lora;
  const folders = earlier.map((step) => `\`${stepFolder(step)}\``).join(', ');
  const average = (steps: typeof metrics, metric: string): string =>
    (mean(steps, (step) => step[metric]) ?? 0).toFixed(3);
  const rows = shownMetrics(config).map((metric) => {
    const [first, last] = [metrics.slice(0, STEPS_AVERAGED), metrics.slice(-STEPS_AVERAGED)];
    return `| ${metric} | ${average(first, metric)} | ${average(last, metric)} |`;
  });
  const card = `---
license: apache-2.0
base_model: ${base}
library_name: peft
---

# ${name}

A LoRA adapter (rank ${rank}, alpha ${alpha}, PEFT format) for ${baseText}, ${describeTraining(config)} \`train_config.json\` has the configuration, \`metrics.jsonl\` every step.${folders && ` Adapters of earlier steps: ${folders}.`}

| training metric | first ${STEPS_AVERAGED} steps | last ${STEPS_AVERAGED} steps |
| --- | --- | --- |
${rows.join('\n')}

${describeCurve(curve)}

Results are in the reports. ${purpose}
`;
  await writeFileSafely(join(folder, 'README.md'), card);
}

function describeCurve(curve: DevCurve): string {
  const chosen = curve.find((point) => point.chosen)!;
  if (curve.length === 1) return `This is the adapter after ${chosen.step} steps.`;
  const outcomes = curve.map(({ step, outcome }) => `${step}: ${outcome.toFixed(3)}`).join(', ');
  return `Adapters were evaluated on dev questions every ${curve[1].step - curve[0].step} steps; this one, after ${chosen.step} steps, had the highest mean reward. Right answers on dev questions by step:\n${outcomes}.`;
}

const isSupervised = ({ trainer }: TrainConfig): boolean => trainer === 'demonstrations';

function shownMetrics(config: TrainConfig): string[] {
  const searching = ['turns', 'decomposition_ratio/parallelizable'];
  if (isSupervised(config)) return ['loss', ...searching];
  return ['reward', 'rewards/outcome', ...searching, 'kl', 'entropy'];
}

function describeTraining(config: TrainConfig): string {
  const { trainer, rewards, rollout, seed } = config;
  const { steps, questionsPerStep, groupSize, learningRate } = trainerSettings(config);
  const { clip, beta } = { ...config.grpo, ...config.ppo, ...config.zerosearch };
  const limits = clip === undefined ? '' : `clip ${clip}, beta ${beta}, `;
  const prompt = `Prompt: ${rollout.prompt}.`;
  if (isSupervised(config))
    return `trained on demonstrations: ${steps} steps of
${questionsPerStep} questions with ${groupSize} ${groupSize === 1 ? 'demonstration' : 'demonstrations'} each, learning rate ${learningRate}, seed ${seed}. ${prompt}`;
  return `trained with ${trainer.toUpperCase()}: ${steps} steps of
${questionsPerStep} questions with ${groupSize} ${groupSize === 1 ? 'rollout' : 'rollouts'} each, learning rate ${learningRate}, ${limits}seed ${seed}.
Rewards: ${JSON.stringify(rewards)}. ${prompt}`;
}
