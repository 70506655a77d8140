/**
 * Graphs for questions in the FlashRAG layout whose metadata keeps what their
 * benchmark's authors annotated: the passages that support the answer (`supporting`),
 * 2WikiMultiHopQA's triples (`evidences`), MuSiQue's sub-questions (`decomposition`).
 */
import { z } from 'zod';
import { normalizeAnswer } from '../../text/normalize.js';
import { sentenceAbout } from '../../text/sentences.js';
import type { Question, QuestionGraph } from '../question.js';
import { supportOf, type PassageCollector } from './format.js';
import { graphOfArticles, holds, nameOf, type Article } from './hotpotqa.js';
import { graphOfSteps } from './musique.js';
import { graphOfTriples } from './two-wiki.js';

const annotationsSchema = z.object({
  evidences: z.array(z.tuple([z.string(), z.string(), z.string()])).optional(),
  decomposition: z.array(z.object({ question: z.string(), answer: z.string() })).optional(),
});

const isNamed = (title: string, entity: string): boolean =>
  [title, nameOf(title)].some((name) => normalizeAnswer(name) === normalizeAnswer(entity));

function graphOf(question: Question, passages: PassageCollector): QuestionGraph | null {
  const { type } = question.metadata;
  const { evidences, decomposition } = annotationsSchema.safeParse(question.metadata).data ?? {};
  const support = supportOf(question, passages);
  const idsWhere = (isIt: (passage: (typeof support)[number]) => boolean): string[] =>
    support.filter(isIt).map(({ id }) => id);
  if (evidences?.length)
    return graphOfTriples(evidences, {
      type,
      evidenceOfTitle: (entity) => idsWhere(({ title }) => isNamed(title, entity)),
    });
  if (decomposition?.length)
    return graphOfSteps(
      decomposition.map((step) => ({
        ...step,
        evidence: idsWhere(({ title, text }) => holds(`${title} ${text}`, step.answer)),
      })),
    );
  if (type !== 'bridge' && type !== 'comparison') return null;
  const [answer] = question.goldenAnswers;
  const articles = support.map(({ id, title, text }): Article => {
    const facts = sentenceAbout(text, type === 'bridge' ? [answer] : [], question.question);
    return { title, text, facts, evidence: [id] };
  });
  return graphOfArticles(articles, type, answer);
}

/**
 * The question with the graph that its annotations give; as it is where it has one, or
 * none can be told.
 */
export function withAnnotatedGraph(question: Question, passages: PassageCollector): Question {
  const { metadata } = question;
  const graph = metadata.graph?.length ? null : graphOf(question, passages);
  return graph ? { ...question, metadata: { ...metadata, graph } } : question;
}
