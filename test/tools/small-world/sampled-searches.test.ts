import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { sum } from 'd3-array';
import { expect, it } from 'vitest';
import { loadQuestions } from '../../../lib/data/flashrag.js';
import { questionType } from '../../../lib/data/question.js';
import { packagePath } from '../../../lib/io/paths.js';
import {
  countSearches,
  SAMPLED_SEARCHES,
  type SampledRecord,
  type SampledSearches,
} from '../../../tools/small-world/sampled-searches.js';
import { temporaryFolder } from '../../folder.js';

it('counts turns and misses of sampled rollouts', async () => {
  const file = path.join(temporaryFolder(), 'trajectories.jsonl');
  const question = (await loadQuestions()).find((one) => questionType(one) === 'parallelizable')!;
  const evidence = question.metadata.graph!.map(({ evidence: [id] }) => id);
  const rollout = (step: number, ...turns: string[][]) => ({
    questionId: question.id,
    questionType: 'parallelizable',
    goldenAnswers: question.goldenAnswers,
    segments: [],
    step,
    searchTurns: turns.map((ids) => ({
      queries: ids,
      results: ids.map((id) => ({ status: 'ok', passages: [{ id, title: '', score: 1 }] })),
    })),
  });
  const [first, ...others] = evidence;
  const rollouts = [
    rollout(3, evidence),
    rollout(3, [first]),
    rollout(24, [first], others),
    rollout(25, ...evidence.map((id) => [id])),
  ];
  writeFileSync(file, rollouts.map((one) => JSON.stringify(one)).join('\n'));
  const { counts, reached } = await countSearches([file]);
  expect(counts.map(({ run: _, questionType: __, ...rest }) => rest)).toEqual([
    { from: 0, rollouts: 3, searchedTwice: 1, missed: 2, searchedAgain: 1 },
    { from: 25, rollouts: 1, searchedTwice: 1, missed: 1, searchedAgain: 1 },
  ]);
  expect(reached).toEqual([expect.objectContaining({ atOnce: 3, twoTurns: 24 })]);
});

it('gives the figures that the page of trainings states', () => {
  const { counts, reached } = JSON.parse(readFileSync(SAMPLED_SEARCHES, 'utf8')) as SampledRecord;
  const page = readFileSync(packagePath('notebooks', '13-training.ipynb'), 'utf8');
  type Count = 'rollouts' | 'searchedTwice' | 'missed' | 'searchedAgain';
  const percent = (
    [method, type, from]: [string, string, number],
    [part, whole]: [Count, Count],
  ): string => {
    const isCounted = (row: SampledSearches): boolean =>
      row.run.includes(`-${method}-`) && row.questionType === type && row.from === from;
    const rows = counts.filter(isCounted);
    return `${Math.round((100 * sum(rows, (row) => row[part])) / sum(rows, (row) => row[whole]))} %`;
  };
  const twice = ['parallelsearch', 'search-r1'].map((method) =>
    percent([method, 'sequential', 0], ['searchedTwice', 'rollouts']),
  );
  expect(page).toContain(`(${twice[0]} with ParallelSearch, ${twice[1]} with Search-R1)`);
  const late = 'parallelizable';
  expect(page).toContain(
    `${percent(['parallelsearch', late, 75], ['missed', 'rollouts'])} of ParallelSearch’s first turns on comparisons miss a fact, ` +
      `and it searches again after ${percent(['parallelsearch', late, 75], ['searchedAgain', 'missed'])} of those`,
  );
  expect(page).toContain(
    `tries again after ${percent(['parallelsearch', 'single_hop', 75], ['searchedAgain', 'missed'])} of the misses`,
  );
  const step = (run: string) => reached.find((one) => one.run.startsWith(run))!;
  expect(page).toContain(
    `decompose after ${step('hasty-1-p').atOnce} and ${step('hasty-2-p').atOnce} steps`,
  );
  expect(page).toContain(
    `Search-R1 takes ${step('hasty-1-s').twoTurns} and ${step('hasty-2-s').twoTurns} steps`,
  );
  expect(page).toContain(
    `decomposing takes ${step('hasty-3-p').atOnce} steps and searching one by one takes ${step('hasty-3-s').twoTurns}`,
  );
});
