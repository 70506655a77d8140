/** What training may read: passages that no held-out question needs, and the text that the tokenizer is trained on. */
import { range } from 'd3-array';
import type { Passage, Question } from '../../data/question.js';

/** Passages that no held-out question has as evidence, or a training question has too. */
export function trainingPassages(passages: readonly Passage[], questions: readonly Question[]): Passage[] {
  const evidence = (isTraining: boolean): Set<string> =>
    new Set(
      questions
        .filter(({ split }) => (split === 'train') === isTraining)
        .flatMap(({ metadata }) => (metadata.graph ?? []).flatMap((node) => node.evidence)),
    );
  const [train, heldOut] = [evidence(true), evidence(false)];
  return passages.filter(({ id }) => train.has(id) || !heldOut.has(id));
}

/** Tags: whole tokens of the small policy's tokenizer. */
export const TAG_TOKENS = ['think', 'search', 'information', 'answer'].flatMap((tag) => [
  `<${tag}>`,
  `</${tag}>`,
]);

/**
 * The text that the small policy's tokenizer is trained on: training passages and questions, and the numbers that the drills
 * use, so that a year is one token.
 */
export function tokenizerLines(passages: readonly Passage[], questions: readonly Question[]): string[] {
  const copies = (count: number, numbers: readonly number[]): string[] =>
    range(count).flatMap(() => numbers.map((number) => ` ${number}`));
  return [
    ...passages.map(({ contents }) => contents),
    ...questions.map(({ question }) => question),
    ...questions.flatMap(({ metadata }) => (metadata.graph ?? []).map(({ entity }) => ` ${entity}`)),
    ...copies(12, range(1850, 2021)),
    ...copies(6, range(1, 301)),
  ];
}
