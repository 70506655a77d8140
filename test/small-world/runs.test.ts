import { describe, expect, it } from 'vitest';
import { lambdaSettings } from '../../lib/experiments/lambda-ablation/settings.js';
import {
  configOf,
  fewerTurnsRuns,
  lambdaRuns,
  mainRuns,
  onePassageRuns,
  smallRunName,
} from '../../lib/small-world/runs.js';

const all = [...mainRuns(), ...fewerTurnsRuns(), ...onePassageRuns(), ...lambdaRuns(lambdaSettings())];

describe('the runs of the small world', () => {
  it('have names of their own, which say what differs', () => {
    const names = all.map(smallRunName);
    expect(new Set(names).size).toBe(names.length);
    expect(names).toContain('base-3-search-r1-seed2');
    expect(names).toContain('instruct-2-search-r1-b4-seed1');
    expect(names).toContain('instruct-1-parallelsearch-k1-seed1');
    expect(names).toContain('instruct-1-parallelsearch-d0.5-s0.35-seed1');
  });

  it('compare both methods from every initial model, with two seeds', () => {
    const of = (method: string): string[] =>
      mainRuns()
        .filter((run) => run.method === method)
        .map(({ model, warmUp, seed }) => `${model} ${warmUp} ${seed}`);
    expect(of('search-r1')).toHaveLength(12);
    expect(of('search-r1')).toEqual(of('parallelsearch'));
  });

  it('give every run the same steps, rollouts and tokens', () => {
    const effortOf = (run: (typeof all)[number]): unknown => {
      const { grpo, lora, rollout } = configOf(run);
      return { grpo, lora, tokens: [rollout.maxNewTokens, rollout.maxInformationTokens] };
    };
    for (const run of all) expect(effortOf(run)).toEqual(effortOf(all[0]));
    for (const { rollout } of mainRuns().map(configOf))
      expect([rollout.topK, rollout.maxSearchTurns]).toEqual([3, 6]);
    expect(fewerTurnsRuns().every((run) => configOf(run).rollout.maxSearchTurns === 4)).toBe(true);
    expect(onePassageRuns().every((run) => configOf(run).rollout.topK === 1)).toBe(true);
    expect(configOf(all.find(({ lambdas }) => lambdas?.lambdaD === 0.5)!).rewards).toMatchObject({
      lambdaD: 0.5,
    });
  });
});
