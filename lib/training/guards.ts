/** Guards check every step's metrics for signs of a failing run; each has an action. */
import { z } from 'zod';
import { decimalText } from '../text/english.js';
import type { TrainerName } from './methods.js';
import type { Metrics } from './metrics.js';

/**
 * `warn` logs; `skip` makes no update from the step's rollouts; `rollback` resumes from
 * the previous checkpoint with other random numbers and half the learning rate; `stop`
 * ends the run.
 */
const ACTIONS = ['warn', 'skip', 'rollback', 'stop'] as const;
type Action = (typeof ACTIONS)[number];

export interface Guard {
  name: string;
  metric: string;
  /** The side of the limit that raises an alarm. */
  alarmWhen: 'above' | 'below';
  limit: number;
  action: Action;
  /** Probable cause and remedy; `TRAINER` stands for the name of the run's trainer. */
  advice: string;
}

/** @param alarm such as `kl > 0.5` */
function guard(
  alarm: `${string} ${'<' | '>'} ${number}`,
  advice: string,
  action: Action = 'warn',
): Omit<Guard, 'name'> {
  const [metric, side, limit] = alarm.split(' ');
  const alarmWhen = side === '>' ? 'above' : 'below';
  return { metric, alarmWhen, limit: Number(limit), action, advice };
}

/** Most guards only warn by default: an unusual value may be what is being studied. */
const GUARDS = {
  retrieval: guard(
    'frac_retrievals_failed > 0.1',
    'searches fail, which teaches the policy not to search: check the retriever',
    'skip',
  ),
  timeouts: guard(
    'frac_rollouts_timed_out > 0.5',
    'most rollouts are left out because a search timed out: check the retriever, or raise retrievalDeadlineMs and rollout.retrievalTimeoutMs',
    'skip',
  ),
  search: guard(
    'turns < 0.5',
    'the policy has stopped searching: lower lambdaS, or raise the share of questions that need search',
  ),
  answer: guard(
    'completions/clipped_ratio > 0.5',
    'most rollouts do not end in an answer: raise rollout.maxSearchTurns, or run warm-up on the action format first',
  ),
  format: guard(
    'well_formed_ratio < 0.2',
    'the action format is lost: raise lambdaF, lower TRAINER.learningRate, or run warm-up first',
  ),
  length: guard(
    'completions/truncated_ratio > 0.5',
    'most rollouts reach the length limit: raise rollout.maxNewTokens or lower rollout.maxInformationTokens',
  ),
  entropy_collapse: guard(
    'entropy < 0.001',
    'entropy collapse: all samples are the same; lower TRAINER.learningRate or raise TRAINER.temperature',
  ),
  entropy_explosion: guard(
    'entropy > 3',
    'entropy explosion: samples are noise; lower TRAINER.learningRate or TRAINER.temperature',
  ),
  kl: guard('kl > 0.5', 'far from the reference: lower TRAINER.learningRate or raise TRAINER.beta'),
  variance: guard(
    'frac_reward_zero_std > 0.95',
    'almost all groups have equal rewards: raise TRAINER.groupSize, or use harder or easier questions',
  ),
  phantom: guard(
    'phantom_advantages > 0.5',
    'most trained groups have no correct rollout, so that shaping rewards alone decide: set TRAINER.outcomeGate to group, use easier questions, or lower lambdaD, lambdaS and lambdaF',
  ),
  likelihood: guard(
    'logps/correct_drop > 0.5',
    'correct rollouts have become less likely, which precedes a collapse (LLDS): lower TRAINER.learningRate (or with GRPO, set llds)',
  ),
  search_collapse: guard(
    'sub_queries_drop > 0.5',
    'the policy has given up half of its searches per question: lower lambdaS, lower TRAINER.learningRate, or raise the share of questions that need search',
  ),
  decomposition: guard(
    'decomposition_ratio/sequential > 0.5',
    'sequential questions are decomposed (over-parallelization): raise the share of sequential questions in TRAINER.mix',
  ),
};

/** Non-finite gradients are never applied, so the weights are intact. */
const NOT_FINITE = 'the update is not finite: lower TRAINER.learningRate or TRAINER.maxGradNorm';

const actionSchema = z.enum(ACTIONS);
const settingSchema = z.strictObject({
  limit: z.number().optional(),
  action: actionSchema.optional(),
});
type Name = keyof typeof GUARDS;

/** Overrides of limits and actions by guard name; `finite` covers non-finite metrics. */
export const guardsSchema = z
  .strictObject({
    ...(Object.fromEntries(
      Object.keys(GUARDS).map((name) => [name, settingSchema.optional()]),
    ) as Record<Name, z.ZodOptional<typeof settingSchema>>),
    // The KL is only known after the update, which can then no longer be skipped.
    kl: settingSchema.extend({ action: actionSchema.exclude(['skip']).optional() }).optional(),
    finite: z.strictObject({ action: actionSchema }).optional(),
  })
  .optional();
export type GuardSettings = z.infer<typeof guardsSchema>;

/** The part of a run's configuration that guards read. */
interface GuardedRun {
  trainer: TrainerName;
  guards?: GuardSettings;
}

const adviceFor = (advice: string, { trainer }: GuardedRun): string =>
  advice.replaceAll('TRAINER', trainer);

/** Returns all guards with the run's settings applied. */
export const resolveGuards = (run: GuardedRun): Guard[] =>
  (Object.keys(GUARDS) as Name[]).map((name) => ({
    name,
    ...GUARDS[name],
    advice: adviceFor(GUARDS[name].advice, run),
    ...run.guards?.[name],
  }));

export const isAlarming = (
  { alarmWhen, limit }: Pick<Guard, 'alarmWhen' | 'limit'>,
  value: number,
): boolean => (alarmWhen === 'above' ? value > limit : value < limit);

export interface Alarm {
  action: Action;
  /** The metric, the probable cause and the remedy. */
  text: string;
}

/** Returns the alarms of a step; a guard whose metric is missing is not checked. */
export function checkGuards(metrics: Metrics, run: GuardedRun): Alarm[] {
  const alarms = resolveGuards(run)
    .filter((guard) => guard.metric in metrics && isAlarming(guard, metrics[guard.metric]))
    .map(({ metric, advice, action }) => ({
      action,
      text: `${metric} ${decimalText(metrics[metric])}: ${advice}`,
    }));
  const notFinite = Object.entries(metrics).find(([, value]) => !Number.isFinite(value));
  if (!notFinite) return alarms;
  const text = `${notFinite.join(' ')}: ${adviceFor(NOT_FINITE, run)}`;
  return [{ action: run.guards?.finite?.action ?? 'stop', text }, ...alarms];
}

/** The alarm with the most severe action, or null. */
export const mostSevere = (alarms: readonly Alarm[]): Alarm | null =>
  alarms.toSorted((a, b) => ACTIONS.indexOf(b.action) - ACTIONS.indexOf(a.action))[0] ?? null;
