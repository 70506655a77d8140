/**
 * How the files of a benchmark are read as questions with graphs and passages, and
 * written.
 */
import { splitContents } from '../flashrag-text.js';
import type { Passage, Question } from '../question.js';

/** A corpus in the making. */
export class PassageCollector {
  /** The contents of each passage by its id. */
  readonly contents = new Map<string, string>();
  readonly #ids = new Map<string, string>();

  /** The id of a passage, which is added where it is new. */
  add(title: string, text: string): string {
    const contents = `${title}\n${text}`;
    const id = this.#ids.get(contents) ?? `p${this.#ids.size + 1}`;
    this.#ids.set(contents, id);
    this.keep({ id, contents });
    return id;
  }

  /** Adds a passage under its own id. @throws Error where another one has it */
  keep({ id, contents }: Pick<Passage, 'id' | 'contents'>): void {
    if ((this.contents.get(id) ?? contents) !== contents)
      throw new Error(
        `Expected passages with ids of their own, but ${id} names two. Convert the sources one by one.`,
      );
    this.contents.set(id, contents);
  }

  /** The passage of an id, undefined where there is none. */
  get(id: string): Omit<Passage, 'contents'> | undefined {
    const contents = this.contents.get(id);
    return contents === undefined ? undefined : { id, ...splitContents(contents) };
  }
}

export interface DataFormat {
  readonly name: string;
  /** Of the files that are written. */
  readonly ending: '.json' | '.jsonl';
  /** Whether a row of a file is one of this format. */
  readonly matches: (row: object) => boolean;
  /**
   * The question of a row, with the graph that its annotations give; null for a row
   * without an answer, as in published test sets.
   * @throws ZodError for a row that does not fit
   */
  readonly read: (row: object, passages: PassageCollector) => Question | null;
  /**
   * The row of a question; its paragraphs are those that the annotations name, each of
   * one sentence.
   */
  readonly print: (question: Question, passages: PassageCollector) => object;
}

/**
 * The passages that a question's annotations name: those of `metadata.supporting`, or
 * else the evidence of its graph.
 */
export function supportOf(
  { metadata: { graph = [], supporting } }: Question,
  passages: PassageCollector,
): Omit<Passage, 'contents'>[] {
  const ids = Array.isArray(supporting)
    ? supporting.map(String)
    : [...new Set(graph.flatMap(({ evidence }) => evidence))];
  return ids.flatMap((id) => passages.get(id) ?? []);
}

/** Sentences as one text. */
export const joinSentences = (sentences: readonly string[]): string =>
  sentences.map((sentence) => sentence.trim()).join(' ');
