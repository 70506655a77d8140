import { existsSync } from 'node:fs';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { beforeAll, describe, expect, it, vi } from 'vitest';
import { withFolderLock } from '../../lib/io/folder-lock.js';
import { configHash } from '../../lib/io/provenance.js';
import { createRemoteRetriever } from '../../lib/retrieval/remote.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { startRetrievalServer } from '../../lib/retrieval/server.js';
import { presetRewards } from '../../lib/rewards/presets.js';
import type { Reward } from '../../lib/rewards/reward.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { parseSafetensors } from '../../lib/tensor/safetensors.js';
import { withSettings, type TrainConfig } from '../../lib/training/config.js';
import {
  BEST_ADAPTER,
  keptAdapter,
  runTraining,
  type TrainingRun,
} from '../../lib/training/run.js';
import { linesOf as readLines } from '../commands/tiny-world.js';
import { temporaryFolder } from '../folder.js';
import { cases } from '../full.js';
import { closing } from '../servers.js';
import { chattyModel, TASK, tinyTraining } from './tiny.js';

const root = temporaryFolder();
await useBackend('wasm');
const model = chattyModel();

const hashOf = (config: TrainConfig): string => {
  const hashed = withSettings(config, { maxTokensPerPass: undefined });
  return configHash({ config: hashed, inputsHash: 'inputs' });
};

const run = (
  name: string,
  config = tinyTraining(),
  more: Partial<TrainingRun> = {},
): Promise<void> =>
  runTraining({ config, model, ...TASK, inputsHash: 'inputs', folder: join(root, name), ...more });

type Line = Record<string, number> & { step: number };
const linesOf = <T = Line>(name: string, file = 'metrics.jsonl'): T[] =>
  readLines<T>(join(root, name, file));
/** Everything except times. */
const timeless = (lines: Line[]): unknown[] =>
  lines.map((line) =>
    Object.fromEntries(Object.entries(line).filter(([key]) => !key.endsWith('_seconds'))),
  );
const adapterOf = (name: string, folder = 'adapter'): Promise<Buffer> =>
  readFile(join(root, name, folder, 'adapter_model.safetensors'));

describe('runTraining', () => {
  const description = { data: join(root, 'my-data'), preset: tinyTraining() };
  beforeAll(() => run('whole', tinyTraining(), { description }));

  it('rejects processes that cannot train the same model', async () => {
    for (const processes of [0, 1.5])
      await expect(run('refused', tinyTraining(), { processes })).rejects.toThrow(/integer/);
    await expect(run('refused', tinyTraining(), { processes: 2 })).rejects.toThrow(/modelFolder/);
  });

  it('writes run.json with a relative path to its data', async () => {
    const text = await readFile(join(root, 'whole', 'run.json'), 'utf8');
    const written = JSON.parse(text) as object;
    expect(written).toMatchObject({ config: tinyTraining(), data: join('..', 'my-data') });
    // A finished run is not described again.
    await run('whole');
    expect(await readFile(join(root, 'whole', 'run.json'), 'utf8')).toBe(text);
  });

  it("writes one line of metrics per step with TRL's names", async () => {
    const lines = linesOf('whole');
    expect(lines.map(({ step }) => step)).toEqual([0, 1, 2, 3]);
    const parts = ['outcome', 'decomposition', 'search_count', 'format'];
    const rewards = parts.map((part) => `rewards/${part}`);
    const names =
      'reward reward_std frac_reward_zero_std kl entropy loss grad_norm clip_ratio ' +
      'completions/mean_length completions/clipped_ratio learning_rate alarms';
    for (const line of lines) {
      for (const name of [...names.split(' '), ...rewards])
        expect(line, name).toHaveProperty([name]);
      const sum = rewards.map((name) => line[name]).reduce((a, b) => a + b);
      expect(line.reward).toBeCloseTo(sum, 9);
    }
  });

  it('writes an adapter and its configuration for PEFT', async () => {
    const folder = join(root, 'whole', 'adapter');
    const json = async (name: string): Promise<unknown> =>
      JSON.parse(await readFile(join(folder, name), 'utf8'));
    expect(await json('adapter_config.json')).toMatchObject({
      peft_type: 'LORA',
      r: 2,
      lora_alpha: 4,
    });
    expect(await json('train_config.json')).toEqual(tinyTraining());
    const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight';
    expect(parseSafetensors(await adapterOf('whole')).get(name)!.shape).toEqual([2, 16]);
  });

  it('writes every trajectory with step, rewards and advantage; each group has mean advantage 0', async () => {
    type Recorded = { step: number; advantage: number; questionId: string };
    const trajectories = linesOf<Recorded>('whole', 'trajectories.jsonl');
    expect(trajectories).toHaveLength(4 * 3 * 4);
    for (let i = 0; i < trajectories.length; i += 4) {
      const group = trajectories.slice(i, i + 4);
      expect(new Set(group.map(({ questionId }) => questionId)).size).toBe(1);
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 9);
    }
  });

  it('repeats the steps after the last checkpoint when killed, with one line per step', async () => {
    const config = tinyTraining({ checkpointEvery: 2 });
    const killed = run('killed', config, {
      onStep: (step) => {
        if (step === 2) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    expect(linesOf('killed')).toHaveLength(3);
    await run('killed', config);
    expect(timeless(linesOf('killed'))).toEqual(timeless(linesOf('whole')));
  });

  it('gives the same metrics, trajectories and adapter when stopped and resumed, and keeps the given steps', async () => {
    const keepSteps = [1, 3, 4];
    const controller = new AbortController();
    const stopped = run('kept', tinyTraining(), {
      keepSteps,
      signal: controller.signal,
      onStep: (step) => {
        if (step === 1) controller.abort(new Error('stopped by the test'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    expect(linesOf('kept')).toHaveLength(2);
    const early = await adapterOf('kept', keptAdapter(1));
    for (const later of [keptAdapter(3), 'adapter'])
      expect(existsSync(join(root, 'kept', later))).toBe(false);
    await run('kept', tinyTraining(), { keepSteps });
    expect(timeless(linesOf('kept'))).toEqual(timeless(linesOf('whole')));
    const [kept, whole] = ['kept', 'whole'].map((name) => linesOf(name, 'trajectories.jsonl'));
    expect(kept).toEqual(whole);
    for (const last of ['adapter', keptAdapter(4)])
      expect((await adapterOf('kept', last)).equals(await adapterOf('whole')), last).toBe(true);
    expect((await adapterOf('kept', keptAdapter(1))).equals(early)).toBe(true);
    for (const other of [await adapterOf('kept', keptAdapter(3)), await adapterOf('whole')])
      expect(early.equals(other)).toBe(false);
    for (const file of ['adapter_config.json', 'train_config.json']) {
      const [early, last] = [keptAdapter(1), 'adapter'].map((name) =>
        join(root, 'kept', name, file),
      );
      expect(await readFile(early, 'utf8')).toBe(await readFile(last, 'utf8'));
    }
  });

  describe('keeps as the best', () => {
    /** By step: the mean of two is highest in the second pair. */
    const rewardAt = [0, 1, 3, 2, 2, 0];
    const keepSteps = [2, 4, 6];
    const config = tinyTraining({
      checkpointEvery: 2,
      settings: { steps: 6, questionsPerStep: 2, groupSize: 2 },
    });
    let step = 0;
    const rewards: Reward[] = [
      { name: 'by_step', score: () => rewardAt[step] },
      // So that groups differ in reward.
      { name: 'place', score: (rollout, group) => 0.001 * group.indexOf(rollout) },
    ];
    /** Trains from a step on, until it is killed or stopped before `until`. */
    async function train(name: string, from: number, until = 6, isKilled = false): Promise<void> {
      step = from;
      const controller = new AbortController();
      const onStep = (done: number): void => {
        step = done + 1;
        if (step < until || until === 6) return;
        if (isKilled) throw new Error('stopped by the test');
        controller.abort(new Error('stopped by the test'));
      };
      const training = run(name, config, { rewards, keepSteps, onStep, signal: controller.signal });
      if (until === 6) await training;
      else await expect(training).rejects.toThrow('stopped by the test');
    }
    beforeAll(() => train('best', 0));

    it('the adapter of the steps with the highest reward', async () => {
      const best = await adapterOf('best', BEST_ADAPTER);
      expect(best.equals(await adapterOf('best', keptAdapter(4)))).toBe(true);
      for (const other of [keptAdapter(2), 'adapter'])
        expect(best.equals(await adapterOf('best', other))).toBe(false);
      expect((await readdir(join(root, 'best', BEST_ADAPTER))).sort()).toEqual(
        (await readdir(join(root, 'best', 'adapter'))).sort(),
      );
    });

    const courses: [string, (name: string) => Promise<void>][] = [
      [
        'killed before and after',
        async (name) => {
          await train(name, 0, 3, true);
          await train(name, 2, 5, true);
          await train(name, 4);
        },
      ],
      [
        'stopped between checkpoints',
        async (name) => {
          await train(name, 0, 1);
          await train(name, 1, 3);
          await train(name, 3, 5);
          await train(name, 5);
        },
      ],
    ];
    it.each(courses.slice(0, cases(1, 2)))('the same when %s', async (how, course) => {
      await course(how);
      for (const kept of [BEST_ADAPTER, 'adapter'])
        expect((await adapterOf(how, kept)).equals(await adapterOf('best', kept)), kept).toBe(true);
      expect((await readdir(join(root, how))).sort()).toEqual(
        (await readdir(join(root, 'best'))).sort(),
      );
    });

    it('none if the rollouts are not by the policy', async () => {
      const settings = { steps: 1, questionsPerStep: 1, groupSize: 5 };
      await run('imitation', tinyTraining({ trainer: 'rejection-sampling', settings }));
      expect(existsSync(join(root, 'imitation', 'adapter'))).toBe(true);
      expect(existsSync(join(root, 'imitation', BEST_ADAPTER))).toBe(false);
    });
  });

  it('rejects steps to keep that do not exist or are past', async () => {
    for (const step of [0, 2.5, 5])
      await expect(run('never', tinyTraining(), { keepSteps: [1, step] })).rejects.toThrow(
        `Expected steps to keep to be integers from 1 to 4, but got ${step}.`,
      );
    expect(existsSync(join(root, 'never'))).toBe(false);
    await expect(run('whole', tinyTraining(), { keepSteps: [4, 2] })).rejects.toThrow(
      /to have the adapter after step 4, but the run is at step 4/,
    );
  });

  it('rejects a folder with a run of another configuration, and names both', async () => {
    const other = tinyTraining({ seed: 2 });
    const config = tinyTraining({ checkpointEvery: 2 });
    await expect(run('killed', other)).rejects.toThrow(
      new RegExp(
        `configuration ${hashOf(other)}, but it holds one of ${hashOf(config)}: seed is 1 there, 2 here;.*checkpointEvery is 2 there, .* here. Choose another folder`,
      ),
    );
  });

  it('accepts a list of rewards, and only resumes with the same names and weights', async () => {
    const config = tinyTraining({ settings: { steps: 1 } });
    const brief: Reward = { name: 'brief', score: ({ searchTurns }) => -searchTurns.length };
    const rewards = [...presetRewards('paper'), brief];
    await run('own', config, { rewards });
    const [line] = linesOf('own');
    expect(line['rewards/brief']).toBeCloseTo(-line.turns, 9);
    expect((await adapterOf('own')).toString('latin1')).toContain(
      '"rewards":"1 outcome, 1 decomposition, 1 search_count, 1 format, 1 brief"',
    );
    for (const other of [undefined, [brief], [...presetRewards('paper'), { ...brief, weight: 2 }]])
      await expect(run('own', config, { rewards: other })).rejects.toThrow('Choose another folder');
    await run('own', config, { rewards });
    expect(linesOf('own')).toHaveLength(1);
  });

  const rates = [
    [1e6, 1],
    [1e38, 100],
    [1e6, 100],
    [3e37, 100],
  ];
  it.each(rates.slice(0, cases(2, 4)))(
    'stops without an adapter if a learning rate of %d makes the weights non-finite, with a checkpoint every %d steps',
    async (learningRate, checkpointEvery) => {
      const name = `infinite-${learningRate}-${checkpointEvery}`;
      const config = tinyTraining({ checkpointEvery, settings: { learningRate, warmupSteps: 0 } });
      await expect(run(name, config)).rejects.toThrow(
        /: the update is not finite: lower grpo.learningRate|Lower (its|the) learning rate/,
      );
      for (const adapter of ['adapter', BEST_ADAPTER])
        expect(existsSync(join(root, name, adapter)), adapter).toBe(false);
    },
  );

  it('stops without an adapter if a reward is NaN, and names the reward', async () => {
    const rewards: Reward[] = [{ name: 'mine', score: () => NaN }];
    await expect(run('nan', tinyTraining({ checkpointEvery: 1 }), { rewards })).rejects.toThrow(
      'Expected the reward "mine" to be a finite number on the question',
    );
    for (const name of ['adapter', BEST_ADAPTER])
      expect(existsSync(join(root, 'nan', name)), name).toBe(false);
    const score = (): number => {
      throw new Error('no such field');
    };
    await expect(
      run('thrown', tinyTraining(), { rewards: [{ name: 'mine', score }] }),
    ).rejects.toThrow(/The reward "mine" failed on the question .*: no such field/);
  });

  it('waits for a slow server no longer than the deadline, and gives no reward to rollouts that timed out', async () => {
    let numRequests = 0;
    const slow: Retriever = {
      name: 'slow',
      retrieve: async (queries, options) => {
        if (++numRequests % 4 === 0) await delay(30_000, undefined, options);
        return TASK.retriever.retrieve(queries, options);
      },
    };
    const { url } = closing(await startRetrievalServer(slow));
    const settings = { steps: cases(3, 8), groupSize: 8 };
    await run('slow', tinyTraining({ settings, retrievalDeadlineMs: 200 }), {
      retriever: createRemoteRetriever({ url }),
    });
    const steps = linesOf('slow');
    const rollouts = linesOf<Trajectory & Line>('slow', 'trajectories.jsonl');
    const late = rollouts.filter(({ finish }) => finish === 'timeout');
    expect(late.length).toBeGreaterThan(0);
    for (const { step, ...metrics } of steps) {
      const [ofStep, lateOnes] = [rollouts, late].map((all) => all.filter((t) => t.step === step));
      expect(metrics.frac_rollouts_timed_out).toBeCloseTo(lateOnes.length / ofStep.length, 12);
      expect(metrics.retrieval_timeouts > 0).toBe(lateOnes.length > 0);
      expect(metrics.retrievals_failed).toBe(0);
      // On a busy machine; without a deadline, a request would take 10 s to fail.
      expect(metrics.p99_rollout_seconds).toBeLessThan(9);
    }
    for (const { rewards, advantage, segments } of late) {
      expect(new Set(Object.values(rewards!))).toEqual(new Set([null]));
      expect(advantage).toBe(0);
      // The hanging search was not answered with an empty result.
      expect(segments.at(-1)!.kind).toBe('policy');
    }
  });

  it('rejects a folder in use by another process', async () => {
    await withFolderLock(join(root, 'taken'), async () => {
      await expect(run('taken')).rejects.toThrow(/no other process/);
    });
  });

  it('resumes from the previous checkpoint if one is damaged, with the same result', async () => {
    const config = tinyTraining({ checkpointEvery: 2 });
    await rm(join(root, 'killed', 'checkpoint', '4', 'optimizer.safetensors'));
    const halfWritten = join(root, 'killed', 'adapter', 'train_config.json.1-2.partial');
    await writeFile(halfWritten, '');
    const said = vi.spyOn(console, 'error').mockReturnValue();
    await run('killed', config);
    expect(said.mock.lastCall![0]).toContain(join('checkpoint', '4') + ' is damaged');
    said.mockRestore();
    expect(existsSync(halfWritten)).toBe(false);
    expect(timeless(linesOf('killed'))).toEqual(timeless(linesOf('whole')));
  });
});
