/**
 * Signs of a run that goes wrong, looked for at every step, and what is done about each.
 */
import { z } from 'zod';
import type { Metrics } from './metrics.js';

/**
 * `warn` says it; `skip` makes no update from this step's rollouts; `rollback` goes on
 * from the checkpoint before, with other random numbers and half the learning rate;
 * `stop` ends the run.
 */
const ACTIONS = ['warn', 'skip', 'rollback', 'stop'] as const;
type Action = (typeof ACTIONS)[number];

/** A bound that a metric of a healthy run keeps. */
export interface Guard {
  name: string;
  metric: string;
  /** On which side of the limit a value is alarming. */
  bad: 'above' | 'below';
  limit: number;
  action: Action;
  /** What has probably happened, and the remedy. */
  meaning: string;
}

const guard = (
  metric: string,
  bad: Guard['bad'],
  limit: number,
  meaning: string,
  action: Action = 'warn',
): Omit<Guard, 'name'> => ({ metric, bad, limit, action, meaning });

/** Few actions by default: most values may be what somebody studies. */
const GUARDS = {
  retrieval: guard(
    'frac_retrievals_failed',
    'above',
    0.1,
    'searches fail, which would teach the policy not to search: see whether the retriever answers, or raise rollout.retrievalTimeoutMs',
    'skip',
  ),
  search: guard(
    'turns',
    'below',
    0.5,
    'the policy has stopped searching: lower lambdaS, or raise the share of questions that need a search',
  ),
  answer: guard(
    'completions/clipped_ratio',
    'above',
    0.5,
    'most rollouts do not end in an answer: raise rollout.maxSearchTurns, or warm the model up on the grammar of actions',
  ),
  format: guard(
    'well_formed_ratio',
    'below',
    0.2,
    'the grammar of actions is lost: raise lambdaF, lower grpo.learningRate, or warm the model up on it',
  ),
  length: guard(
    'completions/truncated_ratio',
    'above',
    0.5,
    'most rollouts run into the limit of their length: raise rollout.maxNewTokens or lower rollout.maxInformationTokens',
  ),
  entropy_collapse: guard(
    'entropy',
    'below',
    0.001,
    'entropy collapse: all samples are alike; lower grpo.learningRate or raise grpo.beta',
  ),
  entropy_explosion: guard(
    'entropy',
    'above',
    3,
    'entropy explosion: samples are noise; lower grpo.learningRate or grpo.temperature',
  ),
  kl: guard(
    'kl',
    'above',
    0.5,
    'far from the reference: lower grpo.learningRate or raise grpo.beta',
  ),
  variance: guard(
    'frac_reward_zero_std',
    'above',
    0.95,
    'nearly no group has anything to teach: raise grpo.groupSize, or take harder or easier questions',
  ),
  decomposition: guard(
    'decomposition_ratio/sequential',
    'above',
    0.5,
    'sequential questions are decomposed (over-parallelization): raise the share of sequential questions in grpo.mix',
  ),
};

/**
 * What no training recovers from. Gradients that are not finite are never applied, so
 * that this step did no harm.
 */
const NOT_FINITE = 'the update is no number: lower grpo.learningRate or grpo.maxGradNorm';

const actionSchema = z.enum(ACTIONS);
const settingSchema = z.strictObject({
  limit: z.number().optional(),
  action: actionSchema.optional(),
});
type Name = keyof typeof GUARDS;

/**
 * Limits and actions in place of the defaults, by the names of guards; `finite` is about
 * metrics that are no numbers.
 */
export const guardsSchema = z
  .strictObject({
    ...(Object.fromEntries(
      Object.keys(GUARDS).map((name) => [name, settingSchema.optional()]),
    ) as Record<Name, z.ZodOptional<typeof settingSchema>>),
    // The KL is known when the update has been made.
    kl: settingSchema.extend({ action: actionSchema.exclude(['skip']).optional() }).optional(),
    finite: z.strictObject({ action: actionSchema }).optional(),
  })
  .optional();
export type GuardSettings = z.infer<typeof guardsSchema>;

/** All guards, as a configuration has them. */
export const resolveGuards = (settings: GuardSettings): Guard[] =>
  (Object.keys(GUARDS) as Name[]).map((name) => ({ name, ...GUARDS[name], ...settings?.[name] }));

/** Whether a value is on the bad side of a guard's limit. */
export const isAlarming = ({ bad, limit }: Pick<Guard, 'bad' | 'limit'>, value: number): boolean =>
  bad === 'above' ? value > limit : value < limit;

export interface Alarm {
  action: Action;
  /** What is alarming, what it means, what to do. */
  text: string;
}

/**
 * What is alarming in a step's metrics; those that it does not have are not asked for.
 */
export function checkGuards(metrics: Metrics, settings?: GuardSettings): Alarm[] {
  const alarms = resolveGuards(settings)
    .filter((guard) => guard.metric in metrics && isAlarming(guard, metrics[guard.metric]))
    .map(({ metric, meaning, action }) => ({
      action,
      text: `${metric} ${metrics[metric].toFixed(3)}: ${meaning}`,
    }));
  const wrong = Object.entries(metrics).find(([, value]) => !Number.isFinite(value));
  if (!wrong) return alarms;
  return [
    { action: settings?.finite?.action ?? 'stop', text: `${wrong.join(' ')}: ${NOT_FINITE}` },
    ...alarms,
  ];
}

/** The gravest of what some alarms ask for; null without any. */
export const gravest = (alarms: readonly Alarm[]): Alarm | null =>
  alarms.toSorted((a, b) => ACTIONS.indexOf(b.action) - ACTIONS.indexOf(a.action))[0] ?? null;
