/** Settings that override a preset: from files, flags and `--set`. */
import { tryParseJson } from '../io/json.js';
import { CONSTANT_PRESET_NAMES, rewardConstants } from '../rewards/presets.js';
import type { TrainConfig } from './config.js';

/** Part of a configuration, from a file or flags. */
export type ConfigOverrides = { readonly [key: string]: unknown };

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** Merges deeply; later values win, lists are replaced, undefined is left out. */
export function mergeOverrides(...parts: readonly ConfigOverrides[]): Record<string, unknown> {
  const merged = new Map<string, unknown>();
  for (const part of parts)
    for (const [key, value] of Object.entries(part)) {
      if (value === undefined) continue;
      const before = merged.get(key);
      const inner = isObject(before) ? before : {};
      merged.set(key, isObject(value) ? mergeOverrides(inner, value) : value);
    }
  return Object.fromEntries(merged);
}

/**
 * Parses `--set grpo.learningRate=5e-4`; a value that is not JSON is text.
 * @throws RangeError without an equals sign
 */
export function parseSetting(text: string): ConfigOverrides {
  const [, path, value] = /^([^=]+)=(.*)$/s.exec(text) ?? [];
  if (!path)
    throw new RangeError(`Expected a setting such as grpo.learningRate=5e-4, but got ${text}.`);
  const parsed = tryParseJson(value);
  // Text may come without quotes.
  return nestSetting(path, parsed === undefined ? value : parsed);
}

/** Nests a value: `nestSetting('a.b', 1)` is `{ a: { b: 1 } }`. */
export const nestSetting = (path: string, value: unknown): ConfigOverrides =>
  path
    .split('.')
    .reduceRight<unknown>((inner, key) => ({ [key]: inner }), value) as ConfigOverrides;

/**
 * Merges options with `--set`.
 * @throws RangeError if they give a setting different values
 */
export function mergeOptions(
  options: ConfigOverrides,
  set: readonly string[] = [],
): ConfigOverrides {
  const given = set.map(parseSetting);
  const settings = mergeOverrides(...given);
  const values = new Map(flatten(settings));
  for (const [name, value] of [...given, options].flatMap((setting) => flatten(setting)))
    if (value !== undefined && values.has(name) && values.get(name) !== value)
      throw new RangeError(
        `Expected one value of ${name}, but got ${JSON.stringify(value)} and ${JSON.stringify(values.get(name))}. Leave one out.`,
      );
  return mergeOverrides(options, settings);
}

/** Lists an object's values by dotted names such as `grpo.steps`; arrays are values. */
export function flatten(value: unknown, path = ''): [string, unknown][] {
  if (!isObject(value)) return [[path, value]];
  return Object.entries(value).flatMap(([key, inner]) =>
    flatten(inner, path ? `${path}.${key}` : key),
  );
}

/** A configuration with the weights of its reward preset, unless it has other rewards. */
function withRewardWeights(config: object): object {
  const { rewards } = config as Partial<TrainConfig>;
  if (!rewards || !CONSTANT_PRESET_NAMES.includes(rewards.preset)) return config;
  const { preset, ...overrides } = rewards;
  const { lambdaD, lambdaS, lambdaF, alpha } = rewardConstants(preset, overrides);
  return { ...config, rewards: { preset, lambdaD, lambdaS, lambdaF, alpha } };
}

/** Settings that differ from a preset, by dotted names such as `grpo.steps`, as JSON. */
export function configDifferences(
  config: object,
  preset: object,
): { name: string; value: string; preset: string }[] {
  const [ours, theirs] = [config, preset].map((one) => new Map(flatten(withRewardWeights(one))));
  const print = (value: unknown): string => (value === undefined ? 'none' : JSON.stringify(value));
  return [...new Set([...ours.keys(), ...theirs.keys()])]
    .map((name) => ({ name, value: print(ours.get(name)), preset: print(theirs.get(name)) }))
    .filter(({ value, preset }) => value !== preset);
}
