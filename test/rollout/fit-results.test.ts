/** What a turn shows when its results exceed the limit. */
import { sum } from 'd3-array';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readTokenizer } from '../../lib/policy/folders/limited-tokenizer.js';
import { createRandom } from '../../lib/random.js';
import type { SearchOutcome } from '../../lib/retrieval/search.js';
import { fitResults } from '../../lib/rollout/fit-results.js';
import type { RolloutOptions } from '../../lib/rollout/options.js';
import { tokenDialogue } from '../../lib/rollout/token-dialogue.js';
import { lossMask, shownTexts, tokenIds, type SearchResult } from '../../lib/rollout/trajectory.js';
import { parseInformation, type PrintedResult } from '../../lib/text/tags.js';
import { MODEL } from '../interop/exports.js';
import { makePassage } from '../retrieval/passages.js';
import { phrase, roughText } from '../text/texts.js';
import { ANSWER, found, OPTIONS, play, playOne } from './play.js';
import { CHARACTERS } from './scripted-policy.js';

/** One token per character, and byte-pair encoding. */
const TOKENIZERS = { characters: CHARACTERS, model: await readTokenizer(MODEL) };
const film = phrase.map((title) => `${title} (film)`);
const DOCUMENT = fc.tuple(fc.oneof(phrase, film, roughText), fc.oneof(phrase, roughText));
const outcome: fc.Arbitrary<SearchOutcome> = fc.oneof(
  { weight: 8, arbitrary: fc.array(DOCUMENT, { maxLength: 3 }).map(toOutcome) },
  { weight: 1, arbitrary: fc.constant({ status: 'failed' as const, reason: 'down' }) },
);

function toOutcome(documents: readonly [string, string][]): SearchOutcome {
  const passages = documents.map(([title, text], i) => ({
    passage: { ...makePassage(`${i}`, `${title}\n${text}`), title, text },
    score: 3 - i,
  }));
  return { status: 'ok', passages };
}

/** The segment of a turn, and its recorded results. */
function show(
  outcomes: readonly SearchOutcome[],
  {
    tokenizer = 'characters',
    ...changes
  }: Partial<RolloutOptions> & { tokenizer?: keyof typeof TOKENIZERS },
) {
  const options = { ...OPTIONS, ...changes };
  const none = { name: 'none', retrieve: async () => [], generate: async () => [] };
  const policy = { ...none, tokenizer: TOKENIZERS[tokenizer], maxLength: 1e6 };
  const dialogue = tokenDialogue(policy, options);
  const trajectory = { segments: [], modelCalls: 0 } as never;
  return fitResults(
    { index: 0, random: createRandom(1), trajectory },
    { queries: outcomes.map((_, i) => `q${i}`), outcomes },
    { dialogue, retriever: none },
    options,
  );
}

const anyTurn = fc.record({
  outcomes: fc.array(outcome, { minLength: 1, maxLength: 4 }),
  maxInformationTokens: fc.integer({ min: 1, max: 200 }),
  tokenizer: fc.constantFrom('characters' as const, 'model' as const),
  informationForm: fc.constantFrom('json' as const, undefined),
});

const anyCut = fc.constantFrom('query' as const, 'raw' as const);

describe('information over the token limit', () => {
  it.each(['query', 'raw'] as const)('never exceeds the limit, cut by %s', (cut) => {
    fc.assert(
      fc.property(anyTurn, ({ outcomes, ...options }) => {
        const { segment } = show(outcomes, { ...options, informationCut: cut });
        expect(segment.tokenIds.length).toBeLessThanOrEqual(options.maxInformationTokens);
      }),
    );
  });

  it.each(['passage', 'query', 'raw'] as const)(
    'is shown whole within the limit, the same for every cut: %s',
    (cut) => {
      fc.assert(
        fc.property(anyTurn, ({ outcomes, ...options }) => {
          const whole = show(outcomes, { ...options, maxInformationTokens: 1e6 });
          const limit = Math.max(1, whole.segment.tokenIds.length);
          const fitting = { ...options, informationCut: cut, maxInformationTokens: limit };
          expect(show(outcomes, fitting)).toEqual(whole);
        }),
      );
    },
  );

  it('is cut to the first token ids by a raw cut', () => {
    fc.assert(
      fc.property(anyTurn, ({ outcomes, ...options }) => {
        const whole = show(outcomes, { ...options, maxInformationTokens: 1e6 }).segment;
        const { segment } = show(outcomes, { ...options, informationCut: 'raw' });
        const ids = whole.tokenIds.slice(0, options.maxInformationTokens);
        expect(segment.tokenIds).toEqual(ids);
        expect(segment.text).toBe(TOKENIZERS[options.tokenizer].decode(ids));
      }),
    );
  });

  it('is recorded and read back as shown', () => {
    fc.assert(
      fc.property(anyTurn, anyCut, ({ outcomes, ...options }, informationCut) => {
        const { segment, results } = show(outcomes, { ...options, informationCut });
        const counts = (shown: readonly (PrintedResult | SearchResult)[]): number[] =>
          shown.map((one) => (one.status === 'ok' ? one.passages.length : 0));
        expect(sum(counts(parseInformation(segment.text)))).toBe(sum(counts(results)));
        const texts = shownTexts(results, segment.text);
        expect(texts.map(({ length }) => length)).toEqual(counts(results));
        for (const [i, result] of results.entries()) {
          const found = outcomes[i];
          if (result.status === 'failed' || found.status === 'failed') continue;
          const { passages, numLeftOut = 0 } = result;
          expect(passages.length + numLeftOut).toBe(found.passages.length);
          // Only the last one may be cut.
          expect(passages.slice(0, -1).some(({ isCut }) => isCut)).toBe(false);
        }
      }),
    );
  });

  const LONG = 'one two three four five six seven eight nine ten'.repeat(5);
  const both = (title: string, text: string) =>
    toOutcome([title, `${title}2`].map((t) => [t, text]));
  const twice = ['A', 'B'].map((title) => both(title, LONG));

  it('is shared equally between queries', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 120, max: 400 }),
        fc.constantFrom('characters' as const, 'model' as const),
        (maxInformationTokens, tokenizer) => {
          const limit = Math.ceil(maxInformationTokens / (tokenizer === 'model' ? 3 : 1));
          const options = { tokenizer, maxInformationTokens: limit };
          const { segment, results } = show(twice, { ...options, informationCut: 'query' });
          const [first, second] = parseInformation(segment.text).map((result) =>
            result.status === 'ok' ? result.passages : [],
          );
          expect([first[0].title, second[0].title]).toEqual(['A', 'B']);
          expect(first.map(({ text }) => text)).toEqual(second.map(({ text }) => text));
          const ids = results.map((result) => result.status === 'ok' && result.passages[0].id);
          expect(ids).toEqual(['0', '0']);
          // Everything that fits is shown.
          expect(limit - segment.tokenIds.length).toBeLessThanOrEqual(3);
        },
      ),
    );
  });

  const passagesOf = (results: readonly SearchResult[]) =>
    results.map((result) =>
      result.status === 'ok'
        ? result.passages.map(({ title, isCut }) => (isCut ? `${title}…` : title))
        : result.status,
    );

  it('is cut by passage, by query or raw', () => {
    const outcomes = ['A', 'B'].map((title) => both(title, `all of ${title.toLowerCase()}`));
    const cut = (informationCut: RolloutOptions['informationCut'], limit: number) => {
      const { segment, results } = show(outcomes, { informationCut, maxInformationTokens: limit });
      return [segment.text, passagesOf(results)];
    };
    expect(cut('passage', 100)).toEqual([
      '<information>Doc 1(Title: A) all of a\nDoc 1(Title: B) all of b</information>',
      [['A'], ['B']],
    ]);
    expect(cut(undefined, 100)).toEqual(cut('passage', 100));
    expect(cut('query', 103)).toEqual([
      '<information>Doc 1(Title: A) all of a\nDoc 2(Title:\nDoc 1(Title: B) all of b\nDoc 2(Title:</information>',
      [['A'], ['B']],
    ]);
    expect(cut('query', 121)).toEqual([
      '<information>Doc 1(Title: A) all of a\nDoc 2(Title: A2) all \nDoc 1(Title: B) all of b\nDoc 2(Title: B2) all </information>',
      [
        ['A', 'A2…'],
        ['B', 'B2…'],
      ],
    ]);
    expect(cut('raw', 80)).toEqual([
      '<information>Doc 1(Title: A) all of a\nDoc 2(Title: A2) all of a\nDoc 1(Title: B) ',
      [['A', 'A2'], ['B…']],
    ]);
    expect(cut('raw', 13)).toEqual(['<information>', [[], []]]);
  });

  it('keeps the results of queries without any text left apart', () => {
    const { segment, results } = show(twice, { informationCut: 'query', maxInformationTokens: 40 });
    expect(segment.text).toBe('<information>Doc 1(\nDoc 1(</information>');
    expect(passagesOf(results)).toEqual([[], []]);
    expect(shownTexts(results, segment.text)).toEqual([[], []]);
  });
});

describe('a rollout with cut information', () => {
  it.each(['query', 'raw'] as const)(
    'has as many mask values as ids: %s',
    async (informationCut) => {
      const script = ['<think> a </think><search> X ## Y </search>', ANSWER];
      const trajectory = await playOne(script, { informationCut, maxInformationTokens: 50 });
      expect(lossMask(trajectory)).toHaveLength(tokenIds(trajectory).length);
      expect(trajectory.segments[2].tokenIds.length).toBeLessThanOrEqual(50);
      expect(trajectory).toMatchObject({ answer: 'gold', finish: 'answer' });
    },
  );

  it('splits queries at commas and labels their results like RAG-R1', async () => {
    const script = ['<think> a </think><search> X,Y ## Z </search>', ANSWER];
    const options = { querySeparator: ',', informationForm: 'json' as const };
    const { trajectories, policy } = await play({ 'who?': script }, options);
    const [{ searchTurns, segments, querySeparator }] = trajectories;
    expect(searchTurns[0].queries).toEqual(['X', 'Y ## Z']);
    expect(segments[2].text).toBe(
      '\n<information>\n{\n  "query": [\n    "X",\n    "Y ## Z"\n  ],\n  "documents": [\n' +
        '    "Doc 1: X   All about X.",\n    "Doc 1: Y ## Z   All about Y ## Z."\n  ]\n}\n</information>\n',
    );
    expect(policy.calls[1][0]).toContain(segments[2].text);
    // The labels imply a comma.
    expect(querySeparator).toBeUndefined();
    expect(policy.calls[0][0]).toContain('split parts with ,.');
    const other = await playOne(script, { ...options, querySeparator: '##' });
    expect(other.querySeparator).toBe('##');
    const plain = await playOne(script, { querySeparator: ',' });
    expect(plain.querySeparator).toBe(',');
    expect(plain.segments[2].text).toBe(found('X', 'Y ## Z'));
  });
});
