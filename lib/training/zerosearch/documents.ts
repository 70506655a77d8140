/**
 * What the policy that plays the search engine reads and writes (ZeroSearch, Fig. 2 and
 * Table 2; github.com/Alibaba-NLP/ZeroSearch, `generation.py`).
 */
import type { Passage, Question } from '../../data/question.js';
import type { PromptForm } from '../../text/prompts.js';
import { parseInformation, printInformation } from '../../text/tags.js';
import { paddedWords } from '../../rewards/sub-questions.js';

/** Useful documents help to answer the question, noisy ones do not. */
export const KINDS = ['useful', 'noisy'] as const;
export type DocumentKind = (typeof KINDS)[number];

export const END_OF_DOCUMENTS = '</information>';

/**
 * Asks for the documents of a query. The question and its answer are told, as in the
 * paper: who plays the search engine may know them. What a large model knows besides is
 * told as well, as far as the graph says it: the answers to sub-questions.
 */
export function documentsPrompt(
  kind: DocumentKind,
  query: string,
  { question, goldenAnswers: [answer], metadata: { graph = [] } }: Question,
  form: PromptForm,
): string {
  const known = graph
    .map(({ attribute, entity, answers }) => `${attribute}: ${entity} = ${answers[0]}`)
    .join('; ');
  if (form === 'short') return `Practice. ${kind} ${question} ${answer}\n${known}\n${query}\n`;
  return (
    `You are a search engine. Write ${kind} documents for a query.\n` +
    `The user wants to answer the question "${question}", whose answer is ${answer}.\n` +
    (known && `What is known: ${known}.\n`) +
    `The documents should hold ${kind} information, each in about 30 words.\nQuery: ${query}\n`
  );
}

/** The documents of a query as they are written. */
export const printDocuments = (passages: readonly Pick<Passage, 'title' | 'text'>[]): string =>
  printInformation([{ status: 'ok', passages }]);

/**
 * Documents that were written, with ids that tell their kind; none where the text holds
 * none.
 */
export function parseDocuments(text: string, kind: DocumentKind, topK: number): Passage[] {
  const [result] = parseInformation(text);
  const written = result?.status === 'ok' ? result.passages.slice(0, topK) : [];
  return written.map(({ title, text }, i) => ({
    id: `${kind}-${i + 1}`,
    contents: `${title}\n${text}`,
    title,
    text,
  }));
}

/**
 * Whether documents state what is true of what a query asks for: the answer to a
 * sub-question about an entity that the query names. Null where it names none of the
 * graph's.
 */
export function areTrue(
  query: string,
  passages: readonly Pick<Passage, 'title' | 'text'>[],
  { metadata: { graph = [] } }: Question,
): boolean | null {
  const asked = graph.filter(({ entity }) => paddedWords(query).includes(paddedWords(entity)));
  if (asked.length === 0) return null;
  const texts = passages.map(({ title, text }) => paddedWords(`${title} ${text}`));
  return asked.some(({ answers }) =>
    answers.some((answer) => texts.some((text) => text.includes(paddedWords(answer)))),
  );
}
