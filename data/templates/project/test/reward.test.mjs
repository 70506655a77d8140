import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadRewards, scoringInputFromTranscript, scoreRollout } from 'parallelsearch';

const rewards = await loadRewards('reward.ts');

/** What a response is given. */
const scoreOf = (response) => {
  const rollout = scoringInputFromTranscript(response, { goldenAnswers: ['Secret River'] });
  return scoreRollout(rewards, rollout).components.asked_at_once;
};

const found =
  '<information>Doc 1(Title: Secret River) The film was released in 1965.</information>';
const answer = '<answer> Secret River </answer>';

test('a turn of two queries is rewarded, two turns of one query are not', () => {
  assert.equal(scoreOf(`<search> Secret River ## Frozen Falcon </search>${found}${answer}`), 1);
  const one = `<search> Secret River </search>${found}`;
  assert.equal(scoreOf(`${one}${one}${answer}`), 0);
});
