/** Splits documents into passages of about equal length. */
import { least } from 'd3-array';
import { splitSentences } from '../text/sentences.js';
import { countWords, locateWords } from '../text/words.js';
import type { Section } from './documents.js';
import { joinContents, type Passage } from './passage.js';

/** Maximum length of a passage, relative to the target length. */
const MAX_LENGTH = 1.5;
/** Penalty for a cut inside a paragraph, in squared deviations from the target length. */
const SPLIT_COST = 0.2;

/** A sentence, or a part of a long one. */
interface SentencePart {
  text: string;
  numWords: number;
  /** What follows: a space, nothing (in Japanese, say), or the end of the paragraph. */
  separator: ' ' | '' | '\n';
}

/** Splits a sentence into parts of about equal length, at most `words` words each. */
function splitSentence(sentence: string, words: number): string[] {
  const numWords = countWords(sentence);
  if (numWords <= words * MAX_LENGTH) return [sentence];
  const size = Math.ceil(numWords / Math.ceil(numWords / words));
  const starts = locateWords(sentence).filter((_, i) => i % size === 0);
  return starts.map((start, i) => sentence.slice(i === 0 ? 0 : start, starts[i + 1]).trim());
}

function splitPieces(paragraph: string, words: number): SentencePart[] {
  const texts = splitSentences(paragraph).flatMap((sentence) => splitSentence(sentence, words));
  let end = 0;
  return texts.map((text, i) => {
    const start = paragraph.indexOf(text, end);
    if (start >= 0) end = start + text.length;
    const isJoined = start >= 0 && /\S/.test(paragraph.charAt(end));
    const separator = i === texts.length - 1 ? '\n' : isJoined ? '' : ' ';
    return { text, numWords: countWords(text), separator };
  });
}

/**
 * Splits paragraphs into texts of about `words` words, at most 1.5 times as many. Chooses
 * the cuts between sentences with the least squared deviation from the target length,
 * preferring cuts between paragraphs.
 */
export function cutParagraphs(paragraphs: readonly string[], words: number): string[] {
  const pieces = paragraphs.flatMap((paragraph) => splitPieces(paragraph, words));
  // The best cut of the first n pieces: its cost, and where its last text starts.
  const best: { cost: number; start: number }[] = [{ cost: 0, start: 0 }];
  for (let end = 1; end <= pieces.length; end++) {
    const cuts: typeof best = [];
    let numWords = 0;
    for (let start = end - 1; start >= 0; start--) {
      numWords += pieces[start].numWords;
      if (numWords > words * MAX_LENGTH && start < end - 1) break;
      const deviation = (numWords - words) / words;
      cuts.push({ cost: best[start].cost + deviation ** 2, start });
    }
    const { cost, start } = least(cuts, (cut) => cut.cost)!;
    best.push({ cost: cost + (pieces[end - 1].separator === '\n' ? 0 : SPLIT_COST), start });
  }
  const texts: string[] = [];
  for (let end = pieces.length; end > 0; end = best[end].start) {
    const text = pieces.slice(best[end].start, end).map((piece) => piece.text + piece.separator);
    texts.push(text.join('').trim());
  }
  return texts.reverse();
}

/**
 * Makes passages of about `words` words each. Drops passages that repeat the title and
 * text of an earlier one, ignoring titles that are only file names. `numRenamed` counts
 * rows that got a new id because another passage had theirs.
 * @param sources `name` prefixes the ids of passages without an id of their own
 */
export function makePassages(
  sources: readonly { name: string; sections: readonly Section[] }[],
  words: number,
): { passages: Passage[]; numDuplicates: number; numRenamed: number } {
  const passages: Passage[] = [];
  const rowIds = new Set(sources.flatMap(({ sections }) => sections.map(({ id }) => id)));
  const ids = new Set<string>();
  const keys = new Set<string>();
  let numDuplicates = 0;
  let numRenamed = 0;
  for (const { name, sections } of sources) {
    let number = 0;
    for (const { title, paragraphs, id: rowId, isUntitled } of sections)
      for (const [part, text] of cutParagraphs(paragraphs, words).entries()) {
        number++;
        const key = `${isUntitled ? '' : title}\n${text}`.toLowerCase().replace(/\s+/g, ' ');
        if (keys.has(key)) {
          numDuplicates++;
          continue;
        }
        keys.add(key);
        const rowPart = part > 0 ? `${rowId}#${part + 1}` : rowId!;
        const isFree = rowId !== undefined && !ids.has(rowPart);
        if (rowId !== undefined && !isFree) numRenamed++;
        // An earlier corpus among the sources has ids that were made here.
        while (!isFree && (ids.has(`${name}#${number}`) || rowIds.has(`${name}#${number}`)))
          number++;
        const id = isFree ? rowPart : `${name}#${number}`;
        ids.add(id);
        passages.push({ id, contents: joinContents(title, text), title, text });
      }
  }
  return { passages, numDuplicates, numRenamed };
}
