/** Measures whether retrieval finds the evidence for questions, and their answers. */
import { mean, range } from 'd3-array';
import type { Passage } from '../data/passage.js';
import type { Question } from '../data/question.js';
import { paddedWords, statableAnswers } from '../text/answer-match.js';
import { type Retriever, requireInteger } from './retriever.js';

/** A query and the ids of the passages that answer it, at least one. */
export interface QueryWithEvidence {
  query: string;
  evidence: readonly string[];
}

export interface EvidenceQuestion {
  question: string;
  split?: string;
  metadata: { graph?: readonly { query: string; evidence: readonly string[] }[] };
}

export interface RecallAt {
  k: number;
  /** Mean share of a query's evidence among the first k passages, 0 to 1. */
  recall: number;
  /** Share of queries with any evidence among the first k passages, 0 to 1. */
  hitRate: number;
}

/** A split's sub-questions (or whole questions) as queries, with their evidence. */
export function queriesWithEvidence(
  questions: readonly EvidenceQuestion[],
  { split, of }: { split: string; of: 'subQueries' | 'questions' },
): QueryWithEvidence[] {
  return questions
    .filter((question) => question.split === split)
    .flatMap(({ question, metadata: { graph = [] } }) =>
      of === 'questions'
        ? [{ query: question, evidence: [...new Set(graph.flatMap(({ evidence }) => evidence))] }]
        : graph.map(({ query, evidence }) => ({ query, evidence })),
    )
    .filter(({ evidence }) => evidence.length > 0);
}

/** Recall and hit rate at each k. @throws RangeError if a query has no evidence */
export async function retrievalRecall(
  retriever: Retriever,
  queries: readonly QueryWithEvidence[],
  ks: readonly number[],
): Promise<RecallAt[]> {
  if (queries.length === 0) throw new RangeError('Expected at least one query, but got none.');
  ks.forEach((k) => requireInteger('k', k));
  const results = await retriever.retrieve(
    queries.map(({ query }) => query),
    { topK: Math.max(...ks) },
  );
  const ids = results.map((passages) => passages.map(({ passage }) => passage.id));
  return ks.map((k) => {
    const shares = queries.map(({ query, evidence }, i) =>
      evidenceShare(query, evidence, ids[i].slice(0, k)),
    );
    return { k, recall: mean(shares)!, hitRate: mean(shares, (share) => (share > 0 ? 1 : 0))! };
  });
}

function evidenceShare(
  query: string,
  evidence: readonly string[],
  retrieved: readonly string[],
): number {
  const expected = new Set(evidence);
  if (expected.size === 0)
    throw new RangeError(`Expected evidence for the query "${query}", but got none.`);
  return new Set(retrieved.filter((id) => expected.has(id))).size / expected.size;
}

type Answered = Pick<Question, 'question' | 'goldenAnswers'>;

/** For each question, whether a passage states an answer: normalised, as whole words. */
export async function findStatedAnswers(
  questions: readonly Answered[],
  passages: Iterable<Pick<Passage, 'contents'>> | AsyncIterable<Pick<Passage, 'contents'>>,
): Promise<boolean[]> {
  const answers = questions.map(({ goldenAnswers }) => statableAnswers(goldenAnswers));
  // Answers by first word, so that each passage is read once for all of them.
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

/** Queries per request, which servers limit. */
const BATCH_SIZE = 64;

/** For each question, the rank of the first passage with an answer, or Infinity. */
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
      const answers = statableAnswers(batch[i].goldenAnswers);
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
