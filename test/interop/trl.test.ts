/**
 * Two steps of TRL's GRPOTrainer on an export, with the Python of
 * PARALLELSEARCH_TRL_PYTHON.
 */
import { existsSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { loadPassages, loadQuestions } from '../../lib/data/flashrag.js';
import { auditRow } from '../../lib/interop/audit.js';
import { findCheckpoint, importRollouts, type RecordedRollout } from '../../lib/interop/import.js';
import { readTokenRows } from '../../lib/interop/token-rows.js';
import { writeTrl, readTrlRollouts, trlRolloutFiles } from '../../lib/interop/trl.js';
import { readParquet } from '../../lib/io/parquet.js';
import { readTokenizer } from '../../lib/policy/folders/limited-tokenizer.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { presetRewards } from '../../lib/rewards/presets.js';
import { scoreRollout, scoringInputFromSegments } from '../../lib/rewards/reward.js';
import { groupAdvantages } from '../../lib/training/advantages.js';
import { splitIntoGroups } from '../../lib/training/rollout-groups.js';
import { grpoVariant } from '../../lib/training/variants.js';
import { temporaryFolder } from '../folder.js';
import { MODEL, trainingExport } from './exports.js';
import { PATIENCE_MS, runPython, trlPython } from './python.js';

const root = temporaryFolder();
const folder = path.join(root, 'trl');
const GROUP_SIZE = 4;
/** Overrides for a small model on a CPU. */
const SMALL = {
  max_steps: 2,
  num_generations: GROUP_SIZE,
  per_device_train_batch_size: 2 * GROUP_SIZE,
  gradient_accumulation_steps: 1,
  steps_per_generation: 1,
  max_completion_length: 60,
  save_steps: 2,
  use_vllm: 'False',
  use_cpu: 'True',
  bf16: 'False',
  gradient_checkpointing: 'False',
  output_dir: 'checkpoints',
};

describe.skipIf(!trlPython)(
  'TRL (needs PARALLELSEARCH_TRL_PYTHON)',
  { timeout: PATIENCE_MS },
  () => {
    const steps: { step: number; rollouts: RecordedRollout[] }[] = [];
    beforeAll(async () => {
      const questions = (await loadQuestions()).filter((_, i) => i % 50 === 0);
      const server = await startRetrievalServer(createBm25Retriever(await loadPassages()));
      const exported = { questions, retriever: server.url, recordTokens: true };
      await writeTrl(folder, trainingExport(exported));
      const settings = Object.entries(SMALL).flatMap(([name, value]) => [`--${name}`, `${value}`]);
      const args = ['train.py', '--config', 'config.yaml', ...settings];
      await runPython(trlPython!, args, folder).finally(() => server.close());
      for await (const step of readTrlRollouts(path.join(folder, 'checkpoints', 'completions')))
        steps.push(step);
    }, PATIENCE_MS);

    it('trains two steps with searches', () => {
      expect(steps.map(({ step, rollouts }) => [step, rollouts.length])).toEqual([
        [1, 2 * GROUP_SIZE],
        [2, 2 * GROUP_SIZE],
      ]);
      const texts = steps.flatMap(({ rollouts }) => rollouts.flatMap(({ segments }) => segments));
      const found = texts.filter(
        ({ kind, text }) => kind === 'information' && text.includes('Doc 1(Title: '),
      );
      expect(found.length).toBeGreaterThan(4);
    });

    it('records token ids that pass the audit', async () => {
      const completions = path.join(folder, 'checkpoints', 'completions');
      const tokenizer = await readTokenizer(MODEL);
      let numRows = 0;
      for (const name of trlRolloutFiles(completions))
        for (const row of await readParquet(path.join(completions, name)))
          for (const tokens of readTokenRows(row)) {
            numRows++;
            expect(tokens.format).toBe('trl');
            const outcomes = auditRow(tokens, { tokenizer, template: null });
            for (const check of ['prefix', 'mask_length', 'token_ids', 'information'] as const)
              expect(outcomes[check], check).toBeNull();
          }
      expect(numRows).toBe(4 * GROUP_SIZE);
    });

    it('reads the pinned objective from config.yaml', async () => {
      const names = [
        'loss_type',
        'epsilon',
        'epsilon_high',
        'scale_rewards',
        'multi_objective_aggregation',
        'mask_truncated_completions',
        'importance_sampling_level',
        'use_bias_correction_kl',
        'vllm_importance_sampling_correction',
        'vllm_importance_sampling_mode',
        'vllm_importance_sampling_clip_max',
        'vllm_importance_sampling_clip_min',
      ];
      const script = [
        'import json, sys',
        'from trl import GRPOConfig, ModelConfig, TrlParser',
        "arguments = ['--config', 'config.yaml', '--use_cpu', 'True', '--bf16', 'False']",
        'config, _ = TrlParser((GRPOConfig, ModelConfig)).parse_args_and_config(arguments)',
        'print(json.dumps([getattr(config, name) for name in sys.argv[1:]]))',
      ];
      const output = await runPython(trlPython!, ['-c', script.join('\n'), ...names], folder);
      const values = JSON.parse(output.trim().split('\n').at(-1)!) as unknown[];
      const { importanceSamplingMode, importanceSamplingClipMax, ...variant } = grpoVariant({
        clip: 0.2,
        beta: 0.001,
      });
      expect(Object.fromEntries(names.map((name, i) => [name, values[i]]))).toEqual({
        loss_type: 'dapo',
        epsilon: variant.clip,
        epsilon_high: variant.epsilonHigh,
        scale_rewards: variant.scaleRewards,
        multi_objective_aggregation: variant.multiObjectiveAggregation,
        mask_truncated_completions: variant.maskTruncatedCompletions,
        importance_sampling_level: variant.importanceSamplingLevel,
        use_bias_correction_kl: false,
        vllm_importance_sampling_correction: true,
        vllm_importance_sampling_mode: importanceSamplingMode,
        vllm_importance_sampling_clip_max: importanceSamplingClipMax,
        vllm_importance_sampling_clip_min: null,
      });
    });

    it('computes the same rewards', () => {
      for (const { segments, truth, score } of steps.flatMap(({ rollouts }) => rollouts)) {
        const rollout = scoringInputFromSegments(segments, {
          goldenAnswers: truth.target,
          questionType: truth.shape ?? undefined,
        });
        expect(score).toBe(
          Math.fround(scoreRollout(presetRewards('paper'), rollout).components.total),
        );
      }
    });

    it('computes the same advantages, except for an epsilon of 1e-4', () => {
      for (const { rollouts } of steps)
        for (const group of splitIntoGroups(rollouts, GROUP_SIZE)) {
          const scores = group.map(({ score }) => score!);
          const ours = groupAdvantages(scores, GROUP_SIZE);
          const mean = scores.reduce((sum, score) => sum + score, 0) / GROUP_SIZE;
          const deviation = Math.sqrt(
            scores.reduce((sum, score) => sum + (score - mean) ** 2, 0) / (GROUP_SIZE - 1),
          );
          for (const [i, { advantage }] of group.entries())
            expect(advantage).toBeCloseTo((ours[i] * (deviation + 1e-6)) / (deviation + 1e-4), 5);
        }
      const advantages = steps.flatMap(({ rollouts }) =>
        rollouts.map(({ advantage }) => advantage),
      );
      expect(advantages.some((advantage) => advantage !== 0)).toBe(true);
    });

    it('writes rollouts and weights that can be imported', async () => {
      const questions = await loadQuestions();
      const options = {
        folder: path.join(root, 'run'),
        questions,
        method: 'parallelsearch',
        trainer: 'trl',
      };
      const imported = await importRollouts(
        readTrlRollouts(path.join(folder, 'checkpoints', 'completions')),
        options,
      );
      expect(imported).toEqual({
        numSteps: 2,
        numRollouts: 4 * GROUP_SIZE,
        numDifferent: 0,
        numUnscored: 0,
        numUnknown: 0,
        numAmbiguous: 0,
      });
      const checkpoint = findCheckpoint(path.join(folder, 'checkpoints'))!;
      expect(existsSync(path.join(checkpoint, 'tokenizer.json'))).toBe(true);
      expect(readdirSync(path.join(folder, 'checkpoints'))).toContain('checkpoint-2');
    });
  },
);
