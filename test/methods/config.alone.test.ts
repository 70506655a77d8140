import { describe, expect, it } from 'vitest';
import { parseTrainConfig, trainingPreset } from '../../lib/training/config.js';
import { METHODS, trainedMethods } from '../../lib/training/methods.js';
import { TRAINERS } from '../../lib/training/trainers.js';
import { configHash } from '../../lib/io/provenance.js';

const MINIMAL = {
  method: 'parallelsearch',
  model: 'base',
  rollout: { prompt: 'parallel', splitQueries: true },
  rewards: { preset: 'paper' },
  grpo: { steps: 10 },
};

/** Every path to a plain value. */
function pathsOf(value: unknown, path: string[] = []): string[][] {
  if (value === null || typeof value !== 'object') return [path];
  return Object.entries(value).flatMap(([key, item]) => pathsOf(item, [...path, key]));
}

/** A copy in which the value at a path is another one. */
function changedAt(config: object, path: string[]): object {
  const copy = structuredClone(config);
  let at = copy as Record<string, unknown>;
  for (const key of path.slice(0, -1)) at = at[key] as Record<string, unknown>;
  const last = path[path.length - 1];
  const old = at[last];
  at[last] =
    typeof old === 'number' ? old + 1 : typeof old === 'boolean' ? !old : `${String(old)}x`;
  return copy;
}

/** The same with keys in the opposite order, at every depth. */
function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(
    Object.entries(value)
      .reverse()
      .map(([key, item]) => [key, reversed(item)]),
  );
}

describe('parseTrainConfig', () => {
  it("fills in the paper's settings where nothing is said, and reads its own output", () => {
    const config = parseTrainConfig(MINIMAL);
    expect(parseTrainConfig(JSON.parse(JSON.stringify(config)))).toEqual(config);
    const { grpo, rollout } = config;
    expect(grpo).toMatchObject({ clip: 0.2, beta: 0.001, temperature: 1, steps: 10 });
    expect(rollout).toMatchObject({ maxSearchTurns: 6, topK: 3, topP: 1, promptForm: 'short' });
    expect(
      grpo.mix.singleHop + grpo.mix.sequential + grpo.mix.comparisons.reduce((a, b) => a + b),
    ).toBeCloseTo(1, 12);
  });

  it.each([
    ['at the top', { ...MINIMAL, sede: 1 }, 'sede'],
    ['in grpo', { ...MINIMAL, grpo: { steps: 1, learningrate: 1 } }, 'learningrate'],
    ['in the mix', { ...MINIMAL, grpo: { steps: 1, mix: { singlehop: 1 } } }, 'singlehop'],
    ['in rewards', { ...MINIMAL, rewards: { preset: 'paper', lambda_d: 1 } }, 'lambda_d'],
    ['in rollout', { ...MINIMAL, rollout: { ...MINIMAL.rollout, topk: 3 } }, 'topk'],
    ['in lora', { ...MINIMAL, lora: { r: 8 } }, '"r"'],
  ])('refuses an unknown key %s, and names it', (_, json, key) => {
    expect(() => parseTrainConfig(json)).toThrow('Expected a training configuration, but');
    expect(() => parseTrainConfig(json)).toThrow(key);
  });

  it.each([
    ['groupSize', 1],
    ['groupSize', 1e9],
    ['questionsPerStep', 1e9],
    ['steps', 0],
    ['clip', 0],
    ['learningRate', -1],
    ['temperature', 0],
    ['beta', -0.1],
  ])('refuses grpo.%s = %d', (key, value) => {
    expect(() => parseTrainConfig({ ...MINIMAL, grpo: { steps: 1, [key]: value } })).toThrow(
      `grpo.${key}`,
    );
  });

  it('refuses a rank that no product has', () => {
    expect(() => parseTrainConfig({ ...MINIMAL, lora: { rank: 4097 } })).toThrow('lora.rank');
  });

  it('refuses a method that there is not, and lists those that there are', () => {
    const parse = (): unknown => parseTrainConfig({ ...MINIMAL, method: 'mine' });
    expect(parse).toThrow(`Expected a method of ${METHODS.names().join(', ')}, but got mine.`);
    expect(() => trainingPreset('mine', 'base', 1)).toThrow('but got mine');
    expect(() => trainingPreset('r1', 'base', 1)).toThrow(
      `that is trained (${trainedMethods().join(', ')}), but got r1.`,
    );
  });

  it.each([
    [
      'retriever',
      { retriever: 'bm52' },
      'Expected a retriever of bm25, exact, hnsw, or the address of a server',
    ],
    [
      'trainer',
      { trainer: 'dpo' },
      'Expected a trainer of grpo, ppo, sft, rejection-sampling, demonstrations, zerosearch, zerosearch-simulator, but got dpo.',
    ],
    [
      'prompt',
      { rollout: { prompt: 'none', splitQueries: true } },
      'Expected a prompt of r1, search-r1,',
    ],
  ])('refuses a %s that there is not, and lists those that there are', (_, change, message) => {
    expect(() => parseTrainConfig({ ...MINIMAL, ...change })).toThrow(message);
  });

  it('names every field that does not fit', () => {
    const parse = (): unknown => parseTrainConfig({ ...MINIMAL, seed: 'x', checkpointEvery: 0 });
    for (const field of ['seed', 'checkpointEvery']) expect(parse).toThrow(field);
  });
});

it('the hash of a configuration changes with any setting, and not with the order of keys', () => {
  const lambdas = { lambdaD: 0.1, lambdaS: 0.2, lambdaF: 0.3, alpha: 2 };
  const config = parseTrainConfig({ ...MINIMAL, rewards: { preset: 'paper', ...lambdas } });
  const paths = pathsOf(config);
  expect(paths.length).toBeGreaterThan(25);
  const hashes = paths.map((path) => configHash(changedAt(config, path)));
  expect(new Set([...hashes, configHash(config)]).size).toBe(paths.length + 1);
  expect(JSON.stringify(reversed(config))).not.toBe(JSON.stringify(config));
  expect(configHash(reversed(config) as object)).toBe(configHash(config));
  expect(configHash({ a: [1, 2] })).not.toBe(configHash({ a: [2, 1] }));
  expect(configHash(config)).toMatch(/^[0-9a-f]{12}$/);
});

describe('presets', () => {
  it('train Search-R1 and ParallelSearch alike but for prompt, splitting and rewards', () => {
    const [searchR1, parallel] = ['search-r1', 'parallelsearch'].map((m) =>
      trainingPreset(m, 'base', 3),
    );
    expect(searchR1.rollout).toMatchObject({ prompt: 'search-r1', splitQueries: false });
    expect(parallel.rollout).toMatchObject({ prompt: 'parallel', splitQueries: true });
    expect([searchR1.rewards.preset, parallel.rewards.preset]).toEqual(['search-r1', 'paper']);
    const { prompt, splitQueries } = parallel.rollout;
    expect({
      ...searchR1,
      method: 'parallelsearch',
      rewards: { preset: 'paper' },
      rollout: { ...searchR1.rollout, prompt, splitQueries },
    }).toEqual(parallel);
    expect(parallel).toMatchObject({ model: 'base', seed: 3 });
  });

  it('take fewer steps on smaller rollouts for a language model, and warm it up by other ones still', () => {
    const of = (method: string) =>
      trainingPreset(method, 'models/mine', 1, { scale: 'language-model' });
    const [small, large] = [trainingPreset('parallelsearch', 'base', 1), of('parallelsearch')];
    expect(large.grpo.steps).toBeLessThan(small.grpo.steps);
    expect(large.rollout.maxSearchTurns).toBeLessThan(small.rollout.maxSearchTurns);
    expect(large.grpo).toMatchObject({ questionsPerStep: 8, groupSize: 5 });
    expect(large.rewards).toEqual(small.rewards);
    expect(of('demonstrations')).toEqual(trainingPreset('demonstrations', 'models/mine', 1));
    expect(of('demonstrations').grpo.learningRate).toBeGreaterThan(large.grpo.learningRate);
  });

  it('warm PPO up over the share of steps that the paper says', () => {
    const config = trainingPreset('search-r1:ppo', 'base', 1);
    expect(config).toMatchObject({ trainer: 'ppo', grpo: { steps: 200, warmupSteps: 57 } });
    expect(trainingPreset('search-r1', 'base', 1).grpo.warmupSteps).toBe(10);
  });

  it("name a method's trainer where it is not grpo, so that the hashes of the others stay", () => {
    expect(trainingPreset('parallelsearch', 'base', 1)).not.toHaveProperty('trainer');
    TRAINERS.add({ name: 'dpo', create: TRAINERS.get('grpo').create });
    METHODS.add({
      ...METHODS.get('search-r1'),
      name: 'by-dpo',
      training: { trainer: 'dpo', rewards: 'search-r1' },
    });
    expect(trainingPreset('by-dpo', 'base', 1)).toMatchObject({ method: 'by-dpo', trainer: 'dpo' });
  });
});
