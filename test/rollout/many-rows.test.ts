/** Rows that run together give the same results as alone. */
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import type { RetrievedPassage } from '../../lib/retrieval/retriever.js';
import type { RolloutOptions } from '../../lib/rollout/options.js';
import { rollOut } from '../../lib/rollout/rollout.js';
import { makePassage } from '../retrieval/passages.js';
import { OPTIONS, ask, library, found, play, SEARCH, ANSWER } from './play.js';
import { scriptedPolicy } from './scripted-policy.js';

describe('many rows', () => {
  const SCRIPTS = {
    'a?': [SEARCH, '<search> X ## Z </search>', ANSWER],
    'b?': ['<search> Y ## W </search>', ANSWER],
    'c?': [ANSWER],
    'd?': ['nonsense', SEARCH, ANSWER],
  };

  const retrievals = ({ failed }: { failed: number }) => ({
    retrievalsRequested: 8,
    retrievalsFailed: failed,
    retrievalsTimedOut: 0,
  });

  it('share one search per turn and fetch duplicates once', async () => {
    const retriever = library();
    const { trajectories, stats, policy } = await play(SCRIPTS, { retriever });
    expect(retriever.calls).toEqual([
      ['X', 'Y', 'W'],
      ['X', 'Z', 'Y'],
    ]);
    expect(stats).toMatchObject(retrievals({ failed: 0 }));
    expect(policy.calls.map((call) => call.length)).toEqual([4, 3, 2]);
    expect(trajectories.map(({ question }) => question)).toEqual(Object.keys(SCRIPTS));
    expect(trajectories[1].segments[2].text).toBe(found('Y', 'W'));
    expect(trajectories[3].segments[4].text).toBe(found('X', 'Y'));
    expect(trajectories.map(({ modelCalls }) => modelCalls)).toEqual([3, 2, 1, 3]);
  });

  it('do not affect each other', async () => {
    const { trajectories } = await play(SCRIPTS);
    for (const [i, [question, script]] of Object.entries(SCRIPTS).entries()) {
      expect((await play({ [question]: script })).trajectories[0]).toEqual(trajectories[i]);
    }
  });

  it('use the cache across calls', async () => {
    const [retriever, cache] = [library(), new Map<string, RetrievedPassage[]>()];
    await play(SCRIPTS, { retriever, cache });
    const { stats } = await play(SCRIPTS, { retriever, cache });
    expect(retriever.calls.flat()).toEqual(['X', 'Y', 'W', 'Z']);
    expect(stats).toMatchObject(retrievals({ failed: 0 }));
  });

  it('use a simulated search engine if given', async () => {
    const retriever = library();
    const search: RolloutOptions['search'] = async (asked) =>
      asked.map(({ query, question }) => {
        const passages = [{ passage: makePassage('w', `${query}\nWritten.`), score: 0 }];
        if (query !== 'X') return { status: 'ok', passages };
        return { status: 'failed', reason: `nothing on ${question.question}` };
      });
    const { trajectories, stats } = await play(SCRIPTS, { retriever, search });
    expect(retriever.calls).toEqual([]);
    expect(stats).toMatchObject(retrievals({ failed: 3 }));
    expect(trajectories[1].segments[2].text).toContain('Written.');
    expect(trajectories[0].searchTurns[0].results).toEqual([
      { status: 'failed', reason: 'the search engine gave no answer.', detail: 'nothing on a?' },
      { status: 'ok', passages: [{ id: 'w', title: 'Y', score: 0 }] },
    ]);
  });

  it('keep their own random generator', async () => {
    const { policy } = await play(SCRIPTS);
    const statesOf = (call: number): number[][] =>
      policy.options[call].randoms.map((random) => random.state());
    const fresh = (question: string): number[] => createRandom(`id of ${question}`).state();
    expect(statesOf(1)).toEqual(['a?', 'b?', 'd?'].map(fresh));
    expect(statesOf(2)).toEqual(['a?', 'd?'].map(fresh));
  });

  it('need one generator each; zero rows are accepted', async () => {
    const options = { ...OPTIONS, randoms: [createRandom(1)] };
    const run = rollOut(scriptedPolicy({}), library(), [ask('a?'), ask('b?')], options);
    await expect(run).rejects.toThrow('Expected 2 generators');
    expect((await play({})).trajectories).toEqual([]);
  });
});
