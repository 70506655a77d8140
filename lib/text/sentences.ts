import { greatest } from 'd3-array';
import { normalizeAnswer, normalizedWords } from './answer-match.js';
import { segmentText } from './segments.js';

const segmenter = new Intl.Segmenter('en', { granularity: 'sentence' });

/** Picks the sentence with most of these names, then most words of the question. */
export function sentenceAbout(text: string, names: readonly string[], question: string): string {
  const questionWords = new Set(normalizedWords(question));
  const sentences = Array.from(segmentText(segmenter, text), (segment) => segment.trim());
  const scored = sentences.map((sentence) => {
    const plain = normalizeAnswer(sentence);
    const numNames = names.filter((name) => plain.includes(normalizeAnswer(name))).length;
    const numShared = new Set(normalizedWords(sentence).filter((word) => questionWords.has(word)))
      .size;
    return { sentence, score: 1000 * numNames + numShared };
  });
  return greatest(scored, ({ score }) => score)?.sentence ?? '';
}

/** Matches an initial or abbreviation, after which the sentence continues. */
const ABBREVIATION =
  /(?:^|[\s("'“‘])(?:(?:\p{Lu}\.)*\p{Lu}|Dr|Mr|Mrs|Ms|Prof|St|Jr|Sr|Mt|Fig|No|vs|cf|e\.g|i\.e)\.$/u;

/** Splits a paragraph into sentences; abbreviations such as `Dr.` do not end one. */
export function splitSentences(paragraph: string): string[] {
  const sentences: string[] = [];
  for (const segment of segmentText(segmenter, paragraph)) {
    const sentence = segment.trim();
    const last = sentences.at(-1);
    if (last !== undefined && ABBREVIATION.test(last))
      sentences[sentences.length - 1] = `${last} ${sentence}`;
    else if (sentence !== '') sentences.push(sentence);
  }
  return sentences;
}
