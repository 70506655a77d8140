/**
 * An expert policy that knows every question's dependency graph and follows it, writing
 * the action format. Its rollouts are demonstrations with the prompts, passages and
 * limits that the trained model will see.
 */
import { sort } from 'd3-array';
import type { Question, SubQuestion } from '../data/question.js';
import { chainTo, finalNodes, searchPlan } from '../data/search-plan.js';
import type { Generation, Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import { normalizeAnswer } from '../text/answer-match.js';
import { formatList } from '../text/english.js';
import { sentenceAbout } from '../text/sentences.js';
import {
  oneLine,
  parseBlocks,
  parseInformation,
  formatBlock,
  formatSearch,
  QUERY_SEPARATOR,
} from '../text/tags.js';
import type { Tokenizer } from '../text/tokenizer/tokenizer.js';

/** Stands for the attribute in HotpotQA, whose annotations name only articles. */
const NO_ATTRIBUTE = 'supporting fact';

/** Describes a sub-question: `the director of Red River`, or its own wording. */
function describeNeed({ entity, attribute, question }: SubQuestion): string {
  if (attribute === NO_ATTRIBUTE) return entity;
  return attribute === question ? `to know: ${question}` : `the ${attribute} of ${entity}`;
}

/** States the answer to a sub-question in a sentence, if necessary the passage's own. */
function statedFact(
  node: SubQuestion,
  passages: readonly string[],
  { question }: Question,
): string {
  const { entity, attribute, answers } = node;
  const isShown = (answer: string): boolean =>
    passages.some((text) => normalizeAnswer(text).includes(normalizeAnswer(answer)));
  const answer = answers.find(isShown) ?? answers[0];
  if (attribute !== NO_ATTRIBUTE)
    return attribute === node.question
      ? `${attribute} ${answer}.`
      : `${entity}: ${attribute} ${answer}.`;
  const about = passages.filter((text) => normalizeAnswer(text).includes(normalizeAnswer(answer)));
  return about.length > 0 ? sentenceAbout(about[0], [answer], question) : `${entity}: ${answer}.`;
}

/**
 * Compares two facts of the same kind in words that contain the answer: `1942 (Red
 * River) is before 2011 (Blue Sky).` or `Both are the same.`; else ''.
 */
function compareFacts({ metadata: { graph = [] }, goldenAnswers }: Question): string {
  const nodes = finalNodes(graph);
  const [{ attribute }] = nodes;
  if (nodes.length !== 2 || attribute === NO_ATTRIBUTE || nodes[1].attribute !== attribute)
    return '';
  const isYes = ['yes', 'no'].indexOf(goldenAnswers[0].toLowerCase());
  if (isYes >= 0) return ['Both are the same.', 'They are not the same.'][isYes];
  const dated = nodes.map((node) => {
    const [{ entity }] = chainTo(node, graph);
    const [text] = node.answers;
    return { entity, text, time: Date.parse(text), year: /\b\d{4}\b/.exec(text)?.[0] ?? text };
  });
  if (dated.some(({ time }) => Number.isNaN(time))) return '';
  const [earlier, later] = sort(dated, ({ time }) => time);
  const when = ({ text, year }: (typeof dated)[0]): string =>
    earlier.year === later.year ? text : year;
  return `${when(earlier)} (${earlier.entity}) is before ${when(later)} (${later.entity}).`;
}

function planThought(turn: readonly SubQuestion[], open: readonly SubQuestion[]): string {
  const thisTurn = formatList(turn.map(describeNeed));
  const overall = formatList(open.map(describeNeed));
  if (turn.length > 1) return `I need ${thisTurn}. I can search for all of them at once.`;
  return open.length > 1 ? `I need ${overall}. First, ${thisTurn}.` : `I need ${thisTurn}.`;
}

/** Matches the question in a prompt. */
const PROMPT_QUESTION = /Question: (.*)/;

export interface ExpertOptions {
  tokenizer: Tokenizer;
  maxLength: number;
  /** Questions the expert can answer; each has a dependency graph. */
  questions: readonly Question[];
  /** Share of rollouts that ask independent sub-questions in one turn. */
  parallelShare: number;
  /** Answers without search: recalls the facts, then answers. */
  isClosedBook?: boolean;
  /** Whether to answer without first stating how the facts compare. */
  isFactual?: boolean;
  /** Separates sub-queries. Default: `##`. */
  querySeparator?: string;
}

type SearchMode = 'parallel' | 'sequential' | 'closed-book';

/** Writes the next turn: a search while sub-questions are open, then the answer. */
function nextTurn(
  question: Question,
  soFar: string,
  options: { mode: SearchMode; separator: string; isFactual: boolean },
): string {
  const { mode, separator, isFactual } = options;
  const { graph = [] } = question.metadata;
  const plan = mode === 'closed-book' ? [] : searchPlan(graph, mode);
  // A block that was cut has no closing tag.
  const information = soFar.split('<information>').slice(1);
  const numDone = information.length;
  const passages = information.flatMap((rest) =>
    parseInformation(rest.split(/<\/information>|<think>/)[0]).flatMap((result) =>
      result.status === 'ok' ? result.passages.map(({ title, text }) => `${title}. ${text}`) : [],
    ),
  );
  const recall = (nodes: readonly SubQuestion[]): string =>
    nodes.map((node) => statedFact(node, passages, question)).join(' ');
  if (numDone >= plan.length) {
    // A comparison needs every fact, a chain only the last one.
    const conclusion = isFactual ? '' : compareFacts(question);
    const thought = formatBlock('think', oneLine(`${recall(finalNodes(graph))} ${conclusion}`));
    return `${thought}\n${formatBlock('answer', oneLine(question.goldenAnswers[0]))}`;
  }
  const turn = plan[numDone];
  const answered = new Set(plan.slice(0, numDone).flat());
  const isOpen = (node: SubQuestion): boolean =>
    !answered.has(node) &&
    node.dependsOn.every((id) => graph.some((other) => other.id === id && answered.has(other)));
  const before = numDone === 0 ? '' : `${recall(plan[numDone - 1])} `;
  const thought = formatBlock('think', oneLine(before + planThought(turn, graph.filter(isOpen))));
  const queries = turn.map(({ query }) => oneLine(query.replaceAll(separator, ' ')));
  return `${thought}\n${formatSearch(queries, separator)}`;
}

/** Creates the expert policy. It throws RangeError when asked an unknown question. */
export function createExpert(options: ExpertOptions): Policy {
  const { tokenizer, maxLength, questions, parallelShare, isClosedBook = false } = options;
  const { querySeparator: separator = QUERY_SEPARATOR, isFactual = false } = options;
  const normalize = (text: string): string => text.trim().replace(/\??$/, '?');
  const questionsByText = new Map(
    questions.map((question) => [normalize(question.question), question]),
  );
  function write(context: readonly number[], random: Random): Generation {
    const text = tokenizer.decode(context);
    const match = PROMPT_QUESTION.exec(text);
    const question = match && questionsByText.get(normalize(match[1]));
    if (!question)
      throw new RangeError(
        `Expected a question with a dependency graph, but got ${match?.[1] ?? text}.`,
      );
    const soFar = text.slice(match.index + match[0].length);
    const first = parseBlocks(soFar).find(({ tag }) => tag === 'search');
    const isParallel = first ? first.body.includes(separator) : random.uniform() < parallelShare;
    const searchMode = isParallel ? 'parallel' : 'sequential';
    const mode = isClosedBook ? 'closed-book' : searchMode;
    const turn = nextTurn(question, soFar, { mode, separator, isFactual });
    return { tokenIds: tokenizer.encode(turn), text: turn, finish: 'stop' };
  }
  return {
    name: 'expert',
    tokenizer,
    maxLength,
    generate: (contexts, { randoms }) =>
      Promise.resolve(contexts.map((context, i) => write(context, randoms[i]))),
  };
}
