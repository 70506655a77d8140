/**
 * A training on verl: Parquet files, rewards, agent loop, configuration and a launch
 * script in one folder.
 */
import { cp } from 'node:fs/promises';
import path from 'node:path';
import { writeFileSafely } from '../io/files.js';
import { packagePath } from '../io/paths.js';
import { rewardOptions } from '../rewards/presets.js';
import {
  PLAIN_TEMPLATE,
  pythonRollout,
  requireTraining,
  writeExport,
  type TrainingExport,
} from './export.js';
import { rewardKeywords } from './python.js';
import { printYaml } from './yaml.js';

/**
 * The primary configuration: verl's own, then the paper's settings, then those of this
 * export.
 */
function printConfig(handOver: TrainingExport): string {
  const { algorithm, rewards } = requireTraining(handOver.method);
  const { model, method, promptForm } = handOver;
  const own = {
    actor_rollout_ref: {
      model: {
        path: model,
        ...(promptForm === 'chat' ? {} : { custom_chat_template: PLAIN_TEMPLATE }),
      },
    },
    reward: { custom_reward_function: { reward_kwargs: rewardKeywords(rewardOptions(rewards)) } },
    trainer: { experiment_name: method },
  };
  return `# ${method}: verl's defaults, then paper.yaml and ${algorithm}.yaml beside this, then what follows.
hydra:
  searchpath: [pkg://verl.trainer.config]
defaults: [ppo_trainer, paper, ${algorithm}, _self_]
root: ??? # this folder; launch.sh fills it in
data:
  train_files: \${root}/data/train.parquet
  val_files: \${root}/data/val.parquet
${printYaml(own)}`;
}

/**
 * Writes the folder. Returns the numbers of questions. @throws Error where the questions
 * do not suffice
 */
export async function writeVerl(
  folder: string,
  handOver: TrainingExport,
): Promise<{ train: number; val: number }> {
  const template = (...parts: string[]): string =>
    packagePath('data', 'templates', 'verl', ...parts);
  const { algorithm } = requireTraining(handOver.method);
  const numbers = await writeExport(folder, handOver);
  const copies = {
    'agent_loop.py': 'parallelsearch/agent_loop.py',
    'check.py': 'check.py',
    'launch.sh': 'launch.sh',
    'README.md': 'README.md',
    ...Object.fromEntries(
      ['paper', algorithm].map((name) => [`config/${name}.yaml`, `config/${name}.yaml`]),
    ),
  };
  for (const [from, to] of Object.entries(copies)) await cp(template(from), path.join(folder, to));
  const loop = { name: 'parallelsearch', _target_: 'parallelsearch.agent_loop.SearchAgentLoop' };
  const loops = [{ ...loop, ...pythonRollout(handOver) }];
  await writeFileSafely(
    path.join(folder, 'agent_loops.yaml'),
    `${JSON.stringify(loops, null, 2)}\n`,
  );
  await writeFileSafely(path.join(folder, 'config', 'train.yaml'), printConfig(handOver));
  return numbers;
}
