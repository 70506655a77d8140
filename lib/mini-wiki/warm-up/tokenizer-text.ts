/** What the small policy's tokenizer is trained on. */
import type { Passage, Question } from '../../data/question.js';

/** Tags and the separator: whole tokens of the small policy's tokenizer. */
export const TAG_TOKENS = ['think', 'search', 'information', 'answer'].flatMap((tag) => [
  `<${tag}>`,
  `</${tag}>`,
]);

/**
 * The text that the small policy's tokenizer is trained on: training passages and questions, and the numbers that the drills
 * use, so that a year is one token.
 */
export function tokenizerLines(passages: readonly Passage[], questions: readonly Question[]): string[] {
  const numbers = (from: number, to: number): string[] =>
    Array.from({ length: to - from + 1 }, (_, i) => ` ${from + i}`);
  const copies = <T>(count: number, list: T[]): T[] => Array.from({ length: count }, () => list).flat();
  return [
    ...passages.map((p) => p.contents),
    ...questions.map((q) => q.question),
    ...questions.flatMap((q) => (q.metadata.graph ?? []).map((node) => ` ${node.entity}`)),
    ...copies(12, numbers(1850, 2020)),
    ...copies(6, numbers(1, 300)),
  ];
}
