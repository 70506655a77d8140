import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadRewards, scoringInputFromTranscript, scoreRollout } from 'parallelsearch';

const rewards = await loadRewards('reward.ts');

/** What a response is given. */
const scoreOf = (response) => {
  const rollout = scoringInputFromTranscript(response, { goldenAnswers: ['Salt Road'] });
  return scoreRollout(rewards, rollout).components.asked_at_once;
};

const found = '<information>Doc 1(Title: Salt Road) The film was released in 2004.</information>';
const answer = '<answer> Salt Road </answer>';

test('a turn of two queries is rewarded, two turns of one query are not', () => {
  assert.equal(scoreOf(`<search> Salt Road ## Paper Lantern </search>${found}${answer}`), 1);
  const one = `<search> Salt Road </search>${found}`;
  assert.equal(scoreOf(`${one}${one}${answer}`), 0);
});
