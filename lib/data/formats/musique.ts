/**
 * MuSiQue (Trivedi et al. 2022), such as `musique_ans_v1.0_train.jsonl`. The graph is its
 * decomposition: a sub-question with `#1` needs the answer to the first. Unanswerable
 * questions are skipped.
 */
import { z } from 'zod';
import { escapeRegex } from '../../text/regex.js';
import { goldenAnswersSchema, type QuestionGraph, type SubQuestion } from '../question.js';
import { annotatedPassages, type DataFormat } from './format.js';

const rowSchema = z.object({
  id: z.string().min(1),
  question: z.string().min(1),
  answer: z.string().nullish(),
  answer_aliases: goldenAnswersSchema.default([]),
  answerable: z.boolean().default(true),
  paragraphs: z.array(z.object({ idx: z.int(), title: z.string(), paragraph_text: z.string() })),
  question_decomposition: z
    .array(
      z.object({
        question: z.string().min(1),
        answer: z.string().min(1),
        paragraph_support_idx: z.int().nullish(),
      }),
    )
    .default([]),
});

/** `#1`; some copies have `# 1` or `＃１`. The `F#1` of a text is none. */
const REFERENCE = /(?<!\w)[#＃][ \u3000]?([0-9０-９]+)(?![\w０-９])/g;
/** The number of the step that a reference names, from 1. */
const stepNumber = (digits: string): number => Number(digits.normalize('NFKC'));

/** A step of the decomposition; `#1` stands for the answer to the first one. */
interface DecompositionStep {
  question: string;
  answer: string;
  /** Title of the passage that states the answer. */
  title?: string;
  evidence: string[];
}

export const decompositionGraph = (steps: readonly DecompositionStep[]): QuestionGraph =>
  steps.map(({ question, answer, title, evidence }, i): SubQuestion => {
    // Other numbers are text, such as "the #1 hit".
    const isEarlier = (number: number): boolean => number >= 1 && number <= i;
    const needed = [
      ...new Set(Array.from(question.matchAll(REFERENCE), ([, digits]) => stepNumber(digits))),
    ].filter(isEarlier);
    const asked = question.replace(REFERENCE, (reference, digits: string) =>
      isEarlier(stepNumber(digits)) ? steps[stepNumber(digits) - 1].answer : reference,
    );
    // Either "Van Hook Township >> capital" or a question in words.
    const [, subject, relation] = /^(.+?) >> (.+)$/s.exec(asked) ?? [];
    const entity = subject ?? steps[needed[0] - 1]?.answer ?? title ?? asked;
    return {
      id: `q${i + 1}`,
      question: asked,
      entity,
      attribute: relation ?? asked,
      query: relation ? `${subject} ${relation}` : asked,
      dependsOn: needed.map((number) => `q${number}`),
      answers: [answer],
      evidence,
    };
  });

const wholeWord = (texts: readonly string[], flags: string): RegExp =>
  new RegExp(`(?<![\\p{L}\\p{N}])(?:${texts.map(escapeRegex).join('|')})(?![\\p{L}\\p{N}])`, flags);

/** Replaces the answers that a sub-question depends on by references such as `#1`. */
function withReferences({ question, dependsOn }: SubQuestion, graph: QuestionGraph): string {
  const needed = graph.flatMap(({ id, answers: [answer] }, i) => {
    if (!dependsOn.includes(id)) return [];
    const find = (flags: string) => wholeWord([answer], flags).exec(question)?.[0];
    return { text: find('u') ?? find('iu') ?? answer, reference: `#${i + 1}` };
  });
  // The longest first: "New York City" before "New York".
  const texts = needed.map(({ text }) => text).sort((a, b) => b.length - a.length);
  // One pass: a later answer may be the "1" of a reference.
  return question.replace(wholeWord(texts, 'gu'), (match) => {
    const at = needed.findIndex(({ text }) => text === match);
    return at < 0 ? match : needed.splice(at, 1)[0].reference;
  });
}

export const musique: DataFormat = {
  name: 'musique',
  hasOneAnswer: false,
  hasWording: true,
  ending: '.jsonl',
  matches: (row) => 'question_decomposition' in row || ('paragraphs' in row && 'answerable' in row),
  read: (row, passages) => {
    const { id, question, answer, answerable, ...parsed } = rowSchema.parse(row);
    const paragraphs = parsed.paragraphs.map(({ idx, title, paragraph_text: text }) => ({
      idx,
      title,
      text,
      passage: passages.add(title, text),
    }));
    if (!answer?.trim() || !answerable) return null;
    const supports = parsed.question_decomposition.flatMap(
      ({ paragraph_support_idx: support }) => support ?? [],
    );
    const withText = paragraphs.filter(({ text }) => text.trim() !== '').map(({ idx }) => idx);
    if (supports.some((support) => !withText.includes(support))) passages.numIncomplete++;
    const graph = decompositionGraph(
      parsed.question_decomposition.map(({ paragraph_support_idx: support, ...step }) => {
        const stated = paragraphs.find(({ idx }) => idx === support);
        return { ...step, title: stated?.title, evidence: stated ? [stated.passage] : [] };
      }),
    );
    const metadata = {
      benchmark: 'musique',
      type: id.split('__')[0],
      ...(graph.length > 0 && { graph }),
    };
    return { id, question, goldenAnswers: [answer, ...parsed.answer_aliases], metadata };
  },
  print: (question, passages) => {
    const { graph = [] } = question.metadata;
    const support = annotatedPassages(question, passages);
    const [answer, ...aliases] = question.goldenAnswers;
    return {
      id: question.id,
      paragraphs: support.map(({ title, text }, idx) => ({
        idx,
        title,
        paragraph_text: text,
        is_supporting: true,
      })),
      question: question.question,
      question_decomposition: graph.map((node, i) => {
        const stated = support.findIndex(({ id }) => id === node.evidence[0]);
        return {
          id: i + 1,
          question: withReferences(node, graph),
          answer: node.answers[0],
          paragraph_support_idx: stated < 0 ? null : stated,
        };
      }),
      answer,
      answer_aliases: aliases,
      answerable: true,
    };
  },
};
