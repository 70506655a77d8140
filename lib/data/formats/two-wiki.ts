/**
 * 2WikiMultiHopQA (Ho et al. 2020): `train.json`, `dev.json`. Its evidence is triples of subject, relation and object, a sub-question
 * each; one whose subject is the object of an earlier one needs it.
 */
import { z } from 'zod';
import { normalizeAnswer } from '../../text/normalize.js';
import type { QuestionGraph, SubQuestion } from '../question.js';
import { supportOf, joinSentences, type DataFormat } from './format.js';
import { hotpotSchema } from './hotpotqa.js';

const rowSchema = hotpotSchema.extend({ evidences: z.array(z.tuple([z.string(), z.string(), z.string()])) });

/** @param evidenceOfTitle the passages of an article */
function graphOf(
  triples: readonly (readonly [string, string, string])[],
  evidenceOfTitle: (title: string) => string[],
): QuestionGraph {
  return triples.map(([entity, attribute, answer], i): SubQuestion => {
    const earlier = triples.slice(0, i);
    const isNeeded = (object: string): boolean => normalizeAnswer(object) === normalizeAnswer(entity);
    return {
      id: `q${i + 1}`,
      question: `What is the ${attribute} of ${entity}?`,
      ...{ entity, attribute, query: `${entity} ${attribute}`, answers: [answer] },
      dependsOn: earlier.flatMap(([, , object], at) => (isNeeded(object) ? [`q${at + 1}`] : [])),
      evidence: evidenceOfTitle(entity),
    };
  });
}

export const twoWiki: DataFormat = {
  name: '2wikimultihopqa',
  ending: '.json',
  matches: (row) => '_id' in row && 'evidences' in row,
  read: (row, passages) => {
    const { _id: id, question, answer, type, context, evidences, supporting_facts } = rowSchema.parse(row);
    const added = context.map(([title, sentences]) => ({
      title: normalizeAnswer(title),
      passage: passages.add(title, joinSentences(sentences)),
    }));
    if (!answer) return null;
    const evidenceOfTitle = (title: string): string[] =>
      added.flatMap((one) => (one.title === normalizeAnswer(title) ? [one.passage] : []));
    const supporting = [...new Set(supporting_facts.flatMap(([title]) => evidenceOfTitle(title)))];
    const graph = graphOf(evidences, evidenceOfTitle);
    const metadata = {
      ...{ benchmark: '2wikimultihopqa', ...(type && { type }), supporting },
      ...(graph.length > 0 && { graph }),
    };
    return { id, question, goldenAnswers: [answer], metadata };
  },
  print: (question, passages) => {
    const { id: _id, goldenAnswers, metadata } = question;
    const support = supportOf(question, passages);
    return {
      ...{ _id, type: metadata.type ?? 'unknown', question: question.question },
      context: support.map(({ title, text }) => [title, [text]]),
      supporting_facts: support.map(({ title }) => [title, 0]),
      evidences: (metadata.graph ?? []).map(({ entity, attribute, answers }) => [
        entity,
        attribute,
        answers[0],
      ]),
      answer: goldenAnswers[0],
    };
  },
};
