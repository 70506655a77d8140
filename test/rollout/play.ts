/** Plays rollouts with a scripted policy. */
import type { Question } from '../../lib/data/question.js';
import { createRandom } from '../../lib/random.js';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import type { RolloutOptions } from '../../lib/rollout/options.js';
import { rollOut, type RolloutStats } from '../../lib/rollout/rollout.js';
import type { Trajectory } from '../../lib/rollout/trajectory.js';
import { formatInformation } from '../../lib/text/tags.js';
import { resolveRollout } from '../../lib/training/methods.js';
import { makePassage } from '../retrieval/passages.js';
import { scriptedPolicy, type ScriptedPolicy } from './scripted-policy.js';

export const OPTIONS: RolloutOptions = {
  ...resolveRollout('parallelsearch', 'small-world'),
  maxSearchTurns: 4,
  maxNewTokens: 50,
  maxInformationTokens: 10_000,
  topP: 0.9,
  retrievalTimeoutMs: 1000,
  temperature: 0.7,
};
export const ask = (text: string): Question => ({
  id: `id of ${text}`,
  question: text,
  goldenAnswers: ['gold'],
  metadata: {},
});

/** Query "x" finds the passage "x". */
export function library(): Retriever & { calls: string[][] } {
  const calls: string[][] = [];
  return {
    name: 'library',
    calls,
    retrieve: async (queries) => {
      calls.push([...queries]);
      return queries.map((query) => [
        { passage: makePassage(query, `${query}\nAll about ${query}.`), score: 2 },
      ]);
    },
  };
}
export const found = (...titles: string[]): string =>
  formatInformation(
    titles.map((title) => ({ status: 'ok', passages: [{ title, text: `All about ${title}.` }] })),
  );

export interface Played {
  trajectories: Trajectory[];
  stats: RolloutStats;
  policy: ScriptedPolicy;
}
export async function play(
  scripts: Record<string, readonly string[]>,
  more: Partial<RolloutOptions> & { retriever?: Retriever; maxLength?: number } = {},
): Promise<Played> {
  const { retriever = library(), maxLength, ...options } = more;
  const policy = scriptedPolicy(scripts, maxLength);
  const questions = Object.keys(scripts).map(ask);
  const randoms = questions.map(({ id }) => createRandom(id));
  return {
    ...(await rollOut(policy, retriever, questions, { ...OPTIONS, ...options, randoms })),
    policy,
  };
}
export async function playOne(
  ...[script, more]: [readonly string[], Parameters<typeof play>[1]?]
): Promise<Trajectory> {
  return (await play({ 'who?': script }, more)).trajectories[0];
}
export const kinds = (trajectory: Trajectory): string[] =>
  trajectory.segments.map(({ kind }) => kind);

export const SEARCH = '<think> a </think><search> X ## Y </search>';
export const ANSWER = '<think> b </think><answer> gold </answer>';
