/**
 * RAG-R1's information (arXiv 2507.02962, `generation_mq.py`): JSON with the queries of a
 * turn, and the documents of each as one text.
 */

import { tryParseJson } from '../io/json.js';

export interface LabelledInformation {
  query: string[];
  /** One per query; fewer if the text was cut. */
  documents: string[];
}

const BEYOND_ASCII = /[^ -~\n]/g;

/** As Python's `json.dumps(information, indent=2)` prints it, in ASCII. */
export const formatLabelled = (information: LabelledInformation): string =>
  JSON.stringify(information, ['query', 'documents'], 2).replace(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** A JSON string without its quotes, whole or cut. */
const STRINGS = /"((?:[^"\\]|\\.)*)(?:"|\\?$)/gs;

/** The text of a JSON string's inside; a cut escape at its end is dropped. */
function readString(inside: string): string {
  const whole = inside.replace(/(?<!\\)((?:\\\\)*)\\u[\da-f]{0,3}$/i, '$1');
  return (tryParseJson(`"${whole}"`) as string | undefined) ?? whole;
}

const HEAD = /^\s*(?:<information>)?\s*\{\s*"query"\s*:\s*\[/;

/** Whether a block, or its body, has this form. */
export const isLabelled = (block: string): boolean => HEAD.test(block);

/** Parses a body in this form, cut or not; null for any other. */
export function parseLabelled(body: string): LabelledInformation | null {
  const head = HEAD.exec(body);
  if (!head) return null;
  const information: LabelledInformation = { query: [], documents: [] };
  let part: keyof LabelledInformation = 'query';
  const lists = body.slice(head[0].length);
  for (const { 0: source, 1: inside, index } of lists.matchAll(STRINGS)) {
    const isKey = part === 'query' && inside === 'documents';
    if (isKey && /^\s*:/.test(lists.slice(index + source.length))) part = 'documents';
    else information[part].push(readString(inside));
  }
  return information;
}
