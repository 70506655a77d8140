import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as tf from '@tensorflow/tfjs-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseTrainConfig, type TrainConfig } from '../../lib/methods/config.js';
import { configHash } from '../../lib/io/hash.js';
import type { Model } from '../../lib/policy/model-folder.js';
import { parseSafetensors } from '../../lib/policy/safetensors.js';
import { createBm25Retriever } from '../../lib/retrieval/bm25.js';
import { addReward } from '../../lib/rewards/reward.js';
import { useBackend } from '../../lib/tensor/backend.js';
import { keptAdapter, runGrpo, type GrpoRun } from '../../lib/training/run-grpo.js';
import { chattyModel, PASSAGES, QUESTIONS, SINGLE } from './tiny.js';

const retriever = createBm25Retriever(PASSAGES);

const configOf = (more: { grpo?: object; rewards?: object; [key: string]: unknown } = {}): TrainConfig =>
  parseTrainConfig({
    method: 'parallelsearch',
    model: 'tiny',
    checkpointEvery: 100,
    ...more,
    rollout: { prompt: 'parallel', splitQueries: true, maxSearchTurns: 2, maxNewTokens: 10 },
    rewards: { preset: 'paper', ...more.rewards },
    lora: { rank: 2, alpha: 4 },
    grpo: {
      steps: 4,
      questionsPerStep: 3,
      groupSize: 4,
      maxTokensPerPass: 512,
      learningRate: 0.02,
      ...more.grpo,
    },
  });

let root: string;
let model: Model;
let startValues: Record<string, Float32Array>;
beforeAll(async () => {
  await useBackend('wasm');
  root = await mkdtemp(join(tmpdir(), 'grpo-'));
  model = chattyModel();
  startValues = Object.fromEntries(
    Object.entries(model.weights).map(([key, t]) => [key, t.dataSync<'float32'>().slice()]),
  );
});
afterAll(() => rm(root, { recursive: true, force: true }));

const hashOf = (config: TrainConfig): string => configHash({ config, inputsHash: 'inputs' });

const run = (name: string, config = configOf(), more: Partial<GrpoRun> = {}): Promise<void> =>
  runGrpo({
    config,
    model,
    questions: QUESTIONS,
    retriever,
    inputsHash: 'inputs',
    folder: join(root, name),
    ...more,
  });

type Line = Record<string, number> & { step: number };
async function linesOf(name: string, file = 'metrics.jsonl'): Promise<Line[]> {
  const text = await readFile(join(root, name, file), 'utf8');
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
}
/** All but the clock. */
const timeless = (lines: Line[]): unknown[] =>
  lines.map((line) => Object.fromEntries(Object.entries(line).filter(([key]) => !key.endsWith('_seconds'))));
const adapterOf = (name: string, folder = 'adapter'): Promise<Buffer> =>
  readFile(join(root, name, folder, 'adapter_model.safetensors'));

describe('runGrpo', () => {
  let tensorsBefore: number;
  let tensorsAfter: number;
  const numTensors: number[] = [];
  beforeAll(async () => {
    tensorsBefore = tf.memory().numTensors;
    await run('whole', configOf(), { onStep: () => numTensors.push(tf.memory().numTensors) });
    tensorsAfter = tf.memory().numTensors;
  });

  it("writes a line of metrics a step under TRL's names", async () => {
    const lines = await linesOf('whole');
    expect(lines.map(({ step }) => step)).toEqual([0, 1, 2, 3]);
    for (const name of [
      ...['reward', 'reward_std', 'frac_reward_zero_std', 'kl', 'entropy', 'loss', 'grad_norm', 'clip_ratio'],
      ...['completions/mean_length', 'completions/clipped_ratio', 'learning_rate', 'alarms'],
      ...['rewards/outcome', 'rewards/decomposition', 'rewards/search_count', 'rewards/format'],
    ]) {
      for (const line of lines) expect(line, name).toHaveProperty([name]);
    }
    for (const line of lines) {
      const parts = ['outcome', 'decomposition', 'search_count', 'format'].map(
        (part) => line[`rewards/${part}`],
      );
      expect(line.reward).toBeCloseTo(
        parts.reduce((a, b) => a + b),
        9,
      );
    }
  });

  it('has something to learn from here, and learns', async () => {
    const lines = await linesOf('whole');
    expect(lines.some((line) => line.frac_reward_zero_std < 1)).toBe(true);
    expect(lines.some((line) => line.grad_norm > 0)).toBe(true);
    expect(lines[3].kl).toBeGreaterThan(0);
    const adapter = parseSafetensors(await adapterOf('whole'));
    for (const [name, { values }] of adapter) {
      if (name.includes('lora_B'))
        expect(
          values.some((x) => x !== 0),
          name,
        ).toBe(true);
    }
  });

  it('starts at the reference: no KL before the first update of step 0, within 1e-6', async () => {
    await run('on-policy', configOf({ grpo: { steps: 1, miniBatches: 1 } }));
    const [line] = await linesOf('on-policy');
    expect(line.grad_norm).toBeGreaterThan(0);
    expect(line.kl).toBeLessThan(1e-6);
    expect(line.clip_ratio).toBe(0);
  });

  it('has ratios of 1 before the first update at another temperature, too', async () => {
    await run('hot', configOf({ grpo: { steps: 1, miniBatches: 1, temperature: 2 } }));
    const [line] = await linesOf('hot');
    expect(line.grad_norm).toBeGreaterThan(0);
    expect(line.clip_ratio).toBe(0);
  });

  it('writes an adapter that PEFT reads, with its configuration', async () => {
    const folder = join(root, 'whole', 'adapter');
    const json = async (name: string): Promise<unknown> =>
      JSON.parse(await readFile(join(folder, name), 'utf8'));
    expect(await json('adapter_config.json')).toMatchObject({ peft_type: 'LORA', r: 2, lora_alpha: 4 });
    expect(await json('train_config.json')).toEqual(configOf());
    const name = 'base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight';
    expect(parseSafetensors(await adapterOf('whole')).get(name)!.shape).toEqual([2, 16]);
  });

  it('writes every trajectory with its step, rewards and advantage; groups have a mean advantage of 0', async () => {
    const trajectories = (await linesOf('whole', 'trajectories.jsonl')) as unknown as {
      step: number;
      advantage: number;
      questionId: string;
    }[];
    expect(trajectories).toHaveLength(4 * 3 * 4);
    for (let i = 0; i < trajectories.length; i += 4) {
      const group = trajectories.slice(i, i + 4);
      expect(new Set(group.map(({ questionId }) => questionId)).size).toBe(1);
      expect(group.reduce((sum, { advantage }) => sum + advantage, 0)).toBeCloseTo(0, 9);
    }
  });

  it('moves the weights of the model by exactly 0', () => {
    for (const [key, tensor] of Object.entries(model.weights)) {
      expect(tensor.dataSync(), key).toEqual(startValues[key]);
    }
  });

  it('leaks no tensors, neither from step to step nor after the end', () => {
    expect(numTensors).toHaveLength(4);
    // The optimizer's state appears with the first update.
    expect(numTensors[3]).toBe(numTensors[2]);
    expect(tensorsAfter).toBe(tensorsBefore);
  });

  it('stopped after two steps and resumed, gives the same metrics, trajectories and adapter as without the stop', async () => {
    const controller = new AbortController();
    const stopped = run('resumed', configOf(), {
      signal: controller.signal,
      onStep: (step) => {
        if (step === 1) controller.abort(new Error('stopped by the test'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    expect(await linesOf('resumed')).toHaveLength(2);
    expect(existsSync(join(root, 'resumed', 'adapter'))).toBe(false);
    await run('resumed');
    expect(timeless(await linesOf('resumed'))).toEqual(timeless(await linesOf('whole')));
    expect(await linesOf('resumed', 'trajectories.jsonl')).toEqual(
      await linesOf('whole', 'trajectories.jsonl'),
    );
    expect((await adapterOf('resumed')).equals(await adapterOf('whole'))).toBe(true);
  });

  it('killed between checkpoints, runs the steps after the last one again and keeps one line of each', async () => {
    const config = configOf({ checkpointEvery: 2 });
    const killed = run('killed', config, {
      onStep: (step) => {
        if (step === 2) throw new Error('killed');
      },
    });
    await expect(killed).rejects.toThrow('killed');
    expect(await linesOf('killed')).toHaveLength(3);
    await run('killed', config);
    expect(timeless(await linesOf('killed'))).toEqual(timeless(await linesOf('whole')));
  });

  it('keeps adapters of steps without changing the run, and those that it has when it goes on', async () => {
    const keepSteps = [1, 3, 4];
    const controller = new AbortController();
    const stopped = run('kept', configOf(), {
      ...{ keepSteps, signal: controller.signal },
      onStep: (step) => {
        if (step === 1) controller.abort(new Error('stopped by the test'));
      },
    });
    await expect(stopped).rejects.toThrow('stopped by the test');
    const early = await adapterOf('kept', keptAdapter(1));
    expect(existsSync(join(root, 'kept', keptAdapter(3)))).toBe(false);
    await run('kept', configOf(), { keepSteps });
    expect(timeless(await linesOf('kept'))).toEqual(timeless(await linesOf('whole')));
    for (const last of ['adapter', keptAdapter(4)])
      expect((await adapterOf('kept', last)).equals(await adapterOf('whole')), last).toBe(true);
    expect((await adapterOf('kept', keptAdapter(1))).equals(early)).toBe(true);
    const others = [await adapterOf('kept', keptAdapter(3)), await adapterOf('whole')];
    for (const other of others) expect(early.equals(other)).toBe(false);
    for (const file of ['adapter_config.json', 'train_config.json']) {
      const [kept, last] = [keptAdapter(1), 'adapter'].map((name) => join(root, 'kept', name, file));
      expect(await readFile(kept, 'utf8')).toBe(await readFile(last, 'utf8'));
    }
  });

  it('refuses to keep a step that there is not, or that it is past', async () => {
    for (const step of [0, 2.5, 5])
      await expect(run('never', configOf(), { keepSteps: [1, step] })).rejects.toThrow(
        `Expected steps to keep to be integers from 1 to 4, but got ${step}.`,
      );
    expect(existsSync(join(root, 'never'))).toBe(false);
    await expect(run('whole', configOf(), { keepSteps: [4, 2] })).rejects.toThrow(
      /to hold the adapter after step 4, but the run has done 4 steps without keeping it/,
    );
  });

  it('refuses a folder that holds a run of another configuration, and names both', async () => {
    const other = configOf({ seed: 2 });
    const config = configOf({ checkpointEvery: 2 });
    await expect(run('killed', other)).rejects.toThrow(
      new RegExp(
        `configuration ${hashOf(other)}, but it holds one of ${hashOf(config)}.*Choose another folder`,
      ),
    );
  });

  it("rewards with a reward of one's own, and goes on only with the one of its name", async () => {
    const config = configOf({ grpo: { steps: 1 } });
    const reward = addReward('brief', ({ searchTurns }) => -searchTurns.length);
    await run('own', config, { reward });
    const [line] = await linesOf('own');
    expect(line['rewards/own']).toBeCloseTo(-line.turns, 9);
    for (const paper of await linesOf('whole')) expect(paper).not.toHaveProperty(['rewards/own']);
    expect((await adapterOf('own')).toString('latin1')).toContain('"reward":"brief"');
    for (const other of [undefined, addReward('long', () => 0)])
      await expect(run('own', config, { reward: other })).rejects.toThrow('Choose another folder');
    await run('own', config, { reward });
    expect(await linesOf('own')).toHaveLength(1);
  });

  it('skips groups of equal rewards: with no reward to be had, the policy stays the model', async () => {
    const never = { ...SINGLE, goldenAnswers: ['never written'] };
    await run('flat', configOf({ rewards: { preset: 'search-r1' }, grpo: { steps: 2 } }), {
      questions: [never],
    });
    for (const line of await linesOf('flat')) {
      expect(line).toMatchObject({ frac_reward_zero_std: 1, reward_std: 0, loss: 0, grad_norm: 0 });
    }
    for (const [name, { values }] of parseSafetensors(await adapterOf('flat'))) {
      if (name.includes('lora_B'))
        expect(
          values.every((x) => x === 0),
          name,
        ).toBe(true);
    }
  });
});
