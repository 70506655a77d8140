/**
 * What training in the small world usually looks like: bands over the recorded runs of
 * a method, drawn behind the curves of comparable runs.
 */
import { least, mean } from 'd3-array';
import { readJson } from '../../io/files.js';
import { packagePath } from '../../io/paths.js';
import { presetRewards } from '../../rewards/presets.js';
import type { TrainConfig } from '../../training/config.js';
import { configDifferences } from '../../training/overrides.js';
import { trainingPreset } from '../../training/presets.js';
import { parseModelName } from '../../training/models.js';
import type { RunDescription } from '../../training/run.js';
import type { StepMetrics } from '../../training/run-folder.js';

/** Written by `npm run tools -- reference-curves`: the package lacks recorded runs. */
export const REFERENCE_FILE = packagePath('data', 'reference-curves.json');

/** Half-width in steps of the window around each point of a band. */
const REACH = 5;

/** 10th percentile, median and 90th percentile at a step. */
export type BandPoint = readonly [step: number, low: number, median: number, high: number];

/** The recorded runs of a method from initial models of one kind. */
export interface Reference {
  method: string;
  /** Such as `instruct`. */
  initialModel: string;
  numRuns: number;
  bands: Record<string, BandPoint[]>;
}

/** The values of a metric around a step; some steps lack questions of a type. */
export const valuesNear = (steps: readonly StepMetrics[], metric: string, at: number): number[] => {
  const [, type] = /^decomposition_ratio\/(.+)$/.exec(metric) ?? [];
  return steps
    .filter(({ step }) => Math.abs(step - at) <= REACH)
    .filter(({ metrics }) => !type || metrics[`share/${type}`] !== 0)
    .flatMap(({ metrics }) => metrics[metric] ?? []);
};

/** Settings that do not change what is learned in a step. */
const IRRELEVANT =
  /^(seed|model|checkpointEvery|guards\..+|retrievalDeadlineMs|rollout\.retrievalTimeoutMs|[\w-]+\.(steps|maxTokensPerPass))$/;

/**
 * Names the settings of a small-world run that rule out a comparison with runs of the
 * preset; null outside the small world.
 */
export function incomparableSettings(config: TrainConfig): string[] | null {
  const { method, model, seed } = config;
  if (!parseModelName(model)) return null;
  return configDifferences(config, trainingPreset(method, model, seed))
    .map(({ name }) => name)
    .filter((name) => !IRRELEVANT.test(name));
}

/** The kind of an initial model: `instruct` for `instruct-2`. */
export const initialModelKind = (model: string): string | undefined => parseModelName(model)?.model;

/** Rewards from files, which the configuration does not name. */
const ownRewards = ({ rewards }: TrainConfig, steps: readonly StepMetrics[]): string[] => {
  const { preset, ...overrides } = rewards;
  const usual = new Set(presetRewards(preset, overrides).map(({ name }) => `rewards/${name}`));
  const metrics = new Set(steps.flatMap((step) => Object.keys(step.metrics)));
  return [...metrics].filter((name) => name.startsWith('rewards/') && !usual.has(name));
};

export interface Expectation {
  reference?: Reference;
  /** Why there is none, if one could be expected. */
  reason?: string;
}

/** Finds the reference of a run, or the reason why it has none. */
export async function findReference(
  { config, data }: Pick<RunDescription, 'config' | 'data'>,
  steps: readonly StepMetrics[],
): Promise<Expectation> {
  const settings = data === undefined ? incomparableSettings(config) : null;
  if (!settings) return {};
  const others = [...settings, ...ownRewards(config, steps)];
  if (others.length > 0)
    return {
      reason: `Not comparable with recorded runs, since it differs in ${others.join(', ')}.`,
    };
  const references = (await readJson(REFERENCE_FILE)) as Reference[];
  const reference = references.find(
    ({ method, initialModel }) =>
      method === config.method && initialModel === initialModelKind(config.model),
  );
  return reference ? { reference } : {};
}

/** A run's own mean around a step, as in the bands; undefined before that step. */
export const ownMean = (
  steps: readonly StepMetrics[],
  metric: string,
  at: number,
): number | undefined =>
  (steps.at(-1)?.step ?? -1) < at ? undefined : mean(valuesNear(steps, metric, at));

export const nearestPoint = (band: readonly BandPoint[], at: number): BandPoint =>
  least(band, ([step]) => Math.abs(step - at))!;
