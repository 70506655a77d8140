/**
 * A policy that knows the dependency graph of every question and plays it out in the
 * grammar of actions. Its rollouts are demonstrations: in the very form, with the very
 * passages and limits, in which the model that imitates them will be asked.
 */
import { finalNodes, searchPlan } from '../data/search-plan.js';
import type { Question, SubQuestion } from '../data/question.js';
import type { Generation, Policy } from '../policy/policy.js';
import type { Random } from '../random.js';
import { listed } from '../text/listed.js';
import { normalizeAnswer } from '../text/normalize.js';
import { sentenceAbout } from '../text/sentences.js';
import { oneLine, parseBlocks, parseInformation, printBlock, printSearch } from '../text/tags.js';
import type { Tokenizer } from '../text/tokenizer.js';

/** HotpotQA's annotations name articles, without saying what of them is to be known. */
const NO_ATTRIBUTE = 'supporting fact';

/** `the director of Red River`, or the sub-question in its own words. */
function wanted({ entity, attribute, question }: SubQuestion): string {
  if (attribute === NO_ATTRIBUTE) return entity;
  return attribute === question ? `to know: ${question}` : `the ${attribute} of ${entity}`;
}

/**
 * What a sub-question has found; where annotations have no attribute, in the words of the
 * passage that says it.
 */
function found(node: SubQuestion, passages: readonly string[], { question }: Question): string {
  const { entity, attribute, answers } = node;
  const isRead = (one: string): boolean =>
    passages.some((text) => normalizeAnswer(text).includes(normalizeAnswer(one)));
  const answer = answers.find(isRead) ?? answers[0];
  if (attribute !== NO_ATTRIBUTE)
    return attribute === node.question
      ? `${attribute} ${answer}.`
      : `${entity}: ${attribute} ${answer}.`;
  const about = passages.filter((text) => normalizeAnswer(text).includes(normalizeAnswer(answer)));
  return about.length > 0 ? sentenceAbout(about[0], [answer], question) : `${entity}: ${answer}.`;
}

/** The thought before a search. */
function intention(turn: readonly SubQuestion[], open: readonly SubQuestion[]): string {
  const [wantedNow, wantedInAll] = [turn, open].map((nodes) => listed(nodes.map(wanted)));
  if (turn.length > 1) return `I need ${wantedNow}. I can search for all of them at once.`;
  return open.length > 1 ? `I need ${wantedInAll}. First, ${wantedNow}.` : `I need ${wantedNow}.`;
}

/** The question of a prompt, and what follows it. */
const ASKED = /Question: (.*)/;

export interface ExpertOptions {
  tokenizer: Tokenizer;
  maxLength: number;
  /** Those that it can be asked, each with a dependency graph. */
  questions: readonly Question[];
  /**
   * Share of the rollouts that search at once for what can be asked at once; the others
   * search one by one.
   */
  parallelShare: number;
  /** Without any search: what it knows, then the answer. */
  isClosedBook?: boolean;
}

type Way = 'parallel' | 'sequential' | 'closed-book';

/**
 * The next turn of a transcript: a search while the graph has open sub-questions, then
 * the answer.
 */
function nextTurn(question: Question, soFar: string, way: Way): string {
  const { graph = [] } = question.metadata;
  const plan = way === 'closed-book' ? [] : searchPlan(graph, way);
  const information = parseBlocks(soFar).filter(({ tag }) => tag === 'information');
  const numDone = information.length;
  const passages = information.flatMap(({ body }) =>
    parseInformation(body).flatMap((result) =>
      result.status === 'ok' ? result.passages.map(({ title, text }) => `${title}. ${text}`) : [],
    ),
  );
  const recall = (nodes: readonly SubQuestion[]): string =>
    nodes.map((node) => found(node, passages, question)).join(' ');
  if (numDone >= plan.length) {
    // A comparison needs all that was read, a chain what was read last.
    const thought = printBlock('think', oneLine(recall(finalNodes(graph))));
    return `${thought}\n${printBlock('answer', oneLine(question.goldenAnswers[0]))}`;
  }
  const turn = plan[numDone];
  const known = new Set(plan.slice(0, numDone).flat());
  const isOpen = (node: SubQuestion): boolean =>
    !known.has(node) &&
    node.dependsOn.every((id) => graph.some((one) => one.id === id && known.has(one)));
  const before = numDone === 0 ? '' : `${recall(plan[numDone - 1])} `;
  const thought = printBlock('think', oneLine(before + intention(turn, graph.filter(isOpen))));
  const queries = turn.map(({ query }) => oneLine(query).replaceAll('##', ' '));
  return `${thought}\n${printSearch(queries)}`;
}

/**
 * The expert as a policy.
 * @throws RangeError when it is asked a question that it does not know
 */
export function createExpert(options: ExpertOptions): Policy {
  const { tokenizer, maxLength, questions, parallelShare, isClosedBook = false } = options;
  const plain = (text: string): string => text.trim().replace(/\??$/, '?');
  const known = new Map(questions.map((question) => [plain(question.question), question]));
  function write(context: readonly number[], random: Random): Generation {
    const text = tokenizer.decode(context);
    const asked = ASKED.exec(text);
    const question = asked && known.get(plain(asked[1]));
    if (!question)
      throw new RangeError(
        `Expected a question with a dependency graph, but got ${asked?.[1] ?? text}.`,
      );
    const soFar = text.slice(asked.index + asked[0].length);
    const first = parseBlocks(soFar).find(({ tag }) => tag === 'search');
    const isParallel = first ? first.body.includes('##') : random.uniform() < parallelShare;
    const searched = isParallel ? 'parallel' : 'sequential';
    const turn = nextTurn(question, soFar, isClosedBook ? 'closed-book' : searched);
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
