import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { packagePath } from '../../lib/io/paths.js';
import { configHash } from '../../lib/io/provenance.js';
import { parseTrainConfig, trainerSettings } from '../../lib/training/config.js';
import {
  configDifferences,
  mergeOverrides,
  parseSetting,
  type ConfigOverrides,
} from '../../lib/training/overrides.js';
import { trainingPreset } from '../../lib/training/presets.js';
import { trainedMethods } from '../../lib/training/methods.js';
import { resolveTrainConfig } from '../../lib/training/models.js';

const PRESET = trainingPreset('parallelsearch', 'instruct-1', 1);
const parseWith = (overrides: ConfigOverrides) =>
  parseTrainConfig(mergeOverrides(PRESET, overrides));

describe('a configuration', () => {
  it('round-trips through JSON', () => {
    expect(parseTrainConfig(JSON.parse(JSON.stringify(PRESET)))).toEqual(PRESET);
  });

  it.each<[string, ConfigOverrides]>([
    ['sede', { sede: 1 }],
    ['learningrate', { grpo: { learningrate: 1 } }],
    ['singlehop', { grpo: { mix: { singlehop: 1 } } }],
    ['lambda_d', { rewards: { lambda_d: 1 } }],
    ['topk', { rollout: { topk: 3 } }],
    ['"r"', { lora: { r: 8 } }],
    ['grpo.groupSize', { grpo: { groupSize: 1 } }],
    ['grpo.questionsPerStep', { grpo: { questionsPerStep: 1e9 } }],
    ['grpo.steps', { grpo: { steps: 0 } }],
    ['grpo.clip', { grpo: { clip: 0 } }],
    ['grpo.learningRate', { grpo: { learningRate: -1 } }],
    ['grpo.temperature', { grpo: { temperature: 0 } }],
    ['grpo.beta', { grpo: { beta: -0.1 } }],
    ['lora.rank', { lora: { rank: 4097 } }],
    ['bm25, exact, hnsw', { retriever: 'bm52' }],
    ['RETRIEVAL_TOKEN', { retriever: 'http://user:secret@127.0.0.1/retrieve' }],
    ['r1, search-r1', { rollout: { prompt: 'none' } }],
    ['parallelsearch', { method: 'mine' }],
    ['checkpointEvery', { checkpointEvery: 0 }],
    ['trainer', { trainer: 'dpo' }],
    ['at ppo', { ppo: trainingPreset('search-r1:ppo', 'base-1', 1).ppo }],
  ])('is rejected with the name of the invalid field: %s', (name, overrides) => {
    expect(() => parseWith(overrides)).toThrow(name);
  });

  it('hashes every setting, in any order of keys', () => {
    const reversed = Object.fromEntries(Object.entries(PRESET).reverse());
    expect(configHash(reversed)).toBe(configHash(PRESET));
    const others = [{ seed: 2 }, { grpo: { clip: 0.3 } }, { rollout: { topK: 1 } }].map(parseWith);
    expect(new Set([PRESET, ...others].map(configHash)).size).toBe(4);
  });
});

describe('presets', () => {
  it.each(trainedMethods())('%s only has settings of its trainer', (method) => {
    const config = trainingPreset(method, 'base-1', 3);
    const { mix, steps } = trainerSettings(config);
    expect(steps).toBeGreaterThan(0);
    expect(mix.singleHop + mix.sequential + mix.comparisons.reduce((a, b) => a + b)).toBeCloseTo(
      1,
      12,
    );
    expect(config).toMatchObject({ model: 'base-1', seed: 3 });
  });

  it('Search-R1 and ParallelSearch differ in prompt, query splitting and rewards', () => {
    const searchR1 = trainingPreset('search-r1', 'instruct-1', 1);
    expect(configDifferences(searchR1, PRESET).map((one) => Object.values(one))).toEqual([
      ['method', '"search-r1"', '"parallelsearch"'],
      ['rollout.prompt', '"search-r1"', '"parallel"'],
      ['rollout.splitQueries', 'false', 'true'],
      ['rewards.preset', '"search-r1"', '"paper"'],
      ['rewards.lambdaD', '0', '0.15'],
      ['rewards.lambdaS', '0', '0.35'],
      ['rewards.lambdaF', '0', '0.1'],
    ]);
  });

  it('every trainer uses the same number of rollouts per step', () => {
    for (const method of ['parallelsearch', 'search-r1:ppo', 'sft']) {
      const { questionsPerStep, groupSize } = trainerSettings(trainingPreset(method, 'base-1', 1));
      expect(questionsPerStep * groupSize).toBe(64);
    }
  });

  it('language models get fewer and smaller steps', () => {
    const large = trainingPreset('parallelsearch', 'models/mine', 1, { scale: 'language-model' });
    expect(large.grpo).toMatchObject({ steps: 30, questionsPerStep: 8, groupSize: 5 });
    expect(large.rollout.maxSearchTurns).toBeLessThan(PRESET.rollout.maxSearchTurns);
    expect(large.rewards).toEqual(PRESET.rewards);
  });

  it("PPO warms up over the paper's share of steps", () => {
    const { ppo } = trainingPreset('search-r1:ppo', 'base-1', 1);
    expect(ppo).toMatchObject({ steps: 200, warmupSteps: 57 });
  });

  it('rejects untrained methods and lists the trained ones', () => {
    expect(() => trainingPreset('r1', 'base-1', 1)).toThrow(/parallelsearch/);
  });
});

describe('overrides', () => {
  it('a file only lists what differs from the preset', async () => {
    const file = { method: 'parallelsearch', grpo: { steps: 40 } };
    const { config, preset } = await resolveTrainConfig(file);
    expect(preset).toEqual(PRESET);
    expect(configDifferences(config, preset)).toEqual([
      { name: 'grpo.steps', value: '40', preset: '200' },
    ]);
  });

  it('lists weights of rewards with the value of the preset, unless they are equal', async () => {
    const rewards = { lambdaD: 0.5, lambdaS: 0.35 };
    const { config, preset } = await resolveTrainConfig({ method: 'parallelsearch', rewards });
    expect(configDifferences(config, preset)).toEqual([
      { name: 'rewards.lambdaD', value: '0.5', preset: '0.15' },
    ]);
  });

  it('later overrides win: flags over the file', async () => {
    const file = { seed: 2, rewards: { lambdaD: 0.5 }, grpo: { steps: 40 } };
    const flags = { seed: 3, rewards: { lambdaD: undefined, lambdaS: 0.1 } };
    const { config } = await resolveTrainConfig(file, flags);
    expect(config).toMatchObject({
      seed: 3,
      rewards: { preset: 'paper', lambdaD: 0.5, lambdaS: 0.1 },
      grpo: { steps: 40, clip: 0.2 },
    });
  });

  it('settings of a trainer that does not train the method are rejected', async () => {
    const file = { method: 'parallelsearch:ppo', grpo: { steps: 40 } };
    await expect(resolveTrainConfig(file)).rejects.toThrow(
      'Expected settings of ppo, which trains parallelsearch:ppo, but got settings of grpo.',
    );
  });

  it('settings on the command line are JSON or text', () => {
    expect(parseSetting('grpo.learningRate=5e-4')).toEqual({ grpo: { learningRate: 5e-4 } });
    expect(parseSetting('retriever=hnsw')).toEqual({ retriever: 'hnsw' });
    expect(parseSetting('lora.targetModules=["q_proj"]')).toEqual({
      lora: { targetModules: ['q_proj'] },
    });
    expect(() => parseSetting('grpo.steps')).toThrow(/grpo.steps/);
  });
});

it("the README's experiment differs from the recorded run in one setting", async () => {
  const readme = readFileSync(packagePath('README.md'), 'utf8');
  const [, json] = /```json\n(\{ "method"[\s\S]*?)```/.exec(readme)!;
  const { config } = await resolveTrainConfig(JSON.parse(json) as ConfigOverrides);
  const recorded = readFileSync(
    packagePath('data', 'checkpoints', 'instruct-1-parallelsearch-seed1', 'train_config.json'),
    'utf8',
  );
  expect(configDifferences(config, JSON.parse(recorded) as object)).toHaveLength(1);
});
