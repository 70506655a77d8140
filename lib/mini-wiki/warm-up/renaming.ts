/**
 * Invented names and numbers in place of real ones, the same throughout a question, its graph and its passages. A policy
 * that practises on them learns to copy and to compare what it reads, not to recall what it has seen.
 */
import type { Operation, Passage, Question, SubQuestion } from '../../data/question.js';
import type { Random } from '../../random.js';
import { verdictOf } from './demonstrations.js';
import type { NameMaker } from './names.js';

/** A number of the same kind: a year for a year, else one with as many digits. */
export function inventedNumber(text: string, random: Random): string {
  const value = Number(text);
  if (value >= 1500 && value <= 2030) return String(1850 + random.integer(166));
  if (text.length === 1) return String(1 + random.integer(9));
  const least = 10 ** (text.length - 1);
  return String(least + random.integer(9 * least));
}

const escape = (text: string): string => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');

/** Replaces whole words and phrases, the longest first, all at once. */
function replacer(names: ReadonlyMap<string, string>): (text: string) => string {
  if (names.size === 0) return (text) => text;
  const alternatives = [...names.keys()].sort((a, b) => b.length - a.length).map(escape);
  const pattern = new RegExp(`(?<![\\p{L}\\p{N}])(?:${alternatives.join('|')})(?![\\p{L}\\p{N}])`, 'gu');
  return (text) => text.replace(pattern, (match) => names.get(match)!);
}

/** New numbers for the answers that are numbers, all different. */
function renameNumbers(graph: readonly SubQuestion[], names: Map<string, string>, random: Random): void {
  const used = new Set<string>();
  for (const node of graph) {
    const [digits] = /\d+/.exec(node.answers[0]) ?? [];
    if (!digits || names.has(digits) || /[^\d\s]/.test(node.answers[0].replace(/[a-z]+$/, ''))) continue;
    let fresh = inventedNumber(digits, random);
    for (let tries = 0; used.has(fresh) && tries < 20; tries++) fresh = inventedNumber(digits, random);
    used.add(fresh);
    names.set(digits, fresh);
  }
}

const RENAMED_ANSWER_SHARE = 0.6;

/** New names for some of the answers that are names without an alias, so that values too are copied and not recalled. */
function renameNamedAnswers(
  graph: readonly SubQuestion[],
  names: Map<string, string>,
  maker: NameMaker,
  random: Random,
): void {
  for (const { answers } of graph) {
    const isName = answers.length === 1 && /^\p{Lu}/u.test(answers[0]) && !/\d/.test(answers[0]);
    if (!isName || names.has(answers[0]) || random.uniform() >= RENAMED_ANSWER_SHARE) continue;
    names.set(answers[0], maker.name(random));
  }
}

/** The golden answers after renaming: drawn anew for a comparison, else renamed. */
function renamedAnswers(
  question: Question,
  graph: SubQuestion[],
  operation: Operation | null | undefined,
  rename: (text: string) => string,
): string[] {
  return operation ? [verdictOf(graph, operation).answer] : question.goldenAnswers.map(rename);
}

/**
 * The question about invented entities, and the function that renames passages to match.
 */
export function renameQuestion(
  question: Question,
  maker: NameMaker,
  random: Random,
): { question: Question; renamePassage: (passage: Passage) => Passage } {
  const original = question.metadata.graph ?? [];
  const fresh = maker.names(original.length, random);
  const names = new Map(original.map(({ entity }, i) => [entity, fresh[i]]));
  renameNumbers(original, names, random);
  renameNamedAnswers(original, names, maker, random);
  const rename = replacer(names);
  const graph = original.map((node) => ({
    ...node,
    question: rename(node.question),
    entity: rename(node.entity),
    query: rename(node.query),
    answers: node.answers.map(rename),
  }));
  const operation = question.metadata.operation;
  return {
    question: {
      ...question,
      question: rename(question.question),
      goldenAnswers: renamedAnswers(question, graph, operation, rename),
      metadata: { ...question.metadata, graph },
    },
    renamePassage: (passage) => {
      const [title, text] = [rename(passage.title), rename(passage.text)];
      return { ...passage, title, text, contents: `${title}\n${text}` };
    },
  };
}
