/** Contexts and turns too short for all passages. */
import { describe, expect, it } from 'vitest';
import type { Retriever } from '../../lib/retrieval/retriever.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import { formatInformation } from '../../lib/text/tags.js';
import { makePassage } from '../retrieval/passages.js';
import { OPTIONS, playOne, SEARCH, ANSWER } from './play.js';

describe('passages that do not fit', () => {
  /** Query "x" finds x1 to x4, the best first. */
  const generous: Retriever = {
    name: 'generous',
    retrieve: async (queries, { topK }) =>
      queries.map((query) =>
        [1, 2, 3, 4].slice(0, topK).map((rank) => {
          const title = `${query}${rank}`;
          return { passage: makePassage(title, `${title}\nAll about ${title}.`), score: 5 - rank };
        }),
      ),
  };
  const passagesOf = (...titles: string[]) => ({
    status: 'ok' as const,
    passages: titles.map((title) => ({ title, text: `All about ${title}.` })),
  });
  const two = formatInformation([passagesOf('X1', 'X2'), passagesOf('Y1', 'Y2')]);
  const prompt = buildPrompt('parallel', 'who?', { form: 'short' });
  // Room for three more turns and the policy's next text.
  const enoughForTwo =
    prompt.length + SEARCH.length + two.length + 3 * 10 + OPTIONS.maxNewTokens + 1;
  const search = async (maxLength: number, reservePerTurn?: number) => {
    const options = { retriever: generous, topK: 4, maxLength, reservePerTurn };
    const trajectory = await playOne([SEARCH, ANSWER], options);
    const shown = trajectory.searchTurns[0].results.map((result) =>
      result.status === 'ok' ? [result.passages.length, result.numLeftOut] : [],
    );
    return { ...trajectory, shown };
  };

  it.each([
    ['lowest ranks first, equally for every sub-query', enoughForTwo, 10, [2, 2]],
    ['one token over the limit', enoughForTwo - 1, 10, [1, 3]],
    ['all but the first of a sub-query', prompt.length + SEARCH.length + 60, 10, [1, 3]],
  ])('are dropped and counted: %s', async (_, maxLength, reservePerTurn, shown) => {
    expect((await search(maxLength, reservePerTurn)).shown).toEqual([shown, shown]);
  });

  it('are dropped beyond the limit per turn', async () => {
    const show = async (maxInformationTokens: number) => {
      const options = { retriever: generous, topK: 4, maxLength: 10_000, maxInformationTokens };
      const { searchTurns } = await playOne([SEARCH, ANSWER], options);
      return searchTurns[0].results.map((result) =>
        result.status === 'ok' ? result.passages.length : 0,
      );
    };
    expect(await show(two.length)).toEqual([2, 2]);
    expect(await show(two.length - 1)).toEqual([1, 1]);
    expect(await show(1)).toEqual([1, 1]);
  });

  it('are cut to their first words; titles and records are not', async () => {
    const script = ['<search> Red River </search>', ANSWER];
    const show = (more: object) => playOne(script, { retriever: generous, topK: 2, ...more });
    const printed = (text: (title: string) => string): string => {
      const passages = ['Red River1', 'Red River2'].map((title) => ({ title, text: text(title) }));
      return formatInformation([{ status: 'ok', passages }]);
    };
    const [whole, wide] = [await show({}), await show({ maxPassageWords: 4 })];
    expect(whole.segments[2].text).toBe(printed((title) => `All about ${title}.`));
    expect(wide.segments).toEqual(whole.segments);
    const short = printed(() => 'All');
    // Cut words take no room.
    const cut = await show({ maxPassageWords: 1, maxInformationTokens: short.length });
    expect(cut.segments[2].text).toBe(short);
    expect(cut.searchTurns).toEqual(whole.searchTurns);
  });

  it('are all shown without a reserve, which ends the rollout', async () => {
    const { segments, finish } = await search(enoughForTwo, 10);
    expect([segments[2].text, finish]).toEqual([two, 'answer']);
    const unreserved = await search(enoughForTwo);
    expect([unreserved.shown[0], unreserved.finish]).toEqual([[4, undefined], 'length']);
  });
});
