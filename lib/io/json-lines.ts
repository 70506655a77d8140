/** Files of one JSON value a line, read as a stream: bad lines are named and the others go on. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';

/** What reading one line gave: a value, or a complaint that names file and line. */
export type LineOutcome<T> = { value: T } | { complaint: string };

/** A line and its number in the file, from 1. */
type SourceLine = { number: number; text: string };

const withoutMark = (text: string): string => (text.startsWith('\uFEFF') ? text.slice(1) : text);
const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/** The lines of a stream, cut at line feeds only (JSON text may hold U+2028), without a byte order mark. */
async function* readLines(stream: Readable): AsyncGenerator<SourceLine> {
  stream.setEncoding('utf8');
  let rest = '';
  let number = 0;
  for await (const chunk of stream as AsyncIterable<string>) {
    const parts = (rest + chunk).split('\n');
    rest = parts.pop() ?? '';
    for (const text of parts) yield { number: ++number, text: number === 1 ? withoutMark(text) : text };
  }
  if (rest !== '') yield { number: ++number, text: number === 1 ? withoutMark(rest) : rest };
}

/**
 * Parses every line of a file (`-` is standard input) that is not blank. A line that `parse` refuses and a file that
 * can't be read become complaints.
 */
export async function* streamJsonLines<T>(
  file: string,
  parse: (value: unknown) => T,
  stdin: Readable = process.stdin,
): AsyncGenerator<LineOutcome<T>> {
  const name = file === '-' ? '<stdin>' : file;
  try {
    for await (const { number, text } of readLines(file === '-' ? stdin : createReadStream(file))) {
      if (text.trim() === '') continue;
      try {
        yield { value: parse(JSON.parse(text)) };
      } catch (error) {
        yield { complaint: `${name}:${number}: ${messageOf(error)}` };
      }
    }
  } catch (error) {
    yield { complaint: `${name}: ${messageOf(error)}` };
  }
}
