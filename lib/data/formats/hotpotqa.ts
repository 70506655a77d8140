/**
 * HotpotQA (Yang et al. 2018), such as `hotpot_train_v1.1.json`. The supporting facts
 * name two articles. A comparison needs both at once. In a bridge question the first
 * article is the one that mentions the other, or else the one without the answer; if
 * neither decides, the question gets no graph.
 */
import { z } from 'zod';
import { normalizeAnswer } from '../../text/answer-match.js';
import type { QuestionGraph, SubQuestion } from '../question.js';
import {
  annotatedPassages,
  countIncomplete,
  joinSentences,
  tuples,
  type DataFormat,
} from './format.js';

/** Some copies decompose accents only in the articles, or only in the facts. */
const titleSchema = z.string().transform((title) => title.normalize('NFC'));
const paragraphSchema = z.tuple([titleSchema, z.array(z.string())]);
/** 2WikiMultiHopQA extends these rows. */
export const hotpotSchema = z.object({
  _id: z.string().min(1),
  question: z.string().min(1),
  answer: z.string().nullish(),
  type: z.string().optional(),
  level: z.string().optional(),
  supporting_facts: tuples(z.tuple([titleSchema, z.int()]), ['title'], ['sent_id']).default([]),
  context: tuples(paragraphSchema, ['title'], ['sentences', 'content']),
});

export interface Article {
  title: string;
  /** The supporting sentences. */
  facts: string;
  text: string;
  evidence: string[];
}

export function includesAnswer(text: string, part: string): boolean {
  const key = normalizeAnswer(part);
  return key ? normalizeAnswer(text).includes(key) : text.includes(part.trim());
}
/** Drops a title's qualifier: `Capote (film)` becomes `Capote`. */
export const plainTitle = (title: string): string => title.replace(/ \([^)]*\)$/, '');
/** The form in which names are compared; one made only of punctuation stays as it is. */
export const nameKey = (name: string): string => {
  const composed = name.normalize('NFC').trim();
  return normalizeAnswer(composed) || composed;
};
/** The articles whose title is an entity's name, or else that name with a qualifier. */
export function findNamed<T extends { title: string }>(
  articles: readonly T[],
  entity: string,
): T[] {
  const key = nameKey(entity);
  const exact = articles.filter(({ title }) => nameKey(title) === key);
  if (exact.length > 0) return exact;
  return articles.filter(({ title }) => nameKey(plainTitle(title)) === key);
}

/** The articles of a bridge question in search order; null if unknown. */
function bridgeOrder([a, b]: readonly Article[], answer: string): [Article, Article] | null {
  const tests: ((first: Article, second: Article) => boolean)[] = [
    (first, second) => includesAnswer(first.text, plainTitle(second.title)),
    (first, second) => includesAnswer(second.facts, answer) && !includesAnswer(first.facts, answer),
  ];
  for (const leads of tests) {
    if (leads(a, b) !== leads(b, a)) return leads(a, b) ? [a, b] : [b, a];
  }
  return null;
}

/**
 * The graph of two articles; null if the question is neither a comparison nor a bridge
 * with a known order.
 */
export function articleGraph(
  articles: readonly Article[],
  type: string | undefined,
  answer: string,
): QuestionGraph | null {
  const isBridge = type === 'bridge';
  if (articles.length !== 2 || !(isBridge || type === 'comparison')) return null;
  const ordered = isBridge ? bridgeOrder(articles, answer) : articles;
  if (!ordered) return null;
  const bridged = [plainTitle(ordered[1].title), answer];
  return ordered.map(
    ({ title, facts, evidence }, i): SubQuestion => ({
      id: `q${i + 1}`,
      question: `What is to be known of ${title}?`,
      entity: plainTitle(title),
      attribute: 'supporting fact',
      query: plainTitle(title),
      dependsOn: isBridge && i === 1 ? ['q1'] : [],
      answers: [isBridge ? bridged[i] : facts],
      evidence,
    }),
  );
}

export const hotpotqa: DataFormat = {
  name: 'hotpotqa',
  hasOneAnswer: true,
  hasWording: false,
  ending: '.json',
  matches: (row) =>
    ('_id' in row || 'supporting_facts' in row) && 'context' in row && !('evidences' in row),
  read: (row, passages) => {
    const { _id: id, question, answer, type, level, ...annotated } = hotpotSchema.parse(row);
    const articles = annotated.context.map(([title, sentences]): Article => {
      const named = annotated.supporting_facts.filter(([name]) => name === title);
      const text = joinSentences(sentences);
      // Some sentence numbers are listed twice, or exceed the number of sentences.
      const isStated = (_: string, at: number) => named.some(([, fact]) => fact === at);
      const stated = joinSentences(sentences.filter(isStated)) || text;
      const facts = named.length > 0 ? stated : '';
      return { title, text, facts, evidence: [passages.add(title, text)] };
    });
    if (!answer?.trim()) return null;
    countIncomplete(annotated, passages);
    const named = articles.filter(({ facts }) => facts !== '');
    const supporting = named.flatMap(({ evidence }) => evidence);
    const graph = articleGraph(named, type, answer);
    const kind = { ...(type && { type }), ...(level && { level }) };
    const metadata = { benchmark: 'hotpotqa', ...kind, supporting, ...(graph && { graph }) };
    return { id, question, goldenAnswers: [answer], metadata };
  },
  print: (question, passages) => {
    const { id: _id, goldenAnswers, metadata } = question;
    const support = annotatedPassages(question, passages);
    return {
      _id,
      question: question.question,
      answer: goldenAnswers[0],
      ...(metadata.type !== undefined && { type: metadata.type }),
      ...(typeof metadata.level === 'string' && { level: metadata.level }),
      supporting_facts: support.map(({ title }) => [title, 0]),
      context: support.map(({ title, text }) => [title, [text]]),
    };
  },
};
