/**
 * Counts what rollouts sampled in training searched for, in the trajectories of the runs
 * from hasty models, which are too large for the repository.
 */
import { basename, dirname, join } from 'node:path';
import { group, mean, sort, sum } from 'd3-array';
import { loadQuestions } from '../../lib/data/flashrag.js';
import { readJsonLines, writeFileSafely } from '../../lib/io/files.js';
import { packagePath } from '../../lib/io/paths.js';
import { parseTrajectory } from '../../lib/rollout/recorded.js';

export const SAMPLED_SEARCHES = packagePath('data', 'conditions', 'habit', 'sampled.json');
/** Number of steps that are counted together. */
const STEPS = 25;

/** Rollouts of a run on questions of a type, from step `from` on. */
interface SampledSearches {
  run: string;
  from: number;
  questionType: string;
  rollouts: number;
  /** Rollouts that searched in two or more turns. */
  searchedTwice: number;
  /** Rollouts whose first turn did not show the evidence of every sub-question. */
  missed: number;
  /** Those of them that searched again. */
  searchedAgain: number;
}

/** The content of {@link SAMPLED_SEARCHES}. */
interface SampledRecord {
  counts: SampledSearches[];
  /**
   * For each run, the first step in which half of the rollouts on comparisons search for
   * several things at once, or in which they average two search turns; null if there is
   * none.
   */
  reached: { run: string; atOnce: number | null; twoTurns: number | null }[];
}

/** Counts the `trajectories.jsonl` of runs, in folders named after the runs. */
export async function countSearches(files: readonly string[]): Promise<SampledRecord> {
  const questions = new Map((await loadQuestions()).map((question) => [question.id, question]));
  const counts: SampledSearches[] = [];
  const reached: SampledRecord['reached'] = [];
  for (const file of files) {
    const run = basename(dirname(file));
    const rollouts = [];
    for await (const rollout of readJsonLines(file, parseTrajectory, 'trajectories')) {
      const { questionId, questionType, searchTurns, step = 0 } = rollout;
      const [first] = searchTurns;
      const shown = new Set(
        (first?.results ?? []).flatMap((result) =>
          result.status === 'ok' ? result.passages.map(({ id }) => id) : [],
        ),
      );
      const { graph = [] } = questions.get(questionId)!.metadata;
      const isMissed = !graph.every(({ evidence }) => evidence.some((id) => shown.has(id)));
      const turns = searchTurns.length;
      const isAtOnce = searchTurns.some(({ queries }) => queries.length > 1);
      const key = `${Math.floor(step / STEPS) * STEPS} ${questionType}`;
      rollouts.push({ key, step, questionType, turns, isAtOnce, isTwice: turns > 1, isMissed });
    }
    const compared = rollouts.filter(({ questionType }) => questionType === 'parallelizable');
    const steps = sort(
      group(compared, ({ step }) => step),
      ([step]) => step,
    );
    type Rollout = (typeof compared)[0];
    const firstStep = (value: (rollout: Rollout) => number, threshold: number): number | null =>
      steps.find(([, members]) => mean(members, value)! >= threshold)?.[0] ?? null;
    reached.push({
      run,
      atOnce: firstStep(({ isAtOnce }) => Number(isAtOnce), 0.5),
      twoTurns: firstStep(({ turns }) => turns, 2),
    });
    for (const [key, members] of group(rollouts, ({ key }) => key)) {
      const [from, questionType] = key.split(' ');
      counts.push({
        run,
        from: Number(from),
        questionType,
        rollouts: members.length,
        searchedTwice: sum(members, ({ isTwice }) => Number(isTwice)),
        missed: sum(members, ({ isMissed }) => Number(isMissed)),
        searchedAgain: sum(members, ({ isMissed, isTwice }) => Number(isMissed && isTwice)),
      });
    }
  }
  return { counts, reached };
}

/** Writes {@link SAMPLED_SEARCHES}. */
export async function writeSampledSearches(folders: readonly string[]): Promise<void> {
  const record = await countSearches(folders.map((folder) => join(folder, 'trajectories.jsonl')));
  await writeFileSafely(SAMPLED_SEARCHES, `${JSON.stringify(record, null, 1)}\n`);
}
