/** The card of an adapter: how it was trained, and how the metrics of training moved. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { mean } from 'd3-array';
import { readJson, writeFileSafely } from '../io/files.js';
import {
  parseTrainConfig,
  TRAIN_CONFIG_FILE,
  trainerSettings,
  type TrainConfig,
} from '../training/config.js';
import type { DevPoint } from './dev-curve.js';

/** What a card says beside configuration and metrics. */
export interface CardOptions {
  /** What the adapter is called. */
  name: string;
  /**
   * The model that it goes onto: what it is called, and its folder as seen from the
   * adapter's.
   */
  model: string;
  base: string;
  /** Folders of it with the adapter as it was after fewer steps. */
  earlier?: readonly string[];
  /** What it is for. */
  purpose: string;
}

/**
 * A sentence on the adapters that are kept beside the last one; empty where there are
 * none.
 */
const earlierSentence = ({ earlier = [] }: CardOptions): string =>
  earlier.length > 0
    ? ` In ${earlier.map((folder) => `\`${folder}\``).join(', ')} is the adapter as it was after so many steps.`
    : '';

/** How the adapter was chosen among those of several steps. */
function devText(curve: readonly (DevPoint & { chosen: boolean })[]): string {
  const chosen = curve.find((point) => point.chosen)!;
  if (curve.length === 1) return `This is the adapter after ${chosen.step} steps.`;
  const between = curve[1].step - curve[0].step;
  const outcomes = curve.map(({ step, outcome }) => `${step}: ${outcome.toFixed(3)}`).join(', ');
  return `Every ${between} steps it was tried on dev questions; this is the adapter after ${chosen.step} steps, which had the most reward. Right answers there, by steps:\n${outcomes}.`;
}

/** First and last steps that a card takes the mean of, since each has few questions. */
const STEPS_AVERAGED = 5;

/** Whether it was learned from demonstrations, whose rewards move nothing. */
const isSupervised = ({ trainer }: TrainConfig): boolean => trainer === 'demonstrations';

/** Metrics that a card shows. */
function shownMetrics(config: TrainConfig): string[] {
  const searching = ['turns', 'decomposition_ratio/parallelizable'];
  if (isSupervised(config)) return ['loss', ...searching];
  return ['reward', 'rewards/outcome', ...searching, 'kl', 'entropy'];
}

/** With what it was trained. */
function trainingText(config: TrainConfig): string {
  const { trainer, rewards, rollout, seed } = config;
  const { steps, questionsPerStep, groupSize, learningRate } = trainerSettings(config);
  const { clip, beta } = config.grpo ?? config.ppo ?? config.zerosearch ?? {};
  const prompt = `Prompt: ${rollout.prompt}.`;
  if (isSupervised(config))
    return `trained on demonstrations: ${steps} steps of
${questionsPerStep} questions with ${groupSize} each, learning rate ${learningRate}, seed ${seed}. ${prompt}`;
  return `trained with ${trainer.toUpperCase()}: ${steps} steps of
${questionsPerStep} questions with ${groupSize} rollouts each, learning rate ${learningRate}, clip ${clip}, beta ${beta}, seed ${seed}.
Rewards: ${JSON.stringify(rewards)}. ${prompt}`;
}

/** Writes an adapter's `README.md` from its configuration and metrics. */
export async function writeAdapterCard(folder: string, options: CardOptions): Promise<void> {
  const { name, model, base, purpose } = options;
  const config = parseTrainConfig(await readJson(join(folder, TRAIN_CONFIG_FILE)));
  const lines = (await readFile(join(folder, 'metrics.jsonl'), 'utf8')).trimEnd().split('\n');
  const metrics = lines.map((line) => JSON.parse(line) as Record<string, number>);
  const over = (some: typeof metrics, name: string): string =>
    (mean(some, (step) => step[name]) ?? 0).toFixed(3);
  const [first, last] = [metrics.slice(0, STEPS_AVERAGED), metrics.slice(-STEPS_AVERAGED)];
  const baseCard = join(base, 'README.md');
  const baseText = existsSync(join(folder, baseCard)) ? `[${model}](${baseCard})` : model;
  const { rank, alpha } = config.lora;
  const dev = (await readFile(join(folder, 'dev.jsonl'), 'utf8')).trimEnd().split('\n');
  const curve = dev.map((line) => JSON.parse(line) as DevPoint & { chosen: boolean });
  const card = `---
license: apache-2.0
base_model: ${base}
library_name: peft
---

# ${name}

A LoRA adapter (rank ${rank}, alpha ${alpha}, PEFT's format) over ${baseText}, ${trainingText(config)} Everything is in \`train_config.json\`, every step in \`metrics.jsonl\`.${earlierSentence(options)}

| training metric | first ${STEPS_AVERAGED} steps | last ${STEPS_AVERAGED} steps |
| --- | --- | --- |
${shownMetrics(config)
  .map((name) => `| ${name} | ${over(first, name)} | ${over(last, name)} |`)
  .join('\n')}

${devText(curve)}

Results are in the reports. ${purpose}
`;
  await writeFileSafely(join(folder, 'README.md'), card);
}
