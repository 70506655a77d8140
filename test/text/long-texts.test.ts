/** Adversarial texts of megabytes: readers take linear time. */
import { expect, it } from 'vitest';
import {
  ambiguity,
  executedSearches,
  finalAnswer,
  formatFault,
  splitTranscript,
} from '../../lib/text/response.js';
import { INFORMATION, SEARCH, THINK } from './texts.js';

it.each([
  ['</search><information>', 40_000],
  ['</search><information>a</information>', 40_000],
  ['My previous action is invalid. If I want to search', 40_000],
  [`</search>${' '.repeat(100)}`, 8_000],
  [`${THINK}${SEARCH}${INFORMATION}`, 8_000],
  [`${SEARCH}${SEARCH}${INFORMATION}`, 8_000],
])('reads megabytes of %j', (text, times) => {
  const segments = splitTranscript(text.repeat(times));
  expect(segments.map((segment) => segment.text.length).reduce((a, b) => a + b)).toBe(
    text.length * times,
  );
  expect(formatFault(segments)).not.toBeNull();
  expect(finalAnswer(segments)).toBeNull();
  expect(executedSearches(segments).length).toBe(text.startsWith(THINK) ? times : 0);
  ambiguity(segments);
});
