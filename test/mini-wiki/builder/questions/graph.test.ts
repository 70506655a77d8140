import { describe, expect, it } from 'vitest';
import { containsAnswer } from '../../../../lib/mini-wiki/builder/questions/graph.js';

describe('containsAnswer', () => {
  it('finds answers as whole words only', () => {
    expect(containsAnswer('Where is Mexico City?', ['Mexico'])).toBe(true);
    expect(containsAnswer('Where is Romeo?', ['Rome'])).toBe(false);
  });
});
