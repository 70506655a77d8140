import { expect, it } from 'vitest';
import { textPolicy, toolPolicy } from '../../lib/policy/chat-policy.js';
import { modelLimits, rolloutSchema } from '../../lib/rollout/options.js';
import { CHARACTERS } from './scripted-policy.js';

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

it('omits optional settings at their defaults to keep hashes', () => {
  const named = { informationCut: 'passage', informationForm: 'lines', querySeparator: '##' };
  const hashed = (more: object) => JSON.stringify(rolloutSchema.parse({ ...least, ...more }));
  expect(hashed(named)).toBe(hashed({}));
  const others = { informationCut: 'raw', informationForm: 'json', querySeparator: ',' };
  expect(rolloutSchema.parse({ ...least, ...others })).toMatchObject(others);
});

it.each([
  ['informationCut', 'words'],
  ['informationForm', 'xml'],
  ...['', ' ', 'and', '<', 'a,'].map((value) => ['querySeparator', value]),
])('rejects %s %j', (name, value) => {
  const { error } = rolloutSchema.safeParse({ ...least, [name]: value });
  expect(error?.issues.map(({ path }) => path)).toEqual([[name]]);
});

it('accepts limits and rejects values beyond them', () => {
  const counts = ['topK', 'maxSubQueries', 'maxNewTokens', 'retrievalTimeoutMs'];
  const lengths = ['maxInformationTokens', 'maxPassageWords', 'reservePerTurn'];
  const limits: [name: string, least: number, most?: number][] = [
    ['maxSearchTurns', 0],
    ['topP', 0, 1],
    ...[...counts, ...lengths].map((name): [string, number] => [name, 1]),
  ];
  const isTaken = (name: string, value: number): boolean =>
    rolloutSchema.safeParse({ ...least, [name]: value }).success;
  for (const [name, from, to = 1000] of limits) {
    const taken = [from - 1, from, to].map((value) => isTaken(name, value));
    expect(taken, name).toEqual([false, true, true]);
  }
  expect(isTaken('topP', 1.1)).toBe(false);
  expect(() => rolloutSchema.parse({ ...least, topk: 3 })).toThrow('topk');
});

it('derives the prompt form of a language model, and limits that fit its context', () => {
  const limits = { maxNewTokens: 1000, maxInformationTokens: 4000 };
  expect(modelLimits(textPolicy(async () => ''))).toEqual({ ...limits, promptForm: 'chat' });
  const say = async () => ({ message: { role: 'assistant' as const, content: '' } });
  expect(modelLimits(toolPolicy(say))).toEqual({ ...limits, promptForm: 'tools' });
  const withTemplate = { ...CHARACTERS, encodeChat: () => ({ text: '', tokenIds: [] }) };
  const limitsOf = (maxLength: number, tokenizer = CHARACTERS) =>
    modelLimits({ maxLength, tokenizer });
  expect(limitsOf(131_072)).toEqual({ ...limits, promptForm: 'full' });
  expect(limitsOf(131_072, withTemplate)).toEqual({ ...limits, promptForm: 'chat' });
  expect(limitsOf(32_768)).toMatchObject({ maxNewTokens: 1000, maxInformationTokens: 2048 });
  expect(limitsOf(1600)).toMatchObject({ maxNewTokens: 100, maxInformationTokens: 100 });
  expect(limitsOf(10)).toMatchObject({ maxNewTokens: 1, maxInformationTokens: 1 });
});
