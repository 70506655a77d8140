/**
 * 2WikiMultiHopQA (Ho et al. 2020): `train.json`, `dev.json`. Each evidence triple
 * (subject, relation, object) is a sub-question that depends on the triple whose object
 * is its subject. If the names differ ("John", "King John of England"), the question's
 * type decides.
 */
import { groups } from 'd3-array';
import { z } from 'zod';
import { ownValue } from '../../own-value.js';
import type { QuestionGraph, SubQuestion } from '../question.js';
import {
  annotatedPassages,
  countIncomplete,
  joinSentences,
  tuples,
  type DataFormat,
} from './format.js';
import { findNamed, hotpotSchema, nameKey } from './hotpotqa.js';

/** Triples of subject, relation and object. */
export const evidencesSchema = tuples(
  z.tuple([z.string(), z.string(), z.string()]),
  ['fact'],
  ['relation'],
  ['entity'],
);

const rowSchema = hotpotSchema.extend({ evidences: evidencesSchema });

/** How many triples back a later hop finds its subject: in one chain, or in two. */
const HOPS_BACK: Readonly<Record<string, number>> = {
  compositional: 1,
  inference: 1,
  bridge_comparison: 2,
};

/** @param findEvidence returns the passages of an article */
export function tripleGraph(
  triples: readonly (readonly [string, string, string])[],
  { type = '', findEvidence }: { type?: string; findEvidence: (title: string) => string[] },
): QuestionGraph {
  const back = ownValue(HOPS_BACK, type) ?? Infinity;
  // A film with two directors is one question with two answers.
  const asked = groups(triples, ([entity, attribute]) => `${entity}\n${attribute}`).map(
    ([, same]) => ({
      entity: same[0][0],
      attribute: same[0][1],
      answers: [...new Set(same.map(([, , object]) => object))],
    }),
  );
  return asked.map(({ entity, attribute, answers }, i): SubQuestion => {
    const isSubject = (object: string): boolean => nameKey(object) === nameKey(entity);
    const sources = asked
      .slice(0, i)
      .flatMap((earlier, at) => (earlier.answers.some(isSubject) ? [at] : []));
    const needed = sources.length === 0 && i >= back ? [i - back] : sources;
    return {
      id: `q${i + 1}`,
      question: `What is the ${attribute} of ${entity}?`,
      entity,
      attribute,
      query: `${entity} ${attribute}`,
      answers,
      dependsOn: needed.map((at) => `q${at + 1}`),
      evidence: findEvidence(entity),
    };
  });
}

export const twoWiki: DataFormat = {
  name: '2wikimultihopqa',
  hasOneAnswer: true,
  hasWording: false,
  ending: '.json',
  matches: (row) => 'context' in row && 'evidences' in row,
  read: (row, passages) => {
    const { _id: id, question, answer, type, ...annotated } = rowSchema.parse(row);
    const added = annotated.context.map(([title, sentences]) => ({
      title,
      passage: passages.add(title, joinSentences(sentences)),
    }));
    if (!answer?.trim()) return null;
    countIncomplete(annotated, passages);
    const withTitle = (name: string) =>
      added.filter(({ title }) => nameKey(title) === nameKey(name));
    const support = [...new Set(annotated.supporting_facts.flatMap(([title]) => withTitle(title)))];
    const supporting = [...new Set(support.map(({ passage }) => passage))];
    // A subject may lack its article's qualifier, such as `(film)`.
    const findEvidence = (entity: string): string[] => {
      const named = findNamed(support, entity);
      const articles = named.length > 0 ? named : withTitle(entity);
      return articles.map(({ passage }) => passage);
    };
    const triples = tripleGraph(annotated.evidences, { type, findEvidence });
    const graph = triples.length > 0 && { graph: triples };
    const metadata = { benchmark: '2wikimultihopqa', ...(type && { type }), supporting, ...graph };
    return { id, question, goldenAnswers: [answer], metadata };
  },
  print: (question, passages) => {
    const { id: _id, goldenAnswers, metadata } = question;
    const support = annotatedPassages(question, passages);
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
