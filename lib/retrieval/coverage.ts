/** Whether passages state the answers to questions, and whether retrieval finds them. */
import { range } from 'd3-array';
import type { Passage, Question } from '../data/question.js';
import { normalizeAnswer, paddedWords } from '../text/normalize.js';
import type { Retriever } from './retriever.js';

type Answered = Pick<Question, 'question' | 'goldenAnswers'>;

const VERDICTS = new Set(['yes', 'no', 'noanswer', '']);

/**
 * Whether an answer can appear verbatim in a passage: not yes/no, nor one that normalises
 * to nothing.
 */
export const hasStatableAnswer = ({ goldenAnswers }: Answered): boolean =>
  goldenAnswers.some((answer) => !VERDICTS.has(normalizeAnswer(answer)));

const statableAnswers = ({ goldenAnswers }: Answered): string[] =>
  goldenAnswers.filter((answer) => !VERDICTS.has(normalizeAnswer(answer))).map(paddedWords);

/**
 * For each question, whether a passage contains one of its answers as whole words, both
 * normalised as for exact match.
 */
export async function findStatedAnswers(
  questions: readonly Answered[],
  passages: Iterable<Pick<Passage, 'contents'>> | AsyncIterable<Pick<Passage, 'contents'>>,
): Promise<boolean[]> {
  const answers = questions.map(statableAnswers);
  // Answers by their first word, so that each passage is read once for all of them.
  const missing = new Map<string, Set<string>>();
  const firstWord = (answer: string): string => answer.slice(1, answer.indexOf(' ', 1));
  for (const answer of answers.flat()) {
    const word = firstWord(answer);
    missing.set(word, (missing.get(word) ?? new Set()).add(answer));
  }
  const stated = new Set<string>();
  for await (const { contents } of passages) {
    const text = paddedWords(contents);
    for (let start = 0; start < text.length - 1; start = text.indexOf(' ', start + 1)) {
      const candidates = missing.get(text.slice(start + 1, text.indexOf(' ', start + 1)));
      for (const answer of candidates ?? [])
        if (text.startsWith(answer, start)) {
          stated.add(answer);
          candidates!.delete(answer);
        }
    }
  }
  return answers.map((alternatives) => alternatives.some((answer) => stated.has(answer)));
}

/** Queries per request; servers limit them. */
const BATCH_SIZE = 64;

/**
 * For each question as the query, the rank (from 1) of the first passage that states an
 * answer; Infinity if none of the first `topK` does.
 */
export async function findAnswerRanks(
  retriever: Retriever,
  questions: readonly Answered[],
  { topK, onBatch }: { topK: number; onBatch?: (done: number) => unknown },
): Promise<number[]> {
  const ranks: number[] = [];
  for (const start of range(0, questions.length, BATCH_SIZE)) {
    const batch = questions.slice(start, start + BATCH_SIZE);
    const lists = await retriever.retrieve(
      batch.map(({ question }) => question),
      { topK },
    );
    for (const [i, list] of lists.entries()) {
      const answers = statableAnswers(batch[i]);
      const index = list.findIndex(({ passage }) => {
        const text = paddedWords(passage.contents);
        return answers.some((answer) => text.includes(answer));
      });
      ranks.push(index < 0 ? Infinity : index + 1);
    }
    await onBatch?.(ranks.length);
  }
  return ranks;
}
