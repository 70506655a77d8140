import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { loadQuestions } from '../../../lib/data/flashrag.js';
import { questionType } from '../../../lib/data/question.js';
import { countSearches } from '../../../tools/small-world/sampled-searches.js';
import { temporaryFolder } from '../../folder.js';

it('counts turns and misses in sampled rollouts', async () => {
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
