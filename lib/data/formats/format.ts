/** The interface of benchmark formats, and shared helpers. */
import { isDeepStrictEqual } from 'node:util';
import { transpose } from 'd3-array';
import { z } from 'zod';
import { tryParseJson } from '../../io/json.js';
import { joinContents, splitContents, type Passage } from '../passage.js';
import type { Question, QuestionGraph } from '../question.js';

/** Builds a corpus. */
export class PassageCollector {
  /** The passages' contents by id. */
  readonly contents = new Map<string, string>();
  readonly #ids = new Map<string, string>();
  /** Number of questions that lack paragraphs which support them. */
  numIncomplete = 0;

  /** Adds a passage unless it exists. Returns its id. */
  add(title: string, text: string): string {
    const contents = joinContents(title, text);
    const id = this.#ids.get(contents) ?? `p${this.#ids.size + 1}`;
    this.#ids.set(contents, id);
    this.keep({ id, contents });
    return id;
  }

  /** Adds a passage with an id. @throws Error if another passage has this id */
  keep({ id, contents }: Pick<Passage, 'id' | 'contents'>): void {
    if ((this.contents.get(id) ?? contents) !== contents)
      throw new Error(
        `Expected unique passage ids, but ${id} names two passages. Convert the sources one by one.`,
      );
    this.contents.set(id, contents);
  }

  get(id: string): Omit<Passage, 'contents'> | undefined {
    const contents = this.contents.get(id);
    return contents === undefined ? undefined : { id, ...splitContents(contents) };
  }
}

/**
 * A list of tuples. Some copies on Hugging Face have a list by column instead, or JSON.
 * @param columns the names that each column may have
 */
export const tuples = <T extends z.ZodType>(tuple: T, ...columns: readonly string[][]) =>
  z.preprocess((value) => {
    const parsed = typeof value === 'string' ? tryParseJson(value) : value;
    if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) return parsed;
    const named = new Map(Object.entries(parsed));
    const lists = columns.map((names) => named.get(names.find((name) => named.has(name)) ?? ''));
    const [first] = lists;
    const areColumns = lists.every((list) => Array.isArray(list) && list.length === first.length);
    return areColumns ? transpose(lists as unknown[][]) : parsed;
  }, z.array(tuple));

/** Counts a question without the paragraphs of its facts, as in HotpotQA's fullwiki. */
export function countIncomplete(
  {
    context,
    supporting_facts: facts,
  }: { context: [string, string[]][]; supporting_facts: [string, number][] },
  passages: PassageCollector,
): void {
  const titles = new Set(
    context.flatMap(([title, sentences]) => (joinSentences(sentences) ? title : [])),
  );
  if (facts.some(([title]) => !titles.has(title))) passages.numIncomplete++;
}

export interface DataFormat {
  readonly name: string;
  /** Whether a question has at most one right answer. */
  readonly hasOneAnswer: boolean;
  /** Whether rows have the wording of sub-questions. */
  readonly hasWording: boolean;
  /** Ending of the files written in this format. */
  readonly ending: '.json' | '.jsonl';
  /** Whether a row has this format. */
  readonly matches: (row: object) => boolean;
  /**
   * Reads a question, with the graph that its annotations give; null without an answer,
   * as in published test sets.
   * @throws ZodError for an invalid row
   */
  readonly read: (row: object, passages: PassageCollector) => Question | null;
  /** Writes a question's row; annotated passages become one-sentence paragraphs. */
  readonly print: (question: Question, passages: PassageCollector) => object;
}

/** Ids of the passages in `metadata.supporting`, or else of the graph's evidence. */
export const annotatedIds = ({ metadata: { graph = [], supporting } }: Question): string[] =>
  Array.isArray(supporting)
    ? supporting.map(String)
    : [...new Set(graph.flatMap(({ evidence }) => evidence))];

/** The annotated passages that exist. */
export const annotatedPassages = (
  question: Question,
  passages: PassageCollector,
): Omit<Passage, 'contents'>[] => annotatedIds(question).flatMap((id) => passages.get(id) ?? []);

/**
 * Reads a question's row back: whether the format keeps its dependency graph, loses it, or
 * changes dependencies or wording (also if the row is invalid).
 */
export function graphAfter(
  format: DataFormat,
  question: Question,
  passages: PassageCollector,
): 'kept' | 'lost' | 'changed' {
  const { graph = [] } = question.metadata;
  if (graph.length === 0) return 'kept';
  const outline = (nodes: QuestionGraph) =>
    nodes.map(({ question: asked, dependsOn }) => ({
      asked: format.hasWording && asked.toLowerCase(),
      needed: new Set(dependsOn.map((needed) => nodes.findIndex(({ id }) => id === needed))),
    }));
  try {
    const again = format.read(format.print(question, passages), new PassageCollector());
    if (!again?.metadata.graph) return 'lost';
    return isDeepStrictEqual(outline(again.metadata.graph), outline(graph)) ? 'kept' : 'changed';
  } catch (error) {
    if (error instanceof z.ZodError) return 'changed';
    throw error;
  }
}

export const joinSentences = (sentences: readonly string[]): string =>
  sentences
    .map((sentence) => sentence.trim())
    .join(' ')
    .trim();
