import { describe, expect, it } from 'vitest';
import { askedText, openingOf } from '../../lib/report/opening.js';

const prediction = (name: string, holds: boolean) => ({ prediction: name, found: '0.5 [0.4, 0.6]', holds });
const textOf = (provenance: object): string =>
  openingOf({ summary: 'Some answers.', tidy: { rows: [], contrasts: [], provenance: { ...provenance } } })[
    'text/plain'
  ];

describe('the opening of a report', () => {
  it('says which questions were asked', () => {
    expect(askedText({ questions: 'dev: no test has been drawn' })).toBe(
      'The questions asked are those of dev: no test has been drawn.',
    );
    expect(askedText({ questions: 'test', testDrawnFrom: '0123456789abcdef' })).toBe(
      'The questions asked are those of test, drawn by the hash of commit 0123456789ab, which froze the weights.',
    );
    expect(askedText({})).toBe('');
  });

  it('says how many seeds the figures are of', () => {
    expect(textOf({ warmUps: [1, 2], seeds: [1] })).toBe(
      'Some answers. Initial models were trained with 2 seeds, and each was reinforced with 1 seed.',
    );
    // Another report's count of something else.
    expect(textOf({ warmUps: 3, seeds: [1] })).toBe('Some answers.');
  });

  it('lists the predictions that do not hold, and no other', () => {
    const predictions = [prediction('A <', false), prediction('B', true)];
    expect(textOf({ predictions })).toBe(
      'Some answers. 1 of 2 predictions does not hold:\n- A <: 0.5 [0.4, 0.6]',
    );
    const opening = openingOf({
      summary: 'Some answers.',
      tidy: { rows: [], contrasts: [], provenance: { predictions } },
    });
    expect(opening['text/html']).toContain('<li>A &lt;: 0.5 [0.4, 0.6]</li>');
    expect(textOf({ predictions: [prediction('B', true)] })).toBe('Some answers. Its prediction holds.');
    expect(textOf({})).toBe('Some answers.');
  });
});
