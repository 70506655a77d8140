/**
 * 2WikiMultiHopQA (Ho et al. 2020): `train.json`, `dev.json`. Its evidence is triples
 * of subject, relation and object, a sub-question each; one whose subject is the object
 * of an earlier one needs it. Where names differ ("John" for "King John of England"), the
 * type of the question says which one is meant.
 */
import { groups } from 'd3-array';
import { z } from 'zod';
import { normalizeAnswer } from '../../text/normalize.js';
import type { QuestionGraph, SubQuestion } from '../question.js';
import { supportOf, joinSentences, type DataFormat } from './format.js';
import { hotpotSchema } from './hotpotqa.js';

const rowSchema = hotpotSchema.extend({
  evidences: z.array(z.tuple([z.string(), z.string(), z.string()])),
});

/**
 * How many triples before its own a later hop finds its subject: in a chain, and in two
 * chains side by side.
 */
const HOPS_BACK: Readonly<Record<string, number>> = {
  compositional: 1,
  inference: 1,
  bridge_comparison: 2,
};

/** The graph of evidence triples. @param evidenceOfTitle the passages of an article */
export function graphOfTriples(
  triples: readonly (readonly [string, string, string])[],
  { type = '', evidenceOfTitle }: { type?: string; evidenceOfTitle: (title: string) => string[] },
): QuestionGraph {
  const back = HOPS_BACK[type] ?? Infinity;
  // A film with two directors is one question with two answers.
  const asked = groups(triples, ([entity, attribute]) => `${entity}\n${attribute}`).map(
    ([, some]) => ({
      entity: some[0][0],
      attribute: some[0][1],
      answers: [...new Set(some.map(([, , object]) => object))],
    }),
  );
  return asked.map(({ entity, attribute, answers }, i): SubQuestion => {
    const isSubject = (object: string): boolean =>
      normalizeAnswer(object) === normalizeAnswer(entity);
    const found = asked.slice(0, i).flatMap((one, at) => (one.answers.some(isSubject) ? [at] : []));
    const needed = found.length === 0 && i >= back ? [i - back] : found;
    return {
      id: `q${i + 1}`,
      question: `What is the ${attribute} of ${entity}?`,
      entity,
      attribute,
      query: `${entity} ${attribute}`,
      answers,
      dependsOn: needed.map((at) => `q${at + 1}`),
      evidence: evidenceOfTitle(entity),
    };
  });
}

export const twoWiki: DataFormat = {
  name: '2wikimultihopqa',
  ending: '.json',
  matches: (row) => '_id' in row && 'evidences' in row,
  read: (row, passages) => {
    const {
      _id: id,
      question,
      answer,
      type,
      context,
      evidences,
      supporting_facts,
    } = rowSchema.parse(row);
    const added = context.map(([title, sentences]) => ({
      title: normalizeAnswer(title),
      passage: passages.add(title, joinSentences(sentences)),
    }));
    if (!answer) return null;
    const evidenceOfTitle = (title: string): string[] =>
      added.flatMap((one) => (one.title === normalizeAnswer(title) ? [one.passage] : []));
    const supporting = [...new Set(supporting_facts.flatMap(([title]) => evidenceOfTitle(title)))];
    const graph = graphOfTriples(evidences, { type, evidenceOfTitle });
    const metadata = {
      benchmark: '2wikimultihopqa',
      ...(type && { type }),
      supporting,
      ...(graph.length > 0 && { graph }),
    };
    return { id, question, goldenAnswers: [answer], metadata };
  },
  print: (question, passages) => {
    const { id: _id, goldenAnswers, metadata } = question;
    const support = supportOf(question, passages);
    return {
      _id,
      type: metadata.type ?? 'unknown',
      question: question.question,
      context: support.map(({ title, text }) => [title, [text]]),
      supporting_facts: support.map(({ title }) => [title, 0]),
      evidences: (metadata.graph ?? []).flatMap(({ entity, attribute, answers }) =>
        answers.map((answer) => [entity, attribute, answer]),
      ),
      answer: goldenAnswers[0],
    };
  },
};
