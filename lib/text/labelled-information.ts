/**
 * RAG-R1's information format (arXiv 2507.02962, `generation_mq.py`): JSON with the
 * queries of a turn and, for each, its documents as one text.
 */

import { tryParseJson } from '../io/json.js';

interface LabelledInformation {
  query: string[];
  /** One per query; fewer if the text was cut. */
  documents: string[];
}

const BEYOND_ASCII = /[^ -~\n]/g;

/** Formats like Python's `json.dumps(information, indent=2)`, in ASCII. */
export const formatLabelled = (information: LabelledInformation): string =>
  JSON.stringify(information, ['query', 'documents'], 2).replace(
    BEYOND_ASCII,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );

/** Matches a JSON string, whole or cut; the group is its content. */
const STRINGS = /"((?:[^"\\]|\\.)*)(?:"|\\?$)/gs;

/** Unescapes the content of a JSON string, dropping an escape that was cut at the end. */
function readString(inside: string): string {
  const whole = inside.replace(/(?<!\\)((?:\\\\)*)\\u[\da-f]{0,3}$/i, '$1');
  return (tryParseJson(`"${whole}"`) as string | undefined) ?? whole;
}

const HEAD = /^\s*(?:<information>)?\s*\{\s*"query"\s*:\s*\[/;

/** Whether an information block, or its body, has this format. */
export const isLabelled = (block: string): boolean => HEAD.test(block);

/** Parses a body in this format, whole or cut; null for other formats. */
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
