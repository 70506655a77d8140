import { expect, it } from 'vitest';
import { rolloutSchema } from '../../lib/rollout/options.js';

const least = { prompt: 'parallel', splitQueries: true };

it('fills in defaults', () => {
  expect(rolloutSchema.parse(least)).toEqual({
    ...least,
    promptForm: 'short',
    maxSearchTurns: 6,
    topK: 3,
    maxSubQueries: 8,
    maxNewTokens: 160,
    topP: 1,
    retrievalTimeoutMs: 10_000,
    maxInformationTokens: 320,
  });
});

it('accepts limits and rejects values beyond them', () => {
  const limits: [name: string, least: number, most?: number][] = [
    ['maxSearchTurns', 0],
    ['topP', 0, 1],
    ...[
      'topK',
      'maxSubQueries',
      'maxNewTokens',
      'retrievalTimeoutMs',
      'maxInformationTokens',
      'maxPassageWords',
      'reservePerTurn',
    ].map((name): [string, number] => [name, 1]),
  ];
  const isTaken = (name: string, value: number): boolean =>
    rolloutSchema.safeParse({ ...least, [name]: value }).success;
  for (const [name, from, to = 1000] of limits) {
    expect(
      [from, to].map((value) => isTaken(name, value)),
      name,
    ).toEqual([true, true]);
    expect(isTaken(name, from - 1), name).toBe(false);
  }
  expect(isTaken('topP', 1.1)).toBe(false);
  expect(() => rolloutSchema.parse({ ...least, topk: 3 })).toThrow('topk');
});
