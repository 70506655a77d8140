/**
 * Demonstrations for the supervised warm-up, written from a question's dependency graph: whole transcripts with real
 * retrieved passages, one search a turn ("sequential") or all independent sub-questions at once ("parallel").
 */
import {
  independentSubQuestions,
  type Operation,
  type Passage,
  type Question,
  type SubQuestion,
} from '../../data/question.js';
import { attributeWords, chainTo, finalNodes, planOf, searchPlan } from '../../data/search-plan.js';
import { buildPrompt } from '../../text/prompts.js';
import { printBlock, printInformation, printSearch } from '../../text/tags.js';
import type { Piece } from '../../training/supervised.js';

export type { Piece };

export interface DemonstrationOptions {
  prompt: string;
  /** `direct` answers without any search. */
  mode: 'sequential' | 'parallel' | 'direct';
  /** Most search turns; what does not fit is left unasked and the best of what was read is answered. */
  maxSearchTurns: number;
  /** Weight of the environment's and the prompt's tokens; the policy's own weigh 1. */
  contextWeight: number;
  /** Weight of the last thought, where values are recalled and compared. */
  recapWeight: number;
}

/** The passages an environment returns for a query, best first. */
export type Lookup = (query: string) => Passage[];

const fact = (node: SubQuestion, name = node.entity): string => `${name} = ${node.answers[0]}`;

/** Facts of one attribute, such as `birth year: A = 1922; B = 1904.` */
function recall(
  nodes: readonly SubQuestion[],
  nameOf: (node: SubQuestion) => string = (node) => node.entity,
): string {
  return `${attributeWords(nodes[0])}: ${nodes.map((node) => fact(node, nameOf(node))).join('; ')}.`;
}

export const numericValue = (node: SubQuestion): number =>
  Number.parseFloat(node.answers[0].replaceAll(',', ''));

export interface Verdict {
  /** What was read, such as `birth year: A = 1922 = A; B = 1904 = B.` */
  recap: string;
  /** What follows from it, such as ` Least 1904 = B.`; empty when the last fact is the answer. */
  conclusion: string;
  answer: string;
}

/**
 * Recalls the final facts that are known and draws the conclusion. Where values are compared, each is followed by its
 * entity once more: from the extreme value to its entity is then a step forward in the text, which attention finds easily.
 */
export function verdictOf(graph: readonly SubQuestion[], operation: Operation | null | undefined): Verdict {
  const finals = finalNodes(graph);
  if (!operation) {
    const last = finals[finals.length - 1];
    return { recap: recall([last]), conclusion: '', answer: last.answers[0] };
  }
  // The question names the roots of the chains.
  const entityOf = (node: SubQuestion): string => chainTo(node, graph)[0].entity;
  if (operation.kind === 'same') {
    const recap = recall(finals, entityOf);
    const isSame = new Set(finals.map((node) => node.answers[0])).size === 1;
    return { recap, conclusion: isSame ? ' All the same.' : ' Not the same.', answer: isSame ? 'yes' : 'no' };
  }
  const sign = operation.kind === 'argmin' ? 1 : -1;
  const best = finals.reduce((a, b) => (sign * numericValue(b) < sign * numericValue(a) ? b : a));
  const facts = finals.map((node) => `${fact(node, entityOf(node))} = ${entityOf(node)}`);
  const recap = `${attributeWords(finals[0])}: ${facts.join('; ')}.`;
  const word = operation.kind === 'argmin' ? 'Least' : 'Most';
  return { recap, conclusion: ` ${word} ${best.answers[0]} = ${entityOf(best)}.`, answer: entityOf(best) };
}

/** The graph without what could not be asked within the budget. */
function askedPart(graph: readonly SubQuestion[], turns: SubQuestion[][]): SubQuestion[] {
  const asked = new Set(turns.flat().map((node) => node.id));
  return graph.filter((node) => asked.has(node.id));
}

/** The block that the environment appends for the queries of one turn. */
function information(turn: readonly SubQuestion[], lookup: Lookup): string {
  return printInformation(
    turn.map((node) => ({
      status: 'ok',
      passages: lookup(node.query).map(({ title, text }) => ({ title, text })),
    })),
  );
}

/**
 * A whole transcript.
 * @throws Error when the question has no dependency graph
 */
export function demonstrate(question: Question, lookup: Lookup, options: DemonstrationOptions): Piece[] {
  const { graph, operation } = question.metadata;
  if (!graph)
    throw new Error(`Expected question ${question.id} to have a dependency graph, but it has none.`);
  const context = (text: string): Piece => ({ text, weight: options.contextWeight });
  const policy = (text: string, weight = 1): Piece => ({ text, weight });
  const pieces = [context(buildPrompt(options.prompt, question.question, { form: 'short' }))];
  const { mode } = options;
  if (mode === 'direct') {
    const thought = printBlock('think', 'No search.');
    return [...pieces, policy(thought + printBlock('answer', question.goldenAnswers[0]))];
  }
  const turns = searchPlan(graph, mode).slice(0, options.maxSearchTurns);
  turns.forEach((turn, i) => {
    const thought = i === 0 ? planOf(graph, mode) : recall(turns[i - 1]);
    pieces.push(policy(printBlock('think', thought), i === 0 ? 1 : options.recapWeight));
    pieces.push(policy(printSearch(turn.map((node) => node.query))));
    pieces.push(context(information(turn, lookup)));
  });
  const { recap, conclusion, answer } = verdictOf(askedPart(graph, turns), operation);
  pieces.push(policy(printBlock('think', recap + conclusion), options.recapWeight));
  pieces.push(policy(printBlock('answer', answer)));
  return pieces;
}

/** Only the beginning, up to the first search: a short exercise in copying names. */
export function copyDrill(
  question: Question,
  options: Pick<DemonstrationOptions, 'prompt' | 'contextWeight'>,
): Piece[] {
  const graph = question.metadata.graph ?? [];
  const roots = independentSubQuestions(graph);
  return [
    {
      text: buildPrompt(options.prompt, question.question, { form: 'short' }),
      weight: options.contextWeight,
    },
    {
      text: printBlock('think', planOf(graph, 'parallel')) + printSearch(roots.map((node) => node.query)),
      weight: 1,
    },
  ];
}

/** Question, recap, conclusion, answer, without passages: a short exercise in comparing. The recap is given, not learned. */
export function verdictDrill(
  question: Question,
  options: Pick<DemonstrationOptions, 'prompt' | 'contextWeight' | 'recapWeight'>,
): Piece[] {
  const { recap, conclusion, answer } = verdictOf(question.metadata.graph ?? [], question.metadata.operation);
  return [
    {
      text: buildPrompt(options.prompt, question.question, { form: 'short' }),
      weight: options.contextWeight,
    },
    { text: `<think> ${recap}`, weight: 0 },
    { text: `${conclusion} </think>`, weight: options.recapWeight },
    { text: printBlock('answer', answer), weight: 1 },
  ];
}

/** Passages and what is known from them, fact by fact in random order: a dense exercise in reading. Only values are learned. */
export function readDrill(
  facts: readonly SubQuestion[],
  passages: readonly Passage[],
  options: Pick<DemonstrationOptions, 'contextWeight' | 'recapWeight'>,
): Piece[] {
  const block = printInformation([
    { status: 'ok', passages: passages.map(({ title, text }) => ({ title, text })) },
  ]);
  return [
    { text: `${block}<think>`, weight: options.contextWeight },
    ...facts.flatMap((node) => [
      { text: ` ${attributeWords(node)}: ${node.entity} =`, weight: 0 },
      { text: ` ${node.answers[0]}.`, weight: options.recapWeight },
    ]),
  ];
}
