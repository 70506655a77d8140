/** verl: exports a training setup as one folder, and reads the rollouts verl records. */
import { readdirSync } from 'node:fs';
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { z } from 'zod';
import { readJsonLines, writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { rewardConstants } from '../rewards/presets.js';
import { joinTurns } from '../rollout/recorded.js';
import { ambiguity, splitTranscript } from '../text/response.js';
import {
  exportedRollout,
  PLAIN_TEMPLATE,
  pythonRollout,
  requireExportable,
  rewardKeywords,
  writeExport,
  type TrainingExport,
} from './export.js';
import { truthSchema, type RecordedRollout, type RecordedStep } from './import.js';

/** JSON for OmegaConf: `${`, backslashes before it and line ends of YAML are text. */
const literalJson = (value: unknown, indent?: number): string =>
  JSON.stringify(
    value,
    (_, inner: unknown) =>
      typeof inner === 'string' ? inner.replace(/(\\*)\$\{/g, '$1$1\\${') : inner,
    indent,
  ).replace(
    /[\u0085\u2028\u2029]/g,
    (end) => `\\u${end.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** YAML for OmegaConf: mappings as lines, the rest as JSON. */
function formatYaml(value: object, indent = ''): string {
  return Object.entries(value)
    .map(([key, inner]: [string, unknown]) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? `${indent}${key}:\n${formatYaml(inner, `${indent}  `)}`
        : `${indent}${key}: ${literalJson(inner)}\n`,
    )
    .join('');
}

/** The main configuration: verl's defaults, the paper's settings, this export's. */
function formatConfig(training: TrainingExport): string {
  const { algorithm, rewards } = requireExportable(training.method);
  const { model, method, promptForm } = training;
  const template = promptForm !== 'chat' && { custom_chat_template: PLAIN_TEMPLATE };
  const reward_kwargs = rewardKeywords(rewardConstants(rewards), exportedRollout(training));
  const settings = {
    actor_rollout_ref: { model: { path: model, ...template } },
    reward: { custom_reward_function: { reward_kwargs } },
    trainer: { experiment_name: method },
  };
  return `# ${method}: verl's defaults, overridden by paper.yaml and ${algorithm}.yaml in this folder, then by the settings below.
hydra:
  searchpath: [pkg://verl.trainer.config]
defaults: [ppo_trainer, paper, ${algorithm}, _self_]
root: ??? # this folder, set by launch.sh
data:
  train_files: \${root}/data/train.parquet
  val_files: \${root}/data/val.parquet
${formatYaml(settings)}`;
}

/** Writes the folder of a training setup for verl. Returns the numbers of questions. */
export async function writeVerl(
  folder: string,
  training: TrainingExport,
): Promise<{ train: number; val: number }> {
  const { algorithm } = requireExportable(training.method);
  const numbers = await writeExport(folder, training);
  const copies = [
    ['agent_loop.py', 'parallelsearch/agent_loop.py'],
    ...['check.py', 'launch.sh', 'README.md', 'config/paper.yaml', `config/${algorithm}.yaml`].map(
      (name) => [name, name],
    ),
  ];
  for (const [from, to] of copies)
    await cp(packagePath('data', 'templates', 'verl', from), path.join(folder, to));
  const loop = { name: 'parallelsearch', _target_: 'parallelsearch.agent_loop.SearchAgentLoop' };
  const loops = [{ ...loop, ...pythonRollout(training) }];
  await writeFileSafely(path.join(folder, 'agent_loops.yaml'), `${literalJson(loops, 2)}\n`);
  await writeFileSafely(path.join(folder, 'config', 'train.yaml'), formatConfig(training));
  return numbers;
}

const lineSchema = z
  .object({ input: z.string(), output: z.string(), gts: truthSchema, score: z.number().nullable() })
  .transform(({ input, output, gts, score }): RecordedRollout => {
    const segments = splitTranscript(joinTurns(output));
    return { prompt: input, segments, truth: gts, score, ambiguous: ambiguity(segments) };
  });

/** The files `STEP.jsonl` of `trainer.rollout_data_dir`, in the order of steps. */
export const verlRolloutFiles = (folder: string): string[] =>
  readdirSync(folder)
    .filter((name) => /^\d+\.jsonl$/.test(name))
    .sort((a, b) => parseInt(a) - parseInt(b));

/** @throws Error naming a line that verl did not write */
export async function* readVerlRollouts(folder: string): AsyncGenerator<RecordedStep> {
  for (const name of verlRolloutFiles(folder)) {
    const rollouts: RecordedRollout[] = [];
    const parse = (value: unknown): RecordedRollout => lineSchema.parse(value);
    const expected = 'input, output, gts and score from verl';
    for await (const rollout of readJsonLines(path.join(folder, name), parse, expected))
      rollouts.push(rollout);
    yield { step: parseInt(name), rollouts };
  }
}
