import { expect, it } from 'vitest';
import { segmentText } from '../../lib/text/segments.js';

it.each(['grapheme', 'word', 'sentence'] as const)(
  'gives each %s of the whole text, also if it is longer than a window',
  (granularity) => {
    const segmenter = new Intl.Segmenter('en', { granularity });
    const words = Array.from({ length: 250 }, (_, i) => `${'x'.repeat(i % 40)}. `).join('');
    const text = `${words}${'y'.repeat(10_000)} ${words}`;
    const segments = Array.from(segmenter.segment(text), ({ segment }) => segment);
    expect([...segmentText(segmenter, text)]).toEqual(segments);
  },
);
