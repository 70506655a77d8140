/** Trains an adapter, evaluates it on dev questions and publishes the best step. */
import { existsSync } from 'node:fs';
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { greatest, mean } from 'd3-array';
import type { Question } from '../../lib/data/question.js';
import { mapAnswers } from '../../lib/evaluation/evaluate.js';
import { measure } from '../../lib/evaluation/measurement.js';
import { stepFolder } from '../../lib/experiments/running/runs.js';
import type { DevPoint } from '../../lib/experiments/running/train-runs.js';
import {
  copySafely,
  partialPath,
  readJson,
  replaceFolder,
  writeFileSafely,
} from '../../lib/io/files.js';
import { readLog } from '../../lib/io/logs.js';
import { contentHash } from '../../lib/io/provenance.js';
import {
  TRAIN_CONFIG_FILE,
  METRICS_FILE,
  ADAPTER_WEIGHTS,
} from '../../lib/policy/folders/files.js';
import { copyAdapter, loadLocalPolicy, loadModel } from '../../lib/policy/folders/model-folder.js';
import { presetRewards } from '../../lib/rewards/presets.js';
import { scoreRollout, scoringInput } from '../../lib/rewards/reward.js';
import { encodeSafetensors, parseSafetensors, parseStored } from '../../lib/tensor/safetensors.js';
import { weightFiles } from '../../lib/tensor/weight-files.js';
import { plural } from '../../lib/text/english.js';
import { parseTrainConfig, trainerSettings, type TrainConfig } from '../../lib/training/config.js';
import { keptAdapter, runTraining, type TrainingRun } from '../../lib/training/run.js';

const BATCH_SIZE = 48;

type DevCurve = readonly (DevPoint & { chosen: boolean })[];

interface AdapterTraining extends Omit<TrainingRun, 'model' | 'inputsHash' | 'keepSteps'> {
  modelFolder: string;
  dev: readonly Question[];
  /** Steps after which the adapter is evaluated; 0 is the model without adapter. */
  evaluatedSteps: readonly number[];
  /** Rounds the adapters' weights, so that they compress better. */
  significantBits?: number;
}

/** Trains an adapter, or resumes, and evaluates it on dev questions. */
export async function trainAdapter(training: AdapterTraining): Promise<DevPoint[]> {
  const { dev, evaluatedSteps, significantBits, ...run } = training;
  const { modelFolder } = run;
  const keepSteps = evaluatedSteps.filter((step) => step > 0);
  await runTraining({
    ...run,
    model: await loadModel(modelFolder),
    inputsHash: await contentHash(await weightFiles(modelFolder)),
    keepSteps,
  });
  for (const step of significantBits ? keepSteps : [])
    await roundAdapter(join(run.folder, keptAdapter(step)), significantBits!);
  const curve: DevPoint[] = [];
  for (const step of evaluatedSteps) {
    run.signal?.throwIfAborted();
    curve.push(await evaluateAdapter(run, step, dev));
  }
  return curve;
}

/** Rounds to this many significant bits (Veltkamp splitting). */
function roundTo(significantBits: number, value: number): number {
  const scaled = (2 ** (53 - significantBits) + 1) * value;
  return scaled - (scaled - value);
}

/**
 * Rounds an adapter's weights in place so that they compress well: of the 11 significant
 * bits of a half, most are noise.
 * @throws Error if the file is not an adapter
 */
export async function roundAdapter(folder: string, significantBits: number): Promise<void> {
  const file = join(folder, ADAPTER_WEIGHTS);
  const bytes = await readFile(file);
  const arrays = parseSafetensors(bytes);
  for (const { values } of arrays.values())
    values.forEach((value, i) => (values[i] = roundTo(significantBits, value)));
  const { metadata } = parseStored(bytes);
  await writeFileSafely(file, encodeSafetensors(arrays, { storage: 'F16', metadata }));
}

/** Answers questions greedily, and scores the answers with the training's rewards. */
async function evaluateAdapter(
  training: Pick<AdapterTraining, 'config' | 'modelFolder' | 'folder' | 'retriever'>,
  step: number,
  questions: readonly Question[],
): Promise<DevPoint> {
  const { config, modelFolder, folder, retriever } = training;
  const adapter = step > 0 ? join(folder, keptAdapter(step)) : undefined;
  const policy = await loadLocalPolicy(modelFolder, { adapter });
  const { preset, ...overrides } = config.rewards;
  const rewards = presetRewards(preset, overrides);
  const points = await mapAnswers(policy, retriever, questions, {
    rollout: config.rollout,
    batchSize: BATCH_SIZE,
    toResult: (question, trajectory) => {
      const rollout = scoringInput(trajectory, question);
      const { components } = scoreRollout(rewards, rollout);
      const isDecomposed = rollout.searchTurns.some((queries) => queries.length > 1);
      return {
        reward: components.total,
        outcome: components.outcome,
        modelCalls: trajectory.modelCalls,
        evidenceSeen: measure(question, trajectory).evidenceSeen,
        decomposition: rollout.questionType === 'parallelizable' ? Number(isDecomposed) : undefined,
      };
    },
  });
  policy.dispose();
  const average = (name: keyof (typeof points)[0]): number => mean(points, (point) => point[name])!;
  return {
    step,
    reward: average('reward'),
    outcome: average('outcome'),
    decomposition: average('decomposition') ?? 0,
    modelCalls: average('modelCalls'),
    evidenceSeen: average('evidenceSeen'),
  };
}

/** JSON lines with four digits, which suffice to draw a curve. */
function formatLines(rows: readonly unknown[]): string {
  const shorten = (_: string, value: unknown): unknown =>
    typeof value === 'number' ? Number(value.toPrecision(4)) : value;
  return rows.map((row) => `${JSON.stringify(row, shorten)}\n`).join('');
}

/** What an adapter's card says besides configuration and metrics. */
interface CardOptions {
  name: string;
  /** Name of the base model, and its folder relative to the adapter's. */
  model: string;
  base: string;
  /** Steps whose adapters are published, too. */
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
  const trained = curve.filter(({ step }) => step > 0);
  const best = greatest(trained, ({ reward }) => reward)!;
  const partial = partialPath(to);
  try {
    const from = join(folder, keptAdapter(best.step));
    await copyAdapter(from, partial, card.base);
    await copySafely(join(from, TRAIN_CONFIG_FILE), join(partial, TRAIN_CONFIG_FILE));
    for (const step of card.earlier ?? []) {
      const target = join(partial, stepFolder(step));
      await copyAdapter(join(folder, keptAdapter(step)), target, join('..', card.base));
    }
    const metrics = formatLines(await readLog(join(folder, METRICS_FILE)));
    const dev = formatLines(curve.map((point) => ({ ...point, chosen: point === best })));
    await writeFileSafely(join(partial, METRICS_FILE), metrics);
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
  const metrics = await readLog<Record<string, number>>(join(folder, METRICS_FILE));
  const curve: DevCurve = await readLog(join(folder, 'dev.jsonl'));
  const baseCard = join(base, 'README.md');
  const baseText = existsSync(join(folder, baseCard)) ? `[${model}](${baseCard})` : model;
  const { rank, alpha } = config.lora;
  const folders = earlier.map((step) => `\`${stepFolder(step)}\``).join(', ');
  const ends = [metrics.slice(0, STEPS_AVERAGED), metrics.slice(-STEPS_AVERAGED)];
  const rows = shownMetrics(config).map((metric) => {
    const means = ends.map((steps) => (mean(steps, (step) => step[metric]) ?? 0).toFixed(3));
    return `| ${metric} | ${means.join(' | ')} |`;
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
  const describe = (how: string, item: string, settings = ''): string =>
    `trained ${how}: ${steps} steps of
${questionsPerStep} questions with ${plural(groupSize, item)} each, learning rate ${learningRate}, ${settings}seed ${seed}.`;
  const prompt = `Prompt: ${rollout.prompt}.`;
  if (isSupervised(config)) return `${describe('on demonstrations', 'demonstration')} ${prompt}`;
  const { clip, beta } = { ...config.grpo, ...config.ppo, ...config.zerosearch };
  const limits = clip === undefined ? '' : `clip ${clip}, beta ${beta}, `;
  return `${describe(`with ${trainer.toUpperCase()}`, 'rollout', limits)}
Rewards: ${JSON.stringify(rewards)}. ${prompt}`;
}
