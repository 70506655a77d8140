import { greatest } from 'd3-array';
import { normalizeAnswer } from './normalize.js';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

const splitWords = (text: string): string[] => normalizeAnswer(text).split(' ');

/** The sentence with most of these names, then with most words of the question; or ''. */
export function sentenceAbout(text: string, names: readonly string[], question: string): string {
  const questionWords = new Set(splitWords(question));
  const sentences = Array.from(segmenter.segment(text), ({ segment }) => segment.trim());
  const scored = sentences.map((sentence) => {
    const plain = normalizeAnswer(sentence);
    const numNames = names.filter((name) => plain.includes(normalizeAnswer(name))).length;
    const numShared = new Set(splitWords(sentence).filter((word) => questionWords.has(word))).size;
    return { sentence, score: 1000 * numNames + numShared };
  });
  return greatest(scored, ({ score }) => score)?.sentence ?? '';
}
