import { describe, expect, it } from 'vitest';
import {
  TAG_TOKENS,
  tokenizerLines,
  trainingPassages,
} from '../../../lib/mini-wiki/warm-up/training-text.js';
import { COMPARISON, PASSAGES, QUESTIONS, SINGLE, TOKENIZER } from '../../training/tiny.js';

describe('trainingPassages', () => {
  it('leaves out what only held-out questions need, and keeps what training needs too and what nobody needs', () => {
    const heldOut = { ...COMPARISON, id: 'held-out', split: 'test' };
    const ids = trainingPassages(PASSAGES, [SINGLE, heldOut]).map(({ id }) => id);
    expect(ids).toEqual(['p2', 'p3', 'p4', 'p5']);
  });
});

describe('tokenizerLines', () => {
  it('holds every passage and question, and years often enough to be one token', () => {
    const lines = tokenizerLines(PASSAGES, QUESTIONS);
    for (const { contents } of PASSAGES) expect(lines).toContain(contents);
    for (const { question } of QUESTIONS) expect(lines).toContain(question);
    expect(lines.filter((line) => line === ' 1904').length).toBeGreaterThanOrEqual(2);
  });

  it('knows the tags of the grammar', () => {
    expect(TAG_TOKENS).toHaveLength(8);
    for (const tag of TAG_TOKENS) expect(TOKENIZER.encode(tag)).toHaveLength(1);
  });
});
