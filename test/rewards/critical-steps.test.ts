import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../../lib/random.js';
import { criticalSteps } from '../../lib/rewards/sub-questions.js';
import { executedSearches, splitTranscript, type TextSegment } from '../../lib/text/response.js';
import { INVALID_ACTION_NOTICE } from '../../lib/text/tags.js';
import { drawRolloutCase } from '../../tools/export-cases/draw-cases.js';

const countKind = (segments: readonly TextSegment[], kind: TextSegment['kind']): number =>
  segments.filter((segment) => segment.kind === kind).length;

const stepsIn = (segments: readonly TextSegment[]): number =>
  criticalSteps({
    modelCalls: countKind(segments, 'policy'),
    searches: executedSearches(segments),
  });

const search = (queries: string): string =>
  `<think> t </think><search> ${queries} </search><information>Doc 1(Title: t) x</information>`;
const ANSWER = '<think> t </think><answer> a </answer>';

const turnsArbitrary = fc.array(fc.array(fc.string(), { minLength: 1, maxLength: 4 }), {
  maxLength: 5,
});

describe('criticalSteps', () => {
  it.each([
    ['an answer without search', ANSWER, 1],
    // generate, search, generate
    ['two parallel queries', search('a ## b') + ANSWER, 3],
    ['two sequential queries', search('a') + search('b') + ANSWER, 5],
    ['eight parallel queries', search('a ## b ## c ## d ## e ## f ## g ## h') + ANSWER, 3],
    ['two parallel queries, then one', search('a ## b') + search('c') + ANSWER, 5],
    ['an invalid action without a search', `x${INVALID_ACTION_NOTICE}${ANSWER}`, 2],
    [
      'a last search that is not executed',
      `${search('a')}<think> t </think><search> b </search>`,
      3,
    ],
  ])('counts the steps of %s', (_, response, expected) => {
    expect(stepsIn(splitTranscript(response))).toBe(expected);
  });

  it('does not count a turn without queries', () => {
    expect(criticalSteps({ modelCalls: 2, searches: [[], ['a']] })).toBe(3);
  });

  it('is at most the number of all steps, and equal without parallel queries', () => {
    fc.assert(
      fc.property(turnsArbitrary, fc.nat(3), (searches, others) => {
        const modelCalls = searches.length + others;
        const critical = criticalSteps({ modelCalls, searches });
        const total = modelCalls + searches.flat().length;
        expect(critical).toBeLessThanOrEqual(total);
        expect(critical === total).toBe(searches.every(({ length }) => length === 1));
        const reversed = searches.map((queries) => queries.toReversed()).toReversed();
        expect(criticalSteps({ modelCalls, searches: reversed })).toBe(critical);
      }),
    );
  });

  it('drops by two when two search turns are merged', () => {
    fc.assert(
      fc.property(turnsArbitrary, ([first, second, ...rest]) => {
        fc.pre(second !== undefined);
        const before = { modelCalls: rest.length + 3, searches: [first, second, ...rest] };
        const joined = { modelCalls: rest.length + 2, searches: [[...first, ...second], ...rest] };
        expect(criticalSteps(before) - criticalSteps(joined)).toBe(2);
      }),
    );
  });

  it("equals verl's num_turns without prompt and notices", async () => {
    const random = createRandom('critical steps');
    for (let i = 0; i < 100; i++) {
      const drawn = (await drawRolloutCase(random.fork(i))) as {
        expected: { segments: [TextSegment['kind'], string][] };
      };
      const segments = drawn.expected.segments.map(([kind, text]) => ({ kind, text }));
      // verl also counts the prompt, and notices as the environment's turns.
      const numTurns = 1 + segments.length;
      expect(stepsIn(segments)).toBe(numTurns - 1 - countKind(segments, 'notice'));
    }
  });
});
