/**
 * A policy without a model: tables of training wordings with masked names, and of
 * evidence sentences with masked answers. It shows how far memorised wordings go: it
 * answers all questions worded as in training, and no others.
 */
import { group } from 'd3-array';
import type { Operation, Question, SubQuestion } from '../../data/question.js';
import { chainTo, finalNodes } from '../../data/search-plan.js';
import type { Passage } from '../../data/passage.js';
import type { Policy } from '../../policy/policy.js';
import { escapeRegex } from '../../text/regex.js';
import { parseBlocks, parseInformation, formatBlock, formatSearch } from '../../text/tags.js';
import type { Tokenizer } from '../../text/tokenizer/tokenizer.js';

/** What a wording asks for. */
interface Plan {
  /** Index of the root among the names; null if all names are roots. */
  root: number | null;
  /** The words that the queries of each step add to the entity. */
  steps: string[];
  operation: Operation['kind'] | null;
}

const NAME = /\p{Lu}\p{L}+(?: \p{Lu}\p{L}+)*/gu;
/** A first word in this many training questions is part of the wording, not a name. */
const OPENING = 30;

const addedWords = ({ entity, query }: SubQuestion): string => query.slice(entity.length);

/** Masks the names in a question; longer lists are masked like lists of two. */
function masked(
  question: string,
  openings: ReadonlySet<string>,
): { wording: string; names: string[] } {
  const names: string[] = [];
  const [first] = question.split(/[\s:,]/, 1);
  const [before, rest] = openings.has(first)
    ? [first, question.slice(first.length)]
    : ['', question];
  const wording = rest.replace(NAME, (name) => {
    names.push(name);
    return 'X';
  });
  return { wording: before + wording.replace(/X(?:, X)+/, 'X, X'), names };
}

/** Maps each training wording to its plan, and added words to evidence sentences. */
function buildTable(questions: readonly Question[], passages: readonly Passage[]) {
  const firstWords = group(questions, ({ question }) => question.split(/[\s:,]/, 1)[0]);
  const openings = new Set(
    [...firstWords].flatMap(([word, starting]) => (starting.length >= OPENING ? [word] : [])),
  );
  const textById = new Map(passages.map(({ id, text }) => [id, text]));
  const plans = new Map<string, Plan>();
  const sentences = new Map<string, Set<string>>();
  for (const { question, metadata } of questions) {
    const graph = metadata.graph ?? [];
    const { wording, names } = masked(question, openings);
    const roots = graph.filter(({ dependsOn }) => dependsOn.length === 0);
    const chain = chainTo(finalNodes(graph)[0], graph);
    const root = roots.length === 1 ? names.indexOf(roots[0].entity) : null;
    plans.set(wording, {
      root,
      steps: chain.map(addedWords),
      operation: metadata.operation?.kind ?? null,
    });
    for (const node of graph) {
      const text = escapeRegex(textById.get(node.evidence[0])!).replace(
        escapeRegex(node.answers[0]),
        '(.+)',
      );
      const texts = sentences.get(addedWords(node)) ?? new Set();
      sentences.set(addedWords(node), texts.add(`^${text}$`));
    }
  }
  const patterns = new Map(
    [...sentences].map(([added, texts]) => [
      added,
      [...texts].map((text) => new RegExp(text, 'u')),
    ]),
  );
  return { plans, patterns, openings };
}

const UNKNOWN = 'unknown';

function conclude(
  roots: readonly string[],
  values: readonly string[],
  operation: Plan['operation'],
): string {
  if (operation === null) return values[0];
  const sign = operation === 'argmin' ? 1 : -1;
  const order = [...roots.keys()].sort((a, b) => sign * (Number(values[a]) - Number(values[b])));
  return roots[order[0]];
}

/**
 * @param questions training questions with dependency graphs
 * @param tokenizer of the policies it is compared with
 */
export function createLookupPolicy(
  questions: readonly Question[],
  passages: readonly Passage[],
  tokenizer: Tokenizer,
): Policy {
  const { plans, patterns, openings } = buildTable(questions, passages);
  const read = (
    results: readonly Pick<Passage, 'title' | 'text'>[],
    entity: string,
    added: string,
  ): string =>
    results
      .filter(({ title }) => title === entity)
      .flatMap(({ text }) => patterns.get(added)!.map((pattern) => pattern.exec(text)?.[1]))
      .find((value) => value !== undefined) ?? UNKNOWN;

  const act = (transcript: string): string => {
    const question = /Question: (.*)\n/.exec(transcript)?.[1] ?? '';
    const { wording, names } = masked(question, openings);
    const plan = plans.get(wording);
    if (!plan) return formatBlock('answer', UNKNOWN);
    const roots = plan.root === null ? names : [names[plan.root]];
    let entities = roots;
    const turns = parseBlocks(transcript).filter(({ tag }) => tag === 'information');
    turns.forEach(({ body }, step) => {
      const results = parseInformation(body);
      entities = entities.map((entity, i) => {
        const result = results[i];
        return result?.status === 'ok' ? read(result.passages, entity, plan.steps[step]) : UNKNOWN;
      });
    });
    const isDone = turns.length === plan.steps.length || entities.includes(UNKNOWN);
    if (isDone) return formatBlock('answer', conclude(roots, entities, plan.operation));
    return formatSearch(entities.map((entity) => entity + plan.steps[turns.length]));
  };

  return {
    name: 'lookup',
    tokenizer,
    maxLength: Infinity,
    generate: async (contexts) =>
      contexts.map((context) => {
        const text = formatBlock('think', 'Looked up.') + act(tokenizer.decode([...context]));
        const tokenIds = tokenizer.encode(text);
        return { tokenIds, text, logProbs: tokenIds.map(() => 0), finish: 'stop' as const };
      }),
  };
}
