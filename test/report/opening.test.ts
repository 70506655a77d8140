import { describe, expect, it } from 'vitest';
import { askedText, openingOf, setupText } from '../../lib/report/opening.js';

const prediction = (name: string, holds: boolean) => ({
  prediction: name,
  found: '0.5 [0.4, 0.6]',
  holds,
});
const textOf = (provenance: object): string =>
  openingOf({ summary: 'Some answers.', tidy: { provenance: { ...provenance } } })['text/plain'];

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

  it('leaves to the end what was read, and how many seeds the figures are of', () => {
    const read = { summary: 'Some answers.', questions: 'dev: no test' };
    expect(setupText({ ...read, warmUps: [1, 2], seeds: [1] })).toBe(
      'Some answers. The questions asked are those of dev: no test. Initial models were trained with 2 seeds, and each was reinforced with 1 seed.',
    );
    // Another report's count of something else.
    expect(setupText({ ...read, questions: '', warmUps: 3, seeds: [1] })).toBe('Some answers.');
  });

  it('begins with the finding where there is one, and says in short which questions were asked', () => {
    const finding = 'It is better: 0.5 [0.4, 0.6].';
    expect(textOf({ finding, questions: 'dev, looked at: no test' })).toBe(
      `${finding}\nSmall world, questions of dev, looked at.`,
    );
    expect(textOf({ finding, model: 'SmolLM2', questions: 'test: ten' })).toBe(
      `${finding}\nSmolLM2, questions of test.`,
    );
    expect(textOf({})).toBe('Some answers.');
  });

  it('lists the predictions that do not hold, and no other', () => {
    const predictions = [prediction('A <', false), prediction('B', true)];
    expect(textOf({ predictions })).toBe(
      'Some answers.\n1 of 2 predictions does not hold:\n- A <: 0.5 [0.4, 0.6]',
    );
    const opening = openingOf({ summary: 'Some answers.', tidy: { provenance: { predictions } } });
    expect(opening['text/html']).toContain('<li>A &lt;: 0.5 [0.4, 0.6]</li>');
    expect(textOf({ predictions: [prediction('B', true)] })).toBe(
      'Some answers.\nIts prediction holds.',
    );
  });
});
