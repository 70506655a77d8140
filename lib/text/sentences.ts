/** Sentences of passages. */
import { greatest } from 'd3-array';
import { normalizeAnswer } from './normalize.js';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

const wordsOf = (text: string): string[] => normalizeAnswer(text).split(' ');

/**
 * The sentence of a text that holds most of these names, and else shares most words with
 * a question; '' of an empty text.
 */
export function sentenceAbout(text: string, names: readonly string[], question: string): string {
  const asked = new Set(wordsOf(question));
  const sentences = Array.from(segmenter.segment(text), ({ segment }) => segment.trim());
  const scored = sentences.map((sentence) => {
    const plain = normalizeAnswer(sentence);
    const numNames = names.filter((name) => plain.includes(normalizeAnswer(name))).length;
    const numShared = new Set(wordsOf(sentence).filter((word) => asked.has(word))).size;
    return { sentence, score: 1000 * numNames + numShared };
  });
  return greatest(scored, ({ score }) => score)?.sentence ?? '';
}
