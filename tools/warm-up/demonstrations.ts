/**
 * Demonstrations for the supervised warm-up, written from a question's dependency graph:
 * whole transcripts with real retrieved passages. They are right in grammar, reading and
 * comparing, and leave open what the reward is to teach: which words find a fact, whether
 * to search again after a miss, and how much to ask at once. Each way is shown some of
 * the time, none always.
 */
import { sum } from 'd3-array';
import type { Operation, Question, SubQuestion } from '../../lib/data/question.js';
import { chainTo, finalNodes, describePlan, type SearchMode } from '../../lib/data/search-plan.js';
import type { Passage } from '../../lib/data/passage.js';
import type { Random } from '../../lib/random.js';
import { buildPrompt } from '../../lib/text/prompts.js';
import { formatBlock, formatInformation, formatSearch } from '../../lib/text/tags.js';
import type { WeightedText } from '../../lib/training/sequences.js';

/** Returns the passages for a query about a sub-question, best first. */
export type Lookup = (query: string, node: SubQuestion) => Passage[];

export interface DemonstrationOptions {
  prompt: string;
  /**
   * `direct` answers without search; `compound` after a single query that names
   * everything the question asks about.
   */
  mode: SearchMode | 'compound' | 'direct';
  /** B: the maximum number of search turns. */
  maxSearchTurns: number;
  /** Share of misses after which other words are tried. */
  retryShare: number;
  /** Loss weight of environment and prompt tokens; the policy's own weigh 1. */
  contextWeight: number;
  /** Loss weight of thoughts after a search, which recall and compare values. */
  recapWeight: number;
}

/** The parts of an ideal query besides the name. */
function queryParts({ entity, query }: SubQuestion): { kind: string; words: string[] } {
  const [kind, ...words] = query.slice(entity.length + 1).split(' ');
  return { kind, words };
}

/** What queries add to the name, and how often. */
const QUERY_STYLES: readonly { share: number; added: (node: SubQuestion) => string[] }[] = [
  { share: 0.3, added: () => [] },
  { share: 0.15, added: (node) => [queryParts(node).kind] },
  { share: 0.1, added: ({ attribute }) => [attribute] },
  { share: 0.15, added: (node) => queryParts(node).words.slice(0, 1) },
  { share: 0.15, added: (node) => queryParts(node).words.slice(-1) },
  { share: 0.08, added: (node) => queryParts(node).words },
  { share: 0.07, added: (node) => [queryParts(node).kind, ...queryParts(node).words] },
];

const drawAddedWords = (random: Random): ((node: SubQuestion) => string[]) =>
  weightedChoice(QUERY_STYLES, ({ share }) => share, random).added;

/** Draws a way to word the queries of a turn. */
export function drawQueryStyle(random: Random): (node: SubQuestion) => string {
  const added = drawAddedWords(random);
  return (node) => [node.entity, ...added(node)].join(' ');
}

/** A single query: every name in the question, then the words of every attribute. */
function compoundQuery(graph: readonly SubQuestion[], random: Random): string {
  const names = graph.filter(({ dependsOn }) => dependsOn.length === 0).map((node) => node.entity);
  return [...names, ...new Set(graph.flatMap(drawAddedWords(random)))].join(' ');
}

const UNKNOWN = 'unknown';

/** The answers read so far, or that they are unknown, by sub-question. */
type Known = Map<SubQuestion, string>;

const fact = (node: SubQuestion, known: Known, name = node.entity): string =>
  `${name} = ${known.get(node) ?? UNKNOWN}`;

/** What a turn brought: `year: A = 1922; B = unknown.` */
const recall = (turn: readonly SubQuestion[], known: Known): string =>
  `${turn[0].attribute}: ${turn.map((node) => fact(node, known)).join('; ')}.`;

interface Verdict {
  /** What was read: `year: A = 1922 A; B = 1904 B.` */
  recap: string;
  /** Such as ` Least 1904 B.`; empty if the last fact is the answer. */
  conclusion: string;
  answer: string;
}

/**
 * Recalls the final facts, and concludes from those that are known. When values are
 * compared, each is directly followed by its entity again: what follows the extreme value
 * is then what followed it before, the easiest pattern for attention.
 */
function judgeAnswers(
  graph: readonly SubQuestion[],
  operation: Operation | null | undefined,
  known: Known = new Map(graph.map((node) => [node, node.answers[0]])),
): Verdict {
  if (!operation) {
    // An unknown fact ends a chain.
    const last = graph.filter((node) => known.has(node)).at(-1) ?? graph[0];
    return { recap: recall([last], known), conclusion: '', answer: known.get(last) ?? UNKNOWN };
  }
  const finals = finalNodes(graph);
  // The question names the roots of the chains.
  const findRoot = (node: SubQuestion): string => chainTo(node, graph)[0].entity;
  const readValue = (node: SubQuestion): string => known.get(node) ?? UNKNOWN;
  const { attribute } = finals[0];
  const sign = operation.kind === 'argmin' ? 1 : -1;
  const read = finals.filter((node) => readValue(node) !== UNKNOWN);
  const best = (read.length > 0 ? read : finals).reduce((a, b) =>
    sign * Number(readValue(b)) < sign * Number(readValue(a)) ? b : a,
  );
  const facts = finals.map((node) => `${fact(node, known, findRoot(node))} ${findRoot(node)}`);
  const word = operation.kind === 'argmin' ? 'Least' : 'Most';
  return {
    recap: `${attribute}: ${facts.join('; ')}.`,
    conclusion: ` ${word} ${readValue(best)} ${findRoot(best)}.`,
    answer: findRoot(best),
  };
}

/** The sub-questions of the next turn: what is missing, or what can be asked now. */
function nextTurn(
  graph: readonly SubQuestion[],
  known: Known,
  missing: readonly SubQuestion[],
  mode: SearchMode,
): SubQuestion[] {
  if (missing.length > 0) return [...missing];
  const isKnown = (id: string): boolean =>
    graph.some((node) => node.id === id && (known.get(node) ?? UNKNOWN) !== UNKNOWN);
  const ready = graph.filter((node) => !known.has(node) && node.dependsOn.every(isKnown));
  return mode === 'parallel' ? ready : ready.slice(0, 1);
}

/** Writes a whole transcript. @throws Error if the question has no dependency graph */
export function demonstrate(
  question: Question,
  lookup: Lookup,
  options: DemonstrationOptions,
  random: Random,
): WeightedText[] {
  const { graph, operation } = question.metadata;
  if (!graph)
    throw new Error(
      `Expected question ${question.id} to have a dependency graph, but it has none.`,
    );
  const { mode, contextWeight, recapWeight } = options;
  const context = (text: string): WeightedText => ({ text, weight: contextWeight });
  const policy = (text: string, weight = 1): WeightedText => ({ text, weight });
  const pieces = [context(buildPrompt(options.prompt, question.question, { form: 'short' }))];
  if (mode === 'direct') {
    const thought = formatBlock('think', 'No search.');
    return [...pieces, policy(thought + formatBlock('answer', question.goldenAnswers[0]))];
  }
  const known: Known = new Map();
  const inform = (results: readonly Passage[][]): WeightedText =>
    context(formatInformation(results.map((passages) => ({ status: 'ok', passages }))));
  const conclude = (): WeightedText[] => {
    const { recap, conclusion, answer } = judgeAnswers(graph, operation, known);
    return [
      policy(formatBlock('think', recap + conclusion), recapWeight),
      policy(formatBlock('answer', answer)),
    ];
  };
  if (mode === 'compound') {
    const query = compoundQuery(graph, random);
    const passages = lookup(query, graph[0]);
    const isShown = ({ evidence }: SubQuestion): boolean =>
      passages.some(({ id }) => evidence.includes(id));
    // A fact later in a chain is only of use if the ones before it were found, too.
    for (const node of graph)
      if (chainTo(node, graph).every(isShown)) known.set(node, node.answers[0]);
      else if (node.dependsOn.length === 0) known.set(node, UNKNOWN);
    return [
      ...pieces,
      policy(formatBlock('think', describePlan(graph, mode)) + formatSearch([query])),
      inform([passages]),
      ...conclude(),
    ];
  }
  const tried = new Set<SubQuestion>();
  let turn: SubQuestion[] = [];
  for (let b = 0; b < options.maxSearchTurns; b++) {
    const isRetried = turn.length > 0 && random.uniform() < options.retryShare;
    const missing = isRetried
      ? turn.filter((node) => known.get(node) === UNKNOWN && !tried.has(node))
      : [];
    missing.forEach((node) => tried.add(node));
    const thought = b === 0 ? describePlan(graph, mode) : recall(turn, known);
    turn = nextTurn(graph, known, missing, mode);
    if (turn.length === 0) break;
    const style = drawQueryStyle(random);
    const queries = turn.map(style);
    const results = turn.map((node, i) => lookup(queries[i], node));
    turn.forEach((node, i) => {
      const isFound = results[i].some(({ id }) => node.evidence.includes(id));
      known.set(node, isFound ? node.answers[0] : UNKNOWN);
    });
    pieces.push(policy(formatBlock('think', thought), b === 0 ? 1 : recapWeight));
    pieces.push(policy(formatSearch(queries)));
    pieces.push(inform(results));
  }
  return [...pieces, ...conclude()];
}

type DrillOptions = Pick<DemonstrationOptions, 'prompt' | 'contextWeight' | 'recapWeight'>;

const promptPiece = (
  { question }: Question,
  { prompt, contextWeight }: DrillOptions,
): WeightedText => ({
  text: buildPrompt(prompt, question, { form: 'short' }),
  weight: contextWeight,
});

/** Only up to the first search: a short exercise in copying names. */
export function copyDrill(
  question: Question,
  options: DrillOptions,
  random: Random,
): WeightedText[] {
  const graph = question.metadata.graph ?? [];
  const roots = graph.filter(({ dependsOn }) => dependsOn.length === 0);
  const search = formatSearch(roots.map(drawQueryStyle(random)));
  return [
    promptPiece(question, options),
    { text: formatBlock('think', describePlan(graph, 'parallel')) + search, weight: 1 },
  ];
}

/** An exercise in comparing without passages; the recap is given, not trained. */
export function verdictDrill(question: Question, options: DrillOptions): WeightedText[] {
  const { recap, conclusion, answer } = judgeAnswers(
    question.metadata.graph ?? [],
    question.metadata.operation,
  );
  return [
    promptPiece(question, options),
    { text: `<think> ${recap}`, weight: 0 },
    { text: `${conclusion} </think>`, weight: options.recapWeight },
    { text: formatBlock('answer', answer), weight: 1 },
  ];
}

/** Passages, and what they tell: an exercise in reading values. */
export function readDrill(
  nodes: readonly SubQuestion[],
  passages: readonly Passage[],
  { contextWeight, recapWeight }: Pick<DrillOptions, 'contextWeight' | 'recapWeight'>,
): WeightedText[] {
  const isFound = ({ evidence }: SubQuestion): boolean =>
    passages.some(({ id }) => evidence.includes(id));
  return [
    { text: `${formatInformation([{ status: 'ok', passages }])}<think>`, weight: contextWeight },
    ...nodes.flatMap((node) => [
      { text: ` ${node.attribute}: ${node.entity} =`, weight: 0 },
      { text: ` ${isFound(node) ? node.answers[0] : UNKNOWN}.`, weight: recapWeight },
    ]),
  ];
}

/** Draws an item with probability proportional to its weight. */
export function weightedChoice<T>(
  items: readonly T[],
  weightOf: (item: T) => number,
  random: Random,
): T {
  let left = random.uniform() * sum(items, weightOf);
  return items.find((item) => (left -= weightOf(item)) < 0) ?? items[0];
}
