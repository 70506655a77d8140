/** A synthetic run. */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import { withSettings } from '../../lib/training/config.js';
import { trainingPreset } from '../../lib/training/presets.js';
import type { RunDescription } from '../../lib/training/run.js';
import { INJECTION, syntheticQuestion, trajectoryLine } from '../pages/viewer/synthetic.js';

const preset = trainingPreset('parallelsearch', 'instruct-1', 7);
export const RUN: RunDescription = {
  config: withSettings(preset, { steps: 30 }),
  preset,
  provenance: { seed: 7, commit: 'unknown', configHash: 'synthetic', backend: 'none' },
};

/** Appends a step: metrics, and two rollouts on each of two questions. */
export function writeStep(
  folder: string,
  step: number,
  metrics: Record<string, number> = {},
): void {
  mkdirSync(folder, { recursive: true });
  const line = {
    step,
    reward: 0.5 + step / 10,
    turns: 2 - step / 10,
    kl: step / 1000,
    entropy: 0.4,
    grad_norm: 0.2,
    'rewards/outcome': 0.6,
    'rewards/decomposition': 0.2,
    'rewards/search_count': -0.3,
    'rewards/format': 0,
    'rewards/one at a time': -0.25,
    'completions/mean_length': 90,
    'completions/clipped_ratio': 0,
    clip_ratio: 0,
    decomposition_ratio: 0.5,
    'decomposition_ratio/parallelizable': 0.7,
    'share/parallelizable': 0.75,
    'decomposition_ratio/sequential': 0,
    'share/sequential': step % 2 === 0 ? 0 : 0.25,
    frac_reward_zero_std: 0.25,
    rollout_seconds: 3,
    update_seconds: 2,
    alarms: [],
    ...metrics,
  };
  appendFileSync(path.join(folder, 'metrics.jsonl'), `${JSON.stringify(line)}\n`);
  const rollouts = [0, 2].flatMap((i) => {
    const question = { ...syntheticQuestion(i), question: `Step ${step}: ${i}? ${INJECTION}` };
    const rewards = { outcome: 1, decomposition: 0.45, search_count: 0, format: 0, total: 1.45 };
    const extra = { step, method: 'parallelsearch', rewards, advantage: 0.7 };
    const worse = { rewards: { ...rewards, outcome: 0, total: 0.45 }, advantage: -0.7 };
    return [
      trajectoryLine(question, [{ queries: ['Town', 'River'] }], question.goldenAnswers[0], extra),
      trajectoryLine(question, [{ queries: [INJECTION] }], 'Nowhere', { ...extra, ...worse }),
    ];
  });
  const lines = rollouts.map((rollout) => `${JSON.stringify(rollout)}\n`);
  appendFileSync(path.join(folder, 'trajectories.jsonl'), lines.join(''));
}
